package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/prosecutor/diff"
	"github.com/prosecutor-bot/prosecutor/prosecutor/gitrepo"
	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest"
	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest/runner"
	"github.com/prosecutor-bot/prosecutor/prosecutor/report"
	"github.com/prosecutor-bot/prosecutor/prosecutor/review"
)

const (
	formatStryker = "stryker" // the mutation testing report schema of the Stryker tools
	formatGitHub  = "github"  // for the log of a job of GitHub Actions, and for the App
)

// hollowOptions are the flags of hollow-test.
type hollowOptions struct {
	repo, base, head string
	baseGiven        bool
	policy           string
	testCmd          string
	budget           time.Duration
	max              int
	format           string
	targets          []string
	whole            bool
	output           string
	sandbox          bool

	getenv         func(string) string
	stdout, stderr io.Writer
}

func newHollowTestCommand() *cobra.Command {
	o := hollowOptions{getenv: os.Getenv}
	cmd := &cobra.Command{
		Use:   "hollow-test",
		Short: "Prove that the tests notice the change",
		Long: `Change the added and modified lines of a change a little, one change at a time, and run the tests that reach
them. Tests that stay green are hollow.

The head is checked out into a scratch directory: neither the work tree nor the repository is written to. Go needs no
command; for JavaScript, TypeScript, Python, Java, Rust and Ruby the tests run by hollow_test.command of the policy at
the base, or by --test-cmd. The tests run with your rights, as they do when you run them yourself; --sandbox runs them in
bubblewrap, without network, for changes that you do not trust.

Exit code 0: the tests noticed every mutant, or nothing could be mutated. 2: a mutant survived, or no test reaches one.
1: it could not be measured.`,
		Example: `  prosecutor hollow-test --base main
  prosecutor hollow-test --base HEAD~1 --target api/limit.go
  prosecutor hollow-test --whole --target api --budget 10m
  prosecutor hollow-test --test-cmd "npm test" --budget 5m --format stryker --output mutation.json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.baseGiven = cmd.Flags().Changed("base")
			o.stdout, o.stderr = cmd.OutOrStdout(), cmd.ErrOrStderr()
			return runHollowTest(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.repo, "repo", ".", "directory of the repository")
	f.StringVar(&o.base, "base", "main", "ref that the change would be merged into")
	f.StringVar(&o.head, "head", "HEAD", "ref of the change")
	f.StringVar(&o.policy, "policy", "", "policy file to use instead of the one at the base")
	f.StringVar(&o.testCmd, "test-cmd", "", "command that runs the tests, for languages other than Go")
	f.DurationVar(&o.budget, "budget", 0, "how long the measurement may take (default: the policy's, else 2m)")
	f.IntVar(&o.max, "max", 0, "try at most that many mutants; 0 tries all")
	f.StringVar(&o.format, "format", formatText, "text, json, md, sarif, stryker, or github for a job of GitHub Actions")
	f.StringArrayVar(&o.targets, "target", nil, "measure only this file, or the files of this directory, by its path from the root of the repository; may be repeated")
	f.BoolVar(&o.whole, "whole", false, "measure every line of the targets, not only what the change added or modified")
	f.StringVar(&o.output, "output", "", "write the report into this file instead of standard output")
	f.BoolVar(&o.sandbox, "sandbox", false, "run the tests in bubblewrap")
	return cmd
}

func runHollowTest(ctx context.Context, o hollowOptions) error {
	formats := []string{formatText, formatJSON, formatMD, formatSARIF, formatStryker, formatGitHub}
	if !slices.Contains(formats, o.format) {
		return fmt.Errorf("--format %q is not known: use %s", o.format, strings.Join(formats, ", "))
	}
	if o.whole && len(o.targets) == 0 {
		return errors.New("--whole measures what --target names: name at least one file or directory")
	}
	if o.max < 0 || o.budget < 0 {
		return errors.New("--max and --budget cannot be negative")
	}
	repo, err := gitrepo.Open(ctx, o.repo)
	if err != nil {
		return err
	}
	defer func() { _ = repo.Close() }() // ends a helper process; there is nothing to lose
	change, policy, notes, err := hollowChange(ctx, repo, o)
	if err != nil {
		return err
	}
	if policy.Mode == config.HollowOff {
		notes = append(notes, "the policy switches hollow-test off (hollow_test.mode); it was asked for by name, and runs")
		policy.Mode = config.HollowGate
	}
	for _, n := range notes {
		fmt.Fprintln(o.stderr, "prosecutor: "+report.OneLine(n, 400))
	}
	scratch, err := os.MkdirTemp("", "prosecutor-hollow-")
	if err != nil {
		return fmt.Errorf("a scratch directory: %w", err)
	}
	defer runner.RemoveAll(scratch)
	in := runner.Plain
	if o.sandbox {
		in = runner.Sandboxed
	}
	opts := runner.Options{Scratch: scratch, Command: o.testCmd, Budget: o.budget, MaxMutants: o.max}
	if opts.Exec, opts.Fetch, err = runner.Executors(ctx, scratch, in); err != nil {
		return err
	}
	bar := newHollowBar(terminalOf(o.stderr, o.getenv), o.stderr)
	opts.Progress = bar.show
	result, err := runner.Measure(ctx, change, policy, opts)
	bar.clear()
	if err != nil {
		return err
	}
	source := func(path string) ([]byte, error) {
		data, ok, err := repo.ReadFile(context.WithoutCancel(ctx), change.Head, path)
		if err == nil && !ok {
			err = fmt.Errorf("%s is not in the head", path)
		}
		return data, err
	}
	if err := writeHollow(o, result, source, change.Head); err != nil {
		return err
	}
	return hollowExit(result)
}

// hollowExit is the exit code of a report.
func hollowExit(r *hollowtest.Report) error {
	switch r.Outcome {
	case hollowtest.KilledAll, hollowtest.NothingMutable:
		return nil
	case hollowtest.Survivors:
		return &exitError{code: exitBlocked}
	default:
		return &exitError{code: exitFailure}
	}
}

// hollowChange reads the change and the policy of its base.
func hollowChange(ctx context.Context, repo *gitrepo.Repo, o hollowOptions) (runner.Change, config.HollowTest, []string, error) {
	var c runner.Change
	var policy config.HollowTest
	head, err := repo.Commit(ctx, o.head)
	if err != nil {
		return c, policy, nil, err
	}
	ro := reviewOptions{base: o.base, baseGiven: o.baseGiven}
	var about review.About
	base, err := baseCommit(ctx, repo, &ro, &about)
	if err != nil {
		return c, policy, nil, err
	}
	var from string
	var paths []string
	if o.whole {
		// Every line was added since the empty tree.
		from, paths = gitrepo.EmptyTree(head), cleaned(o.targets)
	} else if from, err = repo.MergeBase(ctx, base, head); err != nil {
		return c, policy, nil, err
	}
	text, err := repo.Diff(ctx, from, head, paths...)
	if err != nil {
		return c, policy, nil, err
	}
	if c.Diff, err = diff.ParseString(text); err != nil {
		return c, policy, nil, err
	}
	if c.Diff, err = onlyTargets(c.Diff, cleaned(o.targets)); err != nil {
		return c, policy, nil, err
	}
	var rc review.Case
	if err := readPolicy(ctx, repo, base, o.policy, &rc, &about); err != nil {
		return c, policy, nil, err
	}
	policy = rc.Policy.HollowTest
	c.Head = head
	c.Checkout = func(ctx context.Context, dir string) error { return repo.Checkout(ctx, head, dir) }
	if c.WorkTree, err = repo.WorkTree(ctx); err != nil {
		return c, policy, nil, err
	}
	notes := about.Notes
	if o.head == "HEAD" {
		if dirty, err := repo.Dirty(ctx); err == nil && dirty {
			notes = append(notes, "the work tree has changes that are not committed; they were not measured")
		}
	}
	return c, policy, notes, nil
}

func cleaned(targets []string) []string {
	names := make([]string, len(targets))
	for i, t := range targets {
		names[i] = path.Clean(filepath.ToSlash(t))
	}
	return names
}

// onlyTargets is the diff of the files that were named, or that are below directories that were named.
func onlyTargets(d *diff.Diff, targets []string) (*diff.Diff, error) {
	if len(targets) == 0 {
		return d, nil
	}
	var kept diff.Diff
	found := make([]bool, len(targets))
	for _, f := range d.Files {
		for i, name := range targets {
			if f.NewPath == name || strings.HasPrefix(f.NewPath, name+"/") || name == "." {
				found[i] = true
				kept.Files = append(kept.Files, f)
				break
			}
		}
	}
	if i := slices.Index(found, false); i >= 0 {
		return nil, fmt.Errorf("--target %s: the change does not touch it; give a path from the root of the repository", targets[i])
	}
	return &kept, nil
}

// writeHollow writes the report where it was asked for. A file is replaced as a whole, so that no reader finds half of
// one.
func writeHollow(o hollowOptions, r *hollowtest.Report, source report.Source, head string) error {
	if o.output == "" {
		return renderHollow(o, o.stdout, r, source, head, terminalOf(o.stdout, o.getenv))
	}
	f, err := os.CreateTemp(filepath.Dir(o.output), ".prosecutor-*")
	if err != nil {
		return fmt.Errorf("--output: %w", err)
	}
	err = renderHollow(o, f, r, source, head, terminal{})
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), o.output)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // it has no use any more
		return fmt.Errorf("--output: %w", err)
	}
	return nil
}

func renderHollow(o hollowOptions, w io.Writer, r *hollowtest.Report, source report.Source, head string, t terminal) error {
	switch o.format {
	case formatJSON:
		return report.HollowJSON(w, r)
	case formatMD:
		return report.HollowMarkdown(w, r, source)
	case formatSARIF:
		return report.HollowSARIF(w, r, version())
	case formatStryker:
		return report.HollowStryker(w, r, source, version())
	case formatGitHub:
		return report.HollowGitHub(w, r, source, head, rand.Text())
	default:
		return report.HollowText(w, r, source, report.TextOptions{Color: t.color, Width: min(t.width, 120)})
	}
}
