package convergence_test

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	. "github.com/prosecutor-bot/prosecutor/convergence"
	"github.com/prosecutor-bot/prosecutor/prosecutor"
)

func claim(path, text string) string {
	return Signature(prosecutor.Finding{Lens: prosecutor.Correctness, Charge: prosecutor.ChargeCorrectness, Claim: text, Anchor: &prosecutor.Anchor{Path: path}})
}

func TestSignatureOfClaims(t *testing.T) {
	const path = "src/pay.go"
	for _, tt := range []struct {
		a, b  string
		equal bool
	}{
		{"Lines 3-5 leak the handle.", "lines 30-52 leak the handle.", true},
		{"lines 3 to 5 leak", "lines 7 through 9 leak", true},
		{"Lines 3, 4 and 9 leak", "lines 5, 12, and 13 leak", true},
		{"lines 3-5 and 8-9 leak", "lines 13-15 and 18-19 leak", true},
		{"leaks (line 42)", "leaks (line 57)", true},
		{"leaks on line #42", "leaks on line #57", true},
		{"leaks at line no. 42", "leaks at line no. 57", true},
		{"leaks, ln 42", "leaks, ln 57", true},
		{"the 42nd line leaks", "the 53rd line leaks", true},
		{"L42 leaks", "L57 leaks", true},
		{"L4-L6 leak", "L7-L9 leak", true},
		{"pay.go:42 leaks", "pay.go:57 leaks", true},
		{"src/pay.go:42:7 leaks", "src/pay.go:57:13 leaks", true},
		{"`src/pay.go:42` leaks", "`src/pay.go:57` leaks", true},
		{"pay.go#L42-L50 leaks", "pay.go#L57 leaks", true},
		{"pay.go(42) leaks", "pay.go(57,3) leaks", true},
		{"Der Fehler\tsteht in Zeile", "der  fehler steht in zeile", true},
		{"ÄRGER", "ärger", true},

		{"On lines 3-5, 404 is answered", "On lines 3-5, 410 is answered", false},
		{"On line 42, 404 is answered", "On line 42, 410 is answered", false},
		{"longer than 200 lines", "longer than 300 lines", false},
		{"retries 3 times", "retries 5 times", false},
		{"misses the L1 norm", "misses the L2 norm", false},
		{"dials localhost:8080", "dials localhost:9090", false},
		{"dials db.example.com:5432", "dials db.example.com:5433", false},
		{"`parse` drops the sign", "`Parse` drops the sign", false},
		{"the \"total\" is wrong", "the \"Total\" is wrong", false},
		{"`pipeline 3` is skipped", "`pipeline 4` is skipped", false},
		{"pipeline 3 is skipped", "pipeline 4 is skipped", false},
		{"deadline 30 is short", "deadline 60 is short", false},
		{"takes 1.5 of it", "takes 1.6 of it", false},
		{"version v1.2 is vulnerable", "version v1.3 is vulnerable", false},
		{"port 80:443 is open", "port 80:444 is open", false},
		{"doesn't free 3, can't", "doesn't free 4, can't", false},
	} {
		if got := claim(path, tt.a) == claim(path, tt.b); got != tt.equal {
			t.Errorf("%q and %q: equal = %v, want %v", tt.a, tt.b, got, tt.equal)
		}
	}
	if claim("Makefile", "Makefile:12 leaks") != claim("Makefile", "Makefile:19 leaks") {
		t.Error("the line of a file without an ending is kept")
	}
	if claim("Makefile", "port Dockerfile:12") == claim("Makefile", "port Dockerfile:19") {
		t.Error("a name without an ending is taken for a file that is not accused")
	}
}

func TestSignatureParts(t *testing.T) {
	f := prosecutor.Finding{Lens: prosecutor.Correctness, Charge: prosecutor.ChargeTests, Claim: "c", Anchor: &prosecutor.Anchor{Path: "a.go", Quote: "x", Line: 3}}
	same := f
	same.Severity, same.Anchor = prosecutor.Low, &prosecutor.Anchor{Path: "a.go", Quote: "y", Line: 9, Side: prosecutor.Left}
	if Signature(f) != Signature(same) {
		t.Error("severity, quotation or line number take part")
	}
	moved := f
	moved.Place = prosecutor.Place{Path: "b.go"}
	if Signature(f) == Signature(moved) {
		t.Error("the place that was found does not count")
	}
	if Signature(prosecutor.Finding{Claim: "ab"}) == Signature(prosecutor.Finding{Charge: "a", Claim: "b"}) {
		t.Error("parts run into each other")
	}
}

// TestSignatureIgnoresLineNumbers puts line numbers in all their spellings into claims.
func TestSignatureIgnoresLineNumbers(t *testing.T) {
	spell := []string{"line %", "Line %", "lines %-%", "L%0", "pay.go:%", "pay.go:%:%", "line number %", "#L%"}
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.SampledFrom([]string{"the", "check", "`parseA`", "404", "fails", "(and)", "“x 7”", "v2"}), 1, 6).Draw(t, "words")
		form := rapid.SampledFrom(spell).Draw(t, "spelling")
		at := rapid.IntRange(0, len(words)).Draw(t, "at")
		say := func(label string) string {
			s := form
			for strings.Contains(s, "%") {
				s = strings.Replace(s, "%", rapid.StringMatching(`[1-9][0-9]{0,3}`).Draw(t, label), 1)
			}
			all := append(append(append([]string{}, words[:at]...), s+","), words[at:]...)
			return strings.Join(all, " ")
		}
		a, b := say("a"), say("b")
		if claim("src/pay.go", a) != claim("src/pay.go", b) {
			t.Fatalf("%q and %q differ", a, b)
		}
	})
}

func FuzzSignature(f *testing.F) {
	f.Add("src/pay.go", "The check on line 42 (`a.go:7`) is \"missing")
	f.Fuzz(func(t *testing.T, path, text string) {
		if claim(path, text) != claim(path, " "+strings.Join(strings.Fields(text), "\n\t ")+"\n") {
			t.Errorf("white space counts in %q", text)
		}
	})
}

// hashed is the signature as it is defined: 16 hexadecimal digits of the SHA-256 over the four parts, each ended by a zero.
func hashed(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00") + "\x00"))
	return hex.EncodeToString(sum[:])[:16]
}

// TestClaimsAsTheyAreCompared writes down what is left of a claim.
func TestClaimsAsTheyAreCompared(t *testing.T) {
	for _, tt := range []struct{ path, claim, compared string }{
		{"src/pay.go", "  The Refund\n may\texceed it. ", "the refund may exceed it."},
		{"src/pay.go", "Leaks (line 42) twice", "leaks () twice"},
		{"src/pay.go", "Leaks (the 42nd line)", "leaks (the )"},
		{"src/pay.go", "Leaks (42nd line)", "leaks ()"},
		{"src/pay.go", "Leaks (L42) twice", "leaks () twice"},
		{"src/pay.go", "Lines 3, 4 and 9 leak", "leak"},
		{"src/pay.go", "Src/Pay.go:42:7 leaks", "src/pay.go leaks"},
		{"src/pay.go", "`src/Pay.go:42` leaks", "`src/Pay.go` leaks"},
		{"src/pay.go", "At line 7 `Parse 7` Drops \"The Sign\" on line 9", "at `Parse 7` drops \"The Sign\" on"},
		{"src/pay.go", "Dials db.example.com:5432", "dials db.example.com:5432"},
		{"src/pay.go", "Waits at pay:42", "waits at pay:42"},
		{"src/Makefile", "Makefile:12 and src/Makefile:13-14 leak", "makefile and src/makefile leak"},
		{"src/Makefile", "`src/Makefile:12` leaks", "`src/Makefile` leaks"},
		{"Makefile", "myMakefile:12, Dockerfile:12 and src/:12", "mymakefile:12, dockerfile:12 and src/:12"},
		{"", "port:80 of src/:12", "port:80 of src/:12"},
	} {
		if got, want := claim(tt.path, tt.claim), hashed("correctness", tt.path, "correctness", tt.compared); got != want {
			t.Errorf("%q is not compared as %q", tt.claim, tt.compared)
		}
	}
}

// TestSignatureIsStable: ledgers that an earlier version stored are compared with what this one computes.
func TestSignatureIsStable(t *testing.T) {
	if got := claim("src/pay.go", "The refund on line 7 may exceed the charge."); got != "b8b5bc7273eaf594" {
		t.Errorf("got %s", got)
	}
	if got := Signature(prosecutor.Finding{Lens: prosecutor.Spec, Claim: "c"}); got != hashed("spec", "", "", "c") {
		t.Errorf("without a file: %s", got)
	}
	moved := prosecutor.Finding{Claim: "c", Anchor: &prosecutor.Anchor{Path: "a.go"}, Place: prosecutor.Place{Path: "b.go"}}
	if got := Signature(moved); got != hashed("", "b.go", "", "c") {
		t.Errorf("found in another file: %s", got)
	}
}

func TestSignaturesAreASortedSet(t *testing.T) {
	var findings []prosecutor.Finding
	want := []string{}
	for _, c := range []string{"a", "b", "c", "d", "a"} {
		findings = append(findings, prosecutor.Finding{Claim: c})
	}
	for _, f := range findings[:4] {
		want = append(want, Signature(f))
	}
	slices.Sort(want)
	if got := Signatures(findings); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
