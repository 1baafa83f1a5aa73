// Package apptest starts the whole App against the emulator of GitHub: real HTTP both ways, a real database, real git.
package apptest

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/prosecutor-bot/prosecutor/app"
	"github.com/prosecutor-bot/prosecutor/app/ghclient"
	"github.com/prosecutor-bot/prosecutor/app/queue"
	"github.com/prosecutor-bot/prosecutor/app/store"
	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/prosecutor/judge"
	"github.com/prosecutor-bot/prosecutor/prosecutor/judge/static"
	"github.com/prosecutor-bot/prosecutor/test/githubtest"
)

// World is a GitHub with the App installed on it.
type World struct {
	t      testing.TB
	GitHub *githubtest.Server
	App    *app.App
	Store  *store.Store
	Logs   *Logs
	Calls  *Calls
	// Replicas are all processes of the App, App is the first. They take turns in answering the webhook.
	Replicas []*app.App

	hook *httptest.Server
	stop func()
}

// Logs collects what the App logs.
type Logs struct {
	mu sync.Mutex
	b  strings.Builder
}

// Write implements io.Writer.
func (l *Logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// String is all that was logged.
func (l *Logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// Options change what New starts.
type Options struct {
	Judges   []judge.Judge // the static rules by default
	Limits   map[string]judge.Limits
	Database string // a SQLite file in a temporary directory by default
	GitHub   githubtest.Options
	// Replicas is how many processes of the App share the database, 1 by default.
	Replicas int
	// ReconcileAfter is that of the App.
	ReconcileAfter time.Duration
	// ReadingTime is that of the App.
	ReadingTime time.Duration
	// Latency is added to each request of the App to GitHub, so that requests at once can be told from those one after another.
	Latency time.Duration
	// HollowTest is that of the App.
	HollowTest config.HollowTestServer
	// RetryAfter is that of the App's queue.
	RetryAfter func(n int) time.Duration
}

// Call is one request of the App to GitHub as it saw it.
type Call struct {
	Method, Path string
	Start, End   time.Time
}

// Calls records the App's requests to GitHub.
type Calls struct {
	latency time.Duration
	base    *http.Transport

	mu   sync.Mutex
	list []Call
}

// RoundTrip implements http.RoundTripper.
func (c *Calls) RoundTrip(r *http.Request) (*http.Response, error) {
	start := time.Now()
	if c.latency > 0 {
		time.Sleep(c.latency)
	}
	resp, err := c.base.RoundTrip(r)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, Call{r.Method, r.URL.Path, start, time.Now()})
	return resp, err
}

// Take returns what was recorded since the last time.
func (c *Calls) Take() []Call {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := c.list
	c.list = nil
	return list
}

// New starts a GitHub and the App, which ends with the test.
func New(t testing.TB, options ...Options) *World {
	t.Helper()
	var o Options
	if len(options) > 0 {
		o = options[0]
	}
	if len(o.Judges) == 0 {
		o.Judges = []judge.Judge{static.New()}
	}
	if o.Database == "" {
		o.Database = filepath.Join(t.TempDir(), "prosecutor.db")
	}
	w := &World{t: t, GitHub: githubtest.New(t, o.GitHub), Logs: &Logs{}}
	w.start(o)
	return w
}

// start starts the replicas of the App. What it cannot start fails the test.
func (w *World) start(o Options) {
	t := w.t
	w.Calls = &Calls{latency: o.Latency, base: &http.Transport{}}
	var stops []func()
	for range max(1, o.Replicas) {
		stops = append(stops, w.replica(o))
	}
	w.App = w.Replicas[0]
	handlers := make([]http.Handler, len(w.Replicas))
	for i, a := range w.Replicas {
		handlers[i] = a.Handler()
	}
	var turn atomic.Uint64
	w.hook = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		handlers[(turn.Add(1)-1)%uint64(len(handlers))].ServeHTTP(rw, r)
	}))
	w.GitHub.SetWebhook(w.Hook())
	w.stop = sync.OnceFunc(func() {
		w.hook.Close()
		for _, stop := range stops {
			stop()
		}
		w.Calls.base.CloseIdleConnections()
	})
	t.Cleanup(w.stop)
}

// replica starts one process of the App and returns what stops it.
func (w *World) replica(o Options) (stop func()) {
	t, registered := w.t, w.GitHub.App()
	log := zerolog.New(w.Logs).Level(zerolog.DebugLevel)
	clients, err := ghclient.New(ghclient.Options{
		AppID: registered.ID, PrivateKey: registered.PrivateKeyPEM, REST: w.GitHub.REST, GraphQL: w.GitHub.GraphQL, HTML: w.GitHub.URL,
		WriteRate: 1000, WriteBurst: 1000, Logger: &log, Transport: w.Calls,
	})
	if err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(context.Background(), o.Database)
	if err != nil {
		t.Fatal(err)
	}
	if w.Store == nil {
		w.Store = st
	}
	a, err := app.New(context.Background(), app.Options{
		Store: st, Clients: clients, Judges: o.Judges, Limits: o.Limits, AppID: registered.ID, Slug: registered.Slug,
		Secrets: [][]byte{[]byte(registered.WebhookSecret)}, GitDir: t.TempDir(), Version: "test", Logger: &log,
		ReconcileAfter: o.ReconcileAfter, ReadingTime: o.ReadingTime, HollowTest: o.HollowTest,
		Queue: queue.Options{Poll: 20 * time.Millisecond, Grace: time.Second, RetryAfter: o.RetryAfter},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.Replicas = append(w.Replicas, a)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx, 5*time.Second) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("stopping the App: %v", err)
		}
		clients.Close()
		if err := st.Close(); err != nil {
			t.Errorf("closing the database: %v", err)
		}
	}
}

// Hook is the address that GitHub sends its webhooks to.
func (w *World) Hook() string { return w.hook.URL + "/api/github/hook" }

// Stop stops the App, as a deploy would.
func (w *World) Stop() { w.stop() }

// Settle waits until every webhook is answered and everything that followed from it is done.
func (w *World) Settle() {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for quiet := 0; quiet < 3; {
		if err := w.GitHub.Flush(ctx); err != nil {
			w.t.Fatalf("waiting for the webhooks: %v\n%s", err, w.Logs)
		}
		idle, err := w.App.Idle(ctx)
		if err != nil {
			w.t.Fatalf("waiting for the App: %v\n%s", err, w.state())
		}
		if quiet++; !idle {
			quiet = 0
		}
		select {
		case <-ctx.Done():
			w.t.Fatalf("the App is not done:\n%s\n%s", w.state(), w.Logs)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Until waits until a condition holds, which something that is under way will make true.
func (w *World) Until(holds func() bool) {
	w.t.Helper()
	deadline := time.After(time.Minute)
	for !holds() {
		select {
		case <-deadline:
			w.t.Fatalf("it never came true:\n%s\n%s", w.state(), w.Logs)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// state describes the runs, for the message of a test that waits in vain.
func (w *World) state() string {
	runs, err := w.Store.RecentRuns(context.Background(), 20)
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	for _, r := range runs {
		fmt.Fprintf(&b, "run %d: #%d at %.7s generation %d, %s (%s), check run %d, %s\n", r.ID, r.PR, r.Head, r.Generation, r.State, r.Reason, r.CheckRunID, r.Conclusion)
	}
	return b.String()
}

// CheckRuns are our check runs of a head.
func (w *World) CheckRuns(repo *githubtest.Repo, sha string) []githubtest.CheckRun {
	var ours []githubtest.CheckRun
	for _, c := range repo.CheckRuns(sha) {
		if c.App == w.GitHub.App().Slug {
			ours = append(ours, c)
		}
	}
	return ours
}
