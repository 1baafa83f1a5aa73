package openai_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/judge"
	"github.com/prosecutor-bot/prosecutor/prosecutor/judge/openai"
	"github.com/prosecutor-bot/prosecutor/test/modeltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const model = "model-1"

func request() judge.Request {
	return judge.Request{
		Lens: prosecutor.Correctness, System: "Answer in JSON.", Messages: []judge.Message{{Role: judge.User, Text: "judge this"}},
		Schema: []byte(`{"type":"object","additionalProperties":false,"required":["verdict"],"properties":{"verdict":{"type":"string"}}}`),
	}
}

func newJudge(t *testing.T, o openai.Options) *openai.Judge {
	t.Helper()
	o.Info.ID, o.Info.Model = "fern-large", model
	j, err := openai.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j
}

// toServer sends every request to the stand-in, whatever host it is for.
type toServer struct {
	server *modeltest.Server
	next   http.RoundTripper
	hosts  *[]string
}

func (r toServer) RoundTrip(req *http.Request) (*http.Response, error) {
	*r.hosts = append(*r.hosts, req.URL.Scheme+"://"+req.URL.Host)
	req = req.Clone(req.Context())
	req.URL.Scheme, req.URL.Host = "http", strings.TrimPrefix(r.server.URL, "http://")
	return r.next.RoundTrip(req)
}

func TestAddresses(t *testing.T) {
	tests := []struct {
		name, base, host, path, query string
		azure                         bool
		tokens                        string // the name of the token limit
	}{
		{"default", "", "https://api.openai.com", "/v1/chat/completions", "", false, "max_completion_tokens"},
		{"slash at the end", "https://gateway.example/v1/", "https://gateway.example", "/v1/chat/completions", "", false, "max_tokens"},
		{"no path", "https://gateway.example", "https://gateway.example", "/chat/completions", "", false, "max_tokens"},
		{"Gemini", "https://generativelanguage.googleapis.com/v1beta/openai", "https://generativelanguage.googleapis.com", "/v1beta/openai/chat/completions", "", false, "max_tokens"},
		{"OpenRouter", "https://openrouter.ai/api/v1", "https://openrouter.ai", "/api/v1/chat/completions", "", false, "max_tokens"},
		{"Azure", "https://res.openai.azure.com/openai/v1", "https://res.openai.azure.com", "/openai/v1/chat/completions", "", true, "max_completion_tokens"},
		{"Azure deployment", "https://res.openai.azure.com/openai/deployments/dep?api-version=2024-10-21", "https://res.openai.azure.com", "/openai/deployments/dep/chat/completions", "api-version=2024-10-21", true, "max_completion_tokens"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := modeltest.New(t)
			s.Keys("the-key")
			s.Queue(model, modeltest.Ship())
			transport := &http.Transport{}
			defer transport.CloseIdleConnections()
			var hosts []string
			j := newJudge(t, openai.Options{
				BaseURL: test.base, Key: judge.NewSecret("the-key"), MaxTokens: 500,
				Transport: toServer{server: s, next: transport, hosts: &hosts},
			})
			if _, err := j.Ask(t.Context(), request()); err != nil {
				t.Fatal(err)
			}
			got := s.Requests()[0]
			if hosts[0] != test.host || got.Path != test.path || got.Query.Encode() != test.query {
				t.Errorf("called %s%s?%s", hosts[0], got.Path, got.Query.Encode())
			}
			wantHeaders := map[string]string{"Authorization": "Bearer the-key", "Api-Key": ""}
			if test.azure {
				wantHeaders = map[string]string{"Authorization": "", "Api-Key": "the-key"}
			}
			for name, want := range wantHeaders {
				if v := got.Header.Get(name); v != want {
					t.Errorf("header %s is %q, want %q", name, v, want)
				}
			}
			var body map[string]any
			if err := json.Unmarshal(got.Body, &body); err != nil {
				t.Fatal(err)
			}
			if body[test.tokens] != float64(500) {
				t.Errorf("no %s in %s", test.tokens, got.Body)
			}
			if provider := strings.TrimPrefix(test.host, "https://"); j.Info().Provider != provider {
				t.Errorf("provider %q, want %q", j.Info().Provider, provider)
			}
		})
	}
}

func TestTokenLimitIsLeftToTheServer(t *testing.T) {
	s := modeltest.New(t)
	s.Keyless()
	s.Queue(model, modeltest.Ship())
	if _, err := newJudge(t, openai.Options{BaseURL: s.OpenAI()}).Ask(t.Context(), request()); err != nil {
		t.Fatal(err)
	}
	if n := s.Requests()[0].MaxTokens; n != 0 {
		t.Errorf("a limit of %d was sent", n)
	}
}

// Reasoning models reject max_tokens, other servers know nothing else.
func TestTokenLimitChangesItsName(t *testing.T) {
	s := modeltest.New(t)
	s.Keyless()
	s.Rejects(model, "max_tokens")
	s.Default(modeltest.Ship())
	j := newJudge(t, openai.Options{BaseURL: s.OpenAI(), MaxTokens: 500})
	for call, want := range []int{2, 1} {
		reply, err := j.Ask(t.Context(), request())
		if err != nil {
			t.Fatal(err)
		}
		if reply.Requests != want || s.Requests()[call].Output != "json_schema" {
			t.Errorf("call %d took %d requests, want %d, and asked for output %q", call, reply.Requests, want, s.Requests()[call].Output)
		}
	}

	// A server that takes neither is not asked for ever.
	neither := modeltest.New(t)
	neither.Keyless()
	neither.Rejects(model, "max_tokens", "max_completion_tokens")
	reply, err := newJudge(t, openai.Options{BaseURL: neither.OpenAI(), MaxTokens: 500}).Ask(t.Context(), request())
	if err == nil || reply.Requests != 2 {
		t.Errorf("%d requests: %v", reply.Requests, err)
	}
}

func TestSchemaThatStrictModeWouldRejectIsAHint(t *testing.T) {
	s := modeltest.New(t)
	s.Keyless()
	s.Queue(model, modeltest.Ship())
	req := request()
	req.Schema = []byte(`{"type":"object","properties":{"verdict":{"type":"string"}}}`)
	if _, err := newJudge(t, openai.Options{BaseURL: s.OpenAI()}).Ask(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	got := s.Requests()[0]
	if got.Strict || string(got.Schema) != string(req.Schema) {
		t.Errorf("strict %t, schema %s", got.Strict, got.Schema)
	}
}

func TestRouterThatModeratesTheInput(t *testing.T) {
	s := modeltest.New(t)
	s.Queue(model, modeltest.Forbid())
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	var hosts []string
	j := newJudge(t, openai.Options{
		BaseURL: "https://openrouter.ai/api/v1", Key: judge.NewSecret("the-key"),
		Transport: toServer{server: s, next: transport, hosts: &hosts},
	})
	_, err := j.Ask(t.Context(), request())
	var got *judge.Error
	if !errors.As(err, &got) || got.Kind != prosecutor.Refusal {
		t.Error(err)
	}
}

func TestTableOfTheOptions(t *testing.T) {
	s := modeltest.New(t)
	s.Keyless()
	s.Queue(model, modeltest.Problematic("own quota", modeltest.Problem{Status: 418, Code: "teapot_empty", Message: "no tea"}))
	j := newJudge(t, openai.Options{
		BaseURL: s.OpenAI(), Errors: &judge.ErrorTable{Quota: []judge.ErrorRow{{Status: 418, Code: "teapot_empty"}}},
	})
	_, err := j.Ask(t.Context(), request())
	var got *judge.Error
	if !errors.As(err, &got) || got.Kind != prosecutor.Quota {
		t.Error(err)
	}
}
