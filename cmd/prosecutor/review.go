package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/convergence"
	"github.com/prosecutor-bot/prosecutor/convergence/store"
	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/attribution"
	"github.com/prosecutor-bot/prosecutor/prosecutor/diff"
	"github.com/prosecutor-bot/prosecutor/prosecutor/evidence"
	"github.com/prosecutor-bot/prosecutor/prosecutor/gitrepo"
	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest/runner"
	"github.com/prosecutor-bot/prosecutor/prosecutor/judge"
	"github.com/prosecutor-bot/prosecutor/prosecutor/judge/factory"
	"github.com/prosecutor-bot/prosecutor/prosecutor/judge/static"
	"github.com/prosecutor-bot/prosecutor/prosecutor/panel"
	"github.com/prosecutor-bot/prosecutor/prosecutor/report"
	"github.com/prosecutor-bot/prosecutor/prosecutor/review"
)

// maxCommits is how many commits of a branch are read for attribution and for the spec. GitHub shows 250 of a pull request.
const maxCommits = 250

// The formats of a review.
const (
	formatText  = "text"
	formatJSON  = "json"
	formatMD    = "md"
	formatSARIF = "sarif"
)

// reviewOptions are the flags of review.
type reviewOptions struct {
	repo, base, head string
	baseGiven        bool
	spec, policy     string
	config           string
	judges           []string
	format           string
	explain          bool
	noLedger         bool
	noHollowTest     bool

	getenv         func(string) string
	stdin          io.Reader
	stdout, stderr io.Writer
}

func newReviewCommand() *cobra.Command {
	o := reviewOptions{getenv: os.Getenv}
	cmd := &cobra.Command{
		Use:   "review",
		Short: "Prosecute the change between two refs of a local repository",
		Long: `Prosecute the change that a pull request of HEAD against BASE would hold, and decide.

The policy is read from .github/prosecutor.yml at the base, so that a change cannot relax its own gate. Judges
come from the server file (--config, PROSECUTOR_CONFIG, ./prosecutor-server.yml); without one the built-in
static rules judge. The ledger of the branch is kept in $XDG_STATE_HOME/prosecutor.

The tests of the change are run against mutants of its lines (hollow_test in the policy), in a sandbox: without
bubblewrap that evidence is unavailable, unless the server file says hollow_test.sandbox: none.

Exit code 0: ADVANCE. 2: LOOP_BACK or ESCALATE. 1: nothing was decided.`,
		Example: `  prosecutor review --base main
  prosecutor review --base HEAD~1 --explain
  prosecutor review --base origin/main --spec issue.md --format json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.baseGiven = cmd.Flags().Changed("base")
			o.stdin, o.stdout, o.stderr = cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()
			return runReview(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.repo, "repo", ".", "directory of the repository")
	f.StringVar(&o.base, "base", "main", "ref that the change would be merged into")
	f.StringVar(&o.head, "head", "HEAD", "ref of the change")
	f.StringVar(&o.spec, "spec", "", "file with what the change should do, or - for standard input (default: the commits' messages)")
	f.StringVar(&o.policy, "policy", "", "policy file to use instead of the one at the base")
	f.StringVar(&o.config, "config", "", "server file with the judges (default: PROSECUTOR_CONFIG, else ./"+serverFile+")")
	f.StringSliceVar(&o.judges, "judge", nil, "only these judges of the server file, by name; static is the built-in rules")
	f.StringVar(&o.format, "format", formatText, "text, json, md or sarif")
	f.BoolVar(&o.explain, "explain", false, "show every rule that fired")
	f.BoolVar(&o.noHollowTest, "no-hollow-test", false, "do not run the tests against mutants of the change; that evidence is unavailable then")
	f.BoolVar(&o.noLedger, "no-ledger", false, "decide as if the branch had never been seen, and record nothing")
	return cmd
}

func runReview(ctx context.Context, o reviewOptions) error {
	formats := []string{formatText, formatJSON, formatMD, formatSARIF}
	if !slices.Contains(formats, o.format) {
		return fmt.Errorf("--format %q is not known: use %s", o.format, strings.Join(formats, ", "))
	}
	repo, err := gitrepo.Open(ctx, o.repo)
	if err != nil {
		return err
	}
	defer func() { _ = repo.Close() }() // ends a helper process; there is nothing to lose

	server, err := loadServer(o.config, o.getenv)
	if err != nil {
		return err
	}
	judges, err := chooseJudges(server, o.judges, o.getenv)
	if err != nil {
		return err
	}
	pool, err := judge.NewPool(judges, judge.PoolOptions{Limits: judge.LimitsOf(server)})
	if err != nil {
		return err
	}
	c, about, err := collect(ctx, repo, o)
	if err != nil {
		return err
	}
	if err := ownServerFile(ctx, repo, o, &c); err != nil {
		return err
	}
	about.StaticOnly = review.StaticOnly(judges)

	bench := &review.Bench{Panel: panel.New(pool, panel.Options{})}
	if !o.noLedger {
		path, err := stateFile(o.getenv)
		if err != nil {
			return err
		}
		ledgers, err := store.Open(ctx, path)
		if err != nil {
			return err
		}
		defer func() { _ = ledgers.Close() }() // what was decided has been acknowledged before
		about.Ledger = true
		bench.Decide = func(ctx context.Context, q review.Question) (convergence.Ruling, error) {
			return store.Judge(ctx, ledgers, q.Facts, q.Policy, q.Ask, q.Verify)
		}
	}
	shown := newProgress(terminalOf(o.stderr, o.getenv), o.stderr)
	c.Observer = shown
	if !o.noHollowTest {
		bar := newHollowBar(terminalOf(o.stderr, o.getenv), o.stderr)
		if c.HollowTest, err = hollowTest(ctx, repo, server, &c, bar); err != nil {
			return err
		}
	}
	result, err := bench.Prosecute(ctx, c)
	shown.clear()
	if err != nil {
		return err
	}
	doc := result.Document(about)
	if err := write(o, doc); err != nil {
		return err
	}
	return exitOf(result.Ruling)
}

// ownServerFile refuses a server file that nobody named and that the change under review brings along: it says which programs
// judge, and whether tests need a sandbox.
func ownServerFile(ctx context.Context, repo *gitrepo.Repo, o reviewOptions, c *review.Case) error {
	if o.config != "" || o.getenv("PROSECUTOR_CONFIG") != "" {
		return nil
	}
	tree, err := repo.WorkTree(ctx)
	if err != nil || tree == "" {
		return err
	}
	here, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("finding the server file: %w", err)
	}
	if here, err = filepath.EvalSymlinks(here); err != nil {
		return fmt.Errorf("finding the server file: %w", err)
	}
	rel, err := filepath.Rel(tree, filepath.Join(here, serverFile))
	if err != nil || !filepath.IsLocal(rel) {
		return nil //nolint:nilerr // it is not in the repository
	}
	name := filepath.ToSlash(rel)
	after, there, err := c.ReadHead(ctx, name)
	if err != nil || !there {
		return err
	}
	before, _, err := c.ReadBase(ctx, name)
	if err != nil {
		return err
	}
	if !bytes.Equal(before, after) {
		return fmt.Errorf("the change brings its own %s, which says who judges it and how its tests run: name a file that you trust with --config", name)
	}
	return nil
}

// hollowTest measures the head in the sandbox, or as the server file says.
func hollowTest(ctx context.Context, repo *gitrepo.Repo, server *config.Server, c *review.Case, bar *hollowBar) (func(context.Context, *diff.Diff) (prosecutor.Evidence, error), error) {
	tree, err := repo.WorkTree(ctx)
	if err != nil {
		return nil, err
	}
	in, policy, head := runner.ConfinementOf(server.HollowTest), c.Policy.HollowTest, c.ID.Head
	policy.Budget = min(policy.Budget, server.HollowTest.MaxBudget)
	return func(ctx context.Context, d *diff.Diff) (prosecutor.Evidence, error) {
		defer bar.clear()
		e, _ := runner.Evidence(ctx, runner.Change{
			Head: head, Diff: d, WorkTree: tree,
			Checkout: func(ctx context.Context, dir string) error { return repo.Checkout(ctx, head, dir) },
		}, policy, in, runner.Options{Progress: bar.show})
		return e, ctx.Err()
	}, nil
}

// exitOf is the exit code of a ruling. Only a decision has another one than failure.
func exitOf(r convergence.Ruling) error {
	switch {
	case r.Outcome != convergence.Decided:
		return &exitError{code: exitFailure}
	case r.Decision == convergence.Advance:
		return nil
	default:
		return &exitError{code: exitBlocked}
	}
}

func write(o reviewOptions, doc *report.Document) error {
	switch o.format {
	case formatJSON:
		return report.JSON(o.stdout, doc)
	case formatMD:
		return report.Markdown(o.stdout, doc)
	case formatSARIF:
		return report.SARIF(o.stdout, doc)
	default:
		t := terminalOf(o.stdout, o.getenv)
		return report.Text(o.stdout, doc, report.TextOptions{Color: t.color, Explain: o.explain, Width: min(t.width, 120)})
	}
}

// chooseJudges builds the configured judges, or those of them that were asked for.
func chooseJudges(server *config.Server, names []string, getenv func(string) string) ([]judge.Judge, error) {
	if len(names) == 0 {
		return factory.New(server, getenv)
	}
	if len(names) == 1 && names[0] == static.New().Info().ID {
		return []judge.Judge{static.New()}, nil
	}
	chosen := &config.Server{}
	var known []string
	for _, j := range server.Judges {
		known = append(known, j.Name)
	}
	for _, name := range names {
		i := slices.IndexFunc(server.Judges, func(j config.JudgeConfig) bool { return strings.EqualFold(j.Name, name) })
		switch {
		case i >= 0:
			chosen.Judges = append(chosen.Judges, server.Judges[i])
		case name == static.New().Info().ID:
			return nil, errors.New("--judge static serves alone: the built-in rules never stand in for a model")
		case len(known) == 0:
			return nil, fmt.Errorf("--judge %q: no server file configures any judge; name one with --config, or use --judge static", name)
		default:
			return nil, fmt.Errorf("--judge %q is not in the server file, which has: %s", name, strings.Join(known, ", "))
		}
	}
	return factory.New(chosen, getenv)
}

// collect reads the case from the repository.
func collect(ctx context.Context, repo *gitrepo.Repo, o reviewOptions) (review.Case, review.About, error) {
	var c review.Case
	about := review.About{Version: version(), Explain: o.explain}
	head, err := repo.Commit(ctx, o.head)
	if err != nil {
		return c, about, err
	}
	base, err := baseCommit(ctx, repo, &o, &about)
	if err != nil {
		return c, about, err
	}
	about.BaseRef = o.base
	if about.MergeBase, err = repo.MergeBase(ctx, base, head); err != nil {
		return c, about, err
	}
	if c.Diff, err = repo.Diff(ctx, about.MergeBase, head); err != nil {
		return c, about, err
	}
	commits, err := repo.Commits(ctx, base, head, maxCommits)
	if err != nil {
		return c, about, err
	}
	c.Branch = branchName(repo, o.head)
	if err := readPolicy(ctx, repo, base, o.policy, &c, &about); err != nil {
		return c, about, err
	}
	if err := readIntent(o, commits, &c, &about); err != nil {
		return c, about, err
	}
	if o.head == "HEAD" {
		if dirty, err := repo.Dirty(ctx); err == nil && dirty {
			about.Notes = append(about.Notes, "the work tree has changes that are not committed; they were not judged")
		}
	}
	c.Builder = attribution.Find(change(commits, c.Branch), c.Policy.Attribution, attribution.DefaultCatalog())
	c.ReadBase = func(ctx context.Context, path string) ([]byte, bool, error) { return repo.ReadFile(ctx, base, path) }
	c.ReadHead = func(ctx context.Context, path string) ([]byte, bool, error) { return repo.ReadFile(ctx, head, path) }
	c.Evidence = []prosecutor.Evidence{
		evidence.NotApplicable(prosecutor.CodeScanning, "no GitHub"),
		evidence.NotApplicable(prosecutor.CIChecks, "no GitHub"),
	}
	key := c.Branch
	if key == "" {
		key = head // a detached head has no branch to keep laps for
	}
	c.ID = convergence.Case{
		Key:  convergence.Key{Repo: repo.CommonDir, Change: key},
		Base: base, Head: head, PolicyHash: c.Policy.Hash(), SpecHash: hash(c.Spec),
	}
	// Whoever runs the command has the repository in their hands: it is /prosecute by a person with write access.
	c.Event = convergence.EventReviewReopen
	c.Sender = convergence.Sender{Login: login(), Type: convergence.User, Permission: convergence.PermissionAdmin}
	return c, about, nil
}

// baseCommit resolves the base. The default, main, is looked for under the other names that it has in a clone.
func baseCommit(ctx context.Context, repo *gitrepo.Repo, o *reviewOptions, about *review.About) (string, error) {
	base, err := repo.Commit(ctx, o.base)
	if err == nil || o.baseGiven {
		return base, err
	}
	for _, ref := range []string{"origin/main", "origin/HEAD", "master", "origin/master"} {
		if base, tryErr := repo.Commit(ctx, ref); tryErr == nil {
			about.Notes = append(about.Notes, fmt.Sprintf("there is no branch main here: the base is %s", ref))
			o.base = ref
			return base, nil
		}
	}
	return "", err
}

// readPolicy takes the policy from a file that was named, else from the base, else the defaults. A policy that is broken
// is an error that names every problem.
func readPolicy(ctx context.Context, repo *gitrepo.Repo, base, file string, c *review.Case, about *review.About) error {
	var err error
	if file != "" {
		about.PolicySource = file
		c.Policy, err = config.LoadPolicy(file)
		return err
	}
	content, ok, err := repo.ReadFile(ctx, base, config.PolicyPath)
	if err != nil {
		return err
	}
	if !ok {
		about.PolicySource = "built-in defaults"
		c.Policy = config.DefaultPolicy()
		return nil
	}
	about.PolicySource = config.PolicyPath + " at the base"
	c.Policy, err = config.ParsePolicy(config.PolicyPath, content)
	if err != nil {
		return fmt.Errorf("the policy at the base (%s) is broken, so nothing was judged:\n%w", base[:12], err)
	}
	return nil
}

// readIntent takes the spec from a file, else from the commits' messages.
func readIntent(o reviewOptions, commits []gitrepo.Commit, c *review.Case, about *review.About) error {
	if o.spec != "" {
		spec, err := readSpec(o.spec, o.stdin)
		c.Spec, about.SpecSource = spec, o.spec
		if o.spec == "-" {
			about.SpecSource = "standard input"
		}
		return err
	}
	about.SpecSource = "commit messages"
	messages := make([]string, len(commits))
	for i, commit := range commits {
		messages[i] = commit.Message
	}
	c.Spec = strings.Join(messages, "\n\n")
	return nil
}

func change(commits []gitrepo.Commit, branch string) attribution.Change {
	ch := attribution.Change{Branch: branch}
	for _, c := range commits {
		ch.Commits = append(ch.Commits, attribution.Commit{
			AuthorName: c.AuthorName, AuthorEmail: c.AuthorEmail, CommitterName: c.CommitterName, CommitterEmail: c.CommitterEmail,
			Message: c.Message,
		})
	}
	return ch
}

// branchName is the branch that the head names, empty for a detached head or a commit.
func branchName(repo *gitrepo.Repo, head string) string {
	if head == "HEAD" {
		return repo.Branch
	}
	if len(head) >= 7 && strings.Trim(head, "0123456789abcdef") == "" {
		return ""
	}
	return head
}

func login() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return "local"
}

func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}
