package ghclient_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/prosecutor-bot/prosecutor/app/ghclient"
)

func TestRedactTakesOutCredentialsOfAnyLength(t *testing.T) {
	jwt := "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiI0NzExIn0.c2lnbmF0dXJl"
	secrets := map[string]string{
		"installation token of 40 characters": "ghs_" + strings.Repeat("a1", 18),
		"installation token with a JWT":       "ghs_4711_" + jwt,
		"installation token, long":            "ghs_4711_eyJ" + strings.Repeat("x_-.", 500),
		"a short one":                         "ghs_1",
		"personal token":                      "ghp_" + strings.Repeat("Z", 36),
		"user token":                          "ghu_abc",
		"refresh token":                       "ghr_abcDEF123",
		"OAuth token":                         "gho_abcDEF123",
		"fine-grained token":                  "github_pat_11AAAA_bbbbbbbb",
		"old server's token":                  "v1.0123456789abcdef0123456789abcdef01234567",
		"JWT":                                 jwt,
		"unsigned JWT":                        "eyJhbGciOiJub25lIn0.eyJpc3MiOiI0NzExIn0.",
		"two parts of a JWT":                  "eyJhbGciOiJub25lIn0.eyJpc3MiOiI0NzExIn0",
		"key":                                 string(testPEM()),
		"a key without its end":               string(testPEM()[:400]),
		"header":                              "Authorization: Bearer something-opaque",
		"header as JSON":                      `"authorization":"token something-opaque"`,
	}
	for name, secret := range secrets {
		for _, frame := range []string{"%s", "before %s", "a=%s&b=c", "x%s", "_%s", "https://x:%s", `{"t":"%s"}`} {
			text := fmt.Sprintf(frame, secret)
			got := ghclient.Redact(text)
			if !strings.Contains(got, "[redacted]") {
				t.Errorf("%s: %q was kept", name, got)
			}
			for _, part := range strings.FieldsFunc(secret, func(r rune) bool { return strings.ContainsRune(" .\n\":_-", r) }) {
				if len(part) > 8 && !strings.EqualFold(part, "authorization") && strings.Contains(got, part) {
					t.Errorf("%s: %q kept %q", name, got, part)
				}
			}
			if again := ghclient.Redact(got); again != got {
				t.Errorf("%s: redacting twice differs: %q, %q", name, got, again)
			}
		}
	}
	for _, plain := range []string{"", "eyes wide open", "a high score", "token expired", "v1.2.3", "v1.26", "ghost_town", "GET /repos/acme/pay: 404", "key: eyJ"} {
		if got := ghclient.Redact(plain); got != plain {
			t.Errorf("%q became %q", plain, got)
		}
	}
}

func FuzzRedact(f *testing.F) {
	f.Add("ghs_abc def eyJx.y.z")
	f.Add("-----BEGIN RSA PRIVATE KEY-----\nMII")
	f.Fuzz(func(t *testing.T, text string) {
		got := ghclient.Redact(text)
		if again := ghclient.Redact(got); again != got {
			t.Errorf("redacting twice differs: %q, %q", got, again)
		}
		for _, prefix := range []string{"ghs_", "ghp_"} {
			if i := strings.Index(got, prefix); i >= 0 && i+4 < len(got) && strings.ContainsRune("abcXYZ0189_-.", rune(got[i+4])) {
				t.Errorf("%q is left", got[i:])
			}
		}
	})
}

// echo is the worst server: it repeats the credential wherever it can.
func echo(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		secret := r.Header.Get("Authorization")
		w.Header().Set("X-GitHub-Request-Id", secret)
		w.Header().Set("Location", "/elsewhere/"+strings.TrimPrefix(secret, "Bearer "))
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(map[string]any{
			"message": "secondary rate limit for " + secret + "? no", "documentation_url": secret, "errors": []map[string]any{{"message": secret, "path": []string{secret}}},
		})
	}
}

func TestNoTokenReachesAnErrorOrALog(t *testing.T) {
	for _, status := range []int{200, 301, 307, 400, 401, 403, 404, 409, 422, 429, 500, 503} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			var logs bytes.Buffer
			log := zerolog.New(&logs).Level(zerolog.TraceLevel)
			s := newStub(t, echo(status))
			ctx := log.WithContext(t.Context())
			check := func(what string, err error) {
				t.Helper()
				texts := []string{logs.String()}
				if err != nil {
					data, _ := json.Marshal(err)
					texts = append(texts, err.Error(), fmt.Sprintf("%v %+v %#v", err, err, err), string(data))
				}
				for _, text := range texts {
					for _, secret := range []string{"ghs_", "eyJ", "c2VjcmV0", "PRIVATE KEY"} {
						if strings.Contains(text, secret) {
							t.Errorf("%s: %q in %s", what, secret, text)
						}
					}
				}
			}
			for what, use := range map[string]func(c *ghclient.Clients) error{
				"read": func(c *ghclient.Clients) error { return getRepo(ctx, c) },
				"write": func(c *ghclient.Clients) error {
					client, err := c.Installation(ctx, installation, scope)
					if err != nil {
						return err
					}
					return comment(ctx, client)
				},
				"GraphQL": func(c *ghclient.Clients) error {
					return c.GraphQL(ctx, installation, scope, "{a}", nil, nil)
				},
				"App": func(c *ghclient.Clients) error {
					_, _, err := c.App().Apps.Get(ctx, "")
					return err
				},
			} {
				check(what, use(s.clients(t)))
			}
			s.mint = echo(status)
			check("token", getRepo(ctx, s.clients(t)))
			if logs.Len() == 0 {
				t.Error("nothing was logged")
			}
		})
	}
}

func TestRequestsAreLoggedAtDebugWithoutQueriesOrBodies(t *testing.T) {
	var logs bytes.Buffer
	log := zerolog.New(&logs)
	s := newStub(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-GitHub-Request-Id", "ABCD:1")
		_, _ = w.Write([]byte(`"body-of-the-answer"`))
	})
	c := s.clients(t, func(o *ghclient.Options) { o.Logger = &log })
	fetch(t.Context(), t, c, installation, "repos/acme/pay/issues/1?since=query-of-the-request", "")
	text := logs.String()
	for _, want := range []string{`"level":"debug"`, `"path":"/repos/acme/pay/issues/1"`, `"status":200`, `"installation":9`, `"github_request":"ABCD:1"`, `"purpose":"collecting"`, `"method":"GET"`} {
		if !strings.Contains(text, want) {
			t.Errorf("the log lacks %s: %s", want, text)
		}
	}
	for _, no := range []string{"body-of-the-answer", "query-of-the-request"} {
		if strings.Contains(text, no) {
			t.Errorf("the log holds %s: %s", no, text)
		}
	}
	logs.Reset()
	info := log.Level(zerolog.InfoLevel)
	c = s.clients(t, func(o *ghclient.Options) { o.Logger = &info })
	fetch(t.Context(), t, c, installation, "repos/acme/pay/issues/1", "")
	if logs.Len() != 0 {
		t.Errorf("logged at info: %s", logs.String())
	}
}
