package command

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/prosecutor-bot/prosecutor/prosecutor"
)

func TestParse(t *testing.T) {
	const id = "0123456789ab"
	tests := []struct {
		name, body string
		want       Command
	}{
		{"bare", "/prosecute", Command{Kind: Run}},
		{"trailing space", "/prosecute  \t", Command{Kind: Run}},
		{"carriage returns", "hello\r\n/prosecute\r\nbye", Command{Kind: Run}},
		{"three spaces before it", "   /prosecute", Command{Kind: Run}},
		{"behind text", "Please look again.\n/prosecute", Command{Kind: Run}},
		{"behind a quotation and a blank line", "> said\n\n/prosecute", Command{Kind: Run}},
		{"behind a code block", "```\n/prosecute help\n```\n/prosecute", Command{Kind: Run}},
		{"behind a comment", "<!-- /prosecute help -->\n/prosecute", Command{Kind: Run}},
		{"behind a line that shows a tag in code", "use `<pre>` here\n/prosecute", Command{Kind: Run}},
		{"in a section that folds", "<details>\n\n/prosecute\n\n</details>", Command{Kind: Run}},
		{"a lens", "/prosecute lens=security", Command{Kind: Run, Lens: prosecutor.Security}},
		{"dry", "/prosecute dry=2", Command{Kind: Run, Dry: 2}},
		{"both", "/prosecute dry=5 lens=spec", Command{Kind: Run, Lens: prosecutor.Spec, Dry: 5}},
		{"explain", "/prosecute explain", Command{Kind: Explain}},
		{"help", "/prosecute\thelp", Command{Kind: Help}},
		{"dismiss", "/prosecute dismiss " + id + " the value is  never nil", Command{Kind: Dismiss, FindingID: id, Reason: "the value is never nil"}},
		{"dismiss in code", "/prosecute dismiss `" + id + "` fine", Command{Kind: Dismiss, FindingID: id, Reason: "fine"}},
		{"override", "/prosecute override hotfix, see #12", Command{Kind: Override, Reason: "hotfix, see #12"}},
		{"a backtick alone opens nothing", "it`s\n/prosecute", Command{Kind: Run}},
		{"an escaped backtick opens nothing", "a \\`\n/prosecute\nb `", Command{Kind: Run}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, ok, err := Parse(tt.body)
			if err != nil || !ok {
				t.Fatalf("Parse(%q) = %v, %v", tt.body, ok, err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseNoCommand(t *testing.T) {
	for name, body := range map[string]string{
		"nothing":                             "",
		"another word":                        "/prosecute-this",
		"a longer word":                       "/prosecuted",
		"a sign behind it":                    "/prosecute.",
		"an equals sign":                      "/prosecute=1",
		"in a line":                           "please /prosecute",
		"another case":                        "/Prosecute",
		"fenced":                              "```\n/prosecute\n```",
		"fenced with tildes":                  "~~~ sh\n/prosecute\n~~~",
		"a fence that nothing closes":         "```\n/prosecute",
		"a shorter fence closes not":          "````\n```\n/prosecute\n````",
		"a fence with words closes not":       "```\n``` x\n/prosecute\n```",
		"fenced in a list":                    "- ```\n  /prosecute\n  ```",
		"fenced in a numbered list":           "1.  ```\n    x\n  /prosecute\n    ```",
		"indented":                            "    /prosecute",
		"a tab":                               "\t/prosecute",
		"quoted":                              "> /prosecute",
		"a quotation that goes on":            "> they wrote\n/prosecute",
		"in a comment":                        "<!--\n/prosecute\n-->",
		"a comment that never ends":           "<!-- x\n\n/prosecute",
		"behind a comment's end":              "<!-- x\n--> y\n<!-- \n/prosecute\n-->",
		"preformatted":                        "<pre>\n/prosecute\n</pre>",
		"preformatted, with a blank":          "<PRE class=x>\n\n/prosecute\n</PRE>",
		"an HTML quotation":                   "<blockquote>\n\n/prosecute\n\n</blockquote>",
		"HTML code":                           "<code>x\n/prosecute\n</code>",
		"a code span over lines":              "see `a\n/prosecute\nb`",
		"a span that ends behind a backslash": "`a\n/prosecute\nb\\`",
		"a span behind an escaped backtick":   "\\`` a\n/prosecute\nb `",
		"a list item":                         "- /prosecute",
	} {
		t.Run(name, func(t *testing.T) {
			if c, ok, err := Parse(body); ok || err != nil {
				t.Errorf("Parse(%q) = %+v, %v, %v", body, c, ok, err)
			}
		})
	}
}

func TestParseUsage(t *testing.T) {
	for name, body := range map[string]string{
		"unknown":                  "/prosecute now",
		"unknown lens":             "/prosecute lens=style",
		"a lens in capitals":       "/prosecute lens=Security",
		"no lens":                  "/prosecute lens",
		"lens twice":               "/prosecute lens=spec lens=security",
		"dry 0":                    "/prosecute dry=0",
		"dry 6":                    "/prosecute dry=6",
		"dry with a sign":          "/prosecute dry=+2",
		"dry with zeros":           "/prosecute dry=02",
		"dry is no number":         "/prosecute dry=two",
		"dry twice":                "/prosecute dry=1 dry=2",
		"an option twice known":    "/prosecute dry=2 fast",
		"explain something":        "/prosecute explain this",
		"help me":                  "/prosecute help me",
		"dismiss nothing":          "/prosecute dismiss",
		"dismiss without a reason": "/prosecute dismiss 0123456789ab",
		"dismiss without an id":    "/prosecute dismiss it is fine",
		"override without reason":  "/prosecute override",
		"a reason too long":        "/prosecute override " + strings.Repeat("x", 501),
		"two commands":             "/prosecute\n/prosecute help",
	} {
		t.Run(name, func(t *testing.T) {
			_, ok, err := Parse(body)
			if problem, usage := IsUsage(err); !ok || !usage || problem == "" {
				t.Errorf("Parse(%q) = %v, %v", body, ok, err)
			}
		})
	}
}

func TestParseReply(t *testing.T) {
	const thread = "aaaaaaaaaaaa"
	for body, want := range map[string]Command{
		"/prosecute dismiss never nil here":       {Kind: Dismiss, FindingID: thread, Reason: "never nil here"},
		"/prosecute dismiss bbbbbbbbbbbb another": {Kind: Dismiss, FindingID: "bbbbbbbbbbbb", Reason: "another"},
		"/prosecute": {Kind: Run},
	} {
		got, ok, err := ParseReply(body, thread)
		if err != nil || !ok || got != want {
			t.Errorf("ParseReply(%q) = %+v, %v, %v", body, got, ok, err)
		}
	}
}

// What is shown as code, as a quotation or not at all is no command, whatever is around it.
func TestNoCommandInsideOfBlocks(t *testing.T) {
	line := rapid.StringMatching("[a-z`~<>/ !.-]{0,12}")
	wraps := []func(inner string) string{
		func(s string) string { return "````\n" + s + "\n````" },
		func(s string) string { return "~~~~\n" + s + "\n~~~~" },
		func(s string) string { return "> " + strings.ReplaceAll(s, "\n", "\n> ") },
		func(s string) string { return "<!-- \n" + strings.ReplaceAll(s, "-->", "") + "\n-->" },
		func(s string) string { return "<pre>\n" + strings.ReplaceAll(s, "</", "") + "\n</pre>" },
	}
	rapid.Check(t, func(t *rapid.T) {
		inner := strings.Join(rapid.SliceOfN(line, 0, 3).Draw(t, "before"), "\n") + "\n/prosecute help\n" +
			strings.Join(rapid.SliceOfN(line, 0, 3).Draw(t, "after"), "\n")
		inner = strings.NewReplacer("````", "", "~~~~", "").Replace(inner)
		wrap := wraps[rapid.IntRange(0, len(wraps)-1).Draw(t, "wrap")]
		if c, ok, _ := Parse("text\n\n" + wrap(inner)); ok {
			t.Fatalf("a command in %q: %+v", wrap(inner), c)
		}
	})
}

// A command is found after any text that leaves nothing open.
func TestCommandBehindText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before := rapid.SliceOf(rapid.StringMatching(`[A-Za-z0-9 ,.:*_#-]{0,30}`)).Draw(t, "before")
		body := strings.Join(before, "\n") + "\n\n/prosecute dry=3\n"
		if c, ok, err := Parse(body); !ok || err != nil || c.Dry != 3 {
			t.Fatalf("Parse(%q) = %+v, %v, %v", body, c, ok, err)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"/prosecute", "```\n/prosecute\n```", "<!--\n/prosecute", "`\n/prosecute dismiss 0123456789ab x\n`", "> a\n/prosecute"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		c, ok, err := Parse(body)
		if !ok {
			if err != nil || c != (Command{}) {
				t.Fatalf("no command, but %+v, %v", c, err)
			}
			return
		}
		if !strings.Contains(body, Word) {
			t.Fatalf("a command out of nothing: %+v", c)
		}
		if err != nil {
			if problem, usage := IsUsage(err); !usage || problem == "" {
				t.Fatalf("an error that is no usage: %v", err)
			}
			return
		}
		if c.Kind == Dismiss && (!IsFindingID(c.FindingID) || c.Reason == "") || c.Kind == Override && c.Reason == "" || c.Dry < 0 || c.Dry > 5 {
			t.Fatalf("a command that cannot be: %+v", c)
		}
	})
}
