// Package setup registers the GitHub App from its manifest: a page that posts the manifest to GitHub, GitHub's redirect that
// brings a code, the exchange of the code for the App's credentials, and the files they are kept in ("Registering a GitHub App
// from a manifest" of GitHub's documentation).
//
// Whoever reaches the page could make the server hold the key of an App of theirs, so nothing is served without a one-time
// token that only the person at the terminal sees. It is traded for a cookie, and GitHub's redirect has to bring back that
// browser's cookie and a state that the page gave out.
package setup

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/prosecutor-bot/prosecutor/app/manifest"
)

// Life is how long a registration may take from its start: a code of GitHub's is valid for an hour.
const Life = time.Hour

// webhookPath is where prosecutor serve takes webhooks.
const webhookPath = "/api/github/hook"

// ErrExpired is what [Setup.Run] returns when nobody finished the registration within its life.
var ErrExpired = errors.New("nobody finished the registration in time, and nothing was written: start prosecutor setup again")

// Options are what [New] needs. Manifest, REST, HTML, PublicURL and Dir are required.
type Options struct {
	// Manifest is what the App asks for.
	Manifest *manifest.Manifest
	// Org is the organization that is to own the App. Empty means the person who registers it.
	Org string
	// REST and HTML are the URLs of GitHub's REST API and of its pages. Plain http is accepted for loopback hosts only: the
	// key comes that way.
	REST, HTML string
	// PublicURL is where GitHub reaches prosecutor serve, without the webhook's path. Plain http is accepted for this machine
	// and for addresses of private networks.
	PublicURL string
	// PageURL is where the person's browser reaches the page, when that is not the address it listens on: behind a proxy.
	// Without it a page on a loopback address is reached there, any other at PublicURL.
	PageURL string
	// Dir is the directory for the credentials. It is made if need be, for its owner alone.
	Dir string
	// KeyVariable and SecretVariable are the environment variables that prosecutor serve reads; PRIVATE_KEY and WEBHOOK_SECRET
	// by default.
	KeyVariable, SecretVariable string
	// Client sends the exchange of the code. By default one with a time-out, that follows no redirect.
	Client *http.Client
	// Life bounds the whole registration; [Life] by default.
	Life time.Duration
}

// Registered is what a registration came to. It holds no secret.
type Registered struct {
	AppID int64
	Slug  string
	// SettingsURL is the App's page of settings, InstallURL the page that installs it.
	SettingsURL, InstallURL string
	// KeyFile and EnvFile are the absolute paths of what was written.
	KeyFile, EnvFile string
}

// Setup is one registration. It is safe for concurrent use, and good for one App.
type Setup struct {
	manifest  *manifest.Manifest
	org       string
	rest      *url.URL
	html      *url.URL
	public    *url.URL
	page      *url.URL
	files     files
	client    *http.Client
	life      time.Duration
	token     string
	cookie    string
	converted chan outcome

	// converting is held while a code is exchanged, so that two requests with one code cannot both do it.
	converting sync.Mutex

	mu        sync.Mutex
	tokenUsed bool
	// states maps a state that was given out to the code that came with it first.
	states map[string]string
	// order has the states by age; the oldest is forgotten when there are too many.
	order []string
	over  bool
}

type outcome struct {
	app *Registered
	err error
}

// maxStates bounds how many copies of the page can be under way.
const maxStates = 32

var orgName = regexp.MustCompile(`^[A-Za-z0-9](?:[A-Za-z0-9_-]{0,98}[A-Za-z0-9])?$`)

// New checks the options, and that the credentials can be written and none would be overwritten. It sends nothing.
func New(o Options) (*Setup, error) {
	s := &Setup{
		manifest: o.Manifest, org: o.Org, client: o.Client, life: o.Life,
		token: secret(), cookie: secret(), converted: make(chan outcome, 1), states: map[string]string{},
	}
	if o.Manifest == nil {
		return nil, errors.New("the manifest is missing")
	}
	if o.Org != "" && !orgName.MatchString(o.Org) {
		return nil, errors.New("the organization is no name of one: give it as in the address of its page, https://github.com/NAME")
	}
	var err error
	if s.rest, err = base("the URL of GitHub's REST API", o.REST, loopback); err != nil {
		return nil, err
	}
	if s.html, err = base("the URL of GitHub's pages", o.HTML, loopback); err != nil {
		return nil, err
	}
	if o.PublicURL == "" {
		return nil, errors.New("the public URL is missing: GitHub sends webhooks to it, so the App cannot be registered without (--public-url https://prosecutor.example.com)")
	}
	if s.public, err = base("the public URL", o.PublicURL, private); err != nil {
		return nil, err
	}
	if o.PageURL != "" {
		if s.page, err = base("the URL of the setup page", o.PageURL, private); err != nil {
			return nil, err
		}
	}
	if s.files, err = newFiles(o.Dir); err != nil {
		return nil, err
	}
	s.files.keyVariable = cmp.Or(o.KeyVariable, "PRIVATE_KEY")
	s.files.secretVariable = cmp.Or(o.SecretVariable, "WEBHOOK_SECRET")
	if s.client == nil {
		s.client = &http.Client{
			Timeout: 30 * time.Second,
			// A redirected exchange would hand the code, and with it the key, to whoever is named there.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	if s.life <= 0 {
		s.life = Life
	}
	return s, nil
}

// base reads a URL that paths are added to.
func base(what, raw string, httpAllowed func(host string) bool) (*url.URL, error) {
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return nil, fmt.Errorf("%s is no absolute https URL", what)
	case u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.ForceQuery:
		return nil, fmt.Errorf("%s must have no user, query or fragment", what)
	case u.Scheme == "http" && !httpAllowed(u.Hostname()):
		return nil, fmt.Errorf("%s must be https: over http anybody on the way reads and changes it", what)
	}
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), ""
	return u, nil
}

func loopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.Unmap().IsLoopback()
}

func private(host string) bool {
	addr, err := netip.ParseAddr(host)
	return loopback(host) || err == nil && (addr.Unmap().IsPrivate() || addr.Unmap().IsLinkLocalUnicast())
}

// secret is 256 random bits as text.
func secret() string {
	b := make([]byte, 32)
	_, _ = rand.Read(b) // it never fails: crypto/rand ends the program instead
	return base64.RawURLEncoding.EncodeToString(b)
}

// Run serves the page on l until the App is registered, the registration has expired or ctx ends. It tells open the link with
// the one-time token first. When GitHub has registered the App, and its credentials could not be kept, the error says which App
// that is. Run closes l, and may be called once.
func (s *Setup) Run(ctx context.Context, l net.Listener, open func(link string)) (*Registered, error) {
	if s.page == nil {
		s.page = s.public
		if loopback(hostOf(l.Addr())) {
			s.page = &url.URL{Scheme: "http", Host: l.Addr().String()}
		}
	}
	srv := &http.Server{
		Handler:           s.handler(),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      2 * time.Minute, // the exchange of the code happens while the browser waits
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    16 << 10,
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	open(s.link())
	expired := time.NewTimer(s.life)
	defer expired.Stop()

	var out outcome
	select {
	case out = <-s.converted:
	case err := <-served:
		return nil, fmt.Errorf("the setup page: %w", err)
	case <-expired.C:
		out.err = ErrExpired
	case <-ctx.Done():
		out.err = ctx.Err()
	}
	s.finish()
	deadline, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	err := srv.Shutdown(deadline)
	if err != nil {
		err = errors.Join(err, srv.Close())
	}
	if end := <-served; !errors.Is(end, http.ErrServerClosed) {
		err = errors.Join(err, end)
	}
	// A code may have been exchanged while the end came: what it brought counts, for the App exists.
	s.converting.Lock()
	defer s.converting.Unlock()
	select {
	case out = <-s.converted:
	default:
	}
	if out.err != nil {
		return nil, out.err
	}
	if err != nil {
		return out.app, fmt.Errorf("ending the setup page: %w", err)
	}
	return out.app, nil
}

func hostOf(a net.Addr) string {
	host, _, err := net.SplitHostPort(a.String())
	if err != nil {
		return ""
	}
	return host
}

// link is the address of the page with the token, for the terminal alone.
func (s *Setup) link() string {
	return s.page.String() + pagePath + "?" + url.Values{"token": {s.token}}.Encode()
}

// finish refuses everything from now on.
func (s *Setup) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
}
