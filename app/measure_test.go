package app_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest"
	"github.com/prosecutor-bot/prosecutor/test/apptest"
	"github.com/prosecutor-bot/prosecutor/test/githubtest"
)

const (
	feeSource = "package pay\n\n// Fee is the fee of an amount.\nfunc Fee(n int) int {\n\tif n > 50 {\n\t\treturn n / 10\n\t}\n\treturn 1\n}\n"
	atEdges   = "0: 1, 50: 1, 51: 5, 60: 6, 105: 10"
	offEdges  = "0: 1, 60: 6"
)

// feeTest is a test of Fee with those cases, and more code of its file.
func feeTest(cases, more string) string {
	return "package pay\n\nimport (\n\t\"os\"\n\t\"testing\"\n\t\"time\"\n)\n\nvar _, _ = os.Args, time.Hour\n\nfunc TestFee(t *testing.T) {\n\tfor in, want := range map[int]int{" + cases +
		"} {\n\t\tif got := Fee(in); got != want {\n\t\t\tt.Errorf(\"Fee(%d) = %d\", in, got)\n\t\t}\n\t}\n}\n" + more
}

// fees is a repository of Go with that policy.
func fees(w *apptest.World, policy string) *githubtest.Repo {
	files := map[string]string{"README.md": "# pay\n", "go.mod": "module example.com/pay\n\ngo 1.24\n"}
	if policy != "" {
		files[".github/prosecutor.yml"] = policy
	}
	repo := w.GitHub.AddRepo("acme/pay", files)
	repo.Collaborator("maintainer", "write")
	return repo
}

// unconfined runs the tests without a sandbox, so that what is tested here needs none.
func unconfined() apptest.Options {
	o := config.DefaultServer().HollowTest
	o.Sandbox = config.SandboxNone
	return apptest.Options{HollowTest: o}
}

// measurements counts what was measured, by how often it was begun.
func measurements(t *testing.T, w *apptest.World) (n, tries int) {
	t.Helper()
	err := w.Store.Reader().QueryRowContext(context.Background(), `SELECT count(*), coalesce(sum(tries), 0) FROM measurements`).Scan(&n, &tries)
	if err != nil {
		t.Fatal(err)
	}
	return n, tries
}

// notChecked says so and reports true where no sandbox can be built and the test may do without.
func notChecked(t *testing.T, run githubtest.CheckRun) bool {
	if strings.Contains(run.Summary+run.Text, "sandbox") && os.Getenv("PROSECUTOR_TEST_NO_SANDBOX") == "1" {
		t.Log("NOT CHECKED: there is no sandbox here, and PROSECUTOR_TEST_NO_SANDBOX=1 is set")
		return true
	}
	return false
}

func TestSurvivorsAreShownAtTheirLines(t *testing.T) {
	w := apptest.New(t)
	repo := fees(w, "")
	hollow := repo.Commit("fee", "Add a fee", map[string]string{"fee.go": feeSource, "fee_test.go": feeTest(offEdges, `
func TestInside(t *testing.T) {
	if _, err := os.ReadFile("/etc/shadow"); err == nil {
		t.Error("the system's secrets can be read")
	}
}
`)})
	w.Settle()
	pr := repo.OpenPR(githubtest.PR{Title: "Add a fee", Head: "fee"})
	w.Settle()
	run := w.CheckRuns(repo, hollow)[0]
	if notChecked(t, run) {
		return
	}
	concluded(t, w, repo, hollow, "failure")
	reviews := pr.Reviews()
	if len(reviews) != 1 || len(reviews[0].Comments) != 1 {
		t.Fatalf("reviews %+v\n%s\n%s", reviews, run.Summary, w.Logs)
	}
	c := reviews[0].Comments[0]
	if c.Path != "fee.go" || c.Line != 5 || c.Side != "RIGHT" {
		t.Errorf("the comment stands at %s:%d %s", c.Path, c.Line, c.Side)
	}
	for _, want := range []string{`n \> 50`, "TestFee", "Evidence: It is run by TestFee, which passes. No test reaches it with both sides equal."} {
		if !strings.Contains(c.Body, want) {
			t.Errorf("the comment lacks %q:\n%s", want, c.Body)
		}
	}
	for _, want := range []string{"hollow", "survived"} {
		if !strings.Contains(run.Summary+run.Title, want) {
			t.Errorf("the check run lacks %q: %s\n%s", want, run.Title, run.Summary)
		}
	}
	// A head is measured once, however often it is judged.
	pr.Comment("maintainer", "/prosecute")
	w.Settle()
	if n, tries := measurements(t, w); n != 1 || tries != 1 {
		t.Errorf("%d measurements, begun %d times", n, tries)
	}
	tight := repo.Commit("fee", "Test the edges", map[string]string{"fee_test.go": feeTest(atEdges, "")})
	w.Settle()
	concluded(t, w, repo, tight, "success")
	if n, tries := measurements(t, w); n != 2 || tries != 2 {
		t.Errorf("%d measurements, begun %d times", n, tries)
	}
}

func TestWhatCannotBeMeasuredIsNoPass(t *testing.T) {
	for _, c := range []struct {
		name, policy, cases string
		conclusion, says    string
	}{
		{"not required", "", "0: 2", "success", "the tests fail before anything is mutated"},
		{"required", "hollow_test:\n  required: true\n", "0: 2", "failure", "the tests fail before anything is mutated"},
		{"off", "hollow_test:\n  mode: off\n", offEdges, "success", "switched off"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := apptest.New(t, unconfined())
			repo := fees(w, c.policy)
			sha := repo.Commit("fee", "Add a fee", map[string]string{"fee.go": feeSource, "fee_test.go": feeTest(c.cases, "")})
			w.Settle()
			repo.OpenPR(githubtest.PR{Title: "Add a fee", Head: "fee"})
			w.Settle()
			run := concluded(t, w, repo, sha, c.conclusion)
			if !strings.Contains(run.Summary+run.Text, c.says) {
				t.Errorf("the check run lacks %q:\n%s\n%s", c.says, run.Summary, run.Text)
			}
		})
	}
}

// A person who asks again has measured what could not be, and only that.
func TestAPersonHasItMeasuredAgain(t *testing.T) {
	marker := t.TempDir() + "/broken"
	if err := os.WriteFile(marker, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w := apptest.New(t, unconfined())
	repo := fees(w, "hollow_test:\n  required: true\n")
	sha := repo.Commit("fee", "Add a fee", map[string]string{"fee.go": feeSource, "fee_test.go": feeTest(atEdges, fmt.Sprintf(`
func TestMarker(t *testing.T) {
	if _, err := os.Stat(%q); err == nil {
		t.Error("the machine is broken")
	}
}
`, marker))})
	w.Settle()
	pr := repo.OpenPR(githubtest.PR{Title: "Add a fee", Head: "fee"})
	w.Settle()
	concluded(t, w, repo, sha, "failure")
	if err := os.Remove(marker); err != nil {
		t.Fatal(err)
	}
	pr.Comment("maintainer", "/prosecute")
	w.Settle()
	runs := w.CheckRuns(repo, sha)
	if last := slices.MaxFunc(runs, func(a, b githubtest.CheckRun) int { return cmp.Compare(a.ID, b.ID) }); last.Conclusion != "success" {
		t.Errorf("%+v\n%s", last, w.Logs)
	}
	pr.Comment("maintainer", "/prosecute")
	w.Settle()
	if n, tries := measurements(t, w); n != 1 || tries != 2 {
		t.Errorf("%d measurements, begun %d times", n, tries)
	}
}

// Whoever pushes again does not wait for the tests of the old head.
func TestAnOldHeadIsNotMeasuredToTheEnd(t *testing.T) {
	w := apptest.New(t, unconfined())
	repo := fees(w, "")
	slow := repo.Commit("fee", "Add a fee", map[string]string{"fee.go": feeSource, "fee_test.go": feeTest(atEdges, `
func TestSlow(t *testing.T) { time.Sleep(time.Hour) }
`)})
	w.Settle()
	repo.OpenPR(githubtest.PR{Title: "Add a fee", Head: "fee"})
	w.Until(func() bool { n, _ := measurements(t, w); return n == 1 })
	w.Until(func() bool {
		runs := w.CheckRuns(repo, slow)
		return len(runs) == 1 && strings.Contains(runs[0].Title, "hollow")
	})
	quick := repo.Commit("fee", "Be quick", map[string]string{"fee_test.go": feeTest(atEdges, "")})
	w.Settle()
	concluded(t, w, repo, quick, "success")
	concluded(t, w, repo, slow, "cancelled")
	if n, tries := measurements(t, w); n != 1 || tries != 1 {
		t.Errorf("%d measurements are left, begun %d times", n, tries)
	}
}

// What is decided without the tests ends them: red evidence beside pending sends a change back at once.
func TestADecidedHeadIsNotMeasuredToTheEnd(t *testing.T) {
	w := apptest.New(t, unconfined())
	repo := fees(w, "checks:\n  required: [build]\n")
	sha := repo.Commit("fee", "Add a fee", map[string]string{"fee.go": feeSource, "fee_test.go": feeTest(atEdges, `
func TestSlow(t *testing.T) { time.Sleep(time.Hour) }
`)})
	w.Settle()
	repo.OpenPR(githubtest.PR{Title: "Add a fee", Head: "fee"})
	w.Until(func() bool { return measuring(t, w) == "running" })
	repo.Check(sha, "build", "completed", "failure", "")
	w.Settle()
	concluded(t, w, repo, sha, "failure")
	if n, _ := measurements(t, w); n != 0 || measuring(t, w) != "cancelled" {
		t.Errorf("%d measurements are left, and the job is %s", n, measuring(t, w))
	}
}

// measuring is the state of the newest measure job.
func measuring(t *testing.T, w *apptest.World) (state string) {
	t.Helper()
	err := w.Store.Reader().QueryRowContext(context.Background(), `SELECT coalesce((SELECT state FROM river_job WHERE kind = 'measure' ORDER BY id DESC LIMIT 1), '')`).Scan(&state)
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// What a job of CI reports is evidence when the job is the one that the policy names, and said it about this head.
func TestWhatCIReportsIsEvidence(t *testing.T) {
	const workflow = ".github/workflows/hollow-test.yml"
	facts := func(s hollowtest.Status) *hollowtest.Report {
		r := &hollowtest.Report{
			Files: []hollowtest.FileReport{{Path: "fee.go"}},
			Mutants: []hollowtest.Mutant{
				{ID: "a", File: "fee.go", Line: 5, Operator: "comparison_boundary", Original: "n > 50", Mutated: "n >= 50", Status: s, Tests: []string{"TestFee"}},
				{ID: "b", File: "fee.go", Line: 6, Operator: "literal_int", Original: "10", Mutated: "11", Status: hollowtest.Killed},
			},
		}
		r.Conclude()
		return r
	}
	for _, c := range []struct {
		name       string
		report     *hollowtest.Report
		head       string // that the report is about, the right one by default
		app        string // that made the check run, GitHub Actions by default
		workflow   string // the right one by default
		job        string // its conclusion
		copies     int    // of the report
		conclusion string // of ours
		says       string
		comments   int
	}{
		{name: "survivors", report: facts(hollowtest.Survived), job: "failure", copies: 1, conclusion: "failure", says: "red", comments: 1},
		{name: "all killed", report: facts(hollowtest.Killed), job: "success", copies: 1, conclusion: "success", says: "clean"},
		{name: "survivors of a job that succeeded", report: facts(hollowtest.Survived), job: "success", copies: 1, conclusion: "failure", says: "red", comments: 1},
		{name: "all killed by a job that failed", report: facts(hollowtest.Killed), job: "failure", copies: 1, conclusion: "failure", says: "although its report"},
		{name: "a cancelled job", report: facts(hollowtest.Killed), job: "cancelled", copies: 1, conclusion: "failure", says: "ended as cancelled"},
		{name: "another head", report: facts(hollowtest.Killed), head: "0123456789abcdef", job: "success", copies: 1, conclusion: "failure", says: "the report is about 0123456789ab"},
		{name: "another App", report: facts(hollowtest.Killed), app: "other-ci", job: "success", copies: 1, conclusion: "failure", says: "not by GitHub Actions"},
		{name: "another workflow", report: facts(hollowtest.Killed), workflow: ".github/workflows/ci.yml", job: "success", copies: 1, conclusion: "failure", says: "not of the workflow"},
		{name: "no report", report: facts(hollowtest.Killed), job: "success", copies: 0, conclusion: "failure", says: "0 reports"},
		{name: "two reports", report: facts(hollowtest.Killed), job: "success", copies: 2, conclusion: "failure", says: "2 reports"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := apptest.New(t)
			repo := fees(w, "hollow_test:\n  where: ci\n  required: true\n")
			sha := repo.Commit("fee", "Add a fee", map[string]string{"fee.go": feeSource, "fee_test.go": feeTest(offEdges, "")})
			w.Settle()
			pr := repo.OpenPR(githubtest.PR{Title: "Add a fee", Head: "fee"})
			w.Until(func() bool {
				runs := w.CheckRuns(repo, sha)
				return len(runs) == 1 && runs[0].Status == "in_progress" && strings.Contains(runs[0].Title, "hollow-test")
			})
			job := repo.Check(sha, "hollow-test", "in_progress", "", c.app)
			repo.Workflow(job, cmp.Or(c.workflow, workflow)+"@refs/heads/main", "pull_request")
			text, err := hollowtest.Publish(c.report, cmp.Or(c.head, sha))
			if err != nil {
				t.Fatal(err)
			}
			notes := []githubtest.Annotation{{Path: ".github", StartLine: 1, EndLine: 1, Level: "warning", Title: "deprecated", Message: "x"}}
			for range c.copies {
				notes = append(notes, githubtest.Annotation{Path: ".github", StartLine: 1, EndLine: 1, Level: "notice", Title: hollowtest.PublishedTitle, Message: text})
			}
			repo.SetOutput(job, "", "", notes...)
			repo.Check(sha, "hollow-test", "completed", c.job, c.app)
			w.Settle()
			run := concluded(t, w, repo, sha, c.conclusion)
			if !strings.Contains(run.Summary+run.Text, c.says) {
				t.Errorf("the check run lacks %q:\n%s\n%s", c.says, run.Summary, run.Text)
			}
			comments := 0
			for _, r := range pr.Reviews() {
				for _, c := range r.Comments {
					comments++
					if c.Path != "fee.go" || c.Line != 5 {
						t.Errorf("a comment at %s:%d", c.Path, c.Line)
					}
				}
			}
			if comments != c.comments {
				t.Errorf("%d comments, want %d", comments, c.comments)
			}
			if n, _ := measurements(t, w); n != 0 {
				t.Error("it was measured here, too")
			}
		})
	}
}

// A change that says what its own workflow does cannot prove itself by it.
func TestAChangeOfWorkflowsProvesNothingByThem(t *testing.T) {
	w := apptest.New(t)
	repo := fees(w, "hollow_test:\n  where: ci\n  required: true\n")
	sha := repo.Commit("fee", "Add a fee", map[string]string{"fee.go": feeSource, "fee_test.go": feeTest(offEdges, ""), ".github/workflows/hollow-test.yml": "on: pull_request\n"})
	w.Settle()
	repo.OpenPR(githubtest.PR{Title: "Add a fee", Head: "fee"})
	w.Settle()
	if run := concluded(t, w, repo, sha, "failure"); !strings.Contains(run.Summary, "proves nothing") {
		t.Errorf("%s", run.Summary)
	}
}

// A merge group that touches tests is measured on its own head where the repository asks for hollow-test (semantics 11).
func TestMergeGroupIsMeasured(t *testing.T) {
	for name, cases := range map[string]string{"success": atEdges, "failure": offEdges} {
		t.Run(name, func(t *testing.T) {
			w := apptest.New(t, unconfined())
			repo := fees(w, "hollow_test:\n  required: true\n")
			repo.Commit("fee", "Add a fee", map[string]string{"fee.go": feeSource, "fee_test.go": feeTest(cases, "")})
			w.Settle()
			pr := repo.OpenPR(githubtest.PR{Title: "Add a fee", Head: "fee"})
			w.Settle()
			group := repo.MergeGroup(pr)
			w.Settle()
			run := concluded(t, w, repo, group.HeadSHA, name)
			if !strings.Contains(run.Summary, " mutants, ") {
				t.Errorf("the group was not measured:\n%s", run.Summary)
			}
			if n, _ := measurements(t, w); n != 2 {
				t.Errorf("%d heads were measured, want the pull request's and the group's", n)
			}
		})
	}
}
