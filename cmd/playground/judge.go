package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/convergence"
	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/evidence"
	"github.com/prosecutor-bot/prosecutor/prosecutor/gitrepo"
	"github.com/prosecutor-bot/prosecutor/prosecutor/judge"
	"github.com/prosecutor-bot/prosecutor/prosecutor/judge/static"
	"github.com/prosecutor-bot/prosecutor/prosecutor/panel"
	"github.com/prosecutor-bot/prosecutor/prosecutor/review"

	"golang.org/x/term"
)

// row is the format of the table.
const row = "%-16s  %-6s  %-26s  %-10s  %s\n"

// judgeAll prosecutes every change, prints its row as it is decided, and returns how many decisions are not the
// documented ones.
func judgeAll(ctx context.Context, s *sample, list []change, out io.Writer) (wrong int, err error) {
	repo, err := gitrepo.Open(ctx, s.dir)
	if err != nil {
		return 0, err
	}
	defer func() { _ = repo.Close() }()
	pool, err := judge.NewPool([]judge.Judge{static.New()}, judge.PoolOptions{})
	if err != nil {
		return 0, err
	}
	judges := panel.New(pool, panel.Options{})

	live := isTerminal(out)
	fmt.Fprintf(out, row, "change", "radius", "lenses", "decision", "why")
	for i, c := range list {
		ledger := convergence.New() // one for each branch, over all its pushes
		bench := &review.Bench{Panel: judges, Decide: func(ctx context.Context, q review.Question) (convergence.Ruling, error) {
			ruling, next, err := convergence.Decide(ctx, q.Facts, ledger, q.Policy, q.Ask, q.Verify)
			ledger = next
			return ruling, err
		}}
		if live {
			fmt.Fprintf(out, "%s %s\r", bar(i, len(list)), c.branch)
		}
		var result *review.Result
		for _, head := range s.heads[c.branch] {
			push, err := collect(ctx, repo, s.base, head, c)
			if err != nil {
				return wrong, fmt.Errorf("%s: %w", c.branch, err)
			}
			if result, err = bench.Prosecute(ctx, push); err != nil {
				return wrong, fmt.Errorf("%s: %w", c.branch, err)
			}
			if live {
				fmt.Fprint(out, "\r\x1b[2K")
			}
			fmt.Fprintf(out, row, c.branch, result.Radius.Level, lenses(result), decision(result), strings.TrimPrefix(result.Ruling.Title(), decision(result)+": "))
		}
		if got := result.Ruling; string(got.Decision) != c.want || string(got.Reason) != c.reason || got.Outcome != convergence.Decided {
			fmt.Fprintf(out, "%18sexpected %s (%s)\n", "", c.want, c.reason)
			wrong++
		}
	}
	return wrong, nil
}

// collect reads one push to a branch as a case.
func collect(ctx context.Context, repo *gitrepo.Repo, base, head string, c change) (review.Case, error) {
	mergeBase, err := repo.MergeBase(ctx, base, head)
	if err != nil {
		return review.Case{}, err
	}
	text, err := repo.Diff(ctx, mergeBase, head)
	if err != nil {
		return review.Case{}, err
	}
	policy := config.DefaultPolicy()
	if content, ok, err := repo.ReadFile(ctx, base, config.PolicyPath); err != nil {
		return review.Case{}, err
	} else if ok {
		if policy, err = config.ParsePolicy(config.PolicyPath, content); err != nil {
			return review.Case{}, err
		}
	}
	var messages []string
	for _, cm := range c.commits {
		messages = append(messages, cm.message)
	}
	return review.Case{
		ID: convergence.Case{
			Key: convergence.Key{Repo: "playground/pay", Change: c.branch}, Base: base, Head: head, PolicyHash: policy.Hash(),
		},
		Branch: c.branch, Diff: text, Spec: strings.Join(messages, "\n\n"), Policy: policy,
		ReadBase: func(ctx context.Context, path string) ([]byte, bool, error) { return repo.ReadFile(ctx, base, path) },
		ReadHead: func(ctx context.Context, path string) ([]byte, bool, error) { return repo.ReadFile(ctx, head, path) },
		Evidence: []prosecutor.Evidence{
			evidence.NotApplicable(prosecutor.CodeScanning, "no GitHub"), evidence.NotApplicable(prosecutor.CIChecks, "no GitHub"),
		},
		Event:  convergence.EventPush,
		Sender: convergence.Sender{Login: "dev-one", Type: convergence.User, Permission: convergence.PermissionWrite},
	}, nil
}

func lenses(r *review.Result) string {
	if len(r.Ruling.LensesRun) == 0 {
		return "none asked"
	}
	names := make([]string, len(r.Ruling.LensesRun))
	for i, l := range r.Ruling.LensesRun {
		names[i] = string(l)
	}
	return strings.Join(names, ",")
}

func decision(r *review.Result) string {
	if r.Ruling.Outcome != convergence.Decided {
		return "none"
	}
	return string(r.Ruling.Decision)
}

// bar is a progress bar of n steps.
func bar(done, n int) string {
	return "[" + strings.Repeat("#", done) + strings.Repeat(".", n-done) + "]"
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
