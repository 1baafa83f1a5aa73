package publish

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-github/v62/github"
	"github.com/hmarr/codeowners"

	"github.com/prosecutor-bot/prosecutor/app/ghclient"
	"github.com/prosecutor-bot/prosecutor/convergence"
	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/evidence/rules"
	"github.com/prosecutor-bot/prosecutor/prosecutor/review"
)

// NeedsHuman is the label of a pull request on which the gate gave up.
const NeedsHuman = "needs-human"

// maxReviewers bounds whose review is requested: a change that everybody owns must not call everybody.
const maxReviewers = 15

// Escalation is what an ESCALATE asks of people.
type Escalation struct {
	Causes []string `json:"causes"`
	// Reviewers are logins, or organisation/team, from the policy. Without any the owners of the changed paths are asked.
	Reviewers []string `json:"reviewers,omitempty"`
	Paths     []string `json:"paths,omitempty"` // changed paths
	Base      string   `json:"base"`            // where CODEOWNERS is read
	Lenses    []Said   `json:"lenses,omitempty"`
	Laps      []Lap    `json:"laps,omitempty"`
}

// Said is what one lens said, in the transcript of the disagreement.
type Said struct {
	Lens    string   `json:"lens"`
	Judge   string   `json:"judge"`
	Family  string   `json:"family"`
	Verdict string   `json:"verdict"`
	Claims  []string `json:"claims,omitempty"` // of the blocking findings
}

// Lap is one lap of the epoch.
type Lap struct {
	Head     string `json:"head"`
	Decision string `json:"decision"`
	Blocking int    `json:"blocking"`
}

// escalation collects what the people who are asked need to know.
func escalation(res *review.Result) *Escalation {
	r := res.Ruling
	e := &Escalation{Base: r.Case.Base, Paths: res.Radius.ChangedPaths}
	if res.Case.Policy != nil {
		e.Reviewers = res.Case.Policy.Escalation.Reviewers
	}
	for _, c := range r.Causes {
		e.Causes = append(e.Causes, string(c))
	}
	blocking := map[string]bool{}
	for _, f := range r.Blocking {
		blocking[f.ID] = true
	}
	for _, l := range res.Lenses {
		said := Said{Lens: string(l.Lens), Judge: l.Judge.ID, Family: l.Judge.Family, Verdict: string(l.Verdict)}
		if l.ErrorKind != "" {
			said.Verdict += " (" + words(string(l.ErrorKind)) + ")"
		}
		for _, f := range l.Findings() {
			if blocking[f.ID] {
				said.Claims = append(said.Claims, claim(f))
			}
		}
		e.Lenses = append(e.Lenses, said)
	}
	if evidence := evidenceClaims(r); len(evidence) > 0 {
		e.Lenses = append(e.Lenses, Said{Lens: "evidence", Verdict: "red", Claims: evidence})
	}
	ledger := r.Ledger
	for i, head := range ledger.LapHeads {
		lap := Lap{Head: head}
		if i < len(ledger.LapDecisions) {
			lap.Decision = string(ledger.LapDecisions[i])
		}
		if i < len(ledger.LapBlocking) {
			lap.Blocking = ledger.LapBlocking[i]
		}
		e.Laps = append(e.Laps, lap)
	}
	return e
}

func evidenceClaims(r convergence.Ruling) []string {
	var out []string
	for _, f := range r.Blocking {
		if f.Source != prosecutor.FromModel {
			out = append(out, claim(f))
		}
	}
	return out
}

func claim(f prosecutor.Finding) string {
	return rules.Redact(fmt.Sprintf("%s %s: %s", f.Severity, f.Charge, f.Claim))
}

// escalationKey is one per epoch: an escalation locks the pull request until a person opens the next.
func (p *Publication) escalationKey(t Target) string {
	return fmt.Sprintf("%s%d", escalations(t), max(1, p.Epoch))
}

// escalations is what the keys of all escalations of a pull request begin with.
func escalations(t Target) string { return fmt.Sprintf("%d/%d/epoch:", t.RepoID, t.PR) }

// unlabel takes the label of an earlier escalation away after an ADVANCE. Without a comment of ours on an escalation the
// label is somebody else's.
func (p *Publisher) unlabel(ctx context.Context, gh *github.Client, t Target, st *state, out *Published) error {
	ours := "<!-- prosecutor:escalation " + escalations(t)
	if !slices.Contains(st.labels, NeedsHuman) || !anyOf(st.comments, func(c commentNode) bool { return has(c.Body, ours) }) {
		return nil
	}
	if _, err := gh.Issues.RemoveLabelForIssue(ctx, t.Owner, t.Repo, t.PR, NeedsHuman); err != nil && !ghclient.IsNotFound(err) {
		return p.tolerate(err, "taking the label from "+t.where(), "the label "+NeedsHuman+" could not be taken away", out)
	}
	return nil
}

// escalate asks people: a label, requests for review and one comment, in this order, so that the comment says who was
// asked. The comment is the proof that all was done; each step can be repeated without harm.
func (p *Publisher) escalate(ctx context.Context, gh *github.Client, t Target, pub *Publication, st *state, out *Published) error {
	marker := mark("escalation", pub.escalationKey(t))
	if anyOf(st.comments, func(c commentNode) bool { return has(c.Body, marker) }) {
		return nil
	}
	if !slices.Contains(st.labels, NeedsHuman) {
		if _, _, err := gh.Issues.AddLabelsToIssue(ctx, t.Owner, t.Repo, t.PR, []string{NeedsHuman}); err != nil {
			if err := p.tolerate(err, "labelling "+t.where(), "GitHub did not take the label "+NeedsHuman, out); err != nil {
				return err
			}
		}
	}
	asked, declined, err := p.request(ctx, gh, t, pub, out)
	if err != nil {
		return err
	}
	body := pub.transcript(t, marker, asked, declined)
	if _, _, err := gh.Issues.CreateComment(ctx, t.Owner, t.Repo, t.PR, &github.IssueComment{Body: github.String(body)}); err != nil {
		return p.tolerate(err, "commenting the escalation of "+t.where(), "GitHub did not take the comment on the escalation", out)
	}
	return nil
}

// reviewer is a login or a team's slug.
type reviewer struct {
	name string
	team bool
}

func (r reviewer) String() string {
	if r.team {
		return "team " + r.name
	}
	return r.name
}

// request asks for reviews. GitHub refuses a whole request for one name that it does not know or that may not review, so
// the names are then tried one by one.
func (p *Publisher) request(ctx context.Context, gh *github.Client, t Target, pub *Publication, out *Published) (asked, declined []reviewer, err error) {
	names, err := p.reviewers(ctx, gh, t, pub, out)
	if err != nil || len(names) == 0 {
		return nil, nil, err
	}
	one := func(names []reviewer) error {
		var req github.ReviewersRequest
		for _, r := range names {
			if r.team {
				req.TeamReviewers = append(req.TeamReviewers, r.name)
			} else {
				req.Reviewers = append(req.Reviewers, r.name)
			}
		}
		_, _, err := gh.PullRequests.RequestReviewers(ctx, t.Owner, t.Repo, t.PR, req)
		return err
	}
	if err = one(names); err == nil {
		return names, nil, nil
	}
	if !refused(err) {
		return nil, nil, fmt.Errorf("requesting reviews of %s: %w", t.where(), err)
	}
	if len(names) == 1 {
		return nil, names, nil
	}
	for _, r := range names {
		switch err := one([]reviewer{r}); {
		case err == nil:
			asked = append(asked, r)
		case refused(err):
			declined = append(declined, r)
		default:
			return nil, nil, fmt.Errorf("requesting a review of %s: %w", t.where(), err)
		}
	}
	return asked, declined, nil
}

// reviewers are those of the policy, else the owners of the changed paths. The author is left out: GitHub refuses a request
// that names them.
func (p *Publisher) reviewers(ctx context.Context, gh *github.Client, t Target, pub *Publication, out *Published) ([]reviewer, error) {
	names := pub.Escalation.Reviewers
	if len(names) == 0 {
		owners, err := p.owners(ctx, gh, t, pub.Escalation, out)
		if err != nil {
			return nil, err
		}
		names = owners
	}
	var list []reviewer
	for _, name := range names {
		r := reviewer{name: strings.TrimPrefix(name, "@")}
		if org, team, ok := strings.Cut(r.name, "/"); ok {
			if !strings.EqualFold(org, t.Owner) {
				continue // a team of another organisation cannot be asked
			}
			r = reviewer{name: team, team: true}
		}
		if r.name == "" || !r.team && strings.EqualFold(r.name, pub.Author) || slices.Contains(list, r) {
			continue
		}
		if list = append(list, r); len(list) == maxReviewers {
			break
		}
	}
	return list, nil
}

// owners are the owners of the changed paths by the base's CODEOWNERS, where GitHub looks for it.
func (p *Publisher) owners(ctx context.Context, gh *github.Client, t Target, e *Escalation, out *Published) ([]string, error) {
	for _, path := range []string{".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS"} {
		file, _, _, err := gh.Repositories.GetContents(ctx, t.Owner, t.Repo, path, &github.RepositoryContentGetOptions{Ref: e.Base})
		if ghclient.IsNotFound(err) || err == nil && file == nil {
			continue
		}
		if err != nil {
			return nil, p.tolerate(err, "reading CODEOWNERS for "+t.where(), "CODEOWNERS could not be read", out)
		}
		content, err := file.GetContent()
		if err != nil {
			out.Notes = append(out.Notes, "CODEOWNERS could not be read: "+brief(err))
			return nil, nil
		}
		owners, err := ownersOf([]byte(content), e.Paths)
		if err != nil {
			out.Notes = append(out.Notes, "CODEOWNERS could not be read: "+brief(err))
		}
		return owners, nil
	}
	return nil, nil
}

// ownersOf returns the owners of paths, in the order of the paths. Owners named by e-mail cannot be asked for a review. A
// line that cannot be read is skipped, as GitHub does, and reported.
func ownersOf(file []byte, paths []string) ([]string, error) {
	set, err := codeowners.ParseFile(bytes.NewReader(file))
	var problems []error
	if err != nil {
		problems = append(problems, fmt.Errorf("parsing CODEOWNERS: %w", err))
		set = nil
		for _, line := range bytes.Split(file, []byte("\n")) {
			one, err := codeowners.ParseFile(bytes.NewReader(line))
			if err == nil {
				set = append(set, one...)
			}
		}
	}
	var out []string
	for _, path := range paths {
		rule, err := set.Match(path)
		if err != nil {
			problems = append(problems, fmt.Errorf("matching CODEOWNERS: %w", err))
			continue
		}
		if rule == nil {
			continue
		}
		for _, o := range rule.Owners {
			if o.Type == codeowners.EmailOwner || slices.Contains(out, o.Value) {
				continue
			}
			out = append(out, o.Value)
		}
	}
	return out, errors.Join(problems...)
}

// transcript is the comment that asks people to take over. It names nobody with an at sign: the request for review has
// told them.
func (p *Publication) transcript(t Target, marker string, asked, declined []reviewer) string {
	e := p.Escalation
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n### %s\n\n", marker, prose(p.Title, maxTitle))
	fmt.Fprintf(&b, "The gate gives up on `%s` and asks people. It does not judge this pull request again until a person with write access writes `/prosecute`, which opens a new epoch.\n\n", safe(t.Head))
	for _, c := range e.Causes {
		fmt.Fprintf(&b, "- %s\n", prose(cause(c, p), 300))
	}
	b.WriteString("\n")
	if len(e.Lenses) > 0 {
		b.WriteString("| lens | judge | family | verdict |\n|---|---|---|---|\n")
		for _, l := range e.Lenses {
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", prose(l.Lens, 40), prose(l.Judge, 60), prose(l.Family, 40), prose(l.Verdict, 80))
		}
		b.WriteString("\n")
	}
	for _, l := range e.Lenses {
		if len(l.Claims) == 0 {
			continue
		}
		fmt.Fprintf(&b, "**%s** says:\n\n", prose(l.Lens, 40))
		for i, c := range l.Claims {
			if i == 10 {
				fmt.Fprintf(&b, "- and %d more\n", len(l.Claims)-i)
				break
			}
			fmt.Fprintf(&b, "- %s\n", prose(c, 400))
		}
		b.WriteString("\n")
	}
	if len(e.Laps) > 0 {
		b.WriteString("| lap | head | decision | blocking |\n|---|---|---|---|\n")
		for i, l := range e.Laps {
			fmt.Fprintf(&b, "| %d | `%s` | %s | %d |\n", i+1, short(safe(l.Head)), prose(l.Decision, 20), l.Blocking)
		}
		b.WriteString("\n")
	}
	switch {
	case len(asked) > 0:
		fmt.Fprintf(&b, "Review requested from %s.\n", names(asked))
	default:
		b.WriteString("No reviewer could be asked; `escalation.reviewers` in the policy, or CODEOWNERS, names them.\n")
	}
	if len(declined) > 0 {
		fmt.Fprintf(&b, "\nGitHub did not take a request to %s.\n", names(declined))
	}
	return Cut(b.String(), maxBody, "Cut: the check run has the whole of it.")
}

// cause says why the gate gave up.
func cause(c string, p *Publication) string {
	switch convergence.Reason(c) {
	case convergence.LapBudget:
		if l := p.Result.Ledger; l != nil {
			return fmt.Sprintf("The lap budget is used up: %d of %d laps were sent back.", l.BudgetLaps, l.MaxLaps)
		}
		return "The lap budget is used up."
	case convergence.Oscillation:
		return "Two laps running were sent back for the same findings."
	case convergence.NotJudgedInTime:
		return "No judge could be had in time."
	case convergence.NoIndependence:
		return "An independent judge is required, and none is configured."
	default:
		return words(c)
	}
}

func names(list []reviewer) string {
	out := make([]string, len(list))
	for i, r := range list {
		out[i] = prose(r.String(), 80)
	}
	return strings.Join(out, ", ")
}
