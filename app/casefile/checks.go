package casefile

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/prosecutor-bot/prosecutor/prosecutor/evidence"
)

// mostCheckPages bounds how many pages of a hundred checks or suites are read: GitHub keeps 1,000 runs of one name.
const mostCheckPages = 20

// checked returns what CI reports about a commit. tip is what the first query said about the last commit of the pull
// request, which is the head unless GitHub does not show all commits.
func (s *session) checked(ctx context.Context, head string, tip []tipNode, unread string) (checked, error) {
	if unread != "" {
		return checked{Oid: head, unread: unread}, nil
	}
	var c checked
	if len(tip) == 1 && tip[0].Commit.Oid == head {
		c = tip[0].Commit
	}
	for page := 0; c.Oid == "" || c.more(); page++ {
		if page > mostCheckPages {
			return checked{}, fmt.Errorf("reading the checks of %s: %w", short(head), errTooMany)
		}
		vars := map[string]any{"oid": head}
		if c.StatusCheckRollup != nil && c.StatusCheckRollup.Contexts.PageInfo.EndCursor != "" {
			vars["after"] = c.StatusCheckRollup.Contexts.PageInfo.EndCursor
		}
		if c.CheckSuites != nil && c.CheckSuites.PageInfo.EndCursor != "" {
			vars["suitesAfter"] = c.CheckSuites.PageInfo.EndCursor
		}
		var a struct {
			Repository struct{ Object *checked }
		}
		var problems checksUnread
		if err := s.graphql(ctx, checksQuery, vars, &a, problems.takes); err != nil {
			return checked{}, failed(err, "reading the checks of %s", short(head))
		}
		if a.Repository.Object == nil || a.Repository.Object.Oid != head {
			return checked{}, &RetryableError{What: fmt.Sprintf("GitHub does not show commit %s of %s/%s", short(head), s.owner, s.repo), Stale: true}
		}
		if problems.why != "" {
			return checked{Oid: head, unread: problems.why}, nil
		}
		c = c.with(*a.Repository.Object)
	}
	return c, nil
}

func (c checked) more() bool {
	return c.StatusCheckRollup != nil && c.StatusCheckRollup.Contexts.PageInfo.HasNextPage ||
		c.CheckSuites != nil && c.CheckSuites.PageInfo.HasNextPage
}

// with adds the next page. A list that had ended before repeats its end, which is empty.
func (c checked) with(next checked) checked {
	if c.Oid == "" {
		return next
	}
	if r := c.StatusCheckRollup; r != nil && next.StatusCheckRollup != nil {
		next.StatusCheckRollup.Contexts.Nodes = append(r.Contexts.Nodes, next.StatusCheckRollup.Contexts.Nodes...)
		if next.StatusCheckRollup.Contexts.PageInfo.EndCursor == "" {
			next.StatusCheckRollup.Contexts.PageInfo.EndCursor = r.Contexts.PageInfo.EndCursor
		}
	}
	if r := c.CheckSuites; r != nil && next.CheckSuites != nil {
		next.CheckSuites.Nodes = append(r.Nodes, next.CheckSuites.Nodes...)
		if next.CheckSuites.PageInfo.EndCursor == "" {
			next.CheckSuites.PageInfo.EndCursor = r.PageInfo.EndCursor
		}
	}
	return next
}

// checksOf translates what CI reports. GraphQL writes in capitals what REST writes in small letters.
func checksOf(c checked) evidence.Checks {
	var out evidence.Checks
	if c.unread != "" {
		out.Err = errors.New(c.unread)
	}
	if c.StatusCheckRollup == nil {
		return out
	}
	for _, n := range c.StatusCheckRollup.Contexts.Nodes {
		switch n.Typename {
		case "CheckRun":
			run := evidence.CheckRun{
				ID: n.DatabaseID, Name: n.Name, Status: strings.ToLower(n.Status), Conclusion: strings.ToLower(n.Conclusion),
				Title: n.Title, URL: n.URL,
			}
			if n.CheckSuite != nil {
				run.Suite = n.CheckSuite.DatabaseID
				if n.CheckSuite.App != nil {
					run.App = n.CheckSuite.App.DatabaseID
				}
			}
			out.Runs = append(out.Runs, run)
		case "StatusContext":
			out.Statuses = append(out.Statuses, evidence.Status{
				Context: n.Context, State: strings.ToLower(n.State), Description: n.Description, URL: n.TargetURL,
			})
		default:
			// A report that is not understood is not one that passed.
			out.Err = fmt.Errorf("GitHub reports a check of the unknown kind %q", n.Typename)
		}
	}
	return out
}

// openSuites names the apps other than ours whose suite has not completed.
func openSuites(c checked, own int64) []string {
	if c.CheckSuites == nil {
		return nil
	}
	var names []string
	for _, s := range c.CheckSuites.Nodes {
		if s.Status == "COMPLETED" || s.App != nil && s.App.DatabaseID == own && own != 0 {
			continue
		}
		name := "an unknown app"
		if s.App != nil {
			name = s.App.Name
		}
		names = append(names, name)
	}
	return names
}
