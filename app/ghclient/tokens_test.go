package ghclient_test

import (
	"net/http"
	"sync"
	"testing"
)

func TestParallelCallsMintOneToken(t *testing.T) {
	release := make(chan struct{})
	s := newStub(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"id":1}`)) })
	s.mint = func(w http.ResponseWriter, _ *http.Request) {
		<-release
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write([]byte(`{"token":"ghs_one","expires_at":"2026-03-01T13:00:00Z"}`))
	}
	c := s.clients(t)
	var started, done sync.WaitGroup
	for range 32 {
		started.Add(1)
		done.Go(func() {
			started.Done()
			client, err := c.Installation(t.Context(), installation, scope)
			if err != nil {
				t.Error(err)
				return
			}
			if _, _, err := client.Repositories.GetByID(t.Context(), 1); err != nil {
				t.Error(err)
			}
		})
	}
	started.Wait()
	close(release)
	done.Wait()
	if n := s.Minted(); n != 1 {
		t.Errorf("%d tokens were minted for 32 parallel calls, want 1", n)
	}
	for _, r := range s.Seen() {
		if got := r.Header.Get("Authorization"); got != "Bearer ghs_one" {
			t.Errorf("Authorization %q", got)
		}
	}
}
