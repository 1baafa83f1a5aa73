package ghclient_test

import (
	"bytes"
	"context"
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-github/v62/github"
	"github.com/rs/zerolog"

	"github.com/prosecutor-bot/prosecutor/app/ghclient"
)

type claims struct {
	Iat int64  `json:"iat"`
	Exp int64  `json:"exp"`
	Iss string `json:"iss"`
}

// verifyJWT checks a JWT the way GitHub does, by the given time, and returns GitHub's wording of the refusal.
func verifyJWT(header string, now time.Time) (claims, string) {
	var c claims
	parts := strings.Split(strings.TrimPrefix(header, "Bearer "), ".")
	if len(parts) != 3 {
		return c, "A JSON web token could not be decoded"
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil {
		return c, "A JSON web token could not be decoded"
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if rsa.VerifyPKCS1v15(&testKey().PublicKey, crypto.SHA256, sum[:], signature) != nil {
		return c, "A JSON web token could not be decoded"
	}
	body, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil || json.Unmarshal(body, &c) != nil {
		return c, "A JSON web token could not be decoded"
	}
	switch {
	case time.Unix(c.Iat, 0).After(now):
		return c, "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued"
	case !time.Unix(c.Exp, 0).After(now):
		return c, "'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires"
	case time.Unix(c.Exp, 0).After(now.Add(10 * time.Minute)):
		return c, "'Expiration time' claim ('exp') is too far in the future"
	}
	return c, ""
}

func TestTheAppSignsJWTsThatGitHubTakes(t *testing.T) {
	s := newStub(t, nil)
	s.serve = func(w http.ResponseWriter, r *http.Request) {
		c, problem := verifyJWT(r.Header.Get("Authorization"), s.clock.Now())
		if problem != "" || c.Iss != "4711" || c.Iat != s.clock.Now().Unix()-60 || c.Exp-c.Iat > 600 {
			t.Errorf("claims %+v: %s", c, problem)
		}
		_, _ = w.Write([]byte(`{"id":4711}`))
	}
	app, _, err := s.clients(t).App().Apps.Get(t.Context(), "")
	if err != nil || app.GetID() != appID {
		t.Errorf("got %v, %v", app, err)
	}
}

// The clock of this host is wrong by more than back-dating covers (probot/probot#967): the JWT is made by GitHub's clock.
func TestAJWTIsMadeByGitHubsClockWhenOursIsRefused(t *testing.T) {
	for _, ahead := range []time.Duration{95 * time.Second, 3 * time.Hour, -20 * time.Minute} {
		t.Run(ahead.String(), func(t *testing.T) {
			var calls atomic.Int64
			s := newStub(t, nil)
			s.serve = func(w http.ResponseWriter, r *http.Request) {
				calls.Add(1)
				now := s.clock.Now().Add(-ahead)
				w.Header().Set("Date", now.Format(http.TimeFormat))
				if _, problem := verifyJWT(r.Header.Get("Authorization"), now); problem != "" {
					reply{401, nil, fmt.Sprintf(`{"message":%q}`, problem)}.write(w)
					return
				}
				_, _ = w.Write([]byte(`{"id":4711}`))
			}
			var logs bytes.Buffer
			log := zerolog.New(&logs).Level(zerolog.WarnLevel)
			c := s.clients(t, func(o *ghclient.Options) { o.Logger = &log })
			for i, want := range []int64{2, 3} { // the second call knows
				if _, _, err := c.App().Apps.Get(t.Context(), ""); err != nil {
					t.Fatal(err)
				}
				if n := calls.Load(); n != want {
					t.Errorf("call %d: %d requests in all, want %d", i+1, n, want)
				}
			}
			if got := c.Skew(); got != ahead {
				t.Errorf("skew %s, want %s", got, ahead)
			}
			if n := strings.Count(logs.String(), "set the clock of this host"); n != 1 {
				t.Errorf("%d warnings, want 1: %s", n, logs.String())
			}
		})
	}
}

func TestARefusedJWTSaysWhatToDo(t *testing.T) {
	const iat = `{"message":"'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued"}`
	tests := map[string]struct {
		ahead time.Duration
		body  string
		want  string
	}{
		"clock ahead":  {90 * time.Second, iat, "the clock of this host is 1m30s ahead of GitHub's"},
		"clock behind": {-20 * time.Minute, iat, "the clock of this host is 20m0s behind GitHub's"},
		"wrong key":    {0, `{"message":"A JSON web token could not be decoded"}`, "check that the private key belongs to the App id"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStub(t, nil)
			s.serve = func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Date", s.clock.Now().Add(-tt.ahead).Format(http.TimeFormat))
				reply{401, nil, tt.body}.write(w)
			}
			_, _, err := s.clients(t).App().Apps.Get(t.Context(), "")
			var auth *ghclient.AuthError
			if !errors.As(err, &auth) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			if ghclient.ClassOf(err) != ghclient.ClassUnauthorized || ghclient.StatusOf(err) != 401 {
				t.Errorf("class %q, status %d", ghclient.ClassOf(err), ghclient.StatusOf(err))
			}
		})
	}
}

// A Date that a proxy made up must not break a clock that is right.
func TestADateHeaderAloneChangesNoJWT(t *testing.T) {
	s := newStub(t, nil)
	s.serve = func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", s.clock.Now().Add(-24*time.Hour).Format(http.TimeFormat))
		if _, problem := verifyJWT(r.Header.Get("Authorization"), s.clock.Now()); problem != "" {
			t.Error(problem)
		}
		_, _ = w.Write([]byte(`{"id":4711}`))
	}
	c := s.clients(t)
	for range 2 {
		if _, _, err := c.App().Apps.Get(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
	}
}

func TestATokenNamesRepositoriesAndPermissions(t *testing.T) {
	s := newStub(t, func(http.ResponseWriter, *http.Request) {})
	var bodies []string
	var mu sync.Mutex
	s.mint = func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		bodies = append(bodies, r.URL.Path+" "+strings.TrimSpace(string(body)))
		mu.Unlock()
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write([]byte(`{"token":"ghs_x","expires_at":"` + s.clock.Now().Add(time.Hour).Format(time.RFC3339) + `"}`))
	}
	c := s.clients(t)
	for _, sc := range []ghclient.Scope{
		{RepositoryIDs: []int64{7, 5, 7}, Permissions: map[string]string{"merge_queues": "read", "checks": "write"}},
		{RepositoryIDs: []int64{5, 7}, Permissions: map[string]string{"checks": "write", "merge_queues": "read"}}, // the same
		{},
	} {
		if _, err := c.Installation(t.Context(), installation, sc); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{
		`/app/installations/9/access_tokens {"repository_ids":[5,7],"permissions":{"checks":"write","merge_queues":"read"}}`,
		`/app/installations/9/access_tokens {}`,
	}
	if !slices.Equal(bodies, want) {
		t.Errorf("got %q, want %q", bodies, want)
	}
	bad := []ghclient.Scope{{Permissions: map[string]string{"checks": "all"}}, {RepositoryIDs: make([]int64, 501)}}
	for _, sc := range bad {
		if _, err := c.Installation(t.Context(), installation, sc); err == nil {
			t.Errorf("scope %v was taken", sc)
		}
	}
	if _, err := c.Installation(t.Context(), 0, scope); err == nil {
		t.Error("installation 0 was taken")
	}
}

func TestATokenIsRefreshedWhenLessThanFiveMinutesAreLeft(t *testing.T) {
	s := newStub(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"id":1}`)) })
	c := s.clients(t)
	client, err := c.Installation(t.Context(), installation, scope)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		advance time.Duration
		minted  int
	}{{0, 1}, {55 * time.Minute, 1}, {time.Second, 2}, {54 * time.Minute, 2}, {2 * time.Minute, 3}} {
		s.clock.Advance(step.advance)
		// A client survives the hour, too.
		if _, _, err := client.Repositories.Get(t.Context(), "acme", "pay"); err != nil {
			t.Fatal(err)
		}
		if n := s.Minted(); n != step.minted {
			t.Errorf("after %s more: %d tokens, want %d", step.advance, n, step.minted)
		}
		seen := s.Seen()
		if got, want := seen[len(seen)-1].Header.Get("Authorization"), "Bearer "+tokenNumber(step.minted); got != want {
			t.Errorf("used %q, want %q", got, want)
		}
	}
}

func TestTheLifeOfATokenIsMeasuredByGitHubsClock(t *testing.T) {
	s := newStub(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"id":1}`)) })
	s.mint = func(w http.ResponseWriter, _ *http.Request) {
		github := s.clock.Now().Add(-2 * time.Hour) // this host is ahead: by its clock the token is long dead
		w.Header().Set("Date", github.Format(http.TimeFormat))
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write([]byte(`{"token":"ghs_x","expires_at":"` + github.Add(time.Hour).Format(time.RFC3339) + `"}`))
	}
	c := s.clients(t)
	for range 5 {
		if err := getRepo(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	if n := s.Minted(); n != 1 {
		t.Errorf("%d tokens, want 1", n)
	}
}

func TestAnExpiredTokenIsReplacedOnceAlsoForWrites(t *testing.T) {
	var bodies []string
	s := newStub(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies = append(bodies, string(body))
		if r.Header.Get("Authorization") == "Bearer "+tokenNumber(1) {
			reply{401, nil, `{"message":"Bad credentials"}`}.write(w)
			return
		}
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write([]byte(`{"id":1}`))
	})
	c := s.clients(t)
	client, err := c.Installation(t.Context(), installation, scope)
	if err != nil {
		t.Fatal(err)
	}
	if err := comment(t.Context(), client); err != nil {
		t.Fatal(err)
	}
	if n := s.Minted(); n != 2 {
		t.Errorf("%d tokens, want 2", n)
	}
	if len(bodies) != 2 || bodies[0] != bodies[1] || bodies[0] == "" {
		t.Errorf("bodies %q, want the same one twice", bodies)
	}
}

func TestBadCredentialsAreAnErrorAfterOneFreshToken(t *testing.T) {
	s := newStub(t, func(w http.ResponseWriter, _ *http.Request) {
		reply{401, nil, `{"message":"Bad credentials"}`}.write(w)
	})
	err := getRepo(t.Context(), s.clients(t))
	var auth *ghclient.AuthError
	if !errors.As(err, &auth) || auth.Installation != installation {
		t.Errorf("got %v", err)
	}
	if sent, minted := len(s.Seen()), s.Minted(); sent != 2 || minted != 2 {
		t.Errorf("%d requests with %d tokens, want 2 with 2", sent, minted)
	}
}

func TestATokenThatCannotBeMadeSaysWhy(t *testing.T) {
	tests := map[string]struct {
		reply reply
		class ghclient.Class
		want  string
		lost  bool
	}{
		"uninstalled":           {reply{404, nil, `{"message":"Not Found"}`}, ghclient.ClassInstallationGone, "does not exist", true},
		"suspended":             {reply{403, nil, `{"message":"This installation has been suspended"}`}, ghclient.ClassSuspended, "unsuspend", true},
		"permission":            {reply{422, nil, `{"message":"The permissions requested are not granted to this installation."}`}, ghclient.ClassForbidden, "approve", false},
		"repository":            {reply{422, nil, `{"message":"There is at least one repository that does not exist or is not accessible to the parent installation."}`}, ghclient.ClassForbidden, "access to the repository", false},
		"GitHub is down":        {reply{503, nil, ``}, ghclient.ClassUnavailable, "503", false},
		"limit":                 {reply{429, nil, ``}, ghclient.ClassRateLimited, "rate limit", false},
		"wrong key":             {reply{401, nil, `{"message":"A JSON web token could not be decoded"}`}, ghclient.ClassUnauthorized, "private key", false},
		"an answer of nothing":  {reply{201, nil, ``}, ghclient.ClassUnavailable, "", false},
		"an answer w/out token": {reply{201, nil, `{"token":""}`}, ghclient.ClassOther, "no token", false},
		"a token of two lines":  {reply{201, nil, `{"token":"ghs_x\r\nHost: evil"}`}, ghclient.ClassOther, "no token", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStub(t, func(http.ResponseWriter, *http.Request) { t.Error("a request was sent without a token") })
			s.mint = func(w http.ResponseWriter, _ *http.Request) { tt.reply.write(w) }
			_, err := s.clients(t).Installation(t.Context(), installation, scope)
			if got := ghclient.ClassOf(err); got != tt.class {
				t.Errorf("class %q, want %q: %v", got, tt.class, err)
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			if ghclient.IsNotFound(err) {
				t.Error("a missing installation counts as a missing object")
			}
			if got := ghclient.IsInstallationLost(err); got != tt.lost {
				t.Errorf("lost %t, want %t", got, tt.lost)
			}
		})
	}
}

func TestFailedTokenRequestsLeakNoConnection(t *testing.T) {
	var opened atomic.Int64
	s := &stub{clock: newClock(), serve: func(http.ResponseWriter, *http.Request) {}}
	s.mint = func(w http.ResponseWriter, _ *http.Request) {
		reply{404, nil, `{"message":"` + strings.Repeat("Not Found ", 10_000) + `"}`}.write(w)
	}
	s.Server = newUnstarted(s, func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	})
	t.Cleanup(s.Close)
	c := s.clients(t)
	for range 50 {
		if _, err := c.Installation(t.Context(), installation, scope); err == nil {
			t.Fatal("a token was made")
		}
	}
	if n := opened.Load(); n != 1 {
		t.Errorf("50 failures opened %d connections, want 1", n)
	}
}

func TestACallerThatGivesUpDoesNotFailTheOthers(t *testing.T) {
	arrived, release := make(chan struct{}), make(chan struct{})
	s := newStub(t, func(http.ResponseWriter, *http.Request) {})
	s.mint = func(w http.ResponseWriter, _ *http.Request) {
		close(arrived)
		<-release
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write([]byte(`{"token":"ghs_x","expires_at":"` + s.clock.Now().Add(time.Hour).Format(time.RFC3339) + `"}`))
	}
	c := s.clients(t)
	first, cancel := context.WithCancel(t.Context())
	firstErr := make(chan error, 1)
	go func() { _, err := c.Installation(first, installation, scope); firstErr <- err }()
	<-arrived
	secondErr := make(chan error, 1)
	go func() { _, err := c.Installation(t.Context(), installation, scope); secondErr <- err }()
	cancel()
	if err := <-firstErr; !errors.Is(err, context.Canceled) {
		t.Errorf("first: %v", err)
	}
	close(release)
	if err := <-secondErr; err != nil {
		t.Errorf("second: %v", err)
	}
	if n := s.Minted(); n != 1 {
		t.Errorf("%d tokens, want 1", n)
	}
}

func TestForgetDropsTokensAndKeepsPauses(t *testing.T) {
	var limited atomic.Bool
	s := newStub(t, func(w http.ResponseWriter, _ *http.Request) {
		if limited.Load() {
			reply{403, nil, `{"message":"You have exceeded a secondary rate limit."}`}.write(w)
			return
		}
		_, _ = w.Write([]byte(`{"id":1}`))
	})
	c := s.clients(t)
	for range 2 {
		if err := getRepo(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		c.Forget(installation)
	}
	if n := s.Minted(); n != 2 {
		t.Errorf("%d tokens, want a new one after Forget", n)
	}
	limited.Store(true)
	_ = getRepo(t.Context(), c)
	c.Forget(installation)
	if err := getRepo(t.Context(), c); ghclient.ClassOf(err) != ghclient.ClassRateLimited {
		t.Errorf("got %v, want the pause to outlive Forget", err)
	}
}

func TestCloseEndsATokenRequestThatIsUnderWay(t *testing.T) {
	arrived := make(chan struct{})
	s := newStub(t, func(http.ResponseWriter, *http.Request) {})
	s.mint = func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then does the server notice that the client left
		close(arrived)
		<-r.Context().Done()
	}
	c := s.clients(t)
	errs := make(chan error, 1)
	go func() { _, err := c.Installation(t.Context(), installation, scope); errs <- err }()
	<-arrived
	c.Close()
	if err := <-errs; err == nil {
		t.Error("a token was made")
	}
	if _, err := c.Installation(t.Context(), installation, scope); err == nil {
		t.Error("a token was made after Close")
	}
}

func TestErrorsCarryNoRequestWithAToken(t *testing.T) {
	s := newStub(t, func(w http.ResponseWriter, _ *http.Request) { reply{404, nil, `{"message":"Not Found"}`}.write(w) })
	err := getRepo(t.Context(), s.clients(t))
	var e *github.ErrorResponse
	if !errors.As(err, &e) {
		t.Fatal(err)
	}
	if got := e.Response.Request.Header.Get("Authorization"); got != "" {
		t.Errorf("the error holds %q", got)
	}
}

func TestAJWTThatIsRefusedThoughTheClocksAgreeIsNotSentAgain(t *testing.T) {
	s := newStub(t, func(w http.ResponseWriter, _ *http.Request) {
		reply{401, nil, `{"message":"'Expiration time' claim ('exp') is too far in the future"}`}.write(w)
	})
	_, _, err := s.clients(t).App().Apps.Get(t.Context(), "")
	if ghclient.ClassOf(err) != ghclient.ClassUnauthorized || len(s.Seen()) != 1 {
		t.Errorf("%d requests: %v", len(s.Seen()), err)
	}
}

// The permissions may have changed while the token was made.
func TestATokenThatWasForgottenWhileItWasMadeIsNotKept(t *testing.T) {
	arrived, release := make(chan struct{}, 2), make(chan struct{})
	s := newStub(t, func(http.ResponseWriter, *http.Request) {})
	s.mint = func(w http.ResponseWriter, _ *http.Request) {
		arrived <- struct{}{}
		<-release
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write([]byte(`{"token":"ghs_x","expires_at":"` + s.clock.Now().Add(time.Hour).Format(time.RFC3339) + `"}`))
	}
	c := s.clients(t)
	errs := make(chan error, 1)
	go func() { _, err := c.Installation(t.Context(), installation, scope); errs <- err }()
	<-arrived
	c.Forget(installation)
	close(release)
	if err := <-errs; err != nil {
		t.Fatal(err)
	}
	if _, err := c.Installation(t.Context(), installation, scope); err != nil {
		t.Fatal(err)
	}
	if n := s.Minted(); n != 2 {
		t.Errorf("%d tokens, want a new one", n)
	}
}
