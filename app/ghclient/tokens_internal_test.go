package ghclient

import (
	"strconv"
	"testing"
	"time"
)

func TestTheTokensThatAreKeptAreBounded(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	tokens := newTokens(&Clients{opt: Options{Now: func() time.Time { return now }}})
	keep := func(n int, life time.Duration) {
		for i := range n {
			tokens.keep(tokenKey{installation: int64(i), scope: life.String() + strconv.Itoa(i)}, token{value: "x", expires: now.Add(life)})
		}
	}
	keep(maxTokens-1, time.Minute) // too short to be used
	keep(2, time.Hour)
	if n := len(tokens.kept); n != 2 {
		t.Errorf("%d tokens, want the two that can be used", n)
	}
	keep(maxTokens+100, time.Hour)
	if n := len(tokens.kept); n > maxTokens {
		t.Errorf("%d tokens, want at most %d", n, maxTokens)
	}
}
