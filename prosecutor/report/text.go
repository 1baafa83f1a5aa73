package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// TextOptions are the choices of the text renderer.
type TextOptions struct {
	Color   bool // ANSI colours
	Explain bool // every rule that fired, every judge that was passed over, every pass
	Width   int  // columns to wrap prose at; 0 means 100
}

// maxQuoteLines is how many lines of a quote a terminal shows.
const maxQuoteLines = 12

// Text writes the document for a person at a terminal: the decision and its reason first.
func Text(w io.Writer, d *Document, o TextOptions) error {
	if o.Width <= 0 {
		o.Width = 100
	}
	p := &textPrinter{o: o}
	p.headline(d)
	p.radius(d)
	p.evidence(d)
	p.lenses(d)
	p.findings(d)
	p.notRead(d)
	p.ledger(d)
	p.explain(d)
	p.closing(d)
	if _, err := w.Write(p.b.Bytes()); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}

type textPrinter struct {
	o TextOptions
	b bytes.Buffer
}

// style is an ANSI style.
type style string

const (
	bold    style = "1"
	dim     style = "2"
	red     style = "31"
	green   style = "32"
	yellow  style = "33"
	cyan    style = "36"
	boldRed style = "1;31"
	onRed   style = "1;97;41"
	onGreen style = "1;97;42"
	onAmber style = "1;30;43"
)

func (p *textPrinter) paint(s style, text string) string {
	if !p.o.Color || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

func (p *textPrinter) line(format string, args ...any) { fmt.Fprintf(&p.b, format+"\n", args...) }

// wrapped prints prose with an indent on every line.
func (p *textPrinter) wrapped(indent, text string, s style) {
	for _, par := range strings.Split(Printable(text), "\n") {
		for _, l := range wrap(par, p.o.Width-len(indent)) {
			p.line("%s%s", indent, p.paint(s, l))
		}
	}
}

func (p *textPrinter) section(title string) { p.line("\n%s", p.paint(bold, title)) }

func (p *textPrinter) headline(d *Document) {
	word, s := d.Verdict(), onAmber
	switch word {
	case "ADVANCE":
		s = onGreen
	case "LOOP_BACK":
		s = onRed
	}
	label := word
	if p.o.Color {
		label = " " + word + " "
	}
	only := ""
	if d.StaticRulesOnly {
		only = "  " + p.paint(dim, "(static rules only: no model judged)")
	}
	p.line("%s  %s%s", p.paint(s, label), p.paint(bold, OneLine(d.Summary, 0)), only)
	branch := d.Case.Branch
	if branch == "" {
		branch = "detached HEAD"
	}
	p.line("%s", p.paint(dim, fmt.Sprintf("%s..%s  %s → %s  ·  %s, %s changed",
		OneLine(d.Case.BaseRef, 60), OneLine(branch, 80), shortSHA(d.Case.MergeBase), shortSHA(d.Case.Head),
		count(d.BlastRadius.Files, "file"), count(d.BlastRadius.ChangedLines, "line"))))
	for _, n := range d.Notes {
		p.wrapped("", "note: "+n, yellow)
	}
}

// Verdict is the one word a reader looks for: the decision, or why there is none. Whatever was not judged never reads
// like a decision.
func (d *Document) Verdict() string {
	if d.Outcome == "decided" && d.Decision != nil {
		return *d.Decision
	}
	switch d.Outcome {
	case "parked":
		return "WAITING"
	case "held":
		return "ON HOLD"
	case "errored":
		return "ERROR"
	}
	if d.Decision != nil {
		return *d.Decision + " (NOT JUDGED)"
	}
	return "NOT JUDGED"
}

func (p *textPrinter) radius(d *Document) {
	if d.BlastRadius.Level == "" {
		return
	}
	s := green
	switch d.BlastRadius.Level {
	case "high":
		s = boldRed
	case "medium":
		s = yellow
	}
	self := ""
	if d.BlastRadius.SelfModifying {
		self = "  " + p.paint(boldRed, "changes the gate itself")
	}
	p.line("\n%s  %s%s", p.paint(bold, "Blast radius"), p.paint(s, strings.ToUpper(d.BlastRadius.Level)), self)
	for _, w := range d.BlastRadius.Why {
		p.wrapped("  ", OneLine(w, 200), dim)
	}
}

func (p *textPrinter) evidence(d *Document) {
	if len(d.Evidence) == 0 {
		return
	}
	p.section("Evidence")
	for _, e := range d.Evidence {
		mark, s := "·", dim
		switch {
		case e.State == "clean":
			mark, s = "✓", green
		case e.State == "red" || e.CountsAsRed:
			mark, s = "✗", red
		case e.State == "pending":
			mark, s = "…", yellow
		case e.State == "unavailable":
			mark, s = "?", yellow
		}
		detail := OneLine(e.Detail, 120)
		if n := len(e.Findings); n > 0 && detail == "" {
			detail = count(n, "finding")
		}
		p.line("  %s %s %s %s", p.paint(s, mark), pad(words(e.Source), 14), p.paint(s, pad(words(e.State), 15)), p.paint(dim, detail))
	}
}

func (p *textPrinter) lenses(d *Document) {
	if len(d.Lenses) == 0 {
		return
	}
	p.section("Judges")
	for _, l := range d.Lenses {
		mark, s := "✗", red
		switch l.Verdict {
		case "ship":
			mark, s = "✓", green
		case "error":
			mark, s = "!", yellow
		}
		var ms int64
		var in, out int
		var cost float64
		for _, ps := range l.Passes {
			ms += ps.LatencyMS
			in, out, cost = in+ps.TokensIn, out+ps.TokensOut, cost+ps.CostUSD
		}
		facts := []string{l.Judge}
		if l.Judge == "" {
			facts = []string{"no judge"}
		}
		if l.Family != "" && l.Family != l.Judge {
			facts[0] += " (" + l.Family + ")"
		}
		if n := len(l.Passes); n > 1 {
			facts = append(facts, count(n, "pass"))
		}
		facts = append(facts, latency(ms))
		if in+out > 0 {
			facts = append(facts, fmt.Sprintf("%d+%d tokens", in, out))
		}
		if cost > 0 {
			facts = append(facts, fmt.Sprintf("$%.4f", cost))
		}
		for _, f := range []struct {
			on   bool
			name string
		}{{l.Degraded, "degraded"}, {l.Refuted, "refuted"}, {l.SameFamily, "same family as the builder"}} {
			if f.on {
				facts = append(facts, f.name)
			}
		}
		p.line("  %s %s %s %s", p.paint(s, mark), pad(l.Lens, 14), p.paint(s, pad(l.Verdict, 15)), p.paint(dim, OneLine(strings.Join(facts, " · "), 160)))
		if l.Error != "" {
			p.wrapped("      ", OneLine(l.Error, 300), yellow)
		}
		if p.o.Explain {
			for _, sk := range l.Skipped {
				p.line("      %s", p.paint(dim, "passed over "+OneLine(sk.Judge, 40)+": "+words(sk.Why)))
			}
			for i, ps := range l.Passes {
				kind := ""
				if ps.ErrorKind != "" {
					kind = " (" + words(ps.ErrorKind) + ")"
				}
				p.line("      %s", p.paint(dim, fmt.Sprintf("pass %d: %s%s, %s, %s", i+1, ps.Verdict, kind, count(ps.Calls, "call"), latency(ps.LatencyMS))))
			}
		}
	}
}

func (p *textPrinter) findings(d *Document) {
	if len(d.Findings) == 0 {
		return
	}
	p.section(fmt.Sprintf("Findings (%s)", Tally(d)))
	for i, f := range d.Findings {
		if i > 0 {
			p.line("")
		}
		s := dim
		switch f.Severity {
		case "critical", "high":
			s = boldRed
		case "medium":
			s = yellow
		}
		who := f.Lens
		if f.Rule != "" {
			who = f.Rule
		} else if f.Origin != "" && f.Source == "model" {
			who = f.Origin + ", " + f.Lens
		}
		place := OneLine(f.Where(), 120)
		if place == "" {
			place = "the change as a whole"
		}
		var marks []string
		if f.Standing {
			marks = append(marks, "standing since an earlier lap")
		}
		if f.Anchor == "unanchored" {
			marks = append(marks, "the quoted code is not in the diff: capped at medium")
		}
		if f.Anchor == "ambiguous" {
			marks = append(marks, "the quoted code stands there more than once")
		}
		p.line("  %s %s  %s  %s", p.paint(s, pad(strings.ToUpper(f.Severity), 8)), p.paint(cyan, place), f.Charge, p.paint(dim, "["+f.ID+"] "+OneLine(who, 60)))
		for _, m := range marks {
			p.line("           %s", p.paint(yellow, m))
		}
		p.wrapped("           ", f.Claim, "0")
		p.quote(f)
		if f.Evidence != "" {
			p.wrapped("           ", "evidence: "+OneLine(f.Evidence, 600), dim)
		}
		if f.Suggestion != "" {
			p.wrapped("           ", "suggested: "+OneLine(f.Suggestion, 300), dim)
		}
	}
}

func (p *textPrinter) quote(f Finding) {
	if strings.TrimSpace(f.Quote) == "" {
		return
	}
	lines := strings.Split(strings.TrimSuffix(f.Quote, "\n"), "\n")
	sign := " "
	if f.Anchored && f.Side == "LEFT" {
		sign = "-"
	}
	for i, l := range lines {
		if i == maxQuoteLines {
			p.line("           %s", p.paint(dim, fmt.Sprintf("… and %s", count(len(lines)-i, "more line"))))
			return
		}
		number := "    "
		if f.Anchored {
			number = fmt.Sprintf("%4d", f.StartLine+i)
		}
		l = cut(Printable(clip(strings.TrimSuffix(l, "\r"), 4*maxShownLine)), 160)
		p.line("           %s %s", p.paint(dim, number+" "+sign+" │"), l)
	}
}

// clip bounds the bytes of one line before it is escaped.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "?") + "…"
}

func (p *textPrinter) notRead(d *Document) {
	if len(d.NotRead) == 0 {
		return
	}
	p.section("Not read by the judges")
	for i, n := range d.NotRead {
		if i == 10 && !p.o.Explain {
			p.line("  %s", p.paint(dim, fmt.Sprintf("… and %s (--explain shows all)", count(len(d.NotRead)-i, "more file"))))
			break
		}
		p.line("  %s %s", OneLine(n.Path, 120), p.paint(dim, fmt.Sprintf("%s, %s", count(n.Lines, "changed line"), OneLine(n.Reason, 80))))
	}
}

func (p *textPrinter) ledger(d *Document) {
	l := d.Ledger
	if l == nil {
		return
	}
	facts := []string{fmt.Sprintf("lap %d", l.Laps), fmt.Sprintf("%d of %d laps since the last ADVANCE", l.BudgetLaps, l.MaxLaps), fmt.Sprintf("epoch %d", l.Epoch)}
	if l.Converged {
		facts = append(facts, "converged")
	}
	if l.Escalated {
		facts = append(facts, "escalated to humans")
	}
	if l.NotConverging {
		facts = append(facts, "not converging: more blocking findings on each of three laps")
	}
	p.line("\n%s  %s", p.paint(bold, "Ledger"), strings.Join(facts, " · "))
	for _, c := range l.OpenConcerns {
		p.wrapped("  ", "open: "+OneLine(c, 200), yellow)
	}
}

func (p *textPrinter) explain(d *Document) {
	if !p.o.Explain || len(d.Explain) == 0 {
		return
	}
	p.section("Every rule that fired")
	for _, s := range d.Explain {
		p.line("  %s %s", p.paint(dim, pad(s.Rule, 16)), OneLine(s.Detail, 200))
	}
}

func (p *textPrinter) closing(d *Document) {
	if d.Next != "" {
		p.line("")
		p.wrapped("", "→ "+d.Next, bold)
	}
}

// Where is the finding's place as path:line or path:from-to, or the path alone, or nothing.
func (f Finding) Where() string {
	switch {
	case f.Path == "" || !f.Anchored || f.StartLine == 0:
		return f.Path
	case f.EndLine > f.StartLine:
		return fmt.Sprintf("%s:%d-%d", f.Path, f.StartLine, f.EndLine)
	default:
		return fmt.Sprintf("%s:%d", f.Path, f.StartLine)
	}
}

// Tally counts the findings by severity in words: "1 critical, 2 high".
func Tally(d *Document) string {
	n := d.Counts()
	var parts []string
	for _, s := range []string{"critical", "high", "medium", "low"} {
		if n[s] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[s], s))
		}
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if strings.HasSuffix(noun, "s") {
		noun += "e"
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func latency(ms int64) string {
	if ms < 1000 {
		return fmt.Sprintf("%d ms", ms)
	}
	return fmt.Sprintf("%.1f s", float64(ms)/1000)
}

// words turns an identifier of the JSON into words.
func words(s string) string { return strings.ReplaceAll(s, "_", " ") }

func pad(s string, n int) string {
	if k := utf8.RuneCountInString(s); k < n {
		return s + strings.Repeat(" ", n-k)
	}
	return s
}

func shortSHA(s string) string {
	if len(s) > 10 {
		return s[:10]
	}
	return s
}

// wrap breaks text at spaces into lines of at most width characters; a longer word stands alone.
func wrap(text string, width int) []string {
	if width < 20 {
		width = 20
	}
	var lines []string
	line, n := "", 0
	for _, word := range strings.Fields(text) {
		k := utf8.RuneCountInString(word)
		if n > 0 && n+1+k > width {
			lines = append(lines, line)
			line, n = "", 0
		}
		if n > 0 {
			line, n = line+" ", n+1
		}
		line, n = line+word, n+k
	}
	return append(lines, line)
}
