package githubtest

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"strings"
)

// manifest is what an App asks for when it is registered from a manifest.
type manifest struct {
	Name               string
	URL                string
	RedirectURL        string            `json:"redirect_url"`
	DefaultPermissions map[string]string `json:"default_permissions"`
	DefaultEvents      []string          `json:"default_events"`
	HookAttributes     struct {
		URL    string
		Active *bool
	} `json:"hook_attributes"`
}

// serveRegistration is the page that a manifest is posted to, with the person's consent taken for granted: it answers with the
// redirect that carries the code.
func (s *Server) serveRegistration(w http.ResponseWriter, r *http.Request) {
	var m manifest
	if err := json.Unmarshal([]byte(r.FormValue("manifest")), &m); err != nil {
		http.Error(w, "Invalid GitHub App configuration: the manifest is no JSON: "+html.EscapeString(err.Error()), http.StatusUnprocessableEntity)
		return
	}
	to, err := url.Parse(m.RedirectURL)
	if err != nil || m.URL == "" || to.Host == "" {
		http.Error(w, "Invalid GitHub App configuration: url and redirect_url are needed.", http.StatusUnprocessableEntity)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	code := strings.ToLower(randomText(40))
	s.manifests[code] = m
	q := to.Query()
	q.Set("code", code)
	if state := r.URL.Query().Get("state"); state != "" {
		q.Set("state", state)
	}
	to.RawQuery = q.Encode()
	http.Redirect(w, r, to.String(), http.StatusFound)
}

// convertManifest turns a code, once, into the App under test with what the manifest asks for.
func convertManifest(c *call) reply {
	m, found := c.s.manifests[c.param("code")]
	if !found {
		return notFound()
	}
	delete(c.s.manifests, c.param("code"))
	a := c.s.apps[c.s.app.Slug]
	if m.Name != "" {
		a.name = m.Name
	}
	if m.DefaultPermissions != nil {
		a.permissions = m.DefaultPermissions
	}
	if m.DefaultEvents != nil {
		a.events = m.DefaultEvents
	}
	if m.HookAttributes.URL != "" {
		c.s.hook.url = m.HookAttributes.URL
	}
	block, _ := pem.Decode(c.s.app.PrivateKeyPEM)
	body, ok := c.s.appJSON(a).(object)
	if !ok {
		c.s.later(fmt.Errorf("the App under test is gone"))
	}
	body["client_secret"], body["webhook_secret"], body["pem"] = "0123456789abcdef0123456789abcdef01234567", c.s.hook.secret, string(pem.EncodeToMemory(block))
	return created(body)
}
