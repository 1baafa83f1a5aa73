package publish

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/prosecutor-bot/prosecutor/convergence"
	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/evidence/rules"
	"github.com/prosecutor-bot/prosecutor/prosecutor/panel"
	"github.com/prosecutor-bot/prosecutor/prosecutor/report"
)

// Title says a ruling in words: the title of its check run. evidence and lenses are those of the ruling, for the names of
// what is waited for. It is safe to show and at most 255 characters long.
func Title(r convergence.Ruling, evidence []prosecutor.Evidence, lenses []panel.LensResult) string {
	return cleanTitle(title(r, evidence, lenses) + staticOnly(r))
}

func staticOnly(r convergence.Ruling) string {
	if r.Outcome == convergence.Decided && r.StaticOnly {
		return " (static rules only)"
	}
	return ""
}

func title(r convergence.Ruling, evidence []prosecutor.Evidence, lenses []panel.LensResult) string {
	switch {
	case r.Outcome == convergence.Decided && r.Decision == convergence.Advance:
		text := "Advance: " + count(len(r.LensesRun), "lens")
		if r.Radius != "" {
			text += fmt.Sprintf(", %s radius", r.Radius)
		}
		if len(r.Degraded) > 0 {
			text += ", degraded: " + list(r.Degraded) + " did not judge"
		}
		return text
	case r.Outcome == convergence.Decided && r.Decision == convergence.LoopBack:
		return "Blocked: " + blocked(r)
	case r.Outcome == convergence.Decided:
		return "Escalated: " + escalated(r)
	case r.Outcome == convergence.Parked:
		return "Waiting for " + waitsFor(r, evidence)
	case r.Outcome == convergence.Held:
		if text := exhausted(r, lenses); text != "" {
			return text
		}
	case r.Outcome == convergence.NotJudged && r.Reason == convergence.Overridden:
		// Titles are plain text and notify nobody.
		if o := r.Ledger.Override; o != nil {
			return fmt.Sprintf("Overridden by @%s: %s", strings.TrimPrefix(o.By, "@"), o.Reason)
		}
	}
	return r.Title()
}

// blocked is what blocks, by severity, or why nothing can be counted.
func blocked(r convergence.Ruling) string {
	var text string
	switch r.Reason {
	case convergence.NoChange:
		text = "no committed change"
	case convergence.TooLarge:
		text = "too large to judge, split the change"
	default:
		text = tally(r.Blocking)
	}
	if text == "" {
		switch {
		case len(r.RedSources) > 0:
			text = list(r.RedSources) + " cannot be shown to be green"
		case len(r.Vetoes) > 0:
			text = "vetoed by " + list(r.Vetoes)
		default:
			text = words(string(r.Reason))
		}
	}
	if r.NotConverging {
		text += "; not converging"
	}
	return text
}

func escalated(r convergence.Ruling) string {
	var parts []string
	for _, c := range r.Causes {
		switch c {
		case convergence.Oscillation:
			parts = append(parts, "the same findings two laps running")
		case convergence.LapBudget:
			parts = append(parts, fmt.Sprintf("lap budget %d/%d", r.BudgetLaps, r.MaxLaps))
		default:
			parts = append(parts, words(string(c)))
		}
	}
	if text := tally(r.Blocking); text != "" {
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

// tally counts findings by severity, in words; empty for none.
func tally(findings []prosecutor.Finding) string {
	var parts []string
	for _, s := range prosecutor.Severities() {
		n := 0
		for _, f := range findings {
			if f.Severity == s {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	return strings.Join(parts, ", ")
}

// waitsFor names the tools and checks that are waited for, where the evidence names them, else the sources.
func waitsFor(r convergence.Ruling, evidence []prosecutor.Evidence) string {
	var names []string
	for _, source := range r.WaitsFor {
		name := words(string(source))
		for _, e := range evidence {
			if e.Source != source || e.State != prosecutor.Pending {
				continue
			}
			if rest, ok := strings.CutPrefix(e.Detail, "waiting for "); ok {
				name = strings.TrimPrefix(rest, "the analysis of this head by ")
			}
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

// exhausted names the provider whose credit or quota holds the case (semantics 7), or is empty.
func exhausted(r convergence.Ruling, lenses []panel.LensResult) string {
	var names []string
	for _, l := range lenses {
		if l.ErrorKind != prosecutor.Quota {
			continue
		}
		name := l.Judge.Provider
		for _, a := range l.Attempts {
			if a.ErrorKind == prosecutor.Quota {
				name = a.Judge.Provider
			}
		}
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	text := "Not judged: " + strings.Join(names, ", ") + " out of credit"
	if !r.RetryAt.IsZero() {
		format := "15:04 UTC"
		if r.RetryAt.UTC().Format(time.DateOnly) != r.At.UTC().Format(time.DateOnly) {
			format = "2006-01-02 15:04 UTC"
		}
		text += " until " + r.RetryAt.UTC().Format(format)
	}
	return text
}

// cleanTitle makes a title safe: one line, no secrets, no hidden characters, 255 characters at most.
func cleanTitle(s string) string {
	if s = report.OneLine(rules.Redact(s), maxTitle); s == "" {
		return "No title"
	}
	return clip(s, 4*maxTitle)
}

// sentence begins with a capital letter.
func sentence(s string) string {
	for i, r := range s {
		return string(unicode.ToUpper(r)) + s[i+len(string(r)):]
	}
	return s
}

func list[T ~string](items []T) string {
	out := make([]string, len(items))
	for i, item := range items {
		out[i] = words(string(item))
	}
	return strings.Join(out, ", ")
}
