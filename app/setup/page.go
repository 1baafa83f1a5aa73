package setup

import (
	"bytes"
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	pagePath       = "/setup"
	registeredPath = "/setup/registered"
	cookieName     = "prosecutor_setup"
)

// appManifest is what GitHub takes: the manifest and what depends on where this server is.
type appManifest struct {
	Name               string            `json:"name"`
	Description        string            `json:"description,omitempty"`
	URL                string            `json:"url"`
	HookAttributes     hookAttributes    `json:"hook_attributes"`
	RedirectURL        string            `json:"redirect_url"`
	SetupURL           string            `json:"setup_url"`
	Public             bool              `json:"public"`
	DefaultEvents      []string          `json:"default_events"`
	DefaultPermissions map[string]string `json:"default_permissions"`
}

type hookAttributes struct {
	URL    string `json:"url"`
	Active bool   `json:"active"`
}

func (s *Setup) appManifest() appManifest {
	return appManifest{
		Name: s.manifest.Name, Description: s.manifest.Description, URL: s.manifest.URL, Public: s.manifest.Public,
		HookAttributes: hookAttributes{URL: s.public.String() + webhookPath, Active: true},
		RedirectURL:    s.page.String() + registeredPath,
		// Who has installed the App is sent there. This page is gone by then, the App's home page says what comes next.
		SetupURL:      s.manifest.URL,
		DefaultEvents: s.manifest.DefaultEvents, DefaultPermissions: s.manifest.DefaultPermissions,
	}
}

// action is where the manifest is posted to.
func (s *Setup) action(state string) string {
	path := "/settings/apps/new"
	if s.org != "" {
		path = "/organizations/" + url.PathEscape(s.org) + path
	}
	return s.html.String() + path + "?" + url.Values{"state": {state}}.Encode()
}

func (s *Setup) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+pagePath, s.servePage)
	mux.HandleFunc("GET "+registeredPath, s.serveRegistered)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Cache-Control", "no-store")
		// No form-action: browsers apply it to redirects after the form as well, and single sign-on may redirect anywhere.
		h.Set("Content-Security-Policy", "default-src 'none'; base-uri 'none'; frame-ancestors 'none'")
		// The token must not leave in a Referer. "no-referrer" would make the form's Origin null.
		h.Set("Referrer-Policy", "origin")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		if r.Method != http.MethodGet { // HEAD would use up the token
			h.Set("Allow", http.MethodGet)
			http.Error(w, "only GET", http.StatusMethodNotAllowed)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// servePage trades the token for a cookie, and shows the form to the browser that has it.
func (s *Setup) servePage(w http.ResponseWriter, r *http.Request) {
	if token := r.URL.Query().Get("token"); token != "" {
		if !s.known(r) && !s.spend(token) {
			refuse(w, http.StatusForbidden, "This link is not valid, or was opened before in another browser. Stop prosecutor setup and start it again for a new one.")
			return
		}
		//nolint:gosec // Secure where the page is https; over http it would keep browsers from sending it to 127.0.0.1
		http.SetCookie(w, &http.Cookie{
			Name: cookieName, Value: s.cookie, Path: cookiePath(s.page), MaxAge: int(s.life / time.Second), HttpOnly: true,
			// GitHub's redirect comes from another site: Strict would withhold the cookie.
			SameSite: http.SameSiteLaxMode, Secure: s.page.Scheme == "https",
		})
		http.Redirect(w, r, s.page.String()+pagePath, http.StatusSeeOther)
		return
	}
	if !s.known(r) {
		refuse(w, http.StatusForbidden, "Open the link that prosecutor setup printed at its start.")
		return
	}
	state, ok := s.newState()
	if !ok {
		refuse(w, http.StatusGone, "This registration is over. The terminal says how it ended.")
		return
	}
	text, err := json.Marshal(s.appManifest())
	if err != nil {
		refuse(w, http.StatusInternalServerError, "The manifest cannot be written as JSON.")
		return
	}
	owner := "your own account"
	if s.org != "" {
		owner = "the organization " + s.org
	}
	show(w, http.StatusOK, formPage, map[string]any{
		"Action": s.action(state), "Manifest": string(text), "Owner": owner, "Host": s.html.Host, "Name": s.manifest.Name,
		"Hook": s.public.String() + webhookPath, "Permissions": s.manifest.DefaultPermissions, "Events": strings.Join(s.manifest.DefaultEvents, ", "),
	})
}

func cookiePath(page *url.URL) string {
	if page.Path == "" {
		return "/"
	}
	return page.Path
}

// spend uses the token up.
func (s *Setup) spend(token string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over || s.tokenUsed || subtle.ConstantTimeCompare([]byte(token), []byte(s.token)) != 1 {
		return false
	}
	s.tokenUsed = true
	return true
}

// known tells whether the request comes from the browser that opened the link.
func (s *Setup) known(r *http.Request) bool {
	for _, c := range r.Cookies() {
		if c.Name == cookieName && subtle.ConstantTimeCompare([]byte(c.Value), []byte(s.cookie)) == 1 {
			return true
		}
	}
	return false
}

func (s *Setup) newState() (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return "", false
	}
	if len(s.order) == maxStates {
		delete(s.states, s.order[0])
		s.order = s.order[1:]
	}
	state := secret()
	s.states[state] = ""
	s.order = append(s.order, state)
	return state, true
}

// take accepts a code with a state. A state is good for one code; the same two may come again, as when a page is loaded anew
// after GitHub could not be reached, as long as nothing came of them.
func (s *Setup) take(state, code string) (int, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	first, given := s.states[state]
	switch {
	case s.over:
		return http.StatusGone, "This registration is over. The terminal says how it ended."
	case !given:
		return http.StatusForbidden, "GitHub's answer belongs to no form of this page (its state is not known, or was used). Open the setup page again."
	case first != "" && first != code:
		return http.StatusForbidden, "This form was answered already. Open the setup page again."
	}
	s.states[state] = code
	return http.StatusOK, ""
}

// drop makes a state unusable.
func (s *Setup) drop(state string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.states, state)
	for i, known := range s.order {
		if known == state {
			s.order = append(s.order[:i:i], s.order[i+1:]...)
			return
		}
	}
}

// serveRegistered takes the redirect of GitHub's that brings the code.
func (s *Setup) serveRegistered(w http.ResponseWriter, r *http.Request) {
	if !s.known(r) {
		refuse(w, http.StatusForbidden, "GitHub's answer has to come to the browser that opened the link which prosecutor setup printed.")
		return
	}
	q := r.URL.Query()
	state, code := q.Get("state"), q.Get("code")
	if !plausibleCode(code) || state == "" {
		refuse(w, http.StatusBadRequest, "GitHub's answer has no code or no state: nothing was registered. Open the setup page again.")
		return
	}
	s.converting.Lock()
	defer s.converting.Unlock()
	if status, why := s.take(state, code); status != http.StatusOK {
		refuse(w, status, why)
		return
	}
	// The code is used up by the first exchange that reaches GitHub: a browser that goes away must not cut it short.
	app, err := s.register(context.WithoutCancel(r.Context()), code)
	var again *unreachedError
	var refused *refusedError
	switch {
	case errors.As(err, &again):
		refuse(w, http.StatusBadGateway, "GitHub could not be asked for the App's key: "+again.Error()+". Load this page again.")
		return
	case errors.As(err, &refused):
		s.drop(state)
		refuse(w, http.StatusBadGateway, refused.Error()+". Open the setup page again; delete the App at GitHub if it was registered.")
		return
	}
	s.drop(state)
	s.finish()
	if err != nil {
		refuse(w, http.StatusInternalServerError, "The App is registered, and setting it up failed. The terminal says how.")
	} else {
		show(w, http.StatusOK, donePage, app)
	}
	s.converted <- outcome{app, err}
}

func refuse(w http.ResponseWriter, status int, why string) { show(w, status, refusalPage, why) }

func show(w http.ResponseWriter, status int, page *template.Template, data any) {
	var b bytes.Buffer
	if err := page.Execute(&b, data); err != nil {
		http.Error(w, "the page cannot be shown", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // who has gone away needs no page
}

var (
	formPage = template.Must(template.New("form").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Set up Prosecutor</title></head><body>
<h1>Register the GitHub App</h1>
<p>The App will belong to {{.Owner}} on {{.Host}}, and get its webhooks at <code>{{.Hook}}</code>.
GitHub asks for its name; if <code>{{.Name}}</code> is taken, choose another one there.</p>
<p>It asks for these permissions:</p>
<ul>{{range $name, $level := .Permissions}}<li><code>{{$name}}</code>: {{$level}}</li>{{end}}</ul>
<p>and these events: {{.Events}}.</p>
<form action="{{.Action}}" method="post">
<input type="hidden" name="manifest" value="{{.Manifest}}">
<button type="submit">Register on {{.Host}}</button>
</form>
</body></html>
`))
	donePage = template.Must(template.New("done").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Prosecutor is registered</title></head><body>
<h1>{{.Slug}} is registered</h1>
<p>Its credentials are on the machine where prosecutor setup ran; the terminal says where, and how to start the server.</p>
<p><a href="{{.InstallURL}}">Install it on your repositories</a></p>
</body></html>
`))
	refusalPage = template.Must(template.New("refusal").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Set up Prosecutor</title></head><body>
<h1>Not registered</h1>
<p>{{.}}</p>
</body></html>
`))
)
