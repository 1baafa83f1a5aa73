package setup

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/prosecutor-bot/prosecutor/app/manifest"
	"github.com/prosecutor-bot/prosecutor/test/githubtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const publicURL = "https://prosecutor.example.com/bot"

// exchanges remembers the escaped paths of what is sent to GitHub.
type exchanges struct {
	mu    sync.Mutex
	paths []string
}

func (e *exchanges) RoundTrip(r *http.Request) (*http.Response, error) {
	e.mu.Lock()
	e.paths = append(e.paths, r.Method+" "+r.URL.EscapedPath())
	e.mu.Unlock()
	return http.DefaultTransport.RoundTrip(r)
}

func (e *exchanges) list() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]string(nil), e.paths...)
}

// flow is a running registration and the person in front of it.
type flow struct {
	t      *testing.T
	github *githubtest.Server
	sent   *exchanges
	dir    string
	link   string
	base   string
	cancel context.CancelFunc
	ended  chan outcome
	seen   bytes.Buffer // every page that was shown, with its headers
}

func begin(t *testing.T, github *githubtest.Server, change func(*Options)) *flow {
	t.Helper()
	m, err := manifest.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	f := &flow{t: t, github: github, sent: &exchanges{}, dir: filepath.Join(t.TempDir(), "credentials"), ended: make(chan outcome, 1)}
	o := Options{
		Manifest: m, REST: github.REST, HTML: github.URL, PublicURL: publicURL, Dir: f.dir,
		Client: &http.Client{Transport: f.sent},
	}
	if change != nil {
		change(&o)
	}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f.base = "http://" + l.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	f.cancel = cancel
	opened := make(chan string, 1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		app, err := s.Run(ctx, l, func(link string) { opened <- link })
		f.ended <- outcome{app, err}
	}()
	f.link = <-opened
	t.Cleanup(func() {
		cancel()
		<-done
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	})
	return f
}

// browser is a browser of its own, that follows redirects only when asked to.
func browser(t *testing.T, follow bool) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	c := &http.Client{Jar: jar}
	if !follow {
		c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	return c
}

func (f *flow) do(c *http.Client, method, address string, form url.Values) (int, string) {
	f.t.Helper()
	req, err := http.NewRequest(method, address, strings.NewReader(form.Encode()))
	if err != nil {
		f.t.Fatal(err)
	}
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	resp, err := c.Do(req)
	if err != nil {
		f.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		f.t.Fatal(err)
	}
	fmt.Fprintf(&f.seen, "%v\n%s\n", resp.Header, body)
	if method == http.MethodPost || resp.StatusCode/100 == 3 {
		return resp.StatusCode, resp.Header.Get("Location")
	}
	return resp.StatusCode, string(body)
}

var formOf = regexp.MustCompile(`(?s)<form action="([^"]*)" method="post">\s*<input type="hidden" name="manifest" value="([^"]*)">`)

// form opens the page and returns what it would post, and where.
func (f *flow) form(c *http.Client, address string) (action, text string) {
	f.t.Helper()
	status, body := f.do(c, http.MethodGet, address, nil)
	m := formOf.FindStringSubmatch(body)
	if status != http.StatusOK || m == nil {
		f.t.Fatalf("%d, no form in\n%s", status, body)
	}
	return html.UnescapeString(m[1]), html.UnescapeString(m[2])
}

// code registers at GitHub, and returns the address that GitHub redirects to.
func (f *flow) code(c *http.Client, action, text string) string {
	f.t.Helper()
	follow := c.CheckRedirect
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	defer func() { c.CheckRedirect = follow }()
	status, location := f.do(c, http.MethodPost, action, url.Values{"manifest": {text}})
	if status != http.StatusFound {
		f.t.Fatalf("GitHub answered %d", status)
	}
	return location
}

func (f *flow) conversions() (n int) {
	for _, r := range f.github.Requests() {
		if r.Route == "/app-manifests/{code}/conversions" {
			n++
		}
	}
	return n
}

func read(t *testing.T, path string) string {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode() != 0o600 {
		t.Errorf("%s has mode %v", path, info.Mode())
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestRegistersAndKeepsTheCredentials(t *testing.T) {
	gh := githubtest.New(t)
	f := begin(t, gh, nil)
	c := browser(t, true)
	action, text := f.form(c, f.link)
	var got map[string]any
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	embedded, err := manifest.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	if want := (map[string]any{"url": publicURL + "/api/github/hook", "active": true}); !reflect.DeepEqual(got["hook_attributes"], want) {
		t.Errorf("hook_attributes %v", got["hook_attributes"])
	}
	if got["redirect_url"] != f.base+"/setup/registered" || got["setup_url"] != embedded.URL || got["public"] != false || got["name"] != embedded.Name {
		t.Errorf("the manifest %v", got)
	}
	if n := len(got["default_permissions"].(map[string]any)); n != len(embedded.DefaultPermissions) {
		t.Errorf("%d permissions", n)
	}
	if n := len(got["default_events"].([]any)); n != len(embedded.DefaultEvents) {
		t.Errorf("%d events", n)
	}
	if !strings.HasPrefix(action, gh.URL+"/settings/apps/new?state=") {
		t.Errorf("the form goes to %s", action)
	}
	status, body := f.do(c, http.MethodGet, f.code(c, action, text), nil)
	if status != http.StatusOK || !strings.Contains(body, "is registered") {
		t.Fatalf("%d\n%s", status, body)
	}
	out := <-f.ended
	if out.err != nil {
		t.Fatal(out.err)
	}
	app := gh.App()
	want := Registered{
		AppID: app.ID, Slug: app.Slug, InstallURL: gh.URL + "/apps/" + app.Slug + "/installations/new",
		KeyFile: filepath.Join(f.dir, KeyFile), EnvFile: filepath.Join(f.dir, EnvFile), SettingsURL: out.app.SettingsURL,
	}
	if *out.app != want || !strings.HasSuffix(want.SettingsURL, "/settings/apps/"+app.Slug) {
		t.Errorf("%+v, want %+v", *out.app, want)
	}
	if read(t, want.KeyFile) != string(app.PrivateKeyPEM) {
		t.Error("the key is not GitHub's")
	}
	if got, want := read(t, want.EnvFile), fmt.Sprintf("APP_ID=%d\nPRIVATE_KEY=%s\nWEBHOOK_SECRET=%s\n", app.ID, want.KeyFile, app.WebhookSecret); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if info, err := os.Stat(f.dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory: %v %v", info.Mode(), err)
	}
	for _, secret := range []string{"PRIVATE KEY", app.WebhookSecret, "0123456789abcdef0123456789abcdef01234567"} {
		if strings.Contains(f.seen.String(), secret) {
			t.Errorf("a page shows %q", secret)
		}
	}
	if _, err := net.Dial("tcp", strings.TrimPrefix(f.base, "http://")); err == nil {
		t.Error("the page is still served")
	}
}

func TestAnOrganizationOwnsTheApp(t *testing.T) {
	f := begin(t, githubtest.New(t), func(o *Options) { o.Org = "acme" })
	action, _ := f.form(browser(t, true), f.link)
	if !strings.HasPrefix(action, f.github.URL+"/organizations/acme/settings/apps/new?state=") {
		t.Errorf("the form goes to %s", action)
	}
}

func TestBehindAProxyTheConfiguredURLCounts(t *testing.T) {
	f := begin(t, githubtest.New(t), func(o *Options) { o.PageURL = publicURL })
	link, err := url.Parse(f.link)
	if err != nil || !strings.HasPrefix(f.link, publicURL+"/setup?token=") {
		t.Fatalf("the link is %s", f.link)
	}
	req, err := http.NewRequest(http.MethodGet, f.base+"/setup?"+link.RawQuery, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Forwarded-Proto", "http")
	req.Header.Set("X-Forwarded-Host", "evil.example")
	req.Host = "evil.example"
	c := browser(t, false)
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	cookie := resp.Cookies()[0]
	if resp.Header.Get("Location") != publicURL+"/setup" || !cookie.Secure || !cookie.HttpOnly || cookie.Path != "/bot" || cookie.SameSite != http.SameSiteLaxMode {
		t.Fatalf("%v %+v", resp.Header, cookie)
	}
	req, err = http.NewRequest(http.MethodGet, f.base+"/setup", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = "evil.example"
	req.AddCookie(&http.Cookie{Name: cookie.Name, Value: cookie.Value})
	resp, err = http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	text := html.UnescapeString(string(body))
	if strings.Contains(text, "evil") || !strings.Contains(text, `"redirect_url":"`+publicURL+`/setup/registered"`) {
		t.Errorf("the page trusts the request:\n%s", text)
	}
}

func TestOnlyTheBrowserWithTheLink(t *testing.T) {
	f := begin(t, githubtest.New(t), nil)
	mine, other := browser(t, true), browser(t, true)
	refused := func(c *http.Client, method, path string, want int) {
		t.Helper()
		if status, body := f.do(c, method, path, nil); status != want || strings.Contains(body, "<form") {
			t.Errorf("%s %s: %d, want %d\n%s", method, path, status, want, body)
		}
	}
	refused(other, http.MethodGet, f.base+"/setup", http.StatusForbidden)
	refused(other, http.MethodGet, f.base+"/setup?token=guessed", http.StatusForbidden)
	refused(other, http.MethodHead, f.link, http.StatusMethodNotAllowed)
	action, text := f.form(mine, f.link)
	f.form(mine, f.link) // the same browser may load it again
	f.form(mine, f.base+"/setup")
	refused(other, http.MethodGet, f.link, http.StatusForbidden)
	back := f.code(mine, action, text)
	refused(other, http.MethodGet, back, http.StatusForbidden)
	req, err := http.NewRequest(http.MethodPost, back, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := mine.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", resp.StatusCode)
	}
	if n := f.conversions(); n != 0 {
		t.Errorf("%d codes were exchanged for strangers", n)
	}
	if status, _ := f.do(mine, http.MethodGet, back, nil); status != http.StatusOK {
		t.Errorf("the own browser is refused: %d", status)
	}
}

func TestStatesAreGivenOutAndGoodForOneCode(t *testing.T) {
	f := begin(t, githubtest.New(t), nil)
	c := browser(t, true)
	action, _ := f.form(c, f.link)
	u, err := url.Parse(action)
	if err != nil {
		t.Fatal(err)
	}
	state := u.Query().Get("state")
	again, _ := f.form(c, f.base+"/setup")
	if again == action || len(state) < 43 {
		t.Errorf("states %s and %s", action, again)
	}
	back := func(q url.Values) int {
		t.Helper()
		status, _ := f.do(c, http.MethodGet, f.base+"/setup/registered?"+q.Encode(), nil)
		return status
	}
	for _, q := range []url.Values{
		{"code": {"abc"}}, {"state": {state}}, {"state": {state}, "code": {""}}, {"state": {state}, "code": {".."}},
		{"state": {state}, "code": {"a\nb"}}, {"state": {state}, "code": {strings.Repeat("a", 513)}},
	} {
		if status := back(q); status != http.StatusBadRequest {
			t.Errorf("%v: %d", q, status)
		}
	}
	if status := back(url.Values{"state": {"made up"}, "code": {"abc"}}); status != http.StatusForbidden {
		t.Errorf("a state of nobody's: %d", status)
	}
	if sent := f.sent.list(); len(sent) != 0 {
		t.Errorf("GitHub was asked: %v", sent)
	}
	// A code that GitHub does not know uses the state up, and cannot leave its place in the path.
	if status := back(url.Values{"state": {state}, "code": {"../../app?x=1#y%2f"}}); status != http.StatusBadGateway {
		t.Errorf("a code that is not known: %d", status)
	}
	rest, err := url.Parse(f.github.REST)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"POST " + rest.Path + "app-manifests/..%2F..%2Fapp%3Fx=1%23y%252f/conversions"}; !reflect.DeepEqual(f.sent.list(), want) {
		t.Errorf("sent %v, want %v", f.sent.list(), want)
	}
	if status := back(url.Values{"state": {state}, "code": {"abc"}}); status != http.StatusForbidden {
		t.Errorf("a state that was used: %d", status)
	}
	// The person can start over.
	action, text := f.form(c, f.base+"/setup")
	if status, _ := f.do(c, http.MethodGet, f.code(c, action, text), nil); status != http.StatusOK {
		t.Errorf("starting over: %d", status)
	}
	if out := <-f.ended; out.err != nil {
		t.Error(out.err)
	}
}

func TestOldStatesAreForgotten(t *testing.T) {
	f := begin(t, githubtest.New(t), nil)
	c := browser(t, true)
	first, text := f.form(c, f.link)
	for range maxStates {
		f.form(c, f.base+"/setup")
	}
	if status, _ := f.do(c, http.MethodGet, f.code(c, first, text), nil); status != http.StatusForbidden {
		t.Errorf("the oldest of too many states: %d", status)
	}
}

func TestAnUnreachedGitHubIsAskedAgain(t *testing.T) {
	f := begin(t, githubtest.New(t), nil)
	c := browser(t, true)
	action, text := f.form(c, f.link)
	back := f.code(c, action, text)
	for _, fault := range []githubtest.Fault{{Kind: githubtest.ServerError}, {Kind: githubtest.Closed}, {Kind: githubtest.SecondaryLimit}} {
		fault.Route = "/app-manifests/{code}/conversions"
		f.github.Inject(fault)
		status, body := f.do(c, http.MethodGet, back, nil)
		u, err := url.Parse(back)
		if err != nil {
			t.Fatal(err)
		}
		if status != http.StatusBadGateway || strings.Contains(body, u.Query().Get("code")) {
			t.Errorf("%d\n%s", status, body)
		}
	}
	other := strings.Replace(back, "code=", "code=0", 1)
	if status, _ := f.do(c, http.MethodGet, other, nil); status != http.StatusForbidden {
		t.Errorf("another code with the same state: %d", status)
	}
	if status, _ := f.do(c, http.MethodGet, back, nil); status != http.StatusOK {
		t.Errorf("loaded again: %d", status)
	}
	if out := <-f.ended; out.err != nil {
		t.Error(out.err)
	}
}

func TestAnswersThatNameNoAppAreRefused(t *testing.T) {
	for name, answer := range map[string]string{
		"no JSON": "<html>", "nothing": "{}", "a slug that leads elsewhere": `{"id":1,"slug":"../../x","pem":"","webhook_secret":""}`, "a negative id": `{"id":-1,"slug":"x"}`,
		"without end": `{"slug":"` + strings.Repeat("x", maxAnswer+1) + `"}`,
	} {
		t.Run(name, func(t *testing.T) {
			f := begin(t, githubtest.New(t), nil)
			c := browser(t, true)
			action, text := f.form(c, f.link)
			f.github.Inject(githubtest.Fault{Route: "/app-manifests/{code}/conversions", Kind: githubtest.Answered, Answer: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusCreated)
				fmt.Fprint(w, answer)
			})})
			if status, _ := f.do(c, http.MethodGet, f.code(c, action, text), nil); status != http.StatusBadGateway {
				t.Errorf("%d", status)
			}
			if list, err := os.ReadDir(f.dir); err != nil || len(list) != 0 {
				t.Errorf("%v %v", list, err)
			}
		})
	}
}

// A secret that serve would not take is replaced at GitHub, and what is written is what GitHub signs with.
func TestAWeakWebhookSecretIsReplaced(t *testing.T) {
	gh := githubtest.New(t)
	gh.SetWebhookSecret("short")
	var written []string
	for range 2 {
		f := begin(t, gh, nil)
		c := browser(t, true)
		action, text := f.form(c, f.link)
		if status, body := f.do(c, http.MethodGet, f.code(c, action, text), nil); status != http.StatusOK {
			t.Fatalf("%d\n%s", status, body)
		}
		if out := <-f.ended; out.err != nil {
			t.Fatal(out.err)
		}
		_, secret, _ := strings.Cut(read(t, filepath.Join(f.dir, EnvFile)), "WEBHOOK_SECRET=")
		written = append(written, strings.TrimSpace(secret))
	}
	if len(written[0]) < 43 || written[0] != written[1] {
		t.Errorf("secrets of %d and %d characters; GitHub has the second", len(written[0]), len(written[1]))
	}
}

func TestASecretThatCannotBeSetIsSaid(t *testing.T) {
	gh := githubtest.New(t)
	gh.SetWebhookSecret("")
	gh.Inject(githubtest.Fault{Route: "/app/hook/config", Kind: githubtest.Missing, Times: -1})
	f := begin(t, gh, nil)
	c := browser(t, true)
	action, text := f.form(c, f.link)
	if status, _ := f.do(c, http.MethodGet, f.code(c, action, text), nil); status != http.StatusInternalServerError {
		t.Errorf("%d", status)
	}
	out := <-f.ended
	if out.err == nil || out.app != nil || !strings.Contains(out.err.Error(), "has no webhook secret") {
		t.Errorf("%+v %v", out.app, out.err)
	}
	if env := read(t, filepath.Join(f.dir, EnvFile)); strings.Contains(env, "WEBHOOK_SECRET") {
		t.Error("a secret is written that GitHub does not have")
	}
	read(t, filepath.Join(f.dir, KeyFile))
}

// Credentials that appear while the person is at GitHub are not written over, and the App is named.
func TestLateCredentialsAreNotOverwritten(t *testing.T) {
	gh := githubtest.New(t)
	for _, link := range []bool{false, true} {
		f := begin(t, gh, nil)
		path, target := filepath.Join(f.dir, KeyFile), filepath.Join(t.TempDir(), "precious")
		if err := os.WriteFile(target, []byte("precious"), 0o600); err != nil {
			t.Fatal(err)
		}
		var err error
		if link {
			err = os.Symlink(target, path)
		} else {
			err = os.Link(target, path)
		}
		if err != nil {
			t.Fatal(err)
		}
		c := browser(t, true)
		action, text := f.form(c, f.link)
		if status, _ := f.do(c, http.MethodGet, f.code(c, action, text), nil); status != http.StatusInternalServerError {
			t.Errorf("%d", status)
		}
		out := <-f.ended
		if !errors.Is(out.err, os.ErrExist) || !strings.Contains(out.err.Error(), fmt.Sprint("App ", gh.App().ID, " is registered")) || strings.Contains(out.err.Error(), "BEGIN") {
			t.Errorf("%v", out.err)
		}
		if got := read(t, target); got != "precious" {
			t.Errorf("%q", got)
		}
	}
}

func TestTheManifestIsEscaped(t *testing.T) {
	hostile := `"><script>alert('&amp;')</script>`
	f := begin(t, githubtest.New(t), func(o *Options) {
		m := *o.Manifest
		m.Name, m.Description = hostile, hostile
		o.Manifest = &m
	})
	_, text := f.form(browser(t, true), f.link)
	if strings.Contains(f.seen.String(), "<script") {
		t.Error("the page runs a script")
	}
	var got struct{ Name, Description string }
	if err := json.Unmarshal([]byte(text), &got); err != nil || got.Name != hostile || got.Description != hostile {
		t.Errorf("%+v %v", got, err)
	}
	if !strings.Contains(f.seen.String(), "default-src 'none'") || !strings.Contains(f.seen.String(), "no-store") {
		t.Error("the page has no policy")
	}
}

func TestItEnds(t *testing.T) {
	gh := githubtest.New(t)
	f := begin(t, gh, func(o *Options) { o.Life = time.Nanosecond })
	if out := <-f.ended; !errors.Is(out.err, ErrExpired) || out.app != nil {
		t.Errorf("%+v", out)
	}
	f = begin(t, gh, nil)
	f.cancel()
	if out := <-f.ended; !errors.Is(out.err, context.Canceled) {
		t.Errorf("%+v", out)
	}
}

// The end does not lose an App whose code is being exchanged.
func TestAnExchangeUnderWayCountsAtTheEnd(t *testing.T) {
	gh := githubtest.New(t)
	f := begin(t, gh, nil)
	c := browser(t, true)
	action, text := f.form(c, f.link)
	back := f.code(c, action, text)
	gate := make(chan struct{})
	held := gh.Inject(githubtest.Fault{Route: "/app-manifests/{code}/conversions", Kind: githubtest.Latency, Gate: gate})
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		resp, err := c.Get(back)
		if err == nil {
			resp.Body.Close()
		}
	}()
	if err := held.Await(context.Background(), 1); err != nil {
		t.Fatal(err)
	}
	f.cancel()
	close(gate)
	out := <-f.ended
	<-answered
	if out.err != nil || out.app == nil || out.app.AppID != gh.App().ID {
		t.Errorf("%+v", out)
	}
	read(t, filepath.Join(f.dir, KeyFile))
}

func TestOptionsThatCannotWorkAreRefused(t *testing.T) {
	m, err := manifest.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	occupied := t.TempDir()
	if err := os.WriteFile(filepath.Join(occupied, EnvFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	dangling := t.TempDir()
	if err := os.Symlink("/nowhere", filepath.Join(dangling, KeyFile)); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		change func(*Options)
		want   string
	}{
		"no manifest":          {func(o *Options) { o.Manifest = nil }, "manifest"},
		"an organization":      {func(o *Options) { o.Org = "acme/../x" }, "organization"},
		"no public URL":        {func(o *Options) { o.PublicURL = "" }, "--public-url"},
		"public http":          {func(o *Options) { o.PublicURL = "http://example.com" }, "https"},
		"another scheme":       {func(o *Options) { o.PublicURL = "ftp://example.com" }, "https"},
		"a relative URL":       {func(o *Options) { o.PublicURL = "example.com" }, "https"},
		"a user":               {func(o *Options) { o.PublicURL = "https://me:pw@example.com" }, "user"},
		"a query":              {func(o *Options) { o.PublicURL = "https://example.com/?a=b" }, "query"},
		"a page over http":     {func(o *Options) { o.PageURL = "http://example.com" }, "https"},
		"GitHub over http":     {func(o *Options) { o.REST = "http://10.0.0.1/api/v3/" }, "https"},
		"pages over http":      {func(o *Options) { o.HTML = "http://ghes.example" }, "https"},
		"existing credentials": {func(o *Options) { o.Dir = occupied }, "exists"},
		"a link":               {func(o *Options) { o.Dir = dangling }, "exists"},
		"a path with blanks":   {func(o *Options) { o.Dir = filepath.Join(o.Dir, "a b") }, "letters"},
		"a path with a quote":  {func(o *Options) { o.Dir = filepath.Join(o.Dir, "a'b") }, "letters"},
		"no directory":         {func(o *Options) { o.Dir = filepath.Join(occupied, EnvFile, "x") }, "not a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			o := Options{Manifest: m, REST: "https://api.github.com/", HTML: "https://github.com", PublicURL: publicURL, Dir: t.TempDir()}
			if _, err := New(o); err != nil {
				t.Fatal(err)
			}
			tt.change(&o)
			if _, err := New(o); err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "pw") {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
	for _, public := range []string{"http://127.0.0.1:8080", "http://localhost", "http://10.1.2.3:80/", "https://example.com/x/"} {
		if _, err := New(Options{Manifest: m, REST: "https://api.github.com/", HTML: "https://github.com", PublicURL: public, Dir: t.TempDir()}); err != nil {
			t.Errorf("%s: %v", public, err)
		}
	}
}

// Where the App's pages are on each of GitHub's products.
func TestPagesOfTheProducts(t *testing.T) {
	m, err := manifest.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ rest, html, said, app, settings string }{
		{"https://api.github.com/", "https://github.com", "https://github.com/apps/p", "https://github.com/apps/p", "https://github.com/settings/apps/p"},
		{"https://ghes.example/api/v3/", "https://ghes.example/", "https://ghes.example/github-apps/p", "https://ghes.example/github-apps/p", "https://ghes.example/settings/apps/p"},
		{"https://api.acme.ghe.com/", "https://acme.ghe.com", "https://acme.ghe.com/apps/p", "https://acme.ghe.com/apps/p", "https://acme.ghe.com/settings/apps/p"},
		{"https://api.github.com/", "https://github.com", "https://evil.example/apps/p", "https://github.com/apps/p", "https://github.com/settings/apps/p"},
		{"https://api.github.com/", "https://github.com", "javascript:alert(1)", "https://github.com/apps/p", "https://github.com/settings/apps/p"},
	} {
		s, err := New(Options{Manifest: m, REST: tt.rest, HTML: tt.html, PublicURL: publicURL, Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		c := &conversion{Slug: "p", HTMLURL: tt.said}
		if got := s.appURL(c); got != tt.app {
			t.Errorf("%s: %s, want %s", tt.said, got, tt.app)
		}
		if got := s.settingsURL(c); got != tt.settings {
			t.Errorf("%s: %s, want %s", tt.said, got, tt.settings)
		}
		c.Owner.Login, c.Owner.Type = "acme", "Organization"
		if got, want := s.settingsURL(c), strings.Replace(tt.settings, "/settings", "/organizations/acme/settings", 1); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
