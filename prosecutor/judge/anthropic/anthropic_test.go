package anthropic_test

import (
	"errors"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/judge"
	"github.com/prosecutor-bot/prosecutor/prosecutor/judge/anthropic"
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

func newJudge(t *testing.T, o anthropic.Options) *anthropic.Judge {
	t.Helper()
	o.Info.ID, o.Info.Model, o.Key = "onyx-1", model, judge.NewSecret("the-key")
	j, err := anthropic.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j
}

func TestRequest(t *testing.T) {
	for _, suffix := range []string{"", "/", "/v1", "/v1/"} {
		s := modeltest.New(t)
		s.Keys("the-key")
		s.Queue(model, modeltest.Ship())
		j := newJudge(t, anthropic.Options{BaseURL: s.URL + suffix})
		if _, err := j.Ask(t.Context(), request()); err != nil {
			t.Fatalf("base_url with %q: %v", suffix, err)
		}
		got := s.Requests()[0]
		if got.Path != "/v1/messages" || got.MaxTokens != anthropic.DefaultMaxTokens {
			t.Errorf("base_url with %q: path %s, max_tokens %d", suffix, got.Path, got.MaxTokens)
		}
		if v := got.Header.Get("Anthropic-Version"); v != "2023-06-01" {
			t.Errorf("version %q", v)
		}
		if j.Info().Provider != strings.TrimPrefix(s.URL, "http://") {
			t.Errorf("provider %q", j.Info().Provider)
		}
	}
}

func TestUsageCountsCachedTokens(t *testing.T) {
	s := modeltest.New(t)
	s.Queue(model, modeltest.Ship().WithUsage(modeltest.Usage{In: 100, CacheWrite: 200, CacheRead: 300, Out: 50}))
	reply, err := newJudge(t, anthropic.Options{BaseURL: s.URL, Price: &config.Price{Input: 1000, Output: 1000}}).Ask(t.Context(), request())
	if err != nil || reply.TokensIn != 600 || reply.TokensOut != 50 || reply.CostUSD != 0.65 {
		t.Errorf("%+v, %v", reply, err)
	}
}

// The SDK refuses large answers that are not streamed unless it is told a time-out.
func TestLargeTokenLimit(t *testing.T) {
	s := modeltest.New(t)
	s.Queue(model, modeltest.Ship())
	if _, err := newJudge(t, anthropic.Options{BaseURL: s.URL, MaxTokens: 128_000}).Ask(t.Context(), request()); err != nil {
		t.Fatal(err)
	}
	if n := s.Requests()[0].MaxTokens; n != 128_000 {
		t.Errorf("max_tokens %d", n)
	}
}

func TestSchemaThatIsNoJSON(t *testing.T) {
	s := modeltest.New(t)
	req := request()
	req.Schema = []byte(`{`)
	_, err := newJudge(t, anthropic.Options{BaseURL: s.URL}).Ask(t.Context(), req)
	var got *judge.Error
	if !errors.As(err, &got) || got.Kind != prosecutor.Transport || s.Calls("") != 0 {
		t.Errorf("%v after %d calls", err, s.Calls(""))
	}
}
