package ghclient_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/prosecutor-bot/prosecutor/app/ghclient"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	appID        = 4711
	installation = 9
)

var (
	testKey = sync.OnceValue(func() *rsa.PrivateKey {
		key, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			panic(err)
		}
		return key
	})
	testPEM = sync.OnceValue(func() []byte {
		return pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(testKey())})
	})
)

// clock is a clock that only moves when it is told to, or when somebody sleeps.
type clock struct {
	mu     sync.Mutex
	now    time.Time
	sleeps []time.Duration
}

func newClock() *clock { return &clock{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func (c *clock) Sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sleeps = append(c.sleeps, d)
	c.now = c.now.Add(d)
	return nil
}

func (c *clock) Slept() []time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]time.Duration(nil), c.sleeps...)
}

// stub is a GitHub that mints tokens and answers everything else by one function. It counts.
type stub struct {
	*httptest.Server
	clock *clock

	mu     sync.Mutex
	minted int
	seen   []*http.Request
	mint   http.HandlerFunc // instead of the usual answer to a token request
	serve  http.HandlerFunc
}

func newStub(t *testing.T, serve http.HandlerFunc) *stub {
	t.Helper()
	s := &stub{clock: newClock(), serve: serve}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

// newUnstarted is an httptest server that tells of its connections.
func newUnstarted(h http.Handler, state func(net.Conn, http.ConnState)) *httptest.Server {
	srv := httptest.NewUnstartedServer(h)
	srv.Config.ConnState = state
	srv.Start()
	return srv
}

func (s *stub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Date", s.clock.Now().Format(http.TimeFormat))
	if strings.HasSuffix(r.URL.Path, "/access_tokens") {
		s.mu.Lock()
		s.minted++
		n, mint := s.minted, s.mint
		s.mu.Unlock()
		if mint != nil {
			mint(w, r)
			return
		}
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write([]byte(`{"token":"` + tokenNumber(n) + `","expires_at":"` + s.clock.Now().Add(time.Hour).Format(time.RFC3339) + `"}`))
		return
	}
	s.mu.Lock()
	s.seen = append(s.seen, r.Clone(context.Background()))
	s.mu.Unlock()
	s.serve(w, r)
}

func tokenNumber(n int) string {
	return "ghs_4711_eyJhbGciOiJFUzI1NiJ9.c2VjcmV0.number-" + strconv.Itoa(n)
}

func (s *stub) Minted() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.minted
}

func (s *stub) Seen() []*http.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*http.Request(nil), s.seen...)
}

// clients returns clients that speak to the stub by its clock.
func (s *stub) clients(t *testing.T, adjust ...func(*ghclient.Options)) *ghclient.Clients {
	t.Helper()
	transport := &http.Transport{}
	o := ghclient.Options{
		AppID: appID, PrivateKey: testPEM(), REST: s.URL + "/", GraphQL: s.URL + "/graphql", HTML: s.URL,
		Now: s.clock.Now, Sleep: s.clock.Sleep, Rand: func() float64 { return 0 }, Transport: transport,
	}
	for _, f := range adjust {
		f(&o)
	}
	c, err := ghclient.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(); transport.CloseIdleConnections() })
	return c
}

var scope = ghclient.Scope{RepositoryIDs: []int64{1}, Permissions: map[string]string{"contents": "read"}}
