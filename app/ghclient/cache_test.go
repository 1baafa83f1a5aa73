package ghclient_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prosecutor-bot/prosecutor/app/ghclient"
)

const sha1, sha256hex = "0123456789abcdef0123456789abcdef01234567", "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// fetch reads a path as an installation and returns the body.
func fetch(ctx context.Context, t *testing.T, c *ghclient.Clients, id int64, path, accept string) string {
	t.Helper()
	client, err := c.Installation(ctx, id, scope)
	if err != nil {
		t.Fatal(err)
	}
	req, err := client.NewRequest(http.MethodGet, path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if accept != "" {
		req.Header.Set("Accept", accept)
	}
	var out strings.Builder
	if _, err := client.Do(ctx, req, &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestImmutableObjectsAreReadOnce(t *testing.T) {
	tests := []struct {
		path  string
		cache bool
	}{
		{"repos/acme/pay/git/blobs/" + sha1, true},
		{"repos/acme/pay/git/trees/" + sha1 + "?recursive=1", true},
		{"repos/acme/pay/git/commits/" + sha1, true},
		{"repos/acme/pay/git/commits/" + sha256hex, true},
		{"repos/acme/pay/commits/" + sha1, true},
		{"repos/acme/pay/compare/" + sha1 + "..." + sha1, true},
		{"repos/acme/pay/contents/.github/prosecutor.yml?ref=" + sha1, true},
		{"repos/acme/pay/contents?ref=" + sha1, true},
		{"repositories/1/contents/a/b.go?ref=" + sha1, true},

		{"repos/acme/pay/git/blobs/" + sha1[:12], false},
		{"repos/acme/pay/git/trees/main", false},
		{"repos/acme/pay/commits/main", false},
		{"repos/acme/pay/commits/" + sha1 + "/check-runs", false},
		{"repos/acme/pay/commits/" + sha1 + "/status", false},
		{"repos/acme/pay/commits/" + sha1 + "/pulls", false},
		{"repos/acme/pay/compare/main..." + sha1, false},
		{"repos/acme/pay/contents/x?ref=main", false},
		{"repos/acme/pay/contents/x?ref=" + sha1[:10], false},
		{"repos/acme/pay/contents/x", false},
		{"repos/acme/pay/contents/x?ref=refs/heads/" + sha1, false},
		{"repos/acme/pay/pulls/1", false},
		{"repos/acme/pay", false},
		{"orgs/repos/acme/pay/commits/" + sha1, false},
	}
	for _, tt := range tests {
		t.Run(tt.path, func(t *testing.T) {
			s := newStub(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Link", `<https://x/?page=2>; rel="next"`)
				_, _ = w.Write([]byte(r.URL.Path))
			})
			c := s.clients(t)
			for range 3 {
				if got := fetch(t.Context(), t, c, installation, tt.path, ""); !strings.HasPrefix("/"+tt.path, got) {
					t.Errorf("body %q", got)
				}
			}
			want := 3
			if tt.cache {
				want = 1
			}
			if n := len(s.Seen()); n != want {
				t.Errorf("%d requests, want %d", n, want)
			}
		})
	}
}

func TestTheCacheIsKeyedByInstallationAndMediaTypeAndOutlivesTokens(t *testing.T) {
	s := newStub(t, func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte(r.Header.Get("Accept"))) })
	c := s.clients(t)
	path := "repos/acme/pay/contents/x?ref=" + sha1
	count := func(want int, what string) {
		t.Helper()
		if n := len(s.Seen()); n != want {
			t.Errorf("%s: %d requests in all, want %d", what, n, want)
		}
	}
	fetch(t.Context(), t, c, installation, path, "")
	count(1, "first")
	if got := fetch(t.Context(), t, c, installation, path, "application/vnd.github.raw+json"); got != "application/vnd.github.raw+json" {
		t.Errorf("another media type got %q", got)
	}
	count(2, "another media type")
	fetch(t.Context(), t, c, installation+1, path, "")
	count(3, "another installation")
	s.clock.Advance(58 * time.Minute)
	fetch(t.Context(), t, c, installation, path, "")
	count(3, "with another token")
	if s.Minted() != 3 {
		t.Errorf("%d tokens, want 3", s.Minted())
	}
	s.clock.Advance(3 * time.Minute)
	fetch(t.Context(), t, c, installation, path, "")
	count(4, "after an hour the right to see it is asked for again")
	c.Forget(installation)
	fetch(t.Context(), t, c, installation, path, "")
	count(5, "after Forget")
}

func TestTheCacheIsBoundedAndForgetsTheLeastRecentlyUsed(t *testing.T) {
	s := newStub(t, func(w http.ResponseWriter, r *http.Request) {
		n := 1000
		if strings.Contains(r.URL.Path, "large") {
			n = 3000
		}
		_, _ = w.Write([]byte(strings.Repeat("x", n)))
	})
	c := s.clients(t, func(o *ghclient.Options) { o.CacheBytes = 6500 }) // four of a little more than 1,000
	get := func(name string) int {
		before := len(s.Seen())
		fetch(t.Context(), t, c, installation, "repos/acme/pay/contents/"+name+"?ref="+sha1, "")
		return len(s.Seen()) - before
	}
	for _, name := range []string{"a", "b", "c", "d"} {
		get(name)
	}
	if get("a") != 0 {
		t.Error("a was forgotten")
	}
	get("e") // b is the least recently used
	if get("a") != 0 || get("b") != 1 {
		t.Error("the wrong object was forgotten")
	}
	get("large")
	if get("large") != 1 {
		t.Error("an object of a large part of the cache was kept")
	}
	off := s.clients(t, func(o *ghclient.Options) { o.CacheBytes = -1 })
	before := len(s.Seen())
	for range 2 {
		fetch(t.Context(), t, off, installation, "repos/acme/pay/contents/a?ref="+sha1, "")
	}
	if n := len(s.Seen()) - before; n != 2 {
		t.Errorf("switched off: %d requests, want 2", n)
	}
}

func TestAFailureIsNotCached(t *testing.T) {
	status := 404
	s := newStub(t, func(w http.ResponseWriter, _ *http.Request) { reply{status, nil, `{}`}.write(w) })
	c := s.clients(t)
	client, err := c.Installation(t.Context(), installation, scope)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := client.Git.GetBlob(t.Context(), "acme", "pay", sha1); !ghclient.IsNotFound(err) {
		t.Fatal(err)
	}
	status = 200
	if _, _, err := client.Git.GetBlob(t.Context(), "acme", "pay", sha1); err != nil {
		t.Errorf("after a 404: %v", err)
	}
}
