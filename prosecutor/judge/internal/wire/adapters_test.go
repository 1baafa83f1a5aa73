package wire_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/charter"
	"github.com/prosecutor-bot/prosecutor/prosecutor/diff"
	"github.com/prosecutor-bot/prosecutor/prosecutor/judge"
	"github.com/prosecutor-bot/prosecutor/prosecutor/judge/anthropic"
	"github.com/prosecutor-bot/prosecutor/prosecutor/judge/openai"
	"github.com/prosecutor-bot/prosecutor/test/modeltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	model = "model-1"
	key   = "sk-test-0123456789abcdef"
)

// now is the clock of the judges under test.
var now = time.Date(2031, 5, 4, 6, 0, 0, 0, time.UTC)

// settings are what the cases vary.
type settings struct {
	output    string
	maxTokens int
	timeout   time.Duration
	price     *config.Price
	key       string
	sleeps    *[]time.Duration // collects the waits before retries
}

type closer interface {
	judge.Judge
	Close() error
}

// adapters are the judges under test, each against its own wire format.
var adapters = map[modeltest.Format]func(*testing.T, string, settings) closer{
	modeltest.FormatOpenAI: func(t *testing.T, base string, s settings) closer {
		j, err := openai.New(openai.Options{
			Info: info(), BaseURL: base, Key: judge.NewSecret(s.key), KeyFrom: "variable MODEL_KEY", Output: s.output, MaxTokens: s.maxTokens,
			Timeout: s.timeout, Price: s.price, Now: func() time.Time { return now }, Sleep: s.sleep,
		})
		return started(t, j, err)
	},
	modeltest.FormatAnthropic: func(t *testing.T, base string, s settings) closer {
		j, err := anthropic.New(anthropic.Options{
			Info: info(), BaseURL: base, Key: judge.NewSecret(s.key), KeyFrom: "variable MODEL_KEY", Output: s.output, MaxTokens: s.maxTokens,
			Timeout: s.timeout, Price: s.price, Now: func() time.Time { return now }, Sleep: s.sleep,
		})
		return started(t, j, err)
	},
}

func (s settings) sleep(ctx context.Context, d time.Duration) error {
	if s.sleeps != nil {
		*s.sleeps = append(*s.sleeps, d)
	}
	return ctx.Err()
}

func info() judge.Info {
	return judge.Info{ID: "fern-large", Family: "fern", Provider: "northgate", Model: model}
}

func started(t *testing.T, j closer, err error) closer {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j
}

func base(s *modeltest.Server, f modeltest.Format) string {
	if f == modeltest.FormatAnthropic {
		return s.Anthropic()
	}
	return s.OpenAI()
}

// request is what a real case puts to a judge.
func request(t *testing.T) judge.Request {
	t.Helper()
	const change = "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-old\n+new\n"
	d, err := diff.ParseString(change)
	if err != nil {
		t.Fatal(err)
	}
	b := charter.Brief{Diff: d, Text: change, Spec: "change the text"}
	return b.Request(prosecutor.Security, "0123456789abcdef")
}

func each(t *testing.T, f func(t *testing.T, format modeltest.Format)) {
	for _, format := range []modeltest.Format{modeltest.FormatOpenAI, modeltest.FormatAnthropic} {
		t.Run(string(format), func(t *testing.T) { f(t, format) })
	}
}

func TestAsk(t *testing.T) {
	each(t, func(t *testing.T, format modeltest.Format) {
		s := modeltest.New(t)
		s.Keys(key)
		answer := " \n{\"verdict\":\"ship\",\"findings\":[]}\r\n\x1b[0m"
		s.Queue(model, modeltest.Answer(answer).WithUsage(modeltest.Usage{In: 1000, Out: 200}).WithModel("model-1-2031"))
		j := adapters[format](t, base(s, format), settings{key: key, price: &config.Price{Input: 3, Output: 15}})

		reply, err := j.Ask(t.Context(), request(t))
		if err != nil {
			t.Fatal(err)
		}
		want := judge.Reply{
			Text: answer, Model: "model-1-2031", TokensIn: 1000, TokensOut: 200, CostUSD: 0.006, Requests: 1,
		}
		if reply != want {
			t.Errorf("reply %+v, want %+v", reply, want)
		}
		got := s.Requests()[0]
		if got.Lens() != prosecutor.Security || got.Model != model || got.Stream {
			t.Errorf("the request is for lens %q, model %q, stream %t", got.Lens(), got.Model, got.Stream)
		}
		if got.Tools != 0 {
			t.Errorf("the model was given %d tools", got.Tools)
		}
		if got.Output != "json_schema" || !got.Strict {
			t.Errorf("output %q, strict %t", got.Output, got.Strict)
		}
		if len(got.Messages) != 1 || got.Messages[0].Text != request(t).Messages[0].Text || got.System != request(t).System {
			t.Error("the prompt did not arrive as it was")
		}
		if ua := got.Header.Get("User-Agent"); ua != "prosecutor" {
			t.Errorf("user agent %q", ua)
		}
	})
}

func TestAskCarriesARepairRound(t *testing.T) {
	each(t, func(t *testing.T, format modeltest.Format) {
		for _, earlier := range []string{"not JSON", "", " \n"} {
			s := modeltest.New(t)
			s.Queue(model, modeltest.Ship())
			j := adapters[format](t, base(s, format), settings{key: key})
			req := request(t)
			req.Messages = append(req.Messages, judge.Message{Role: judge.Assistant, Text: earlier}, judge.Message{Role: judge.User, Text: "answer in JSON"})
			if _, err := j.Ask(t.Context(), req); err != nil {
				t.Fatalf("earlier answer %q: %v", earlier, err)
			}
			got := s.Requests()[0]
			if !got.Repair() || len(got.Messages) != 3 || got.Messages[2].Text != "answer in JSON" {
				t.Errorf("earlier answer %q: messages %+v", earlier, got.Messages)
			}
		}
	})
}

// failure is what a behaviour has to become.
type failure struct {
	name     string
	behave   []modeltest.Behaviour
	kind     prosecutor.ErrorKind
	status   int
	code     map[modeltest.Format]string
	resetIn  time.Duration // 0 means none
	requests int           // 1 when 0
	says     string        // part of the error's text
	only     modeltest.Format
}

func both(code string) map[modeltest.Format]string {
	return map[modeltest.Format]string{modeltest.FormatOpenAI: code, modeltest.FormatAnthropic: code}
}

func codes(openAI, anthropic string) map[modeltest.Format]string {
	return map[modeltest.Format]string{modeltest.FormatOpenAI: openAI, modeltest.FormatAnthropic: anthropic}
}

func one(b modeltest.Behaviour) []modeltest.Behaviour { return []modeltest.Behaviour{b} }

var failures = []failure{
	{name: "refuse", behave: one(modeltest.Refuse()), kind: prosecutor.Refusal, status: 200, code: both("refusal")},
	{name: "withhold", behave: one(modeltest.Withhold()), kind: prosecutor.Refusal, status: 200, code: codes("content_filter", "refusal")},
	{name: "reject content", behave: one(modeltest.RejectContent()), kind: prosecutor.Refusal, status: 400, code: both("content_filter"), only: modeltest.FormatOpenAI},
	{name: "silent", behave: one(modeltest.Silent()), kind: prosecutor.Transport, status: 200, code: codes("no_choices", "no_text")},
	{name: "nothing before the limit", behave: one(modeltest.Truncated("")), kind: prosecutor.Transport, status: 200, code: codes("length", "max_tokens"), says: "raise max_tokens"},
	{name: "rate limit, too long", behave: one(modeltest.RateLimit(time.Hour)), kind: prosecutor.Transport, status: 429, code: codes("rate_limit_exceeded", "rate_limit_error"), resetIn: time.Hour},
	{name: "rate limit, never ending", behave: []modeltest.Behaviour{modeltest.RateLimit(time.Second), modeltest.RateLimit(2 * time.Second), modeltest.RateLimit(3 * time.Second)}, kind: prosecutor.Transport, status: 429, code: codes("rate_limit_exceeded", "rate_limit_error"), resetIn: 3 * time.Second, requests: 3},
	{name: "rate limit by reset headers", behave: one(modeltest.RateLimitWith(map[string]string{"x-ratelimit-reset-requests": "10s"})), kind: prosecutor.Transport, status: 429, code: codes("rate_limit_exceeded", "rate_limit_error"), resetIn: 10 * time.Second},
	{name: "out of credit", behave: one(modeltest.OutOfCredit()), kind: prosecutor.Quota, code: codes("insufficient_quota", "billing_error"), says: "used up"},
	{name: "out of credit in words", behave: []modeltest.Behaviour{modeltest.OutOfCreditInWords(), modeltest.OutOfCreditInWords(), modeltest.OutOfCreditInWords()}, kind: prosecutor.Transport, status: 400, code: both("invalid_request_error"), requests: -1},
	{name: "unauthorized", behave: one(modeltest.Unauthorized()), kind: prosecutor.Auth, status: 401, code: codes("invalid_api_key", "authentication_error"), says: "check variable MODEL_KEY"},
	{name: "forbid", behave: one(modeltest.Forbid()), kind: prosecutor.Auth, status: 403, code: codes("invalid_request_error", "permission_error"), says: "may use model model-1"},
	{name: "missing", behave: one(modeltest.Missing()), kind: prosecutor.Transport, status: 404, code: codes("model_not_found", "not_found_error"), says: `model "model-1"`},
	{name: "500", behave: one(modeltest.Fail(500)), kind: prosecutor.Transport, status: 500, code: codes("server_error", "api_error")},
	{name: "529", behave: one(modeltest.Fail(529)), kind: prosecutor.Transport, status: 529, code: codes("server_error", "overloaded_error")},
	{name: "504", behave: one(modeltest.Fail(504)), kind: prosecutor.Transport, status: 504, code: both("server_error"), only: modeltest.FormatOpenAI},
	{name: "gave up on the model", behave: one(modeltest.Fail(504)), kind: prosecutor.Timeout, status: 504, code: both("timeout_error"), only: modeltest.FormatAnthropic},
	{name: "502 of a gateway", behave: one(modeltest.FailPlain(502)), kind: prosecutor.Transport, status: 502},
	{name: "401 of a gateway", behave: one(modeltest.FailPlain(401)), kind: prosecutor.Auth, status: 401},
	{name: "error inside", behave: one(modeltest.ErrorInside(502)), kind: prosecutor.Transport, status: 502, only: modeltest.FormatOpenAI},
	{name: "no credit inside", behave: one(modeltest.ErrorInside(402)), kind: prosecutor.Quota, status: 402, only: modeltest.FormatOpenAI},
	{name: "google's list", behave: one(modeltest.GoogleError(429, "RESOURCE_EXHAUSTED", "34s")), kind: prosecutor.Transport, status: 429, code: both("RESOURCE_EXHAUSTED"), resetIn: 34 * time.Second, only: modeltest.FormatOpenAI},
	{name: "redirect", behave: one(modeltest.Redirect("http://127.0.0.1:1/elsewhere")), kind: prosecutor.Transport, status: 307, code: both("redirect"), says: "final address"},
	{name: "close mid-body", behave: one(modeltest.CloseMidBody()), kind: prosecutor.Transport},
	{name: "close unanswered", behave: one(modeltest.CloseUnanswered()), kind: prosecutor.Transport},
	{name: "malformed", behave: one(modeltest.Malformed()), kind: prosecutor.Transport},
	{name: "webpage", behave: one(modeltest.Webpage()), kind: prosecutor.Transport, status: 200, code: both("not_json"), says: "check base_url"},
	{name: "oversize", behave: one(modeltest.Oversize(9 << 20)), kind: prosecutor.Transport, says: "limit of 8 MiB"},
}

func TestFailures(t *testing.T) {
	each(t, func(t *testing.T, format modeltest.Format) {
		for _, f := range failures {
			if f.only != "" && f.only != format {
				continue
			}
			t.Run(f.name, func(t *testing.T) {
				s := modeltest.New(t)
				s.Queue(model, f.behave...)
				var sleeps []time.Duration
				j := adapters[format](t, base(s, format), settings{key: key, sleeps: &sleeps})
				reply, err := j.Ask(t.Context(), request(t))

				var got *judge.Error
				if !errors.As(err, &got) {
					t.Fatalf("error %v (%T), want a *judge.Error", err, err)
				}
				if got.Kind != f.kind || got.Provider != "northgate" {
					t.Errorf("kind %q of %q, want %q: %v", got.Kind, got.Provider, f.kind, err)
				}
				if f.status != 0 && got.Status != f.status {
					t.Errorf("status %d, want %d", got.Status, f.status)
				}
				if got.Code != f.code[format] {
					t.Errorf("code %q, want %q", got.Code, f.code[format])
				}
				want := time.Time{}
				if f.resetIn != 0 {
					want = now.Add(f.resetIn)
				}
				if !got.ResetAt.Equal(want) {
					t.Errorf("reset at %v, want %v", got.ResetAt, want)
				}
				if !strings.Contains(err.Error(), f.says) {
					t.Errorf("the error does not say %q: %v", f.says, err)
				}
				if f.requests >= 0 && s.Calls(model) != max(1, f.requests) {
					t.Errorf("%d requests, want %d", s.Calls(model), max(1, f.requests))
				}
				if reply.Requests != s.Calls(model) || reply.Text != "" {
					t.Errorf("the reply counts %d requests of %d and holds %q", reply.Requests, s.Calls(model), reply.Text)
				}
				checkSafe(t, err)
			})
		}
	})
}

// checkSafe holds an error's text to what is fit to show.
func checkSafe(t *testing.T, err error) {
	t.Helper()
	for _, verb := range []string{"%v", "%+v", "%#v", "%q"} {
		shown := fmt.Sprintf(verb, err)
		if strings.Contains(shown, key) || strings.Contains(shown, key[4:]) {
			t.Errorf("the error shows the key: %s", shown)
		}
	}
	for e := err; e != nil; e = errors.Unwrap(e) {
		text := e.Error()
		if len(text) > 1000 || strings.ContainsAny(text, "\x1b\n\r") {
			t.Errorf("the error is long (%d bytes) or holds control characters: %q", len(text), text)
		}
	}
}

func TestErrorsLeakNothing(t *testing.T) {
	each(t, func(t *testing.T, format modeltest.Format) {
		for _, status := range []int{400, 401, 404, 418, 429, 500} {
			s := modeltest.New(t)
			s.Default(modeltest.Leak(status))
			j := adapters[format](t, base(s, format), settings{key: key})
			_, err := j.Ask(t.Context(), request(t))
			if err == nil {
				t.Fatalf("status %d is no error", status)
			}
			checkSafe(t, err)
		}
	})
}

func TestJudgesShowNothingSecret(t *testing.T) {
	each(t, func(t *testing.T, format modeltest.Format) {
		j := adapters[format](t, "https://judge.example/v1?api-version=1", settings{key: key})
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d"} {
			if shown := fmt.Sprintf(verb, j); strings.Contains(shown, key) || !strings.Contains(shown, "fern-large") {
				t.Errorf("%s shows %s", verb, shown)
			}
		}
	})
}

func TestRateLimitThatPassesIsWaitedOut(t *testing.T) {
	each(t, func(t *testing.T, format modeltest.Format) {
		s := modeltest.New(t)
		s.Queue(model, modeltest.RateLimit(time.Second), modeltest.RateLimit(20*time.Second), modeltest.Ship())
		var sleeps []time.Duration
		j := adapters[format](t, base(s, format), settings{key: key, sleeps: &sleeps})
		reply, err := j.Ask(t.Context(), request(t))
		if err != nil {
			t.Fatal(err)
		}
		if reply.Requests != 3 || fmt.Sprint(sleeps) != "[1s 20s]" {
			t.Errorf("%d requests, waits %v", reply.Requests, sleeps)
		}
	})
}

func TestRateLimitPastTheDeadlineIsNotWaitedOut(t *testing.T) {
	each(t, func(t *testing.T, format modeltest.Format) {
		s := modeltest.New(t)
		s.Queue(model, modeltest.RateLimit(15*time.Second))
		var sleeps []time.Duration
		j := adapters[format](t, base(s, format), settings{key: key, sleeps: &sleeps})
		ctx, cancel := context.WithTimeout(t.Context(), 14*time.Second)
		defer cancel()
		_, err := j.Ask(ctx, request(t))
		var got *judge.Error
		if !errors.As(err, &got) || got.Kind != prosecutor.Transport || !got.ResetAt.Equal(now.Add(15*time.Second)) || len(sleeps) != 0 {
			t.Errorf("%v after waits %v", err, sleeps)
		}
	})
}

func TestQuotaIsNotRetriedWhateverRetryAfterSays(t *testing.T) {
	s := modeltest.New(t)
	s.Queue(model, modeltest.Problematic("quota", modeltest.Problem{
		Status: 429, Type: "insufficient_quota", Code: "insufficient_quota", Message: "none left", Header: map[string]string{"Retry-After": "1"},
	}))
	j := adapters[modeltest.FormatOpenAI](t, s.OpenAI(), settings{key: key})
	reply, err := j.Ask(t.Context(), request(t))
	var got *judge.Error
	if !errors.As(err, &got) || got.Kind != prosecutor.Quota || reply.Requests != 1 || !got.ResetAt.Equal(now.Add(time.Second)) {
		t.Errorf("%d requests: %v", reply.Requests, err)
	}
}

func TestDeadline(t *testing.T) {
	hangs := []modeltest.Behaviour{modeltest.Hang(), modeltest.HangMidBody(), modeltest.Slow("{}", 1_000, time.Second)}
	each(t, func(t *testing.T, format modeltest.Format) {
		for _, b := range hangs {
			t.Run(b.Name, func(t *testing.T) {
				s := modeltest.New(t)
				s.Default(b)
				own := adapters[format](t, base(s, format), settings{key: key, timeout: 20 * time.Millisecond})
				_, err := own.Ask(t.Context(), request(t))
				checkKind(t, err, prosecutor.Timeout)
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%v does not wrap the deadline", err)
				}

				callers := adapters[format](t, base(s, format), settings{key: key})
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
				defer cancel()
				_, err = callers.Ask(ctx, request(t))
				checkKind(t, err, prosecutor.Timeout)
			})
		}
	})
}

func TestCancel(t *testing.T) {
	each(t, func(t *testing.T, format modeltest.Format) {
		for _, b := range []modeltest.Behaviour{modeltest.Hang(), modeltest.HangMidBody()} {
			s := modeltest.New(t)
			s.Queue(model, b)
			j := adapters[format](t, base(s, format), settings{key: key})
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error)
			go func() {
				_, err := j.Ask(ctx, request(t))
				done <- err
			}()
			if err := s.Wait(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
			cancel()
			err := <-done
			checkKind(t, err, prosecutor.Canceled)
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%v does not wrap the cancellation", err)
			}
		}
		j := adapters[format](t, "http://127.0.0.1:1", settings{key: key})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := j.Ask(ctx, request(t))
		checkKind(t, err, prosecutor.Canceled)
	})
}

func checkKind(t *testing.T, err error, want prosecutor.ErrorKind) {
	t.Helper()
	var got *judge.Error
	if !errors.As(err, &got) || got.Kind != want {
		t.Errorf("%v, want kind %s", err, want)
		return
	}
	checkSafe(t, err)
}

func TestNoServer(t *testing.T) {
	each(t, func(t *testing.T, format modeltest.Format) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		address := l.Addr().String()
		l.Close()
		j := adapters[format](t, "http://"+address+"/v1?api-version="+key, settings{key: key})
		_, err = j.Ask(t.Context(), request(t))
		checkKind(t, err, prosecutor.Transport)
		if !strings.Contains(err.Error(), "refused") {
			t.Errorf("the error does not say why: %v", err)
		}
	})
}

// A slow answer that arrives in time is an answer.
func TestSlowAnswer(t *testing.T) {
	each(t, func(t *testing.T, format modeltest.Format) {
		s := modeltest.New(t)
		s.Queue(model, modeltest.Slow(`{"verdict":"ship","findings":[]}`, 50, time.Microsecond))
		j := adapters[format](t, base(s, format), settings{key: key})
		reply, err := j.Ask(t.Context(), request(t))
		if err != nil || reply.Text != `{"verdict":"ship","findings":[]}` {
			t.Errorf("%q, %v", reply.Text, err)
		}
	})
}

func TestTruncatedAnswerIsReturnedAsItCame(t *testing.T) {
	each(t, func(t *testing.T, format modeltest.Format) {
		s := modeltest.New(t)
		s.Queue(model, modeltest.Truncated(`{"verdict":"bl`))
		j := adapters[format](t, base(s, format), settings{key: key})
		reply, err := j.Ask(t.Context(), request(t))
		if err != nil || reply.Text != `{"verdict":"bl` || !reply.Truncated {
			t.Errorf("%+v, %v", reply, err)
		}
	})
}

// A refusal costs money too, and the evidence record wants to know.
func TestCostOfARefusal(t *testing.T) {
	each(t, func(t *testing.T, format modeltest.Format) {
		s := modeltest.New(t)
		s.Queue(model, modeltest.Refuse().WithUsage(modeltest.Usage{In: 500_000, Out: 100_000}))
		j := adapters[format](t, base(s, format), settings{key: key, price: &config.Price{Input: 2, Output: 10}})
		reply, err := j.Ask(t.Context(), request(t))
		checkKind(t, err, prosecutor.Refusal)
		if reply.TokensIn != 500_000 || reply.TokensOut != 100_000 || reply.CostUSD != 2 {
			t.Errorf("%+v", reply)
		}
	})
}

func TestOversizeInTimeIsTheLimitAndNotMore(t *testing.T) {
	each(t, func(t *testing.T, format modeltest.Format) {
		s := modeltest.New(t)
		s.Queue(model, modeltest.Oversize(7<<20))
		j := adapters[format](t, base(s, format), settings{key: key})
		reply, err := j.Ask(t.Context(), request(t))
		if err != nil || len(reply.Text) != 7<<20 {
			t.Errorf("%d bytes, %v", len(reply.Text), err)
		}
	})
}

// The SDKs read addresses, organisations, headers and keys from the environment. None of that may reach a call.
func TestTheEnvironmentIsNotRead(t *testing.T) {
	other := modeltest.New(t)
	for name, v := range map[string]string{
		"OPENAI_BASE_URL": other.OpenAI(), "OPENAI_API_KEY": "sk-of-somebody-else", "OPENAI_ORG_ID": "org-other",
		"OPENAI_PROJECT_ID": "proj-other", "OPENAI_CUSTOM_HEADERS": "X-Other: 1", "ANTHROPIC_BASE_URL": other.Anthropic(),
		"ANTHROPIC_API_KEY": "sk-of-somebody-else", "ANTHROPIC_AUTH_TOKEN": "token-of-somebody-else", "ANTHROPIC_CUSTOM_HEADERS": "X-Other: 1",
		"HTTP_PROXY": other.URL, "http_proxy": other.URL,
	} {
		t.Setenv(name, v)
	}
	each(t, func(t *testing.T, format modeltest.Format) {
		s := modeltest.New(t)
		s.Keyless()
		s.Queue(model, modeltest.Ship())
		j := adapters[format](t, base(s, format), settings{})
		if _, err := j.Ask(t.Context(), request(t)); err != nil {
			t.Fatal(err)
		}
		h := s.Requests()[0].Header
		for _, name := range []string{"Authorization", "X-Api-Key", "Api-Key", "Openai-Organization", "Openai-Project", "X-Other"} {
			if v := h.Get(name); v != "" {
				t.Errorf("header %s: %s", name, v)
			}
		}
	})
	if n := other.Calls(""); n != 0 {
		t.Errorf("%d calls went to the address in the environment", n)
	}
}

func TestNoKeyWhereOneIsNeeded(t *testing.T) {
	each(t, func(t *testing.T, format modeltest.Format) {
		s := modeltest.New(t)
		j := adapters[format](t, base(s, format), settings{})
		_, err := j.Ask(t.Context(), request(t))
		checkKind(t, err, prosecutor.Auth)
		if !strings.Contains(err.Error(), "api_key_env") {
			t.Errorf("the error does not say what to do: %v", err)
		}
	})
}

// A server that does not know the output format is asked without, once, and that is remembered.
func TestOutputAutoLearns(t *testing.T) {
	tests := []struct {
		name     string
		format   modeltest.Format
		rejects  []string
		output   string
		requests int
	}{
		{"schema", modeltest.FormatOpenAI, nil, "json_schema", 1},
		{"no schema", modeltest.FormatOpenAI, []string{"json_schema", "json_object"}, "", 2},
		{"schema", modeltest.FormatAnthropic, nil, "json_schema", 1},
		{"no schema", modeltest.FormatAnthropic, []string{"json_schema"}, "", 2},
	}
	for _, test := range tests {
		for _, words := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/%s/words=%t", test.format, test.name, words), func(t *testing.T) {
				s := modeltest.New(t)
				if words {
					s.RejectsInWords()
				}
				s.Rejects(model, test.rejects...)
				s.Default(modeltest.Ship())
				j := adapters[test.format](t, base(s, test.format), settings{key: key})
				for call, want := range []int{test.requests, 1} {
					reply, err := j.Ask(t.Context(), request(t))
					if err != nil {
						t.Fatal(err)
					}
					if reply.Requests != want {
						t.Errorf("call %d took %d requests, want %d", call, reply.Requests, want)
					}
					if got := s.Requests()[call]; got.Output != test.output {
						t.Errorf("call %d asked for output %q, want %q", call, got.Output, test.output)
					}
				}
			})
		}
	}
}

// A rejection that has nothing to do with the format must not make the judge forget the format.
func TestOutputAutoForgetsNothingOnOtherErrors(t *testing.T) {
	each(t, func(t *testing.T, format modeltest.Format) {
		s := modeltest.New(t)
		bad := modeltest.OutOfCreditInWords()
		s.Queue(model, bad, bad, bad)
		j := adapters[format](t, base(s, format), settings{key: key})
		_, err := j.Ask(t.Context(), request(t))
		checkKind(t, err, prosecutor.Transport)
		before := s.Calls(model)
		s.Respond(func(modeltest.Request) (modeltest.Behaviour, bool) { return modeltest.Ship(), true })
		if _, err := j.Ask(t.Context(), request(t)); err != nil {
			t.Fatal(err)
		}
		if got := s.Requests()[before]; got.Output != "json_schema" {
			t.Errorf("the next call asked for output %q", got.Output)
		}
	})
}

func TestOutputSettingsAreKept(t *testing.T) {
	each(t, func(t *testing.T, format modeltest.Format) {
		for _, output := range []string{"json_schema", "json_object", "text"} {
			if format == modeltest.FormatAnthropic && output == "json_object" {
				continue
			}
			s := modeltest.New(t)
			s.Queue(model, modeltest.Ship())
			j := adapters[format](t, base(s, format), settings{key: key, output: output})
			if _, err := j.Ask(t.Context(), request(t)); err != nil {
				t.Fatal(err)
			}
			want := output
			if output == "text" {
				want = ""
			}
			if got := s.Requests()[0].Output; got != want {
				t.Errorf("asked for output %q, want %q", got, want)
			}
		}
		s := modeltest.New(t)
		s.Rejects(model, "json_schema")
		j := adapters[format](t, base(s, format), settings{key: key, output: "json_schema"})
		reply, err := j.Ask(t.Context(), request(t))
		checkKind(t, err, prosecutor.Transport)
		if reply.Requests != 1 {
			t.Errorf("%d requests", reply.Requests)
		}
	})
}

func TestNewNamesEveryProblem(t *testing.T) {
	bad := []string{"ftp://host/v1", "host/v1", "https://", "https://user:" + key + "@host/v1", "https://host/v1#part", "http://[::1"}
	for _, address := range bad {
		_, openAI := openai.New(openai.Options{BaseURL: address, Output: "xml", MaxTokens: -1})
		_, claude := anthropic.New(anthropic.Options{BaseURL: address, Output: "json_object", MaxTokens: -1})
		for _, err := range []error{openAI, claude} {
			if err == nil {
				t.Fatalf("%s was taken", address)
			}
			for _, part := range []string{"model", "output", "base_url", "max_tokens"} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%s: the error does not name %s: %v", address, part, err)
				}
			}
			if strings.Contains(err.Error(), key) {
				t.Errorf("the error shows the password: %v", err)
			}
		}
	}
}

func TestConcurrentCallsShareNothing(t *testing.T) {
	each(t, func(t *testing.T, format modeltest.Format) {
		s := modeltest.New(t)
		s.Rejects(model, "json_schema")
		s.Respond(func(r modeltest.Request) (modeltest.Behaviour, bool) {
			return modeltest.Answer(r.Messages[0].Text), true
		})
		j := adapters[format](t, base(s, format), settings{key: key})
		done := make(chan error)
		const calls = 16
		for i := range calls {
			go func() {
				req := request(t)
				req.Messages[0].Text = fmt.Sprintf("json %d", i)
				reply, err := j.Ask(t.Context(), req)
				if err == nil && reply.Text != req.Messages[0].Text {
					err = fmt.Errorf("call %d got the answer %q", i, reply.Text)
				}
				done <- err
			}()
		}
		for range calls {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	})
}
