package judge_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/charter"
	"github.com/prosecutor-bot/prosecutor/prosecutor/contract"
	"github.com/prosecutor-bot/prosecutor/prosecutor/diff"
	"github.com/prosecutor-bot/prosecutor/prosecutor/judge"
	"github.com/prosecutor-bot/prosecutor/test/vectortest"
)

func TestVectorsClassify(t *testing.T) {
	vectortest.Run(t, "judge_failure", func(t *testing.T, c vectortest.Case) {
		type row struct {
			Status int
			Code   string
		}
		var in struct {
			Kind, Provider string
			ErrorTable     struct{ Quota, Auth, Refusal, Transport []row } `json:"error_table"`
			Response       struct {
				Status  int
				Code    string
				Message string
				Answer  *string
				Network judge.Network
				ResetAt time.Time `json:"reset_at"`
			}
		}
		var want struct {
			Failure          *prosecutor.ErrorKind
			Verdict          *prosecutor.Verdict
			BreakerOpenUntil *time.Time `json:"breaker_open_until"`
		}
		vectortest.Decode(t, c.Input, &in)
		vectortest.Decode(t, c.Expect, &want)
		rows := func(list []row) []judge.ErrorRow {
			var out []judge.ErrorRow
			for _, r := range list {
				out = append(out, judge.ErrorRow{Status: r.Status, Code: r.Code})
			}
			return out
		}
		table := judge.ErrorTable{
			Quota: rows(in.ErrorTable.Quota), Auth: rows(in.ErrorTable.Auth),
			Refusal: rows(in.ErrorTable.Refusal), Transport: rows(in.ErrorTable.Transport),
		}
		got := judge.Classify(table, judge.Response{
			Status: in.Response.Status, Code: in.Response.Code, Network: in.Response.Network, ResetAt: in.Response.ResetAt,
		})

		if want.BreakerOpenUntil == nil && !got.BreakerOpenUntil.IsZero() || want.BreakerOpenUntil != nil && !want.BreakerOpenUntil.Equal(got.BreakerOpenUntil) {
			t.Errorf("breaker open until %v, want %v", got.BreakerOpenUntil, want.BreakerOpenUntil)
		}
		kind, verdict := got.Kind, prosecutor.Verdict("")
		if in.Response.Answer != nil {
			if got.Failed() {
				t.Fatalf("an answer was classified as %s", got.Kind)
			}
			pass := prosecuteAnswer(t, *in.Response.Answer)
			kind, verdict = pass.ErrorKind, pass.Verdict
			if verdict == prosecutor.Errored {
				verdict = ""
			}
		}
		if want.Failure == nil && kind != "" || want.Failure != nil && *want.Failure != kind {
			t.Errorf("failure %q, want %s", kind, text(want.Failure))
		}
		if want.Verdict == nil && verdict != "" || want.Verdict != nil && *want.Verdict != verdict {
			t.Errorf("verdict %q, want %s", verdict, text(want.Verdict))
		}
	}, "classify")
}

func text[T ~string](p *T) string {
	if p == nil {
		return "none"
	}
	return string(*p)
}

// fixedAnswer is a judge that has one answer.
type fixedAnswer string

func (fixedAnswer) Info() judge.Info { return judge.Info{ID: "fixed", Provider: "northgate"} }

func (a fixedAnswer) Ask(context.Context, judge.Request) (judge.Reply, error) {
	return judge.Reply{Text: string(a)}, nil
}

func prosecuteAnswer(t *testing.T, answer string) contract.Pass {
	t.Helper()
	const change = "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-old\n+new\n"
	d, err := diff.ParseString(change)
	if err != nil {
		t.Fatal(err)
	}
	return contract.Prosecute(t.Context(), fixedAnswer(answer), contract.Input{
		Lens: prosecutor.Correctness, Brief: &charter.Brief{Diff: d, Text: change, Spec: "change the text"},
	})
}

func TestClassifyWithTheProvidersTables(t *testing.T) {
	reset := time.Date(2031, 5, 4, 6, 0, 0, 0, time.UTC)
	tests := []struct {
		name  string
		table judge.ErrorTable
		resp  judge.Response
		want  prosecutor.ErrorKind
	}{
		{"success", judge.OpenAIErrors(), judge.Response{Status: 200}, ""},
		{"a 200 with an unknown code is an error all the same", judge.OpenAIErrors(), judge.Response{Status: 200, Code: "oops"}, prosecutor.Transport},
		{"redirect", judge.OpenAIErrors(), judge.Response{Status: 307}, prosecutor.Transport},
		{"rate limit", judge.OpenAIErrors(), judge.Response{Status: 429, Code: "rate_limit_exceeded", Type: "requests"}, prosecutor.Transport},
		{"quota by code", judge.OpenAIErrors(), judge.Response{Status: 429, Code: "insufficient_quota"}, prosecutor.Quota},
		{"quota by type", judge.OpenAIErrors(), judge.Response{Status: 429, Type: "insufficient_quota"}, prosecutor.Quota},
		{"quota outranks forbidden", judge.OpenAIErrors(), judge.Response{Status: 403, Code: "insufficient_quota"}, prosecutor.Quota},
		{"hard limit", judge.OpenAIErrors(), judge.Response{Status: 400, Code: "billing_hard_limit_reached"}, prosecutor.Quota},
		{"payment required", judge.OpenAIErrors(), judge.Response{Status: 402}, prosecutor.Quota},
		{"rejected key", judge.OpenAIErrors(), judge.Response{Status: 401, Code: "invalid_api_key"}, prosecutor.Auth},
		{"forbidden", judge.OpenAIErrors(), judge.Response{Status: 403}, prosecutor.Auth},
		{"content filter", judge.OpenAIErrors(), judge.Response{Status: 400, Code: "content_filter"}, prosecutor.Refusal},
		{"bad request", judge.OpenAIErrors(), judge.Response{Status: 400, Code: "context_length_exceeded"}, prosecutor.Transport},
		{"server error", judge.OpenAIErrors(), judge.Response{Status: 503}, prosecutor.Transport},
		{"gateway time-out is a server error", judge.OpenAIErrors(), judge.Response{Status: 504}, prosecutor.Transport},
		{"moderated input", judge.OpenRouterErrors(), judge.Response{Status: 403}, prosecutor.Refusal},
		{"router without credit", judge.OpenRouterErrors(), judge.Response{Status: 402}, prosecutor.Quota},
		{"overloaded", judge.AnthropicErrors(), judge.Response{Status: 529, Type: "overloaded_error"}, prosecutor.Transport},
		{"billing", judge.AnthropicErrors(), judge.Response{Status: 402, Type: "billing_error"}, prosecutor.Quota},
		{"billing as forbidden", judge.AnthropicErrors(), judge.Response{Status: 403, Type: "billing_error"}, prosecutor.Quota},
		{"permission", judge.AnthropicErrors(), judge.Response{Status: 403, Type: "permission_error"}, prosecutor.Auth},
		{"no credit in words only", judge.AnthropicErrors(), judge.Response{Status: 400, Type: "invalid_request_error"}, prosecutor.Transport},
		{"provider gave up", judge.AnthropicErrors(), judge.Response{Status: 504, Type: "timeout_error"}, prosecutor.Timeout},
		{"network time-out", judge.AnthropicErrors(), judge.Response{Network: judge.NetworkTimeout}, prosecutor.Timeout},
		{"network broken", judge.AnthropicErrors(), judge.Response{Network: judge.NetworkBroken}, prosecutor.Transport},
		{"unknown local cause", judge.AnthropicErrors(), judge.Response{Network: "odd"}, prosecutor.Transport},
		{"given up", judge.AnthropicErrors(), judge.Response{Network: judge.NetworkCanceled}, prosecutor.Canceled},
		{"an empty row matches nothing", judge.ErrorTable{Quota: []judge.ErrorRow{{}}}, judge.Response{Status: 500}, prosecutor.Transport},
		{"exit code", judge.ErrorTable{Quota: []judge.ErrorRow{{Status: 3}}}, judge.Response{Status: 3}, prosecutor.Quota},
		{
			"the exact row wins", judge.ErrorTable{Quota: []judge.ErrorRow{{Status: 429}}, Transport: []judge.ErrorRow{{Status: 429, Code: "busy"}}},
			judge.Response{Status: 429, Code: "busy"}, prosecutor.Transport,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.resp.ResetAt = reset
			got := judge.Classify(test.table, test.resp)
			if got.Kind != test.want {
				t.Errorf("kind %q, want %q", got.Kind, test.want)
			}
			if open := !got.BreakerOpenUntil.IsZero(); open != (test.want == prosecutor.Quota) {
				t.Errorf("breaker open until %v for %q", got.BreakerOpenUntil, got.Kind)
			}
		})
	}
}

// Whatever a table says, what is not a success is a failure of one of the kinds that a call can have.
func TestClassifyFailsClosed(t *testing.T) {
	kinds := []prosecutor.ErrorKind{prosecutor.Quota, prosecutor.Auth, prosecutor.Refusal, prosecutor.Timeout, prosecutor.Transport}
	rapid.Check(t, func(t *rapid.T) {
		row := rapid.Custom(func(t *rapid.T) judge.ErrorRow {
			return judge.ErrorRow{
				Status: rapid.SampledFrom([]int{0, 200, 400, 402, 429, 500}).Draw(t, "status"),
				Code:   rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "code"),
			}
		})
		rows := rapid.SliceOfN(row, 0, 3)
		table := judge.ErrorTable{
			Quota: rows.Draw(t, "quota"), Auth: rows.Draw(t, "auth"), Refusal: rows.Draw(t, "refusal"),
			Timeout: rows.Draw(t, "timeout"), Transport: rows.Draw(t, "transport"),
		}
		resp := judge.Response{
			Status: rapid.SampledFrom([]int{100, 301, 400, 402, 429, 500, 599}).Draw(t, "status"),
			Code:   rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(t, "code"),
		}
		got := judge.Classify(table, resp)
		for _, k := range kinds {
			if got.Kind == k {
				return
			}
		}
		t.Fatalf("%+v became %q", resp, got.Kind)
	})
}

func TestResetTime(t *testing.T) {
	now := time.Date(2031, 5, 4, 6, 0, 0, 0, time.UTC)
	in := now.Add
	tests := []struct {
		name   string
		header map[string]string
		want   time.Time
	}{
		{"nothing", nil, time.Time{}},
		{"seconds", map[string]string{"Retry-After": "30"}, in(30 * time.Second)},
		{"part of a second", map[string]string{"Retry-After": "0.5"}, in(500 * time.Millisecond)},
		{"date", map[string]string{"Retry-After": "Sun, 04 May 2031 07:00:00 GMT"}, in(time.Hour)},
		{"date that has passed", map[string]string{"Retry-After": "Sun, 04 May 2031 05:00:00 GMT"}, now},
		{"milliseconds first", map[string]string{"Retry-After-Ms": "1500", "Retry-After": "30"}, in(1500 * time.Millisecond)},
		{"negative", map[string]string{"Retry-After": "-5"}, time.Time{}},
		{"not legible", map[string]string{"Retry-After": "soon"}, time.Time{}},
		{"not a number", map[string]string{"Retry-After": "NaN"}, time.Time{}},
		{"absurd", map[string]string{"Retry-After": "1e300"}, in(judge.MaxReset)},
		{"Retry-After decides", map[string]string{"Retry-After": "5", "X-Ratelimit-Reset-Tokens": "6m0s"}, in(5 * time.Second)},
		{"durations, latest", map[string]string{"X-Ratelimit-Reset-Requests": "120ms", "X-Ratelimit-Reset-Tokens": "6m0s"}, in(6 * time.Minute)},
		{"durations, the exhausted one", map[string]string{
			"X-Ratelimit-Reset-Requests": "20s", "X-Ratelimit-Remaining-Requests": "0",
			"X-Ratelimit-Reset-Tokens": "6m0s", "X-Ratelimit-Remaining-Tokens": "1000",
		}, in(20 * time.Second)},
		{"RFC 3339, the exhausted one", map[string]string{
			"Anthropic-Ratelimit-Requests-Reset": "2031-05-04T06:00:10Z", "Anthropic-Ratelimit-Requests-Remaining": "40",
			"Anthropic-Ratelimit-Input-Tokens-Reset": "2031-05-04T06:01:00Z", "Anthropic-Ratelimit-Input-Tokens-Remaining": "0",
			"Anthropic-Ratelimit-Output-Tokens-Reset": "2031-05-04T06:30:00Z", "Anthropic-Ratelimit-Output-Tokens-Remaining": "9",
		}, in(time.Minute)},
		{"Unix seconds", map[string]string{"X-Ratelimit-Reset": fmt.Sprint(in(time.Hour).Unix())}, in(time.Hour)},
		{"Unix milliseconds", map[string]string{"X-Ratelimit-Reset": fmt.Sprint(in(time.Hour).UnixMilli())}, in(time.Hour)},
		{"seconds from now", map[string]string{"X-Ratelimit-Reset": "90"}, in(90 * time.Second)},
		{"passed", map[string]string{"X-Ratelimit-Reset": fmt.Sprint(in(-time.Hour).Unix())}, time.Time{}},
		{"too far", map[string]string{"X-Ratelimit-Reset": "2099-01-01T00:00:00Z"}, in(judge.MaxReset)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			h := http.Header{}
			for name, v := range test.header {
				h.Set(name, v)
			}
			if got := judge.ResetTime(h, now); !got.Equal(test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

// No header can make a reset time that lies in the past or further ahead than MaxReset.
func FuzzResetTime(f *testing.F) {
	for _, v := range []string{"30", "1e308", "-1", "6m0s", "2031-05-04T06:00:10Z", "Sun, 04 May 2031 07:00:00 GMT", "99999999999", "NaN", "Inf"} {
		f.Add(v, v)
	}
	now := time.Date(2031, 5, 4, 6, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, after, reset string) {
		h := http.Header{"Retry-After": {after}, "X-Ratelimit-Reset": {reset}}
		at := judge.ResetTime(h, now)
		if !at.IsZero() && (at.Before(now) || at.After(now.Add(judge.MaxReset))) {
			t.Errorf("reset at %v", at)
		}
	})
}

func TestSecretIsNeverShown(t *testing.T) {
	const text = "sk-very-secret-value"
	s := judge.NewSecret(text)
	holder := struct {
		Key judge.Secret
		Ptr *judge.Secret
	}{s, &s}
	raw, err := json.Marshal(holder)
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("key", "key", s, "holder", holder)
	shown := []string{string(raw), log.String(), s.String(), errors.New(s.String()).Error()}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		shown = append(shown, fmt.Sprintf(verb, s), fmt.Sprintf(verb, &s), fmt.Sprintf(verb, holder), fmt.Sprintf(verb, []judge.Secret{s}))
	}
	for _, out := range shown {
		if strings.Contains(out, text) || strings.Contains(out, fmt.Sprintf("%x", text)) {
			t.Errorf("shown: %s", out)
		}
	}
	if s.Reveal() != text {
		t.Error("the secret was lost")
	}
}
