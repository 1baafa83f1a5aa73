package ghclient_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-github/v62/github"

	"github.com/prosecutor-bot/prosecutor/app/ghclient"
)

// hangUp ends the connection after a part of the answer.
func hangUp(t *testing.T, w http.ResponseWriter, part string) {
	t.Helper()
	conn, buf, err := http.NewResponseController(w).Hijack()
	if err != nil {
		t.Error(err)
		return
	}
	_, _ = buf.WriteString(part)
	_ = buf.Flush()
	_ = conn.Close()
}

// oneRequestAConnection keeps net/http from sending a read again by itself, which it does when a kept connection breaks.
func oneRequestAConnection(o *ghclient.Options) {
	o.Transport = &http.Transport{DisableKeepAlives: true}
}

// passingFaults are those that the next attempt may not meet.
func passingFaults(t *testing.T) map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		"500":          func(w http.ResponseWriter, _ *http.Request) { reply{500, nil, `{}`}.write(w) },
		"502":          func(w http.ResponseWriter, _ *http.Request) { reply{502, nil, `<html>`}.write(w) },
		"503":          func(w http.ResponseWriter, _ *http.Request) { reply{503, nil, ``}.write(w) },
		"504":          func(w http.ResponseWriter, _ *http.Request) { reply{504, nil, ``}.write(w) },
		"no answer":    func(w http.ResponseWriter, _ *http.Request) { hangUp(t, w, "") },
		"empty answer": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) },
		"truncated body": func(w http.ResponseWriter, _ *http.Request) {
			hangUp(t, w, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"id\":1,")
		},
		"truncated chunks": func(w http.ResponseWriter, _ *http.Request) {
			hangUp(t, w, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n{\"id\":1,\r\n")
		},
	}
}

func TestAReadIsSentAgainAfterAPassingFault(t *testing.T) {
	for name, fault := range passingFaults(t) {
		t.Run(name, func(t *testing.T) {
			var calls atomic.Int64
			s := newStub(t, func(w http.ResponseWriter, r *http.Request) {
				if calls.Add(1) < 3 {
					fault(w, r)
					return
				}
				_, _ = w.Write([]byte(`{"id":1}`))
			})
			if err := getRepo(t.Context(), s.clients(t, oneRequestAConnection)); err != nil {
				t.Fatal(err)
			}
			slept := s.clock.Slept()
			if len(slept) != 2 || slept[0] <= 0 || slept[1] <= slept[0] {
				t.Errorf("waits %v, want two growing ones", slept)
			}
		})
	}
}

func TestAFaultThatStaysIsAnErrorAfterThreeAttempts(t *testing.T) {
	for name, fault := range passingFaults(t) {
		t.Run(name, func(t *testing.T) {
			s := newStub(t, fault)
			err := getRepo(t.Context(), s.clients(t, oneRequestAConnection))
			if !ghclient.IsTransient(err) {
				t.Errorf("class %q: %v", ghclient.ClassOf(err), err)
			}
			if n := len(s.Seen()); n != 3 {
				t.Errorf("%d requests, want 3", n)
			}
		})
	}
}

// Whether a write happened is not known: the caller has to look for its result.
func TestAWriteIsNeverSentAgainAfterAFault(t *testing.T) {
	for name, fault := range passingFaults(t) {
		t.Run(name, func(t *testing.T) {
			s := newStub(t, fault)
			client, err := s.clients(t).Installation(t.Context(), installation, scope)
			if err != nil {
				t.Fatal(err)
			}
			if err := comment(t.Context(), client); !ghclient.IsTransient(err) {
				t.Errorf("class %q: %v", ghclient.ClassOf(err), err)
			}
			if n := len(s.Seen()); n != 1 {
				t.Errorf("%d requests, want 1", n)
			}
		})
	}
}

func TestAnHonestlyEmptyAnswerIsNoFault(t *testing.T) {
	s := newStub(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete {
			w.WriteHeader(http.StatusNoContent)
		}
	})
	client, err := s.clients(t).Installation(t.Context(), installation, scope)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Issues.DeleteComment(t.Context(), "acme", "pay", 1); err != nil {
		t.Errorf("204: %v", err)
	}
	diff, _, err := client.PullRequests.GetRaw(t.Context(), "acme", "pay", 1, github.RawOptions{Type: github.Diff})
	if err != nil || diff != "" {
		t.Errorf("an empty diff: %q, %v", diff, err)
	}
}

func TestAnAnswerThatIsTooLargeIsAnErrorAndNotAskedAgain(t *testing.T) {
	s := newStub(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"name":"` + strings.Repeat("x", 2000) + `"}`))
	})
	c := s.clients(t, func(o *ghclient.Options) { o.MaxBody = 1000 })
	err := getRepo(t.Context(), c)
	var large *ghclient.TooLargeError
	if !errors.As(err, &large) || large.Limit != 1000 || ghclient.ClassOf(err) != ghclient.ClassTooLarge || len(s.Seen()) != 1 {
		t.Errorf("got %v after %d requests", err, len(s.Seen()))
	}
	if err := getRepo(ghclient.WithMaxBody(t.Context(), 5000), c); err != nil {
		t.Errorf("with a larger bound: %v", err)
	}
}

func TestAnAnswerThatDoesNotComeIsAnError(t *testing.T) {
	release := make(chan struct{})
	s := newStub(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	defer close(release)
	c := s.clients(t, func(o *ghclient.Options) { o.Timeout = 20 * time.Millisecond })
	// The token comes at once, the repository never.
	err := getRepo(t.Context(), c)
	if !ghclient.IsTransient(err) || !strings.Contains(err.Error(), "no answer within 20ms") {
		t.Errorf("class %q: %v", ghclient.ClassOf(err), err)
	}
}

func TestACallerThatGivesUpIsNoFault(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := newStub(t, func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})
	c := s.clients(t)
	err := getRepo(ctx, c)
	if ghclient.ClassOf(err) != ghclient.ClassCanceled || len(s.Seen()) != 1 {
		t.Errorf("class %q after %d requests: %v", ghclient.ClassOf(err), len(s.Seen()), err)
	}
}

func TestBodiesOfErrorsCanStillBeRead(t *testing.T) {
	s := newStub(t, func(w http.ResponseWriter, _ *http.Request) {
		reply{422, nil, `{"message":"Validation Failed","errors":[{"resource":"PullRequestReviewComment","code":"custom","field":"line","message":"must be part of the diff"}]}`}.write(w)
	})
	err := getRepo(t.Context(), s.clients(t))
	var e *github.ErrorResponse
	if !errors.As(err, &e) || len(e.Errors) != 1 || e.Errors[0].Field != "line" {
		t.Fatalf("got %v", err)
	}
	if data, _ := io.ReadAll(e.Response.Body); !strings.Contains(string(data), "must be part of the diff") {
		t.Errorf("body %q", data)
	}
	if !ghclient.IsUnprocessable(err) {
		t.Error("no 422")
	}
}

func TestAnAcceptedRequestIsNoFailure(t *testing.T) {
	s := newStub(t, func(w http.ResponseWriter, _ *http.Request) { reply{202, nil, `{}`}.write(w) })
	_, _, err := s.clients(t).App().Apps.RedeliverHookDelivery(t.Context(), 1)
	if got := ghclient.ClassOf(err); got != ghclient.ClassAccepted && got != ghclient.ClassNone {
		t.Errorf("class %q: %v", got, err)
	}
}
