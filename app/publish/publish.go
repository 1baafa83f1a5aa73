// Package publish shows a decision on GitHub: a check run on the reviewed head, one review with comments on the lines, one
// comment that is edited in place, and what an escalation asks of people (semantics 10).
//
// It writes only what it is given, and never judges. Whatever of a change ends up in a text is escaped, and the document it
// is given has its secrets masked. All of it can be repeated: each artefact carries a hidden marker of the case, and one
// read at the beginning finds what an earlier attempt already made.
//
// # Requests
//
// A first publication costs at most five requests: Begin creates the check run, Publish reads the pull request (one GraphQL
// query that re-reads the head and finds our own artefacts), posts the review, posts the sticky comment and concludes the
// check run. A clean ADVANCE without an earlier comment costs three.
//
// The head is re-read by that first query, immediately before anything is written. It is read once more before the check
// run is concluded when more than two seconds went by since, or annotations took more than one request; otherwise the first
// read serves both. A check run that concludes on a head that moved in between is still true: it is about the SHA it
// stands on.
package publish

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/go-github/v62/github"

	"github.com/prosecutor-bot/prosecutor/app/ghclient"
	"github.com/prosecutor-bot/prosecutor/convergence"
)

// CheckName is the name of our check run: what a branch protection rule requires.
const CheckName = "prosecutor"

// rereadAfter is how old the knowledge of the head may be when the check run is concluded.
const rereadAfter = 2 * time.Second

// Clients is what the publisher needs of ghclient.
type Clients interface {
	Installation(ctx context.Context, installationID int64, scope ghclient.Scope) (*github.Client, error)
	GraphQL(ctx context.Context, installationID int64, scope ghclient.Scope, query string, vars map[string]any, out any) error
}

// Options are the parts of a Publisher.
type Options struct {
	Clients Clients
	Now     func() time.Time // nil means time.Now
	HTML    string           // the host that people see, such as https://github.com; empty: what Clients says, else github.com
	// DetailsURL is where the details of a case can be seen, for the link of the check run. Nil, or an empty answer, leaves
	// it to GitHub.
	DetailsURL func(Target) string
	// FindingsURL is where the blocking findings of a case can be fetched as JSON. Nil, or an empty answer, links the check
	// run instead.
	FindingsURL func(Target) string
}

// Publisher publishes. It is safe for concurrent use, but two publications of one pull request must not overlap: the queue
// sees to that.
type Publisher struct {
	clients     Clients
	now         func() time.Time
	html        string
	detailsURL  func(Target) string
	findingsURL func(Target) string
}

// New returns a publisher.
func New(o Options) *Publisher {
	p := &Publisher{clients: o.Clients, now: o.Now, html: strings.TrimSuffix(o.HTML, "/"), detailsURL: o.DetailsURL, findingsURL: o.FindingsURL}
	if p.html == "" {
		p.html = "https://github.com"
		if c, ok := o.Clients.(interface{ HTMLURL() *url.URL }); ok {
			p.html = strings.TrimSuffix(c.HTMLURL().String(), "/")
		}
	}
	if p.now == nil {
		p.now = time.Now
	}
	none := func(Target) string { return "" }
	if p.detailsURL == nil {
		p.detailsURL = none
	}
	if p.findingsURL == nil {
		p.findingsURL = none
	}
	return p
}

// Target is where something is published.
type Target struct {
	Installation int64
	RepoID       int64
	Owner, Repo  string
	PR           int    // 0 for a merge group, which has a check run and nothing else
	Head         string // the reviewed SHA
	Generation   int    // raised by each re-run of the same head
	CaseKey      string // whatever else tells two cases of one generation apart; may be empty
	// Attempt counts how often Begin was tried for this target, from 1. Only the first may create a check run without
	// looking for one first; 0 means that nobody counted.
	Attempt int
}

func (t Target) scope() ghclient.Scope {
	return ghclient.Scope{
		RepositoryIDs: []int64{t.RepoID},
		Permissions:   map[string]string{"checks": "write", "contents": "read", "issues": "write", "pull_requests": "write"},
	}
}

func (t Target) where() string {
	return fmt.Sprintf("%s/%s#%d at %s", t.Owner, t.Repo, t.PR, short(t.Head))
}

// Published is what a publication made.
type Published struct {
	CheckRunID int64
	ReviewID   int64 // 0 without a review
	CommentID  int64 // the sticky comment; keep it, and give it to the next publication of this pull request
	// Rungs counts the findings by the highest rung of the ladder that they reached: inline, thread (a thread about it is
	// there already), annotation, table, counted.
	Rungs map[string]int
	// Superseded is the new head when it had moved: the check run was cancelled, and nothing else was published.
	Superseded string
	// Closed says that the pull request was closed or merged: the check run was cancelled, and nothing else was published.
	Closed   bool
	Resolved int      // threads
	Notes    []string // what GitHub refused, in words
}

// Begin creates the check run of a target, in progress, and returns its id. It finds the one that an earlier attempt made.
func (p *Publisher) Begin(ctx context.Context, t Target, title string) (int64, error) {
	ctx, gh, err := p.client(ctx, t)
	if err != nil {
		return 0, err
	}
	if t.Attempt != 1 {
		run, err := p.find(ctx, gh, t)
		if err != nil {
			return 0, err
		}
		if run != nil {
			return run.GetID(), nil
		}
	}
	opts := github.CreateCheckRunOptions{
		Name: CheckName, HeadSHA: t.Head, ExternalID: github.String(t.ExternalID()), Status: github.String("in_progress"),
		StartedAt: &github.Timestamp{Time: p.now().UTC()},
		Output:    output(title, "Judging `"+safe(t.Head)+"`.\n", ""),
	}
	if url := p.detailsURL(t); url != "" {
		opts.DetailsURL = &url
	}
	run, _, err := gh.Checks.CreateCheckRun(ctx, t.Owner, t.Repo, opts)
	if err != nil {
		return 0, fmt.Errorf("creating the check run of %s: %w", t.where(), err)
	}
	return run.GetID(), nil
}

// find returns the target's check run, or nil. The newest of several wins; more than one is what a race of two replicas
// leaves behind.
func (p *Publisher) find(ctx context.Context, gh *github.Client, t Target) (*github.CheckRun, error) {
	opts := &github.ListCheckRunsOptions{
		CheckName: github.String(CheckName), Filter: github.String("all"), ListOptions: github.ListOptions{PerPage: 100},
	}
	var found *github.CheckRun
	for page := 0; page < 10; page++ {
		runs, resp, err := gh.Checks.ListCheckRunsForRef(ctx, t.Owner, t.Repo, t.Head, opts)
		if err != nil {
			return nil, fmt.Errorf("looking for the check run of %s: %w", t.where(), err)
		}
		for _, run := range runs.CheckRuns {
			if run.GetExternalID() == t.ExternalID() && (found == nil || run.GetID() > found.GetID()) {
				found = run
			}
		}
		if resp.NextPage == 0 {
			break
		}
		opts.Page = resp.NextPage
	}
	return found, nil
}

// Progress changes the title and the summary of a check run that is in progress. Both are plain text of ours or hostile
// text; they are cleaned here.
func (p *Publisher) Progress(ctx context.Context, t Target, checkRunID int64, title, summary string) error {
	ctx, gh, err := p.client(ctx, t)
	if err != nil {
		return err
	}
	body := "Judging `" + safe(t.Head) + "`.\n\n" + paragraphs(summary, 2000)
	_, _, err = gh.Checks.UpdateCheckRun(ctx, t.Owner, t.Repo, checkRunID, github.UpdateCheckRunOptions{
		Name: CheckName, Status: github.String("in_progress"), Output: output(title, body, ""),
	})
	if err != nil {
		return fmt.Errorf("updating the check run of %s: %w", t.where(), err)
	}
	return nil
}

// Conclude concludes a check run with nothing but a title and a summary: for what was not judged, and as the last resort of
// a publication that cannot be carried out. A check run that is gone is made anew, and so is one that is 0 unless an attempt
// made it without learning its id.
func (p *Publisher) Conclude(ctx context.Context, t Target, checkRunID int64, conclusion convergence.Conclusion, title, summary string) (int64, error) {
	ctx, gh, err := p.client(ctx, t)
	if err != nil {
		return 0, err
	}
	body := "Reviewed head: `" + safe(t.Head) + "`.\n\n" + paragraphs(summary, 2000)
	var actions []*github.CheckRunAction
	if conclusion == convergence.ActionRequired {
		actions = []*github.CheckRunAction{runAgain()}
	}
	if checkRunID == 0 {
		if checkRunID, err = p.made(ctx, gh, t); err != nil {
			return 0, err
		}
	}
	return p.conclude(ctx, gh, t, checkRunID, conclusion, output(title, body, ""), actions)
}

// Cancel concludes a check run as cancelled and returns its id; the reason is its title, such as "superseded by 0123abc". A
// check run that is 0 is looked for: whoever made it may have died before its id was recorded. None is made when there is
// none; then the id is 0.
func (p *Publisher) Cancel(ctx context.Context, t Target, checkRunID int64, reason string) (int64, error) {
	if checkRunID == 0 {
		ctx, gh, err := p.client(ctx, t)
		if err != nil {
			return 0, err
		}
		if checkRunID, err = p.made(ctx, gh, t); err != nil || checkRunID == 0 {
			return 0, err
		}
	}
	return p.Conclude(ctx, t, checkRunID, convergence.Cancelled, sentence(reason), reason)
}

// made is the id of the target's check run on GitHub; 0 when there is none.
func (p *Publisher) made(ctx context.Context, gh *github.Client, t Target) (int64, error) {
	run, err := p.find(ctx, gh, t)
	return run.GetID(), err
}

func (p *Publisher) conclude(ctx context.Context, gh *github.Client, t Target, id int64, c convergence.Conclusion, out *github.CheckRunOutput, actions []*github.CheckRunAction) (int64, error) {
	at := &github.Timestamp{Time: p.now().UTC()}
	if id != 0 {
		_, _, err := gh.Checks.UpdateCheckRun(ctx, t.Owner, t.Repo, id, github.UpdateCheckRunOptions{
			Name: CheckName, Status: github.String("completed"), Conclusion: github.String(string(c)),
			CompletedAt: at, Output: out, Actions: actions,
		})
		if err == nil {
			return id, nil
		}
		if !ghclient.IsNotFound(err) && !ghclient.IsGone(err) {
			return id, fmt.Errorf("concluding the check run of %s: %w", t.where(), err)
		}
	}
	run, _, err := gh.Checks.CreateCheckRun(ctx, t.Owner, t.Repo, github.CreateCheckRunOptions{
		Name: CheckName, HeadSHA: t.Head, ExternalID: github.String(t.ExternalID()), Status: github.String("completed"),
		Conclusion: github.String(string(c)), CompletedAt: at, Output: out, Actions: actions,
	})
	if err != nil {
		return 0, fmt.Errorf("creating the concluded check run of %s: %w", t.where(), err)
	}
	return run.GetID(), nil
}

func (p *Publisher) client(ctx context.Context, t Target) (context.Context, *github.Client, error) {
	ctx = ghclient.WithPurpose(ctx, ghclient.Publishing)
	gh, err := p.clients.Installation(ctx, t.Installation, t.scope())
	if err != nil {
		return ctx, nil, fmt.Errorf("publishing to %s: %w", t.where(), err)
	}
	return ctx, gh, nil
}

// output is the output of a check run, within GitHub's limits. GitHub demands a title and a summary in each.
func output(title, summary, text string) *github.CheckRunOutput {
	const note = "Cut: this is as much as GitHub takes."
	out := &github.CheckRunOutput{Title: github.String(cleanTitle(title)), Summary: github.String(Cut(summary, maxOutput, note))}
	if text != "" {
		out.Text = github.String(Cut(text, maxOutput, note))
	}
	return out
}

// refused reports whether GitHub said no for good to something that the decision does not depend on: an invalid or
// forbidden request, or an object that is gone. Anything else is worth a retry.
func refused(err error) bool {
	switch ghclient.ClassOf(err) {
	case ghclient.ClassForbidden, ghclient.ClassNotFound, ghclient.ClassGone, ghclient.ClassRefused, ghclient.ClassConflict:
		return true
	default:
		return false
	}
}

// unprocessable reports a 422.
func unprocessable(err error) bool {
	var e *github.ErrorResponse
	return errors.As(err, &e) && e.Response != nil && e.Response.StatusCode == http.StatusUnprocessableEntity
}

// Publish shows a judged case. It may be repeated until it returns no error; what an earlier attempt made is found again.
// What GitHub refuses for good (a comment outside of the diff, a locked conversation) goes one rung down and ends in
// Published.Notes, so that the check run concludes in any case.
func (p *Publisher) Publish(ctx context.Context, t Target, pub *Publication) (Published, error) {
	out := Published{CheckRunID: pub.CheckRunID, CommentID: pub.CommentID}
	if pub.CheckStatus == convergence.CheckNone {
		return out, nil
	}
	if pub.Result == nil {
		return out, fmt.Errorf("publishing to %s: there is no report; a case without one is concluded", t.where())
	}
	ctx, gh, err := p.client(ctx, t)
	if err != nil {
		return out, err
	}
	written, err := p.resume(ctx, gh, t, pub, &out)
	if err != nil {
		return out, err
	}
	all := groups(pub.Result)

	alone := t.PR == 0 || pub.CheckStatus == convergence.CheckInProgress || pub.Conclusion == convergence.Cancelled
	readAt := p.now()
	var st *state
	if !alone {
		if st, err = p.read(ctx, t); err != nil {
			return out, err
		}
		if out.Closed = !st.open; !out.Closed && st.head != t.Head {
			out.Superseded = st.head
		}
		if !stopped(out) {
			err = p.accuse(ctx, gh, t, pub, st, all, &out)
		}
		if err != nil {
			return out, err
		}
		if stopped(out) {
			return out, p.stop(ctx, gh, t, &out)
		}
	}
	// The rungs are settled before anything tells of them: what is on no line by now is annotated, in the table or counted.
	annotations := pub.annotations(all)
	pub.summary(t, all, out.Notes)
	out.Rungs = rungs(all)
	if !alone {
		if err := p.tell(ctx, gh, t, pub, st, all, &out); err != nil {
			return out, err
		}
	}
	switch {
	case written.done:
		return out, nil
	case pub.CheckStatus == convergence.CheckInProgress:
		return out, p.wait(ctx, gh, t, pub, all, &out)
	default:
		return out, p.finish(ctx, gh, t, pub, all, annotations, written, !alone, readAt, &out)
	}
}

func stopped(out Published) bool { return out.Closed || out.Superseded != "" }

// stop concludes the check run of a head that is no longer to be decided.
func (p *Publisher) stop(ctx context.Context, gh *github.Client, t Target, out *Published) error {
	reason := "the pull request was closed while it was judged"
	if out.Superseded != "" {
		reason = "superseded by " + safe(out.Superseded)
	}
	body := "Reviewed head: `" + safe(t.Head) + "`.\n\n" + paragraphs(sentence(reason)+".", 300)
	id, err := p.conclude(ctx, gh, t, out.CheckRunID, convergence.Cancelled, output(sentence(reason), body, ""), nil)
	if err == nil {
		out.CheckRunID = id
	}
	return err
}

// written is what an earlier attempt left in the check run.
type written struct {
	annotations int
	done        bool // it is concluded
}

// resume finds the check run, and what an earlier attempt wrote into it: annotations add up, so that those must not be sent
// again. The first attempt needs no look.
func (p *Publisher) resume(ctx context.Context, gh *github.Client, t Target, pub *Publication, out *Published) (written, error) {
	if pub.Attempt == 1 && out.CheckRunID != 0 {
		return written{}, nil
	}
	var run *github.CheckRun
	var err error
	if out.CheckRunID != 0 {
		run, _, err = gh.Checks.GetCheckRun(ctx, t.Owner, t.Repo, out.CheckRunID)
		if ghclient.IsNotFound(err) || ghclient.IsGone(err) {
			run, err = nil, nil
		} else if err != nil {
			err = fmt.Errorf("reading the check run of %s: %w", t.where(), err)
		}
	}
	if run == nil && err == nil {
		run, err = p.find(ctx, gh, t)
	}
	if err != nil {
		return written{}, err
	}
	if run == nil {
		out.CheckRunID = 0
		return written{}, nil
	}
	out.CheckRunID = run.GetID()
	return written{annotations: run.GetOutput().GetAnnotationsCount(), done: run.GetStatus() == "completed"}, nil
}

// accuse posts the review. Where nothing was judged nothing is accused anew, but an approval of an earlier head must not
// stand.
func (p *Publisher) accuse(ctx context.Context, gh *github.Client, t Target, pub *Publication, st *state, all []*group, out *Published) error {
	if pub.judged() {
		return p.review(ctx, gh, t, pub, st, all, out)
	}
	standing, id := st.opinion()
	return p.withdraw(ctx, gh, t, pub, eventComment, standing, id, out)
}

// tell resolves what is settled, asks people on an escalation, and brings the sticky comment up to date.
func (p *Publisher) tell(ctx context.Context, gh *github.Client, t Target, pub *Publication, st *state, all []*group, out *Published) error {
	if ids := pub.resolvable(st); len(ids) > 0 {
		n, err := p.resolve(ctx, t, ids)
		out.Resolved = n
		if err != nil {
			if err := p.tolerate(err, "publishing", "threads could not be resolved", out); err != nil {
				return err
			}
		}
	}
	switch {
	case pub.Escalation != nil:
		if err := p.escalate(ctx, gh, t, pub, st, out); err != nil {
			return err
		}
	case pub.Conclusion == convergence.Success:
		if err := p.unlabel(ctx, gh, t, st, out); err != nil {
			return err
		}
	}
	return p.stick(ctx, gh, t, pub, st, all, out)
}

// wait updates a check run that stays in progress.
func (p *Publisher) wait(ctx context.Context, gh *github.Client, t Target, pub *Publication, all []*group, out *Published) error {
	if out.CheckRunID == 0 {
		id, err := p.Begin(ctx, t, pub.Title)
		if err != nil {
			return err
		}
		out.CheckRunID = id
	}
	_, _, err := gh.Checks.UpdateCheckRun(ctx, t.Owner, t.Repo, out.CheckRunID, github.UpdateCheckRunOptions{
		Name: CheckName, Status: github.String("in_progress"), Output: output(pub.Title, pub.summary(t, all, out.Notes), ""),
	})
	if err != nil {
		return fmt.Errorf("updating the check run of %s: %w", t.where(), err)
	}
	return nil
}

// finish writes the annotations in batches and concludes the check run with the last of them.
func (p *Publisher) finish(ctx context.Context, gh *github.Client, t Target, pub *Publication, all []*group, annotations []annotation, was written, reread bool, readAt time.Time, out *Published) error {
	if len(annotations) > annotationBatch && pub.Attempt == 1 && out.CheckRunID != 0 {
		// A first attempt that was put off between two batches, by a rate limit, is still the first.
		run, _, err := gh.Checks.GetCheckRun(ctx, t.Owner, t.Repo, out.CheckRunID)
		if err != nil && !ghclient.IsNotFound(err) && !ghclient.IsGone(err) {
			return fmt.Errorf("reading the check run of %s: %w", t.where(), err)
		}
		was.annotations = run.GetOutput().GetAnnotationsCount()
	}
	left := annotations[min(was.annotations, len(annotations)):]
	summary, text := pub.summary(t, all, out.Notes), pub.text(t, all)
	out.Rungs = rungs(all)
	for len(left) > annotationBatch && out.CheckRunID != 0 {
		_, _, err := gh.Checks.UpdateCheckRun(ctx, t.Owner, t.Repo, out.CheckRunID, github.UpdateCheckRunOptions{
			Name: CheckName, Status: github.String("in_progress"), Output: withAnnotations(output(pub.Title, summary, text), left[:annotationBatch]),
		})
		if unprocessable(err) {
			break
		}
		if err != nil {
			return fmt.Errorf("annotating the check run of %s: %w", t.where(), err)
		}
		left = left[annotationBatch:]
	}
	if reread && (len(annotations) > annotationBatch || p.now().Sub(readAt) > rereadAfter) {
		moved, err := p.headMoved(ctx, gh, t, out)
		if err != nil {
			return err
		}
		if moved {
			return p.stop(ctx, gh, t, out)
		}
	}
	last := left[:min(annotationBatch, len(left))]
	lost := left[len(last):]
	id, err := p.conclude(ctx, gh, t, out.CheckRunID, pub.Conclusion, withAnnotations(output(pub.Title, summary, text), last), pub.actions())
	if len(last) > 0 && unprocessable(err) {
		lost = left
		out.Notes = append(out.Notes, "GitHub did not take the annotations: "+brief(err))
	}
	if len(lost) > 0 {
		// What GitHub does not take as an annotation is in the table.
		for _, a := range lost {
			a.group.rung = tabled
		}
		id, err = p.conclude(ctx, gh, t, out.CheckRunID, pub.Conclusion, output(pub.Title, pub.summary(t, all, out.Notes), text), pub.actions())
		out.Rungs = rungs(all)
	}
	if unprocessable(err) {
		// Nothing may keep the check run from its conclusion.
		body := "Reviewed head: `" + safe(t.Head) + "`.\n\n" + paragraphs("GitHub did not take the whole report: "+brief(err), 600)
		id, err = p.conclude(ctx, gh, t, out.CheckRunID, pub.Conclusion, output(pub.Title, body, ""), nil)
	}
	if err == nil {
		out.CheckRunID = id
	}
	return err
}

func withAnnotations(out *github.CheckRunOutput, list []annotation) *github.CheckRunOutput {
	for _, a := range list {
		out.Annotations = append(out.Annotations, a.draft)
	}
	return out
}

// Say posts one comment on the pull request, such as what a button asked for. key tells it from others: whatever was said
// under it is not said again, by an attempt whose answer was lost either. Two who say the same at once would both find that it
// was not said: the queue sees to that. text is Markdown of ours; what it quotes has to be escaped.
func (p *Publisher) Say(ctx context.Context, t Target, key, text string) error {
	ctx, gh, err := p.client(ctx, t)
	if err != nil {
		return err
	}
	st, err := p.read(ctx, t)
	if err != nil {
		return err
	}
	marker := mark("said", safe(key))
	if anyOf(st.comments, func(c commentNode) bool { return has(c.Body, marker) }) {
		return nil
	}
	body := marker + "\n" + Cut(text, maxBody-len(marker)-1, "Cut: the check run has more.")
	if _, _, err := gh.Issues.CreateComment(ctx, t.Owner, t.Repo, t.PR, &github.IssueComment{Body: &body}); err != nil {
		return fmt.Errorf("commenting on %s: %w", t.where(), err)
	}
	return nil
}

// checkRunURL is where the check run can be seen.
func (p *Publisher) checkRunURL(t Target, id int64) string {
	if url := p.detailsURL(t); url != "" {
		return url
	}
	if id == 0 {
		return fmt.Sprintf("%s/%s/%s/pull/%d/checks", p.html, t.Owner, t.Repo, t.PR)
	}
	return fmt.Sprintf("%s/%s/%s/runs/%d", p.html, t.Owner, t.Repo, id)
}
