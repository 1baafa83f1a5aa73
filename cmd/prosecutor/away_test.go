package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/prosecutor-bot/prosecutor/test/githubtest"
	"github.com/prosecutor-bot/prosecutor/test/postgrestest"
)

// wire is a TCP connection to a database that can be cut, or go dead without a word.
type wire struct {
	t      *testing.T
	l      net.Listener
	target string

	mu    sync.Mutex
	cut   bool          // connections are closed at once
	dead  chan struct{} // bytes wait for its end; nil when they need not
	conns []net.Conn
}

// newWire wires a database, named by its connection string, and returns that of the wire.
func newWire(t *testing.T, database string) (*wire, string) {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{t: t, l: l, target: u.Host}
	u.Host = l.Addr().String()
	go w.accept()
	t.Cleanup(func() {
		w.set(true, false)
		_ = l.Close() // the test is over
	})
	return w, u.String()
}

func (w *wire) accept() {
	for {
		c, err := w.l.Accept()
		if err != nil {
			return
		}
		d, err := new(net.Dialer).DialContext(context.Background(), "tcp", w.target)
		w.mu.Lock()
		if err != nil || w.cut {
			_ = c.Close() // which is what the test is about
			if err == nil {
				_ = d.Close()
			}
			w.mu.Unlock()
			continue
		}
		w.conns = append(w.conns, c, d)
		w.mu.Unlock()
		go w.pass(c, d)
		go w.pass(d, c)
	}
}

func (w *wire) pass(to io.WriteCloser, from io.ReadCloser) {
	defer to.Close()
	defer from.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		w.mu.Lock()
		dead := w.dead
		w.mu.Unlock()
		if dead != nil {
			<-dead
		}
		if _, werr := to.Write(buf[:n]); err != nil || werr != nil {
			return
		}
	}
}

// set changes the state of the wire. Connections that are open are closed with it, unless it goes dead.
func (w *wire) set(cut, dead bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = cut
	if dead && w.dead == nil {
		w.dead = make(chan struct{})
	}
	if !dead && w.dead != nil {
		close(w.dead)
		w.dead = nil
	}
	if !dead {
		for _, c := range w.conns {
			_ = c.Close() // it may be closed already
		}
		w.conns = nil
	}
}

// The metrics of a process are there when they are needed: while its database refuses connections, and while it says nothing.
func TestMetricsWithoutTheDatabase(t *testing.T) {
	w, database := newWire(t, postgrestest.Start(t).Database(t))
	s := newServer(t)
	app := s.github.App()
	s.startWith([]string{
		fmt.Sprintf("APP_ID=%d", app.ID), "PRIVATE_KEY=" + string(app.PrivateKeyPEM), "WEBHOOK_SECRET=" + app.WebhookSecret, "DATABASE_URL=" + database,
	})
	scraped := func(up int) bool {
		code, body := s.get("/metrics")
		if code != http.StatusOK || !strings.Contains(body, "\ngo_goroutines ") {
			t.Fatalf("/metrics = %d %.300s", code, body)
		}
		return strings.Contains(body, fmt.Sprintf("\nprosecutor_database_up %d\n", up)) && strings.Contains(body, "\nprosecutor_queue_processes ") == (up == 1)
	}
	s.until("was up", func() bool { return scraped(1) })
	// A database that goes away while the queue starts ends the program, which is not what this is about: it has to work first.
	repo := s.github.AddRepo("acme/pay", map[string]string{"README.md": "# pay\n"})
	sha := repo.Commit("docs", "Say more", map[string]string{"README.md": "# pay\n\nRefunds.\n"})
	repo.OpenPR(githubtest.PR{Title: "Say more", Head: "docs"})
	s.until("judged", func() bool {
		list := ours(s, repo, sha)
		return len(list) == 1 && list[0].Status == "completed"
	})
	for name, away := range map[string]func(){"refuses": func() { w.set(true, false) }, "is silent": func() { w.set(false, true) }} {
		away()
		s.until("told that the database "+name, func() bool { return scraped(0) })
		w.set(false, false)
		s.until("told that the database is back", func() bool { return scraped(1) })
	}
}
