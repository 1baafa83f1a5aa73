package main

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/google/go-github/v62/github"
	"golang.org/x/term"

	"github.com/prosecutor-bot/prosecutor/app"
	"github.com/prosecutor-bot/prosecutor/app/publish"
	"github.com/prosecutor-bot/prosecutor/prosecutor/report"
)

// row is one line of the table.
type row struct {
	change
	number          int
	head            string
	radius, lenses  string
	decision, title string // as GitHub has them
	concluded       bool
}

const format = "%-4s %-16s %-7s %-28s %-10s %s\n"

// follow prints the table as decisions come in, until every pull request has its own and nothing is left to do.
func (p *playground) follow(ctx context.Context, list []change, out io.Writer) ([]row, error) {
	gh := github.NewClient(nil).WithAuthToken(p.github.UserToken(maintainer))
	base, err := url.Parse(p.github.REST)
	if err != nil {
		return nil, err
	}
	gh.BaseURL = base
	live := isTerminal(out)
	fmt.Fprintf(out, format, "#", "branch", "radius", "lenses", "decision", "check run")
	printed := map[string]bool{}
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for quiet := 0; ; {
		rows, err := p.read(ctx, gh, list)
		if err != nil {
			return nil, err
		}
		done := 0
		for _, r := range rows {
			if !r.concluded {
				continue
			}
			done++
			if key := r.branch + r.head; !printed[key] {
				printed[key] = true
				clearLine(out, live)
				fmt.Fprintf(out, format, fmt.Sprintf("#%d", r.number), r.branch, r.radius, r.lenses, r.decision, r.title)
			}
		}
		if live {
			fmt.Fprintf(out, "\r%s %d of %d", bar(done, len(rows)), done, len(rows))
		}
		idle, err := p.app.Idle(ctx)
		if err != nil {
			return nil, err
		}
		if quiet++; done < len(rows) || !idle {
			quiet = 0
		}
		if quiet == 3 {
			clearLine(out, live)
			return rows, nil
		}
		select {
		case <-ctx.Done():
			clearLine(out, live)
			return nil, ctx.Err()
		case <-ticker.C:
		}
	}
}

// read reads the decisions back as anybody would: through GitHub's REST API. Radius and lenses are not on GitHub as data, so
// they come from what the App stored.
func (p *playground) read(ctx context.Context, gh *github.Client, list []change) ([]row, error) {
	rows := make([]row, 0, len(list))
	for _, c := range list {
		number := p.pulls[c.branch].Number()
		pull, _, err := gh.PullRequests.Get(ctx, "acme", "pay", number)
		if err != nil {
			return nil, fmt.Errorf("reading pull request #%d: %w", number, err)
		}
		r := row{change: c, number: number, head: pull.GetHead().GetSHA()}
		checks, _, err := gh.Checks.ListCheckRunsForRef(ctx, "acme", "pay", r.head, &github.ListCheckRunsOptions{
			CheckName: github.String(publish.CheckName), Filter: github.String("latest"),
		})
		if err != nil {
			return nil, fmt.Errorf("reading the check runs of #%d: %w", number, err)
		}
		for _, run := range checks.CheckRuns {
			r.title = report.OneLine(run.GetOutput().GetTitle(), 90)
			if run.GetStatus() == "completed" {
				r.concluded, r.decision = true, decision(run.GetConclusion())
			}
		}
		if doc := p.document(ctx, number, r.head); doc != nil {
			r.radius = doc.BlastRadius.Level
			for _, l := range doc.Lenses {
				r.lenses = strings.TrimPrefix(r.lenses+","+l.Lens, ",")
			}
			if r.lenses == "" {
				r.lenses = "none asked"
			}
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// decision is what a conclusion of our check run means.
func decision(conclusion string) string {
	switch conclusion {
	case "success":
		return "ADVANCE"
	case "failure":
		return "LOOP_BACK"
	case "action_required":
		return "ESCALATE"
	default:
		return conclusion
	}
}

// document is the App's report on a head, nil while there is none.
func (p *playground) document(ctx context.Context, number int, head string) *report.Document {
	runs, err := p.store.RunsOfHead(ctx, p.repo.ID(), number, head)
	if err != nil {
		return nil
	}
	for _, r := range runs {
		if doc := app.Report(r); doc != nil {
			return doc
		}
	}
	return nil
}

// bar is a progress bar of n steps.
func bar(done, n int) string {
	return "[" + strings.Repeat("#", done) + strings.Repeat(".", n-done) + "]"
}

func clearLine(out io.Writer, live bool) {
	if live {
		fmt.Fprint(out, "\r\x1b[2K")
	}
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
