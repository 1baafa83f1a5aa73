package static_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/charter"
	"github.com/prosecutor-bot/prosecutor/prosecutor/contract"
	"github.com/prosecutor-bot/prosecutor/prosecutor/diff"
	"github.com/prosecutor-bot/prosecutor/prosecutor/evidence/rules"
	"github.com/prosecutor-bot/prosecutor/prosecutor/judge"
	"github.com/prosecutor-bot/prosecutor/prosecutor/judge/static"
)

func added(path string, rows ...string) string {
	quoted := "b/" + path
	if strings.Contains(path, "\xff") {
		quoted = `"b/` + strings.ReplaceAll(path, "\xff", `\377`) + `"`
	}
	header := fmt.Sprintf("diff --git %[1]s %[2]s\nnew file mode 100644\nindex 0000000..2222222\n--- /dev/null\n+++ %[2]s\n", strings.Replace(quoted, "b/", "a/", 1), quoted)
	return header + fmt.Sprintf("@@ -0,0 +1,%d @@\n+", len(rows)) + strings.Join(rows, "\n+") + "\n"
}

func parse(t *testing.T, text string) *diff.Diff {
	t.Helper()
	d, err := diff.ParseString(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// prosecute runs a whole pass, as the gate does.
func prosecute(t *testing.T, lens prosecutor.Lens, brief *charter.Brief) contract.Pass {
	t.Helper()
	return contract.Prosecute(context.Background(), static.New(), contract.Input{
		Lens: lens, Brief: brief, Nonce: func() string { return "0123456789abcdef" }, Now: func() time.Time { return time.Unix(0, 0) },
	})
}

func TestPasses(t *testing.T) {
	const insecure = "\tc := &tls.Config{InsecureSkipVerify: true}"
	for _, x := range []struct {
		name     string
		diff     string
		spec     string
		lens     prosecutor.Lens
		verdict  prosecutor.Verdict
		findings int
	}{
		{"clean", added("a.go", "package a"), "", prosecutor.Security, prosecutor.Ship, 0},
		{"high blocks", added("a.go", insecure), "", prosecutor.Security, prosecutor.Block, 1},
		{"another lens does not see it", added("a.go", insecure), "", prosecutor.Correctness, prosecutor.Ship, 0},
		{"medium advises", added("a.go", "\tcmd := exec.Command(\"sh\", \"-c\", s)"), "", prosecutor.Security, prosecutor.Ship, 1},
		{"the description is read", added("a.go", "var x = 1"), "Docs only", prosecutor.Spec, prosecutor.Block, 1},
		{"a binary is left to the evidence", "diff --git a/x.png b/x.png\nnew file mode 100644\nindex 0000000..2222222\nBinary files /dev/null and b/x.png differ\n", "", prosecutor.Spec, prosecutor.Ship, 0},
		{"a name that is not UTF-8", added("a\xff.go", insecure), "", prosecutor.Security, prosecutor.Block, 1},
		{"a line that is not UTF-8", added("a.go", insecure+" // \xff\xc3"), "", prosecutor.Security, prosecutor.Block, 1},
	} {
		t.Run(x.name, func(t *testing.T) {
			d := parse(t, x.diff)
			pass := prosecute(t, x.lens, &charter.Brief{Diff: d, Text: strings.ToValidUTF8(x.diff, "\uFFFD"), Spec: x.spec})
			if pass.Verdict != x.verdict || pass.Err != nil || len(pass.Findings) != x.findings || pass.Repairs != 0 || pass.CostUSD != 0 {
				t.Fatalf("verdict %s (%v), %d findings, %d repairs, cost %v: %+v", pass.Verdict, pass.Err, len(pass.Findings), pass.Repairs, pass.CostUSD, pass.Findings)
			}
			for _, f := range pass.Findings {
				if f.Place.Status != prosecutor.Anchored {
					t.Errorf("%s is %s", f.Claim, f.Place.Status)
				}
			}
		})
	}
}

func ask(t *testing.T, ctx context.Context, req judge.Request) (judge.Reply, error) {
	t.Helper()
	return static.New().Ask(ctx, req)
}

type reply struct {
	Verdict  string
	Findings []struct {
		Severity, Charge, Claim, Evidence string
		Anchor                            *struct {
			Path, Side, Quote string
			Line              int
		}
	}
}

func decode(t *testing.T, r judge.Reply) reply {
	t.Helper()
	var out reply
	if err := json.Unmarshal([]byte(r.Text), &out); err != nil {
		t.Fatalf("%v: %.300s", err, r.Text)
	}
	return out
}

func TestWhatTheEvidenceSaysIsNotSaidTwice(t *testing.T) {
	d := parse(t, added("a.go", "\tc := &tls.Config{InsecureSkipVerify: true}", "\tcmd := exec.Command(\"sh\", \"-c\", s)"))
	all := rules.Check(context.Background(), rules.Input{Diff: d})
	for _, x := range []struct {
		name     string
		evidence []prosecutor.Evidence
		verdict  string
		findings int
	}{
		{"none", nil, "block", 2},
		{"clean: the policy accepts the high one", []prosecutor.Evidence{{Source: prosecutor.StaticRules, State: prosecutor.Clean, Findings: all}}, "ship", 0},
		{"red: the high one still blocks", []prosecutor.Evidence{{Source: prosecutor.StaticRules, State: prosecutor.Red, Findings: all}}, "block", 1},
		{"of another source", []prosecutor.Evidence{{Source: prosecutor.CIChecks, State: prosecutor.Clean}}, "block", 2},
	} {
		r, err := ask(t, context.Background(), judge.Request{Lens: prosecutor.Security, Material: &judge.Material{Diff: d, Evidence: x.evidence}})
		if err != nil {
			t.Fatal(err)
		}
		if got := decode(t, r); got.Verdict != x.verdict || len(got.Findings) != x.findings {
			t.Errorf("%s: %s with %d findings, want %s with %d", x.name, got.Verdict, len(got.Findings), x.verdict, x.findings)
		}
	}
}

func TestAnswersStayWithinTheContract(t *testing.T) {
	var text strings.Builder
	row := "\tcmd := exec.Command(\"sh\", \"-c\", s) //" + strings.Repeat("\x01", 4000)
	for i := range 150 {
		text.WriteString(added(fmt.Sprintf("p%d/a.go", i), row))
	}
	text.WriteString(added("z.go", "\tc := &tls.Config{InsecureSkipVerify: true}"))
	r, err := ask(t, context.Background(), judge.Request{Lens: prosecutor.Security, Material: &judge.Material{Diff: parse(t, text.String())}})
	if err != nil {
		t.Fatal(err)
	}
	got := decode(t, r)
	if len(r.Text) > charter.MaxAnswerBytes || len(got.Findings) != charter.MaxFindings {
		t.Fatalf("%d bytes, %d findings", len(r.Text), len(got.Findings))
	}
	if got.Verdict != "block" || got.Findings[0].Severity != "high" || got.Findings[0].Anchor == nil {
		t.Errorf("verdict %s, first finding %+v", got.Verdict, got.Findings[0])
	}
	last := got.Findings[len(got.Findings)-1].Claim
	if !strings.Contains(last, "and 51 more findings") || !strings.Contains(last, "line 1") {
		t.Errorf("the last claim does not say what is left out, or where it is: %s", last)
	}
}

func TestFailures(t *testing.T) {
	d := parse(t, added("a.go", "package a"))
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	late, cancelLate := context.WithDeadline(context.Background(), time.Unix(0, 0))
	defer cancelLate()
	for _, x := range []struct {
		name string
		ctx  context.Context
		req  judge.Request
		want prosecutor.ErrorKind
	}{
		{"canceled", ended, judge.Request{Lens: prosecutor.Security, Material: &judge.Material{Diff: d}}, prosecutor.Canceled},
		{"too late", late, judge.Request{Lens: prosecutor.Security, Material: &judge.Material{Diff: d}}, prosecutor.Timeout},
		{"no material", context.Background(), judge.Request{Lens: prosecutor.Security}, prosecutor.Panic},
		{"no diff", context.Background(), judge.Request{Lens: prosecutor.Security, Material: &judge.Material{}}, prosecutor.Panic},
		{"verification", context.Background(), judge.Request{Schema: charter.VerificationSchema(), Material: &judge.Material{Diff: d}}, prosecutor.Refusal},
	} {
		_, err := ask(t, x.ctx, x.req)
		var failed *judge.Error
		if !errors.As(err, &failed) || failed.Kind != x.want || failed.Provider != static.Name {
			t.Errorf("%s: %v, want kind %s", x.name, err, x.want)
		}
	}
}

func TestInfo(t *testing.T) {
	want := judge.Info{ID: "static", Family: "static", Provider: "static", Model: "rules", Static: true}
	if got := static.New().Info(); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
