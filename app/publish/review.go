package publish

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/go-github/v62/github"

	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/convergence"
	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/diff"
)

// The events of a review, and the states that they leave.
const (
	eventComment = "COMMENT"
	eventApprove = "APPROVE"
	eventRequest = "REQUEST_CHANGES"

	stateApproved  = "APPROVED"
	stateRequested = "CHANGES_REQUESTED"
	stateDismissed = "DISMISSED"
)

// event is the event of the publication's review. Only an ADVANCE approves. Nobody approves, or asks for changes of, a pull
// request of their own.
func (p *Publication) event(st *state) string {
	advance := p.judged() && p.Decision == convergence.Advance && p.Conclusion == convergence.Success
	switch {
	case st.ours:
	case advance && p.Policy.ReviewEvent == config.ReviewApprove:
		return eventApprove
	case !advance && p.judged() && len(p.Blocking) > 0 &&
		(p.Policy.ReviewEvent == config.ReviewRequestChanges || p.Policy.ReviewEvent == config.ReviewApprove):
		return eventRequest
	}
	return eventComment
}

// opinion is our last review that says more than a comment: its state and id.
func (st *state) opinion() (string, int64) {
	word, id := "", int64(0)
	for _, r := range st.reviews {
		switch r.State {
		case stateApproved, stateRequested, stateDismissed:
			word, id = r.State, int64(r.FullDatabaseID)
		}
	}
	return word, id
}

// posted returns our review of this very publication, and whether an approval of this head is there. What GitHub calls the
// commit of a review is not looked at: after a force-push it may be another one.
func (st *state) posted(t Target) (id int64, approved bool) {
	for _, r := range st.reviews {
		m := reviewMarker.FindStringSubmatch(markers(r.Body))
		if m == nil {
			continue
		}
		if m[1] == t.key() {
			id = int64(r.FullDatabaseID)
		}
		if r.State == stateApproved && strings.HasPrefix(m[1], t.headKey()) {
			approved = true
		}
	}
	return id, approved
}

// review posts the review of a publication, if there is something to say that is not said already: comments on lines, an
// approval of this head, or a request for changes where none stands. Comments that GitHub refuses leave their findings to
// the next rung.
func (p *Publisher) review(ctx context.Context, gh *github.Client, t Target, pub *Publication, st *state, all []*group, out *Published) error {
	drafts := pub.comments(t, all, st.threaded())
	event := pub.event(st)
	standing, standingID := st.opinion()
	already, approved := st.posted(t)
	if already != 0 {
		out.ReviewID = already
		return p.withdraw(ctx, gh, t, pub, event, standing, standingID, out)
	}
	needed := len(drafts) > 0 || event == eventApprove && !approved || event == eventRequest && standing != stateRequested
	if !needed {
		return p.withdraw(ctx, gh, t, pub, event, standing, standingID, out)
	}
	if event == eventApprove && approved {
		event = eventComment
	}

	for attempt := (reviewAttempt{event: event, comments: drafts}); ; {
		review, err := p.post(ctx, gh, t, pub, attempt, len(attempt.comments) < len(drafts))
		if err == nil {
			out.ReviewID = review.GetID()
			for _, c := range attempt.comments {
				c.group.rung = onLine
			}
			event = attempt.event
			break
		}
		if !refused(err) {
			return err
		}
		if moved, headErr := p.headMoved(ctx, gh, t, out); headErr != nil || moved {
			return headErr
		}
		what := "the review"
		if len(attempt.comments) > 0 {
			what = count(len(attempt.comments), "comment") + " on lines"
		}
		out.Notes = append(out.Notes, "GitHub did not take "+what+": "+brief(err))
		again := unprocessable(err)
		if again {
			attempt, again = p.humbler(ctx, gh, t, attempt)
		}
		if !again {
			event = eventComment // nothing was said
			break
		}
	}
	return p.withdraw(ctx, gh, t, pub, event, standing, standingID, out)
}

// reviewAttempt is one way to post a review, the next one being more modest.
type reviewAttempt struct {
	event    string
	comments []comment
	checked  bool // against the diff that GitHub has now
}

// humbler is what to post after a refusal: the comments that stand in the diff as GitHub has it now, if those are fewer;
// else none; else no opinion either. It is false when nothing is left to leave out.
func (p *Publisher) humbler(ctx context.Context, gh *github.Client, t Target, refused reviewAttempt) (reviewAttempt, bool) {
	switch {
	case len(refused.comments) > 0 && !refused.checked:
		// GitHub does not say which comment it means. The diff that was judged may be another one than GitHub's: made by git
		// itself, or before the base branch moved.
		text, _, err := gh.PullRequests.GetRaw(ctx, t.Owner, t.Repo, t.PR, github.RawOptions{Type: github.Diff})
		if err != nil {
			return reviewAttempt{event: refused.event}, true
		}
		now, err := diff.ParseString(text)
		if err != nil {
			return reviewAttempt{event: refused.event}, true
		}
		var kept []comment
		for _, c := range refused.comments {
			f := c.group.first()
			if _, ok := now.CommentableRange(f.Path, prosecutor.Side(f.Side), f.StartLine, f.EndLine); ok {
				kept = append(kept, c)
			}
		}
		if len(kept) == len(refused.comments) {
			kept = nil
		}
		return reviewAttempt{event: refused.event, comments: kept, checked: true}, true
	case len(refused.comments) > 0:
		return reviewAttempt{event: refused.event}, true
	case refused.event != eventComment:
		return reviewAttempt{event: eventComment}, true
	default:
		return refused, false
	}
}

func (p *Publisher) post(ctx context.Context, gh *github.Client, t Target, pub *Publication, a reviewAttempt, fewer bool) (*github.PullRequestReview, error) {
	req := &github.PullRequestReviewRequest{
		CommitID: github.String(t.Head), Event: github.String(a.event), Body: github.String(pub.reviewBody(t, len(a.comments), fewer)),
	}
	for _, c := range a.comments {
		req.Comments = append(req.Comments, c.draft)
	}
	review, _, err := gh.PullRequests.CreateReview(ctx, t.Owner, t.Repo, t.PR, req)
	if err != nil {
		return nil, fmt.Errorf("posting the review of %s: %w", t.where(), err)
	}
	return review, nil
}

// withdraw dismisses an opinion of an earlier lap that this decision contradicts: an approval must not outlive its head's
// ADVANCE, and a request for changes must not hold back what was let through. event is what was posted now; an opinion
// replaces the one before.
func (p *Publisher) withdraw(ctx context.Context, gh *github.Client, t Target, pub *Publication, event, standing string, id int64, out *Published) error {
	if event != eventComment {
		return nil
	}
	passed := pub.Conclusion == convergence.Success || pub.Conclusion == convergence.Neutral
	stale := standing == stateApproved && pub.Conclusion != convergence.Success || standing == stateRequested && passed
	if !stale {
		return nil
	}
	_, _, err := gh.PullRequests.DismissReview(ctx, t.Owner, t.Repo, t.PR, id, &github.PullRequestReviewDismissalRequest{
		Message: github.String("Withdrawn: " + pub.Title + " at " + short(t.Head) + "."),
	})
	if err != nil && !refused(err) {
		return fmt.Errorf("withdrawing an earlier review of %s: %w", t.where(), err)
	}
	if err != nil {
		out.Notes = append(out.Notes, "an earlier review of ours could not be withdrawn: "+brief(err))
	}
	return nil
}

// reviewBody is the text above the comments of a review.
func (p *Publication) reviewBody(t Target, comments int, fewer bool) string {
	var b strings.Builder
	b.WriteString(mark("review", t.key()) + "\n")
	fmt.Fprintf(&b, "**%s**\n\n", prose(p.Title, maxTitle))
	fmt.Fprintf(&b, "Reviewed `%s`. ", safe(t.Head))
	switch {
	case comments == 0 && fewer:
		b.WriteString("GitHub did not take the comments on lines; the findings are in the check run.\n")
	case comments == 0:
		b.WriteString("The check run has the whole of it.\n")
	case fewer:
		fmt.Fprintf(&b, "%s; GitHub did not take the others, which are in the check run.\n", count(comments, "comment"))
	default:
		fmt.Fprintf(&b, "%s; the check run has the whole of it.\n", count(comments, "comment"))
	}
	return Cut(b.String(), maxBody, "Cut.")
}

// headMoved re-reads the head. When it moved, or the pull request is closed, out says so.
func (p *Publisher) headMoved(ctx context.Context, gh *github.Client, t Target, out *Published) (bool, error) {
	pr, _, err := gh.PullRequests.Get(ctx, t.Owner, t.Repo, t.PR)
	if err != nil {
		return false, fmt.Errorf("reading the head of %s: %w", t.where(), err)
	}
	if pr.GetState() != "open" {
		out.Closed = true
		return true, nil
	}
	if head := pr.GetHead().GetSHA(); head != t.Head {
		out.Superseded = head
		return true, nil
	}
	return false, nil
}

// brief is an error of GitHub in a few words, without what the request held.
func brief(err error) string {
	text := err.Error()
	if i := strings.LastIndex(text, ": "); i >= 0 && len(text) > 300 {
		text = text[i+2:]
	}
	return cleanTitle(text)
}
