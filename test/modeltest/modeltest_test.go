package modeltest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	claude "github.com/anthropics/anthropic-sdk-go"
	claudeoption "github.com/anthropics/anthropic-sdk-go/option"
	oai "github.com/openai/openai-go/v3"
	oaioption "github.com/openai/openai-go/v3/option"
	"go.uber.org/goleak"

	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/charter"
	"github.com/prosecutor-bot/prosecutor/prosecutor/contract"
	"github.com/prosecutor-bot/prosecutor/prosecutor/diff"
	"github.com/prosecutor-bot/prosecutor/prosecutor/judge"
	"github.com/prosecutor-bot/prosecutor/prosecutor/judge/openai"
	"github.com/prosecutor-bot/prosecutor/test/modeltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const model = "model-1"

// Every fault breaks the contract, and a repair mends every one.
func TestFaultsBreakTheContract(t *testing.T) {
	const change = "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-old\n+new\n"
	d, err := diff.ParseString(change)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range modeltest.Faults() {
		t.Run(f.Name, func(t *testing.T) {
			s := modeltest.New(t)
			s.Keyless()
			j, err := openai.New(openai.Options{Info: judge.Info{ID: "j", Model: model}, BaseURL: s.OpenAI(), Output: "text"})
			if err != nil {
				t.Fatal(err)
			}
			defer j.Close()
			ask := func() contract.Pass {
				return contract.Prosecute(t.Context(), j, contract.Input{
					Lens: prosecutor.Correctness, Brief: &charter.Brief{Diff: d, Text: change, Spec: "change the text"},
				})
			}
			s.Queue(model, modeltest.Fault(f.Name), modeltest.Fault(f.Name))
			if p := ask(); p.Verdict != prosecutor.Errored || p.ErrorKind != prosecutor.SchemaViolation || p.Calls != 2 {
				t.Errorf("twice: %s %q after %d calls", p.Verdict, p.ErrorKind, p.Calls)
			}
			s.Queue(model, modeltest.Fault(f.Name), modeltest.Ship())
			if p := ask(); p.Verdict != prosecutor.Ship || p.Repairs != 1 {
				t.Errorf("repaired: %s %q after %d repairs", p.Verdict, p.ErrorKind, p.Repairs)
			}
			if r := s.Requests()[3]; !r.Repair() {
				t.Error("the repair does not carry the first answer")
			}
		})
	}
}

func TestStreams(t *testing.T) {
	const text = `{"verdict":"block","findings":[{"severity":"high","charge":"tests","claim":"Grüße, 世界: nothing tests this."}]}`
	s := modeltest.New(t)
	s.Default(modeltest.Answer(text).WithUsage(modeltest.Usage{In: 11, Out: 22}))

	chat := oai.NewChatCompletionService(oaioption.WithBaseURL(s.OpenAI()), oaioption.WithAPIKey("k"))
	stream := chat.NewStreaming(t.Context(), oai.ChatCompletionNewParams{
		Model: model, Messages: []oai.ChatCompletionMessageParamUnion{oai.UserMessage("hello")},
		StreamOptions: oai.ChatCompletionStreamOptionsParam{IncludeUsage: oai.Bool(true)},
	})
	acc := oai.ChatCompletionAccumulator{}
	for stream.Next() {
		acc.AddChunk(stream.Current())
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	if got := acc.Choices[0]; got.Message.Content != text || got.FinishReason != "stop" || acc.Usage.CompletionTokens != 22 {
		t.Errorf("%q, %s, %+v", got.Message.Content, got.FinishReason, acc.Usage)
	}

	messages := claude.NewMessageService(claudeoption.WithBaseURL(s.Anthropic()), claudeoption.WithAPIKey("k"))
	events := messages.NewStreaming(t.Context(), claude.MessageNewParams{
		Model: model, MaxTokens: 100, Messages: []claude.MessageParam{claude.NewUserMessage(claude.NewTextBlock("hello"))},
	})
	var message claude.Message
	for events.Next() {
		if err := message.Accumulate(events.Current()); err != nil {
			t.Fatal(err)
		}
	}
	if err := events.Err(); err != nil {
		t.Fatal(err)
	}
	if message.Content[0].Text != text || message.StopReason != "end_turn" || message.Usage.OutputTokens != 22 {
		t.Errorf("%+v", message)
	}
	http.DefaultClient.CloseIdleConnections()
}

// post sends a raw request and returns the status and the body.
func post(t *testing.T, url, contentType string, header map[string]string, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", contentType)
	for name, v := range header {
		req.Header.Set(name, v)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(bytes.TrimSpace(raw))
}

func TestRequestsAreHeldToTheAPI(t *testing.T) {
	bearer := map[string]string{"Authorization": "Bearer k"}
	version := map[string]string{"x-api-key": "k", "anthropic-version": "2023-06-01"}
	const jsonType = "application/json"
	tests := []struct {
		name, path, contentType string
		header                  map[string]string
		body                    string
		status                  int
		says                    string
	}{
		{"valid", "/v1/chat/completions", jsonType, bearer, `{"model":"m","messages":[{"role":"user","content":"x"}]}`, 200, ""},
		{"parts", "/v1/chat/completions", jsonType, bearer, `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"x"}]}]}`, 200, ""},
		{"no key", "/v1/chat/completions", jsonType, nil, `{"model":"m","messages":[{"role":"user","content":"x"}]}`, 401, "invalid_api_key"},
		{"no JSON type", "/v1/chat/completions", "text/plain", bearer, `{}`, 400, "unsupported_content_type"},
		{"no JSON", "/v1/chat/completions", jsonType, bearer, `{`, 400, "invalid_json"},
		{"no model", "/v1/chat/completions", jsonType, bearer, `{"messages":[{"role":"user","content":"x"}]}`, 400, "model parameter"},
		{"no messages", "/v1/chat/completions", jsonType, bearer, `{"model":"m","messages":[]}`, 400, "empty_array"},
		{"role", "/v1/chat/completions", jsonType, bearer, `{"model":"m","messages":[{"role":"judge","content":"x"}]}`, 400, "invalid_value"},
		{"null content", "/v1/chat/completions", jsonType, bearer, `{"model":"m","messages":[{"role":"user","content":null}]}`, 400, "invalid_type"},
		{"unknown field", "/v1/chat/completions", jsonType, bearer, `{"model":"m","messages":[{"role":"user","content":"x"}],"max_token":1}`, 400, "unknown_parameter"},
		{"no tokens", "/v1/chat/completions", jsonType, bearer, `{"model":"m","messages":[{"role":"user","content":"x"}],"max_tokens":0}`, 400, "integer_below_min_value"},
		{"two limits", "/v1/chat/completions", jsonType, bearer, `{"model":"m","messages":[{"role":"user","content":"x"}],"max_tokens":1,"max_completion_tokens":1}`, 400, "same time"},
		{"JSON mode without the word", "/v1/chat/completions", jsonType, bearer, `{"model":"m","messages":[{"role":"user","content":"x"}],"response_format":{"type":"json_object"}}`, 400, "must contain the word"},
		{"schema without a name", "/v1/chat/completions", jsonType, bearer, `{"model":"m","messages":[{"role":"user","content":"x"}],"response_format":{"type":"json_schema","json_schema":{"schema":{}}}}`, 400, "name"},
		{"schema that is not strict", "/v1/chat/completions", jsonType, bearer, `{"model":"m","messages":[{"role":"user","content":"x"}],"response_format":{"type":"json_schema","json_schema":{"name":"a","strict":true,"schema":{"type":"object","properties":{"a":{}}}}}}`, 400, "additionalProperties"},
		{"format", "/v1/chat/completions", jsonType, bearer, `{"model":"m","messages":[{"role":"user","content":"x"}],"response_format":{"type":"yaml"}}`, 400, "invalid_value"},
		{"valid", "/v1/messages", jsonType, version, `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"x"}]}`, 200, ""},
		{"no version", "/v1/messages", jsonType, map[string]string{"x-api-key": "k"}, `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"x"}]}`, 400, "anthropic-version"},
		{"bearer token", "/v1/messages", jsonType, map[string]string{"Authorization": "Bearer k", "anthropic-version": "2023-06-01"}, `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"x"}]}`, 401, "authentication_error"},
		{"no max_tokens", "/v1/messages", jsonType, version, `{"model":"m","messages":[{"role":"user","content":"x"}]}`, 400, "max_tokens: Field required"},
		{"no model", "/v1/messages", jsonType, version, `{"max_tokens":1,"messages":[{"role":"user","content":"x"}]}`, 400, "model: Field required"},
		{"no messages", "/v1/messages", jsonType, version, `{"model":"m","max_tokens":1,"messages":[]}`, 400, "at least one message"},
		{"system role", "/v1/messages", jsonType, version, `{"model":"m","max_tokens":1,"messages":[{"role":"system","content":"x"}]}`, 400, "messages.0.role"},
		{"assistant first", "/v1/messages", jsonType, version, `{"model":"m","max_tokens":1,"messages":[{"role":"assistant","content":"x"}]}`, 400, "first message"},
		{"empty text", "/v1/messages", jsonType, version, `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":" "}]}`, 400, "non-empty"},
		{"schema with limits", "/v1/messages", jsonType, version, `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"x"}],"output_config":{"format":{"type":"json_schema","schema":{"type":"object","additionalProperties":false,"properties":{"a":{"type":"number","minimum":0}}}}}}`, 400, "minimum"},
		{"open schema", "/v1/messages", jsonType, version, `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"x"}],"output_config":{"format":{"type":"json_schema","schema":{"type":"object","properties":{}}}}}`, 400, "additionalProperties"},
		{"unknown path", "/v1/completions", jsonType, bearer, `{}`, 404, ""},
	}
	s := modeltest.New(t)
	s.Default(modeltest.Ship())
	for _, test := range tests {
		t.Run(test.path+"/"+test.name, func(t *testing.T) {
			before := s.Calls("")
			status, body := post(t, s.URL+test.path, test.contentType, test.header, test.body)
			if status != test.status || !strings.Contains(body, test.says) {
				t.Errorf("status %d: %s", status, body)
			}
			if counted := s.Calls("") - before; counted != 0 != (test.status == 200) {
				t.Errorf("counted as %d calls", counted)
			}
		})
	}
}

func TestWhoDecides(t *testing.T) {
	s := modeltest.Start()
	defer s.Close()
	s.Models("a", "b")
	s.Queue("a", modeltest.Answer("queue 1"), modeltest.Answer("queue 2"))
	s.Respond(func(r modeltest.Request) (modeltest.Behaviour, bool) {
		if r.Lens() == prosecutor.Security {
			return modeltest.Answer("security"), true
		}
		return modeltest.Behaviour{}, false
	})
	ask := func(model, system string) string {
		body, err := json.Marshal(map[string]any{"model": model, "messages": []any{
			map[string]any{"role": "system", "content": system}, map[string]any{"role": "user", "content": "x"},
		}})
		if err != nil {
			t.Fatal(err)
		}
		_, answer := post(t, s.OpenAI()+"/chat/completions", "application/json", map[string]string{"Authorization": "Bearer k"}, string(body))
		return answer
	}
	steps := []struct{ model, system, says string }{
		{"a", "x", "queue 1"},
		{"a", "Your lens: security\n", "security"},
		{"a", "Your lens: correctness\n", "queue 2"},
		{"a", "x", "script_exhausted"},
		{"b", "x", "script_exhausted"},
		{"c", "x", "model_not_found"},
	}
	for i, step := range steps {
		if got := ask(step.model, step.system); !strings.Contains(got, step.says) {
			t.Errorf("step %d: %s", i, got)
		}
	}
	s.Default(modeltest.Answer("default"))
	if got := ask("b", "x"); !strings.Contains(got, "default") {
		t.Error(got)
	}
	if got := s.Unexpected(); len(got) != 2 {
		t.Errorf("unexpected: %q", got)
	}
	if s.Calls("a") != 4 || s.Calls("b") != 2 || s.Calls("") != 6 || len(s.Rejected()) != 1 || s.Left("a") != 0 {
		t.Errorf("calls %d, %d, %d; rejected %q", s.Calls("a"), s.Calls("b"), s.Calls(""), s.Rejected())
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := s.Wait(ctx, 6); err != nil {
		t.Error(err)
	}
	if err := s.Wait(ctx, 7); err == nil {
		t.Error("a request that never came has arrived")
	}
}

func TestUnknownFaultPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("it did not")
		}
	}()
	modeltest.Fault("no such fault")
}
