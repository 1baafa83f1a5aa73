package ghclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// refreshBefore is what a token must have left to be used: longer than any group of calls.
	refreshBefore = 5 * time.Minute
	// mintTimeout bounds the making of a token, which all callers that wait for it share.
	mintTimeout = 45 * time.Second
	// maxTokens bounds the tokens that are kept: one for each scope in use.
	maxTokens = 4096
	// maxScopeRepositories is GitHub's bound (Create an installation access token for an app).
	maxScopeRepositories = 500
)

// errClosed is what callers get after [Clients.Close].
var errClosed = errors.New("the GitHub clients are closed")

// tokens keeps installation tokens by installation and scope. It is safe for concurrent use.
type tokens struct {
	c  *Clients
	wg sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	kept    map[tokenKey]token
	calls   map[tokenKey]*call // which new callers join
	running map[*call]bool     // all that have not ended, also forgotten ones
}

type tokenKey struct {
	installation int64
	scope        string
}

type token struct {
	value   string
	expires time.Time // by this host's clock
}

// call is a token request that is under way. Its fields are set before done is closed.
type call struct {
	done   chan struct{}
	cancel context.CancelFunc
	value  string
	err    error
}

func newTokens(c *Clients) *tokens {
	return &tokens{c: c, kept: map[tokenKey]token{}, calls: map[tokenKey]*call{}, running: map[*call]bool{}}
}

// scoped is the credential of one installation and scope.
type scoped struct {
	tokens *tokens
	scope  Scope
	key    tokenKey
}

func (t *tokens) credential(installation int64, s Scope) (*scoped, error) {
	if len(s.RepositoryIDs) > maxScopeRepositories {
		return nil, fmt.Errorf("a token can name %d repositories, not %d: split the work", maxScopeRepositories, len(s.RepositoryIDs))
	}
	for name, level := range s.Permissions {
		if level != "read" && level != "write" && level != "admin" {
			return nil, fmt.Errorf("permission %q cannot be %q: read and write are", name, level)
		}
	}
	ids := slices.Clone(s.RepositoryIDs)
	slices.Sort(ids)
	own := Scope{RepositoryIDs: slices.Compact(ids), Permissions: maps.Clone(s.Permissions)}
	text, err := json.Marshal(own) // map keys are sorted
	if err != nil {
		return nil, fmt.Errorf("writing the scope of a token: %w", err)
	}
	return &scoped{tokens: t, scope: own, key: tokenKey{installation: installation, scope: string(text)}}, nil
}

func (s *scoped) header(ctx context.Context) (string, error) {
	value, err := s.tokens.get(ctx, s)
	if err != nil {
		return "", err
	}
	return "Bearer " + value, nil
}

// rejected drops the token that GitHub did not accept: it expired early, or somebody revoked it.
func (s *scoped) rejected(header, _ string, _ time.Time) bool {
	s.tokens.mu.Lock()
	defer s.tokens.mu.Unlock()
	if kept, ok := s.tokens.kept[s.key]; ok && "Bearer "+kept.value == header {
		delete(s.tokens.kept, s.key)
	}
	return true
}

// get returns a token with at least refreshBefore left, and mints one otherwise. Callers that come together share one
// request, which does not end with the context of the first of them.
func (t *tokens) get(ctx context.Context, s *scoped) (string, error) {
	t.mu.Lock()
	if k, ok := t.kept[s.key]; ok && k.expires.Sub(t.c.opt.Now()) >= refreshBefore {
		t.mu.Unlock()
		return k.value, nil
	}
	if t.closed {
		t.mu.Unlock()
		return "", errClosed
	}
	shared, ok := t.calls[s.key]
	if !ok {
		// The logger and its fields come along; the caller's deadline does not.
		mintCtx, cancel := context.WithTimeout(WithPurpose(context.WithoutCancel(ctx), Publishing), mintTimeout)
		shared = &call{done: make(chan struct{}), cancel: cancel}
		t.calls[s.key], t.running[shared] = shared, true
		t.wg.Add(1)
		go t.run(mintCtx, s, shared)
	}
	t.mu.Unlock()
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case <-shared.done:
		return shared.value, shared.err
	}
}

// run mints the token that a call is about and ends the call.
func (t *tokens) run(ctx context.Context, s *scoped, shared *call) {
	defer t.wg.Done()
	defer close(shared.done)
	defer shared.cancel()
	minted, err := t.mint(ctx, s)
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.running, shared)
	wanted := t.calls[s.key] == shared // not forgotten in the meantime
	if wanted {
		delete(t.calls, s.key)
	}
	if err != nil {
		t.c.metrics.minted.WithLabelValues("error").Inc()
		shared.err = err
		return
	}
	t.c.metrics.minted.WithLabelValues("ok").Inc()
	shared.value = minted.value
	if wanted {
		t.keep(s.key, minted)
	}
}

// keep stores a token and drops dead ones, or any, when there are too many. The lock is held.
func (t *tokens) keep(key tokenKey, minted token) {
	if len(t.kept) >= maxTokens {
		now := t.c.opt.Now()
		maps.DeleteFunc(t.kept, func(_ tokenKey, k token) bool { return k.expires.Sub(now) < refreshBefore })
	}
	for k := range t.kept {
		if len(t.kept) < maxTokens {
			break
		}
		delete(t.kept, k)
	}
	t.kept[key] = minted
}

func (t *tokens) forget(installation int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	maps.DeleteFunc(t.kept, func(k tokenKey, _ token) bool { return k.installation == installation })
	maps.DeleteFunc(t.calls, func(k tokenKey, _ *call) bool { return k.installation == installation })
}

// close ends the requests that are under way and returns when they are gone.
func (t *tokens) close() {
	t.mu.Lock()
	t.closed = true
	for shared := range t.running {
		shared.cancel()
	}
	t.mu.Unlock()
	t.wg.Wait()
}

// mint asks for a token. go-github's own type of the request lacks newer permissions (merge_queues), hence the map.
func (t *tokens) mint(ctx context.Context, s *scoped) (token, error) {
	installation := s.key.installation
	fail := func(err error) (token, error) {
		return token{}, &TokenError{Installation: installation, Scope: s.scope, Err: err}
	}
	body := struct {
		RepositoryIDs []int64           `json:"repository_ids,omitempty"`
		Permissions   map[string]string `json:"permissions,omitempty"`
	}{s.scope.RepositoryIDs, s.scope.Permissions}
	req, err := t.c.app.NewRequest(http.MethodPost, fmt.Sprintf("app/installations/%d/access_tokens", installation), body)
	if err != nil {
		return fail(err)
	}
	var made struct {
		Token     string    `json:"token"`
		ExpiresAt time.Time `json:"expires_at"`
	}
	resp, err := t.c.app.Do(ctx, req, &made)
	if err != nil {
		return fail(err)
	}
	if made.Token == "" || strings.ContainsAny(made.Token, " \r\n") {
		return fail(errors.New("GitHub's answer holds no token"))
	}
	// What the token has to live is a difference of two of GitHub's times, whatever the clock of this host says.
	now := t.c.opt.Now()
	expires := made.ExpiresAt
	if at := serverTime(resp.Header); !at.IsZero() {
		expires = now.Add(made.ExpiresAt.Sub(at))
	}
	return token{value: made.Token, expires: expires}, nil
}
