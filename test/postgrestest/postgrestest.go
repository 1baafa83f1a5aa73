// Package postgrestest starts a real PostgreSQL server for a test: in a temporary directory, on a free port of the loopback
// interface, with a random password. It needs the programs of the Debian package postgresql (or any other build of
// PostgreSQL 12 or later): initdb and postgres, on the PATH or below /usr/lib/postgresql. A machine without them fails the
// test, because a test that did not run proves nothing.
package postgrestest

import (
	"bytes"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
)

// startUp bounds the start of a server. It takes half a second on an idle machine.
const startUp = time.Minute

// Server is a running PostgreSQL server.
type Server struct {
	dsn       string // of the database postgres
	databases atomic.Int64
}

// Start starts a server that ends with the test, its files with it. It takes about two seconds: a test with many cases
// starts one and gives each case a database of its own.
func Start(t testing.TB) *Server {
	t.Helper()
	dir, err := os.MkdirTemp("", "postgrestest")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	s, stop, err := start(t.Context(), dir)
	if err != nil {
		t.Fatalf("starting PostgreSQL (Debian: apt-get install postgresql): %v", err)
	}
	t.Cleanup(stop)
	return s
}

// Database makes an empty database and returns its connection string.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	return s.create(t, "")
}

// Copy makes a copy of a database of this server, named by its connection string, and returns that of the copy. Nobody may be
// connected to the model. It is quicker than to make many tables anew.
func (s *Server) Copy(t testing.TB, model string) string {
	t.Helper()
	u, err := url.Parse(model)
	if err != nil {
		t.Fatal(err)
	}
	return s.create(t, " TEMPLATE "+strings.TrimPrefix(u.Path, "/"))
}

func (s *Server) create(t testing.TB, like string) string {
	t.Helper()
	db, err := sql.Open("pgx", s.dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	name := fmt.Sprintf("test%d", s.databases.Add(1))
	if _, err := db.ExecContext(t.Context(), "CREATE DATABASE "+name+like); err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(s.dsn)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/" + name
	return u.String()
}

func start(ctx context.Context, dir string) (*Server, func(), error) {
	initdb, err := program("initdb")
	if err != nil {
		return nil, nil, err
	}
	postgres, err := program("postgres")
	if err != nil {
		return nil, nil, err
	}
	attr, err := attributes(dir)
	if err != nil {
		return nil, nil, err
	}
	data, password := filepath.Join(dir, "data"), rand.Text()
	pwfile := filepath.Join(dir, "password")
	if err := os.WriteFile(pwfile, []byte(password+"\n"), 0o600); err != nil {
		return nil, nil, err
	}
	if err := lend(pwfile, attr); err != nil {
		return nil, nil, err
	}
	cmd := exec.CommandContext(ctx, initdb, "--pgdata", data, "--username", "postgres", "--pwfile", pwfile, "--auth", "scram-sha-256",
		"--encoding", "UTF8", "--no-locale", "--no-sync")
	cmd.Dir, cmd.SysProcAttr = dir, attr
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, nil, fmt.Errorf("initdb: %w: %s", err, out)
	}
	// Somebody else can take the free port before the server does; then another one is tried.
	var last error
	for range 5 {
		s, stop, err := serve(ctx, postgres, dir, data, password)
		if err == nil {
			return s, stop, nil
		}
		last = err
	}
	return nil, nil, last
}

func serve(ctx context.Context, postgres, dir, data, password string) (*Server, func(), error) {
	port, err := freePort()
	if err != nil {
		return nil, nil, err
	}
	attr, err := attributes(dir)
	if err != nil {
		return nil, nil, err
	}
	var log bytes.Buffer
	cmd := exec.Command(postgres, "-D", data, "-h", "127.0.0.1", "-p", fmt.Sprint(port), "-k", "",
		"-c", "fsync=off", "-c", "full_page_writes=off", "-c", "shared_buffers=16MB", "-c", "max_connections=200")
	cmd.Dir, cmd.SysProcAttr, cmd.Stdout, cmd.Stderr = dir, attr, &log, &log
	exited, err := run(cmd)
	if err != nil {
		return nil, nil, err
	}
	stop := func() {
		_ = cmd.Process.Signal(syscall.SIGQUIT) // at once; there is nothing to save
		<-exited
	}
	u := url.URL{Scheme: "postgres", User: url.UserPassword("postgres", password), Host: net.JoinHostPort("127.0.0.1", fmt.Sprint(port)), Path: "/postgres", RawQuery: "sslmode=disable"}
	ready := make(chan error, 1)
	ctx, cancel := context.WithTimeout(ctx, startUp)
	defer cancel()
	go func() { ready <- wait(ctx, u.String()) }()
	select {
	case err := <-ready:
		if err != nil {
			stop()
			return nil, nil, fmt.Errorf("waiting for it: %w: %s", err, log.String())
		}
		return &Server{dsn: u.String()}, stop, nil
	case <-exited:
		cancel()
		<-ready
		return nil, nil, fmt.Errorf("it ended by itself: %s", log.String())
	}
}

// wait asks until the server answers.
func wait(ctx context.Context, dsn string) error {
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		return err
	}
	defer db.Close()
	for {
		err := db.PingContext(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(port)
}

// program finds a program of PostgreSQL. Debian keeps them off the PATH, in a directory for each version; the newest is
// taken. A wrapper script on the PATH is passed over, because a signal to it would not reach the server.
func program(name string) (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if err != nil {
		return "", err
	}
	if len(found) > 0 {
		slices.SortFunc(found, func(a, b string) int {
			// 9 before 15: the shorter one first, then by digits.
			if d := len(a) - len(b); d != 0 {
				return d
			}
			return strings.Compare(a, b)
		})
		return found[len(found)-1], nil
	}
	return exec.LookPath(name)
}
