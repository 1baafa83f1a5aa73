// Package githubtest is a GitHub for tests: stateful, over HTTP, with real git repositories behind it.
//
// A test makes a server, adds repositories and pull requests, points the program under test at its URLs, and then reads
// what the program left there:
//
//	s := githubtest.New(t)
//	repo := s.AddRepo("acme/pay", map[string]string{"pay.go": "package pay\n"})
//	repo.Commit("feature", "Pay twice", map[string]string{"pay.go": "package pay\n\nvar Twice = true\n"})
//	pr := repo.OpenPR(githubtest.PR{Title: "Pay twice", Head: "feature", Author: "dev"})
//	...
//	runs := repo.CheckRuns(pr.HeadSHA())
//
// It can be trusted because it is held to what GitHub publishes (test/contract): each request and each response is
// validated; a request that GitHub's description does not allow, an unknown route, or a response of ours that GitHub would
// not give fails the test. What the description leaves out is written by hand and says so.
package githubtest

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prosecutor-bot/prosecutor/test/contract"
)

// Options configure Start. The zero value is a server on a free port of the loopback address.
type Options struct {
	// Address to listen on, by default "127.0.0.1:0".
	Address string
	// Dir holds the git repositories, by default a temporary directory that Close removes.
	Dir string
	// Now is the server's clock, by default time.Now. Tokens expire by it, and everything is dated by it.
	Now func() time.Time
	// Slug is the App's, by default "prosecutor".
	Slug string
	// Permissions and Events of the App's registration, by default those of a pull-request gate.
	Permissions map[string]string
	Events      []string
	// Violation is told of each break of the contract, by the client or by the server. By default it is printed to stderr. It must
	// not call the server.
	Violation func(error)
}

// Server is one GitHub. Its methods are safe for concurrent use.
type Server struct {
	// URL is the base of the web pages and of git, without a slash at its end.
	URL string
	// REST is the base URL of the REST API; it ends in a slash.
	REST string
	// GraphQL is the URL of the GraphQL API.
	GraphQL string

	opt     Options
	api     *contract.API
	routes  map[string]route // "GET /repos/{owner}/{repo}"
	server  *http.Server
	pages   *http.ServeMux
	tempDir string
	serving sync.WaitGroup
	app     App
	seams

	mu            sync.Mutex // guards everything below, and the state that hangs from it
	lastID        int64
	apps          map[string]*app // by slug
	installations map[int64]*installation
	tokens        map[string]*token
	users         map[string]string // personal access token -> login
	accounts      map[string]*account
	repos         map[int64]*Repo
	moved         map[string]int64 // former owner/name -> repository
	hook          hookConfig
	manifests     map[string]manifest // by code
	log           []Request
	violations    []error
	violation     func(error)
	spent         map[string]*budget // by credential's owner
}

type hookConfig struct{ url, secret string }

// New starts a server for a test and stops it when the test ends.
func New(t testing.TB, options ...Options) *Server {
	t.Helper()
	var o Options
	if len(options) > 0 {
		o = options[0]
	}
	if o.Violation == nil {
		o.Violation = func(err error) { t.Errorf("github: %v", err) }
	}
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	s, err := Start(o)
	if err != nil {
		t.Fatalf("starting the emulator of GitHub: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("stopping the emulator of GitHub: %v", err)
		}
	})
	return s
}

// Start starts a server outside of a test. Close stops it.
func Start(o Options) (*Server, error) {
	if o.Address == "" {
		o.Address = "127.0.0.1:0"
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Slug == "" {
		o.Slug = "prosecutor"
	}
	if o.Permissions == nil {
		o.Permissions = defaultPermissions()
	}
	if o.Events == nil {
		o.Events = defaultEvents()
	}
	if o.Violation == nil {
		o.Violation = func(err error) { fmt.Fprintln(os.Stderr, "github:", err) }
	}
	api, err := contract.REST()
	if err != nil {
		return nil, err
	}
	s := &Server{
		opt: o, api: api, pages: http.NewServeMux(), lastID: 4_300_000_000, // beyond 32 bits, as GitHub's are
		apps: map[string]*app{}, installations: map[int64]*installation{}, tokens: map[string]*token{}, users: map[string]string{},
		accounts: map[string]*account{}, repos: map[int64]*Repo{}, moved: map[string]int64{}, manifests: map[string]manifest{}, violation: o.Violation, spent: map[string]*budget{},
	}
	if s.opt.Dir == "" {
		if s.tempDir, err = os.MkdirTemp("", "githubtest"); err != nil {
			return nil, fmt.Errorf("making a directory for the repositories: %w", err)
		}
		s.opt.Dir = s.tempDir
	}
	if err := s.register(); err != nil {
		return nil, err
	}
	if s.routes, err = s.routeTable(); err != nil {
		return nil, err
	}
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", o.Address)
	if err != nil {
		return nil, fmt.Errorf("listening on %s: %w", o.Address, err)
	}
	s.URL = "http://" + listener.Addr().String()
	s.REST = s.URL + "/api/v3/"
	s.GraphQL = s.URL + "/api/graphql"
	mux := http.NewServeMux()
	mux.Handle("/api/v3/", s.intercept(http.StripPrefix("/api/v3", http.HandlerFunc(s.serveREST))))
	mux.Handle("/api/graphql", s.intercept(http.HandlerFunc(s.serveGraphQL)))
	mux.Handle("/", http.HandlerFunc(s.serveWeb))
	mux.HandleFunc("POST /settings/apps/new", s.serveRegistration)
	mux.HandleFunc("POST /organizations/{org}/settings/apps/new", s.serveRegistration)
	s.server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	s.startSeams()
	s.serving.Add(1)
	go func() {
		defer s.serving.Done()
		if err := s.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			s.violate(fmt.Errorf("serving: %w", err))
		}
	}()
	return s, nil
}

// Close stops the server and removes its temporary directory.
func (s *Server) Close() error {
	s.stopSeams()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	err := s.server.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, s.server.Close())
	}
	s.serving.Wait()
	if s.tempDir != "" {
		err = errors.Join(err, os.RemoveAll(s.tempDir))
	}
	return err
}

// serveWeb tells git from the pages.
func (s *Server) serveWeb(w http.ResponseWriter, r *http.Request) {
	for _, service := range []string{"/info/refs", "/git-upload-pack", "/git-receive-pack"} {
		repo, isGit := strings.CutSuffix(r.URL.Path, service)
		owner, name, two := strings.Cut(strings.TrimPrefix(repo, "/"), "/")
		if isGit && two && !strings.Contains(name, "/") {
			git := func(w http.ResponseWriter, r *http.Request) {
				s.serveGit(w, r, owner, strings.TrimSuffix(name, ".git"), service)
			}
			s.intercept(http.HandlerFunc(git)).ServeHTTP(w, r)
			return
		}
	}
	s.pages.ServeHTTP(w, r)
}

// Handle serves further pages on the web host, below paths that GitHub's API and git do not use.
func (s *Server) Handle(pattern string, h http.Handler) { s.pages.Handle(pattern, h) }

// App is the App under test: its id, key and secret.
func (s *Server) App() App { return s.app }

// Requests lists the requests that were answered since the start or ResetRequests, oldest first: REST and GraphQL,
// not git. Its paths never hold credentials.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.log...)
}

// ResetRequests forgets the requests so far.
func (s *Server) ResetRequests() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = nil
}

// Violations lists the breaks of the contract so far.
func (s *Server) Violations() []error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]error(nil), s.violations...)
}

// OnViolation replaces what is told of each break of the contract: a test that breaks it on purpose collects them.
func (s *Server) OnViolation(f func(error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.violation = f
}

func (s *Server) violate(err error) {
	s.mu.Lock()
	s.violations = append(s.violations, err)
	f := s.violation
	s.mu.Unlock()
	f(err)
}

func (s *Server) now() time.Time { return s.opt.Now().UTC().Truncate(time.Second) }

// id returns a new id; the caller holds s.mu.
func (s *Server) id() int64 {
	s.lastID++
	return s.lastID
}

// appKey is the key of the App under test, one for all servers of a process: making it takes longer than most tests.
var appKey = sync.OnceValues(func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 2048) })

// register makes the App under test.
func (s *Server) register() error {
	key, err := appKey()
	if err != nil {
		return fmt.Errorf("generating the App's key: %w", err)
	}
	secret := rand.Text() + rand.Text()
	a := &app{
		id: 814000 + int64(len(s.apps)), slug: s.opt.Slug, name: strings.ToUpper(s.opt.Slug[:1]) + s.opt.Slug[1:], clientID: "Iv23li" + rand.Text()[:14],
		owner: "prosecutor-bot", key: key, permissions: s.opt.Permissions, events: s.opt.Events, created: s.now(),
	}
	s.apps[a.slug] = a
	s.app = App{
		ID: a.id, Slug: a.slug, ClientID: a.clientID, WebhookSecret: secret,
		PrivateKeyPEM: pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}),
	}
	s.hook.secret = secret
	return nil
}

// appBySlug returns the App of that slug, making one of somebody else's when there is none; the caller holds s.mu.
func (s *Server) appBySlug(slug string) *app {
	if slug == "" {
		slug = "github-actions"
	}
	if a := s.apps[slug]; a != nil {
		return a
	}
	a := &app{
		id: 15368 + int64(len(s.apps)), slug: slug, name: strings.ReplaceAll(slug, "-", " "), clientID: "Iv1." + slug, owner: "github",
		permissions: map[string]string{"checks": "write", "contents": "read", "metadata": "read"}, events: []string{}, created: s.now(),
	}
	s.apps[slug] = a
	return a
}

func defaultPermissions() map[string]string {
	return map[string]string{
		"checks": "write", "contents": "read", "pull_requests": "write", "issues": "write", "metadata": "read",
		"security_events": "read", "merge_queues": "read", "actions": "read", "statuses": "read", "members": "read",
	}
}

func defaultEvents() []string {
	return []string{
		"check_run", "check_suite", "code_scanning_alert", "issue_comment", "merge_group", "pull_request", "pull_request_review_comment", "push", "status",
	}
}

// maxBody bounds what the emulator reads of a request.
const maxBody = 32 << 20

func readBody(r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		return nil, fmt.Errorf("reading the request: %w", err)
	}
	return body, nil
}
