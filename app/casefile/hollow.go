package casefile

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/go-github/v62/github"

	"github.com/prosecutor-bot/prosecutor/app/ghclient"
	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/diff"
	"github.com/prosecutor-bot/prosecutor/prosecutor/evidence"
	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest"
)

// actionsSlug is the App of GitHub Actions, on github.com and on GitHub Enterprise alike.
const actionsSlug = "github-actions"

// hollowCI returns what reads the result of hollow-test that a job of the repository's own workflow has published, for a
// policy with hollow_test.where: ci.
//
// A check run is evidence when it is of this head, made by GitHub Actions for the workflow that the policy of the base names,
// carries one report about this head, and ended as the report says. A change that touches workflows or actions could have
// written its own result, so that nothing is known then. Until the job has reported the evidence is pending, for as long as
// checks.wait.
func (s *session) hollowCI(f *File, tip checked) func(context.Context, *diff.Diff) (prosecutor.Evidence, error) {
	p := f.Case.Policy
	if p.HollowTest.Where != config.WhereCI {
		return nil
	}
	wait, waited := time.Duration(p.Checks.Wait), s.c.waited(f.Request)
	return func(ctx context.Context, d *diff.Diff) (prosecutor.Evidence, error) {
		if path := touchesCI(d); path != "" {
			return unmeasured("the change touches %s, so that what its workflow reports proves nothing about it", strconv.Quote(path)), nil
		}
		if tip.unread != "" {
			return unmeasured("the checks could not be read: %s", tip.unread), nil
		}
		runs := runsNamed(tip, p.HollowTest.CI.Check)
		if len(runs) == 0 || runs[0].Status != "COMPLETED" {
			what := fmt.Sprintf("the check %s of %s", strconv.Quote(p.HollowTest.CI.Check), p.HollowTest.CI.Workflow)
			if waited < wait {
				return prosecutor.Evidence{Source: prosecutor.HollowTest, State: prosecutor.Pending, Detail: "waiting for " + what}, nil
			}
			return unmeasured("no result of %s after %s", what, waited.Round(time.Second)), nil
		}
		return s.hollowReport(ctx, f, runs, p.HollowTest)
	}
}

func unmeasured(format string, args ...any) prosecutor.Evidence {
	return evidence.Unavailable(prosecutor.HollowTest, fmt.Sprintf(format, args...))
}

// touchesCI returns the first path of the change that says what GitHub Actions do.
func touchesCI(d *diff.Diff) string {
	for _, f := range d.Files {
		for _, path := range []string{f.OldPath, f.NewPath} {
			if strings.HasPrefix(path, ".github/workflows/") || strings.HasPrefix(path, ".github/actions/") {
				return path
			}
		}
	}
	return ""
}

// mostNamesakes bounds how many check runs of one name are looked at.
const mostNamesakes = 10

// runsNamed lists the check runs of a name, the newest first.
func runsNamed(tip checked, name string) []checkContext {
	if tip.StatusCheckRollup == nil {
		return nil
	}
	var runs []checkContext
	for _, n := range tip.StatusCheckRollup.Contexts.Nodes {
		if n.Typename == "CheckRun" && n.Name == name {
			runs = append(runs, n)
		}
	}
	slices.SortFunc(runs, func(a, b checkContext) int { return cmp.Compare(b.DatabaseID, a.DatabaseID) })
	return runs[:min(len(runs), mostNamesakes)]
}

// hollowReport reads what the newest completed check run of the expected workflow says.
func (s *session) hollowReport(ctx context.Context, f *File, runs []checkContext, p config.HollowTest) (prosecutor.Evidence, error) {
	why := ""
	for _, candidate := range runs {
		run, _, err := s.rest.Checks.GetCheckRun(ctx, s.owner, s.repo, candidate.DatabaseID)
		if err != nil {
			return unreadable(err, "check run %d", candidate.DatabaseID)
		}
		other, err := s.stranger(ctx, f, run, p)
		if err != nil {
			return unreadable(err, "the workflow of check run %d", run.GetID())
		}
		if other != "" {
			why = cmp.Or(why, other)
			continue
		}
		notes, err := s.annotations(ctx, run.GetID())
		if err != nil {
			return unreadable(err, "the annotations of check run %d", run.GetID())
		}
		if len(notes) != 1 {
			return unmeasured("the check %s ended as %s with %d reports of hollow-test, and has to have one", strconv.Quote(run.GetName()), run.GetConclusion(), len(notes)), nil
		}
		return reported(notes[0], f.Head, run.GetConclusion(), p), nil
	}
	return unmeasured("%s", why), nil
}

// stranger says why a check run is not of the workflow that the policy names, if it is not.
func (s *session) stranger(ctx context.Context, f *File, run *github.CheckRun, p config.HollowTest) (string, error) {
	if slug := run.GetApp().GetSlug(); slug != actionsSlug || run.GetHeadSHA() != f.Head {
		return fmt.Sprintf("the check %s at %s was made by %s, not by GitHub Actions for this head", strconv.Quote(run.GetName()), short(run.GetHeadSHA()), strconv.Quote(slug)), nil
	}
	suite := run.GetCheckSuite().GetID()
	// The library does not read the path of a workflow.
	var answer struct {
		Runs []struct {
			Suite int64  `json:"check_suite_id"`
			Path  string `json:"path"`
		} `json:"workflow_runs"`
	}
	query := url.Values{"check_suite_id": {strconv.FormatInt(suite, 10)}, "head_sha": {f.Head}, "per_page": {"100"}}
	if _, err := s.get(ctx, "actions/runs", query, &answer); err != nil {
		return "", err
	}
	for _, w := range answer.Runs {
		// A reusable workflow's path ends in @ and its ref.
		if path, _, _ := strings.Cut(w.Path, "@"); w.Suite == suite && path == p.CI.Workflow {
			return "", nil
		}
	}
	return fmt.Sprintf("the check %s is not of the workflow %s", strconv.Quote(run.GetName()), p.CI.Workflow), nil
}

// reported is the evidence of a published report and the conclusion of its check run.
func reported(text, head, conclusion string, p config.HollowTest) prosecutor.Evidence {
	facts, measured, err := hollowtest.Published(text)
	if err != nil {
		return unmeasured("%v", err)
	}
	if measured != head {
		return unmeasured("the report is about %s: the job has to measure the head of the pull request (--head), which is %s", short(measured), short(head))
	}
	e := hollowtest.Decide(facts, p).Evidence
	// The job ends well when the command does, whatever this policy makes of the facts.
	command := hollowtest.Decide(facts, config.HollowTest{NotCovered: config.NotCoveredRed})
	proven := command.State == prosecutor.Clean || command.State == prosecutor.NotApplicable
	if e.State != prosecutor.Red && conclusion != map[bool]string{true: "success", false: "failure"}[proven] {
		return unmeasured("its job ended as %s although its report says: %s", conclusion, command.Detail)
	}
	return e
}

// mostAnnotationPages bounds the pages of a hundred annotations that are read. GitHub keeps fifty of a job.
const mostAnnotationPages = 5

// annotations returns the reports among the annotations of a check run.
func (s *session) annotations(ctx context.Context, id int64) ([]string, error) {
	var reports []string
	opts := &github.ListOptions{PerPage: 100}
	for range mostAnnotationPages {
		page, resp, err := s.rest.Checks.ListCheckRunAnnotations(ctx, s.owner, s.repo, id, opts)
		if err != nil {
			return nil, err
		}
		for _, n := range page {
			if n.GetTitle() == hollowtest.PublishedTitle {
				reports = append(reports, n.GetMessage())
			}
		}
		if resp.NextPage == 0 {
			return reports, nil
		}
		opts.Page = resp.NextPage
	}
	return nil, errTooMany
}

// unreadable is the evidence where GitHub refuses an answer for good. Limits and passing failures are errors.
func unreadable(err error, format string, args ...any) (prosecutor.Evidence, error) {
	what := fmt.Sprintf(format, args...)
	if ghclient.IsNotFound(err) || ghclient.IsForbidden(err) {
		return unmeasured("%s cannot be read: %v", what, err), nil
	}
	return prosecutor.Evidence{}, failed(err, "reading %s", what)
}
