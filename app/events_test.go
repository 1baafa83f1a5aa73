package app_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/prosecutor-bot/prosecutor/app/store"
	"github.com/prosecutor-bot/prosecutor/app/webhook"
	"github.com/prosecutor-bot/prosecutor/prosecutor/judge"
	"github.com/prosecutor-bot/prosecutor/test/apptest"
	"github.com/prosecutor-bot/prosecutor/test/githubtest"
)

// stage is where one pair of event and action is played: a repository on an account of its own, so that all pairs are played
// on one GitHub at the same time and none hears of another.
type stage struct {
	w            *apptest.World
	repo         *githubtest.Repo
	owner        string
	installation int64

	pr       *githubtest.PullRequest
	head     string
	comment  int64 // that act made
	alert    int
	group    *githubtest.Group
	lostLast []byte // the payload of the last delivery that did not come

	hears func(pair string) bool // which events come to the App; nil means all
}

// scene is one test of a pair: steps, each of which settles, then act, whose event of the pair alone comes to the App.
type scene struct {
	pair  string // event.action; the event alone when it has no actions
	what  string // tells scenes of one pair apart
	base  map[string]string
	steps []func(*stage)
	act   func(*stage)
	also  []string // pairs that come to the App during act besides
	check func(*testing.T, *stage)
}

// change opens the pull request of a stage.
func (s *stage) change(files map[string]string, pr githubtest.PR) {
	s.head = s.repo.Commit("change", "Change", files)
	pr.Title, pr.Head, pr.Author = "Change", "change", "dev"
	s.pr = s.repo.OpenPR(pr)
}

var (
	words  = map[string]string{"README.md": "# pay\n\nRefunds.\n"}
	limits = map[string]string{"refund.go": "package pay\n\n// Limit is the largest refund.\nconst Limit = 200\n"}

	needsBuild = map[string]string{".github/prosecutor.yml": "checks:\n  required: [build]\n"}
)

// opened opens a pull request that nothing speaks against, and accused one that the judge blocks.
func opened(s *stage)  { s.change(words, githubtest.PR{}) }
func accused(s *stage) { s.change(limits, githubtest.PR{}) }
func draft(s *stage)   { s.change(words, githubtest.PR{Draft: true}) }

// built opens a pull request whose required check is green.
func built(s *stage) {
	s.head = s.repo.Commit("change", "Change", words)
	s.repo.Check(s.head, "build", "completed", "success", "")
	s.pr = s.repo.OpenPR(githubtest.PR{Title: "Change", Head: "change", Author: "dev"})
}

// forked opens a pull request of a fork.
func forked(s *stage) {
	s.head = s.repo.Fork("guest-of-"+s.owner).Commit("change", "Change", words)
	s.pr = s.repo.OpenPR(githubtest.PR{Title: "Change", Head: "guest-of-" + s.owner + ":change", Author: "guest-of-" + s.owner})
}

// forkedBuilt opens a pull request of a fork whose required check is green.
func forkedBuilt(s *stage) {
	s.head = s.repo.Fork("guest-of-"+s.owner).Commit("change", "Change", words)
	s.pr = s.repo.OpenPR(githubtest.PR{Title: "Change", Head: "guest-of-" + s.owner + ":change", Author: "guest-of-" + s.owner, Draft: true})
	s.repo.Check(s.head, "build", "completed", "success", "") // the repository has the commit once it is asked for
	s.pr.Ready()
}

// unheard has a step happen without the App hearing of it.
func unheard(step func(*stage)) func(*stage) {
	return func(s *stage) {
		lostMu.Lock()
		s.hears = func(string) bool { return false }
		lostMu.Unlock()
		step(s)
	}
}

// parked opens a pull request within act, and waits until it waits for its required check.
func parked(s *stage) {
	opened(s)
	s.w.Until(func() bool { return strings.Contains(latest(s.w, s.repo, s.head).Title, "build") })
}

func (s *stage) runs() []githubtest.CheckRun { return s.w.CheckRuns(s.repo, s.head) }

// concludes demands that the head has n check runs, all completed, and the newest with the conclusion.
func concludes(n int, conclusion string) func(*testing.T, *stage) {
	return func(t *testing.T, s *stage) {
		t.Helper()
		runs := s.runs()
		for _, r := range runs {
			if r.Status != "completed" {
				t.Errorf("check run %q is %s", r.Title, r.Status)
			}
		}
		if last := latest(s.w, s.repo, s.head); len(runs) != n || last.Conclusion != conclusion {
			t.Errorf("%d check runs, the newest %s: %q; want %d, the newest %s", len(runs), last.Conclusion, last.Title, n, conclusion)
		}
		if s.pr != nil {
			undoubled(t, s.w, s.pr)
		}
	}
}

// ended demands that no work is left, although its check run could not be concluded: nobody may write there any more.
func ended(t *testing.T, s *stage) {
	runs, err := s.w.Store.RunsOfHead(context.Background(), s.repo.ID(), s.pr.Number(), s.head)
	if err != nil || len(runs) != 1 || runs[0].State != store.RunCancelled && runs[0].State != store.RunPublished {
		t.Errorf("runs: %+v, %v", runs, err)
	}
	for _, r := range s.runs() {
		if r.Conclusion != "" && r.Conclusion != "cancelled" {
			t.Errorf("check run %+v", r)
		}
	}
}

func (s *stage) installationState(t *testing.T) store.InstallationState {
	list, err := s.w.Store.Installations(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range list {
		if i.ID == s.installation {
			return i.State
		}
	}
	return "unknown"
}

// scanned has code scanning report on the pull request that comes next, with the alert in a state ("" for none).
func scanned(state string) func(*stage) {
	return func(s *stage) {
		s.repo.Analysis(githubtest.Analysis{CommitSHA: s.repo.Head("main")})
		s.head = s.repo.Commit("change", "Change", words)
		s.pr = s.repo.OpenPR(githubtest.PR{Title: "Change", Head: "change", Author: "dev"})
		s.repo.Analysis(githubtest.Analysis{Ref: "refs/pull/1/merge", CommitSHA: s.head, Results: 1})
		if state == "" {
			return
		}
		s.alarm("refs/pull/1/merge")
		if state != "open" {
			s.repo.SetAlert(s.alert, state, "maintainer")
		}
	}
}

func (s *stage) alarm(ref string) {
	s.alert = s.repo.Alert(githubtest.Alert{
		Number: s.alert, Ref: ref, CommitSHA: s.head, Rule: "go/limit", SecuritySeverity: "high", Severity: "error",
		Path: "README.md", StartLine: 3, Description: "A limit", Message: "too high",
	})
}

// post sends the payload that was lost with another action, signed as GitHub would. It is for the one action that GitHub no
// longer describes.
func (s *stage) post(event, from, to string) {
	body := bytes.Replace(s.lostLast, []byte(`"action":"`+from+`"`), []byte(`"action":"`+to+`"`), 1)
	mac := hmac.New(sha256.New, []byte(s.w.GitHub.App().WebhookSecret))
	mac.Write(body)
	req, err := http.NewRequest(http.MethodPost, s.w.Hook(), bytes.NewReader(body))
	if err != nil {
		panic(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-GitHub-Event", event)
	req.Header.Set("X-GitHub-Delivery", "posted-for-"+s.owner)
	req.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		panic(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusAccepted {
		panic("the posted delivery was answered with " + resp.Status)
	}
}

func (s *stage) replies() (n int) {
	for _, c := range s.pr.IssueComments() {
		if c.Author == s.w.GitHub.App().BotLogin() && strings.Contains(c.Body, "/prosecute dismiss") {
			n++
		}
	}
	return n
}

func scenes() []scene {
	type steps = []func(*stage)
	push := func(s *stage) {
		s.head = s.repo.Commit("change", "Change more", map[string]string{"README.md": "# pay\n\nRefunds, by hand.\n"})
	}
	one := concludes(1, "success")
	return []scene{
		{pair: "pull_request.opened", act: opened, check: one},
		{pair: "pull_request.opened", what: "of a fork", act: forked, check: one},
		{pair: "pull_request.opened", what: "a draft", act: draft, check: concludes(0, "")},
		{pair: "pull_request.reopened", steps: steps{unheard(func(s *stage) { opened(s); s.pr.Close() })}, act: func(s *stage) { s.pr.Reopen() }, check: one},
		{pair: "pull_request.synchronize", steps: steps{accused}, act: func(s *stage) {
			s.head = s.repo.Commit("change", "Undo", map[string]string{"refund.go": "package pay\n\n// Limit is the largest refund of all.\nconst Limit = 100\n"})
		}, check: one},
		{pair: "pull_request.synchronize", what: "a draft", steps: steps{draft}, act: push, check: concludes(0, "")},
		{pair: "pull_request.ready_for_review", steps: steps{draft}, act: func(s *stage) { s.pr.Ready() }, check: one},
		{pair: "pull_request.edited", what: "the title", steps: steps{opened}, act: func(s *stage) { s.pr.Edit("Say more of refunds", "") }, check: concludes(2, "success")},
		{pair: "pull_request.edited", what: "the body", steps: steps{opened}, act: func(s *stage) { s.pr.Edit("", "As was asked for.") }, check: concludes(2, "success")},
		{pair: "pull_request.edited", what: "the base", steps: steps{func(s *stage) {
			s.repo.Commit("release", "Cut a release", map[string]string{".github/prosecutor.yml": "blast_radius:\n  medium_lines: many\n"})
			opened(s)
		}}, act: func(s *stage) { s.pr.EditAs("dev", "", "", "release") }, check: concludes(2, "action_required")},
		{pair: "pull_request.labeled", steps: steps{accused}, act: func(s *stage) { s.pr.Label("maintainer", "prosecutor:off") }, check: concludes(2, "neutral")},
		{pair: "pull_request.labeled", what: "by somebody who may not write", steps: steps{accused}, act: func(s *stage) { s.pr.Label("triager", "prosecutor:off") }, check: func(t *testing.T, s *stage) {
			if c := latest(s.w, s.repo, s.head); c.Conclusion != "failure" {
				t.Errorf("check run %s: %q", c.Conclusion, c.Title)
			}
		}},
		{pair: "pull_request.labeled", what: "with another label", steps: steps{accused}, act: func(s *stage) { s.pr.Label("maintainer", "urgent") }, check: concludes(1, "failure")},
		{pair: "pull_request.unlabeled", steps: steps{accused, func(s *stage) { s.pr.Label("maintainer", "prosecutor:off") }}, act: func(s *stage) { s.pr.Unlabel("maintainer", "prosecutor:off") },
			check: concludes(3, "failure")},
		{pair: "pull_request.closed", base: needsBuild, also: []string{"pull_request.opened"}, act: func(s *stage) { parked(s); s.pr.Close() }, check: concludes(1, "cancelled")},
		{pair: "pull_request.converted_to_draft", base: needsBuild, also: []string{"pull_request.opened"}, act: func(s *stage) { parked(s); s.pr.Draft() }, check: concludes(1, "cancelled")},

		{pair: "push", what: "to a base branch", steps: steps{opened}, act: func(s *stage) {
			s.repo.Commit("main", "Break the policy", map[string]string{".github/prosecutor.yml": "blast_radius:\n  medium_lines: many\n"})
		}, check: concludes(2, "action_required")},
		{pair: "push", what: "to a base branch whose pull requests are not known", steps: steps{unheard(opened)}, act: func(s *stage) {
			s.repo.Commit("main", "Go on", map[string]string{"other.md": "Other.\n"})
		}, check: one},
		{pair: "push", what: "to a branch that nobody asks for", steps: steps{opened}, act: func(s *stage) {
			s.repo.Commit("elsewhere", "Go on", map[string]string{"other.md": "Other.\n"})
		}, check: one},

		{pair: "status", base: needsBuild, steps: steps{func(s *stage) {
			s.head = s.repo.Commit("change", "Change", words)
			s.repo.Status(s.head, "build", "success", "built")
			s.pr = s.repo.OpenPR(githubtest.PR{Title: "Change", Head: "change", Author: "dev"})
		}}, act: func(s *stage) { s.repo.Status(s.head, "build", "failure", "broken") }, check: concludes(2, "failure")},
		{pair: "status", what: "pending", steps: steps{opened}, act: func(s *stage) { s.repo.Status(s.head, "lint", "pending", "") }, check: one},

		{pair: "check_run.completed", base: needsBuild, steps: steps{built}, act: func(s *stage) { s.repo.Check(s.head, "build", "completed", "failure", "") }, check: concludes(2, "failure")},
		{pair: "check_run.completed", what: "of a fork", base: needsBuild, steps: steps{forkedBuilt}, act: func(s *stage) { s.repo.Check(s.head, "build", "completed", "failure", "") }, check: concludes(2, "failure")},
		{pair: "check_run.completed", what: "of a fork that is not known", base: needsBuild, steps: steps{unheard(forkedBuilt)}, act: func(s *stage) { s.repo.Check(s.head, "build", "completed", "failure", "") }, check: concludes(1, "failure")},
		{pair: "check_run.rerequested", steps: steps{opened}, act: func(s *stage) { s.repo.Rerequest(s.runs()[0].ID) }, check: concludes(2, "success")},
		{pair: "check_run.rerequested", what: "of a fork", steps: steps{forked}, act: func(s *stage) { s.repo.Rerequest(s.runs()[0].ID) }, check: concludes(2, "success")},
		{pair: "check_run.requested_action", steps: steps{accused}, act: func(s *stage) { s.repo.RequestAction(s.runs()[0].ID, "run_again", "maintainer") }, check: concludes(2, "failure")},

		{pair: "check_suite.completed", base: needsBuild, steps: steps{built}, act: func(s *stage) { s.repo.Check(s.head, "build", "completed", "failure", "") }, check: concludes(2, "failure")},
		{pair: "check_suite.completed", what: "of a fork", base: needsBuild, steps: steps{forkedBuilt}, act: func(s *stage) { s.repo.Check(s.head, "build", "completed", "failure", "") }, check: concludes(2, "failure")},
		{pair: "check_suite.rerequested", steps: steps{opened}, act: func(s *stage) { s.repo.RerequestSuite(s.head) }, check: concludes(2, "success")},
		{pair: "check_suite.rerequested", what: "of a fork", steps: steps{forked}, act: func(s *stage) { s.repo.RerequestSuite(s.head) }, check: concludes(2, "success")},

		{pair: "issue_comment.created", steps: steps{accused}, act: func(s *stage) {
			s.comment = s.pr.Comment("maintainer", "/prosecute override the business asked for it")
		},
			check: func(t *testing.T, s *stage) {
				concludes(2, "neutral")(t, s)
				if len(s.repo.Reactions(s.comment)) == 0 {
					t.Error("the command was not marked as seen")
				}
			}},
		{pair: "issue_comment.created", what: "help", steps: steps{opened}, act: func(s *stage) { s.comment = s.pr.Comment("maintainer", "/prosecute help") },
			check: func(t *testing.T, s *stage) {
				one(t, s)
				if s.replies() != 1 {
					t.Errorf("%d replies", s.replies())
				}
			}},
		{pair: "issue_comment.created", what: "no command", steps: steps{opened}, act: func(s *stage) { s.comment = s.pr.Comment("maintainer", "Should we /prosecute this?") },
			check: func(t *testing.T, s *stage) {
				one(t, s)
				if r := s.repo.Reactions(s.comment); len(r) != 0 || s.replies() != 0 {
					t.Errorf("reactions %v, %d replies to a remark", r, s.replies())
				}
			}},
		{pair: "pull_request_review_comment.created", steps: steps{accused}, act: func(s *stage) {
			s.comment = s.pr.ReplyTo(s.pr.ReviewComments()[0].ID, "maintainer", "/prosecute dismiss the business asked for it")
		}, check: func(t *testing.T, s *stage) {
			concludes(2, "success")(t, s)
			if len(s.repo.Reactions(s.comment)) == 0 {
				t.Error("the command was not marked as seen")
			}
		}},

		{pair: "code_scanning_alert.created", steps: steps{scanned("")}, act: func(s *stage) { s.alarm("refs/pull/1/merge") }, check: concludes(2, "failure")},
		{pair: "code_scanning_alert.appeared_in_branch", steps: steps{func(s *stage) {
			scanned("")(s)
			s.repo.Commit("other", "Other", words)
			s.alarm("refs/heads/other")
		}}, act: func(s *stage) { s.alarm("refs/pull/1/merge") }, check: concludes(2, "failure")},
		{pair: "code_scanning_alert.fixed", steps: steps{scanned("open")}, act: func(s *stage) { s.repo.SetAlert(s.alert, "fixed", "") }, check: concludes(2, "success")},
		{pair: "code_scanning_alert.closed_by_user", steps: steps{scanned("open")}, act: func(s *stage) { s.repo.SetAlert(s.alert, "dismissed", "maintainer") }, check: concludes(2, "success")},
		{pair: "code_scanning_alert.reopened", steps: steps{scanned("fixed")}, act: func(s *stage) { s.repo.SetAlert(s.alert, "open", "") }, check: concludes(2, "failure")},
		{pair: "code_scanning_alert.reopened_by_user", steps: steps{scanned("dismissed")}, act: func(s *stage) { s.repo.SetAlert(s.alert, "open", "maintainer") }, check: concludes(2, "failure")},
		{pair: "code_scanning_alert.dismissed", steps: steps{scanned("open")}, act: func(s *stage) {
			s.repo.SetAlert(s.alert, "dismissed", "maintainer")
			s.w.Until(func() bool { return s.lost() != nil })
			s.post("code_scanning_alert", "closed_by_user", "dismissed")
		}, check: concludes(2, "success")},

		{pair: "merge_group.checks_requested", steps: steps{opened}, act: func(s *stage) { s.group = s.repo.MergeGroup(s.pr); s.head = s.group.HeadSHA }, check: one},
		{pair: "merge_group.destroyed", base: needsBuild, steps: steps{unheard(opened)}, also: []string{"merge_group.checks_requested"}, act: func(s *stage) {
			s.group = s.repo.MergeGroup(s.pr)
			s.head = s.group.HeadSHA
			s.w.Until(func() bool { return strings.Contains(latest(s.w, s.repo, s.head).Title, "build") })
			s.group.Destroy("dequeued")
		}, check: concludes(1, "cancelled")},

		{pair: "installation.created", steps: steps{unheard(opened)}, act: func(s *stage) { s.w.GitHub.Install(s.owner) }, check: func(t *testing.T, s *stage) {
			concludes(0, "")(t, s)
			repos, err := s.w.Store.Repositories(context.Background(), s.installation)
			if state := s.installationState(t); state != store.Active || err != nil || len(repos) != 1 {
				t.Errorf("installation %s with %v, %v", state, repos, err)
			}
		}},
		{pair: "installation.new_permissions_accepted", steps: steps{opened}, act: func(s *stage) { s.w.GitHub.Approve(s.owner) }, check: func(t *testing.T, s *stage) {
			one(t, s)
			if state := s.installationState(t); state != store.Active {
				t.Errorf("installation %s", state)
			}
		}},
		{pair: "installation.suspend", base: needsBuild, also: []string{"pull_request.opened"}, act: func(s *stage) { parked(s); s.w.GitHub.Suspend(s.owner) }, check: ended},
		{pair: "installation.unsuspend", steps: steps{opened, func(s *stage) { s.w.GitHub.Suspend(s.owner) }}, also: []string{"pull_request.synchronize"}, act: func(s *stage) {
			s.w.GitHub.Unsuspend(s.owner)
			push(s)
		}, check: func(t *testing.T, s *stage) {
			one(t, s)
			if state := s.installationState(t); state != store.Active {
				t.Errorf("installation %s", state)
			}
		}},
		{pair: "installation.deleted", base: needsBuild, also: []string{"pull_request.opened"}, act: func(s *stage) { parked(s); s.w.GitHub.Uninstall(s.owner) }, check: ended},
		{pair: "installation_repositories.added", steps: steps{opened, func(s *stage) { s.w.GitHub.SelectRepos(s.owner) }}, also: []string{"pull_request.synchronize"}, act: func(s *stage) {
			s.w.GitHub.SelectRepos(s.owner, "pay")
			push(s)
		}, check: one},
		{pair: "installation_repositories.removed", base: needsBuild, also: []string{"pull_request.opened"}, act: func(s *stage) { parked(s); s.w.GitHub.SelectRepos(s.owner) }, check: ended},
	}
}

var lostMu sync.Mutex

func (s *stage) lost() []byte {
	lostMu.Lock()
	defer lostMu.Unlock()
	return s.lostLast
}

// Every pair of event and action that the webhook serves is played against GitHub, whose webhooks are checked against its
// own description, and what is seen on GitHub afterwards is checked.
func TestEveryEventAndAction(t *testing.T) {
	t.Parallel()
	w := apptest.New(t, apptest.Options{Judges: []judge.Judge{blocking()}})
	list := scenes()
	stages, byInstallation := make([]*stage, len(list)), map[int64]*stage{}
	for i, sc := range list {
		files := map[string]string{"README.md": "# pay\n", "refund.go": "package pay\n\n// Limit is the largest refund.\nconst Limit = 100\n"}
		for name, text := range sc.base {
			files[name] = text
		}
		s := &stage{w: w, owner: fmt.Sprintf("acme%d", i)}
		s.repo = w.GitHub.AddRepo(s.owner+"/pay", files)
		s.repo.Collaborator("maintainer", "write")
		s.repo.Collaborator("triager", "triage")
		s.installation = w.GitHub.InstallationID(s.owner)
		stages[i], byInstallation[s.installation] = s, s
	}
	w.GitHub.OnDelivery(func(d githubtest.Delivery) githubtest.Passage {
		s := byInstallation[d.Installation]
		if s == nil {
			return githubtest.Deliver
		}
		lostMu.Lock()
		defer lostMu.Unlock()
		if s.hears == nil || s.hears(pairOf(d)) {
			return githubtest.Deliver
		}
		s.lostLast = d.Payload
		return githubtest.Lose
	})
	for round, more := 0, true; more; round++ {
		more = false
		for i, sc := range list {
			if round < len(sc.steps) {
				more = true
				sc.steps[round](stages[i])
			}
		}
		w.Settle()
	}
	before := len(w.GitHub.Deliveries())
	// Pushes to a base branch are collected for twenty seconds, so that they are made first.
	order := make([]int, len(list))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return strings.Compare(list[b].pair[:4], list[a].pair[:4]) })
	for _, i := range order {
		sc := list[i]
		hears := append([]string{sc.pair}, sc.also...)
		lostMu.Lock()
		stages[i].lostLast = nil
		stages[i].hears = func(pair string) bool { return slices.Contains(hears, pair) }
		lostMu.Unlock()
		sc.act(stages[i])
	}
	w.Settle()
	w.Until(func() bool {
		return len(stages[slices.IndexFunc(list, func(sc scene) bool { return strings.Contains(sc.what, "base branch whose") })].runs()) > 0
	})
	w.Settle()

	came := map[string]int{}
	for _, d := range w.GitHub.Deliveries()[before:] {
		if s := byInstallation[d.Installation]; s != nil {
			came[s.owner+" "+pairOf(d)]++
			if d.StatusCode != http.StatusAccepted {
				t.Errorf("%s was answered with %d: %s", pairOf(d), d.StatusCode, d.Answer)
			}
		}
	}
	played := map[string]bool{}
	for i, sc := range list {
		played[sc.pair] = true
		t.Run(strings.TrimSuffix(sc.pair+"/"+sc.what, "/"), func(t *testing.T) {
			if came[stages[i].owner+" "+sc.pair] == 0 && sc.pair != "code_scanning_alert.dismissed" {
				t.Errorf("no such event came")
			}
			sc.check(t, stages[i])
		})
	}
	for event, actions := range webhook.Events() {
		if len(actions) == 0 && !played[event] {
			t.Errorf("%s is not played", event)
		}
		for _, action := range actions {
			if !played[event+"."+action] {
				t.Errorf("%s.%s is not played", event, action)
			}
		}
	}
	if t.Failed() {
		t.Log(w.Logs)
	}
}

// An edited title or body is another case, but at most five of a head are judged, so that nobody can have the judges asked
// for ever by editing.
func TestEditsOfOneHeadAreBounded(t *testing.T) {
	t.Parallel()
	w := apptest.New(t)
	repo := sample(w)
	sha := repo.Commit("docs", "Say more", map[string]string{"README.md": "# pay\n\nRefunds.\n"})
	w.Settle()
	pr := repo.OpenPR(githubtest.PR{Title: "Say more", Head: "docs"})
	w.Settle()
	for i := range store.MaxEdits + 2 {
		if i%2 == 0 {
			pr.Edit(fmt.Sprintf("Say more, version %d", i), "")
		} else {
			pr.Edit("", fmt.Sprintf("Version %d.", i))
		}
		w.Settle()
	}
	if n := len(w.CheckRuns(repo, sha)); n != 2+store.MaxEdits {
		t.Errorf("%d check runs, want one, those of %d edits, and that of the one beyond", n, store.MaxEdits)
	}
	if c := latest(w, repo, sha); c.Conclusion != "action_required" || !strings.Contains(c.Title, "edited more than") {
		t.Errorf("the newest check run is %s %q: an edit that was not judged must not leave a success", c.Conclusion, c.Title)
	}
	undoubled(t, w, pr)
}

// pairOf names the event and action of a delivery.
func pairOf(d githubtest.Delivery) string {
	return strings.TrimSuffix(d.Event+"."+d.Action, ".")
}
