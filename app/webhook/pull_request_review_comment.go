package webhook

import (
	"context"

	"github.com/google/go-github/v62/github"
)

// reviewComment serves the event pull_request_review_comment: a reply with a command to a finding. Whether the comment that
// is replied to is ours the payload does not say; the job looks.
func reviewComment(_ *Handler, d *delivery) (work, string, error) {
	e, err := decode[github.PullRequestReviewCommentEvent](d)
	if err != nil {
		return nil, "", err
	}
	switch {
	case e.GetPullRequest().GetNumber() == 0 || e.GetComment().GetID() == 0:
		return nil, "", missing("its comment")
	case d.Sender.bot():
		return nil, "a bot commented", nil
	case e.GetComment().GetInReplyTo() == 0:
		return nil, "the comment is no reply", nil
	case !prosecute(e.GetComment().GetBody()):
		return nil, "the comment is no command", nil
	}
	return func(ctx context.Context, s *scope) (outcome, error) { return s.command(ctx) }, "", nil
}
