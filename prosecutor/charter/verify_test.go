package charter_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/charter"
)

func TestVerifyRequestShowsOneAccusationAfresh(t *testing.T) {
	b := &charter.Brief{Text: plainDiff, Spec: "Raise the limit", Excluded: []charter.Excluded{{Path: "go.sum", Lines: 3}}}
	f := prosecutor.Finding{
		Lens: prosecutor.Security, Origin: "judge-of-fern", Severity: prosecutor.High, Charge: prosecutor.ChargeSecurity,
		Claim: "The limit is gone.", Evidence: "Set it to 3.",
		Anchor: &prosecutor.Anchor{Path: "pay/old.go", Side: prosecutor.Left, Quote: "var Limit = 2"},
		Place:  prosecutor.Place{Status: prosecutor.Anchored, Path: "pay/refund.go", Side: prosecutor.Right, StartLine: 2, EndLine: 2},
	}
	r := b.VerifyRequest(f, nonce)
	if !bytes.Equal(r.Schema, charter.VerificationSchema()) || r.Lens != f.Lens || !strings.Contains(r.System, string(charter.VerificationSchema())) {
		t.Errorf("schema or lens: %+v", r)
	}
	sections, ours := readBack(t, userText(t, r))
	if sections["diff"] != b.Text || sections["spec"] != b.Spec || !strings.Contains(sections["left-out"], "go.sum") {
		t.Errorf("the case is not shown: %v", sections)
	}
	for _, want := range []string{"charge: security", "severity: high", `claim: "The limit is gone."`, `evidence: "Set it to 3."`, `file: "pay/refund.go"`, "side: RIGHT", "lines: 2 to 2", "\nvar Limit = 2\n"} {
		if !strings.Contains(sections["accusation"], want) {
			t.Errorf("the accusation lacks %q:\n%s", want, sections["accusation"])
		}
	}
	if all := r.System + ours + sections["accusation"]; strings.Contains(all, f.Origin) {
		t.Error("the verifier is told who accuses")
	}
	absent := prosecutor.Finding{Charge: prosecutor.ChargeSpec, Severity: prosecutor.High, Claim: "Nothing checks the date."}
	sections, _ = readBack(t, userText(t, b.VerifyRequest(absent, nonce)))
	if !strings.Contains(sections["accusation"], "anchor: none") {
		t.Errorf("a finding without an anchor: %s", sections["accusation"])
	}
}

func TestParseVerification(t *testing.T) {
	for _, c := range []struct {
		text    string
		refuted bool
		reason  string
		bad     bool
	}{
		{text: `{"refuted": true, "reason": "Line 2 sets it."}`, refuted: true, reason: "Line 2 sets it."},
		{text: ` {"reason": "Nothing shows it.", "refuted": false} `, reason: "Nothing shows it."},
		{text: `{"refuted": true, "reason": ""}`, bad: true},
		{text: `{"refuted": true, "reason": " \u200b\n"}`, bad: true},
		{text: `{"refuted": true}`, bad: true},
		{text: `{"reason": "x"}`, bad: true},
		{text: `{"refuted": "true", "reason": "x"}`, bad: true},
		{text: `{"refuted": 1, "reason": "x"}`, bad: true},
		{text: `{"refuted": null, "reason": "x"}`, bad: true},
		{text: `{"refuted": false, "refuted": true, "reason": "x"}`, bad: true},
		{text: `{"refuted": true, "reason": "x", "reason": "x"}`, bad: true},
		{text: `{"refuted": true, "reason": "x", "note": "y"}`, bad: true},
		{text: `{"Refuted": true, "reason": "x"}`, bad: true},
		{text: "```json\n{\"refuted\": true, \"reason\": \"x\"}\n```", bad: true},
		{text: `It is refuted. {"refuted": true, "reason": "x"}`, bad: true},
		{text: `[{"refuted": true, "reason": "x"}]`, bad: true},
		{text: `true`, bad: true},
		{text: ``, bad: true},
		{text: `{"refuted": true, "reason": "` + strings.Repeat("x", charter.MaxAnswerBytes) + `"}`, bad: true},
	} {
		refuted, reason, err := charter.ParseVerification(c.text)
		if refuted != c.refuted || reason != c.reason || (err != nil) != c.bad {
			t.Errorf("%.100s: got %v, %q, %v", c.text, refuted, reason, err)
		}
	}
}

func TestBlank(t *testing.T) {
	for _, text := range []string{"", " \t\r\n", "\u00a0\u3000\u2003", "\u200b\u200d\ufeff\u2066", "\x00\x1b", "\u0301"} {
		if !charter.Blank(text) {
			t.Errorf("%q is not blank", text)
		}
	}
	for _, text := range []string{"x", ".", "漏", "7", "🧪", "\ufffd"} {
		if charter.Blank(text) {
			t.Errorf("%q is blank", text)
		}
	}
}
