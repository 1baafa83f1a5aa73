package ghclient_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-github/v62/github"

	"github.com/prosecutor-bot/prosecutor/app/ghclient"
)

// renamed is a repository that is now repositories/1: requests by its old name are redirected.
func renamed(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if rest, ok := strings.CutPrefix(r.URL.Path, "/repos/acme/pay"); ok {
			w.Header().Set("Location", "/repositories/1"+rest)
			reply{status, nil, `{"message":"Moved Permanently"}`}.write(w)
			return
		}
		if r.Method != http.MethodGet {
			w.WriteHeader(http.StatusCreated)
		}
		_, _ = w.Write([]byte(`{"id":1,"full_name":"acme/billing"}`))
	}
}

func TestAReadFollowsARename(t *testing.T) {
	for _, status := range []int{301, 302, 307, 308} {
		s := newStub(t, renamed(status))
		client, err := s.clients(t).Installation(t.Context(), installation, scope)
		if err != nil {
			t.Fatal(err)
		}
		repo, _, err := client.Repositories.Get(t.Context(), "acme", "pay")
		if err != nil || repo.GetFullName() != "acme/billing" {
			t.Errorf("%d: got %v, %v", status, repo.GetFullName(), err)
		}
		for _, r := range s.Seen() {
			if r.Header.Get("Authorization") != "Bearer "+tokenNumber(1) {
				t.Errorf("%d: %s went without its token", status, r.URL.Path)
			}
		}
	}
}

// net/http turns a POST that is answered with 301 into a GET, which succeeds and creates nothing.
func TestAWriteAnswered301IsAnErrorAndNothingElseIsSent(t *testing.T) {
	for _, status := range []int{301, 302, 303} {
		for name, write := range map[string]func(*github.Client) error{
			"POST": func(c *github.Client) error { return comment(t.Context(), c) },
			"PATCH": func(c *github.Client) error {
				_, _, err := c.Issues.EditComment(t.Context(), "acme", "pay", 1, &github.IssueComment{})
				return err
			},
			"DELETE": func(c *github.Client) error {
				_, err := c.Issues.DeleteComment(t.Context(), "acme", "pay", 1)
				return err
			},
		} {
			s := newStub(t, renamed(status))
			client, err := s.clients(t).Installation(t.Context(), installation, scope)
			if err != nil {
				t.Fatal(err)
			}
			err = write(client)
			var moved *ghclient.MovedError
			if !errors.As(err, &moved) {
				t.Fatalf("%s %d: got %v, want a MovedError", name, status, err)
			}
			if moved.RepositoryID != 1 || moved.Status != status || moved.Method != name || !strings.HasPrefix(moved.To, s.URL+"/repositories/1/issues/") {
				t.Errorf("%s %d: %+v", name, status, *moved)
			}
			if ghclient.ClassOf(err) != ghclient.ClassMoved || ghclient.StatusOf(err) != status {
				t.Errorf("%s %d: class %s, status %d", name, status, ghclient.ClassOf(err), ghclient.StatusOf(err))
			}
			if n := len(s.Seen()); n != 1 {
				t.Errorf("%s %d: %d requests, want 1", name, status, n)
			}
		}
	}
}

func TestAWriteAnswered307IsSentAgainWithItsBody(t *testing.T) {
	for _, status := range []int{307, 308} {
		var body atomic.Value
		s := newStub(t, nil)
		s.serve = func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, "/repositories/1/") {
				data, _ := io.ReadAll(r.Body)
				body.Store(r.Method + " " + string(data))
			}
			renamed(status)(w, r)
		}
		client, err := s.clients(t).Installation(t.Context(), installation, scope)
		if err != nil {
			t.Fatal(err)
		}
		if err := comment(t.Context(), client); err != nil {
			t.Fatal(err)
		}
		if got, _ := body.Load().(string); !strings.HasPrefix(got, `POST {"body":"x"}`) {
			t.Errorf("%d: the second request was %q", status, got)
		}
	}
}

func TestAMovedGraphQLEndpointIsAnError(t *testing.T) {
	s := newStub(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(http.StatusMovedPermanently)
	})
	err := s.clients(t).GraphQL(t.Context(), installation, scope, `{viewer{login}}`, nil, nil)
	if ghclient.ClassOf(err) != ghclient.ClassMoved || len(s.Seen()) != 1 {
		t.Errorf("got %v after %d requests", err, len(s.Seen()))
	}
}

func TestARedirectToAnotherHostIsRefusedAndSeesNoToken(t *testing.T) {
	var visits atomic.Int64
	foreign := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		visits.Add(1)
		t.Errorf("the foreign host got %s %s with Authorization %q", r.Method, r.URL, r.Header.Get("Authorization"))
	}))
	defer foreign.Close()
	for _, target := range []string{
		foreign.URL + "/repositories/1",
		strings.Replace(foreign.URL, "http://", "http://127.0.0.1@", 1) + "/x",
		"http://localhost.evil.example/x",
		"https://api.github.com/x",
	} {
		for _, status := range []int{301, 302, 307, 308} {
			s := newStub(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", target)
				w.WriteHeader(status)
			})
			client, err := s.clients(t).Installation(t.Context(), installation, scope)
			if err != nil {
				t.Fatal(err)
			}
			_, _, readErr := client.Repositories.Get(t.Context(), "acme", "pay")
			for what, err := range map[string]error{"read": readErr, "write": comment(t.Context(), client)} {
				var refused *ghclient.ForeignHostError
				if !errors.As(err, &refused) {
					t.Errorf("%s, %d to %s: got %v, want a ForeignHostError", what, status, target, err)
				}
			}
		}
	}
}

// Also without a redirect: an absolute URL from an answer must not take the token along.
func TestARequestToAnotherHostIsNotSent(t *testing.T) {
	foreign := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the foreign host was asked") }))
	defer foreign.Close()
	s := newStub(t, func(http.ResponseWriter, *http.Request) {})
	client, err := s.clients(t).Installation(t.Context(), installation, scope)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Client().Get(foreign.URL + "/download")
	if err == nil {
		resp.Body.Close()
	}
	var refused *ghclient.ForeignHostError
	if !errors.As(err, &refused) {
		t.Errorf("got %v", err)
	}
}

func TestRedirectsInACircleEnd(t *testing.T) {
	s := newStub(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", r.URL.Path)
		w.WriteHeader(http.StatusMovedPermanently)
	})
	if err := getRepo(t.Context(), s.clients(t)); err == nil || !strings.Contains(err.Error(), "circle") {
		t.Errorf("got %v", err)
	}
	if n := len(s.Seen()); n > 7 {
		t.Errorf("%d requests", n)
	}
}
