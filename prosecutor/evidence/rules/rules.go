// Package rules holds the static rules: deterministic, lint-like evidence about a change, read from its diff alone.
//
// They are what the gate knows on a machine without a model, and they run as evidence beside every model. A rule looks
// only at what the change itself does: lines it adds, or, for tests, lines it deletes. It quotes the accused line whole,
// so that each finding can be located again in the diff. A finding of high or above makes the evidence red and blocks
// the change (semantics 5), so those severities are kept for facts that are wrong in almost any project; everything
// else is medium or low and only advises.
//
// The rules know no comment that silences them: an exception is accepted by the policy on the base branch, where the
// change under review cannot write it. docs/static-rules.md lists every rule with its measured precision.
//
// The package has no mutable state; Check may be called concurrently.
package rules

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/diff"
)

// MaxPerFile is how many findings one rule reports in one file. The most severe are kept, the last of them says how many
// more there are. Five show the pattern; the author will look for the rest once told that it exists.
const MaxPerFile = 5

// MaxLine is the length in bytes above which a line counts as machine-made (minified code, embedded data). Rules about
// code do not read such a line; secrets and invisible characters are still looked for, in windows of this size around
// the fixed part of what they search, so that the work stays linear in the length of the line.
const MaxLine = 8 << 10

// Input is what the rules read.
type Input struct {
	Diff *diff.Diff
	// Spec is the title and body of the pull request and what it links to. Empty when there is none.
	Spec string
	// BinaryAllow lists globs of binary files that are no finding (diff.binary_allow).
	BinaryAllow []string
	// Blob returns the content of a path of the new side, or its first bytes: 4 kB are enough to know an image or a
	// font. With no Blob, or when it fails, a binary file is not known to be one, and is reported.
	Blob func(path string) ([]byte, error)
}

// Rule describes one rule.
type Rule struct {
	ID   string          // kebab-case, stable: policies accept findings by it
	Lens prosecutor.Lens // the lens under which the static judge charges it
	// Severity is the highest the rule gives. A finding has less where the context makes it likely that the code is
	// meant: test code, fixtures, documentation.
	Severity prosecutor.Severity
	Charge   prosecutor.Charge
	Title    string
	Why      string

	langs   langs    // languages the rule reads; 0 for all
	needles []string // one of them must occur in a file's section; nil for always
	perFile func(s *scan, f *file)
	whole   func(s *scan)
	facts   bool // needs more than the diff and the spec
}

// All returns the rules, ordered by lens, then by id. The slice is the caller's.
func All() []Rule {
	var all []Rule
	for _, group := range [][]Rule{
		testRules(), conflictRules(), errorRules(), debugRules(), unfinishedRules(),
		secretRules(), dangerRules(), workflowRules(), hiddenRules(),
		fileRules(), claimRules(),
	} {
		all = append(all, group...)
	}
	rank := map[prosecutor.Lens]int{}
	for i, l := range prosecutor.Lenses() {
		rank[l] = i
	}
	slices.SortStableFunc(all, func(a, b Rule) int {
		return cmp.Or(cmp.Compare(rank[a.Lens], rank[b.Lens]), strings.Compare(a.ID, b.ID))
	})
	return all
}

// DiffOnly reports whether the rule needs nothing but the diff and the spec. The static judge runs only such rules: what
// needs the content of a file, or the policy, is decided by the evidence alone.
func (r Rule) DiffOnly() bool { return !r.facts }

// Check runs all rules. Findings come in the order of the files in the diff, then by line, then by rule. It returns
// early, with what it has, when ctx ends: a caller that may cancel must look at ctx.Err before it trusts a short list.
func Check(ctx context.Context, in Input) []prosecutor.Finding { return CheckOnly(ctx, in, nil) }

// CheckOnly runs the rules that want accepts; nil accepts all. See Check.
func CheckOnly(ctx context.Context, in Input, want func(Rule) bool) []prosecutor.Finding {
	if in.Diff == nil {
		return nil
	}
	s := &scan{ctx: ctx, in: in}
	for i, df := range in.Diff.Files {
		s.files = append(s.files, newFile(df, i))
	}
	active := All()
	if want != nil {
		active = slices.DeleteFunc(active, func(r Rule) bool { return !want(r) })
	}
	for i := range active {
		r := &active[i]
		s.rule = r
		if r.whole != nil {
			if ctx.Err() != nil {
				break
			}
			r.whole(s)
			s.flush()
			continue
		}
		for _, f := range s.files {
			if ctx.Err() != nil {
				break
			}
			if !f.within(r) {
				continue
			}
			r.perFile(s, f)
		}
		s.flush()
	}
	slices.SortStableFunc(s.out, func(a, b hit) int {
		return cmp.Or(cmp.Compare(a.order(), b.order()), cmp.Compare(a.row.at(), b.row.at()))
	})
	found := make([]prosecutor.Finding, len(s.out))
	for i, h := range s.out {
		found[i] = h.finding()
	}
	return found
}

// Path is the path a finding of a static rule is about, for matching a policy's accepted list: also that of a finding
// about a whole file, which has no quote and hence no anchor.
func Path(f prosecutor.Finding) string {
	if f.Place.Path != "" {
		return f.Place.Path
	}
	if f.Anchor != nil {
		return f.Anchor.Path
	}
	return ""
}

// scan is one run.
type scan struct {
	ctx     context.Context
	in      Input
	files   []*file
	rule    *Rule
	pending []hit
	out     []hit
}

// hit is a finding in the making.
type hit struct {
	rule     *Rule
	file     *file // nil: about the change as a whole
	row      *row  // nil: about the file as a whole
	severity prosecutor.Severity
	claim    string
	more     int // hits of the same rule and file that are not reported
}

func (h hit) order() int {
	if h.file == nil {
		return -1
	}
	return h.file.index
}

// hit accuses a row. A severity above the rule's own is a bug that a test catches.
func (s *scan) hit(f *file, r *row, severity prosecutor.Severity, claim string) {
	if strings.TrimSpace(r.Text) == "" {
		r = nil // a blank quote would be unanchored
	}
	s.pending = append(s.pending, hit{rule: s.rule, file: f, row: r, severity: severity, claim: claim})
}

// hitFile accuses a file as a whole, hitChange the change.
func (s *scan) hitFile(f *file, severity prosecutor.Severity, claim string) {
	s.pending = append(s.pending, hit{rule: s.rule, file: f, severity: severity, claim: claim})
}

func (s *scan) hitChange(severity prosecutor.Severity, claim string) {
	s.pending = append(s.pending, hit{rule: s.rule, severity: severity, claim: claim})
}

// flush applies MaxPerFile to the hits of one rule.
func (s *scan) flush() {
	slices.SortStableFunc(s.pending, func(a, b hit) int {
		return cmp.Or(cmp.Compare(a.order(), b.order()), cmp.Compare(b.severity.Rank(), a.severity.Rank()), cmp.Compare(a.row.at(), b.row.at()))
	})
	for i := 0; i < len(s.pending); {
		j := i
		for j < len(s.pending) && s.pending[j].file == s.pending[i].file {
			j++
		}
		kept := min(j-i, MaxPerFile)
		s.pending[i+kept-1].more = j - i - kept
		s.out = append(s.out, s.pending[i:i+kept]...)
		i = j
	}
	s.pending = s.pending[:0]
}

func (h hit) finding() prosecutor.Finding {
	f := prosecutor.Finding{
		Lens:     h.rule.Lens,
		Source:   prosecutor.FromEvidence,
		Origin:   string(prosecutor.StaticRules),
		Rule:     h.rule.ID,
		Severity: h.severity,
		Claimed:  h.severity,
		Charge:   h.rule.Charge,
		Claim:    h.claim,
		Place:    prosecutor.Place{Status: prosecutor.NoFile},
	}
	if h.more > 0 {
		f.Claim += fmt.Sprintf(" (and %d more in this file)", h.more)
	}
	if h.file != nil {
		f.Place.Path = h.file.path
	}
	if h.row != nil {
		side, line := h.row.side()
		f.Anchor = &prosecutor.Anchor{Path: h.file.path, Side: side, Quote: h.row.Text, Line: line}
		f.Place = prosecutor.Place{
			Status: prosecutor.Anchored, Path: h.file.path, Side: side, StartLine: line, EndLine: line, MatchedBy: "line",
		}
		f.Evidence = clip(Redact(window(h.row.Text)))
	}
	f.ID = prosecutor.Identify(f)
	return f
}

// maxEvidence is the length in bytes of the excerpt in Finding.Evidence.
const maxEvidence = 240

func window(s string) string {
	if len(s) > MaxLine {
		return s[:MaxLine]
	}
	return s
}

// clip shortens an excerpt for display and makes it valid UTF-8.
func clip(s string) string {
	s = strings.ToValidUTF8(strings.TrimSpace(s), "\uFFFD")
	if len(s) <= maxEvidence {
		return s
	}
	cut := maxEvidence
	for cut > 0 && s[cut]&0xC0 == 0x80 {
		cut--
	}
	return s[:cut] + "..."
}
