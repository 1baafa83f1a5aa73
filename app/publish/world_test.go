package publish_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/google/go-github/v62/github"

	"github.com/prosecutor-bot/prosecutor/app/ghclient"
	"github.com/prosecutor-bot/prosecutor/app/publish"
	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/convergence"
	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/diff"
	"github.com/prosecutor-bot/prosecutor/prosecutor/report"
	"github.com/prosecutor-bot/prosecutor/test/githubtest"
)

// world is a pull request on the emulator, and a publisher that reaches it over HTTP.
type world struct {
	t       *testing.T
	s       *githubtest.Server
	repo    *githubtest.Repo
	pr      *githubtest.PullRequest
	clients *ghclient.Clients
	wire    *wire
	p       *publish.Publisher
	now     time.Time
	cached  *diff.Diff
}

// wire is the network: it can lose an answer, before or after the server acted on the request.
type wire struct {
	mu   sync.Mutex
	n    int
	fail int  // the request that is lost, from 1; 0 for none
	done bool // it reached the server
}

var errLost = errors.New("the connection was lost")

func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	w.mu.Lock()
	w.n++
	lost, done := w.fail != 0 && w.n >= w.fail, w.done && w.n == w.fail
	w.mu.Unlock()
	if lost && !done {
		return nil, errLost
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if lost && err == nil {
		resp.Body.Close()
		return nil, errLost
	}
	return resp, err
}

func (w *wire) lose(n int, done bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.n, w.fail, w.done = 0, n, done
}

const (
	oldFile = "package pay\n\nfunc Pay(n int) error {\n\tif n < 0 {\n\t\treturn errNegative\n\t}\n\treturn charge(n)\n}\n"
	newFile = "package pay\n\nfunc Pay(n int) error {\n\treturn charge(n)\n}\n\nfunc Refund(n int) error {\n\tv := lookup(n)\n\treturn v.send()\n}\n"
)

func newWorld(t *testing.T) *world {
	w := &world{t: t, s: githubtest.New(t), wire: &wire{}, now: time.Date(2026, 11, 30, 14, 0, 0, 0, time.UTC)}
	w.repo = w.s.AddRepo("acme/pay", map[string]string{"pay.go": oldFile, "README.md": "pay\n"})
	w.repo.Commit("feature", "Refund", map[string]string{"pay.go": newFile})
	w.pr = w.repo.OpenPR(githubtest.PR{Title: "Refund", Head: "feature", Author: "dev"})
	app := w.s.App()
	clients, err := ghclient.New(ghclient.Options{
		AppID: app.ID, PrivateKey: app.PrivateKeyPEM, REST: w.s.REST, GraphQL: w.s.GraphQL, HTML: w.s.URL,
		WriteRate: 1000, WriteBurst: 1000, Transport: w.wire,
		Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(clients.Close)
	w.clients = clients
	w.p = publish.New(publish.Options{Clients: clients, Now: func() time.Time { return w.now }})
	return w
}

// another is another pull request of the same repository.
func (w *world) another(branch string) *world {
	next := *w
	next.repo.Commit(branch, "Refund on "+branch, map[string]string{"pay.go": newFile})
	next.pr = next.repo.OpenPR(githubtest.PR{Title: "Refund", Head: branch, Author: "dev"})
	next.cached = nil
	return &next
}

func (w *world) target() publish.Target {
	return publish.Target{
		Installation: w.s.InstallationID("acme"), RepoID: w.repo.ID(), Owner: "acme", Repo: "pay", PR: w.pr.Number(),
		Head: w.pr.HeadSHA(), Generation: 1, Attempt: 1,
	}
}

// diff is the pull request's diff as GitHub serves it.
func (w *world) diff() *diff.Diff {
	w.t.Helper()
	gh, err := w.clients.Installation(context.Background(), w.s.InstallationID("acme"), ghclient.Scope{})
	if err != nil {
		w.t.Fatal(err)
	}
	text, _, err := gh.PullRequests.GetRaw(context.Background(), "acme", "pay", w.pr.Number(), github.RawOptions{Type: github.Diff})
	if err != nil {
		w.t.Fatal(err)
	}
	d, err := diff.ParseString(text)
	if err != nil {
		w.t.Fatal(err)
	}
	return d
}

// finding is a model's finding whose quotation is looked up in the diff, as the core does it.
func finding(d *diff.Diff, lens prosecutor.Lens, severity prosecutor.Severity, side prosecutor.Side, quote, claim string) report.Finding {
	f := prosecutor.Finding{
		Lens: lens, Charge: prosecutor.ChargeCorrectness, Severity: severity,
		Anchor: &prosecutor.Anchor{Path: "pay.go", Side: side, Quote: quote},
	}
	f.Place = d.Locate(*f.Anchor)
	id := prosecutor.Identify(f)
	return report.Finding{
		ID: id, Lens: string(lens), Source: "model", Origin: "gpt", Severity: string(severity), Claimed: string(severity), Charge: "correctness",
		Blocking: severity.Blocks(), Path: "pay.go", Side: string(f.Place.Side), StartLine: f.Place.StartLine, EndLine: f.Place.EndLine,
		Anchored: f.Place.Status == prosecutor.Anchored, Anchor: string(f.Place.Status), Quote: quote, Claim: claim,
	}
}

// publication is a decided case with these findings.
func publication(decision convergence.Decision, d *diff.Diff, findings ...report.Finding) *publish.Publication {
	word := string(decision)
	pub := &publish.Publication{
		Attempt: 1, Title: "Blocked: " + report.Tally(&report.Document{Findings: findings}), CheckStatus: convergence.CheckCompleted,
		Conclusion: convergence.Failure, Decision: decision, Policy: config.DefaultPolicy().Publish, Files: d, Lap: 1, Epoch: 1, Author: "dev",
		Heard: []string{"correctness", "security", "static_rules"},
		Result: &report.Document{
			Version: 1, Outcome: "decided", Decision: &word, Reason: "lens_veto", Summary: "vetoed", Next: "Fix what blocks, commit, and run again.",
			Case:        report.Case{Repo: "acme/pay", Base: "aaaaaaaaaaaaaaaa", PolicySource: "built-in defaults"},
			BlastRadius: report.BlastRadius{Level: "medium", Why: []string{"240 changed lines of source, more than 200"}, ChangedLines: 240, Files: 1},
			Evidence:    []report.Evidence{{Source: "static_rules", State: "clean", Detail: "no finding"}},
			Lenses: []report.Lens{
				{Lens: "correctness", Judge: "gpt", Family: "openai", Verdict: "block", Passes: make([]report.Pass, 1)},
				{Lens: "security", Judge: "gpt", Family: "openai", Verdict: "ship", Passes: make([]report.Pass, 1)},
			},
			Findings: findings,
			NotRead:  []report.NotRead{{Path: "go.sum", Lines: 12, Reason: "a lock file"}},
			Ledger:   &report.Ledger{Laps: 1, BudgetLaps: 1, MaxLaps: 3, Epoch: 1},
		},
	}
	switch decision {
	case convergence.Advance:
		pub.Title, pub.Conclusion = "Advance: 2 lenses, medium radius", convergence.Success
	case convergence.Escalate:
		pub.Title, pub.Conclusion = "Escalated: lap budget 3/3", convergence.ActionRequired
	}
	if decision != convergence.Advance {
		for _, f := range findings {
			if f.Blocking {
				pub.Blocking = append(pub.Blocking, f.ID)
			}
		}
	}
	return pub
}

// begin creates the check run and hands its id to the publication.
func (w *world) begin(t publish.Target, pub *publish.Publication) {
	w.t.Helper()
	id, err := w.p.Begin(context.Background(), t, "Judging")
	if err != nil {
		w.t.Fatal(err)
	}
	pub.CheckRunID = id
}

func (w *world) publish(t publish.Target, pub *publish.Publication) publish.Published {
	w.t.Helper()
	out, err := w.p.Publish(context.Background(), t, pub)
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

// run is the only check run of a head.
func (w *world) run(sha string) githubtest.CheckRun {
	w.t.Helper()
	var ours []githubtest.CheckRun
	for _, r := range w.repo.CheckRuns(sha) {
		if r.Name == publish.CheckName {
			ours = append(ours, r)
		}
	}
	if len(ours) != 1 {
		w.t.Fatalf("%d check runs of ours on %s", len(ours), sha)
	}
	return ours[0]
}

func (w *world) reviews() []githubtest.Review {
	var out []githubtest.Review
	for _, r := range w.pr.Reviews() {
		if r.Author == w.s.App().BotLogin() {
			out = append(out, r)
		}
	}
	return out
}

// calls are the requests since the last reset, without tokens, and forgets them.
func (w *world) calls() []string {
	var out []string
	for _, r := range w.s.Requests() {
		if r.Route == "/app/installations/{installation_id}/access_tokens" {
			continue
		}
		where := r.Route
		if where == "" {
			where = r.Path
		}
		out = append(out, r.Method+" "+where)
	}
	w.s.ResetRequests()
	return out
}
