package rules_test

import (
	"context"
	"fmt"
	"reflect"
	"sort"
	"strings"
	"testing"

	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/diff"
	"github.com/prosecutor-bot/prosecutor/prosecutor/evidence/rules"
	"github.com/prosecutor-bot/prosecutor/test/corpustest"
)

// TestCorpusRules runs every rule over every diff of the corpus. Each finding must be whole, and must be found again in
// its diff at the place it names. With -v it prints what docs/static-rules.md is made of.
func TestCorpusRules(t *testing.T) {
	perRule := map[string]map[prosecutor.Severity]int{}
	diffs := map[string]int{}
	for _, e := range corpustest.Load(t) {
		t.Run(e.ID, func(t *testing.T) {
			d, err := diff.ParseString(corpustest.Text(t, e))
			if err != nil {
				t.Fatal(err)
			}
			found := rules.Check(context.Background(), rules.Input{Diff: d})
			checkFindings(t, d, found)
			diffs[e.Source]++
			for _, f := range found {
				if f.Severity.Blocks() || testing.Verbose() {
					t.Logf("%s %s %s %s:%d %q: %s", e.Source, f.Severity, f.Rule, rules.Path(f), f.Place.StartLine, short(f.Evidence), f.Claim)
				}
				if e.Source != "real" {
					continue
				}
				if perRule[f.Rule] == nil {
					perRule[f.Rule] = map[prosecutor.Severity]int{}
				}
				perRule[f.Rule][f.Severity]++
			}
		})
	}
	var ids []string
	for id := range perRule {
		ids = append(ids, id)
	}
	sort.Strings(ids)
	var b strings.Builder
	for _, id := range ids {
		fmt.Fprintf(&b, "%-30s", id)
		for _, s := range prosecutor.Severities() {
			fmt.Fprintf(&b, " %s %d", s, perRule[id][s])
		}
		b.WriteByte('\n')
	}
	t.Logf("%v\n%s", diffs, b.String())
}

func short(s string) string {
	if len(s) > 110 {
		return s[:110]
	}
	return s
}

// checkFindings asserts what holds for every finding of every rule.
func checkFindings(t *testing.T, d *diff.Diff, found []prosecutor.Finding) {
	t.Helper()
	known := map[string]rules.Rule{}
	for _, r := range rules.All() {
		known[r.ID] = r
	}
	for _, f := range found {
		r, ok := known[f.Rule]
		if !ok {
			t.Fatalf("a finding of unknown rule %q", f.Rule)
		}
		if f.Source != prosecutor.FromEvidence || f.Origin != "static_rules" || f.Lens != r.Lens || f.Charge != r.Charge {
			t.Errorf("%s: source %q, origin %q, lens %q, charge %q", f.Rule, f.Source, f.Origin, f.Lens, f.Charge)
		}
		if f.Severity.Rank() == 0 || f.Severity != f.Claimed || f.Severity.Rank() > r.Severity.Rank() {
			t.Errorf("%s: severity %q, claimed %q, rule's %q", f.Rule, f.Severity, f.Claimed, r.Severity)
		}
		if strings.TrimSpace(f.Claim) == "" || f.ID != prosecutor.Identify(f) {
			t.Errorf("%s: claim %q, id %q", f.Rule, f.Claim, f.ID)
		}
		if f.Claim != rules.Redact(f.Claim) || f.Evidence != rules.Redact(f.Evidence) {
			t.Errorf("%s: claim or evidence is not redacted: %q, %q", f.Rule, f.Claim, f.Evidence)
		}
		if f.Anchor == nil {
			if f.Place.Status != prosecutor.NoFile || f.Place.StartLine != 0 {
				t.Errorf("%s: no anchor, but place %+v", f.Rule, f.Place)
			}
			continue
		}
		if got := d.Locate(*f.Anchor); !reflect.DeepEqual(got, f.Place) {
			t.Errorf("%s: located at %+v, but the finding says %+v (quote %.200q)", f.Rule, got, f.Place, f.Anchor.Quote)
		}
	}
}
