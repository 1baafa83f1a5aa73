package ghclient_test

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-github/v62/github"

	"github.com/prosecutor-bot/prosecutor/app/ghclient"
)

// reply is one answer of the stub.
type reply struct {
	status int
	header map[string]string
	body   string
}

func (p reply) write(w http.ResponseWriter) {
	for k, v := range p.header {
		w.Header().Set(k, v)
	}
	w.WriteHeader(p.status)
	_, _ = w.Write([]byte(p.body))
}

func getRepo(ctx context.Context, c *ghclient.Clients) error {
	client, err := c.Installation(ctx, installation, scope)
	if err != nil {
		return err
	}
	_, _, err = client.Repositories.Get(ctx, "acme", "pay")
	return err
}

// TestRefusals is the table of what 4xx and 5xx answers mean. Limits come with and without headers, as 403 and as 429.
func TestRefusals(t *testing.T) {
	at := newClock().Now()
	reset := func(d time.Duration) string { return strconv.FormatInt(at.Add(d).Unix(), 10) }
	exhausted := map[string]string{"X-RateLimit-Limit": "5000", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": reset(20 * time.Minute), "X-RateLimit-Resource": "core"}
	with := func(h map[string]string, k, v string) map[string]string {
		out := map[string]string{k: v}
		for k, v := range h {
			out[k] = v
		}
		return out
	}
	const (
		primaryText   = `{"message":"API rate limit exceeded for installation ID 9."}`
		secondaryText = `{"message":"You have exceeded a secondary rate limit. Please wait a few minutes before you try again.","documentation_url":"https://docs.github.com/rest/overview/rate-limits-for-the-rest-api#about-secondary-rate-limits"}`
		abuseText     = `{"message":"You have triggered an abuse detection mechanism. Please wait a few minutes before you try again."}`
		forbidden     = `{"message":"Resource not accessible by integration"}`
	)
	tests := []struct {
		name  string
		reply reply
		class ghclient.Class
		kind  ghclient.Kind
		wait  time.Duration
	}{
		{"403 primary by headers", reply{403, exhausted, `{"message":"no"}`}, ghclient.ClassRateLimited, ghclient.Primary, 20*time.Minute + time.Second},
		{"429 primary by headers", reply{429, exhausted, `{"message":"no"}`}, ghclient.ClassRateLimited, ghclient.Primary, 20*time.Minute + time.Second},
		{"429 primary by headers and wording", reply{429, exhausted, primaryText}, ghclient.ClassRateLimited, ghclient.Primary, 20*time.Minute + time.Second},
		{"403 primary by wording alone", reply{403, nil, primaryText}, ghclient.ClassRateLimited, ghclient.Primary, time.Minute},
		{"primary whose headers still count one", reply{403, with(map[string]string{"X-RateLimit-Limit": "5000", "X-RateLimit-Reset": reset(time.Minute)}, "X-RateLimit-Remaining", "1"), primaryText}, ghclient.ClassRateLimited, ghclient.Primary, time.Minute + time.Second},
		{"403 secondary with Retry-After", reply{403, map[string]string{"Retry-After": "90"}, secondaryText}, ghclient.ClassRateLimited, ghclient.Secondary, 91 * time.Second},
		{"429 secondary with Retry-After", reply{429, map[string]string{"Retry-After": "90"}, secondaryText}, ghclient.ClassRateLimited, ghclient.Secondary, 91 * time.Second},
		{"secondary whose Retry-After is a date", reply{403, map[string]string{"Retry-After": at.Add(2 * time.Minute).Format(http.TimeFormat)}, secondaryText}, ghclient.ClassRateLimited, ghclient.Secondary, 2*time.Minute + time.Second},
		{"secondary without headers by wording", reply{403, nil, secondaryText}, ghclient.ClassRateLimited, ghclient.Secondary, time.Minute},
		{"secondary without headers by documentation link", reply{403, nil, `{"message":"slow down","documentation_url":"https://docs.github.com/free-pro-team@latest/rest/overview/resources-in-the-rest-api#secondary-rate-limits"}`}, ghclient.ClassRateLimited, ghclient.Secondary, time.Minute},
		{"secondary while the hour is used up too", reply{403, exhausted, secondaryText}, ghclient.ClassRateLimited, ghclient.Secondary, 20*time.Minute + time.Second},
		{"secondary by Retry-After alone", reply{403, map[string]string{"Retry-After": "5"}, ``}, ghclient.ClassRateLimited, ghclient.Secondary, 6 * time.Second},
		{"bare 429", reply{429, nil, ``}, ghclient.ClassRateLimited, ghclient.Secondary, time.Minute},
		{"secondary on a page that is no JSON", reply{403, nil, `<html>You have exceeded a secondary rate limit.</html>`}, ghclient.ClassRateLimited, ghclient.Secondary, time.Minute},
		{"abuse by wording", reply{403, nil, abuseText}, ghclient.ClassRateLimited, ghclient.Abuse, time.Minute},
		{"abuse by documentation link", reply{403, map[string]string{"Retry-After": "30"}, `{"message":"no","documentation_url":"https://developer.github.com/v3/#abuse-rate-limits"}`}, ghclient.ClassRateLimited, ghclient.Abuse, 31 * time.Second},
		{"creation of content in haste", reply{422, nil, `{"message":"Validation Failed","errors":[{"resource":"IssueComment","code":"unprocessable","field":"data","message":"was submitted too quickly"}]}`}, ghclient.ClassRateLimited, ghclient.Secondary, time.Minute},
		{"Retry-After of ten years", reply{403, map[string]string{"Retry-After": "315360000"}, secondaryText}, ghclient.ClassRateLimited, ghclient.Secondary, 65 * time.Minute},
		{"Retry-After that makes no sense", reply{403, map[string]string{"Retry-After": "-5"}, secondaryText}, ghclient.ClassRateLimited, ghclient.Secondary, time.Minute},

		{"plain permission 403", reply{403, map[string]string{"X-RateLimit-Limit": "5000", "X-RateLimit-Remaining": "4999", "X-RateLimit-Reset": reset(time.Hour)}, forbidden}, ghclient.ClassForbidden, "", 0},
		{"permission 403 on the last request of the hour", reply{403, exhausted, forbidden}, ghclient.ClassForbidden, "", 0},
		{"SSO by header", reply{403, map[string]string{"X-GitHub-SSO": "required; url=https://github.com/orgs/acme/sso"}, `{"message":"no"}`}, ghclient.ClassSSO, "", 0},
		{"SSO by wording", reply{403, exhausted, `{"message":"Resource protected by organization SAML enforcement."}`}, ghclient.ClassSSO, "", 0},
		{"suspended", reply{403, nil, `{"message":"This installation has been suspended"}`}, ghclient.ClassSuspended, "", 0},
		{"404", reply{404, nil, `{"message":"Not Found"}`}, ghclient.ClassNotFound, "", 0},
		{"409", reply{409, nil, `{"message":"Git Repository is empty."}`}, ghclient.ClassConflict, "", 0},
		{"410", reply{410, nil, `{"message":"Issues are disabled for this repo"}`}, ghclient.ClassGone, "", 0},
		{"451", reply{451, nil, `{"message":"Repository access blocked"}`}, ghclient.ClassGone, "", 0},
		{"406", reply{406, nil, `{"message":"diff exceeded","errors":[{"code":"too_large"}]}`}, ghclient.ClassRefused, "", 0},
		{"422", reply{422, nil, `{"message":"Validation Failed"}`}, ghclient.ClassRefused, "", 0},
		{"500", reply{500, nil, `{"message":"Server Error"}`}, ghclient.ClassUnavailable, "", 0},
		{"502 with a page", reply{502, nil, `<html>unicorn</html>`}, ghclient.ClassUnavailable, "", 0},
		{"503 with Retry-After", reply{503, map[string]string{"Retry-After": "60"}, ``}, ghclient.ClassUnavailable, "", 0},
		{"504", reply{504, nil, ``}, ghclient.ClassUnavailable, "", 0},
		{"a page under 200", reply{200, nil, `<html>sign in</html>`}, ghclient.ClassUnavailable, "", 0},
		{"nothing under 200", reply{200, nil, ``}, ghclient.ClassUnavailable, "", 0},
		{"half an object under 200", reply{200, nil, `{"id": 1, "na`}, ghclient.ClassUnavailable, "", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newStub(t, func(w http.ResponseWriter, _ *http.Request) { tt.reply.write(w) })
			c := s.clients(t)
			err := getRepo(t.Context(), c)
			if got := ghclient.ClassOf(err); got != tt.class {
				t.Fatalf("class %q, want %q: %v", got, tt.class, err)
			}
			if tt.class != ghclient.ClassRateLimited {
				var own *github.RateLimitError
				if errors.As(err, &own) {
					t.Errorf("go-github takes it for a limit: %v", err)
				}
				return
			}
			var limit *ghclient.RateLimitError
			if !errors.As(err, &limit) {
				t.Fatalf("no RateLimitError: %v", err)
			}
			retry, _ := ghclient.RetryAt(err)
			wait := retry.Sub(s.clock.Now())
			if limit.Kind != tt.kind || wait != tt.wait || !limit.Sent || limit.Status != tt.reply.status || limit.Installation != installation {
				t.Errorf("got %+v after %s, want kind %s after %s", *limit, wait, tt.kind, tt.wait)
			}
			// Stop while limited: nothing is sent before that time, also not for publishing.
			sent := len(s.Seen())
			if sent != 1 {
				t.Errorf("%d requests were sent, want 1: a limit is never asked again at once", sent)
			}
			s.clock.Advance(wait - time.Millisecond)
			err = getRepo(ghclient.WithPurpose(t.Context(), ghclient.Publishing), c)
			if !errors.As(err, &limit) || limit.Sent {
				t.Errorf("before the end of the limit: got %v, want a RateLimitError of a request that was held back", err)
			}
			if n := len(s.Seen()); n != sent {
				t.Errorf("%d requests were sent while limited", n-sent)
			}
			s.clock.Advance(time.Millisecond)
			_ = getRepo(t.Context(), c)
			if n := len(s.Seen()); n != sent+1 {
				t.Errorf("%d requests were sent after the limit, want 1", n-sent)
			}
		})
	}
}

func TestSecondaryLimitsInARowDoubleTheWaitAndOneSuccessEndsTheRow(t *testing.T) {
	var ok atomic.Bool
	s := newStub(t, func(w http.ResponseWriter, _ *http.Request) {
		if ok.Load() {
			_, _ = w.Write([]byte(`{"id":1}`))
			return
		}
		reply{403, nil, `{"message":"You have exceeded a secondary rate limit."}`}.write(w)
	})
	c := s.clients(t)
	wait := func() time.Duration {
		t.Helper()
		at, limited := ghclient.RetryAt(getRepo(t.Context(), c))
		if !limited {
			t.Fatal("not limited")
		}
		d := at.Sub(s.clock.Now())
		s.clock.Advance(d)
		return d
	}
	for i, want := range []string{"1m0s", "2m0s", "4m0s", "8m0s", "15m0s", "15m0s"} {
		if got := wait(); got.String() != want {
			t.Errorf("limit %d: wait %s, want %s", i+1, got, want)
		}
	}
	ok.Store(true)
	if err := getRepo(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	ok.Store(false)
	if got := wait(); got != time.Minute {
		t.Errorf("after a success: wait %s, want 1 min", got)
	}
}

func TestALimitOfOneInstallationDoesNotStopAnother(t *testing.T) {
	s := newStub(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/repos/acme/pay" {
			reply{403, nil, `{"message":"You have exceeded a secondary rate limit."}`}.write(w)
			return
		}
		_, _ = w.Write([]byte(`{"id":1}`))
	})
	c := s.clients(t)
	if err := getRepo(t.Context(), c); ghclient.ClassOf(err) != ghclient.ClassRateLimited {
		t.Fatal(err)
	}
	if c.Budget(installation).PausedUntil.IsZero() {
		t.Error("the budget does not show the pause")
	}
	other, err := c.Installation(t.Context(), installation+1, scope)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := other.Repositories.Get(t.Context(), "other", "repo"); err != nil {
		t.Errorf("another installation: %v", err)
	}
}

// hour answers with a budget that counts down.
type hour struct {
	remaining atomic.Int64
	resource  string
	reset     time.Time
}

func (h *hour) headers(w http.ResponseWriter) {
	w.Header().Set("X-RateLimit-Limit", "100")
	w.Header().Set("X-RateLimit-Remaining", strconv.FormatInt(max(h.remaining.Add(-1), 0), 10))
	w.Header().Set("X-RateLimit-Reset", strconv.FormatInt(h.reset.Unix(), 10))
	w.Header().Set("X-RateLimit-Resource", h.resource)
}

func TestTheLastShareOfTheHourIsKeptForPublishing(t *testing.T) {
	h := &hour{resource: "core"}
	h.remaining.Store(33)
	s := newStub(t, func(w http.ResponseWriter, _ *http.Request) {
		h.headers(w)
		_, _ = w.Write([]byte(`{"id":1}`))
	})
	h.reset = s.clock.Now().Add(40 * time.Minute)
	c := s.clients(t)

	spend := func(p ghclient.Purpose) (sent int, limit *ghclient.RateLimitError) {
		t.Helper()
		before := len(s.Seen())
		for range 200 {
			if err := getRepo(ghclient.WithPurpose(t.Context(), p), c); err != nil {
				if !errors.As(err, &limit) {
					t.Fatal(err)
				}
				return len(s.Seen()) - before, limit
			}
		}
		t.Fatal("never limited")
		return 0, nil
	}
	for _, step := range []struct {
		purpose ghclient.Purpose
		left    int64
		reserve bool
	}{{ghclient.Background, 30, true}, {ghclient.Collecting, 10, true}, {ghclient.Publishing, 0, false}} {
		_, limit := spend(step.purpose)
		if left := h.remaining.Load(); left != step.left {
			t.Errorf("%s stopped with %d requests left, want %d", step.purpose, left, step.left)
		}
		if limit.Sent || limit.Reserved != step.reserve || limit.Kind != ghclient.Primary || !limit.RetryAt.Equal(h.reset) {
			t.Errorf("%s: got %+v, want it held back until %s", step.purpose, *limit, h.reset)
		}
	}
	if b := c.Budget(installation); b.Limit != 100 || b.Remaining != 0 || !b.Reset.Equal(h.reset) {
		t.Errorf("budget %+v", b)
	}
	// The next hour.
	h.remaining.Store(100)
	s.clock.Advance(40 * time.Minute)
	h.reset = s.clock.Now().Add(time.Hour)
	if err := getRepo(t.Context(), c); err != nil {
		t.Errorf("after the reset: %v", err)
	}
}

func TestRequestsUnderWayCountAgainstTheReserve(t *testing.T) {
	h := &hour{resource: "core"}
	h.remaining.Store(14)
	block := make(chan struct{})
	arrived := make(chan struct{}, 10)
	var hold atomic.Bool
	s := newStub(t, func(w http.ResponseWriter, _ *http.Request) {
		if hold.Load() {
			arrived <- struct{}{}
			<-block
		}
		h.headers(w)
		_, _ = w.Write([]byte(`{"id":1}`))
	})
	h.reset = s.clock.Now().Add(40 * time.Minute)
	c := s.clients(t)
	if err := getRepo(t.Context(), c); err != nil { // 13 left
		t.Fatal(err)
	}
	hold.Store(true)
	errs := make(chan error, 3)
	for range 3 {
		go func() { errs <- getRepo(t.Context(), c) }()
	}
	for range 3 {
		<-arrived
	}
	// 13 less the three under way is the reserve of 10.
	err := getRepo(t.Context(), c)
	var limit *ghclient.RateLimitError
	if !errors.As(err, &limit) || !limit.Reserved {
		t.Errorf("got %v, want the reserve to be kept", err)
	}
	close(block)
	for range 3 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

func TestAnswersOutOfOrderDoNotRaiseTheBudget(t *testing.T) {
	remaining := []string{"50", "60"}
	var n atomic.Int64
	s := newStub(t, nil)
	s.serve = func(w http.ResponseWriter, _ *http.Request) {
		i := n.Add(1) - 1
		w.Header().Set("X-RateLimit-Limit", "100")
		w.Header().Set("X-RateLimit-Remaining", remaining[i])
		w.Header().Set("X-RateLimit-Reset", strconv.FormatInt(s.clock.Now().Add(time.Minute).Unix()+i, 10)) // off by one
		_, _ = w.Write([]byte(`{"id":1}`))
	}
	c := s.clients(t)
	for range remaining {
		if err := getRepo(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	if got := c.Budget(installation).Remaining; got != 50 {
		t.Errorf("remaining %d, want 50", got)
	}
}

// GitHub Enterprise Server has no limits by default, and a host's clock may be wrong.
func TestAServerWithoutLimitsIsNotLimited(t *testing.T) {
	s := newStub(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"id":1}`)) })
	c := s.clients(t)
	for range 50 {
		if err := getRepo(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	if b := c.Budget(installation); b != (ghclient.Budget{}) {
		t.Errorf("budget %+v", b)
	}
}

func TestAWrongClockDoesNotChangeHowLongToWait(t *testing.T) {
	s := newStub(t, nil)
	server := s.clock.Now().Add(-3 * time.Hour) // this host is three hours ahead
	s.serve = func(w http.ResponseWriter, _ *http.Request) {
		reply{429, map[string]string{
			"Date": server.Format(http.TimeFormat), "X-RateLimit-Limit": "5000", "X-RateLimit-Remaining": "0",
			"X-RateLimit-Reset": strconv.FormatInt(server.Add(10*time.Minute).Unix(), 10),
		}, `{"message":"API rate limit exceeded"}`}.write(w)
	}
	c := s.clients(t)
	at, _ := ghclient.RetryAt(getRepo(t.Context(), c))
	if got, want := at.Sub(s.clock.Now()), 10*time.Minute+time.Second; got != want {
		t.Errorf("wait %s, want %s", got, want)
	}
	if got := c.Skew(); got != 3*time.Hour {
		t.Errorf("skew %s, want 3h", got)
	}
}

func comment(ctx context.Context, client *github.Client) error {
	_, _, err := client.Issues.CreateComment(ctx, "acme", "pay", 1, &github.IssueComment{Body: github.String("x")})
	return err
}

func TestWritesOfAnInstallationAreSpaced(t *testing.T) {
	s := newStub(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write([]byte(`{"id":1}`))
	})
	c := s.clients(t)
	client, err := c.Installation(t.Context(), installation, scope)
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if err := comment(t.Context(), client); err != nil {
			t.Fatal(err)
		}
	}
	if slept := s.clock.Slept(); len(slept) != 0 {
		t.Fatalf("a burst of 20 waited %v", slept)
	}
	for range 3 {
		if err := comment(t.Context(), client); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range s.clock.Slept() {
		if d != time.Second {
			t.Errorf("waited %s, want 1s", d)
		}
	}
	if n := len(s.clock.Slept()); n != 3 {
		t.Errorf("%d waits, want 3", n)
	}
	// Reads do not wait, and another installation has a bucket of its own.
	if _, _, err := client.Repositories.Get(t.Context(), "acme", "pay"); err != nil {
		t.Fatal(err)
	}
	other, err := c.Installation(t.Context(), installation+1, scope)
	if err != nil {
		t.Fatal(err)
	}
	if err := comment(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	if n := len(s.clock.Slept()); n != 3 {
		t.Errorf("%d waits after a read and another installation's write, want 3", n)
	}
}

func TestAWriteWhoseTurnIsFarAwayIsPutOff(t *testing.T) {
	s := newStub(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write([]byte(`{"id":1}`))
	})
	c := s.clients(t, func(o *ghclient.Options) { o.WriteRate, o.WriteBurst = 0.01, 1 })
	client, err := c.Installation(t.Context(), installation, scope)
	if err != nil {
		t.Fatal(err)
	}
	if err := comment(t.Context(), client); err != nil {
		t.Fatal(err)
	}
	for range 3 { // what is put off takes no turn
		var limit *ghclient.RateLimitError
		if err := comment(t.Context(), client); !errors.As(err, &limit) || limit.Kind != ghclient.Pacing {
			t.Fatalf("got %v, want it put off", err)
		}
		if got := limit.RetryAt.Sub(s.clock.Now()); got != 100*time.Second {
			t.Errorf("put off by %s, want 100s", got)
		}
	}
	if n := len(s.Seen()); n != 1 {
		t.Errorf("%d requests were sent, want 1", n)
	}
}

func TestWaitingForATurnEndsWithTheContext(t *testing.T) {
	s := newStub(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write([]byte(`{"id":1}`))
	})
	ctx, cancel := context.WithCancel(t.Context())
	c := s.clients(t, func(o *ghclient.Options) {
		o.WriteBurst = 1
		o.Sleep = func(ctx context.Context, _ time.Duration) error { cancel(); <-ctx.Done(); return ctx.Err() }
	})
	client, err := c.Installation(ctx, installation, scope)
	if err != nil {
		t.Fatal(err)
	}
	if err := comment(ctx, client); err != nil {
		t.Fatal(err)
	}
	if err := comment(ctx, client); !errors.Is(err, context.Canceled) || ghclient.ClassOf(err) != ghclient.ClassCanceled {
		t.Errorf("got %v, want the context's error", err)
	}
	if n := len(s.Seen()); n != 1 {
		t.Errorf("%d requests were sent, want 1", n)
	}
}

func TestRequestsAtOnceAreCapped(t *testing.T) {
	const limit = 3
	var now, most atomic.Int64
	full := make(chan struct{})
	s := newStub(t, func(w http.ResponseWriter, _ *http.Request) {
		n := now.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		if n == limit {
			select {
			case <-full:
			default:
				close(full)
			}
		}
		<-full
		now.Add(-1)
		_, _ = w.Write([]byte(`{"id":1}`))
	})
	c := s.clients(t, func(o *ghclient.Options) { o.Concurrency = limit })
	errs := make(chan error)
	for range 12 {
		go func() { errs <- getRepo(t.Context(), c) }()
	}
	for range 12 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if got := most.Load(); got != limit {
		t.Errorf("%d requests at once, want %d", got, limit)
	}
}
