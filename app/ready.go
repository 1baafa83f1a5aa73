package app

import (
	"encoding/json"
	"net/http"
	"time"
)

// readiness is the answer of /readyz.
type readiness struct {
	Ready    bool              `json:"ready"`
	Problems []string          `json:"problems"`
	Breakers map[string]string `json:"breakers,omitempty"` // provider -> until when it is passed over
	Queue    map[string]int    `json:"queue,omitempty"`
}

// ready answers /readyz: 200 when events can be taken in, else 503 with what is wrong. An exhausted provider is shown and
// does not make the App unready: others may serve, and cases wait.
func (a *App) ready(w http.ResponseWriter, r *http.Request) {
	out := readiness{Ready: true, Problems: []string{}, Breakers: map[string]string{}, Queue: map[string]int{}}
	if err := a.store.Ping(r.Context()); err != nil {
		out.Ready = false
		out.Problems = append(out.Problems, "the database does not answer")
		a.warn(r.Context(), err, "asking the database")
	}
	if out.Ready {
		if stats, err := a.queue.Stats(r.Context()); err != nil {
			out.Ready = false
			out.Problems = append(out.Problems, "the queue cannot be read")
			a.warn(r.Context(), err, "reading the queue")
		} else {
			out.Queue["running"], out.Queue["waiting"], out.Queue["sleeping"] = stats.Running(), stats.Waiting(), stats.Sleeping()
		}
	}
	for _, b := range a.pool.Breakers() {
		out.Breakers[b.Provider] = b.Until.UTC().Format(time.RFC3339)
	}
	w.Header().Set("Content-Type", "application/json")
	if !out.Ready {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	if err := json.NewEncoder(w).Encode(out); err != nil {
		a.warn(r.Context(), err, "answering /readyz")
	}
}
