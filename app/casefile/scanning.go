package casefile

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/go-github/v62/github"
	"golang.org/x/sync/errgroup"

	"github.com/prosecutor-bot/prosecutor/app/ghclient"
	"github.com/prosecutor-bot/prosecutor/prosecutor/evidence"
)

// mostAlertPages bounds the open alerts of one ref that are read, a hundred a page.
const mostAlertPages = 20

// analysesRead is the first page of a repository's analyses, newest first, of all refs.
type analysesRead struct {
	list       []*github.ScanningAnalysis
	complete   bool // there are no others
	notEnabled bool
	err        error
}

// oldest is when the oldest of the analyses was made: there is no newer one that is not in the list.
func (a analysesRead) oldest() time.Time {
	var t time.Time
	for _, x := range a.list {
		if at := x.GetCreatedAt().Time; t.IsZero() || at.Before(t) {
			t = at
		}
	}
	return t
}

func (a analysesRead) on(ref string) []*github.ScanningAnalysis {
	var out []*github.ScanningAnalysis
	for _, x := range a.list {
		if x.GetRef() == ref {
			out = append(out, x)
		}
	}
	return out
}

// analyses reads what has been analysed lately. A repository that was found without code scanning is not asked again for
// an hour, unless the event is about an alert.
func (s *session) analyses(ctx context.Context, r Request) analysesRead {
	now := s.c.opt.Now()
	if strings.HasPrefix(string(r.Event), "code_scanning_alert.") {
		s.c.notEnabled.forget(s.repoID)
	}
	if s.c.notEnabled.has(s.repoID, now) {
		return analysesRead{notEnabled: true}
	}
	read := s.analysesOn(ctx, "")
	if read.notEnabled {
		s.c.notEnabled.add(s.repoID, now)
	}
	return read
}

// analysesOn reads the newest hundred analyses of a ref, or of all.
func (s *session) analysesOn(ctx context.Context, ref string) analysesRead {
	query := url.Values{"per_page": {"100"}}
	if ref != "" {
		query.Set("ref", ref)
	}
	var list []*github.ScanningAnalysis
	resp, err := s.get(ctx, "code-scanning/analyses", query, &list)
	if err == nil {
		return analysesRead{list: list, complete: resp.NextPage == 0}
	}
	return scanFailure(err)
}

// scanFailure tells the answers that say there is nothing from those that say nothing. GitHub has "Code scanning is not
// enabled for this repository" and "Advanced Security must be enabled for this repository to use code scanning" with 403,
// newer products name "Code Security"; 404 "no analysis found" says that no tool has ever run. A permission that is
// missing, and a plain 404, are failures.
func scanFailure(err error) analysesRead {
	message := ""
	if e, ok := errorAs[*github.ErrorResponse](err); ok {
		message = strings.ToLower(e.Message)
	}
	code := ghclient.StatusOf(err)
	switch {
	case code == http.StatusForbidden && strings.Contains(message, "enabled") && !strings.Contains(message, "not accessible"):
		return analysesRead{notEnabled: true}
	case code == http.StatusNotFound && strings.Contains(message, "no analysis found"):
		return analysesRead{complete: true}
	case ghclient.IsForbidden(err):
		return analysesRead{err: fmt.Errorf("the App may not read it; approve its permission security_events on the installation's page: %w", err)}
	default:
		return analysesRead{err: err}
	}
}

// stops returns a failure that is not one of code scanning but of all reading: a limit, a lost installation, a caller that
// gave up. It ends the collecting; any other failure makes the evidence unavailable (semantics 5).
func stops(ctx context.Context, scan evidence.Scan) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	switch ghclient.ClassOf(scan.Err) {
	case ghclient.ClassRateLimited, ghclient.ClassInstallationGone, ghclient.ClassSuspended:
		return failed(scan.Err, "reading code scanning")
	default:
		return nil
	}
}

// scan reads what code scanning says about the pull request. It never fails: what could not be read is in Err.
func (s *session) scan(ctx context.Context, f *File, p *pull, all analysesRead) evidence.Scan {
	scan := evidence.Scan{PR: evidence.PullRequest{Number: f.PR, BaseBranch: f.BaseBranch, Commits: []string{f.Head}}}
	if all.notEnabled || all.err != nil {
		scan.NotEnabled, scan.Err = all.notEnabled, all.err
		return scan
	}
	merge := fmt.Sprintf("refs/pull/%d/merge", f.PR)
	refs := []string{merge, fmt.Sprintf("refs/pull/%d/head", f.PR)}
	if !f.Fork && f.HeadBranch != f.BaseBranch {
		scan.PR.HeadBranch = f.HeadBranch
		refs = append(refs, "refs/heads/"+f.HeadBranch)
	}
	if m := p.PotentialMergeCommit; m != nil && m.Oid != "" && slices.ContainsFunc(m.Parents.Nodes, func(n struct{ Oid string }) bool { return n.Oid == f.Head }) {
		scan.PR.Commits = append(scan.PR.Commits, m.Oid)
	}
	if len(all.list) == 0 && all.complete {
		return scan // no tool has ever run
	}
	// An analysis of this head cannot be older than the head. Where the page reaches back that far, what is not on it does
	// not exist; a head with a forged date misses analyses and so never gets clean.
	enough := all.complete
	if len(p.Tip.Nodes) == 1 && p.Tip.Nodes[0].Commit.Oid == f.Head {
		enough = enough || p.Tip.Nodes[0].Commit.CommittedDate.After(all.oldest())
	}
	if err := s.analysesOf(ctx, &scan, f, refs, all, enough); err != nil {
		scan.Err = err
		return scan
	}
	if err := s.mergeCommits(ctx, &scan, f, all.on(merge)); err != nil {
		scan.Err = err
		return scan
	}
	// Alerts live on refs that were analysed. The merge ref is always asked: it is where the scanners of pull requests report.
	analysed := slices.DeleteFunc(slices.Clone(refs), func(ref string) bool { return ref != merge && enough && len(all.on(ref)) == 0 })
	scan.Alerts, scan.Err = s.alerts(ctx, f, analysed, func(a *github.Alert) bool { return outdated(scan, a) })
	return scan
}

// outdated reports whether an alert was last seen on another head, and its tool has still to analyse this one: it may be
// the very alert that the push has fixed. Nothing is let through by it, because the analysis is waited for.
func outdated(scan evidence.Scan, a *github.Alert) bool {
	seen, tool := a.GetMostRecentInstance().GetCommitSHA(), a.GetTool().GetName()
	byTool := func(x evidence.Analysis) bool { return x.Tool == tool }
	ofHead := func(x evidence.Analysis) bool { return byTool(x) && slices.Contains(scan.PR.Commits, x.Commit) }
	return seen != "" && !slices.Contains(scan.PR.Commits, seen) &&
		slices.ContainsFunc(scan.Base, byTool) && !slices.ContainsFunc(scan.Head, ofHead)
}

// analysesOf fills in the analyses of base and head, asking for what the first page does not tell.
func (s *session) analysesOf(ctx context.Context, scan *evidence.Scan, f *File, refs []string, all analysesRead, enough bool) error {
	base := "refs/heads/" + f.BaseBranch
	reads := make(map[string]*analysesRead)
	var ask []string
	if !all.complete {
		ask = append(ask, base)
	}
	if !enough {
		ask = append(ask, refs...)
	}
	together, gctx := errgroup.WithContext(ctx)
	together.SetLimit(4)
	for _, ref := range ask {
		read := new(analysesRead)
		reads[ref] = read
		together.Go(func() error {
			*read = s.analysesOn(gctx, ref)
			return read.err
		})
	}
	if err := together.Wait(); err != nil {
		return err
	}
	on := func(ref string) []*github.ScanningAnalysis {
		if read := reads[ref]; read != nil {
			return read.list
		}
		return all.on(ref)
	}
	for _, a := range on(base) {
		x := analysis(a)
		x.Commit, x.Error = "", ""
		if !slices.Contains(scan.Base, x) {
			scan.Base = append(scan.Base, x)
		}
	}
	for _, ref := range refs {
		for _, a := range on(ref) {
			scan.Head = append(scan.Head, analysis(a))
		}
	}
	return nil
}

func analysis(a *github.ScanningAnalysis) evidence.Analysis {
	return evidence.Analysis{Tool: a.GetTool().GetName(), Category: a.GetCategory(), Commit: a.GetCommitSHA(), Error: a.GetError()}
}

// mergeCommits finds out which analysed commits of the merge ref are merges of this head: GitHub makes a new test merge
// whenever the base moves, and the analysis of an older one is still of this head.
func (s *session) mergeCommits(ctx context.Context, scan *evidence.Scan, f *File, onMerge []*github.ScanningAnalysis) error {
	var unknown []string
	for _, a := range onMerge {
		if sha := a.GetCommitSHA(); sha != "" && !slices.Contains(scan.PR.Commits, sha) && !slices.Contains(unknown, sha) && len(unknown) < 10 {
			unknown = append(unknown, sha)
		}
	}
	if len(unknown) == 0 || len(missing(*scan)) == 0 {
		return nil
	}
	var params, fields strings.Builder
	vars := map[string]any{}
	for i, sha := range unknown {
		fmt.Fprintf(&params, ", $c%d: GitObjectID!", i)
		fmt.Fprintf(&fields, "    c%d: object(oid: $c%d) { ... on Commit { oid parents(first: 10) { nodes { oid } } } }\n", i, i)
		vars["c"+strconv.Itoa(i)] = sha
	}
	query := "query Merges($owner: String!, $name: String!" + params.String() + ") {\n  repository(owner: $owner, name: $name) {\n" + fields.String() + "  }\n}\n"
	var a struct {
		Repository map[string]*struct {
			Oid     string
			Parents struct{ Nodes []struct{ Oid string } }
		}
	}
	if err := s.graphql(ctx, query, vars, &a, nil); err != nil {
		return fmt.Errorf("reading the merge commits that were analysed: %w", err)
	}
	for _, c := range a.Repository {
		if c != nil && slices.ContainsFunc(c.Parents.Nodes, func(n struct{ Oid string }) bool { return n.Oid == f.Head }) {
			scan.PR.Commits = append(scan.PR.Commits, c.Oid)
		}
	}
	return nil
}

// missing names what the head still has to be analysed by.
func missing(scan evidence.Scan) []string { return evidence.CodeScanning(scan).Missing }

// alerts reads the open alerts on the refs, each with its occurrences there, and which of them are open on the base too.
func (s *session) alerts(ctx context.Context, f *File, refs []string, outdated func(*github.Alert) bool) ([]evidence.Alert, error) {
	perRef := make([][]*github.Alert, len(refs))
	together, gctx := errgroup.WithContext(ctx)
	for i, ref := range refs {
		together.Go(func() (err error) {
			perRef[i], err = s.alertsOn(gctx, ref)
			return err
		})
	}
	if err := together.Wait(); err != nil {
		return nil, err
	}
	var out []evidence.Alert
	at := make(map[int]int)
	for i, ref := range refs {
		for _, a := range perRef[i] {
			if outdated(a) {
				continue
			}
			k, seen := at[a.GetNumber()]
			if !seen {
				k = len(out)
				at[a.GetNumber()] = k
				out = append(out, alert(a))
			}
			out[k].Instances = append(out[k].Instances, instance(a, ref))
		}
	}
	if len(out) == 0 {
		return nil, nil
	}
	onBase, err := s.alertsOn(ctx, "refs/heads/"+f.BaseBranch)
	if err != nil {
		return nil, fmt.Errorf("the alerts of the base branch: %w", err)
	}
	for _, a := range onBase {
		if k, ok := at[a.GetNumber()]; ok {
			out[k].OpenOnBase = true
		}
	}
	return out, nil
}

// alertsOn reads all open alerts of a ref. A part of them is an error.
func (s *session) alertsOn(ctx context.Context, ref string) ([]*github.Alert, error) {
	var out []*github.Alert
	for page := 1; page <= mostAlertPages; page++ {
		var list []*github.Alert
		query := url.Values{"ref": {ref}, "state": {"open"}, "per_page": {"100"}}
		if page > 1 {
			query.Set("page", strconv.Itoa(page))
		}
		resp, err := s.get(ctx, "code-scanning/alerts", query, &list)
		if err != nil {
			if read := scanFailure(err); read.err != nil || read.notEnabled {
				return nil, fmt.Errorf("the alerts on %s: %w", ref, err)
			}
			return out, nil
		}
		out = append(out, list...)
		if resp.NextPage == 0 {
			return out, nil
		}
	}
	return nil, fmt.Errorf("the alerts on %s: %w", ref, errTooMany)
}

func alert(a *github.Alert) evidence.Alert {
	out := evidence.Alert{
		Number: a.GetNumber(), State: a.GetState(), Tool: a.GetTool().GetName(), Rule: a.GetRule().GetID(),
		SecuritySeverity: a.GetRule().GetSecuritySeverityLevel(), RuleSeverity: a.GetRule().GetSeverity(),
		Message: a.GetMostRecentInstance().GetMessage().GetText(), URL: a.GetHTMLURL(),
	}
	if out.Rule == "" {
		out.Rule = a.GetRule().GetName()
	}
	if out.Message == "" {
		out.Message = a.GetRule().GetDescription()
	}
	return out
}

// instance is the occurrence of an alert on the ref that was asked for. GitHub answers with the one on that ref; where it
// names another, the alert is still listed as open on the one that was asked.
func instance(a *github.Alert, ref string) evidence.Instance {
	i := a.GetMostRecentInstance()
	return evidence.Instance{
		Ref: ref, State: "open", Path: i.GetLocation().GetPath(), StartLine: i.GetLocation().GetStartLine(), EndLine: i.GetLocation().GetEndLine(),
	}
}

// get reads a resource of the repository.
func (s *session) get(ctx context.Context, path string, query url.Values, out any) (*github.Response, error) {
	u := fmt.Sprintf("repos/%s/%s/%s", s.owner, s.repo, path)
	if len(query) > 0 {
		u += "?" + query.Encode()
	}
	req, err := s.rest.NewRequest(http.MethodGet, u, nil)
	if err != nil {
		return nil, err
	}
	return s.rest.Do(ctx, req, out)
}
