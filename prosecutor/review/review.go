// Package review prosecutes one case from its diff to its ruling: radius, evidence, gate, panel, ledger. It is the one
// way through the packages below it, whoever collects the case: the command line from a local repository, or the GitHub
// App from a pull request.
//
// It is the only package under prosecutor that knows the gate. It does no I/O of its own: files of the base and the head
// come through functions of the case, judges through the panel, the ledger through a Decider.
package review

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/convergence"
	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/attribution"
	"github.com/prosecutor-bot/prosecutor/prosecutor/blast"
	"github.com/prosecutor-bot/prosecutor/prosecutor/charter"
	"github.com/prosecutor-bot/prosecutor/prosecutor/contract"
	"github.com/prosecutor-bot/prosecutor/prosecutor/diff"
	"github.com/prosecutor-bot/prosecutor/prosecutor/evidence"
	"github.com/prosecutor-bot/prosecutor/prosecutor/evidence/rules"
	"github.com/prosecutor-bot/prosecutor/prosecutor/generated"
	"github.com/prosecutor-bot/prosecutor/prosecutor/judge"
	"github.com/prosecutor-bot/prosecutor/prosecutor/panel"
)

// ReadFile reads a file of one side of the case. ok is false when there is no such file, which is not an error.
type ReadFile func(ctx context.Context, path string) (content []byte, ok bool, err error)

// Case is what is to be judged, as it was collected.
type Case struct {
	ID      convergence.Case
	Branch  string
	Diff    string // unified diff from the merge base to the head
	Spec    string // title, body and linked issues; or commit messages
	Scope   []string
	Policy  *config.Policy // of the base branch
	Builder attribution.Result

	ReadBase ReadFile // a file at the base
	ReadHead ReadFile // a file at the head

	// Evidence of every source but the static rules, which are run here.
	Evidence []prosecutor.Evidence
	// HollowTest measures the change, whose diff is the one of the case. It is asked once, and only when somebody may still
	// judge the case and lines could be mutated. Without it, and without evidence of it above, hollow-test counts as not run.
	HollowTest func(ctx context.Context, d *diff.Diff) (prosecutor.Evidence, error)

	Event  convergence.Event
	Sender convergence.Sender
	Stage  convergence.Stage // empty means convergence.StageReview
	Draft  bool

	KillSwitch   bool   // judging is switched off for this change
	SwitchedOff  string // by what, and by whom
	TouchesTests bool   // asked for merge groups
	Waited       time.Duration

	// Unjudgeable and Unjudgeably say why the case cannot be put to anybody, such as a broken policy; usually empty.
	Unjudgeable convergence.Reason
	Unjudgeably string

	Observer panel.Observer // told how the lenses go on; may be nil
}

// Question is what a Decider is asked.
type Question struct {
	Facts  convergence.Facts
	Policy *config.Policy
	Ask    convergence.Ask
	Verify convergence.Option
	// Result is everything that is known of the case once it has been ruled on so. A Decider that stores a ruling can store
	// the whole result in the same transaction.
	Result func(convergence.Ruling) *Result
}

// Decider brings a case together with its ledger: convergence.Decide for a case without a stored ledger, a store's
// transactions otherwise.
type Decider func(ctx context.Context, q Question) (convergence.Ruling, error)

// WithoutLedger decides as if the change had never been seen.
func WithoutLedger(ctx context.Context, q Question) (convergence.Ruling, error) {
	ruling, _, err := convergence.Decide(ctx, q.Facts, convergence.New(), q.Policy, q.Ask, q.Verify)
	return ruling, err
}

// Bench is who judges. It is safe for concurrent use.
type Bench struct {
	Panel  *panel.Panel
	Decide Decider          // nil means WithoutLedger
	Now    func() time.Time // nil means time.Now
}

// Result is everything that is known after a case was prosecuted.
type Result struct {
	Case          Case
	Ruling        convergence.Ruling
	Radius        blast.Result
	Evidence      []prosecutor.Evidence
	Excluded      []charter.Excluded
	Lenses        []panel.LensResult
	Verifications []panel.Verification
	Notes         []string // what else a reader should know
	Files         *diff.Diff
}

// Prosecute judges a case. An error means that nothing was decided because of the case itself (a diff that cannot be
// parsed) or of the ledger's store; a judge that fails is no error, it is ruled on. The result is not nil when the ruling
// was reached, also beside an error.
func (b *Bench) Prosecute(ctx context.Context, c Case) (*Result, error) {
	now := b.Now
	if now == nil {
		now = time.Now
	}
	decide := b.Decide
	if decide == nil {
		decide = WithoutLedger
	}
	r := &Result{Case: c}

	d, err := diff.ParseString(c.Diff)
	var limit *diff.LimitError
	if errors.As(err, &limit) {
		return nil, fmt.Errorf("the change %s is too large to read, so nothing was judged: %w: split it", c.ID.Key, err)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the diff of %s: %w", c.ID.Key, err)
	}
	r.Files = d
	marked, err := generated.Classify(ctx, d, baseReader{c.ReadBase})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		// What could not be classified is shown to the judges, so nothing is hidden by it.
		r.note("some files could not be told to be generated or not, and are read like any other: %v", err)
	}
	r.Radius = blast.Measure(d, blast.Input{Policy: c.Policy, Generated: marked})

	brief := &charter.Brief{Diff: d, Spec: c.Spec, Scope: c.Scope}
	brief.Text, brief.Excluded, err = charter.Select(d, charter.Selection{
		Policy: c.Policy.Diff, Critical: neverLeftOut(d, c.Policy), Generated: marked,
	})
	switch {
	case errors.Is(err, charter.ErrOnlyExcluded) && c.Unjudgeable == "":
		c.Unjudgeable, c.Unjudgeably = convergence.OnlyExcluded, err.Error()
	case err != nil && !errors.Is(err, charter.ErrOnlyExcluded):
		return nil, fmt.Errorf("choosing what judges read of %s: %w", c.ID.Key, err)
	}
	if len(d.Files) == 0 {
		brief.Text = c.Diff // white space only: row 1 of semantics 2 sees it as it is
	}
	r.Excluded = brief.Excluded

	found := rules.Check(ctx, rules.Input{
		Diff: d, Spec: c.Spec, BinaryAllow: c.Policy.Diff.BinaryAllow,
		Blob: func(path string) ([]byte, error) { return c.headFile(ctx, path) },
	})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	for i, f := range found {
		if f.Anchor != nil {
			// The place is known, so the quote is only shown and stored from here on; a key in it must not be.
			a := *f.Anchor
			a.Quote = rules.Redact(a.Quote)
			found[i].Anchor = &a
		}
	}
	r.Evidence = append(slices.Clone(c.Evidence), evidence.Static(found, c.Policy.StaticRules.Accepted))
	if !slices.ContainsFunc(c.Evidence, func(e prosecutor.Evidence) bool { return e.Source == prosecutor.HollowTest }) {
		hollow, err := c.measure(ctx, d, brief.Text)
		if err != nil {
			return nil, err
		}
		r.Evidence = append(r.Evidence, hollow)
	}
	brief.Evidence = r.Evidence

	facts := convergence.Facts{
		Event: c.Event, Sender: c.Sender, Stage: c.Stage, Case: c.ID, Now: now(), Draft: c.Draft,
		KillSwitch: c.KillSwitch, SwitchedOff: c.SwitchedOff, TouchesTests: c.TouchesTests, Waited: c.Waited,
		Unjudgeable: c.Unjudgeable, Unjudgeably: c.Unjudgeably,
		Radius: r.Radius.Level, Lenses: r.Radius.Lenses, SelfModifying: r.Radius.SelfModifying,
		Evidence: r.Evidence,
		Stands:   func(a prosecutor.Anchor) bool { return c.stands(ctx, d, a) },
	}
	if c.Unjudgeable == "" {
		facts.Preflight = contract.Preflight(brief.Text)
	}
	ask := func(ctx context.Context, lenses []prosecutor.Lens) ([]convergence.LensOutcome, error) {
		r.Lenses = b.Panel.Run(ctx, panel.Case{
			Brief: brief, Lenses: lenses, Builder: c.Builder, Radius: r.Radius.Level, SelfModifying: r.Radius.SelfModifying,
			Policy: c.Policy, Repo: c.ID.Repo, Observer: c.Observer,
		})
		outcomes := make([]convergence.LensOutcome, len(r.Lenses))
		for i, l := range r.Lenses {
			outcomes[i] = outcome(l)
		}
		return outcomes, nil
	}
	verify := func(ctx context.Context, f prosecutor.Finding) (bool, error) {
		v, err := b.Panel.Verify(ctx, panel.VerifyCase{
			Brief: brief, Finding: f, Builder: c.Builder, Policy: c.Policy, Repo: c.ID.Repo,
		})
		if err != nil {
			return false, err
		}
		r.Verifications = append(r.Verifications, v)
		return v.Ruling == panel.Refuted, nil
	}
	ruling, err := decide(ctx, Question{
		Facts: facts, Policy: c.Policy, Ask: ask, Verify: convergence.WithVerifier(verify), Result: r.ruled,
	})
	r = r.ruled(ruling)
	if err != nil {
		return r, fmt.Errorf("deciding %s: %w", c.ID.Key, err)
	}
	return r, nil
}

// ruled is the result with a ruling, in which the findings of earlier laps have their places in this diff.
func (r *Result) ruled(ruling convergence.Ruling) *Result {
	out := *r
	out.Ruling = ruling
	out.Ruling.Findings = slices.Clone(ruling.Findings)
	for i, f := range out.Ruling.Findings {
		if f.Anchor != nil && f.Place.Status == "" {
			out.Ruling.Findings[i].Place = r.Files.Locate(*f.Anchor)
		}
	}
	return &out
}

func (r *Result) note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

// neverLeftOut lists globs of what judges read whatever else says that they need not: critical paths (semantics 2), and
// what belongs to the gate itself (semantics 9).
func neverLeftOut(d *diff.Diff, p *config.Policy) []string {
	globs := slices.Concat(p.BlastRadius.Critical, p.SelfModification)
	for _, f := range d.Files {
		for _, path := range []string{f.OldPath, f.NewPath} {
			if path != "" && blast.Owns(path, config.PolicyPath) != blast.NotGate {
				globs = append(globs, globEscaper.Replace(path))
			}
		}
	}
	return globs
}

// globEscaper makes a path a glob that matches nothing but itself.
var globEscaper = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `{`, `\{`)

// outcome is a lens's result in the gate's words. What its findings say is stored with the ledger, so secrets are masked in
// it; the quoted code stays as it is, because whether it still stands has to be told on the next lap.
func outcome(l panel.LensResult) convergence.LensOutcome {
	found := l.Findings()
	for i, f := range found {
		found[i].Claim, found[i].Evidence, found[i].Suggestion = rules.Redact(f.Claim), rules.Redact(f.Evidence), rules.Redact(f.Suggestion)
	}
	return convergence.LensOutcome{
		Lens: l.Lens, Verdict: l.Verdict, ErrorKind: l.ErrorKind, Failures: l.Failures(), Err: l.Err,
		Judge: l.Judge.ID, Family: l.Judge.Family, Static: l.Judge.Static, SameFamily: l.SameFamily,
		NoJudge: l.NoJudge, Waiting: l.Waiting, ResetAt: l.ResetAt,
		Refuted: l.Refuted, Findings: found,
	}
}

// baseReader reads the base for the classification of files.
type baseReader struct{ read ReadFile }

// ReadFile implements generated.Base.
func (b baseReader) ReadFile(ctx context.Context, path string) ([]byte, bool, error) {
	if b.read == nil {
		return nil, false, errors.New("the base cannot be read")
	}
	return b.read(ctx, path)
}

// headFile reads a file of the head that has to be there.
func (c *Case) headFile(ctx context.Context, path string) ([]byte, error) {
	if c.ReadHead == nil {
		return nil, errors.New("the head cannot be read")
	}
	content, ok, err := c.ReadHead(ctx, path)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("%s is not in the head", path)
	}
	return content, nil
}

// stands reports whether accused lines still stand: in the diff, or, for lines of the new side, in the file as the head
// has it. A head that cannot be read leaves the accusation standing.
func (c *Case) stands(ctx context.Context, d *diff.Diff, a prosecutor.Anchor) bool {
	switch d.Locate(a).Status {
	case prosecutor.Anchored, prosecutor.Ambiguous:
		return true
	}
	if a.Side == prosecutor.Left {
		return false // the deletion it accused is no longer part of the change
	}
	if c.ReadHead == nil {
		return true
	}
	content, ok, err := c.ReadHead(ctx, a.Path)
	if err != nil {
		return true
	}
	return ok && containsLines(string(content), a.Quote)
}

// containsLines reports whether the lines of a quote stand in a text one after another, white space folded.
func containsLines(text, quote string) bool {
	want := foldedLines(quote)
	for len(want) > 0 && want[0] == "" {
		want = want[1:]
	}
	for len(want) > 0 && want[len(want)-1] == "" {
		want = want[:len(want)-1]
	}
	if len(want) == 0 {
		return false
	}
	have := foldedLines(text)
	for i := 0; i+len(want) <= len(have); i++ {
		match := true
		for j := range want {
			if have[i+j] != want[j] {
				match = false
				break
			}
		}
		if match {
			return true
		}
	}
	return false
}

func foldedLines(s string) []string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = strings.Join(strings.Fields(l), " ")
	}
	return lines
}

// StaticOnly reports whether the built-in rules are the only judge of a set.
func StaticOnly(judges []judge.Judge) bool {
	for _, j := range judges {
		if !j.Info().Static {
			return false
		}
	}
	return true
}
