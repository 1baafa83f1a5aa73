package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/prosecutor-bot/prosecutor/app/queue"
	"github.com/prosecutor-bot/prosecutor/app/store"
	"github.com/prosecutor-bot/prosecutor/app/store/storetest"
	"github.com/prosecutor-bot/prosecutor/test/contract"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// What the payloads in testdata are about.
const (
	ourApp      = 42
	ourLogin    = "prosecutor[bot]"
	repoID      = 186853002
	pullNumber  = 2
	head        = "ec26c3e57ca3a959ca5aad62de7213c562f8c821"
	newerHead   = "1111111111111111111111111111111111111111"
	groupHead   = "2ffea6db159f6b6c47a24e778fb9ef40cf6b1c7d"
	groupRepoID = repoID
)

var (
	oldSecret = []byte(strings.Repeat("o", MinSecret))
	newSecret = []byte(strings.Repeat("n", MinSecret))
	updated   = time.Date(2019, 5, 15, 15, 20, 33, 0, time.UTC) // of the pull request
)

// each runs a test against every kind of database.
func each(t *testing.T, test func(t *testing.T, d storetest.Database)) {
	t.Helper()
	storetest.Each(t, test, func(ctx context.Context, s *store.Store) error {
		_, err := queue.New(ctx, s, queue.Options{})
		return err
	})
}

// env is a receiver over a database. Its queue is not started, so that jobs stay where they were put.
type env struct {
	t  *testing.T
	st *store.Store
	q  *queue.River
	h  http.Handler
	n  int
}

func newEnv(t *testing.T, d storetest.Database) *env {
	t.Helper()
	st := d.Open(t)
	q, err := queue.New(t.Context(), st, queue.Options{})
	if err != nil {
		t.Fatal(err)
	}
	h, err := New(Options{Secrets: [][]byte{oldSecret, newSecret}, Store: st, Queue: q, AppID: ourApp, Login: ourLogin})
	if err != nil {
		t.Fatal(err)
	}
	return &env{t: t, st: st, q: q, h: h}
}

// gone is the value of a key that is not there.
type gone struct{}

// set is a change of a payload: a path of keys, where a list stands for its first element, and the value to put there.
type set struct {
	path  string
	value any
}

// payload reads the payload of an event from testdata and changes it.
func payload(t *testing.T, event string, changes ...set) []byte {
	t.Helper()
	raw, err := os.ReadFile("testdata/" + event + ".json")
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber() // identifiers are longer than floats are exact
	var root map[string]any
	if err := d.Decode(&root); err != nil {
		t.Fatal(err)
	}
	for _, c := range changes {
		keys := strings.Split(c.path, ".")
		at := root
		for _, k := range keys[:len(keys)-1] {
			next, ok := at[k].(map[string]any)
			if list, isList := at[k].([]any); isList && len(list) > 0 {
				next, ok = list[0].(map[string]any)
			}
			if !ok {
				t.Fatalf("%s has no %s", event, c.path)
			}
			at = next
		}
		last := keys[len(keys)-1]
		if _, ok := c.value.(gone); ok {
			delete(at, last)
		} else {
			at[last] = c.value
		}
	}
	out, err := json.Marshal(root)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func sign(secret, body []byte) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write(body)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

func post(event, guid string, body []byte) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/api/github/hook", bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-GitHub-Event", event)
	r.Header.Set("X-GitHub-Delivery", guid)
	r.Header.Set("X-Hub-Signature-256", sign(newSecret, body))
	return r
}

func (e *env) do(r *http.Request) (int, answer) {
	e.t.Helper()
	w := httptest.NewRecorder()
	e.h.ServeHTTP(w, r)
	var a answer
	if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil {
		e.t.Fatalf("answer %q: %v", w.Body.String(), err)
	}
	return w.Code, a
}

// send sends a payload that GitHub could send, under a GUID of its own.
func (e *env) send(event string, body []byte) (guid string, a answer) {
	e.t.Helper()
	var common envelope
	if err := json.Unmarshal(body, &common); err != nil {
		e.t.Fatal(err)
	}
	if err := contract.ValidateWebhook(event, common.Action, body); err != nil {
		e.t.Fatal(err)
	}
	e.n++
	guid = fmt.Sprintf("guid-%d", e.n)
	return guid, e.deliver(event, guid, body)
}

func (e *env) deliver(event, guid string, body []byte) answer {
	e.t.Helper()
	code, a := e.do(post(event, guid, body))
	if code != http.StatusAccepted || a.Delivery != guid {
		e.t.Fatalf("%d %+v", code, a)
	}
	return a
}

// want sends a payload and wants a status; the reason has to contain a text.
func (e *env) want(event string, body []byte, status, reason string) (guid string) {
	e.t.Helper()
	guid, a := e.send(event, body)
	if a.Status != status || !strings.Contains(a.Reason, reason) {
		e.t.Fatalf("%s: %+v, want %s because %q", event, a, status, reason)
	}
	return guid
}

// opened sends pull_request opened.
func (e *env) opened(changes ...set) store.Run {
	e.t.Helper()
	e.want("pull_request", payload(e.t, "pull_request", changes...), enqueued, "")
	return e.live()
}

// live is the one live run.
func (e *env) live() store.Run {
	e.t.Helper()
	runs, err := e.st.LiveRuns(e.t.Context())
	if err != nil || len(runs) != 1 {
		e.t.Fatalf("live runs: %+v, %v", runs, err)
	}
	return runs[0]
}

func (e *env) noLive() {
	e.t.Helper()
	if runs, err := e.st.LiveRuns(e.t.Context()); err != nil || len(runs) != 0 {
		e.t.Fatalf("live runs: %+v, %v", runs, err)
	}
}

func (e *env) delivery(guid string) store.Delivery {
	e.t.Helper()
	d, err := e.st.DeliveryByGUID(e.t.Context(), guid)
	if err != nil {
		e.t.Fatal(err)
	}
	return d
}

func (e *env) unrecorded(guid string) {
	e.t.Helper()
	if d, err := e.st.DeliveryByGUID(e.t.Context(), guid); !errors.Is(err, store.ErrNotFound) {
		e.t.Errorf("it was recorded: %+v, %v", d, err)
	}
}

// jobs lists the jobs as "kind state".
func (e *env) jobs() []string {
	e.t.Helper()
	rows, err := e.st.Reader().QueryContext(e.t.Context(), `SELECT kind, state FROM river_job ORDER BY id`)
	if err != nil {
		e.t.Fatal(err)
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var kind, state string
		if err := rows.Scan(&kind, &state); err != nil {
			e.t.Fatal(err)
		}
		out = append(out, kind+" "+state)
	}
	if err := rows.Err(); err != nil {
		e.t.Fatal(err)
	}
	return out
}

func (e *env) wantJobs(want ...string) {
	e.t.Helper()
	if got := e.jobs(); strings.Join(got, ", ") != strings.Join(want, ", ") {
		e.t.Errorf("jobs %v, want %v", got, want)
	}
}

func (e *env) in(fn func(ctx context.Context, tx *store.Tx) error) {
	e.t.Helper()
	storetest.In(e.t, e.st, fn)
}

// begin begins a run as its worker does.
func (e *env) begin(r store.Run) (begun store.Run) {
	e.t.Helper()
	e.in(func(ctx context.Context, tx *store.Tx) (err error) {
		begun, err = tx.BeginRun(ctx, r.ID)
		return err
	})
	return begun
}

// judge begins, finishes and publishes a run as its workers do.
func (e *env) judge(r store.Run, conclusion string, checkRun int64) {
	e.t.Helper()
	begun := e.begin(r)
	e.in(func(ctx context.Context, tx *store.Tx) error {
		_, err := queue.SetCheckRun(ctx, e.q, tx, r.ID, checkRun)
		return err
	})
	e.in(func(ctx context.Context, tx *store.Tx) error {
		_, err := queue.Finish(ctx, e.q, tx, begun, store.Verdict{Conclusion: conclusion, Judged: true})
		return err
	})
	e.in(func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.PublishRun(ctx, r.ID, checkRun, conclusion, nil)
		return err
	})
}
