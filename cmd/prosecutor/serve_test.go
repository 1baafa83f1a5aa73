package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/prosecutor-bot/prosecutor/test/githubtest"
)

// output collects what a process writes.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// server is prosecutor serve as a process of its own, against an emulated GitHub.
type server struct {
	t      *testing.T
	github *githubtest.Server
	dir    string
	addr   string
	cmd    *exec.Cmd
	log    *output
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{t: t, github: githubtest.New(t), dir: t.TempDir(), log: &output{}}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.addr = l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	config := fmt.Sprintf("github:\n  rest_url: %s\n  graphql_url: %s\n  html_url: %s\n  write_rate: 1000\nhttp:\n  shutdown: 5s\n", s.github.REST, s.github.GraphQL, s.github.URL)
	if err := os.WriteFile(filepath.Join(s.dir, "prosecutor-server.yml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	s.github.SetWebhook("http://" + s.addr + "/api/github/hook")
	t.Cleanup(func() {
		if s.cmd != nil {
			s.kill()
		}
	})
	return s
}

// start starts the process and waits until it listens.
func (s *server) start() {
	s.t.Helper()
	app := s.github.App()
	s.startWith([]string{fmt.Sprintf("APP_ID=%d", app.ID), "PRIVATE_KEY=" + string(app.PrivateKeyPEM), "WEBHOOK_SECRET=" + app.WebhookSecret})
}

// startWith is start with other credentials.
func (s *server) startWith(env []string) {
	s.t.Helper()
	s.cmd = program(context.Background(), s.t, s.dir, s.dir, "serve", "--listen", s.addr)
	s.cmd.Env = append(s.cmd.Env, env...)
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.until("listens", func() bool {
		resp, err := http.Get("http://" + s.addr + "/healthz")
		if err != nil {
			return false
		}
		return resp.Body.Close() == nil && resp.StatusCode == http.StatusOK
	})
}

func (s *server) kill() {
	_ = s.cmd.Process.Kill() // it may have ended by itself
	_ = s.cmd.Wait()
	s.cmd = nil
}

func (s *server) until(what string, holds func() bool) {
	s.t.Helper()
	deadline := time.After(90 * time.Second)
	for !holds() {
		select {
		case <-deadline:
			s.t.Fatalf("it never %s:\n%s", what, s.log)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (s *server) get(path string) (int, string) {
	s.t.Helper()
	resp, err := http.Get("http://" + s.addr + path)
	if err != nil {
		s.t.Fatalf("%v\n%s", err, s.log)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// ours are our check runs of a head.
func ours(s *server, repo *githubtest.Repo, sha string) []githubtest.CheckRun {
	var list []githubtest.CheckRun
	for _, c := range repo.CheckRuns(sha) {
		if c.App == s.github.App().Slug {
			list = append(list, c)
		}
	}
	return list
}

func TestServeJudgesAndStops(t *testing.T) {
	s := newServer(t)
	s.start()
	repo := s.github.AddRepo("acme/pay", map[string]string{"README.md": "# pay\n"})
	sha := repo.Commit("docs", "Say more", map[string]string{"README.md": "# pay\n\nRefunds.\n"})
	repo.OpenPR(githubtest.PR{Title: "Say more", Head: "docs"})
	s.until("concluded the check run", func() bool {
		list := ours(s, repo, sha)
		return len(list) == 1 && list[0].Conclusion == "success"
	})
	if code, body := s.get("/readyz"); code != http.StatusOK || !strings.Contains(body, `"ready":true`) {
		t.Errorf("/readyz = %d %s", code, body)
	}
	if code, body := s.get("/metrics"); code != http.StatusOK || !strings.Contains(body, "prosecutor") {
		t.Errorf("/metrics = %d %.300s", code, body)
	}
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("a stop that was asked for ends with %v\n%s", err, s.log)
	}
	s.cmd = nil
	for _, secret := range []string{s.github.App().WebhookSecret, "BEGIN RSA", "ghs_"} {
		if strings.Contains(s.log.String(), secret) {
			t.Errorf("the log holds %q", secret)
		}
	}
}

// However often the process is killed, every pull request is decided in the end, once: one concluded check run for each
// judged head, no doubled comment.
func TestKilledServeLosesNothing(t *testing.T) {
	s := newServer(t)
	s.start()
	repo := s.github.AddRepo("acme/pay", map[string]string{"README.md": "# pay\n"})
	rnd := rand.New(rand.NewPCG(3, 4))
	pulls := 20
	n := kills(t, 10)
	heads := make([]string, pulls)
	prs := make([]*githubtest.PullRequest, pulls)
	for i := range heads {
		name := fmt.Sprintf("change-%d", i)
		files := map[string]string{name + ".md": "text\n"}
		if i%2 == 1 {
			files = map[string]string{name + ".env": "GITHUB_TOKEN=ghp_" + "R7xK2mQ9vLpT4wZc8NbY1sHd6JfGu3EaXo5V\n"}
		}
		heads[i] = repo.Commit(name, name, files)
		prs[i] = repo.OpenPR(githubtest.PR{Title: name, Head: name})
		for range (n*(i+1))/pulls - (n*i)/pulls {
			time.Sleep(time.Duration(rnd.Int64N(int64(400 * time.Millisecond)))) // a moment to be killed at
			s.kill()
			s.start()
		}
	}
	for i, sha := range heads {
		want := []string{"success", "failure"}[i%2]
		s.until(fmt.Sprintf("decided change-%d (%+v)", i, ours(s, repo, sha)), func() bool {
			list := ours(s, repo, sha)
			for _, c := range list {
				if c.Status != "completed" {
					return false
				}
			}
			return len(list) > 0 && list[len(list)-1].Conclusion == want
		})
		if list := ours(s, repo, sha); len(list) != 1 {
			t.Errorf("change-%d has %d check runs: %+v", i, len(list), list)
		}
		sticky := 0
		for _, c := range prs[i].IssueComments() {
			if c.Author == s.github.App().BotLogin() {
				sticky++
			}
		}
		if sticky > 1 {
			t.Errorf("change-%d has %d comments of ours", i, sticky)
		}
		if reviews := prs[i].Reviews(); len(reviews) > 1 {
			t.Errorf("change-%d has %d reviews", i, len(reviews))
		}
	}
}

func TestServeWithoutCredentialsExplainsItself(t *testing.T) {
	var stderr bytes.Buffer
	cmd := program(context.Background(), t, t.TempDir(), t.TempDir(), "serve")
	cmd.Stderr = &stderr
	if code := exitCode(cmd.Run()); code != 1 {
		t.Errorf("exit %d", code)
	}
	for _, want := range []string{"APP_ID", "PRIVATE_KEY", "WEBHOOK_SECRET", "app.yml"} {
		if !strings.Contains(stderr.String(), want) {
			t.Errorf("it does not name %s:\n%s", want, stderr.String())
		}
	}
}

func TestWhatKilledProcessesLeftIsRemoved(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	for name, age := range map[string]time.Duration{"prosecutor-git-1": 25 * time.Hour, "prosecutor-hollow-1": 25 * time.Hour, "prosecutor-hollow-2": time.Hour, "other-1": 25 * time.Hour} {
		if err := os.MkdirAll(filepath.Join(dir, name, "tree"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(filepath.Join(dir, name), now, now.Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	sweepTemp(dir, now, zerolog.Nop())
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(left) != 2 || filepath.Base(left[0]) != "other-1" || filepath.Base(left[1]) != "prosecutor-hollow-2" {
		t.Errorf("left are %v, %v", left, err)
	}
}
