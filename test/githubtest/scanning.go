package githubtest

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/hmarr/codeowners"
)

// Alert adds a code scanning alert, or another instance of it on a further ref when its number is there already, and returns
// its number. The webhook says created, or appeared_in_branch.
func (r *Repo) Alert(a Alert) (number int) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	if a.Ref == "" {
		a.Ref = "refs/heads/" + r.defaultBranch
	}
	if a.State == "" {
		a.State = "open"
	}
	if a.Tool == "" {
		a.Tool = "CodeQL"
	}
	if a.Severity == "" {
		a.Severity = "warning"
	}
	if a.CommitSHA == "" {
		a.CommitSHA = r.resolveRef(a.Ref)
	}
	if a.StartLine == 0 {
		a.StartLine = 1
	}
	if a.EndLine == 0 {
		a.EndLine = a.StartLine
	}
	for _, o := range r.alerts {
		if o.number == a.Number {
			o.refs = append(o.refs, a.Ref)
			o.updated = r.s.now()
			r.s.emit(event{name: "code_scanning_alert", action: "appeared_in_branch", repo: r, alert: o, ref: a.Ref, sender: "github-advanced-security[bot]"})
			return o.number
		}
	}
	if a.Number == 0 {
		a.Number = len(r.alerts) + 1
	}
	now := r.s.now()
	al := &alert{number: a.Number, Alert: a, created: now, updated: now, refs: []string{a.Ref}, state: a.State, toolName: a.Tool}
	r.alerts = append(r.alerts, al)
	r.s.emit(event{name: "code_scanning_alert", action: "created", repo: r, alert: al, ref: a.Ref, sender: "github-advanced-security[bot]"})
	return al.number
}

// SetAlert moves an alert to a state (open, dismissed, fixed); the webhook says reopened, closed_by_user or fixed.
func (r *Repo) SetAlert(number int, state, sender string) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	for _, a := range r.alerts {
		if a.number != number {
			continue
		}
		a.state, a.updated = state, r.s.now()
		action := map[string]string{"open": "reopened_by_user", "dismissed": "closed_by_user", "fixed": "fixed"}[state]
		if sender == "" {
			sender = "github-advanced-security[bot]"
			if state == "open" {
				action = "reopened"
			}
		}
		a.Alert.DismissedReason = ""
		if state == "dismissed" {
			a.Alert.DismissedReason = "false positive"
		}
		r.s.emit(event{name: "code_scanning_alert", action: action, repo: r, alert: a, ref: a.refs[0], sender: sender})
		return
	}
	panic(fmt.Sprintf("githubtest: there is no alert %d", number))
}

// Analysis records that a code scanning tool has uploaded its results for a commit.
func (r *Repo) Analysis(a Analysis) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	if a.Tool == "" {
		a.Tool = "CodeQL"
	}
	if a.Ref == "" {
		a.Ref = "refs/heads/" + r.defaultBranch
	}
	if a.CommitSHA == "" {
		a.CommitSHA = r.resolveRef(a.Ref)
	}
	r.analyses = append(r.analyses, &analysis{id: r.s.id(), Analysis: a, created: r.s.now()})
}

// resolveRef resolves a full ref or a branch; refs/pull/N/merge is made when it is not there yet.
func (r *Repo) resolveRef(ref string) string {
	if n, isMerge := strings.CutSuffix(strings.TrimPrefix(ref, "refs/pull/"), "/merge"); isMerge {
		number, _ := strconv.Atoi(n)
		if p := r.pulls[number]; p != nil && p.mergeable == mergeUnknown {
			p.computeMerge()
		}
	}
	return r.resolve(strings.TrimPrefix(strings.TrimPrefix(ref, "refs/heads/"), "refs/"))
}

func scanningRoutes() map[string]route {
	return map[string]route{
		"GET /repos/{owner}/{repo}/code-scanning/alerts":                {need: "security_events:read", handle: listAlerts},
		"GET /repos/{owner}/{repo}/code-scanning/alerts/{alert_number}": {need: "security_events:read", handle: onAlert(func(c *call, a *alert) reply { return ok(c.repo.alertJSON(a, a.refs[0], true)) })},
		"GET /repos/{owner}/{repo}/code-scanning/alerts/{alert_number}/instances": {need: "security_events:read", handle: onAlert(func(c *call, a *alert) reply {
			return list(c, a.refs, func(ref string) any { return a.instanceJSON(ref) })
		})},
		"GET /repos/{owner}/{repo}/code-scanning/analyses": {need: "security_events:read", handle: listAnalyses},
		"GET /repos/{owner}/{repo}/codeowners/errors":      {need: "contents:read", handle: codeownersErrors},
	}
}

func onAlert(h func(*call, *alert) reply) handler {
	return func(c *call) reply {
		for _, a := range c.repo.alerts {
			if int64(a.number) == c.number("alert_number") {
				return h(c, a)
			}
		}
		return notFound()
	}
}

// fullRef completes what the ref parameter may abbreviate.
func fullRef(ref string) string {
	if ref == "" || strings.HasPrefix(ref, "refs/") {
		return ref
	}
	return "refs/heads/" + ref
}

func listAlerts(c *call) reply {
	ref := fullRef(c.query("ref"))
	if n := c.query("pr"); n != "" {
		ref = "refs/pull/" + n + "/merge"
	}
	if ref == "" {
		ref = "refs/heads/" + c.repo.defaultBranch
	}
	if len(c.repo.analyses) == 0 && len(c.repo.alerts) == 0 {
		return failure(http.StatusNotFound, "no analysis found")
	}
	var found []*alert
	for _, a := range c.repo.alerts {
		at := slices.ContainsFunc(a.refs, func(r string) bool {
			return r == ref || strings.TrimSuffix(r, "/head") == strings.TrimSuffix(ref, "/merge") && strings.HasPrefix(r, "refs/pull/")
		})
		if !at || c.query("state") != "" && c.query("state") != a.state || c.query("tool_name") != "" && c.query("tool_name") != a.toolName ||
			c.query("severity") != "" && c.query("severity") != a.Alert.SecuritySeverity && c.query("severity") != a.Alert.Severity {
			continue
		}
		found = append(found, a)
	}
	slices.Reverse(found)
	return list(c, found, func(a *alert) any { return c.repo.alertJSON(a, ref, false) })
}

func listAnalyses(c *call) reply {
	ref := fullRef(c.query("ref"))
	if n := c.query("pr"); n != "" {
		ref = "refs/pull/" + n + "/merge"
	}
	if len(c.repo.analyses) == 0 {
		return failure(http.StatusNotFound, "no analysis found")
	}
	var found []*analysis
	for _, a := range c.repo.analyses {
		if ref != "" && a.Analysis.Ref != ref || c.query("tool_name") != "" && c.query("tool_name") != a.Analysis.Tool {
			continue
		}
		found = append(found, a)
	}
	slices.Reverse(found)
	return list(c, found, func(a *analysis) any {
		id := strconv.FormatInt(a.id, 10)
		return object{
			"ref": a.Analysis.Ref, "commit_sha": a.Analysis.CommitSHA, "analysis_key": ".github/workflows/scan.yml:analyze", "environment": "{}", "category": a.Analysis.Category,
			"error": a.Analysis.Error, "warning": a.Analysis.Warning, "created_at": stamp(a.created), "results_count": a.Analysis.Results, "rules_count": 10, "id": a.id,
			"url": c.repo.api() + "/code-scanning/analyses/" + id, "sarif_id": "6c81cd8e-b078-4ac3-a3be-1dad7dbd0b53", "deletable": true,
			"tool": object{"name": a.Analysis.Tool, "guid": nil, "version": "1.0"},
		}
	})
}

func (a *alert) instanceJSON(ref string) object {
	v := a.Alert
	return object{
		"ref": ref, "analysis_key": ".github/workflows/scan.yml:analyze", "environment": "{}", "category": v.Category, "state": a.state, "commit_sha": v.CommitSHA,
		"message":         object{"text": v.Message},
		"location":        object{"path": v.Path, "start_line": v.StartLine, "end_line": v.EndLine, "start_column": max(1, v.StartColumn), "end_column": max(1, v.EndColumn)},
		"classifications": []any{},
	}
}

func (r *Repo) alertJSON(a *alert, ref string, full bool) object {
	v := a.Alert
	api := r.api() + "/code-scanning/alerts/" + strconv.Itoa(a.number)
	rule := object{"id": v.Rule, "name": v.Rule, "severity": v.Severity, "security_severity_level": text(v.SecuritySeverity), "description": v.Description, "tags": []string{"security"}}
	if full {
		rule["full_description"], rule["help"] = v.Description, v.Description
	}
	body := object{
		"number": a.number, "created_at": stamp(a.created), "updated_at": stamp(a.updated), "url": api, "html_url": r.web() + "/security/code-scanning/" + strconv.Itoa(a.number),
		"state": a.state, "fixed_at": nil, "dismissed_by": nil, "dismissed_at": nil, "dismissed_reason": nil, "dismissed_comment": nil, "rule": rule,
		"tool": object{"name": v.Tool, "guid": nil, "version": "1.0"}, "most_recent_instance": a.instanceJSON(ref), "instances_url": api + "/instances",
	}
	switch a.state {
	case "fixed":
		body["fixed_at"] = stamp(a.updated)
	case "dismissed":
		reason := v.DismissedReason
		if reason == "" {
			reason = "won't fix"
		}
		body["dismissed_by"], body["dismissed_at"], body["dismissed_reason"] = r.s.user(r.s.admin(r.owner)), stamp(a.updated), reason
	}
	return body
}

// codeownersErrors parses the CODEOWNERS file that GitHub would use and lists the lines that it would not understand.
func codeownersErrors(c *call) reply {
	ref := c.query("ref")
	if ref == "" {
		ref = c.repo.defaultBranch
	}
	sha := c.repo.resolve(ref)
	for _, name := range []string{".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS"} {
		e, found := c.repo.entry(sha, name)
		if !found {
			continue
		}
		data, _ := c.repo.blob(e.sha)
		problems := []any{}
		for i, line := range strings.Split(string(data), "\n") {
			if _, err := codeowners.ParseFile(strings.NewReader(line)); err != nil {
				problems = append(problems, object{
					"line": i + 1, "column": 1, "kind": "Invalid owner", "source": line, "suggestion": nil, "path": name,
					"message": fmt.Sprintf("Invalid owner on line %d:\n\n  %s\n  ^", i+1, line),
				})
			}
		}
		return ok(object{"errors": problems})
	}
	return notFound()
}
