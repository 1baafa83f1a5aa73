package casefile

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/prosecutor-bot/prosecutor/prosecutor/attribution"
)

const (
	shaA = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	shaB = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
	shaC = "cccccccccccccccccccccccccccccccccccccccc"
)

// TestPinned tells what it means that GitHub's head is not the event's.
func TestPinned(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name       string
		head       string
		eventAt    time.Time
		shownAt    time.Time
		commits    []string
		state      string
		superseded bool
		stale      bool
	}{
		{"the same head", shaA, at, at, []string{shaA}, "OPEN", false, false},
		{"any head", "", time.Time{}, at, []string{shaA}, "OPEN", false, false},
		{"an answer from before the push", shaB, at, at.Add(-time.Minute), []string{shaA}, "OPEN", false, true},
		{"a push after the event", shaB, at, at.Add(time.Minute), []string{shaB, shaA}, "OPEN", true, false},
		{"a force push after the event", shaB, at, at.Add(time.Minute), []string{shaA}, "OPEN", true, false},
		{"a rewinding push that is not shown yet", shaB, at, at.Add(-time.Minute), []string{shaB, shaA}, "OPEN", false, true},
		{"two pushes in a second", shaB, at, at, []string{shaB, shaA}, "OPEN", true, false},
		{"an event without a time, and a later commit", shaB, time.Time{}, at, []string{shaB, shaA}, "OPEN", true, false},
		{"an event without a time, and no trace of its head", shaB, time.Time{}, at, []string{shaA}, "OPEN", false, true},
		{"closed since", shaB, at, at.Add(-time.Minute), []string{shaA}, "CLOSED", false, false},
		{"merged since", shaB, at, at.Add(-time.Minute), []string{shaA}, "MERGED", false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &pull{State: c.state, HeadRefOid: shaA, UpdatedAt: c.shownAt, BaseRefName: "main", BaseRefOid: shaC}
			p.BaseRef = &struct{ Target *baseCommit }{&baseCommit{Typename: "Commit", Oid: shaC}}
			for _, sha := range c.commits {
				p.Commits.Nodes = append(p.Commits.Nodes, commitNode{written{Oid: sha}})
			}
			s := &session{owner: "acme", repo: "pay"}
			f, err := s.pinned(Request{PR: 1, Head: c.head, UpdatedAt: c.eventAt}, p)
			if c.stale {
				retry, ok := errorAs[*RetryableError](err)
				if !ok || !retry.Stale {
					t.Fatalf("got %+v, %v, want a stale answer", f, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if f.Superseded != c.superseded || f.HeadMoved != c.superseded || f.Head != shaA {
				t.Errorf("got superseded %v, moved %v, head %s", f.Superseded, f.HeadMoved, f.Head)
			}
		})
	}
}

func TestBaseBranchGone(t *testing.T) {
	s := &session{owner: "acme", repo: "pay"}
	_, err := s.pinned(Request{PR: 1}, &pull{State: "OPEN", HeadRefOid: shaA, BaseRefName: "old", BaseRefOid: shaC})
	gone, ok := errorAs[*GoneError](err)
	if !ok || gone.What != GoneBase || gone.Name != "old" {
		t.Errorf("got %v", err)
	}
}

func TestAccount(t *testing.T) {
	for _, c := range []struct {
		in   *actor
		want attribution.Account
	}{
		{nil, attribution.Account{Login: "ghost", Type: "User"}},
		{&actor{"User", "dev"}, attribution.Account{Login: "dev", Type: "User"}},
		{&actor{"Bot", "dependabot"}, attribution.Account{Login: "dependabot[bot]", Type: "Bot"}},
		{&actor{"Bot", "dependabot[bot]"}, attribution.Account{Login: "dependabot[bot]", Type: "Bot"}},
	} {
		if diff := cmp.Diff(c.want, account(c.in)); diff != "" {
			t.Errorf("%+v: %s", c.in, diff)
		}
	}
}

func TestRecent(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	r := newRecent(time.Hour, 2)
	r.add(1, now)
	if !r.has(1, now.Add(59*time.Minute)) || r.has(1, now.Add(time.Hour)) {
		t.Error("an id is not remembered for an hour")
	}
	r.add(1, now)
	r.add(2, now.Add(time.Minute))
	r.add(3, now.Add(2*time.Minute))
	if r.has(1, now) || !r.has(2, now) || !r.has(3, now) {
		t.Error("the oldest id is not the one that is forgotten")
	}
	r.forget(2)
	if r.has(2, now) {
		t.Error("a forgotten id is remembered")
	}
}
