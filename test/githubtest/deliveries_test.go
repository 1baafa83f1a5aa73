package githubtest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/google/go-github/v62/github"

	"github.com/prosecutor-bot/prosecutor/test/githubtest"
)

// clock is a clock that a test moves.
type clock struct{ now time.Time }

func TestDeliveriesAreListedInPages(t *testing.T) {
	at := &clock{time.Now()}
	s := githubtest.New(t, githubtest.Options{Now: func() time.Time { return at.now }})
	repo := s.AddRepo("acme/pay", nil)
	hooks := receive(t, s)
	sha := repo.Head("main")
	fail := map[string]bool{"ci/1": true, "ci/4": true}
	s.OnDelivery(func(d githubtest.Delivery) githubtest.Passage {
		var p struct{ Context string }
		if err := json.Unmarshal(d.Payload, &p); err != nil {
			t.Error(err)
		}
		if fail[p.Context] {
			return githubtest.Fail
		}
		return githubtest.Deliver
	})
	for i := range 6 {
		repo.Status(sha, fmt.Sprintf("ci/%d", i), "success", "")
	}
	flush(t, s)
	bearer := func() string { return jwt(t, s.App(), goodClaims(s.App(), at.now)) }
	list := func(query string) ([]github.HookDelivery, string) {
		t.Helper()
		resp, body, err := raw(t, s, bearer(), "GET", "app/hook/deliveries"+query, "")
		if err != nil || resp.code != http.StatusOK {
			t.Fatalf("%v %s", err, body)
		}
		var page []github.HookDelivery
		if err := json.Unmarshal([]byte(body), &page); err != nil {
			t.Fatal(err)
		}
		next := regexp.MustCompile(`app/hook/deliveries(\?[^>]*)>; rel="next"`).FindStringSubmatch(resp.Header.Get("Link"))
		if next == nil {
			return page, ""
		}
		return page, next[1]
	}
	// Newest first, by a cursor.
	var ids []int64
	query := "?per_page=4"
	for query != "" {
		var page []github.HookDelivery
		page, query = list(query)
		for _, d := range page {
			ids = append(ids, d.GetID())
			if d.GetEvent() != "status" || d.GetAction() != "" || d.GetRepositoryID() != repo.ID() || d.GetInstallationID() != s.InstallationID("acme") || d.GetGUID() == "" {
				t.Errorf("%+v", d)
			}
		}
	}
	if len(ids) != 6 || ids[0] < ids[5] {
		t.Errorf("ids %v", ids)
	}
	failed, next := list("?status=failure&per_page=1")
	if len(failed) != 1 || failed[0].GetStatusCode() != 502 || next == "" {
		t.Fatalf("%+v %q", failed, next)
	}
	last, end := list(next)
	if len(last) != 1 || last[0].GetStatusCode() != 502 || end != "" || last[0].GetID() == failed[0].GetID() {
		t.Errorf("%+v %q", last, end)
	}
	if good, _ := list("?status=success"); len(good) != 4 {
		t.Errorf("%d succeeded", len(good))
	}

	// Redelivery: accepted, sent with the same guid, listed as a redelivery.
	c := client(t, s, bearer())
	ctx := context.Background()
	before := len(hooks.take(t, s))
	if _, resp, err := c.Apps.RedeliverHookDelivery(ctx, failed[0].GetID()); resp.StatusCode != http.StatusAccepted {
		t.Fatal(err) // go-github takes a 202 for an error
	}
	again := hooks.take(t, s)
	if before != 4 || len(again) != 1 || again[0].header.Get("X-GitHub-Delivery") != failed[0].GetGUID() {
		t.Errorf("%d and %d arrived", before, len(again))
	}
	page, _ := list("?per_page=1")
	if !page[0].GetRedelivery() || page[0].GetGUID() != failed[0].GetGUID() || page[0].GetStatusCode() != 202 || page[0].GetStatus() != "OK" {
		t.Errorf("%+v", page[0])
	}
	one := must(c.Apps.GetHookDelivery(ctx, page[0].GetID()))(t)
	if got := one.Request.Headers["X-Github-Delivery"]; got != failed[0].GetGUID() || len(one.Request.GetRawPayload()) == 0 {
		t.Errorf("request: %v", one.Request)
	}

	// After three days GitHub knows nothing of them.
	at.now = at.now.Add(73 * time.Hour)
	if page, _ := list(""); len(page) != 0 {
		t.Errorf("%d deliveries after three days", len(page))
	}
	if _, _, err := client(t, s, bearer()).Apps.RedeliverHookDelivery(ctx, failed[0].GetID()); status(err) != http.StatusNotFound {
		t.Errorf("redelivery after three days: %v", err)
	}
	if resp, _, err := raw(t, s, bearer(), "GET", "app/hook/deliveries?cursor=x", ""); err != nil || resp.code != 422 {
		t.Errorf("bad cursor: %v", err)
	}
	if resp, _, err := raw(t, s, tokenAt(t, s, at.now), "GET", "app/hook/deliveries", ""); err != nil || resp.code != 401 {
		t.Errorf("an installation's token: %v", err)
	}
}

func TestPayloadsBeyondTheCapAreNotSent(t *testing.T) {
	s := githubtest.New(t)
	repo := s.AddRepo("acme/pay", nil)
	hooks := receive(t, s)
	pad := make([]byte, 26<<20)
	for i := range pad {
		pad[i] = 'x'
	}
	repo.Commit("feature", "A", map[string]string{"a": "a"})
	repo.OpenPR(githubtest.PR{Title: "A", Body: string(pad), Head: "feature"})
	if got := names(hooks.take(t, s)); slices.Contains(got, "pull_request opened") {
		t.Errorf("got %q: a pull request with 26 MB of description", got)
	}
}
