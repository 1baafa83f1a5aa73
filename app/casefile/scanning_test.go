package casefile

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/prosecutor-bot/prosecutor/prosecutor"
)

const (
	alertsPath   = "GET /repos/acme/pay/code-scanning/alerts"
	analysesPath = "GET /repos/acme/pay/code-scanning/analyses"
	onMerge      = "?per_page=100&ref=refs%2Fpull%2F1%2Fmerge&state=open"
	onHead       = "?per_page=100&ref=refs%2Fpull%2F1%2Fhead&state=open"
	onBranch     = "?per_page=100&ref=refs%2Fheads%2Ffeature&state=open"
	onBase       = "?per_page=100&ref=refs%2Fheads%2Fmain&state=open"
	shaMerge     = "eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee"
)

func hubAnalysis(ref, sha string) obj {
	return obj{"ref": ref, "commit_sha": sha, "category": "/language:go", "error": "", "created_at": "2026-02-28T00:00:00Z", "tool": obj{"name": "CodeQL"}}
}

func hubAlert(number int, severity, sha string) obj {
	return obj{
		"number": number, "state": "open", "tool": obj{"name": "CodeQL"}, "html_url": "https://github.test/alert",
		"rule":                 obj{"id": "go/sql-injection", "severity": "error", "security_severity_level": severity},
		"most_recent_instance": obj{"ref": "refs/pull/1/merge", "state": "open", "commit_sha": sha, "location": obj{"path": "pay.go", "start_line": 1, "end_line": 1}, "message": obj{"text": "A query"}},
	}
}

// paged answers a full page, so that there are others.
func paged(v any) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Link", `<http://`+r.Host+r.URL.Path+`?page=2>; rel="next"`)
		jsonOf(v)(w, r)
	}
}

func TestCodeScanning(t *testing.T) {
	merge, base := hubAnalysis("refs/pull/1/merge", shaMerge), hubAnalysis("refs/heads/main", shaC)
	none := jsonOf([]obj{})
	for _, c := range []struct {
		name    string
		rest    map[string]http.HandlerFunc
		pr      func(obj)
		merges  obj // answers to the query for parents
		since   time.Time
		state   prosecutor.EvidenceState
		detail  string
		alerts  []int
		request int // of code scanning
	}{
		{name: "no tool has ever run", rest: nil, state: prosecutor.NotApplicable, request: 1},
		{
			name: "clean", rest: map[string]http.HandlerFunc{analysesPath: jsonOf([]obj{merge, base}), alertsPath + onMerge: none},
			state: prosecutor.Clean, request: 2,
		},
		{
			name: "a new alert beside one of the base", state: prosecutor.Red, alerts: []int{2}, request: 3,
			rest: map[string]http.HandlerFunc{
				analysesPath: jsonOf([]obj{merge, base}), alertsPath + onMerge: jsonOf([]obj{hubAlert(1, "high", shaMerge), hubAlert(2, "high", shaMerge)}),
				alertsPath + onBase: jsonOf([]obj{hubAlert(1, "high", shaC)}),
			},
		},
		{
			name: "only alerts of the base", state: prosecutor.Clean, request: 3,
			rest: map[string]http.HandlerFunc{
				analysesPath: jsonOf([]obj{merge, base}), alertsPath + onMerge: jsonOf([]obj{hubAlert(1, "high", shaMerge)}), alertsPath + onBase: jsonOf([]obj{hubAlert(1, "high", shaC)}),
			},
		},
		{
			name: "alerts on a second page", state: prosecutor.Red, alerts: []int{1, 2}, request: 4,
			rest: map[string]http.HandlerFunc{
				analysesPath: jsonOf([]obj{merge, base}), alertsPath + onMerge: paged([]obj{hubAlert(1, "high", shaMerge)}),
				alertsPath + "?page=2&per_page=100&ref=refs%2Fpull%2F1%2Fmerge&state=open": jsonOf([]obj{hubAlert(2, "high", shaMerge)}), alertsPath + onBase: none,
			},
		},
		{
			name: "analysed on the branch", state: prosecutor.Red, alerts: []int{4}, request: 4,
			rest: map[string]http.HandlerFunc{
				analysesPath:         jsonOf([]obj{hubAnalysis("refs/heads/feature", shaA), base}),
				alertsPath + onMerge: none, alertsPath + onBranch: jsonOf([]obj{hubAlert(4, "", shaA)}), alertsPath + onBase: none,
			},
		},
		{
			name: "the branch of a fork has a foreign name", state: prosecutor.Pending, request: 2,
			pr: func(pr obj) { pr["isCrossRepository"] = true },
			rest: map[string]http.HandlerFunc{
				analysesPath: jsonOf([]obj{hubAnalysis("refs/heads/feature", shaA), base}), alertsPath + onMerge: none,
			},
		},
		{
			name: "not analysed yet", state: prosecutor.Pending, detail: "waiting for the analysis of this head by \"CodeQL /language:go\"", request: 2,
			rest: map[string]http.HandlerFunc{analysesPath: jsonOf([]obj{base}), alertsPath + onMerge: none},
		},
		{
			name: "waited for in vain", state: prosecutor.Unavailable, since: time.Date(2026, 3, 1, 11, 0, 0, 0, time.UTC), request: 2,
			rest: map[string]http.HandlerFunc{analysesPath: jsonOf([]obj{base}), alertsPath + onMerge: none},
		},
		{
			name: "an alert of the last head, and no analysis of this one", state: prosecutor.Pending, request: 3,
			rest: map[string]http.HandlerFunc{
				analysesPath:         jsonOf([]obj{hubAnalysis("refs/pull/1/merge", shaB), base}),
				alertsPath + onMerge: jsonOf([]obj{hubAlert(1, "high", shaB)}),
			},
			merges: obj{"c0": obj{"oid": shaB, "parents": obj{"nodes": []obj{{"oid": shaC}}}}},
		},
		{
			name: "an old alert that is open after the analysis of this head", state: prosecutor.Red, alerts: []int{1}, request: 3,
			rest: map[string]http.HandlerFunc{
				analysesPath:         jsonOf([]obj{merge, base}),
				alertsPath + onMerge: jsonOf([]obj{hubAlert(1, "high", shaB)}), alertsPath + onBase: none,
			},
		},
		{
			name: "an old alert of a tool that the base does not know", state: prosecutor.Red, alerts: []int{1}, request: 3,
			rest: map[string]http.HandlerFunc{
				analysesPath:         jsonOf([]obj{hubAnalysis("refs/pull/1/merge", shaB)}),
				alertsPath + onMerge: jsonOf([]obj{hubAlert(1, "high", shaB)}), alertsPath + onBase: none,
			},
		},
		{
			name: "an analysis of an earlier test merge of this head", state: prosecutor.Clean, request: 3,
			rest:   map[string]http.HandlerFunc{analysesPath: jsonOf([]obj{hubAnalysis("refs/pull/1/merge", shaB), base}), alertsPath + onMerge: none},
			merges: obj{"c0": obj{"oid": shaB, "parents": obj{"nodes": []obj{{"oid": shaC}, {"oid": shaA}}}}},
		},
		{
			name: "a busy repository, analysed lately", state: prosecutor.Clean, request: 3,
			rest: map[string]http.HandlerFunc{
				analysesPath + "?per_page=100": paged([]obj{merge}), analysesPath + "?per_page=100&ref=refs%2Fheads%2Fmain": jsonOf([]obj{base}), alertsPath + onMerge: none,
			},
		},
		{
			name: "a busy repository, and a head older than the page", state: prosecutor.Clean, request: 8,
			pr: func(pr obj) {
				pr["tip"].(obj)["nodes"].([]any)[0].(obj)["commit"].(obj)["committedDate"] = "2026-01-01T00:00:00Z"
			},
			rest: map[string]http.HandlerFunc{
				analysesPath + "?per_page=100":                             paged([]obj{base}),
				analysesPath + "?per_page=100&ref=refs%2Fheads%2Fmain":     jsonOf([]obj{base}),
				analysesPath + "?per_page=100&ref=refs%2Fpull%2F1%2Fmerge": none,
				analysesPath + "?per_page=100&ref=refs%2Fpull%2F1%2Fhead":  none,
				analysesPath + "?per_page=100&ref=refs%2Fheads%2Ffeature":  jsonOf([]obj{hubAnalysis("refs/heads/feature", shaA)}),
				alertsPath + onMerge:                                       none, alertsPath + onHead: none, alertsPath + onBranch: none,
			},
		},
		{
			name: "alerts that cannot be read", state: prosecutor.Unavailable, detail: "code scanning could not be read", request: -1,
			rest: map[string]http.HandlerFunc{analysesPath: jsonOf([]obj{merge, base}), alertsPath + onMerge: status(500, "Server Error")},
		},
		{
			name: "a permission that was not granted", state: prosecutor.Unavailable, detail: "approve its permission security_events", request: 1,
			rest: map[string]http.HandlerFunc{analysesPath: status(403, "Resource not accessible by integration")},
		},
		{
			name: "a plain 404", state: prosecutor.Unavailable, request: -1,
			rest: map[string]http.HandlerFunc{analysesPath: status(404, "Not Found")},
		},
		{
			name: "not enabled", state: prosecutor.NotApplicable, detail: "not enabled", request: 1,
			rest: map[string]http.HandlerFunc{analysesPath: status(403, "Advanced Security must be enabled for this repository to use code scanning.")},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHub(t)
			h.answer("Case", func(map[string]any) (any, []any) {
				return hubPull(func(pr obj) {
					pr["potentialMergeCommit"] = obj{"oid": shaMerge, "parents": obj{"nodes": []obj{{"oid": shaC}, {"oid": shaA}}}}
					if c.pr != nil {
						c.pr(pr)
					}
				}), nil
			})
			if c.merges != nil {
				h.answer("Merges", func(map[string]any) (any, []any) { return obj{"repository": c.merges}, nil })
			}
			for route, f := range c.rest {
				h.on(route, f)
			}
			col := h.collector(func(o *Options) {
				o.Now = func() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }
			})
			r := hubRequest()
			r.EvidenceSince = c.since
			f, err := h.collect(col, r)
			if err != nil {
				t.Fatal(err)
			}
			if f.Scan.State != c.state || !strings.Contains(f.Scan.Detail, c.detail) {
				t.Errorf("got %s: %s", f.Scan.State, f.Scan.Detail)
			}
			if diff := cmp.Diff(append([]int{}, c.alerts...), f.Scan.Alerts); diff != "" && f.Scan.Alerts != nil {
				t.Error(diff)
			}
			asked := slices.DeleteFunc(h.requests(), func(s string) bool { return !strings.Contains(s, "code-scanning") && s != "Merges" })
			if c.request >= 0 && len(asked) != c.request {
				t.Errorf("it took %d requests: %q", len(asked), asked)
			}
		})
	}
}

// TestNotEnabledIsRemembered for an hour, or until an alert says otherwise.
func TestNotEnabledIsRemembered(t *testing.T) {
	h := newHub(t)
	h.on(analysesPath, status(403, "Code scanning is not enabled for this repository. Please enable code scanning in the repository settings."))
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	c := h.collector(func(o *Options) { o.Now = func() time.Time { return now } })
	asked := func(event string) int {
		t.Helper()
		r := hubRequest()
		if event != "" {
			r.Event = "code_scanning_alert.created"
		}
		if f, err := h.collect(c, r); err != nil || f.Scan.State != prosecutor.NotApplicable {
			t.Fatalf("got %+v, %v", f, err)
		}
		return len(slices.DeleteFunc(h.requests(), func(s string) bool { return s != analysesPath }))
	}
	for i, step := range []struct {
		after time.Duration
		event string
		want  int
	}{{0, "", 1}, {0, "", 0}, {59 * time.Minute, "", 0}, {time.Minute, "", 1}, {0, "", 0}, {0, "alert", 1}} {
		now = now.Add(step.after)
		if got := asked(step.event); got != step.want {
			t.Errorf("step %d: asked %d times, want %d", i, got, step.want)
		}
	}
}
