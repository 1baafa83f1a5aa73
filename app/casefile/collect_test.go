package casefile

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prosecutor-bot/prosecutor/app/ghclient"
	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/convergence"
	"github.com/prosecutor-bot/prosecutor/prosecutor"
)

func TestPolicy(t *testing.T) {
	org := "GET /repos/acme/.github/contents/.github/prosecutor.yml"
	for _, c := range []struct {
		name   string
		entry  obj
		org    http.HandlerFunc
		source string
		laps   int
		broken string
		fails  bool
	}{
		{name: "at the base", entry: blobEntry("convergence:\n  max_laps: 5\n"), source: ".github/prosecutor.yml at cccccccccccc", laps: 5},
		{name: "of the organisation", org: text("convergence:\n  max_laps: 7\n"), source: ".github/prosecutor.yml of acme/.github", laps: 7},
		{name: "the base's before the organisation's", entry: blobEntry(""), org: text("convergence:\n  max_laps: 7\n"), source: ".github/prosecutor.yml at cccccccccccc", laps: 3},
		{name: "nobody's", org: status(404, "Not Found"), source: "built-in defaults", laps: 3},
		{name: "out of the App's reach", org: status(403, "Resource not accessible by integration"), source: "built-in defaults", laps: 3},
		{name: "broken", entry: blobEntry("convergence:\n  max_lapse: 5\n"), source: ".github/prosecutor.yml at cccccccccccc", laps: 3, broken: ".github/prosecutor.yml:2:3: convergence.max_lapse:"},
		{name: "broken before a good one of the organisation", entry: blobEntry("x"), org: text(""), source: ".github/prosecutor.yml at cccccccccccc", laps: 3, broken: ".github/prosecutor.yml:1:1:"},
		{name: "broken at the organisation", org: text("nope: 1\n"), source: ".github/prosecutor.yml of acme/.github", laps: 3, broken: "acme/.github/.github/prosecutor.yml:1:1: nope:"},
		{name: "a directory", entry: obj{"type": "tree", "mode": 0o040000, "object": obj{"oid": shaB}}, source: ".github/prosecutor.yml at cccccccccccc", laps: 3, broken: "it is a directory"},
		{name: "a symbolic link", entry: obj{"type": "blob", "mode": 0o120000, "object": obj{"oid": shaB, "byteSize": 1, "text": "x"}}, source: ".github/prosecutor.yml at cccccccccccc", laps: 3, broken: "it is a symbolic link"},
		{name: "a directory at the organisation", org: jsonOf([]obj{{"name": "x"}}), source: ".github/prosecutor.yml of acme/.github", laps: 3, broken: "it is a directory"},
		{name: "not to be had now", org: status(502, "Bad Gateway"), fails: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHub(t)
			h.answer("Case", func(map[string]any) (any, []any) {
				return hubPull(func(pr obj) {
					if c.entry != nil {
						pr["baseRef"].(obj)["target"].(obj)["policy"] = c.entry
					}
				}), nil
			})
			if c.org != nil {
				h.on(org, c.org)
			}
			f, err := h.collect(nil, hubRequest())
			if c.fails {
				if _, ok := errorAs[*RetryableError](err); !ok {
					t.Fatalf("got %v, want an error to be retried", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if f.PolicySource != c.source || f.Case.Policy.Convergence.MaxLaps != c.laps {
				t.Errorf("got the policy of %q with %d laps", f.PolicySource, f.Case.Policy.Convergence.MaxLaps)
			}
			if c.broken == "" {
				if f.PolicyError != nil || f.Case.Unjudgeable != "" || f.Case.ID.PolicyHash != f.Case.Policy.Hash() {
					t.Errorf("got %v, %q", f.PolicyError, f.Case.Unjudgeable)
				}
				return
			}
			if f.Case.Unjudgeable != convergence.BrokenPolicy || !strings.Contains(f.PolicyError.Error(), c.broken) || !strings.Contains(f.Case.Unjudgeably, c.broken) {
				t.Errorf("got %q, %q, %v", f.Case.Unjudgeable, f.Case.Unjudgeably, f.PolicyError)
			}
			if f.Case.ID.PolicyHash == config.DefaultPolicy().Hash() {
				t.Error("a broken policy is the same case as none")
			}
		})
	}
}

// TestPolicyThatIsNotSentWithTheAnswer is too large, or no UTF-8, for the query.
func TestPolicyThatIsNotSentWithTheAnswer(t *testing.T) {
	h := newHub(t)
	h.answer("Case", func(map[string]any) (any, []any) {
		return hubPull(func(pr obj) {
			pr["baseRef"].(obj)["target"].(obj)["policy"] = obj{"type": "blob", "mode": 0o100644, "object": obj{"oid": shaB, "byteSize": 2 << 20, "isTruncated": true, "text": "convergence:"}}
		}), nil
	})
	h.on("GET /repos/acme/pay/git/blobs/"+shaB, text("convergence:\n"+strings.Repeat("# padding\n", 200_000)))
	f, err := h.collect(nil, hubRequest())
	if err != nil {
		t.Fatal(err)
	}
	if f.Case.Unjudgeable != convergence.BrokenPolicy {
		t.Errorf("got %q, %v", f.Case.Unjudgeable, f.PolicyError)
	}
}

func TestDiffLadder(t *testing.T) {
	compare := "GET /repos/acme/pay/compare/" + shaC + "..." + shaA
	list := []obj{{"filename": "pay.go", "status": "modified", "sha": shaB, "additions": 1, "deletions": 1, "changes": 2, "patch": "@@ -1 +1 @@\n-package pay\n+package paid"}}
	tree := func(sha string) http.HandlerFunc {
		return jsonOf(obj{"sha": sha, "truncated": false, "tree": []obj{{"path": "pay.go", "mode": "100644", "type": "blob", "sha": sha}}})
	}
	for _, c := range []struct {
		name     string
		media    http.HandlerFunc
		base     http.HandlerFunc // of the comparison that names the merge base
		list     []obj
		compared []obj // files of the comparison
		changed  int
		cut      bool
		source   DiffSource
		unseen   string
		note     string
		retry    bool
	}{
		{name: "media type", media: text(hubDiff), changed: 1, source: FromMedia},
		{name: "406", media: status(406, "Sorry, the diff exceeded the maximum number of files (300)."), list: list, changed: 1, source: FromFiles, note: "GitHub does not make one this large"},
		{name: "422", media: status(422, "Sorry, this diff is unavailable."), list: list, changed: 1, source: FromFiles, note: "this large"},
		{name: "500 that never passes", media: status(500, "Server Error: Sorry, this diff is taking too long to generate."), list: list, changed: 1, source: FromFiles, note: "cannot make one this large"},
		{name: "a failure that passes", media: status(502, "Bad Gateway"), changed: 1, retry: true},
		{name: "a stacked one whose first part was merged", media: text(hubDiff), compared: list, changed: 2, source: FromMedia, note: "taken over a part of the change"},
		{name: "merged by other ways", media: text(""), compared: []obj{}, changed: 2, source: FromMedia, note: "taken over a part of the change"},
		{name: "nothing in common", media: status(404, "No common ancestor between main and feature."), base: status(404, "No common ancestor between main and feature."), list: list, changed: 1, unseen: "rebase it", note: "no history in common"},
		{name: "a commit that is not there yet", media: status(404, "Not Found"), changed: 1, retry: true},
		{name: "cut before a file", media: text(""), list: list, compared: list, changed: 1, source: FromFiles, note: "it shows 0 files where GitHub counts 1"},
		{name: "cut inside a file", media: text(hubDiff[:len(hubDiff)-15]), list: list, changed: 1, source: FromFiles, note: "it is damaged"},
		{name: "a list that is short", media: text(""), list: list, compared: list, changed: 2, unseen: "it holds 1 of the 2 files", note: "no directory for clones is configured"},
		{name: "more than is listed", media: status(406, "too large"), changed: 3500, unseen: "it ends at 3000 of the 3500 files", note: "no directory"},
		{name: "a tree that is cut", media: status(406, "too large"), list: list, changed: 1, cut: true, unseen: "cuts the listing", note: "no directory"},
		{
			name: "a file without a patch", media: status(406, "too large"), changed: 1, source: FromFiles, unseen: "its change of 90000 lines is too large for GitHub to list; no directory for clones is configured", note: "it leaves out what changed in one",
			list: []obj{{"filename": "pay.go", "status": "modified", "sha": shaB, "additions": 45000, "deletions": 45000, "changes": 90000}},
		},
		{name: "a list of another push", media: status(406, "too large"), changed: 1, retry: true, list: []obj{{"filename": "pay.go", "status": "modified", "sha": shaC, "changes": 2, "patch": "@@ -1 +1 @@\n-a\n+b"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHub(t)
			h.answer("Case", func(map[string]any) (any, []any) {
				return hubPull(func(pr obj) { pr["changedFiles"] = c.changed }), nil
			})
			h.on(compare, c.media)
			h.on(compare+"?page=2&per_page=1", jsonOf(obj{"merge_base_commit": obj{"sha": shaC}}))
			h.on(compare+"?per_page=1", jsonOf(obj{"files": c.compared}))
			if c.base != nil {
				h.on(compare+"?page=2&per_page=1", c.base)
			}
			h.on("GET /repos/acme/pay/pulls/1/files", jsonOf(c.list))
			h.on("GET /repos/acme/pay/git/trees/"+shaC, tree(shaA))
			h.on("GET /repos/acme/pay/git/trees/"+shaA, tree(shaB))
			if c.cut {
				h.on("GET /repos/acme/pay/git/trees/"+shaA, jsonOf(obj{"sha": shaA, "truncated": true, "tree": []obj{}}))
			}
			f, err := h.collect(nil, hubRequest())
			if c.retry {
				if _, ok := errorAs[*RetryableError](err); !ok {
					t.Fatalf("got %v, want an error to be retried", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if f.DiffSource != c.source || !strings.Contains(strings.Join(f.Notes, "\n"), c.note) {
				t.Errorf("got %q, notes %q", f.DiffSource, f.Notes)
			}
			red := f.Case.Evidence[len(f.Case.Evidence)-1]
			if c.unseen == "" {
				if len(f.Unseen) != 0 || red.State == prosecutor.Red {
					t.Errorf("got unseen %+v", f.Unseen)
				}
				if c.source != "" && c.name != "merged by other ways" && !strings.Contains(f.Case.Diff, "+package paid\n") {
					t.Errorf("got the diff %q", f.Case.Diff)
				}
				return
			}
			if len(f.Unseen) != 1 || !strings.Contains(f.Unseen[0].Why, c.unseen) {
				t.Errorf("got unseen %+v", f.Unseen)
			}
			if red.State != prosecutor.Red || len(red.Findings) != 1 || red.Findings[0].Severity != prosecutor.High || !convergence.CountsAsRed(red, f.Case.Policy, convergence.EvidenceContext{}) {
				t.Errorf("unseen files are not red: %+v", red)
			}
		})
	}
}

// TestCommitThatIsNotShown looks like a commit without files.
func TestCommitThatIsNotShown(t *testing.T) {
	h := newHub(t)
	f, err := h.collect(nil, hubRequest())
	if err != nil {
		t.Fatal(err)
	}
	h.answer("Files", func(map[string]any) (any, []any) { return obj{"repository": obj{"commit": nil}}, nil })
	_, ok, err := f.Case.ReadHead(context.Background(), "pay.go")
	if retry, is := errorAs[*RetryableError](err); ok || !is || !retry.Stale {
		t.Errorf("got %v, %v", ok, err)
	}
	h.answer("Files", func(map[string]any) (any, []any) {
		return obj{"repository": obj{"commit": obj{"oid": shaA}, "f0": nil}}, nil
	})
	if content, ok, err := f.Case.ReadHead(context.Background(), "pay.go"); ok || err != nil {
		t.Errorf("got %q, %v, %v", content, ok, err)
	}
}

func TestReaders(t *testing.T) {
	h := newHub(t)
	h.answer("Files", func(vars map[string]any) (any, []any) {
		r := obj{"commit": obj{"oid": "x"}}
		for k, v := range vars {
			if !strings.HasPrefix(k, "p") {
				continue
			}
			switch _, name, _ := strings.Cut(v.(string), ":"); name {
			case "text":
				r["f"+k[1:]] = obj{"__typename": "Blob", "oid": shaB, "byteSize": 3, "isBinary": false, "isTruncated": false, "text": "abc"}
			case "binary":
				r["f"+k[1:]] = obj{"__typename": "Blob", "oid": shaC, "byteSize": 3, "isBinary": true, "isTruncated": false, "text": nil}
			case "huge":
				r["f"+k[1:]] = obj{"__typename": "Blob", "oid": shaC, "byteSize": 1 << 30, "isBinary": true, "isTruncated": false, "text": nil}
			case "dir":
				r["f"+k[1:]] = obj{"__typename": "Tree", "oid": shaC}
			}
		}
		return obj{"repository": r}, nil
	})
	h.on("GET /repos/acme/pay/git/blobs/"+shaC, text("\x00\x01\x02"))
	f, err := h.collect(nil, hubRequest())
	if err != nil {
		t.Fatal(err)
	}
	h.requests()
	ctx := context.Background()
	for range 2 {
		for name, want := range map[string]string{"text": "abc", "binary": "\x00\x01\x02"} {
			content, ok, err := f.Case.ReadHead(ctx, name)
			if string(content) != want || !ok || err != nil {
				t.Errorf("%s: got %q, %v, %v", name, content, ok, err)
			}
		}
	}
	if got := h.requests(); len(got) != 3 {
		t.Errorf("two files read twice cost %q", got)
	}
	if _, ok, err := f.Case.ReadHead(ctx, "dir"); ok || err != nil {
		t.Errorf("a directory: got %v, %v", ok, err)
	}
	if _, _, err := f.Case.ReadHead(ctx, "huge"); err == nil || !strings.Contains(err.Error(), "1073741824 bytes") {
		t.Errorf("a huge file: got %v", err)
	}
	if _, _, err := f.Case.ReadHead(ctx, "bad\xff"); err == nil || !strings.Contains(err.Error(), "not UTF-8") {
		t.Errorf("a name that is no UTF-8: got %v", err)
	}
}

func TestManyCommits(t *testing.T) {
	page := func(n int, more bool, trailer string) obj {
		var nodes []any
		for i := range n {
			c := hubCommit(shaB)
			if i == n-1 {
				c["commit"].(obj)["message"] = "Pay\n\n" + trailer
			}
			nodes = append(nodes, c)
		}
		return obj{"totalCount": 201, "pageInfo": obj{"hasNextPage": more, "endCursor": "x"}, "nodes": nodes}
	}
	for _, c := range []struct {
		name    string
		head    string
		total   int
		unknown bool
		retry   bool
	}{
		{"all of them", shaA, 201, false, false},
		{"more than GitHub shows", shaA, 300, true, false},
		{"a push in between", shaB, 201, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHub(t)
			h.answer("Case", func(map[string]any) (any, []any) {
				return hubPull(func(pr obj) {
					pr["commits"] = page(100, true, "")
					pr["commits"].(obj)["totalCount"] = c.total
				}), nil
			})
			n := 0
			h.answer("Commits", func(map[string]any) (any, []any) {
				n++
				p := page(100, true, "")
				if n == 2 {
					p = page(1, false, "Co-authored-by: Claude <noreply@anthropic.com>")
				}
				return obj{"repository": obj{"pullRequest": obj{"headRefOid": c.head, "commits": p}}}, nil
			})
			f, err := h.collect(nil, hubRequest())
			if c.retry {
				if _, ok := errorAs[*RetryableError](err); !ok {
					t.Fatalf("got %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := f.Case.Builder; len(got.Families) != 1 || got.Families[0] != "anthropic" || got.UnknownAgent != c.unknown {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestChecksOverPages(t *testing.T) {
	run := func(i int, conclusion string) obj {
		return obj{"__typename": "CheckRun", "databaseId": 5_000_000_000 + i, "name": fmt.Sprint("check ", i), "status": "COMPLETED", "conclusion": conclusion, "checkSuite": obj{"databaseId": 1, "app": obj{"databaseId": 15368}}}
	}
	h := newHub(t)
	h.answer("Case", func(map[string]any) (any, []any) {
		return hubPull(func(pr obj) {
			pr["baseRef"].(obj)["target"].(obj)["policy"] = blobEntry("checks:\n  required: ['check 2', legacy]\n")
			pr["tip"].(obj)["nodes"].([]any)[0].(obj)["commit"].(obj)["statusCheckRollup"] = obj{"contexts": obj{
				"pageInfo": obj{"hasNextPage": true, "endCursor": "1"}, "nodes": []any{run(1, "FAILURE")},
			}}
		}), nil
	})
	h.answer("Checks", func(vars map[string]any) (any, []any) {
		if vars["after"] != "1" || vars["oid"] != shaA {
			t.Errorf("asked for %v", vars)
		}
		return obj{"repository": obj{"object": obj{
			"oid": shaA,
			"statusCheckRollup": obj{"contexts": obj{"pageInfo": obj{"hasNextPage": false}, "nodes": []any{
				run(2, "TIMED_OUT"), obj{"__typename": "StatusContext", "context": "legacy", "state": "EXPECTED"},
			}}},
			"checkSuites": obj{"pageInfo": obj{"hasNextPage": false}, "nodes": []any{}},
		}}}, nil
	})
	f, err := h.collect(nil, hubRequest())
	if err != nil {
		t.Fatal(err)
	}
	if f.Checks.State != prosecutor.Red || len(f.Checks.Failed) != 1 || f.Checks.Failed[0] != "check 2" || len(f.Checks.Waiting) != 1 {
		t.Errorf("got %+v", f.Checks)
	}
}

func TestHeadWithoutItsTip(t *testing.T) {
	h := newHub(t)
	h.answer("Case", func(map[string]any) (any, []any) {
		return hubPull(func(pr obj) {
			pr["tip"].(obj)["nodes"].([]any)[0].(obj)["commit"].(obj)["oid"] = shaB // GitHub shows 250 commits
		}), nil
	})
	h.answer("Checks", func(map[string]any) (any, []any) { return obj{"repository": obj{"object": nil}}, nil })
	_, err := h.collect(nil, hubRequest())
	if retry, ok := errorAs[*RetryableError](err); !ok || !retry.Stale {
		t.Errorf("got %v", err)
	}
}

func TestGoneAndMoved(t *testing.T) {
	missing := func(map[string]any) (any, []any) {
		return obj{"repository": nil}, []any{problem("NOT_FOUND", "Could not resolve to a Repository", "repository")}
	}
	noPull := func(map[string]any) (any, []any) {
		return obj{"repository": obj{"databaseId": 7, "nameWithOwner": "acme/pay", "pullRequest": nil}},
			[]any{problem("NOT_FOUND", "Could not resolve to a PullRequest", "repository", "pullRequest")}
	}
	t.Run("renamed, and the name taken", func(t *testing.T) {
		h := newHub(t)
		h.answer("Case", func(vars map[string]any) (any, []any) {
			a := hubPull(nil)
			if vars["name"] == "pay" {
				a["repository"].(obj)["databaseId"] = 8 // somebody else's
				return a, nil
			}
			a["repository"].(obj)["nameWithOwner"] = "acme/paid"
			return a, nil
		})
		h.on("GET /repositories/7", jsonOf(obj{"id": 7, "full_name": "acme/paid"}))
		h.on("GET /repos/acme/pay/code-scanning/analyses", status(404, "Not Found"))
		h.on("GET /repos/acme/paid/code-scanning/analyses", status(404, "no analysis found"))
		h.on("GET /repos/acme/paid/compare/"+shaC+"..."+shaA, text(hubDiff))
		f, err := h.collect(nil, hubRequest())
		if err != nil {
			t.Fatal(err)
		}
		if f.Scan.State != prosecutor.NotApplicable || f.Owner != "acme" || f.Repo != "paid" || f.Case.ID.Repo != "acme/paid" {
			t.Errorf("got %s/%s, %s", f.Owner, f.Repo, f.Case.ID.Repo)
		}
	})
	t.Run("repository", func(t *testing.T) {
		h := newHub(t)
		h.answer("Case", missing)
		h.on("GET /repositories/7", status(404, "Not Found"))
		_, err := h.collect(nil, hubRequest())
		if gone, ok := errorAs[*GoneError](err); !ok || gone.What != GoneRepository {
			t.Errorf("got %v", err)
		}
	})
	t.Run("hidden for a moment", func(t *testing.T) {
		h := newHub(t)
		h.answer("Case", missing)
		h.on("GET /repositories/7", jsonOf(obj{"id": 7, "full_name": "acme/pay"}))
		_, err := h.collect(nil, hubRequest())
		if _, ok := errorAs[*RetryableError](err); !ok {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a pull request that was just opened", func(t *testing.T) {
		h := newHub(t)
		h.answer("Case", noPull)
		_, err := h.collect(nil, hubRequest())
		if retry, ok := errorAs[*RetryableError](err); !ok || !retry.Stale {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a pull request", func(t *testing.T) {
		h := newHub(t)
		h.answer("Case", noPull)
		r := hubRequest()
		r.Event = "pull_request.synchronize"
		_, err := h.collect(nil, r)
		if gone, ok := errorAs[*GoneError](err); !ok || gone.What != GonePull {
			t.Errorf("got %v", err)
		}
	})
	t.Run("code scanning limited", func(t *testing.T) {
		h := newHub(t)
		h.on("GET /repos/acme/pay/code-scanning/analyses", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", "60")
			status(403, "You have exceeded a secondary rate limit.")(w, r)
		})
		_, err := h.collect(nil, hubRequest())
		if _, ok := errorAs[*ghclient.RateLimitError](err); !ok {
			t.Errorf("a limit was taken for evidence: %v", err)
		}
	})
	t.Run("limited", func(t *testing.T) {
		h := newHub(t)
		h.on("GET /repos/acme/pay/compare/"+shaC+"..."+shaA, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", "60")
			status(403, "You have exceeded a secondary rate limit.")(w, r)
		})
		_, err := h.collect(nil, hubRequest())
		if _, ok := errorAs[*ghclient.RateLimitError](err); !ok {
			t.Errorf("got %v", err)
		}
	})
}

func TestLinkedIssueOutOfReach(t *testing.T) {
	h := newHub(t)
	h.answer("Case", func(map[string]any) (any, []any) {
		return hubPull(func(pr obj) {
			pr["closingIssuesReferences"] = obj{"totalCount": 1, "nodes": []any{nil}}
		}), []any{problem("FORBIDDEN", "Resource not accessible by integration", "repository", "pullRequest", "closingIssuesReferences", "nodes", 0)}
	})
	f, err := h.collect(nil, hubRequest())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(f.Case.Spec, "1 linked issues cannot be read") {
		t.Errorf("got %q", f.Case.Spec)
	}
	h.answer("Case", func(map[string]any) (any, []any) {
		return hubPull(nil), []any{problem("FORBIDDEN", "Resource not accessible by integration", "repository", "pullRequest", "files")}
	})
	if _, err := h.collect(nil, hubRequest()); err == nil {
		t.Error("a part that a case needs was missing, and nobody said so")
	}
}

func TestNothingIsCollectedForNothing(t *testing.T) {
	for name, change := range map[string]func(obj){
		"closed":     func(pr obj) { pr["state"] = "CLOSED" },
		"merged":     func(pr obj) { pr["state"] = "MERGED" },
		"draft":      func(pr obj) { pr["isDraft"] = true },
		"superseded": func(pr obj) { pr["headRefOid"] = shaB; pr["updatedAt"] = "2026-03-01T13:00:00Z" },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHub(t)
			h.answer("Case", func(map[string]any) (any, []any) { return hubPull(change), nil })
			r := hubRequest()
			r.UpdatedAt = time.Date(2026, 3, 1, 12, 30, 0, 0, time.UTC)
			f, err := h.collect(nil, r)
			if err != nil {
				t.Fatal(err)
			}
			if f.Complete || len(h.requests()) > 2 {
				t.Errorf("got complete %v", f.Complete)
			}
			if f.Case.ID.Key != KeyOf("acme", "pay", 1) {
				t.Errorf("got the key %v", f.Case.ID.Key)
			}
		})
	}
	h := newHub(t)
	h.answer("Case", func(map[string]any) (any, []any) { return hubPull(func(pr obj) { pr["isDraft"] = true }), nil })
	r := hubRequest()
	r.Drafts = true
	if f, err := h.collect(nil, r); err != nil || !f.Complete || !f.Case.Draft {
		t.Errorf("a draft that was asked for: %+v, %v", f, err)
	}
}

func TestChecksThatCannotBeRead(t *testing.T) {
	for required, want := range map[string]prosecutor.EvidenceState{"[build]": prosecutor.Unavailable, "[]": prosecutor.NotApplicable} {
		h := newHub(t)
		h.answer("Case", func(map[string]any) (any, []any) {
			return hubPull(func(pr obj) {
				pr["baseRef"].(obj)["target"].(obj)["policy"] = blobEntry("checks:\n  required: " + required + "\n")
			}), []any{problem("FORBIDDEN", "Resource not accessible by integration", "repository", "pullRequest", "tip", "nodes", 0, "commit", "statusCheckRollup")}
		})
		f, err := h.collect(nil, hubRequest())
		if err != nil {
			t.Fatal(err)
		}
		if f.Checks.State != want {
			t.Errorf("required %s: got %+v", required, f.Checks)
		}
	}
}

// TestPermissionNotApproved reads what it may.
func TestPermissionNotApproved(t *testing.T) {
	for name, c := range map[string]struct {
		refuse func(scope string) bool
		gone   bool
	}{
		"a permission":   {func(scope string) bool { return strings.Contains(scope, "security_events") }, false},
		"the repository": {func(string) bool { return true }, true},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHub(t)
			h.refuse = c.refuse
			_, err := h.collect(nil, hubRequest())
			gone, ok := errorAs[*GoneError](err)
			if ok != c.gone || !ok && err != nil || ok && gone.What != GoneRepository {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestBinaryThatCannotBeReadNow is no fault of the change.
func TestBinaryThatCannotBeReadNow(t *testing.T) {
	h := newHub(t)
	h.on("GET /repos/acme/pay/compare/"+shaC+"..."+shaA, text("diff --git a/x.png b/x.png\nindex 1111111..2222222 100644\nBinary files a/x.png and b/x.png differ\n"))
	h.answer("Files", func(map[string]any) (any, []any) {
		return obj{"repository": obj{"commit": obj{"oid": shaA}, "f0": obj{"__typename": "Blob", "oid": shaB, "byteSize": 3, "isBinary": true}}}, nil
	})
	h.on("GET /repos/acme/pay/git/blobs/"+shaB, status(503, "Service Unavailable"))
	if _, err := h.collect(nil, hubRequest()); ghclient.ClassOf(err) != ghclient.ClassUnavailable {
		t.Errorf("got %v", err)
	}
	h.on("GET /repos/acme/pay/git/blobs/"+shaB, text("\x89PNG\r\n\x1a\n"))
	f, err := h.collect(nil, hubRequest())
	if err != nil {
		t.Fatal(err)
	}
	h.requests()
	if content, ok, err := f.Case.ReadHead(context.Background(), "x.png"); len(content) != 8 || !ok || err != nil || len(h.requests()) != 0 {
		t.Errorf("got %q, %v, %v", content, ok, err)
	}
}
