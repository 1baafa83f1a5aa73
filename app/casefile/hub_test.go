package casefile

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prosecutor-bot/prosecutor/app/ghclient"
)

// hub answers like GitHub where a test wants an answer that a healthy GitHub, and so the emulator, does not give.
type hub struct {
	t   *testing.T
	url string

	mu      sync.Mutex
	log     []string // REST: method and path; GraphQL: the operation's name
	rest    map[string]http.HandlerFunc
	graphql map[string]func(vars map[string]any) (data any, problems []any)
	refuse  func(scope string) bool // tells tokens that are not made; may be nil
}

var testKey = sync.OnceValue(func() []byte {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
})

const hubDiff = "diff --git a/pay.go b/pay.go\nindex 1111111..2222222 100644\n--- a/pay.go\n+++ b/pay.go\n@@ -1 +1 @@\n-package pay\n+package paid\n"

var operation = regexp.MustCompile(`^query (\w+)`)

// newHub is a repository acme/pay with the id 7 and an open pull request 1 that changes pay.go.
func newHub(t *testing.T) *hub {
	h := &hub{t: t, rest: map[string]http.HandlerFunc{}, graphql: map[string]func(map[string]any) (any, []any){}}
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	h.url = server.URL
	h.graphql["Case"] = func(map[string]any) (any, []any) { return hubPull(nil), nil }
	h.graphql["Files"] = func(map[string]any) (any, []any) {
		return obj{"repository": obj{"commit": obj{"oid": shaC}}}, nil
	}
	h.on("GET /repos/acme/pay/code-scanning/analyses", status(404, "no analysis found"))
	h.on("GET /repos/acme/.github/contents/.github/prosecutor.yml", status(404, "Not Found"))
	h.on("GET /repos/acme/pay/compare/"+shaC+"..."+shaA, text(hubDiff))
	return h
}

type obj = map[string]any

// hubPull is the answer to the query of a case; change edits the pull request.
func hubPull(change func(pr obj)) obj {
	pr := obj{
		"number": 1, "state": "OPEN", "isDraft": false, "title": "Pay once", "body": "Do not pay twice.", "url": "https://github.test/acme/pay/pull/1",
		"updatedAt": "2026-03-01T12:00:00Z", "author": obj{"__typename": "User", "login": "dev"},
		"headRefName": "feature", "headRefOid": shaA, "headRepository": obj{"databaseId": 7, "nameWithOwner": "acme/pay"}, "isCrossRepository": false,
		"baseRefName": "main", "baseRefOid": shaB, "changedFiles": 1,
		"baseRef":              obj{"target": obj{"__typename": "Commit", "oid": shaC, "policy": nil, "attributes": nil}},
		"potentialMergeCommit": nil, "labels": obj{"nodes": []any{}},
		"files":                   obj{"nodes": []any{obj{"path": "pay.go", "changeType": "MODIFIED"}}},
		"commits":                 obj{"totalCount": 1, "pageInfo": obj{"hasNextPage": false}, "nodes": []any{hubCommit(shaA)}},
		"tip":                     obj{"nodes": []any{obj{"commit": obj{"oid": shaA, "committedDate": "2026-03-01T11:00:00Z", "statusCheckRollup": nil, "checkSuites": obj{"pageInfo": obj{"hasNextPage": false}, "nodes": []any{}}}}}},
		"closingIssuesReferences": obj{"totalCount": 0, "nodes": []any{}},
	}
	if change != nil {
		change(pr)
	}
	return obj{"repository": obj{"databaseId": 7, "nameWithOwner": "acme/pay", "pullRequest": pr}}
}

func hubCommit(sha string) obj {
	dev := obj{"name": "Dev", "email": "dev@example.com", "user": obj{"login": "dev"}}
	return obj{"commit": obj{"oid": sha, "message": "Pay once", "author": dev, "committer": dev}}
}

func (h *hub) on(route string, f http.HandlerFunc) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.rest[route] = f
}

func (h *hub) answer(operation string, f func(vars map[string]any) (any, []any)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.graphql[operation] = f
}

func status(code int, message string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(obj{"message": message})
	}
}

func text(s string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, s)
	}
}

func jsonOf(v any) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		_ = json.NewEncoder(w).Encode(v)
	}
}

// ServeHTTP implements http.Handler.
func (h *hub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, "/access_tokens") {
		scope, _ := io.ReadAll(r.Body)
		if h.refuse != nil && h.refuse(string(scope)) {
			status(422, "The permissions requested are not granted to this installation.")(w, r)
			return
		}
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(obj{"token": "ghs_" + strings.Repeat("x", 36), "expires_at": time.Now().Add(time.Hour).UTC().Format(time.RFC3339)})
		return
	}
	if r.URL.Path == "/api/graphql" {
		var body struct {
			Query     string
			Variables map[string]any
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			h.t.Errorf("hub: %v", err)
		}
		name := "?"
		if m := operation.FindStringSubmatch(body.Query); m != nil {
			name = m[1]
		}
		h.mu.Lock()
		f := h.graphql[name]
		h.log = append(h.log, name)
		h.mu.Unlock()
		if f == nil {
			h.t.Errorf("hub: no answer to the query %s", name)
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		data, problems := f(body.Variables)
		out := obj{"data": data}
		if len(problems) > 0 {
			out["errors"] = problems
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(out)
		return
	}
	route := r.Method + " " + strings.TrimPrefix(r.URL.EscapedPath(), "/api/v3")
	h.mu.Lock()
	f := h.rest[route+"?"+r.URL.RawQuery]
	if f == nil {
		f = h.rest[route]
	}
	h.log = append(h.log, route)
	h.mu.Unlock()
	if f == nil {
		h.t.Errorf("hub: no answer to %s?%s", route, r.URL.RawQuery)
		w.WriteHeader(http.StatusNotFound)
		return
	}
	f(w, r)
}

// requests lists what was asked since the last call.
func (h *hub) requests() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	log := h.log
	h.log = nil
	return log
}

func (h *hub) clients() *ghclient.Clients {
	h.t.Helper()
	c, err := ghclient.New(ghclient.Options{
		AppID: 1, PrivateKey: testKey(), REST: h.url + "/api/v3/", GraphQL: h.url + "/api/graphql", HTML: h.url,
		Sleep: func(context.Context, time.Duration) error { return nil }, WriteRate: 1000,
	})
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(c.Close)
	return c
}

func (h *hub) collector(change func(*Options)) *Collector {
	h.t.Helper()
	o := Options{Clients: h.clients(), AppID: 1}
	if change != nil {
		change(&o)
	}
	c, err := New(o)
	if err != nil {
		h.t.Fatal(err)
	}
	return c
}

func hubRequest() Request {
	return Request{Installation: 9, RepoID: 7, Owner: "acme", Repo: "pay", PR: 1, Head: shaA, Event: "pull_request.opened"}
}

func (h *hub) collect(c *Collector, r Request) (*File, error) {
	h.t.Helper()
	if c == nil {
		c = h.collector(nil)
	}
	return c.Collect(context.Background(), r)
}

func blobEntry(content string) obj {
	return obj{"type": "blob", "mode": 0o100644, "object": obj{"oid": shaB, "byteSize": len(content), "isBinary": false, "isTruncated": false, "text": content}}
}

func problem(kind, message string, path ...any) obj {
	return obj{"type": kind, "message": message, "path": path}
}
