package ghclient_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/prosecutor-bot/prosecutor/app/ghclient"
)

func TestTheThreeURLsOfEachProduct(t *testing.T) {
	tests := map[string]struct{ rest, graphql, html, wantREST, wantGraphQL, wantHTML string }{
		"github.com by default": {"", "", "", "https://api.github.com/", "https://api.github.com/graphql", "https://github.com"},
		"ghe.com":               {"https://api.acme.ghe.com", "", "", "https://api.acme.ghe.com/", "https://api.acme.ghe.com/graphql", "https://acme.ghe.com"},
		"Enterprise Server":     {"https://ghes.acme.corp/api/v3", "", "", "https://ghes.acme.corp/api/v3/", "https://ghes.acme.corp/api/graphql", "https://ghes.acme.corp"},
		"with a port":           {"https://ghes.acme.corp:8443/api/v3/", "", "", "https://ghes.acme.corp:8443/api/v3/", "https://ghes.acme.corp:8443/api/graphql", "https://ghes.acme.corp:8443"},
		"all given":             {"http://127.0.0.1:1/rest", "http://127.0.0.1:1/gql", "http://127.0.0.1:2/", "http://127.0.0.1:1/rest/", "http://127.0.0.1:1/gql", "http://127.0.0.1:2"},
		"a proxy":               {"https://proxy.acme.corp/github/", "https://proxy.acme.corp/gql", "https://github.com", "https://proxy.acme.corp/github/", "https://proxy.acme.corp/gql", "https://github.com"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c, err := ghclient.New(ghclient.Options{AppID: 1, PrivateKey: testPEM(), REST: tt.rest, GraphQL: tt.graphql, HTML: tt.html})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if c.RESTURL().String() != tt.wantREST || c.GraphQLURL().String() != tt.wantGraphQL || c.HTMLURL().String() != tt.wantHTML {
				t.Errorf("got %s %s %s", c.RESTURL(), c.GraphQLURL(), c.HTMLURL())
			}
		})
	}
}

func TestNewRefusesOptionsThatCannotWork(t *testing.T) {
	tests := map[string]struct {
		adjust func(*ghclient.Options)
		want   string
	}{
		"no App id":         {func(o *ghclient.Options) { o.AppID = 0 }, "App's id"},
		"no key":            {func(o *ghclient.Options) { o.PrivateKey = nil }, "private key"},
		"no https":          {func(o *ghclient.Options) { o.REST = "http://ghes.acme.corp/api/v3" }, "not https"},
		"no URL":            {func(o *ghclient.Options) { o.REST = "api.github.com" }, "no URL"},
		"a user in a URL":   {func(o *ghclient.Options) { o.REST = "https://u:ghp_x@api.github.com/" }, "must not have a user"},
		"a query":           {func(o *ghclient.Options) { o.GraphQL = "https://api.github.com/graphql?x=1" }, "must not have"},
		"unknown product":   {func(o *ghclient.Options) { o.REST = "https://proxy.acme.corp/x/" }, "set both"},
		"all reserved":      {func(o *ghclient.Options) { o.Reserve = 1 }, "below 1"},
		"negative rate":     {func(o *ghclient.Options) { o.WriteRate = -1 }, "negative"},
		"file as REST base": {func(o *ghclient.Options) { o.REST = "file:///etc/passwd" }, "no URL"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			o := ghclient.Options{AppID: 1, PrivateKey: testPEM()}
			tt.adjust(&o)
			_, err := ghclient.New(o)
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "ghp_x") {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func TestMetricLabelsAreBoundedWhateverThePathsAre(t *testing.T) {
	registry := prometheus.NewRegistry()
	s := newStub(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"id":1}`)) })
	c := s.clients(t, func(o *ghclient.Options) { o.Registry = registry })
	for i := range 300 {
		name := fmt.Sprintf("name-%d", i)
		for _, path := range []string{
			"repos/acme/" + name, "repos/" + name + "/pay/pulls/1", "repos/acme/pay/contents/" + name + "/pulls/reviews", "repos/acme/pay/branches/" + name,
			name, "repos/acme/pay/" + name, "repos/acme/pay/git/ref/heads/" + name + "/x/y", "repos/acme/pay/branches/pulls%2F" + name,
		} {
			fetch(context.Background(), t, c, installation, path, "")
		}
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, f := range families {
		seen[f.GetName()] = true
		if n := len(f.GetMetric()); n > 12 {
			t.Errorf("%s has %d series", f.GetName(), n)
		}
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if strings.Contains(l.GetValue(), "name-") || strings.Contains(l.GetValue(), "acme") {
					t.Errorf("%s has the label %s", f.GetName(), l.GetValue())
				}
			}
		}
	}
	for _, name := range []string{"requests_total", "request_seconds", "tokens_total", "cache_bytes", "budget_lowest_ratio", "paused_installations", "clock_skew_seconds"} {
		if !seen["prosecutor_github_"+name] {
			t.Errorf("no metric %s", name)
		}
	}
	if _, err := ghclient.New(ghclient.Options{AppID: 1, PrivateKey: testPEM(), Registry: registry}); err == nil {
		t.Error("the metrics were registered twice")
	}
}

func TestMetricsCountLimitsRetriesAndWhatWasHeldBack(t *testing.T) {
	registry := prometheus.NewRegistry()
	replies := []reply{{502, nil, ``}, {403, nil, `{"message":"You have exceeded a secondary rate limit."}`}}
	s := newStub(t, func(w http.ResponseWriter, _ *http.Request) {
		r := replies[0]
		replies = replies[1:]
		r.write(w)
	})
	c := s.clients(t, func(o *ghclient.Options) { o.Registry = registry })
	for range 2 {
		if err := getRepo(t.Context(), c); ghclient.ClassOf(err) != ghclient.ClassRateLimited {
			t.Fatal(err)
		}
	}
	got := values(t, registry)
	want := map[string]float64{
		"prosecutor_github_requests_total{method=GET,route=repos/{}/{},status=403}":                         1,
		"prosecutor_github_requests_total{method=GET,route=repos/{}/{},status=502}":                         1,
		"prosecutor_github_requests_total{method=POST,route=app/installations/{}/access_tokens,status=201}": 1,
		"prosecutor_github_limits_total{kind=secondary}":                                                    1,
		"prosecutor_github_held_total{reason=pause}":                                                        1,
		"prosecutor_github_retries_total{reason=fault}":                                                     1,
		"prosecutor_github_tokens_total{result=ok}":                                                         1,
		"prosecutor_github_paused_installations{}":                                                          1,
		"prosecutor_github_budget_lowest_ratio{}":                                                           1,
	}
	for name, v := range want {
		if got[name] != v {
			t.Errorf("%s is %v, want %v", name, got[name], v)
		}
	}
}

func values(t *testing.T, g prometheus.Gatherer) map[string]float64 {
	t.Helper()
	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			labels := make([]string, 0, 3)
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			out[f.GetName()+"{"+strings.Join(labels, ",")+"}"] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return out
}
