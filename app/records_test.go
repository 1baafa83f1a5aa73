package app_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/prosecutor-bot/prosecutor/app/record"
	"github.com/prosecutor-bot/prosecutor/app/store"
	"github.com/prosecutor-bot/prosecutor/app/store/storetest"
	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/judge"
	"github.com/prosecutor-bot/prosecutor/test/apptest"
	"github.com/prosecutor-bot/prosecutor/test/githubtest"
)

// collected is a sink that keeps records.
type collected struct {
	t       *testing.T
	records []record.Record
}

func (*collected) Begin(record.Repository, record.Point) error { return nil }
func (*collected) End(*record.Point) error                     { return nil }
func (c *collected) Record(s record.Sealed) error {
	var r record.Record
	if err := json.Unmarshal(s.Text, &r); err != nil {
		c.t.Errorf("%v: %s", err, s.Text)
	}
	c.records = append(c.records, r)
	return nil
}

// recordsOf are the records of a repository, whose chain has to be intact.
func recordsOf(t *testing.T, w *apptest.World, repo *githubtest.Repo) []record.Record {
	t.Helper()
	c, v := &collected{t: t}, record.NewVerifier(nil)
	if err := errors.Join(w.Store.Records().Read(t.Context(), repo.ID(), c), w.Store.Records().Read(t.Context(), repo.ID(), v)); err != nil {
		t.Fatal(err)
	}
	for _, r := range v.Reports() {
		if r.Status != record.Intact {
			t.Errorf("the chain of %s: %+v", repo.FullName(), r)
		}
	}
	return c.records
}

// story is what records tell, in short.
func story(records []record.Record) []string {
	var out []string
	for _, r := range records {
		s := string(r.Kind)
		for _, word := range []string{r.Decision, r.Reason, r.Conclusion} {
			if word != "" {
				s += " " + word
			}
		}
		if r.Act != nil {
			s += " by " + r.Act.By
		}
		out = append(out, s)
	}
	return out
}

func tells(t *testing.T, records []record.Record, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, story(records)); diff != "" {
		t.Fatalf("records (-want +got):\n%s", diff)
	}
}

// priced is a judge that says what it costs.
type priced struct{ *scripted }

func (p priced) Ask(ctx context.Context, req judge.Request) (judge.Reply, error) {
	r, err := p.scripted.Ask(ctx, req)
	r.Model, r.TokensIn, r.TokensOut, r.CostUSD = p.id+"-2026", 1000, 20, 0.0123456
	return r, err
}

const blockLimit = `{"verdict":"block","findings":[{"severity":"high","charge":"correctness","claim":"The limit \u001b[2J is too high. ghp_` + `R7xK2mQ9vLpT4wZc8NbY1sHd6JfGu3EaXo5V","anchor":{"path":"refund.go","side":"RIGHT","quote":"const Limit = 200"}}]}`

// The records of one pull request from its first head to its last.
func TestRecordsTellTheStory(t *testing.T) {
	j := &scripted{id: "one", family: "fern"}
	j.answer = func(_ context.Context, _ int, req judge.Request) (string, error) {
		if strings.Contains(req.Messages[len(req.Messages)-1].Text, "+const Limit = 200") {
			return blockLimit, nil
		}
		return ship, nil
	}
	w := apptest.New(t, apptest.Options{Judges: []judge.Judge{priced{j}}})
	repo := withPolicy(w, "retention: 36h\n")
	repo.Collaborator("maintainer", "write")
	sha := repo.Commit("limit", "Raise the limit", limits)
	w.Settle()
	pr := repo.OpenPR(githubtest.PR{Title: "Raise the limit", Head: "limit", Author: "dev", Body: "secret words of the spec"})
	w.Settle()
	concluded(t, w, repo, sha, "failure")
	all := recordsOf(t, w, repo)
	tells(t, all, "decision LOOP_BACK lens_veto failure")
	first := all[0]

	ledger, err := w.Store.Ledgers().Load(t.Context(), ledgerKey(repo, pr.Number()))
	if err != nil {
		t.Fatal(err)
	}
	decided := ledger.Review().Decided
	want := record.Record{
		Version: 1, Sequence: 1, At: first.At, Kind: record.Decision, Software: record.Software{Name: "prosecutor", Version: "test"},
		Repository: record.Repository{ID: repo.ID(), Name: "acme/pay"}, PullRequest: pr.Number(),
		Case:  record.Case{Base: decided.Base, Head: sha, PolicyHash: decided.PolicyHash, SpecHash: decided.SpecHash, EvidenceStates: decided.EvidenceStates},
		Run:   &record.Run{ID: first.Run.ID, Generation: 1, Beginning: first.Run.Beginning, Cause: "push"},
		Event: "pull_request.opened", Sender: first.Sender, Outcome: "decided", Decision: "LOOP_BACK", Reason: "lens_veto",
		Title: concluded(t, w, repo, sha, "failure").Title, Conclusion: "failure", BlastRadius: "low",
		Evidence: first.Evidence, KeepDays: 2,
		Ledger: &record.Transition{
			Before: record.Ledger{Hash: first.Ledger.Before.Hash, Epoch: 1},
			After:  record.Ledger{Hash: hashOf(t, ledger), Epoch: 1, Laps: 1, BudgetLaps: 1, Attempts: 1, LastVerdict: "LOOP_BACK"},
		},
	}
	answer := sha256.Sum256([]byte(blockLimit))
	who := record.Judge{Name: "one", Family: "fern", Provider: "fern-cloud", Model: "one"}
	pass := first.Lenses[0].Attempts[0].Passes[0]
	want.Lenses = []record.Lens{{Lens: "correctness", Verdict: "block", Judge: &who, Attempts: []record.Attempt{{Judge: who, Verdict: "block", Passes: []record.Pass{{
		Verdict: "block",
		Call: record.Call{Model: "one-2026", Calls: 1, LatencyMS: pass.LatencyMS, TokensIn: 1000, TokensOut: 20, CostMicroUSD: 12346,
			PromptHash: pass.PromptHash, AnswerHash: hex.EncodeToString(answer[:])},
	}}}}}}
	want.Findings = []record.Finding{{
		ID: first.Findings[0].ID, Lens: "correctness", Source: "model", Origin: "one", Severity: "high", Claimed: "high", Charge: "correctness",
		Claim: first.Findings[0].Claim, Blocking: true, Anchor: "anchored", Path: "refund.go", Side: "RIGHT", StartLine: 4, EndLine: 4,
	}}
	if diff := cmp.Diff(want, first); diff != "" {
		t.Errorf("the first record (-want +got):\n%s", diff)
	}
	if first.Run.Beginning == 0 || first.Run.ID == 0 || len(first.Findings[0].ID) == 0 || len(pass.PromptHash) != 64 || len(first.Ledger.Before.Hash) != 64 || first.Ledger.Before.Hash == first.Ledger.After.Hash {
		t.Errorf("%+v, %+v, %+v", first.Findings, pass, first.Ledger)
	}
	states := map[string]string{}
	for _, e := range first.Evidence {
		states[e.Source] = e.State
	}
	if diff := cmp.Diff(map[string]string{"code_scanning": "not_applicable", "ci_checks": "not_applicable", "static_rules": "clean", "hollow_test": states["hollow_test"]}, states); diff != "" || len(states) != 4 {
		t.Errorf("evidence (-want +got):\n%s", diff)
	}
	if c := first.Findings[0].Claim; !strings.Contains(c, "\x1b[2J is too high.") || strings.Contains(c, "ghp_R7x") {
		t.Errorf("claim %q", c)
	}

	// A person dismisses it, and the gate advances.
	pr.ReplyTo(pr.ReviewComments()[0].ID, "maintainer", "/prosecute dismiss the business asked for it")
	w.Settle()
	all = recordsOf(t, w, repo)
	tells(t, all[1:], "dismissal by maintainer", "decision ADVANCE unanimous success")
	dismissal, advance := all[1], all[2]
	if diff := cmp.Diff(&record.Act{By: "maintainer", Reason: "the business asked for it", Finding: first.Findings[0].ID}, dismissal.Act); diff != "" {
		t.Errorf("act (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(&record.Sender{Login: "maintainer", Type: "User", Permission: "write"}, dismissal.Sender); diff != "" {
		t.Errorf("sender (-want +got):\n%s", diff)
	}
	if l := dismissal.Ledger; l.Before != first.Ledger.After || l.After.Hash == l.Before.Hash || l.After.Dismissals != 1 || l.Before.Dismissals != 0 {
		t.Errorf("ledger of the dismissal %+v behind %+v", l, first.Ledger)
	}
	if dismissal.PullRequest != pr.Number() || dismissal.Case.Head != sha || dismissal.Case.PolicyHash != first.Case.PolicyHash || dismissal.KeepDays != 2 || dismissal.Event != "issue_comment.dismiss" || dismissal.Run != nil {
		t.Errorf("%+v", dismissal)
	}
	if !advance.Findings[0].Dismissed || advance.Findings[0].Blocking || !advance.Lenses[0].Refuted || advance.Run.Generation != 2 || advance.Sender.Login != "maintainer" || !advance.Ledger.After.Converged {
		t.Errorf("%+v", advance)
	}
	// The prompt is the same but for its nonce.
	if h := advance.Lenses[0].Attempts[0].Passes[0].PromptHash; h != pass.PromptHash {
		t.Errorf("the hash of one prompt is %s and %s", pass.PromptHash, h)
	}

	// Another head is overridden before it can be told what is wrong with it.
	second := repo.Commit("limit", "Settings", map[string]string{"a.env": leak})
	w.Settle()
	pr.Comment("maintainer", "/prosecute override a test \x1b[2J fixture")
	w.Settle()
	all = recordsOf(t, w, repo)
	tells(t, all[3:], "decision LOOP_BACK red_evidence failure", "override by maintainer", "guard overridden neutral")
	if o := all[4]; o.Act.Reason == "" || o.Case.Head != second || o.Ledger.Before.Hash == o.Ledger.After.Hash || o.Kind != record.Override {
		t.Errorf("%+v", o)
	}
	if red := all[3]; len(red.Lenses) != 0 || len(red.Findings) != 1 || red.Ledger.After.Laps != 2 {
		t.Errorf("%+v", red)
	}
	for _, e := range all[3].Evidence {
		if e.CountsAsRed != (e.Source == "static_rules") || e.Findings != 0 && e.Source != "static_rules" {
			t.Errorf("%+v", e)
		}
	}

	// Switched off, on again, and what stands is shown once more.
	pr.Label("maintainer", "prosecutor:off")
	w.Settle()
	pr.Unlabel("maintainer", "prosecutor:off")
	w.Settle()
	third := repo.Commit("limit", "Back", map[string]string{"a.env": "", "refund.go": "package pay\n\n// Limit is the largest refund of all.\nconst Limit = 100\n"})
	w.Settle()
	concluded(t, w, repo, third, "success")
	for range 2 {
		pr.Label("maintainer", "prosecutor:off")
		w.Settle()
		pr.Unlabel("maintainer", "prosecutor:off")
		w.Settle()
	}
	if c := latest(w, repo, third); c.Conclusion != "success" {
		t.Errorf("check run %+v", c)
	}
	all = recordsOf(t, w, repo)
	tells(t, all[6:],
		"kill_switch by maintainer", "guard kill_switch neutral", "kill_switch by maintainer", "guard overridden neutral",
		"decision ADVANCE unanimous success",
		"kill_switch by maintainer", "guard kill_switch neutral", "kill_switch by maintainer", "guard already_decided success",
		"kill_switch by maintainer", "guard kill_switch neutral", "kill_switch by maintainer", "guard already_decided success")
	if all[6].Act.Judging != "off" || all[8].Act.Judging != "on" || all[6].Sender.Permission != "write" || all[6].Case.Head != second || all[6].KeepDays != 2 {
		t.Errorf("%+v, %+v", all[6], all[8])
	}
	for _, again := range []record.Record{all[14], all[18]} {
		if again.Restates != all[10].Sequence || again.Decision != "" || again.Title != all[10].Title {
			t.Errorf("%+v does not restate %d", again, all[10].Sequence)
		}
	}
	raw, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"ghp_R7x", "secret words of the spec", "const Limit", "The marker word"} {
		if strings.Contains(string(raw), secret) {
			t.Errorf("%q is in the records", secret)
		}
	}
}

func hashOf(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

// A judge that fails, the one that takes over, and a lens that keeps its verdict.
func TestRecordsOfFailedAndKeptLenses(t *testing.T) {
	one, two := &scripted{id: "one", family: "fern"}, &scripted{id: "two", family: "moss"}
	down := &judge.Error{Kind: prosecutor.Transport, Provider: "fern-cloud", Status: 503, Err: errors.New("no ghp_" + "R7xK2mQ9vLpT4wZc8NbY1sHd6JfGu3EaXo5V today")}
	one.answer = func(context.Context, int, judge.Request) (string, error) { return "", down }
	w := apptest.New(t, apptest.Options{Judges: []judge.Judge{priced{one}, priced{two}}})
	repo := withPolicy(w, "blast_radius:\n  critical: [refund.go]\n")
	repo.Collaborator("maintainer", "write")
	sha := repo.Commit("limit", "Raise the limit", limits)
	w.Settle()
	pr := repo.OpenPR(githubtest.PR{Title: "Raise the limit", Head: "limit", Author: "dev"})
	w.Settle()
	concluded(t, w, repo, sha, "success")
	pr.Comment("maintainer", "/prosecute lens=security")
	w.Settle()
	all := recordsOf(t, w, repo)
	tells(t, all, "decision ADVANCE unanimous success", "decision ADVANCE unanimous success")
	for _, l := range all[0].Lenses {
		if len(l.Attempts) != 2 || l.Attempts[0].Judge.Name != "one" || l.Attempts[0].ErrorKind != "transport" || l.Judge.Name != "two" || l.Verdict != "ship" || l.Kept {
			t.Errorf("%+v", l)
		}
		failed := l.Attempts[0].Passes[0]
		if failed.AnswerHash != "" || failed.PromptHash == "" || failed.ErrorKind != "transport" || !strings.Contains(failed.Error, "503") || strings.Contains(failed.Error, "ghp_R7x") {
			t.Errorf("%+v", failed)
		}
	}
	if len(all[0].Lenses) != 3 || len(all[1].Lenses) != 3 || all[0].BlastRadius != "high" {
		t.Fatalf("%+v", all)
	}
	for _, l := range all[1].Lenses {
		if kept := l.Lens != "security"; l.Kept != kept || kept && (l.KeptFrom != 1 || len(l.Attempts) != 0 || l.Judge.Name != "two" || l.Verdict != "ship") {
			t.Errorf("%+v", l)
		}
	}
}

func TestRecordsOfHoldsAndFailures(t *testing.T) {
	for _, c := range []struct {
		kind prosecutor.ErrorKind
		want string
	}{
		{prosecutor.Quota, "hold judge_failure"},
		{prosecutor.Auth, "failure auth action_required"},
	} {
		t.Run(string(c.kind), func(t *testing.T) {
			j := &scripted{id: "one", family: "fern"}
			j.answer = func(context.Context, int, judge.Request) (string, error) {
				return "", &judge.Error{Kind: c.kind, Provider: "fern-cloud", ResetAt: time.Now().Add(time.Hour), Err: errors.New("no")}
			}
			w := apptest.New(t, apptest.Options{Judges: []judge.Judge{j}})
			repo := sample(w)
			repo.Commit("docs", "Say more", map[string]string{"README.md": "# pay\n\nRefunds.\n"})
			w.Settle()
			repo.OpenPR(githubtest.PR{Title: "Say more", Head: "docs"})
			w.Until(func() bool { return len(recordsOf(t, w, repo)) > 0 })
			all := recordsOf(t, w, repo)
			tells(t, all, c.want)
			r := all[0]
			if r.Lenses[0].ErrorKind != string(c.kind) || r.Lenses[0].Attempts[0].Passes[0].Calls != 1 || r.KeepDays != 180 {
				t.Errorf("%+v", r)
			}
			if held := c.kind == prosecutor.Quota; held && (len(r.Failures) != 1 || r.Failures[0].Effect != "hold") || r.Ledger.After.Laps != 0 {
				t.Errorf("%+v", r)
			}
		})
	}
}

// What decides nothing leaves no record.
func TestNoRecordOfNothing(t *testing.T) {
	w := apptest.New(t)
	repo := w.GitHub.AddRepo("acme/pay", map[string]string{"README.md": "# pay\n", ".github/prosecutor.yml": "checks:\n  required: [build]\n"})
	repo.Commit("docs", "Say more", map[string]string{"README.md": "# pay\n\nRefunds.\n"})
	w.Settle()
	pr := repo.OpenPR(githubtest.PR{Title: "Say more", Head: "docs"})
	w.Until(func() bool { return strings.Contains(w.Logs.String(), "/check-runs") })
	sha := repo.Commit("docs", "Say it better", map[string]string{"README.md": "# pay\n\nRefunds, mostly.\n"})
	w.Until(func() bool {
		runs := w.CheckRuns(repo, sha)
		return len(runs) == 1 && strings.Contains(runs[0].Title, "build")
	})
	pr.Close()
	w.Settle()
	tells(t, recordsOf(t, w, repo))
}

// A draft that a person asked to have judged, edits without end, a broken policy.
func TestRecordsOfWhatIsNotJudged(t *testing.T) {
	w := apptest.New(t)
	repo := sample(w)
	repo.Commit("docs", "Say more", map[string]string{"README.md": "# pay\n\nRefunds.\n"})
	w.Settle()
	pr := repo.OpenPR(githubtest.PR{Title: "Say more", Head: "docs", Author: "dev"})
	w.Settle()
	want := []string{"decision ADVANCE unanimous success"}
	for i := range store.MaxEdits + 1 {
		pr.EditAs("dev", fmt.Sprintf("Say more, %d", i), "", "")
		w.Settle()
		want = append(want, "decision ADVANCE unanimous success")
	}
	want[store.MaxEdits+1] = "guard edited_too_often action_required"
	repo.Commit("main", "Break the policy", map[string]string{".github/prosecutor.yml": "blast_radius:\n  medium_lines: many\n"})
	w.Settle()
	all := recordsOf(t, w, repo)
	tells(t, all, append(want, "guard broken_policy action_required")...)
	if last := all[len(all)-1]; !strings.Contains(last.Title, "policy") || last.Detail == "" || last.KeepDays != 180 {
		t.Errorf("%+v", last)
	}
}

func TestRecordOfAMergeGroupThatCarriesOver(t *testing.T) {
	w := apptest.New(t)
	repo := sample(w)
	sha := repo.Commit("docs", "Say more", map[string]string{"README.md": "# pay\n\nRefunds.\n"})
	w.Settle()
	pr := repo.OpenPR(githubtest.PR{Title: "Say more", Head: "docs"})
	w.Settle()
	group := repo.MergeGroup(pr)
	w.Settle()
	concluded(t, w, repo, group.HeadSHA, "success")
	all := recordsOf(t, w, repo)
	tells(t, all, "decision ADVANCE unanimous success", "decision ADVANCE carried_over success")
	r := all[1]
	if r.PullRequest != 0 || !strings.Contains(r.MergeGroup, "gh-readonly-queue") || r.Case.Head != group.HeadSHA || r.Case.Base == "" || r.Case.PolicyHash != all[0].Case.PolicyHash {
		t.Errorf("%+v", r)
	}
	if diff := cmp.Diff([]record.Member{{PullRequest: pr.Number(), Head: sha}}, r.Members); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
}

// forbid makes the database refuse rows; the function that it returns makes it take them again.
func forbid(t *testing.T, s *store.Store, table, when string) (allow func()) {
	t.Helper()
	exec := func(query string) {
		t.Helper()
		if _, err := s.DB().ExecContext(context.Background(), query); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
	}
	if s.Dialect() == store.SQLite {
		exec(`CREATE TRIGGER forbidden BEFORE INSERT ON ` + table + ` WHEN ` + when + ` BEGIN SELECT RAISE(ABORT, 'the disk is broken'); END`)
		return func() { exec(`DROP TRIGGER forbidden`) }
	}
	exec(`CREATE OR REPLACE FUNCTION forbidden() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'the disk is broken'; END; $$`)
	exec(`CREATE TRIGGER forbidden BEFORE INSERT ON ` + table + ` FOR EACH ROW WHEN (` + when + `) EXECUTE FUNCTION forbidden()`)
	return func() { exec(`DROP TRIGGER forbidden ON ` + table) }
}

// An ADVANCE that cannot be put on record is not published, and nothing else of it stays either; and what cannot be published
// leaves no record. Both are one transaction.
func TestNoAdvanceWithoutItsRecord(t *testing.T) {
	storetest.Each(t, func(t *testing.T, d storetest.Database) {
		start := func(t *testing.T, j judge.Judge) (*apptest.World, *githubtest.Repo) {
			w := apptest.New(t, apptest.Options{
				Judges: []judge.Judge{j}, Database: d.URL(t), RetryAfter: func(int) time.Duration { return time.Millisecond },
			})
			repo := sample(w)
			repo.Collaborator("maintainer", "write")
			return w, repo
		}
		open := func(w *apptest.World, repo *githubtest.Repo) (*githubtest.PullRequest, string) {
			sha := repo.Commit("docs", "Say more", map[string]string{"README.md": "# pay\n\nRefunds.\n"})
			return repo.OpenPR(githubtest.PR{Title: "Say more", Head: "docs", Author: "dev"}), sha
		}
		t.Run("the decision cannot be recorded", func(t *testing.T) {
			j := &scripted{id: "one", family: "fern"}
			w, repo := start(t, j)
			allow := forbid(t, w.Store, "records", `NEW.record LIKE '%"decision":"ADVANCE"%'`)
			pr, sha := open(w, repo)
			w.Settle()
			c := concluded(t, w, repo, sha, "action_required")
			if !strings.Contains(c.Title, "Not judged") || len(pr.Reviews()) != 0 {
				t.Errorf("%q, %+v", c.Title, pr.Reviews())
			}
			l, err := w.Store.Ledgers().Load(t.Context(), ledgerKey(repo, pr.Number()))
			if err != nil || l.Converged || l.Laps != 0 {
				t.Errorf("%+v, %v", l, err)
			}
			h, err := w.Store.Ledgers().History(t.Context(), ledgerKey(repo, pr.Number()), 10)
			if err != nil || len(h) != 0 {
				t.Errorf("%+v, %v", h, err)
			}
			all := recordsOf(t, w, repo)
			tells(t, all, "failure given_up action_required")
			if all[0].Detail == "" || all[0].Run.Generation != 1 || all[0].Case.Head != sha || all[0].Case.PolicyHash == "" || all[0].Case.SpecHash == "" {
				t.Errorf("%+v", all[0])
			}
			allow()
			pr.Comment("maintainer", "/prosecute")
			w.Settle()
			if c := latest(w, repo, sha); c.Conclusion != "success" {
				t.Errorf("%+v", c)
			}
			tells(t, recordsOf(t, w, repo), "failure given_up action_required", "decision ADVANCE unanimous success")
		})
		t.Run("nothing can be recorded", func(t *testing.T) {
			w, repo := start(t, &scripted{id: "one", family: "fern"})
			allow := forbid(t, w.Store, "records", `1 = 1`)
			_, sha := open(w, repo)
			w.Settle()
			concluded(t, w, repo, sha, "action_required")
			tells(t, recordsOf(t, w, repo))
			allow()
		})
		t.Run("the chain cannot be gone on with", func(t *testing.T) {
			j := &scripted{id: "one", family: "fern"}
			w, repo := start(t, j)
			pr, sha := open(w, repo)
			w.Settle()
			concluded(t, w, repo, sha, "success")
			if _, err := w.Store.DB().ExecContext(t.Context(), `DELETE FROM record_chains`); err != nil {
				t.Fatal(err)
			}
			asked := j.count()
			pr.Comment("maintainer", "/prosecute")
			w.Settle()
			if c := latest(w, repo, sha); c.Conclusion != "action_required" || j.count() != asked {
				t.Errorf("%+v after %d more calls, want none", c, j.count()-asked)
			}
		})
		t.Run("the publication cannot be enqueued", func(t *testing.T) {
			j := &scripted{id: "one", family: "fern"}
			w, repo := start(t, j)
			allow := forbid(t, w.Store, "river_job", `NEW.kind = 'publish'`)
			_, sha := open(w, repo)
			w.Until(func() bool { return strings.Contains(w.Logs.String(), "a job that was given up could not be recorded") })
			if c := w.CheckRuns(repo, sha); len(c) != 1 || c[0].Status != "in_progress" {
				t.Errorf("%+v", c)
			}
			tells(t, recordsOf(t, w, repo))
			allow()
			w.Until(func() bool {
				w.App.Sweep(t.Context()) // finds the run once its job has ended
				idle, err := w.App.Idle(t.Context())
				return err == nil && idle
			})
			concluded(t, w, repo, sha, "success")
			tells(t, recordsOf(t, w, repo), "decision ADVANCE unanimous success")
		})
	})
}

// Old records go with a sweep, and what is left verifies.
func TestSweepPrunesRecords(t *testing.T) {
	w := apptest.New(t)
	repo := sample(w)
	sha := repo.Commit("docs", "Say more", map[string]string{"README.md": "# pay\n\nRefunds.\n"})
	w.Settle()
	repo.OpenPR(githubtest.PR{Title: "Say more", Head: "docs"})
	w.Settle()
	repo.Rerequest(concluded(t, w, repo, sha, "success").ID)
	w.Settle()
	w.App.Sweep(t.Context())
	tells(t, recordsOf(t, w, repo), "decision ADVANCE unanimous success", "decision ADVANCE unanimous success")
	// The first one has been kept for long enough.
	for _, query := range []string{`DROP TRIGGER records_are_not_changed`, `UPDATE records SET keep_until = 1 WHERE sequence = 1`} {
		if _, err := w.Store.DB().ExecContext(t.Context(), query); err != nil {
			t.Fatal(err)
		}
	}
	w.App.Sweep(t.Context())
	if all := recordsOf(t, w, repo); len(all) != 1 || all[0].Sequence != 2 {
		t.Errorf("%v", story(all))
	}
	// What was changed is not pruned, and the log says so.
	if _, err := w.Store.DB().ExecContext(t.Context(), `UPDATE records SET keep_until = 1, record = '{}' WHERE sequence = 2`); err != nil {
		t.Fatal(err)
	}
	w.App.Sweep(t.Context())
	if logs := w.Logs.String(); !strings.Contains(logs, "removing old records of evidence") || !strings.Contains(logs, "broken at record 2") {
		t.Error("the log does not say that a chain is broken")
	}
}
