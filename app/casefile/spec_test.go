package casefile

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestSpecHoldsTitleBodyAndIssues(t *testing.T) {
	p := &pull{Number: 7, Title: "Pay once", Body: "Do not\r\npay twice.\r\n"}
	p.ClosingIssuesReferences.TotalCount = 1
	p.ClosingIssuesReferences.Nodes = []*closing{{Number: 3, Title: "Paid twice", Body: "See the ledger.", Repository: &repoName{NameWithOwner: "acme/pay"}}}
	got := specOf(p)
	want := "# Pay once\n\nDo not\npay twice.\n\n## Closes acme/pay#3: Paid twice\n\nSee the ledger."
	if got.text != want {
		t.Errorf("got %q, want %q", got.text, want)
	}
	if len(got.notes) != 0 || len(got.closing) != 1 {
		t.Errorf("got notes %q, closing %v", got.notes, got.closing)
	}
}

// TestSpecSaysWhatWasCut cuts every part and looks for it in the text and in the notes.
func TestSpecSaysWhatWasCut(t *testing.T) {
	p := &pull{Number: 7, Title: "T", Body: strings.Repeat("é", maxSpecPart)}
	p.ClosingIssuesReferences.TotalCount = 13
	p.ClosingIssuesReferences.Nodes = []*closing{{Number: 3, Title: "I", Body: strings.Repeat("x", maxSpecPart+1)}, nil}
	got := specOf(p)
	if !utf8.ValidString(got.text) {
		t.Error("the text was cut inside a rune")
	}
	for _, want := range []string{
		"the description of #7 is 131072 bytes long; only the first 65536 are shown",
		"the text of issue #3 is 65537 bytes long; only the first 65536 are shown",
		"there are 11 more",
		"1 linked issues cannot be read by this App",
	} {
		if !strings.Contains(got.text, want) {
			t.Errorf("the text does not say %q", want)
		}
		if !strings.Contains(strings.Join(got.notes, "\n"), want) {
			t.Errorf("the notes do not say %q", want)
		}
	}
	if strings.Contains(got.text, strings.Repeat("x", maxSpecPart+1)) {
		t.Error("a part is longer than its bound")
	}
}

func TestSpecOfNothing(t *testing.T) {
	if got := specOf(&pull{}); got.text != "#" {
		t.Errorf("got %q", got.text)
	}
}
