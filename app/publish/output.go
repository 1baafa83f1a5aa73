package publish

import (
	"fmt"
	"strings"

	"github.com/google/go-github/v62/github"

	"github.com/prosecutor-bot/prosecutor/convergence"
	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/report"
)

// Bounds of the parts of a summary, in bytes, so that the table of findings has the larger part of it.
const (
	maxPart    = 8 << 10
	maxUnseen  = 60 // files
	maxClaim   = 200
	countSpace = 400 // the sentence that counts the rungs, and the one about rows that do not fit
)

// verdict is the decision in a word, as a heading.
func (p *Publication) verdict() string {
	switch {
	case p.judged():
		return string(p.Decision)
	case p.Conclusion == convergence.Neutral:
		return "Not judged"
	case p.Conclusion == convergence.Cancelled:
		return "Cancelled"
	case p.CheckStatus == convergence.CheckInProgress:
		return "Not decided yet"
	case p.Decision != "":
		return string(p.Decision) + ", not judged"
	default:
		return "Not judged"
	}
}

// summary is the summary of the check run: decision, radius and why, evidence, lenses, findings, what was not seen, ledger.
// Findings whose row has no room any more are counted; their groups are moved to that rung.
func (p *Publication) summary(t Target, all []*group, notes []string) string {
	d := p.Result
	var head strings.Builder
	fmt.Fprintf(&head, "## %s\n\n", p.verdict())
	if d.StaticRulesOnly {
		head.WriteString("**Static rules only**: no model judged this change.\n\n")
	}
	fmt.Fprintf(&head, "%s\n\n", prose(p.Title, maxTitle))
	fmt.Fprintf(&head, "Reviewed head: `%s`", safe(t.Head))
	if d.Case.Base != "" {
		fmt.Fprintf(&head, ", base: `%s`", short(safe(d.Case.Base)))
	}
	if d.Case.PolicySource != "" {
		fmt.Fprintf(&head, ", policy: %s", prose(d.Case.PolicySource, 200))
	}
	head.WriteString("\n\n")
	head.WriteString(p.nextStep())
	// What is short is in the title already.
	if detail := strings.TrimSpace(p.Detail); strings.Contains(detail, "\n") || len(detail) > 120 {
		head.WriteString(part("", fenced(p.Detail, 60)))
	}
	head.WriteString(part("", notice(append(append([]string{}, notes...), d.Notes...))))
	head.WriteString(part("", radius(d)))
	head.WriteString(part("", evidenceTable(d)))
	head.WriteString(part("", lensTable(d)))

	var tail strings.Builder
	tail.WriteString(part("### Not read by the judges\n\n", unseen(d)))
	tail.WriteString(part("", builder(d)))
	tail.WriteString(part("", p.ledger()))

	table, full := p.findingsTable(all, maxOutput-head.Len()-tail.Len()-countSpace)
	counts := ""
	if len(d.Findings) > 0 {
		counts = rungCounts(all) + "\n\n"
	}
	if full {
		counts = "_Cut: the table has no room for the findings that are only counted._\n\n" + counts
	}
	return head.String() + table + counts + tail.String()
}

// nextStep is what to do now.
func (p *Publication) nextStep() string {
	if p.Next != "" {
		return paragraphs(p.Next, 600)
	}
	return paragraphs(p.Result.Next, 600)
}

// part is a part of the summary, bounded.
func part(heading, body string) string {
	if body == "" {
		return ""
	}
	return heading + Cut(body, maxPart, "Cut: there is more of this.") + "\n"
}

func notice(notes []string) string {
	var b strings.Builder
	for _, n := range notes {
		fmt.Fprintf(&b, "> Note: %s\n\n", prose(n, 400))
	}
	return b.String()
}

func radius(d *report.Document) string {
	if d.BlastRadius.Level == "" {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "**Blast radius: %s**", safe(d.BlastRadius.Level))
	if d.BlastRadius.SelfModifying {
		b.WriteString(" (changes the gate itself)")
	}
	fmt.Fprintf(&b, " · %s, %s changed\n", count(d.BlastRadius.Files, "file"), count(d.BlastRadius.ChangedLines, "line"))
	for _, why := range d.BlastRadius.Why {
		fmt.Fprintf(&b, "- %s\n", prose(why, 240))
	}
	return b.String()
}

func evidenceTable(d *report.Document) string {
	if len(d.Evidence) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("| evidence | state | detail |\n|---|---|---|\n")
	for _, e := range d.Evidence {
		state := words(safe(e.State))
		if e.CountsAsRed && e.State != string(prosecutor.Red) {
			state += ", counts as red"
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", words(safe(e.Source)), state, prose(e.Detail, 300))
	}
	return b.String()
}

func lensTable(d *report.Document) string {
	if len(d.Lenses) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("| lens | verdict | judge | family | passes |\n|---|---|---|---|---|\n")
	for _, l := range d.Lenses {
		verdict := safe(l.Verdict)
		if verdict == "" {
			verdict = "none"
		}
		if l.ErrorKind != "" {
			verdict += " (" + words(safe(l.ErrorKind)) + ")"
		}
		if l.Degraded {
			verdict += ", degraded"
		}
		if l.Refuted {
			verdict += ", refuted"
		}
		family := prose(l.Family, 40)
		if l.SameFamily {
			family += ", the builder's own"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %d |\n", safe(l.Lens), verdict, prose(l.Judge, 60), family, len(l.Passes))
	}
	return b.String()
}

func unseen(d *report.Document) string {
	var b strings.Builder
	for i, n := range d.NotRead {
		if i == maxUnseen {
			fmt.Fprintf(&b, "- and %s more\n", count(len(d.NotRead)-i, "file"))
			break
		}
		fmt.Fprintf(&b, "- %s: %s, %s\n", code(n.Path, 200, false), count(n.Lines, "changed line"), prose(n.Reason, 200))
	}
	return b.String()
}

func builder(d *report.Document) string {
	if len(d.Builder.Families) == 0 && len(d.Builder.Found) == 0 {
		return ""
	}
	signs := make([]string, 0, len(d.Builder.Found))
	for _, s := range d.Builder.Found {
		signs = append(signs, fmt.Sprintf("%s, from %s: %s", prose(s.Family, 40), prose(words(s.From), 40), prose(s.Value, 120)))
		if len(signs) == 10 {
			break
		}
	}
	return "Builder: " + strings.Join(signs, "; ") + ".\n"
}

func (p *Publication) ledger() string {
	l := p.Result.Ledger
	if l == nil {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Ledger: lap %d, %d of %d since the last ADVANCE, epoch %d", l.Laps, l.BudgetLaps, l.MaxLaps, l.Epoch)
	if l.Converged {
		b.WriteString(", converged")
	}
	if l.NotConverging {
		b.WriteString(", **not converging**")
	}
	b.WriteString(".\n")
	for i, c := range l.OpenConcerns {
		if i == 20 {
			fmt.Fprintf(&b, "- and %d more\n", len(l.OpenConcerns)-i)
			break
		}
		fmt.Fprintf(&b, "- open concern: %s\n", prose(c, 200))
	}
	return b.String()
}

// findingsTable is the table of the findings, as far as there is room. Rows of findings that stand nowhere else go first,
// then the others in order. It reports whether rows of such findings were left out.
func (p *Publication) findingsTable(all []*group, room int) (table string, full bool) {
	if len(all) == 0 {
		return "", false
	}
	head := fmt.Sprintf("### Findings (%s)\n\n| | severity | charge | where | claim | seen | id |\n|---|---|---|---|---|---|---|\n",
		report.Tally(p.Result))
	room -= len(head) + 1
	for _, g := range all {
		if g.rung == onlyNumber {
			g.rung = tabled // asked again
		}
	}
	rows := make([]string, len(all))
	shown := make([]bool, len(all))
	for i, g := range all {
		rows[i] = p.row(g)
	}
	for _, only := range []bool{true, false} {
		for i, g := range all {
			if (g.rung == tabled) != only {
				continue
			}
			if len(rows[i]) <= room {
				room -= len(rows[i])
				shown[i] = true
				continue
			}
			if only {
				g.rung, full = onlyNumber, true
			}
		}
	}
	var b strings.Builder
	b.WriteString(head)
	for i := range all {
		if shown[i] {
			b.WriteString(rows[i])
		}
	}
	b.WriteString("\n")
	return b.String(), full
}

// row is a row of the table for each finding of a group.
func (p *Publication) row(g *group) string {
	var b strings.Builder
	for _, f := range g.findings {
		flag := ""
		if p.blocks(f) {
			flag = "⛔"
		}
		claim := prose(firstLine(f.Claim), maxClaim)
		if d, ok := p.Dismissed[f.ID]; ok {
			flag = "dismissed"
			claim += fmt.Sprintf(" (dismissed by %s: %s)", prose(d.By, 40), prose(d.Reason, 200))
		}
		if f.Standing {
			claim += " (of an earlier lap, and still there)"
		}
		where := code(f.Where(), 160, true)
		if where == "" {
			where = "the change as a whole"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | `%s` |\n", flag, safe(f.Severity), safe(f.Charge), where, claim, seen(g.rung), safe(f.ID))
	}
	return b.String()
}

// seen says where else a finding stands.
func seen(r rung) string {
	switch r {
	case onLine:
		return "on its line"
	case onThread:
		return "in its thread"
	case annotated:
		return "annotation"
	default:
		return "here"
	}
}

func firstLine(s string) string {
	for _, l := range strings.SplitN(clip(s, 8<<10), "\n", 50) {
		if strings.TrimSpace(l) != "" {
			return l
		}
	}
	return ""
}

// rungCounts counts the findings on each rung, in words.
func rungCounts(all []*group) string {
	n := rungs(all)
	var parts []string
	for _, r := range []struct {
		rung rung
		text string
	}{
		{onLine, "on the lines they accuse"},
		{onThread, "in threads that are there already"},
		{annotated, "as annotations"},
		{tabled, "in this table only"},
		{onlyNumber, "only counted"},
	} {
		if n[string(r.rung)] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[string(r.rung)], r.text))
		}
	}
	return "Shown: " + strings.Join(parts, ", ") + "."
}

// text is the text of the check run: each finding in full, with the command that answers it, and those that block as JSON.
func (p *Publication) text(t Target, all []*group) string {
	const closing = 200 // the sentence about what is not in full
	if len(all) == 0 {
		return ""
	}
	section := p.handover(t, maxSection, asSection)
	room := maxOutput - closing - len(section)
	var b strings.Builder
	fmt.Fprintf(&b, "Findings on `%s`.\n\n", safe(t.Head))
	for i, g := range all {
		block := Cut(p.detail(g), room-b.Len(), "Cut: this finding is longer.")
		// A finding that is cut to less than a paragraph says nothing.
		if room-b.Len() < 1000 && len(block) >= room-b.Len()-200 {
			fmt.Fprintf(&b, "_Cut: %s not in full here._\n\n", count(len(all)-i, "more finding"))
			break
		}
		b.WriteString(block)
	}
	return b.String() + section
}

func (p *Publication) detail(g *group) string {
	var b strings.Builder
	for _, f := range g.findings {
		where := code(f.Where(), 200, false)
		if where == "" {
			where = "the change as a whole"
		}
		fmt.Fprintf(&b, "#### %s · %s · %s\n\n%s", safe(f.Severity), safe(f.Charge), where, paragraphs(f.Claim, 4000))
		if strings.TrimSpace(f.Quote) != "" {
			b.WriteString(excerpt(f.Quote) + "\n")
		}
		b.WriteString(evidenceOf(f))
		if strings.TrimSpace(f.Suggestion) != "" {
			b.WriteString("Suggested instead:\n\n" + excerpt(f.Suggestion) + "\n")
		}
		fmt.Fprintf(&b, "By %s. %s\n\n", by(f), p.answer(f))
	}
	return b.String()
}

// answer is how a finding can be answered other than by a push.
func (p *Publication) answer(f report.Finding) string {
	id := safe(f.ID)
	if d, ok := p.Dismissed[f.ID]; ok {
		return fmt.Sprintf("Dismissed by %s: %s", prose(d.By, 40), prose(d.Reason, 400))
	}
	switch prosecutor.FindingSource(f.Source) {
	case prosecutor.FromModel:
		return fmt.Sprintf("To dismiss it: `/prosecute dismiss %s <reason>`", id)
	case prosecutor.FromEvidence:
		how := "It is not dismissed here"
		switch prosecutor.EvidenceSource(f.Origin) {
		case prosecutor.CodeScanning:
			how = "An alert is dismissed in code scanning"
		case prosecutor.StaticRules:
			how = "What is meant is accepted on the base branch (`static_rules.accepted` in the policy)"
		case prosecutor.HollowTest:
			how = "An equivalent mutant is accepted on the base branch (`hollow_test.accepted` in the policy)"
		case prosecutor.CIChecks:
			how = "A check is repaired where it runs"
		}
		return fmt.Sprintf("%s; a person may overrule the gate with `/prosecute override <reason>`. Finding `%s`.", how, id)
	default:
		return fmt.Sprintf("A person may overrule the gate with `/prosecute override <reason>`. Finding `%s`.", id)
	}
}

// The identifiers of the check run's buttons. They are 20 characters at most; a finding's identity has 12.
const (
	ActionRunAgain = "run_again"
	ActionExplain  = "explain"
	ActionDismiss  = "dismiss" // on GitHub followed by a colon and the finding's identity
)

// Action takes a button's identifier apart: ActionRunAgain, ActionExplain, or ActionDismiss with the finding's identity. The
// action of an identifier that no button of ours has is empty.
func Action(identifier string) (action, findingID string) {
	switch id, ok := strings.CutPrefix(identifier, ActionDismiss+":"); {
	case ok && id != "":
		return ActionDismiss, id
	case identifier == ActionRunAgain, identifier == ActionExplain:
		return identifier, ""
	}
	return "", ""
}

func runAgain() *github.CheckRunAction {
	return &github.CheckRunAction{Label: "Run again", Description: "Judge this head once more", Identifier: ActionRunAgain}
}

// actions are the buttons of a concluded check run: at most three. Dismiss is there only when exactly one finding blocks
// and a person may dismiss it, since a button can carry no choice.
func (p *Publication) actions() []*github.CheckRunAction {
	if p.Conclusion == convergence.Cancelled {
		return nil
	}
	out := []*github.CheckRunAction{
		runAgain(),
		{Label: "Explain", Description: "Say which rules led to this decision", Identifier: ActionExplain},
	}
	var blocking []report.Finding
	for _, f := range p.Result.Findings {
		if p.blocks(f) {
			blocking = append(blocking, f)
		}
	}
	if len(blocking) == 1 && prosecutor.FindingSource(blocking[0].Source) == prosecutor.FromModel {
		id := ActionDismiss + ":" + safe(blocking[0].ID)
		if action, finding := Action(id); action == ActionDismiss && finding == blocking[0].ID && len(id) <= 20 {
			out = append(out, &github.CheckRunAction{
				Label: "Dismiss", Description: "Dismiss " + finding + " without a reason", Identifier: id,
			})
		}
	}
	return out
}
