// Package charter says what a judge is told: its role, the charges and severities, the guidance of its lens, the case
// between markers that nobody who wrote the case could know, and the form of the answer (semantics 2).
//
// A prompt has two halves. The system prompt is ours alone and depends on nothing but the lens. The user message holds
// the case. Everything in it that somebody else wrote stands between markers that carry a random word, the nonce, which
// is chosen after the content and does not occur in it: no text can close its own fence.
//
// Nothing is cut, folded or repaired: the prompt holds the text of Brief.Text once, byte for byte. Bytes that are not
// valid UTF-8 cannot travel in JSON; an adapter that speaks JSON sends U+FFFD for each of them, one for one, and the
// prompt says so. Package contract undoes that when it looks for a quote.
//
// Everything in this package is pure and safe for concurrent use.
package charter

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/diff"
	"github.com/prosecutor-bot/prosecutor/prosecutor/judge"
)

// MaxCodePoints is the length of the longest diff that is judged, in Unicode code points, invalid bytes counting one
// each (semantics 2, row 2).
const MaxCodePoints = 120_000

// Brief is a case as it is put to judges. It is read only once it is complete.
type Brief struct {
	Diff     *diff.Diff            // everything, excluded files too; findings are located in it
	Text     string                // what judges read of the diff, from Select
	Excluded []Excluded            // what Text leaves out
	Spec     string                // title, body and linked issues; blank when there is none
	Scope    []string              // what the change says it is limited to
	Evidence []prosecutor.Evidence // with its states; sources that are not configured are absent
}

// Excluded is a file that judges do not read.
type Excluded struct {
	Path   string
	Lines  int    // changed lines
	Reason string // why it is left out, such as "lock file"
}

// Request is the opening request of a fresh conversation under one lens. The nonce is used as it is when it is 8 to 64
// ASCII letters, digits, '-' or '_' and occurs nowhere in the case; otherwise another word is derived from it, so that
// no nonce, however badly chosen, gives a fence that the case can close.
func (b *Brief) Request(lens prosecutor.Lens, nonce string) judge.Request {
	return b.request(lens, systemPrompt(lens), b.casePrompt(lens), StrictSchema(), nonce)
}

// PromptHash identifies what Request tells a judge: the SHA-256, in hexadecimal, of the system prompt, a zero byte, and
// the user message with the nonce replaced by a fixed word (semantics 12). Equal cases have equal hashes. The markers
// state the length of what they hold, so that no case can imitate the prompt of another.
func (b *Brief) PromptHash(lens prosecutor.Lens) string {
	return hashPrompt(systemPrompt(lens), b.casePrompt(lens))
}

// Fits reports whether the nonce can mark this case as it is: whether Request would not derive another one from it.
func (b *Brief) Fits(nonce string) bool { return fits(nonce, b.casePrompt("")) }

func (b *Brief) request(lens prosecutor.Lens, system string, p prompt, schema []byte, nonce string) judge.Request {
	return judge.Request{
		Lens:     lens,
		System:   system,
		Messages: []judge.Message{{Role: judge.User, Text: p.render(usableNonce(nonce, p))}},
		Schema:   schema,
		Material: &judge.Material{Diff: b.Diff, Spec: b.Spec, Evidence: b.Evidence},
	}
}

func hashPrompt(system string, p prompt) string {
	sum := sha256.Sum256([]byte(system + "\x00" + p.render(hashNonce)))
	return hex.EncodeToString(sum[:])
}

// casePrompt is the user message of a prosecution.
func (b *Brief) casePrompt(lens prosecutor.Lens) prompt {
	p := prompt{say(introduction)}
	p = append(p, b.specPrompt(lens)...)
	if len(b.Scope) > 0 {
		p = append(p, say("\n# Declared scope\n\nWhat the change says it is limited to. Work outside of it is a `scope` matter.\n\n"),
			fenced("scope", list(b.Scope)))
	}
	p = append(p, b.evidencePrompt()...)
	p = append(p, b.excludedPrompt()...)
	p = append(p, b.diffPrompt()...)
	return append(p, say("\nThe material ends here. Prosecute the change under your lens and answer with the JSON object alone.\n"))
}

func (b *Brief) specPrompt(lens prosecutor.Lens) prompt {
	if strings.TrimSpace(b.Spec) == "" {
		text := "\n# Spec\n\nThere is no spec text: no title, no description and no linked issue. What the change was meant to do is unknown, " +
			"so do not charge `spec` against a requirement that you would have to invent. "
		if lens == prosecutor.Spec {
			text += "Under your lens the charge `scope` remains: say what the diff itself shows not to belong together or not to belong here.\n"
		} else {
			text += "`scope` may still be charged.\n"
		}
		return prompt{say(text)}
	}
	return prompt{
		say("\n# Spec\n\nWhat the change was asked to do, as its author and the linked issues tell it.\n\n"),
		fenced("spec", b.Spec),
	}
}

func (b *Brief) evidencePrompt() prompt {
	if len(b.Evidence) == 0 {
		return prompt{say("\n# Evidence\n\nNo deterministic evidence was collected for this case. That is not itself a finding.\n")}
	}
	var states, details strings.Builder
	states.WriteString("\n# Evidence\n\nFacts that were measured without a model. The states are the gate's own words:\n\n")
	for _, e := range b.Evidence {
		fmt.Fprintf(&states, "- %s: %s\n", e.Source, e.State)
		writeDetails(&details, e)
	}
	states.WriteByte('\n')
	for _, e := range b.Evidence {
		states.WriteString(stateNote(e))
	}
	p := prompt{say(states.String())}
	if details.Len() > 0 {
		p = append(p, say("\nDetails, with quoted strings in Go syntax:\n\n"), fenced("evidence", details.String()))
	}
	return p
}

// stateNote tells a judge what a state means for it. It holds no text of anybody else.
func stateNote(e prosecutor.Evidence) string {
	switch e.State {
	case prosecutor.Unavailable:
		return fmt.Sprintf("%s is unavailable: it could not be measured. That is not itself a finding, it proves nothing for "+
			"or against the change, and you judge without it.\n", e.Source)
	case prosecutor.Pending:
		return fmt.Sprintf("%s is pending: it has not reported yet. That is not itself a finding.\n", e.Source)
	case prosecutor.NotApplicable:
		return fmt.Sprintf("%s is not applicable here. That is not itself a finding.\n", e.Source)
	case prosecutor.Red:
		return fmt.Sprintf("%s is red. Its findings already stand against the change and your verdict cannot overrule them; do "+
			"not repeat them unless you can add to them.\n", e.Source)
	default:
		return ""
	}
}

func writeDetails(w *strings.Builder, e prosecutor.Evidence) {
	if e.Detail != "" {
		fmt.Fprintf(w, "%s detail: %s\n", e.Source, strconv.Quote(e.Detail))
	}
	for _, s := range e.Survivors {
		fmt.Fprintf(w, "%s surviving mutant: %s operator %s: no test noticed that %s became %s\n",
			e.Source, strconv.Quote(s.Path+":"+strconv.Itoa(s.Line)), strconv.Quote(s.Operator), strconv.Quote(s.Original), strconv.Quote(s.Mutated))
	}
	for i := range e.Findings {
		f := &e.Findings[i]
		fmt.Fprintf(w, "%s finding: %s %s", e.Source, f.Severity, f.Charge)
		if f.Rule != "" {
			fmt.Fprintf(w, " rule %s", strconv.Quote(f.Rule))
		}
		if f.Anchor != nil {
			fmt.Fprintf(w, " at %s", strconv.Quote(f.Anchor.Path))
			if f.Place.StartLine > 0 {
				fmt.Fprintf(w, " line %d", f.Place.StartLine)
			} else if f.Anchor.Line > 0 {
				fmt.Fprintf(w, " line %d", f.Anchor.Line)
			}
		}
		fmt.Fprintf(w, ": %s\n", strconv.Quote(f.Claim))
	}
}

func (b *Brief) excludedPrompt() prompt {
	if len(b.Excluded) == 0 {
		return prompt{say("\n# Files left out\n\nNone: the diff below is the whole change.\n")}
	}
	var w strings.Builder
	for _, x := range b.Excluded {
		fmt.Fprintf(&w, "%s, %d changed lines", strconv.Quote(x.Path), x.Lines)
		if x.Reason != "" {
			fmt.Fprintf(&w, ", %s", strconv.Quote(x.Reason))
		}
		w.WriteByte('\n')
	}
	return prompt{
		say("\n# Files left out\n\nThe change also touches these files. The repository's base branch or its policy says that judges do not read " +
			"them; static rules do. Their absence is not itself a finding.\n\n"),
		fenced("left-out", w.String()),
	}
}

func (b *Brief) diffPrompt() prompt {
	return prompt{
		say("\n# Diff\n\nThe change on trial, as a unified diff, complete but for the files named above. A byte that is not valid UTF-8 may " +
			"reach you as the replacement character U+FFFD; quote it as you see it.\n\n"),
		fenced("diff", b.Text),
	}
}

func list(items []string) string {
	var w strings.Builder
	for _, s := range items {
		w.WriteString(strconv.Quote(s))
		w.WriteByte('\n')
	}
	return w.String()
}
