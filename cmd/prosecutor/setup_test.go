package main

import (
	"bytes"
	"context"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/test/githubtest"
)

var (
	setupLink = regexp.MustCompile(`http://\S+/setup\?token=\S+`)
	setupForm = regexp.MustCompile(`(?s)<form action="([^"]*)".*name="manifest" value="([^"]*)"`)
)

// setUp is a person who runs prosecutor setup and registers the App; it returns what the terminal shows.
func setUp(t *testing.T, args ...string) (stdout, stderr string) {
	t.Helper()
	for _, name := range []string{"APP_ID", "PRIVATE_KEY"} {
		t.Setenv(name, "")
	}
	printed, terminal := io.Pipe()
	var out, all bytes.Buffer
	cmd := newSetupCommand()
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	cmd.SetArgs(args)
	cmd.SetOut(&out)
	cmd.SetErr(terminal)
	ended := make(chan error, 1)
	go func() {
		err := cmd.ExecuteContext(context.Background())
		_ = terminal.CloseWithError(err) // it returns no error
		ended <- err
	}()
	var link string
	chunk := make([]byte, 4096)
	for link == "" {
		n, err := printed.Read(chunk)
		all.Write(chunk[:n])
		if err != nil {
			t.Fatalf("setup ended before it printed a link: %v\n%s", err, all.String())
		}
		link = setupLink.FindString(all.String())
	}
	go func() { _, _ = io.Copy(&all, printed) }()

	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar}
	page := func(address string, form url.Values) string {
		t.Helper()
		send := func() (*http.Response, error) { return browser.Get(address) }
		if form != nil {
			send = func() (*http.Response, error) { return browser.PostForm(address, form) }
		}
		resp, err := send()
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d %v\n%s", resp.Request.URL.Path, resp.StatusCode, err, body)
		}
		return string(body)
	}
	form := setupForm.FindStringSubmatch(page(link, nil))
	if form == nil {
		t.Fatal("the page has no form")
	}
	page(html.UnescapeString(form[1]), url.Values{"manifest": {html.UnescapeString(form[2])}})
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	return out.String(), all.String()
}

// An App that setup registered is served with the files that setup wrote, and nothing else.
func TestServeStartsFromWhatSetupWrote(t *testing.T) {
	for name, variables := range map[string]func(t *testing.T, s *server, stdout, env string) []string{
		"the variables": func(_ *testing.T, _ *server, _, env string) []string {
			return strings.Split(strings.TrimSpace(env), "\n")
		},
		"the server file": func(t *testing.T, s *server, stdout, env string) []string {
			_, snippet, _ := strings.Cut(stdout, "\ngithub:\n")
			snippet, _, _ = strings.Cut(snippet, "\n\n")
			if err := os.WriteFile(filepath.Join(s.dir, serverFile), []byte("github:\n"+snippet+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			_, secret, _ := strings.Cut(env, "WEBHOOK_SECRET=")
			return []string{"WEBHOOK_SECRET=" + strings.TrimSpace(secret)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			s.github.SetWebhook("")
			out := filepath.Join(s.dir, "credentials")
			stdout, stderr := setUp(t, "--config", filepath.Join(s.dir, serverFile), "--out", out, "--public-url", "http://"+s.addr)
			app := s.github.App()
			key, err := os.ReadFile(filepath.Join(out, "prosecutor.pem"))
			if err != nil {
				t.Fatal(err)
			}
			env, err := os.ReadFile(filepath.Join(out, "prosecutor-app.env"))
			if err != nil {
				t.Fatal(err)
			}
			for _, secret := range []string{strings.Split(string(key), "\n")[1], app.WebhookSecret} {
				if strings.Contains(stdout+stderr, secret) {
					t.Error("the terminal shows a secret")
				}
			}
			for _, want := range []string{fmt.Sprint("App ", app.ID), app.Slug + "/installations/new", filepath.Join(out, "prosecutor.pem"), filepath.Join(out, "prosecutor-app.env"), "rest_url: " + s.github.REST} {
				if !strings.Contains(stdout, want) {
					t.Errorf("the next steps do not name %s:\n%s", want, stdout)
				}
			}

			s.startWith(variables(t, s, stdout, string(env)))
			repo := s.github.AddRepo("acme/pay", map[string]string{"README.md": "# pay\n"})
			sha := repo.Commit("docs", "Say more", map[string]string{"README.md": "# pay\n\nRefunds.\n"})
			repo.OpenPR(githubtest.PR{Title: "Say more", Head: "docs"})
			s.until("concluded the check run", func() bool {
				list := ours(s, repo, sha)
				return len(list) == 1 && list[0].Conclusion == "success"
			})
		})
	}
}

func TestSetupRefuses(t *testing.T) {
	file := func(text string) string {
		path := filepath.Join(t.TempDir(), serverFile)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	none := file("{}")
	for name, tt := range map[string]struct {
		o    setupOptions
		env  map[string]string
		want string
	}{
		"an id in the environment":      {o: setupOptions{config: none}, env: map[string]string{"APP_ID": "1"}, want: "APP_ID in the environment"},
		"a key in the environment":      {o: setupOptions{config: none}, env: map[string]string{"PRIVATE_KEY": "k3y"}, want: "PRIVATE_KEY in the environment"},
		"a key under another name":      {o: setupOptions{config: file("github: {private_key_env: BOT_KEY}")}, env: map[string]string{"BOT_KEY": "k3y"}, want: "BOT_KEY in the environment"},
		"an id in the server file":      {o: setupOptions{config: file("github: {app_id: 7}")}, want: "github.app_id"},
		"a key file in the server file": {o: setupOptions{config: file("github: {private_key_file: /run/key}")}, want: "github.private_key_file"},
		"no public URL":                 {o: setupOptions{config: none, listen: "127.0.0.1:0"}, want: "--public-url"},
		"an address in use":             {o: setupOptions{config: none, publicURL: "https://example.com", listen: taken.Addr().String()}, want: "listening on"},
		"no server file":                {o: setupOptions{config: "/nowhere.yml"}, want: "server file"},
	} {
		t.Run(name, func(t *testing.T) {
			tt.o.out = t.TempDir()
			tt.o.getenv = func(name string) string { return tt.env[name] }
			tt.o.stdout, tt.o.stderr = io.Discard, io.Discard
			err := runSetup(context.Background(), tt.o)
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "k3y") {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}

// The printed part of a server file is one that serve takes, also under other names and at other hosts.
func TestSetupUsesTheConfiguredNames(t *testing.T) {
	s := newServer(t)
	path := filepath.Join(s.dir, serverFile)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text = append([]byte("github:\n  private_key_env: BOT_KEY\n  webhook_secret_env: [HOOK_A, HOOK_B]\n"), bytes.TrimPrefix(text, []byte("github:\n"))...)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(s.dir, "credentials")
	stdout, _ := setUp(t, "--config", path, "--out", out, "--public-url", "https://bot.example.com", "--org", "acme")
	env, err := os.ReadFile(filepath.Join(out, "prosecutor-app.env"))
	if err != nil {
		t.Fatal(err)
	}
	app := s.github.App()
	if want := fmt.Sprintf("APP_ID=%d\nBOT_KEY=%s\nHOOK_A=%s\n", app.ID, filepath.Join(out, "prosecutor.pem"), app.WebhookSecret); string(env) != want {
		t.Errorf("%s, want %s", env, want)
	}
	_, snippet, _ := strings.Cut(stdout, "\ngithub:\n")
	snippet, _, _ = strings.Cut(snippet, "\n\n")
	server, err := config.ParseServer("printed", []byte("github:\n"+snippet+"\n"))
	if err != nil {
		t.Fatalf("%v in\n%s", err, stdout)
	}
	if g := server.GitHub; int64(g.AppID) != app.ID || g.RESTURL != s.github.REST || g.HTMLURL != s.github.URL || strings.Join(g.WebhookSecretEnv, " ") != "HOOK_A HOOK_B" {
		t.Errorf("%+v", g)
	}
	if strings.Contains(stdout, "WEBHOOK_SECRET") {
		t.Errorf("the next steps name a variable that serve does not read:\n%s", stdout)
	}
}
