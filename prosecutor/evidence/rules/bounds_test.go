package rules_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/diff"
	"github.com/prosecutor-bot/prosecutor/prosecutor/evidence/rules"
)

func check(t testing.TB, text, spec string) (*diff.Diff, []prosecutor.Finding) {
	t.Helper()
	d, err := diff.ParseString(text)
	if err != nil {
		t.Fatal(err)
	}
	return d, rules.Check(context.Background(), rules.Input{Diff: d, Spec: spec})
}

func TestFindingsPerFileAreCapped(t *testing.T) {
	rows := []string{}
	for i := range 12 {
		rows = append(rows, fmt.Sprintf("\tn%d, _ := strconv.Atoi(s%d)", i, i))
	}
	rows = append(rows, "\tif err != nil {", "\t}")
	d, found := check(t, create("a.go", rows...)+create("b.go", rows[:2]...), "")
	checkFindings(t, d, found)
	if len(found) != rules.MaxPerFile+2 {
		t.Fatalf("%d findings, want %d of the first file and 2 of the second", len(found), rules.MaxPerFile)
	}
	worst, told := 0, 0
	for _, f := range found {
		if f.Severity == prosecutor.Medium {
			worst++
		}
		if strings.Contains(f.Claim, "(and 8 more in this file)") {
			told++
		}
	}
	if worst != 1 || told != 1 {
		t.Errorf("%d medium findings kept and %d claims count the rest, want 1 and 1: %+v", worst, told, found)
	}
}

func TestSameLineTwiceIsAnchoredTwice(t *testing.T) {
	line := "\t\tTLSClientConfig: &tls.Config{InsecureSkipVerify: true},"
	d, found := check(t, create("a.go", line, "\tx()", line), "")
	checkFindings(t, d, found)
	if len(found) != 2 || found[0].Place.StartLine != 1 || found[1].Place.StartLine != 3 {
		t.Errorf("findings %+v, want one on line 1 and one on line 3", found)
	}
}

func TestDeletedCodeIsNotAccused(t *testing.T) {
	_, found := check(t, remove("a.py", "import pdb; pdb.set_trace()", "requests.get(u, verify=False)", "eval(request.x)", "token = '"+githubToken+"'"), "")
	if len(found) != 0 {
		t.Errorf("findings %+v", found)
	}
}

func TestLongLines(t *testing.T) {
	filler := strings.Repeat("var a=1;", 5<<20/8)
	d, found := check(t, create("app.js", filler+"k='"+githubToken+"';"+filler, filler+"eval(request.body)"), "")
	checkFindings(t, d, found)
	if len(found) != 1 || found[0].Rule != "secret-token" {
		t.Fatalf("findings %d, want the token in the middle of a line of 10 MB and nothing else", len(found))
	}
	if len(found[0].Evidence) > 300 {
		t.Errorf("evidence has %d bytes", len(found[0].Evidence))
	}
	rows := []string{strings.Repeat("ghp_ AKIA xox hf_ ", 50_000), strings.Repeat("-----BEGIN RSA PRIVATE KEY-----", 50_000)}
	if _, found := check(t, create("x.js", rows...), ""); len(found) != 0 {
		t.Errorf("prefixes alone are accused: %s", found[0].Claim)
	}
}

func TestOddBytes(t *testing.T) {
	d, found := check(t, create("a.py", "import pdb; pdb.set_trace() # \xff\xfe\x00", "\xe2\x80", "token = \"\x00\xff"+githubToken+"\"", "\"\"\"", "'''"), "\xff\xfe docs only \x00")
	checkFindings(t, d, found)
	got := map[string]bool{}
	for _, f := range found {
		got[f.Rule] = true
	}
	if !got["breakpoint-left-in"] || !got["secret-token"] {
		t.Errorf("findings %+v", found)
	}
}

func TestCheckEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	d, _ := check(t, create("a.go", "<<<<<<< HEAD"), "")
	if found := rules.Check(ctx, rules.Input{Diff: d}); len(found) != 0 {
		t.Errorf("%d findings after the context ended", len(found))
	}
	if found := rules.Check(context.Background(), rules.Input{}); found != nil {
		t.Errorf("findings without a diff: %+v", found)
	}
}

func TestBinaryFilesAreKnownByTheirBytes(t *testing.T) {
	for name, x := range map[string]struct {
		content string
		want    bool
	}{
		"png": {"\x89PNG\r\n\x1a\n....", true}, "jpeg": {"\xff\xd8\xff\xe0", true}, "gif": {"GIF89a", true},
		"webp": {"RIFF\x10\x00\x00\x00WEBPVP8 ", true}, "bmp": {"BM\x10\x00\x00\x00\x00\x00\x00\x00\x36\x00\x00\x00", true},
		"ico": {"\x00\x00\x01\x00\x01\x00", true}, "tiff": {"II*\x00", true}, "avif": {"\x00\x00\x00\x1cftypavif", true},
		"woff2": {"wOF2\x00\x01", true}, "ttf": {"\x00\x01\x00\x00\x00\x0f", true}, "otf": {"OTTO\x00\x0c", true},
		"elf": {"\x7fELF", false}, "zip": {"PK\x03\x04", false}, "wasm": {"\x00asm\x01\x00\x00\x00", false}, "empty": {"", false},
		"wav": {"RIFF\x10\x00\x00\x00WAVEfmt ", false}, "mp4": {"\x00\x00\x00\x1cftypisom", false}, "text": {"BMP is a format", false},
	} {
		if got := rules.ImageOrFont([]byte(x.content)); got != x.want {
			t.Errorf("%s: %v, want %v", name, got, x.want)
		}
	}
}

func TestRedact(t *testing.T) {
	for in, want := range map[string]string{
		"":                                   "",
		"no secret: password = os.Getenv(x)": "no secret: password = os.Getenv(x)",
		"a " + githubToken + " b " + awsKey:  "a ghp_[redacted] b AKIA[redacted]",
		"password = \"" + randomValue + "\", token = '" + randomValue + "'": "password = \"[redacted]\", token = '[redacted]'",
		"API_KEY=" + randomValue:                                             "API_KEY=[redacted]",
		"dsn = 'postgres://app:k3Jq9vLmX2@db.io/x'":                          "dsn = 'postgres://app:[redacted]@db.io/x'",
		keyBegin + "\n" + keyRow + "\n-----END " + "RSA PRIVATE KEY-----\nx": keyBegin + "[redacted]-----END " + "RSA PRIVATE KEY-----\nx",
		keyBegin + "\\n" + keyRow:                                            keyBegin + "[redacted]",
		"https://github.com/acme/app":                                        "https://github.com/acme/app",
	} {
		got := rules.Redact(in)
		if got != want {
			t.Errorf("Redact(%q) = %q, want %q", in, got, want)
		}
		if again := rules.Redact(got); again != got {
			t.Errorf("redacting twice changes %q to %q", got, again)
		}
	}
}

func TestFindingsDoNotLeak(t *testing.T) {
	secrets := []string{githubToken, awsKey, stripeKey, keyRow, randomValue, "k3Jq9vLmX2"}
	text := create("a.py", "t = '"+githubToken+"'", "k = '"+awsKey+"'", "s = '"+stripeKey+"'", "p = '"+keyBegin+"\\n"+keyRow+"'",
		"password = '"+randomValue+"'", "u = 'postgres://app:k3Jq9vLmX2@db.acme.io/x'", "import pdb; pdb.set_trace() # "+githubToken)
	_, found := check(t, text, "Docs only, "+githubToken)
	if len(found) < 7 {
		t.Errorf("%d findings, want one for each line", len(found))
	}
	for _, f := range found {
		for _, s := range secrets {
			if strings.Contains(f.Claim+f.Evidence+f.Suggestion, s) {
				t.Errorf("%s shows a secret: %s %s", f.Rule, f.Claim, f.Evidence)
			}
		}
		if f.Anchor != nil && !strings.Contains(text, "+"+f.Anchor.Quote+"\n") {
			t.Errorf("%s: the quote is not the line: %q", f.Rule, f.Anchor.Quote)
		}
	}
}

// FuzzCheck holds every rule to what must be true of any diff: no panic, and findings that are whole and found again.
func FuzzCheck(f *testing.F) {
	for _, x := range examples {
		path, body := "a.go", ""
		for _, line := range strings.Split(x.diff, "\n") {
			if strings.HasPrefix(line, "+++ b/") {
				path = line[6:]
			} else if strings.HasPrefix(line, "+") || strings.HasPrefix(line, " ") {
				body += line + "\n"
			}
		}
		f.Add(path, body, x.spec)
	}
	f.Fuzz(func(t *testing.T, path, body, spec string) {
		if path == "" || strings.ContainsAny(path, "\n\t\"\\\x00") || len(body) > 1<<16 {
			t.Skip()
		}
		var rows []string
		for _, r := range strings.Split(body, "\n") {
			if r == "" || !strings.ContainsRune("+- ", rune(r[0])) {
				r = "+" + r
			}
			rows = append(rows, r)
		}
		d, err := diff.ParseString(change(path, rows...))
		if err != nil {
			t.Skip()
		}
		found := rules.Check(context.Background(), rules.Input{Diff: d, Spec: spec})
		checkFindings(t, d, found)
		if once := rules.Redact(body); rules.Redact(once) != once {
			t.Errorf("redacting twice differs from once: %q", once)
		}
	})
}
