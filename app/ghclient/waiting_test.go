package ghclient_test

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prosecutor-bot/prosecutor/app/ghclient"
)

// blocked is a stub with room for one request at once, which it holds, and clients of it.
func blocked(t *testing.T, answer http.HandlerFunc) (s *stub, c *ghclient.Clients, arrived, release chan struct{}) {
	t.Helper()
	arrived, release = make(chan struct{}, 1), make(chan struct{})
	s = newStub(t, func(w http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		<-release
		answer(w, r)
	})
	return s, s.clients(t, func(o *ghclient.Options) { o.Concurrency = 1 }), arrived, release
}

func TestARequestThatWaitsIsNotSentWhenALimitComesInTheMeantime(t *testing.T) {
	s, c, arrived, release := blocked(t, func(w http.ResponseWriter, _ *http.Request) {
		reply{403, nil, `{"message":"You have exceeded a secondary rate limit."}`}.write(w)
	})
	errs := make(chan error, 2)
	go func() { errs <- getRepo(t.Context(), c) }()
	<-arrived
	go func() { errs <- getRepo(t.Context(), c) }()
	close(release)
	held := 0
	for range 2 {
		var limit *ghclient.RateLimitError
		if err := <-errs; !errors.As(err, &limit) {
			t.Errorf("got %v, want a limit", err)
		} else if !limit.Sent {
			held++
		}
	}
	if n := len(s.Seen()); n != 1 || held != 1 {
		t.Errorf("%d requests were sent and %d held back, want 1 and 1", n, held)
	}
}

func TestWaitingForRoomEndsWithTheContext(t *testing.T) {
	s, c, arrived, release := blocked(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"id":1}`)) })
	done := make(chan error, 1)
	go func() { done <- getRepo(t.Context(), c) }()
	<-arrived
	client, err := c.Installation(t.Context(), installation, scope)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	waiting := make(chan error, 1)
	go func() {
		_, _, err := client.Repositories.Get(ctx, "acme", "pay")
		waiting <- err
	}()
	cancel()
	if err := <-waiting; ghclient.ClassOf(err) != ghclient.ClassCanceled {
		t.Errorf("got %v", err)
	}
	close(release)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if n := len(s.Seen()); n != 1 {
		t.Errorf("%d requests were sent, want 1", n)
	}
}

func TestAWriteIsNotKeptWaitingPastItsDeadline(t *testing.T) {
	s := newStub(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write([]byte(`{"id":1}`))
	})
	c := s.clients(t, func(o *ghclient.Options) { o.WriteRate, o.WriteBurst = 0.05, 1 })
	client, err := c.Installation(t.Context(), installation, scope)
	if err != nil {
		t.Fatal(err)
	}
	if err := comment(t.Context(), client); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // the turn is 20 s away
	defer cancel()
	if err := comment(ctx, client); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if n, slept := len(s.Seen()), s.clock.Slept(); n != 1 || len(slept) != 0 {
		t.Errorf("%d requests after waits of %v, want 1 without", n, slept)
	}
}

// The real clock and the real sleep, without any adjustment.
func TestDefaultsWork(t *testing.T) {
	var calls atomic.Int64
	s := newStub(t, func(w http.ResponseWriter, _ *http.Request) {
		if calls.Add(1) == 1 {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		_, _ = w.Write([]byte(`{"id":1}`))
	})
	s.clock.now = time.Now()
	c := s.clients(t, func(o *ghclient.Options) { o.Now, o.Sleep, o.Rand, o.Transport = nil, nil, nil, nil })
	if err := getRepo(t.Context(), c); err != nil || calls.Load() != 2 {
		t.Errorf("got %v after %d requests", err, calls.Load())
	}
}

func TestATokenForGitIsThatOfTheScope(t *testing.T) {
	s := newStub(t, func(http.ResponseWriter, *http.Request) {})
	c := s.clients(t)
	for range 2 {
		token, err := c.Token(t.Context(), installation, scope)
		if err != nil || token != tokenNumber(1) {
			t.Errorf("got %q, %v", token, err)
		}
	}
	if _, err := c.Token(t.Context(), 0, scope); err == nil {
		t.Error("installation 0 was taken")
	}
}

func TestErrorsSayWhatHappenedWhereAndWhatToDo(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	tests := map[string]error{
		"primary rate limit of GitHub (core): installation 9 must wait until 2026-03-01T12:00:00Z: no": &ghclient.RateLimitError{
			Kind: ghclient.Primary, Resource: "core", Installation: 9, RetryAt: at, Message: "no"},
		"share of the hourly core requests that is kept for publishing: installation 9 must wait until 2026-03-01T12:00:00Z": &ghclient.RateLimitError{
			Kind: ghclient.Primary, Resource: "core", Installation: 9, RetryAt: at, Reserved: true},
		"abuse rate limit of GitHub: the App must wait until 2026-03-01T12:00:00Z": &ghclient.RateLimitError{Kind: ghclient.Abuse, RetryAt: at},
		"spacing of writes: installation 9 must wait until 2026-03-01T12:00:00Z":   &ghclient.RateLimitError{Kind: ghclient.Pacing, Installation: 9, RetryAt: at},
		"the answer to /x is larger than 5 bytes":                                  &ghclient.TooLargeError{Path: "/x", Limit: 5},
		"reading the answer (status 200) to GET /x: unexpected":                    &ghclient.BodyError{Method: "GET", Path: "/x", Status: 200, Err: errors.New("unexpected")},
		"sending GET /x: refused":                                                  &ghclient.NetworkError{Method: "GET", Path: "/x", Err: errors.New("refused")},
		"GraphQL (partial data): FORBIDDEN: no at a.0":                             &ghclient.GraphQLError{Partial: true, Errors: []ghclient.GraphQLProblem{{Type: "FORBIDDEN", Message: "no", Path: []any{"a", 0}}}},
		"GitHub does not accept the token of installation 9: Bad credentials":      &ghclient.AuthError{Installation: 9, Message: "Bad credentials"},
		"https://evil.example:443 is not the configured GitHub host: nothing was sent to it; if it should be, check the github URLs of the configuration": &ghclient.ForeignHostError{Host: "https://evil.example:443"},
	}
	for want, err := range tests {
		if got := err.Error(); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
}

func TestLimitsOfRequestsThatWereUnderWayTogetherCountOnce(t *testing.T) {
	const together = 4
	arrived, release := make(chan struct{}, together), make(chan struct{})
	s := newStub(t, func(w http.ResponseWriter, _ *http.Request) {
		arrived <- struct{}{}
		<-release
		reply{403, nil, `{"message":"You have exceeded a secondary rate limit."}`}.write(w)
	})
	c := s.clients(t)
	errs := make(chan error, together)
	for range together {
		go func() { errs <- getRepo(t.Context(), c) }()
	}
	for range together {
		<-arrived
	}
	close(release)
	for range together {
		if at, _ := ghclient.RetryAt(<-errs); at.Sub(s.clock.Now()) != time.Minute {
			t.Errorf("wait %s, want 1 min", at.Sub(s.clock.Now()))
		}
	}
	s.clock.Advance(time.Minute)
	if at, _ := ghclient.RetryAt(getRepo(t.Context(), c)); at.Sub(s.clock.Now()) != 2*time.Minute {
		t.Errorf("the second limit: wait %s, want 2 min", at.Sub(s.clock.Now()))
	}
}

func TestAServerThatNamesWhenToComeBackIsNotAskedAtOnce(t *testing.T) {
	s := newStub(t, func(w http.ResponseWriter, _ *http.Request) {
		reply{503, map[string]string{"Retry-After": "120"}, ``}.write(w)
	})
	if err := getRepo(t.Context(), s.clients(t)); !ghclient.IsTransient(err) || len(s.Seen()) != 1 {
		t.Errorf("%d requests: %v", len(s.Seen()), err)
	}
}
