package wire

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/prosecutor/charter"
)

func TestClean(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"plain", "model not found", "model not found"},
		{"lines", "a\r\n\tb\u2028c", "a b c"},
		{"escapes", "\x1b[31mred\x1b[0m \x1b]0;title\x07end", "red end"},
		{"invisible", "a\u200bb\u202ec\x00d\x07", "abcd"},
		{"invalid", "a\xff\xfeb", "ab"},
		{"the secret", "key hunter22 rejected", "key *** rejected"},
		{"the secret in pieces", "key hun\x1b[1mter\u200b22 rejected", "key *** rejected"},
		{"a key of OpenAI", "Incorrect API key provided: sk-proj-abc123********wxyz.", "Incorrect API key provided: ***"},
		{"a bearer token", `header "Authorization: Bearer abc.def.ghi" refused`, `header "Authorization: ***" refused`},
		{"a token of GitHub", "using ghp_0123456789abcdef", "using ***"},
		{"a key of Google", "key AIzaSyA0123456789", "key ***"},
		{"no key", "task-runner: risk-averse sk-1 desk-lamp-holder", "task-runner: risk-averse sk-1 desk-lamp-holder"},
		{"long", strings.Repeat("é", 90), strings.Repeat("é", 80) + "..."},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := Clean(test.in, 80, "hunter22", "", "abc"); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func FuzzClean(f *testing.F) {
	f.Add("key hun\x1b[1mter22", 20)
	f.Add("\x1b]0;hunter22", 3)
	f.Add("hun\xffter22\u200b", 100)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		if limit < 0 || limit > 1000 {
			return
		}
		got := Clean(text, limit, "hunter22")
		if strings.Contains(got, "hunter22") {
			t.Errorf("shows the secret: %q", got)
		}
		if !utf8.ValidString(got) || utf8.RuneCountInString(got) > limit+3 {
			t.Errorf("not valid or too long: %q", got)
		}
		for _, r := range got {
			if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
				t.Errorf("holds %U: %q", r, got)
			}
		}
	})
}

func TestCheckPrivate(t *testing.T) {
	for address, ok := range map[string]bool{
		"127.0.0.1:80": true, "[::1]:80": true, "10.1.2.3:80": true, "192.168.1.9:80": true, "172.16.0.1:80": true,
		"[fd00::1]:80": true, "[fe80::1%eth0]:80": true, "100.64.0.1:80": true, "[::ffff:10.0.0.1]:80": true,
		"8.8.8.8:80": false, "172.32.0.1:80": false, "[2001:db8::1]:80": false, "[::ffff:8.8.8.8]:80": false, "nonsense": false,
	} {
		if err := checkPrivate(address); (err == nil) != ok {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// A key that would travel unencrypted does not reach a public address, whatever its name resolves to.
func TestPrivateTransportRefusesPublicAddresses(t *testing.T) {
	client := NewClient(NewTransport(true))
	defer client.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://192.0.2.1/", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	res, err := client.Do(req)
	if err == nil {
		res.Body.Close()
		t.Fatal("the connection was made")
	}
	if !strings.Contains(err.Error(), "use https") {
		t.Errorf("the error does not say what to do: %v", err)
	}
}

func TestTransportVerifiesCertificates(t *testing.T) {
	s := httptest.NewTLSServer(http.NotFoundHandler())
	s.Config.ErrorLog = nil
	defer s.Close()
	client := NewClient(NewTransport(false))
	defer client.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	res, err := client.Do(req)
	if err == nil {
		res.Body.Close()
		t.Fatal("a certificate that nobody signed was taken")
	}
	if !strings.Contains(err.Error(), "certificate") {
		t.Error(err)
	}
}

func TestParseError(t *testing.T) {
	tests := []struct{ name, body, code, typ, message string }{
		{"openai", `{"error":{"message":"m","type":"t","param":null,"code":"c"}}`, "c", "t", "m"},
		{"null code", `{"error":{"message":"m","type":"t","param":null,"code":null}}`, "", "t", "m"},
		{"anthropic", `{"type":"error","error":{"type":"t","message":"m"}}`, "", "t", "m"},
		{"google", `[{"error":{"code":429,"message":"m","status":"RESOURCE_EXHAUSTED"}}]`, "RESOURCE_EXHAUSTED", "", "m"},
		{"openrouter", `{"error":{"code":402,"message":"m"},"user_id":"u"}`, "", "", "m"},
		{"vllm", `{"object":"error","message":"m","type":"BadRequestError","param":null,"code":400}`, "", "BadRequestError", "m"},
		{"ollama", `{"error":"m"}`, "", "", "m"},
		{"odd types", `{"error":{"message":7,"type":"t","code":"c","param":[]}}`, "c", "t", ""},
		{"html", `<html>`, "", "", ""},
		{"empty", ``, "", "", ""},
		{"empty list", `[]`, "", "", ""},
		{"number", `7`, "", "", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := &Failure{Status: 400, Retry: -1}
			f.parse([]byte(test.body), time.Time{})
			if f.Code != test.code || f.Type != test.typ || f.Message != test.message {
				t.Errorf("code %q, type %q, message %q", f.Code, f.Type, f.Message)
			}
		})
	}
}

func FuzzParseError(f *testing.F) {
	for _, body := range []string{`{"error":{"code":"c"}}`, `[{"error":{"code":429,"details":[{"retryDelay":"9e9s"}]}}]`, `{"error":"x"}`, `[`, `null`} {
		f.Add(body)
	}
	now := time.Date(2031, 5, 4, 6, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, body string) {
		x := &Failure{Status: 429, Retry: -1}
		x.parse([]byte(body), now)
		if !x.ResetAt.IsZero() && (x.ResetAt.Before(now) || x.ResetAt.After(now.AddDate(0, 0, 32))) {
			t.Errorf("reset at %v", x.ResetAt)
		}
		if n := NumericCode(json.RawMessage(body)); n != 0 && (n < 100 || n > 599) {
			t.Errorf("code %d", n)
		}
	})
}

func TestStrict(t *testing.T) {
	tests := []struct {
		name, schema string
		want         bool
	}{
		{"the charter's", string(charter.StrictSchema()), true},
		{"the charter's for verification", string(charter.VerificationSchema()), true},
		{"the contract", string(charter.Schema()), false},
		{"open object", `{"type":"object","properties":{"a":{}},"required":["a"]}`, false},
		{"optional property", `{"type":"object","additionalProperties":false,"properties":{"a":{},"b":{}},"required":["a"]}`, false},
		{"nested", `{"type":"array","items":{"type":"object","properties":{"a":{}}}}`, false},
		{"no JSON", `{`, false},
	}
	for _, test := range tests {
		if got := Strict([]byte(test.schema)); got != test.want {
			t.Errorf("%s: %t", test.name, got)
		}
	}
}

func TestCost(t *testing.T) {
	if got := Cost(&config.Price{Input: 3, Output: 15}, 1_000_000, 200_000); got != 6 {
		t.Errorf("cost %v", got)
	}
	if got := Cost(nil, 1, 1); got != 0 {
		t.Errorf("cost without a price %v", got)
	}
}

func TestSleepEndsWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Sleep(ctx, time.Hour); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := Sleep(t.Context(), 0); err != nil {
		t.Error(err)
	}
}
