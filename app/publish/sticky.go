package publish

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"

	"github.com/google/go-github/v62/github"

	"github.com/prosecutor-bot/prosecutor/app/ghclient"
	"github.com/prosecutor-bot/prosecutor/convergence"
	"github.com/prosecutor-bot/prosecutor/prosecutor/report"
)

// The sticky comment is one comment on the pull request that is edited in place: the verdict of now, the findings that
// block as JSON for whoever repairs them, and the verdicts before, folded.

const (
	stickyMark = "<!-- prosecutor:sticky -->"
	// maxHandover bounds the hidden JSON, in bytes of base64.
	maxHandover = 36 << 10
	// maxSection bounds the JSON in the check run's text.
	maxSection = 24 << 10
	// maxHistory bounds the earlier verdicts that are kept, and maxHistoryBytes what they take, hidden, in base64.
	maxHistory      = 20
	maxHistoryBytes = 10 << 10
	// maxStickyRows bounds the findings that are listed; the check run lists them all.
	maxStickyRows = 25
)

// verdictOf is one verdict in the history of a sticky comment.
type verdictOf struct {
	Key   string    `json:"k"`
	Head  string    `json:"h"`
	Title string    `json:"t"`
	At    time.Time `json:"at"`
}

var (
	historyMarker  = regexp.MustCompile(`<!-- prosecutor:history ([A-Za-z0-9+/=]+) -->`)
	handoverMarker = regexp.MustCompile(`<!-- prosecutor:findings v1 base64 ([A-Za-z0-9+/=]+) -->`)
)

// Handover is the blocking findings of a LOOP_BACK for the agent that will repair them.
type Handover struct {
	Version  int               `json:"version"` // 1
	Repo     string            `json:"repo"`
	PR       int               `json:"pr"`
	Base     string            `json:"base"`
	Head     string            `json:"head"`
	Decision string            `json:"decision"`
	Lap      int               `json:"lap"`
	Findings []HandoverFinding `json:"findings"`
	Omitted  int               `json:"omitted"` // findings that had no room; the check run has them
}

// HandoverFinding is a finding as it is handed over. Texts may be shortened; then they end in "…".
type HandoverFinding struct {
	ID         string `json:"id"`
	Severity   string `json:"severity"`
	Charge     string `json:"charge"`
	Lens       string `json:"lens,omitempty"`
	Rule       string `json:"rule,omitempty"`
	Path       string `json:"path,omitempty"`
	Side       string `json:"side,omitempty"`
	StartLine  int    `json:"start_line,omitempty"`
	EndLine    int    `json:"end_line,omitempty"`
	Quote      string `json:"quote,omitempty"`
	Claim      string `json:"claim"`
	Evidence   string `json:"evidence,omitempty"`
	Suggestion string `json:"suggestion,omitempty"`
}

// handover collects the blocking findings, shortened until the encoding of them fits in so many bytes; empty for none.
func (p *Publication) handover(t Target, limit int, encode func(Handover) string) string {
	h := Handover{
		Version: 1, Repo: t.Owner + "/" + t.Repo, PR: t.PR, Base: p.Result.Case.Base, Head: t.Head,
		Decision: string(p.Decision), Lap: p.Lap,
	}
	var blocking []report.Finding
	for _, f := range p.Result.Findings {
		if p.blocks(f) {
			blocking = append(blocking, f)
		}
	}
	if len(blocking) == 0 || !p.judged() || p.Decision == convergence.Advance {
		return ""
	}
	for _, each := range []int{8000, 2000, 500, 120} {
		h.Findings = nil
		for _, f := range blocking {
			h.Findings = append(h.Findings, HandoverFinding{
				ID: f.ID, Severity: f.Severity, Charge: f.Charge, Lens: f.Lens, Rule: f.Rule,
				Path: strings.ToValidUTF8(f.Path, "\ufffd"), Side: f.Side, StartLine: f.StartLine, EndLine: f.EndLine,
				Quote: shorten(f.Quote, each), Claim: shorten(f.Claim, each),
				Evidence: shorten(f.Evidence, each), Suggestion: shorten(f.Suggestion, each),
			})
		}
		if text := encode(h); len(text) <= limit {
			return text
		}
	}
	for len(h.Findings) > 0 {
		drop := max(1, len(h.Findings)/8)
		h.Findings, h.Omitted = h.Findings[:len(h.Findings)-drop], h.Omitted+drop
		if text := encode(h); len(text) <= limit {
			return text
		}
	}
	return ""
}

// asBase64 is a handover for a marker.
func asBase64(h Handover) string {
	raw, err := json.Marshal(h)
	if err != nil {
		return "" // nothing in it can fail to be written
	}
	return base64.StdEncoding.EncodeToString(raw)
}

// asSection is a handover to read, folded. What would not show, or would reorder what is shown, is escaped as JSON has it.
func asSection(h Handover) string {
	raw, err := json.MarshalIndent(h, "", "  ")
	if err != nil {
		return ""
	}
	var b strings.Builder
	for _, r := range string(raw) {
		switch {
		case r == '\n' || unicode.IsPrint(r):
			b.WriteRune(r)
		case r > 0xffff:
			hi, lo := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, hi, lo)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return "<details><summary>Blocking findings as JSON</summary>\n\n" + report.MarkdownFence(b.String()) + "\n</details>\n"
}

func shorten(s string, bytes int) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	if len(s) <= bytes {
		return s
	}
	return clip(s, bytes) + "…"
}

// ReadHandover reads the blocking findings that a sticky comment carries. A caller has to know that the App wrote it.
func ReadHandover(body string) (*Handover, error) {
	m := handoverMarker.FindStringSubmatch(markers(body))
	if m == nil {
		return nil, fmt.Errorf("the comment carries no findings")
	}
	raw, err := base64.StdEncoding.DecodeString(m[1])
	if err != nil {
		return nil, fmt.Errorf("reading the findings of a comment: %w", err)
	}
	var h Handover
	if err := json.Unmarshal(raw, &h); err != nil {
		return nil, fmt.Errorf("reading the findings of a comment: %w", err)
	}
	return &h, nil
}

// history is the earlier verdicts that a sticky comment tells of, its own included, newest first. People with write access
// can edit our comments, so what is not well-formed is dropped.
func history(body string) []verdictOf {
	m := historyMarker.FindStringSubmatch(markers(body))
	if m == nil {
		return nil
	}
	raw, err := base64.StdEncoding.DecodeString(m[1])
	if err != nil {
		return nil
	}
	var out []verdictOf
	if json.Unmarshal(raw, &out) != nil {
		return nil
	}
	out = out[:min(len(out), maxHistory+1)]
	for i, v := range out {
		out[i] = verdictOf{Key: clip(v.Key, 200), Head: clip(safe(v.Head), 64), Title: report.OneLine(v.Title, 160), At: v.At}
	}
	return out
}

// sticky is the body of the sticky comment. before is its body up to now, or empty.
func (p *Publication) sticky(t Target, before string, all []*group, checkRun, findings string, at time.Time) string {
	now := verdictOf{Key: t.key(), Head: safe(t.Head), Title: report.OneLine(p.Title, 160), At: at.UTC().Truncate(time.Second)}
	earlier := slices.DeleteFunc(history(before), func(v verdictOf) bool { return v.Key == now.Key })
	earlier = earlier[:min(len(earlier), maxHistory)]

	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n\n", prose(p.Title, maxTitle))
	fmt.Fprintf(&b, "Reviewed `%s`", safe(t.Head))
	if l := p.Result.Ledger; l != nil && p.judged() {
		fmt.Fprintf(&b, " · lap %d, %d of %d", l.Laps, l.BudgetLaps, l.MaxLaps)
	}
	fmt.Fprintf(&b, " · [check run](%s)", checkRun)
	b.WriteString("\n\n")
	b.WriteString(p.nextStep())
	b.WriteString(p.stickyTable(all))
	if len(all) > 0 {
		b.WriteString(rungCounts(all) + "\n\n")
	}
	handover := p.handover(t, maxHandover, asBase64)
	if handover != "" {
		fmt.Fprintf(&b, "For the agent that repairs this: the blocking findings as JSON are [here](%s), and in this comment's source.\n\n", findings)
	}
	if p.judged() && p.Decision != convergence.Advance {
		b.WriteString("`/prosecute help` lists what can be said to the gate.\n\n")
	}
	if len(earlier) > 0 {
		b.WriteString("<details><summary>Earlier verdicts</summary>\n\n")
		for _, v := range earlier {
			fmt.Fprintf(&b, "- `%s` %s: %s\n", short(safe(v.Head)), v.At.UTC().Format("2006-01-02 15:04"), prose(v.Title, maxTitle))
		}
		b.WriteString("\n</details>\n")
	}

	hidden := stickyMark + "\n" + mark("at", t.key()) + "\n" + remember(now, earlier)
	if handover != "" {
		hidden += mark("findings", "v1", "base64", handover) + "\n"
	}
	return hidden + Cut(b.String(), maxBody-len(hidden), "Cut: the check run has the whole of it.")
}

// remember is the hidden history: as many verdicts as have room, the newest first.
func remember(now verdictOf, earlier []verdictOf) string {
	all := append([]verdictOf{now}, earlier...)
	for ; len(all) > 0; all = all[:len(all)-1] {
		raw, err := json.Marshal(all)
		if err != nil {
			return ""
		}
		if text := base64.StdEncoding.EncodeToString(raw); len(text) <= maxHistoryBytes {
			return mark("history", text) + "\n"
		}
	}
	return ""
}

// stickyTable lists what blocks.
func (p *Publication) stickyTable(all []*group) string {
	var rows []string
	more := 0
	for _, g := range all {
		f := g.first()
		if !p.blocks(f) {
			continue
		}
		if len(rows) == maxStickyRows {
			more++
			continue
		}
		where := code(f.Where(), 120, true)
		if where == "" {
			where = "the change as a whole"
		}
		rows = append(rows, fmt.Sprintf("| %s | %s | %s | `%s` |\n", safe(f.Severity), where, prose(firstLine(f.Claim), 160), safe(f.ID)))
	}
	if len(rows) == 0 {
		return ""
	}
	out := "| severity | where | claim | id |\n|---|---|---|---|\n" + strings.Join(rows, "") + "\n"
	if more > 0 {
		out += fmt.Sprintf("and %d more that block.\n\n", more)
	}
	return out
}

// stick creates or edits the sticky comment. A clean ADVANCE, and a case that was not judged for want of nothing that
// people could do, make none; but one that is there is always brought up to date.
func (p *Publisher) stick(ctx context.Context, gh *github.Client, t Target, pub *Publication, st *state, all []*group, out *Published) error {
	id, before, err := p.stuck(ctx, gh, t, pub, st)
	if err != nil {
		return err
	}
	out.CommentID = id
	quiet := pub.Conclusion == convergence.Success && len(all) == 0 || pub.Conclusion == convergence.Neutral
	if id == 0 && quiet {
		return nil
	}
	if id != 0 && has(before, mark("at", t.key())) && pub.Attempt != 1 && pub.Attempt != 0 {
		return nil // an earlier attempt wrote it
	}
	link := p.checkRunURL(t, out.CheckRunID)
	findings := p.findingsURL(t)
	if findings == "" {
		findings = link
	}
	body := &github.IssueComment{Body: github.String(pub.sticky(t, before, all, link, findings, p.now()))}
	if id != 0 {
		_, _, err := gh.Issues.EditComment(ctx, t.Owner, t.Repo, id, body)
		switch {
		case err == nil:
			return nil
		case !ghclient.IsNotFound(err) && !ghclient.IsGone(err):
			return p.tolerate(err, "editing the comment of "+t.where(), "GitHub did not take the comment", out)
		}
		out.CommentID = 0 // somebody deleted it
	}
	made, _, err := gh.Issues.CreateComment(ctx, t.Owner, t.Repo, t.PR, body)
	if err != nil {
		return p.tolerate(err, "posting the comment of "+t.where(), "GitHub did not take the comment", out)
	}
	out.CommentID = made.GetID()
	return nil
}

// stuck returns the sticky comment: its id and its body.
func (p *Publisher) stuck(ctx context.Context, gh *github.Client, t Target, pub *Publication, st *state) (int64, string, error) {
	for _, c := range st.comments {
		if strings.HasPrefix(c.Body, stickyMark) {
			return int64(c.FullDatabaseID), c.Body, nil
		}
	}
	if pub.CommentID == 0 {
		return 0, "", nil
	}
	c, _, err := gh.Issues.GetComment(ctx, t.Owner, t.Repo, pub.CommentID)
	switch {
	case err == nil && strings.HasPrefix(c.GetBody(), stickyMark):
		return pub.CommentID, c.GetBody(), nil
	case err == nil, ghclient.IsNotFound(err), ghclient.IsGone(err):
		return 0, "", nil
	default:
		return 0, "", fmt.Errorf("reading the comment of %s: %w", t.where(), err)
	}
}

// tolerate turns a refusal into a note, and passes any other error on.
func (p *Publisher) tolerate(err error, doing, note string, out *Published) error {
	if refused(err) {
		out.Notes = append(out.Notes, note+": "+brief(err))
		return nil
	}
	return fmt.Errorf("%s: %w", doing, err)
}
