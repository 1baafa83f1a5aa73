package rules

import (
	"path"
	"regexp"
	"strings"

	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/diff"
)

func workflowRules() []Rule {
	base := func(r Rule) Rule {
		r.Lens, r.Charge, r.langs = prosecutor.Security, prosecutor.ChargeSecurity, of(yaml)
		return r
	}
	return []Rule{
		base(Rule{
			ID: "workflow-untrusted-checkout", Severity: prosecutor.Critical, Title: "Privileged workflow checks out a pull request's head",
			Why:     "pull_request_target and workflow_run run with the base repository's secrets and a write token. With the head of the pull request checked out, anyone who opens one can run code with them. Medium when the diff shows only one half of it, or a run that follows pushes to named branches.",
			needles: []string{"pull_request_target", "workflow_run", "head.sha", "head.ref", "head_ref", "head_sha", "head_branch", "refs/pull/"},
			perFile: untrustedCheckout,
		}),
		base(Rule{
			ID: "workflow-script-injection", Severity: prosecutor.High, Title: "Outsider's text spliced into a script",
			Why:     "An expression is replaced before the shell reads the script, so a pull request's title, branch name or comment becomes code. Pass it through env and quote the variable.",
			needles: []string{"${{"},
			perFile: scriptInjection,
		}),
		base(Rule{
			ID: "workflow-unpinned-action", Severity: prosecutor.Medium, Title: "Third-party action not pinned to a commit",
			Why:     "Whoever can move the tag or branch runs code in this workflow. Medium for a branch, or where the visible part of the file grants write access or hands out secrets; low otherwise. GitHub's own actions and local ones are no finding.",
			needles: []string{"uses:"},
			perFile: unpinnedActions,
		}),
		base(Rule{
			ID: "workflow-write-all", Severity: prosecutor.Medium, Title: "Workflow asks for every permission",
			Why:     "write-all gives every step, and every action it uses, the right to change the repository.",
			needles: []string{"write-all"},
			perFile: writeAll,
		}),
		{
			ID: "ci-check-muted", Lens: prosecutor.Correctness, Severity: prosecutor.Medium, Charge: prosecutor.ChargeTests, Title: "CI check can no longer fail",
			Why:     "continue-on-error, or \"|| true\" behind a test, makes a red check green.",
			langs:   of(yaml, other),
			needles: []string{"continue-on-error", "|| true", "|| :", "allow_failure", "|| exit 0"},
			perFile: mutedChecks,
		},
	}
}

var (
	privilegedTrigger = lazy(`^\s*(?:-\s*)?(?:on\s*:\s*)?\[?\s*["']?(pull_request_target|workflow_run)\b["']?\s*[:,\]]?|^\s*on\s*:.*\b(pull_request_target|workflow_run)\b`)
	pullRequestTarget = lazy(`\bpull_request_target\b`)
	pushOnly          = lazy(`^\s*branches\s*:|\bworkflow_run\.event\s*==\s*["']push`)
	headRef           = lazy(`^\s*(?:-\s*)?(?:ref|repository)\s*:.*(?:github\.event\.pull_request\.head\.(?:sha|ref|repo)|github\.head_ref|github\.event\.workflow_run\.head_(?:sha|branch|repository)|refs/pull/)|\bgh\s+pr\s+checkout\b|\bgit\s+(?:fetch|checkout)\b.*(?:refs/pull/|pull/\$|github\.head_ref|pull_request\.head)`)
)

func untrustedCheckout(s *scan, f *file) {
	if !isWorkflow(f.path) {
		return
	}
	rows := f.masked()
	var triggers, heads []*row
	for i := range rows {
		r := &rows[i]
		if r.Op == diff.Delete || len(r.Text) > MaxLine {
			continue
		}
		if privilegedTrigger().MatchString(r.text) {
			triggers = append(triggers, r)
		}
		if headRef().MatchString(r.text) {
			heads = append(heads, r)
		}
	}
	both := len(triggers) > 0 && len(heads) > 0
	// A run that follows another one is privileged too, but often follows a push to a branch of the repository alone.
	worst := prosecutor.Critical
	if !matchesNew(rows, pullRequestTarget()) {
		worst = prosecutor.High
		if matchesNew(rows, pushOnly()) {
			worst = prosecutor.Medium
		}
	}
	for _, r := range heads {
		if r.Op != diff.Add {
			continue
		}
		if both {
			s.hit(f, r, worst, "The head of a pull request is checked out in a workflow that runs with secrets and a write token")
		} else if f.Status != diff.Added {
			s.hit(f, r, prosecutor.Low, "The head of a pull request is checked out; whether the workflow's trigger is privileged is not in the diff")
		}
	}
	for _, r := range triggers {
		if r.Op != diff.Add {
			continue
		}
		newHead := false
		for _, h := range heads {
			newHead = newHead || h.Op == diff.Add
		}
		switch {
		case both && !newHead:
			s.hit(f, r, worst, "A workflow that checks out the head of a pull request gets a trigger that runs with secrets and a write token")
		case !both && !strings.Contains(r.text, "workflow_run"):
			s.hit(f, r, prosecutor.Medium, "The workflow gets a trigger that runs with secrets and a write token for pull requests from anyone")
		}
	}
}

// outsiderText matches expressions whose value a stranger chooses freely.
var outsiderText = lazy(`\$\{\{[^}]*\b(?:github\.head_ref|github\.event\.(?:issue|pull_request|comment|review|review_comment|discussion|discussion_comment)\.(?:title|body|head\.ref|head\.label|head\.repo\.default_branch)|github\.event\.(?:head_commit|workflow_run\.head_commit)\.(?:message|author\.(?:name|email))|github\.event\.commits[^}]*\.(?:message|author\.(?:name|email))|github\.event\.workflow_run\.(?:head_branch|display_title)|github\.event\.pages[^}]*\.page_name|github\.event\.inputs\.\w*body\w*)\b[^}]*\}\}`)

var yamlKey = lazy(`^\s*(?:-\s+)?([\w.-]+)\s*:`)

func scriptInjection(s *scan, f *file) {
	if !isAction(f.path) {
		return
	}
	rows := f.masked()
	s.added(f, func(i int, r *row) {
		if !outsiderText().MatchString(r.text) {
			return
		}
		switch key := owningKey(rows, i); key {
		case "run", "script":
			s.hit(f, r, prosecutor.High, "Text that an outsider chooses is spliced into a script")
		case "":
			if !yamlKey().MatchString(r.text) {
				s.hit(f, r, prosecutor.Medium, "Text that an outsider chooses is spliced into what looks like a script")
			}
		}
	})
}

// owningKey returns the key whose value row i belongs to: its own when it is a plain "key: value", else that of the block
// scalar it stands in. It is empty when the hunk does not show it.
func owningKey(rows []row, i int) string {
	own := ""
	if m := yamlKey().FindStringSubmatch(rows[i].text); m != nil {
		own = m[1]
		if own == "run" || own == "script" {
			return own
		}
	}
	depth := indent(rows[i].Text)
	for r, j := prevNew(rows, i); r != nil; r, j = prevNew(rows, j) {
		if blank(r.Text) || indent(r.Text) >= depth {
			continue
		}
		depth = indent(r.Text)
		m := yamlKey().FindStringSubmatch(r.text)
		if m == nil {
			continue
		}
		switch value := strings.TrimSpace(r.text[strings.Index(r.text, ":")+1:]); {
		case strings.HasPrefix(value, "|") || strings.HasPrefix(value, ">"):
			return m[1]
		default:
			if own != "" {
				return own
			}
			return m[1]
		}
	}
	if own != "" && strings.TrimSpace(rows[i].text) != "" && isWorkflowKey(own) {
		return own
	}
	return ""
}

// isWorkflowKey reports whether a word is a key of a workflow rather than the begin of a shell line.
func isWorkflowKey(word string) bool {
	switch word {
	case "if", "env", "with", "name", "ref", "branch", "title", "body", "group", "concurrency", "value", "default", "description":
		return true
	}
	return strings.ToUpper(word) == word
}

var (
	usesAction = lazy(`^\s*(?:-\s+)?uses\s*:\s*["']?([\w.-]+)/([\w./-]+)@([^\s"'#]+)`)
	commitSHA  = lazy(`^[0-9a-f]{40}$|^[0-9a-f]{64}$`)
	branchRef  = lazy(`^(?:main|master|develop|dev|trunk|latest|HEAD|edge|nightly|release|stable)$`)
	writeToken = lazy(`^\s*[\w-]+\s*:\s*write\b|\bwrite-all\b|\$\{\{\s*secrets\.`)
)

func unpinnedActions(s *scan, f *file) {
	if !isAction(f.path) {
		return
	}
	rows := f.masked()
	privileged := matchesNew(rows, writeToken())
	s.added(f, func(_ int, r *row) {
		m := usesAction().FindStringSubmatch(r.text)
		if m == nil || m[1] == "actions" || m[1] == "github" || commitSHA().MatchString(m[3]) || strings.HasPrefix(m[3], "${{") {
			return
		}
		name := m[1] + "/" + m[2] + "@" + m[3]
		switch {
		case branchRef().MatchString(m[3]):
			s.hit(f, r, prosecutor.Medium, "The action "+name+" follows a branch")
		case privileged:
			s.hit(f, r, prosecutor.Medium, "The action "+name+" is not pinned to a commit, in a workflow with write access or secrets")
		default:
			s.hit(f, r, prosecutor.Low, "The action "+name+" is not pinned to a commit")
		}
	})
}

func matchesNew(rows []row, re *regexp.Regexp) bool {
	for i := range rows {
		if r := &rows[i]; r.Op != diff.Delete && len(r.Text) <= MaxLine && re.MatchString(r.text) {
			return true
		}
	}
	return false
}

var permissionsWriteAll = lazy(`^\s*permissions\s*:\s*["']?write-all\b`)

func writeAll(s *scan, f *file) {
	if !isWorkflow(f.path) {
		return
	}
	s.added(f, func(_ int, r *row) {
		if permissionsWriteAll().MatchString(r.text) {
			s.hit(f, r, prosecutor.Medium, "The workflow gives its token every permission")
		}
	})
}

var (
	continueOnError = lazy(`^\s*(?:-\s+)?(?:continue-on-error|allow_failure)\s*:\s*(?:true|"true"|'true')\s*$`)
	mutedTest       = lazy(`\b(?:test|tests|lint|check|vet|clippy|pytest|jest|vitest|mypy|eslint|tsc|audit|verify|rspec|phpunit|golangci-lint)\b[^|]*\|\|\s*(?:true|:|exit 0)\s*["']?\s*$`)
)

func mutedChecks(s *scan, f *file) {
	if !isCI(f.path) && path.Base(f.path) != "Jenkinsfile" || f.fixture {
		return
	}
	s.added(f, func(_ int, r *row) {
		switch {
		case continueOnError().MatchString(r.text):
			s.hit(f, r, prosecutor.Medium, "A failing step no longer fails the job")
		case mutedTest().MatchString(r.text):
			s.hit(f, r, prosecutor.Medium, "The result of a check is thrown away")
		}
	})
}
