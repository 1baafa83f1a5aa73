package webhook

import (
	"context"

	"github.com/google/go-github/v62/github"
)

// issueComment serves the event issue_comment: commands to us. What the command is, and whether its sender may, is for the
// job to say; it reads the comment from the stored payload, as it was when it was made.
func issueComment(_ *Handler, d *delivery) (work, string, error) {
	e, err := decode[github.IssueCommentEvent](d)
	if err != nil {
		return nil, "", err
	}
	switch {
	case e.GetIssue().GetNumber() == 0 || e.GetComment().GetID() == 0:
		return nil, "", missing("its comment")
	case d.Sender.bot():
		return nil, "a bot commented", nil
	case !e.GetIssue().IsPullRequest():
		return nil, "the comment is not on a pull request", nil
	case !prosecute(e.GetComment().GetBody()):
		return nil, "the comment is no command", nil
	}
	return func(ctx context.Context, s *scope) (outcome, error) { return s.command(ctx) }, "", nil
}
