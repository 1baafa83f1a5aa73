package webhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/prosecutor-bot/prosecutor/app/queue"
	"github.com/prosecutor-bot/prosecutor/app/store"
	"github.com/prosecutor-bot/prosecutor/app/store/storetest"
)

func sqlite(t *testing.T) storetest.Database {
	return storetest.Database{Dialect: store.SQLite, URL: func(t *testing.T) string { return filepath.Join(t.TempDir(), "prosecutor.db") }}
}

func TestNewRefuses(t *testing.T) {
	e := newEnv(t, sqlite(t))
	ok := Options{Secrets: [][]byte{oldSecret}, Store: e.st, Queue: e.q, AppID: 1, Login: "x[bot]"}
	for name, tt := range map[string]struct {
		change func(*Options)
		want   string
	}{
		"no secret":      {func(o *Options) { o.Secrets = nil }, "there is no webhook secret"},
		"empty secret":   {func(o *Options) { o.Secrets = [][]byte{{}} }, "webhook secret 1 has 0 bytes"},
		"short secret":   {func(o *Options) { o.Secrets = [][]byte{oldSecret, oldSecret[1:]} }, "webhook secret 2 has 31 bytes"},
		"no store":       {func(o *Options) { o.Store = nil }, "needs a store"},
		"no queue":       {func(o *Options) { o.Queue = nil }, "needs a store"},
		"no App":         {func(o *Options) { o.AppID = 0 }, "needs a store"},
		"no login":       {func(o *Options) { o.Login = "" }, "needs a store"},
		"metrics double": {func(o *Options) { r := prometheus.NewRegistry(); newMetrics(r, nil); o.Registry = r }, "registering the metrics"},
	} {
		o := ok
		tt.change(&o)
		if h, err := New(o); err == nil || h != nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "ooooo") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestIngress(t *testing.T) {
	body := payload(t, "pull_request")
	for name, tt := range map[string]struct {
		change func(*http.Request)
		body   []byte
		code   int
		status string
	}{
		"signed with the new secret": {func(*http.Request) {}, body, 202, enqueued},
		"signed with the old secret": {func(r *http.Request) { r.Header.Set("X-Hub-Signature-256", sign(oldSecret, body)) }, body, 202, enqueued},
		"content type with charset":  {func(r *http.Request) { r.Header.Set("Content-Type", "application/json; charset=utf-8") }, body, 202, enqueued},
		"another secret": {func(r *http.Request) {
			r.Header.Set("X-Hub-Signature-256", sign([]byte(strings.Repeat("x", 32)), body))
		}, body, 401, badSignature},
		"empty secret": {func(r *http.Request) { r.Header.Set("X-Hub-Signature-256", sign(nil, body)) }, body, 401, badSignature},
		"no signature": {func(r *http.Request) { r.Header.Del("X-Hub-Signature-256") }, body, 401, badSignature},
		"SHA-1 only": {func(r *http.Request) {
			r.Header.Del("X-Hub-Signature-256")
			r.Header.Set("X-Hub-Signature", "sha1=aa")
		}, body, 401, badSignature},
		"signature of another kind": {func(r *http.Request) {
			r.Header.Set("X-Hub-Signature-256", strings.Replace(sign(newSecret, body), "sha256", "sha1", 1))
		}, body, 401, badSignature},
		"short signature":          {func(r *http.Request) { r.Header.Set("X-Hub-Signature-256", sign(newSecret, body)[:50]) }, body, 401, badSignature},
		"changed body":             {func(r *http.Request) { r.Body = io.NopCloser(bytes.NewReader(append(bytes.Clone(body), ' '))) }, body, 401, badSignature},
		"no JSON":                  {func(*http.Request) {}, []byte("action=opened"), 400, malformed},
		"a JSON list":              {func(*http.Request) {}, []byte("[]"), 400, malformed},
		"null":                     {func(*http.Request) {}, []byte("null"), 202, ignored}, // about no installation
		"cut short":                {func(*http.Request) {}, body[:len(body)-1], 400, malformed},
		"empty":                    {func(*http.Request) {}, nil, 400, malformed},
		"another shape":            {func(*http.Request) {}, payload(t, "pull_request", set{"pull_request", []any{1}}), 400, malformed},
		"no pull request":          {func(*http.Request) {}, payload(t, "pull_request", set{"pull_request", gone{}}), 400, malformed},
		"no repository":            {func(*http.Request) {}, payload(t, "pull_request", set{"repository", gone{}}), 400, malformed},
		"form":                     {func(r *http.Request) { r.Header.Set("Content-Type", "application/x-www-form-urlencoded") }, body, 400, malformed},
		"no GUID":                  {func(r *http.Request) { r.Header.Del("X-GitHub-Delivery") }, body, 400, malformed},
		"odd GUID":                 {func(r *http.Request) { r.Header.Set("X-GitHub-Delivery", "a b") }, body, 400, malformed},
		"long GUID":                {func(r *http.Request) { r.Header.Set("X-GitHub-Delivery", strings.Repeat("a", 101)) }, body, 400, malformed},
		"no event":                 {func(r *http.Request) { r.Header.Del("X-GitHub-Event") }, body, 400, malformed},
		"unknown event":            {func(r *http.Request) { r.Header.Set("X-GitHub-Event", "sponsorship") }, body, 202, ignored},
		"ping":                     {func(r *http.Request) { r.Header.Set("X-GitHub-Event", "ping") }, []byte(`{"zen":"x","hook_id":1}`), 202, ignored},
		"unknown action":           {func(*http.Request) {}, payload(t, "pull_request", action("assigned")), 202, ignored},
		"no installation":          {func(*http.Request) {}, payload(t, "pull_request", set{"installation", gone{}}), 202, ignored},
		"our own doing":            {func(*http.Request) {}, payload(t, "pull_request", set{"sender.login", "Prosecutor[bot]"}), 202, ignored},
		"another bot's change":     {func(*http.Request) {}, payload(t, "pull_request", bot), 202, enqueued},
		"GET":                      {func(r *http.Request) { r.Method = http.MethodGet }, body, 405, badMethod},
		"PUT":                      {func(r *http.Request) { r.Method = http.MethodPut }, body, 405, badMethod},
		"the largest":              {func(*http.Request) {}, padded(body, MaxPayload), 202, enqueued},
		"larger than the largest":  {func(*http.Request) {}, padded(body, MaxPayload+1), 413, tooLarge},
		"larger, and not declared": {func(r *http.Request) { r.ContentLength = -1 }, padded(body, MaxPayload+1), 413, tooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t, sqlite(t))
			r := post("pull_request", "guid", tt.body)
			tt.change(r)
			w := httptest.NewRecorder()
			e.h.ServeHTTP(w, r)
			if w.Code != tt.code || !strings.Contains(w.Body.String(), `"status":"`+tt.status+`"`) {
				t.Errorf("%d %s, want %d %s", w.Code, w.Body, tt.code, tt.status)
			}
			if tt.code == 405 && w.Header().Get("Allow") != "POST" {
				t.Error("it does not say what is allowed")
			}
			counts, err := e.st.Deliveries(t.Context())
			if want := map[store.DeliveryState]int{}; tt.status == enqueued {
				want[store.Enqueued] = 1
				if diff := cmp.Diff(want, counts); diff != "" || err != nil {
					t.Errorf("%s %v", diff, err)
				}
			} else if len(counts) != 0 || len(e.jobs()) != 0 {
				t.Errorf("recorded %v, jobs %v", counts, e.jobs())
			}
		})
	}
}

// padded makes a payload as long as it shall be, by white space.
func padded(body []byte, size int) []byte {
	return append(bytes.Clone(body), bytes.Repeat([]byte{' '}, size-len(body))...)
}

// unread fails when somebody reads it.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("the body was read")
	return 0, io.EOF
}

func TestUnsignedBodiesAreNotRead(t *testing.T) {
	e := newEnv(t, sqlite(t))
	r := post("pull_request", "guid", nil)
	r.Header.Del("X-Hub-Signature-256")
	r.Body = io.NopCloser(unread{t})
	if code, a := e.do(r); code != http.StatusUnauthorized || a.Status != badSignature {
		t.Errorf("%d %+v", code, a)
	}
}

// TestSlowBody sends a part of a body to a real server, and goes.
func TestSlowBody(t *testing.T) {
	e := newEnv(t, sqlite(t))
	s := httptest.NewServer(e.h)
	defer s.Close()
	body, write := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Hub-Signature-256", sign(newSecret, nil))
	go func() {
		_, _ = write.Write([]byte(`{"action":`))
		cancel()
		_ = write.Close()
	}()
	res, err := http.DefaultTransport.RoundTrip(r)
	if err == nil {
		res.Body.Close()
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	if counts, err := e.st.Deliveries(t.Context()); err != nil || len(counts) != 0 {
		t.Errorf("%v, %v", counts, err)
	}
}

// TestStoreDown takes the database away: GitHub has to see that the delivery failed, and it can be delivered again.
func TestStoreDown(t *testing.T) {
	d := sqlite(t)
	url := d.URL(t)
	st, err := store.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	q, err := queue.New(t.Context(), st, queue.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	h, err := New(Options{Secrets: [][]byte{newSecret}, Store: st, Queue: q, AppID: ourApp, Login: ourLogin, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, post("pull_request", "guid", payload(t, "pull_request")))
	if w.Code != http.StatusServiceUnavailable || !strings.Contains(log.String(), "could not be stored") || strings.Contains(w.Body.String(), "sql") {
		t.Errorf("%d %s: %s", w.Code, w.Body, log.String())
	}
	st = storetest.Open(t, url)
	if q, err = queue.New(t.Context(), st, queue.Options{}); err != nil {
		t.Fatal(err)
	}
	if h, err = New(Options{Secrets: [][]byte{newSecret}, Store: st, Queue: q, AppID: ourApp, Login: ourLogin}); err != nil {
		t.Fatal(err)
	}
	w = httptest.NewRecorder()
	h.ServeHTTP(w, post("pull_request", "guid", payload(t, "pull_request")))
	if w.Code != http.StatusAccepted {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// failing is a queue that cannot take jobs.
type failing struct{ queue.Queue }

var errFull = errors.New("no space is left")

func (failing) EnqueueTx(context.Context, *store.Tx, queue.Job, ...queue.EnqueueOption) (int64, error) {
	return 0, errFull
}

// TestNothingIsHalfDone has the job fail to be enqueued, the last step of the transaction.
func TestNothingIsHalfDone(t *testing.T) {
	each(t, func(t *testing.T, d storetest.Database) {
		e := newEnv(t, d)
		h, err := New(Options{Secrets: [][]byte{newSecret}, Store: e.st, Queue: failing{e.q}, AppID: ourApp, Login: ourLogin})
		if err != nil {
			t.Fatal(err)
		}
		good := e.h
		e.h = h
		body := payload(t, "pull_request")
		if code, a := e.do(post("pull_request", "guid", body)); code != http.StatusServiceUnavailable || a.Status != unavailable {
			t.Errorf("%d %+v", code, a)
		}
		e.noLive()
		e.unrecorded("guid")
		if _, err := e.st.Pull(t.Context(), repoID, pullNumber); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("the pull request was recorded: %v", err)
		}
		e.h = good
		if a := e.deliver("pull_request", "guid", body); a.Status != enqueued {
			t.Errorf("%+v", a)
		}
		e.wantJobs("judge available")
	})
}

func TestRedelivery(t *testing.T) {
	each(t, func(t *testing.T, d storetest.Database) {
		body := payload(t, "pull_request")
		t.Run("while the run waits", func(t *testing.T) {
			e := newEnv(t, d)
			guid := e.want("pull_request", body, enqueued, "started")
			if a := e.deliver("pull_request", guid, body); a.Status != enqueued || a.Reason != "a run is under way" {
				t.Errorf("%+v", a)
			}
			if r := e.live(); r.Pokes != 0 || r.Generation != 1 {
				t.Errorf("%+v", r)
			}
			if d := e.delivery(guid); d.Attempts != 2 {
				t.Errorf("%+v", d)
			}
			e.wantJobs("judge available")
		})
		t.Run("of evidence while the run is judged", func(t *testing.T) {
			e := newEnv(t, d)
			e.begin(e.opened())
			check := payload(t, "check_run")
			guid := e.want("check_run", check, enqueued, "under way")
			e.deliver("check_run", guid, check)
			if r := e.live(); r.Pokes != 1 {
				t.Errorf("it was told twice: %+v", r)
			}
		})
		t.Run("while the result is published", func(t *testing.T) {
			e := newEnv(t, d)
			guid := e.want("pull_request", body, enqueued, "started")
			r := e.begin(e.live())
			e.in(func(ctx context.Context, tx *store.Tx) error {
				_, err := queue.Finish(ctx, e.q, tx, r, store.Verdict{Conclusion: "success"})
				return err
			})
			if a := e.deliver("pull_request", guid, body); a.Status != done || a.Reason != "the head was judged already" {
				t.Errorf("%+v", a)
			}
			e.noLive()
		})
		t.Run("of evidence while the result is published", func(t *testing.T) {
			e := newEnv(t, d)
			check := payload(t, "check_run")
			guid := e.want("check_run", check, enqueued, "started")
			r := e.begin(e.live())
			e.in(func(ctx context.Context, tx *store.Tx) error {
				_, err := queue.Finish(ctx, e.q, tx, r, store.Verdict{Conclusion: "success"})
				return err
			})
			if a := e.deliver("check_run", guid, check); a.Status != enqueued || a.Reason != "it was judged already" {
				t.Errorf("%+v", a)
			}
			e.noLive()
		})
		t.Run("when all is done", func(t *testing.T) {
			e := newEnv(t, d)
			guid := e.want("pull_request", body, enqueued, "started")
			e.judge(e.live(), "success", 1)
			if d := e.delivery(guid); d.State != store.Done || d.FinishedAt.IsZero() {
				t.Errorf("%+v", d)
			}
			if a := e.deliver("pull_request", guid, body); a.Status != duplicate {
				t.Errorf("%+v", a)
			}
			e.noLive()
		})
		t.Run("when the run was given up", func(t *testing.T) {
			e := newEnv(t, d)
			guid := e.want("pull_request", body, enqueued, "started")
			r := e.begin(e.live())
			e.in(func(ctx context.Context, tx *store.Tx) error {
				_, err := queue.Fail(ctx, e.q, tx, r.ID, "the judge crashed")
				return err
			})
			if d := e.delivery(guid); d.State != store.Failed || d.Reason != "the judge crashed" {
				t.Errorf("%+v", d)
			}
			if a := e.deliver("pull_request", guid, body); a.Status != enqueued || a.Reason != "a run was started" {
				t.Errorf("%+v", a)
			}
			if r := e.live(); r.Generation != 2 {
				t.Errorf("%+v", r)
			}
			if d := e.delivery(guid); d.State != store.Enqueued || d.Reason != "" {
				t.Errorf("%+v", d)
			}
		})
		t.Run("of what was ignored", func(t *testing.T) {
			e := newEnv(t, d)
			draft := payload(t, "pull_request", set{"pull_request.draft", true})
			guid := e.want("pull_request", draft, ignored, "draft")
			if a := e.deliver("pull_request", guid, draft); a.Status != ignored {
				t.Errorf("%+v", a)
			}
			if d := e.delivery(guid); d.State != store.Ignored || !strings.Contains(d.Reason, "draft") || d.Attempts != 2 {
				t.Errorf("%+v", d)
			}
		})
		t.Run("of one for two pull requests, one of which is done", func(t *testing.T) {
			e := newEnv(t, d)
			e.judge(e.opened(), "success", 1)
			e.judge(e.opened(set{"number", 3}, set{"pull_request.number", 3}), "success", 2)
			body := payload(t, "push")
			guid := e.want("push", body, enqueued, "started")
			runs, err := e.st.LiveRuns(t.Context())
			if err != nil || len(runs) != 2 {
				t.Fatalf("%+v, %v", runs, err)
			}
			e.judge(runs[0], "success", 3)
			if d := e.delivery(guid); d.State != store.Enqueued {
				t.Errorf("%+v", d)
			}
			e.deliver("push", guid, body)
			if r := e.live(); r.ID != runs[1].ID {
				t.Errorf("%+v", r)
			}
			e.judge(runs[1], "success", 4)
			if d := e.delivery(guid); d.State != store.Done {
				t.Errorf("%+v", d)
			}
		})
	})
}

// TestRace has several replicas receive the same deliveries at once.
func TestRace(t *testing.T) {
	each(t, func(t *testing.T, d storetest.Database) {
		replicas, each := 3, 4
		if d.Dialect == store.SQLite {
			replicas, each = 2, 2 // several processes are what PostgreSQL is for
		}
		url := d.URL(t)
		var envs []*env
		for range replicas {
			envs = append(envs, newEnv(t, storetest.Database{Dialect: d.Dialect, URL: func(*testing.T) string { return url }}))
		}
		bodies := map[string][]byte{"a": payload(t, "pull_request"), "b": payload(t, "check_run"), "c": payload(t, "check_suite"), "d": payload(t, "pull_request", pushed(newerHead, 1)...)}
		events := map[string]string{"a": "pull_request", "b": "check_run", "c": "check_suite", "d": "pull_request"}
		var wg sync.WaitGroup
		for i, e := range envs {
			for range each {
				for guid, body := range bodies {
					wg.Go(func() {
						w := httptest.NewRecorder()
						e.h.ServeHTTP(w, post(events[guid], guid, body))
						if w.Code != http.StatusAccepted {
							t.Errorf("replica %d: %d %s", i, w.Code, w.Body)
						}
					})
				}
			}
		}
		wg.Wait()
		e := envs[0]
		// Whatever the order was, the newest head is the one that is judged, once.
		if r := e.live(); r.Head != newerHead || r.Generation != 1 {
			t.Errorf("%+v", r)
		}
		for guid := range bodies {
			if d := e.delivery(guid); d.Attempts != replicas*each {
				t.Errorf("%+v", d)
			}
		}
		live := 0
		for _, j := range e.jobs() {
			if j == "judge available" || j == "judge scheduled" {
				live++
			}
		}
		if live != 1 {
			t.Errorf("jobs %v", e.jobs())
		}
	})
}

func TestMetrics(t *testing.T) {
	e := newEnv(t, sqlite(t))
	r := prometheus.NewRegistry()
	h, err := New(Options{Secrets: [][]byte{newSecret}, Store: e.st, Queue: e.q, AppID: ourApp, Login: ourLogin, Registry: r})
	if err != nil {
		t.Fatal(err)
	}
	e.h = h
	e.want("pull_request", payload(t, "pull_request"), enqueued, "")
	for i := range 3 {
		e.do(post(fmt.Sprintf("made-up-%d", i), "guid", []byte("{}")))
	}
	bad := post("push", "guid", []byte("{}"))
	bad.Header.Set("X-Hub-Signature-256", sign(oldSecret, []byte("{}")))
	e.do(bad)
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if c := m.GetCounter(); c != nil {
				got[m.GetLabel()[0].GetValue()+" "+m.GetLabel()[1].GetValue()] = c.GetValue()
			}
		}
	}
	if diff := cmp.Diff(map[string]float64{"other ignored": 3, "pull_request enqueued": 1, "push bad_signature": 1}, got); diff != "" {
		t.Error(diff)
	}
}

// TestLogs greps what is logged for secrets and for what anybody can send.
func TestLogs(t *testing.T) {
	e := newEnv(t, sqlite(t))
	var log strings.Builder
	h, err := New(Options{Secrets: [][]byte{oldSecret, newSecret}, Store: e.st, Queue: e.q, AppID: ourApp, Login: ourLogin,
		Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	if err != nil {
		t.Fatal(err)
	}
	e.h = h
	body := payload(t, "pull_request", set{"pull_request.body", "the password is hunter2"})
	e.want("pull_request", body, enqueued, "")
	r := post("evil\nevent", "guid", body)
	r.Header.Set("X-Hub-Signature-256", sign([]byte("x"), body))
	e.do(r)
	if !strings.Contains(log.String(), "delivery=guid-1") {
		t.Errorf("the delivery was not logged: %s", log.String())
	}
	for _, secret := range []string{string(oldSecret), string(newSecret), "hunter2", "evil", sign(newSecret, body)} {
		if strings.Contains(log.String(), secret) {
			t.Errorf("%q was logged", secret)
		}
	}
}

func TestProsecute(t *testing.T) {
	for text, want := range map[string]bool{
		"/prosecute": true, "/prosecute\n": true, "/prosecute dismiss x": true, "a\n/prosecute\tx": true, "a\r\n/prosecute\r\nb": true, "  /prosecute": true,
		"": false, "a /prosecute": false, "/prosecute-this": false, "/prosecuted": false, "/Prosecute": false, "> /prosecute": false, "//prosecute": false, "/prosecute\u00a0x": false,
	} {
		if got := prosecute(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
