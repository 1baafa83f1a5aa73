// Package ghclient is the way to GitHub's REST and GraphQL interfaces: clients of the App and of its installations that
// know the limits, keep to the etiquette, and never hand a token to a host that is not GitHub's.
//
// # What it takes care of
//
//   - Authentication. The App signs short JWTs; every call group asks for an installation token that names the
//     repositories and permissions it needs. Tokens live apart from clients, so that a client costs nothing, and parallel
//     calls mint one token.
//   - Limits. Primary, secondary and abuse limits (403 or 429, by header or by wording alone) become a [RateLimitError]
//     that says when to come back. Nothing here sleeps until a limit ends: that is the work of the queue. While an
//     installation is limited no request of it is sent.
//   - Budget. The remaining requests of each installation are tracked, and the last share is kept for publishing, so that
//     a verdict that was paid for can always be posted ([WithPurpose]).
//   - Etiquette. Writes of an installation are spaced by a bucket, and requests at once are capped.
//   - Redirects. Reads follow them within the host. A write that GitHub answers with 301, 302 or 303 is a [MovedError],
//     because following would turn it into a read that succeeds and changes nothing. Other hosts are refused.
//   - Answers. Bodies are bounded and read to the end, so that half an answer is an error and no connection leaks. Reads
//     that met a passing fault are asked again, writes never.
//   - Immutable objects (named by a full commit or object id) are cached by installation and URL. Conditional requests are
//     not used: GitHub binds ETags to the token, and tokens change each hour.
//   - Secrets. No token reaches a log, an error, or the request that an error carries ([Redact]).
//
// # Why not ghinstallation or go-githubapp's client creator
//
// ghinstallation v2.11.0 signs by the wall clock (30 s of tolerance for a fast clock), leaks the body of each failed
// refresh, and its transports that share an App transport write to it without a lock; one transport holds one token, so
// that a scope for each call group would mean a transport for each. go-githubapp's ClientCreator builds on it, mints twice
// when two callers come at once, loses tokens when its LRU turns over, and its transports know neither 429 nor wording.
// Signing a JWT and asking for a token are about a hundred lines on go-github; closing those edges from outside would be
// more.
package ghclient

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/google/go-github/v62/github"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
)

// Defaults of [Options].
const (
	// DefaultWriteRate and DefaultWriteBurst space writes: GitHub asks for a second between writes (Best practices for
	// using the REST API) and allows about 80 content-creating requests a minute (Rate limits for the REST API). A burst of
	// 20 and one a second after it stays within both.
	DefaultWriteRate  = 1.0
	DefaultWriteBurst = 20
	// DefaultConcurrency is far below GitHub's 100 requests at once, which all replicas of an installation share.
	DefaultConcurrency = 8
	// DefaultReserve is the share of an hour's requests that only publishing may use.
	DefaultReserve = 0.10
	// DefaultMaxBody bounds one answer, in bytes. GitHub's diffs end at 1 MB; blobs and listings of files are larger.
	DefaultMaxBody = 32 << 20
	// DefaultCacheBytes bounds the cache of immutable objects.
	DefaultCacheBytes = 64 << 20
	// DefaultTimeout bounds one attempt at a request, its answer included.
	DefaultTimeout = 60 * time.Second
)

// Options are what [New] needs. AppID and PrivateKey are required.
type Options struct {
	// AppID is the number of the App: the issuer of its JWTs.
	AppID int64
	// PrivateKey is the App's RSA key in any form that [LoadKey] takes.
	PrivateKey []byte

	// REST is the base URL of the REST interface, https://api.github.com/ by default. GraphQL and HTML are the GraphQL
	// endpoint and the host that people see; for GitHub's three products they follow from REST, otherwise they must be set.
	// Plain http is accepted for loopback hosts only.
	REST, GraphQL, HTML string
	// UserAgent is sent with each request; GitHub asks for the App's name. "prosecutor" by default.
	UserAgent string

	// Now tells the time, time.Now by default. Sleep waits, or returns the context's error; by a timer by default. Who
	// replaces one replaces both: a clock that stands still gives writes no further turn. Rand returns a number in [0,1),
	// which spreads retries.
	Now   func() time.Time
	Sleep func(ctx context.Context, d time.Duration) error
	Rand  func() float64

	// WriteRate is the writes per second of one installation, WriteBurst how many may come at once.
	WriteRate  float64
	WriteBurst int
	// Concurrency caps the requests of one installation that are under way at once.
	Concurrency int
	// Reserve is the share of the hourly requests that is kept for publishing, 0 < Reserve < 1. Background work stops at
	// three times that share.
	Reserve float64
	// MaxBody bounds an answer, in bytes; [WithMaxBody] overrides it for one call.
	MaxBody int64
	// CacheBytes bounds the memory of the cache of immutable objects. Negative switches the cache off.
	CacheBytes int64
	// Timeout bounds one attempt at a request.
	Timeout time.Duration

	// Transport sends the requests; by default one of its own with time-outs and TLS 1.2 or later.
	Transport http.RoundTripper
	// Registry takes the metrics; without one they are not exported.
	Registry prometheus.Registerer
	// Logger gets a line for each request, at debug level, when the context has no logger of its own.
	Logger *zerolog.Logger
}

// Clients makes clients of one App. It is safe for concurrent use. Clients of one installation share its tokens, its
// budget, its pauses and its caches, whichever call made them.
type Clients struct {
	opt     Options
	rest    *url.URL
	graphql *url.URL
	html    *url.URL
	origins map[string]bool
	signer  *signer
	tokens  *tokens
	cache   *cache
	metrics *metrics
	app     *github.Client

	mu       sync.Mutex
	accounts map[int64]*account
}

// Scope is what an installation token may be used for: the least a call group needs. Without repositories the token is
// for all of the installation, without permissions it has all that the installation granted.
type Scope struct {
	// RepositoryIDs are the ids of at most 500 repositories.
	RepositoryIDs []int64
	// Permissions maps GitHub's names to "read" or "write", as in app.yml.
	Permissions map[string]string
}

// New checks the options, the key first of all, and returns the clients. Nothing is sent yet. Close releases what they
// hold.
func New(o Options) (*Clients, error) {
	if o.AppID <= 0 {
		return nil, errors.New("the App's id is missing: set it to the number that the App's settings page shows")
	}
	key, err := parseKey(string(o.PrivateKey))
	if err != nil {
		return nil, fmt.Errorf("reading the App's private key: %w", err)
	}
	if o.Reserve < 0 || o.Reserve >= 1 {
		return nil, fmt.Errorf("the share kept for publishing is %g: it must be at least 0 and below 1", o.Reserve)
	}
	if o.WriteRate < 0 || o.WriteBurst < 0 || o.Concurrency < 0 || o.MaxBody < 0 || o.Timeout < 0 {
		return nil, errors.New("write rate, write burst, concurrency, body bound and time-out must not be negative")
	}
	o.setDefaults()
	c := &Clients{opt: o, accounts: map[int64]*account{}, origins: map[string]bool{}}
	if err := c.setHosts(); err != nil {
		return nil, err
	}
	c.metrics = newMetrics(c)
	if err := c.metrics.register(o.Registry); err != nil {
		return nil, fmt.Errorf("registering the metrics of the GitHub clients: %w", err)
	}
	c.signer = &signer{appID: o.AppID, key: key, now: o.Now}
	c.tokens = newTokens(c)
	c.cache = newCache(o.CacheBytes, o.Now)
	c.app = c.github(&transport{c: c, account: c.account(0), credential: c.signer})
	return c, nil
}

func (o *Options) setDefaults() {
	if o.REST == "" {
		o.REST = "https://api.github.com/"
	}
	if o.UserAgent == "" {
		o.UserAgent = "prosecutor"
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Sleep == nil {
		o.Sleep = sleep
	}
	if o.Rand == nil {
		o.Rand = rand.Float64
	}
	if o.WriteRate == 0 {
		o.WriteRate = DefaultWriteRate
	}
	if o.WriteBurst == 0 {
		o.WriteBurst = DefaultWriteBurst
	}
	if o.Concurrency == 0 {
		o.Concurrency = DefaultConcurrency
	}
	if o.Reserve == 0 {
		o.Reserve = DefaultReserve
	}
	if o.MaxBody == 0 {
		o.MaxBody = DefaultMaxBody
	}
	if o.CacheBytes == 0 {
		o.CacheBytes = DefaultCacheBytes
	}
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Transport == nil {
		o.Transport = defaultTransport()
	}
	if o.Logger == nil {
		nop := zerolog.Nop()
		o.Logger = &nop
	}
}

// sleep waits for d or until ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// App returns the client that speaks as the App itself: its settings, installations and hook deliveries.
func (c *Clients) App() *github.Client { return c.app }

// Installation returns a client that speaks as an installation, within the scope. The token is minted now, or taken from
// an earlier call with the same scope, so that a revoked installation or a permission that nobody granted is an error
// here (see [TokenError]). The client asks for the current token at each request and so survives the hour, but it is meant
// for one group of calls: ask for another one after a long pause.
func (c *Clients) Installation(ctx context.Context, installationID int64, scope Scope) (*github.Client, error) {
	t, err := c.transport(ctx, installationID, scope)
	if err != nil {
		return nil, err
	}
	return c.github(t), nil
}

func (c *Clients) transport(ctx context.Context, installationID int64, scope Scope) (*transport, error) {
	if installationID <= 0 {
		return nil, fmt.Errorf("%d is no installation id", installationID)
	}
	cred, err := c.tokens.credential(installationID, scope)
	if err != nil {
		return nil, err
	}
	if _, err := cred.header(ctx); err != nil {
		return nil, err
	}
	return &transport{c: c, account: c.account(installationID), credential: cred}, nil
}

// github wraps a transport into a go-github client.
func (c *Clients) github(t *transport) *github.Client {
	g := github.NewClient(c.httpClient(t))
	g.BaseURL = c.RESTURL()
	g.UploadURL = c.RESTURL()
	g.UserAgent = c.opt.UserAgent
	return g
}

func (c *Clients) httpClient(t *transport) *http.Client {
	return &http.Client{Transport: t, CheckRedirect: c.checkRedirect}
}

// RESTURL returns the base URL of the REST interface, which ends in a slash.
func (c *Clients) RESTURL() *url.URL { u := *c.rest; return &u }

// HTMLURL returns the host that people see, without a slash at the end: the start of each link.
func (c *Clients) HTMLURL() *url.URL { u := *c.html; return &u }

// GraphQLURL returns the GraphQL endpoint.
func (c *Clients) GraphQLURL() *url.URL { u := *c.graphql; return &u }

// Forget drops what is known of an installation: tokens and cached objects. Call it when an installation is removed or
// suspended, or its repositories or permissions change. A pause that GitHub demanded stays in force.
func (c *Clients) Forget(installationID int64) {
	c.tokens.forget(installationID)
	c.cache.forget(installationID)
	c.mu.Lock()
	defer c.mu.Unlock()
	if a, ok := c.accounts[installationID]; ok && a.idle() {
		delete(c.accounts, installationID)
	}
}

// Close ends the token requests that are under way and the idle connections. Clients that were handed out must not be
// used after it.
func (c *Clients) Close() {
	c.tokens.close()
	if t, ok := c.opt.Transport.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

// account returns the budget of an installation; 0 is the App itself.
func (c *Clients) account(installationID int64) *account {
	c.mu.Lock()
	defer c.mu.Unlock()
	a, ok := c.accounts[installationID]
	if !ok {
		a = newAccount(installationID, &c.opt)
		c.accounts[installationID] = a
	}
	return a
}

// setHosts parses the three URLs, and derives those that are missing.
func (c *Clients) setHosts() error {
	rest, err := apiURL("REST", c.opt.REST)
	if err != nil {
		return err
	}
	if !strings.HasSuffix(rest.Path, "/") {
		rest.Path += "/"
	}
	graphql, html := c.opt.GraphQL, c.opt.HTML
	if derivedGraphQL, derivedHTML, ok := products(rest); ok {
		if graphql == "" {
			graphql = derivedGraphQL
		}
		if html == "" {
			html = derivedHTML
		}
	}
	if graphql == "" || html == "" {
		return fmt.Errorf("the GraphQL endpoint and the HTML host of %s are unknown: set both", rest)
	}
	c.rest = rest
	if c.graphql, err = apiURL("GraphQL", graphql); err != nil {
		return err
	}
	if c.html, err = apiURL("HTML", strings.TrimSuffix(html, "/")); err != nil {
		return err
	}
	c.origins[origin(c.rest)] = true
	c.origins[origin(c.graphql)] = true
	return nil
}

// products knows where GraphQL and pages are for github.com, ghe.com (the tenant's api host, no /api/v3) and GitHub
// Enterprise Server (/api/v3 on the host itself).
func products(rest *url.URL) (graphql, html string, ok bool) {
	host := strings.ToLower(rest.Host)
	switch {
	case host == "api.github.com":
		return "https://api.github.com/graphql", "https://github.com", true
	case strings.HasPrefix(host, "api.") && strings.HasSuffix(host, ".ghe.com"):
		return rest.Scheme + "://" + rest.Host + "/graphql", rest.Scheme + "://" + strings.TrimPrefix(host, "api."), true
	case strings.HasSuffix(strings.TrimSuffix(rest.Path, "/"), "/api/v3"):
		base := rest.Scheme + "://" + rest.Host
		return base + "/api/graphql", base, true
	}
	return "", "", false
}

func apiURL(what, raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") {
		return nil, fmt.Errorf("the %s URL %q is no URL: write it as https://HOST/", what, Redact(raw))
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("the %s URL of %s must not have a user, a query or a fragment", what, u.Host)
	}
	if u.Scheme == "http" && !loopback(u.Hostname()) {
		return nil, fmt.Errorf("the %s URL of %s is not https: tokens are sent in clear to this machine only", what, u.Host)
	}
	return u, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// origin is the scheme, host and port of a URL: what a token may be sent to.
func origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "http": "80"}[strings.ToLower(u.Scheme)]
	}
	return strings.ToLower(u.Scheme) + "://" + strings.ToLower(u.Hostname()) + ":" + port
}
