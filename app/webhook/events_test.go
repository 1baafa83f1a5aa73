package webhook

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/prosecutor-bot/prosecutor/app/store"
	"github.com/prosecutor-bot/prosecutor/app/store/storetest"
	"github.com/prosecutor-bot/prosecutor/convergence"
)

var label = map[string]any{"id": 1, "node_id": "x", "url": "https://api.github.com/repos/Codertocat/Hello-World/labels/prosecutor:off", "name": OffLabel, "color": "ededed", "default": false, "description": nil}

// at makes a pull request of testdata newer by some seconds.
func at(seconds int) set {
	return set{"pull_request.updated_at", updated.Add(time.Duration(seconds) * time.Second).Format(time.RFC3339)}
}

func action(a string) set { return set{"action", a} }

// pushed are the changes that make a pull request one with a newer head.
func pushed(sha string, seconds int) []set {
	return []set{action("synchronize"), {"before", head}, {"after", sha}, {"pull_request.head.sha", sha}, at(seconds)}
}

var bot = set{"sender.type", "Bot"}

// events has a test for every event and action that is served.
var events = map[string]func(*env){
	"pull_request opened": func(e *env) {
		guid := e.want("pull_request", payload(e.t, "pull_request"), enqueued, "started")
		r := e.live()
		want := store.Run{ID: r.ID, Installation: 5, RepoID: repoID, Owner: "Codertocat", Repo: "Hello-World", PR: pullNumber, Head: head, Base: "f95f852bd8fca8fcc58a9a2d6c842781e32a215e",
			Generation: 1, Cause: store.CausePush, Event: "pull_request.opened", Sender: convergence.Sender{Login: "Codertocat", Type: convergence.User}, State: store.RunQueued,
			JudgeJob: r.JudgeJob, CreatedAt: r.CreatedAt}
		if diff := cmp.Diff(want, r, cmp.AllowUnexported(store.Run{})); diff != "" {
			e.t.Error(diff)
		}
		d := e.delivery(guid)
		if d.State != store.Enqueued || d.Attempts != 1 || d.Event != "pull_request" || d.Action != "opened" || d.Installation != 5 || d.RepoID != repoID || string(d.Payload) != string(payload(e.t, "pull_request")) {
			e.t.Errorf("%+v", d)
		}
		p, err := e.st.Pull(e.t.Context(), repoID, pullNumber)
		if err != nil || p.Head != head || p.BaseRef != "master" || p.HeadRef != "changes" || p.State != store.PullOpen || !p.UpdatedAt.Equal(updated) {
			e.t.Errorf("%+v, %v", p, err)
		}
		e.wantJobs("judge available")
		// A sweep has found it first, and it was judged by the time at which its event comes.
		e.judge(r, "success", 1)
		e.want("pull_request", payload(e.t, "pull_request"), done, "judged already")
		e.noLive()
		// A draft is no case until it is ready.
		e.want("pull_request", payload(e.t, "pull_request", set{"number", 3}, set{"pull_request.number", 3}, set{"pull_request.draft", true}), ignored, "draft")
		e.noLive()
	},
	"pull_request synchronize": func(e *env) {
		old := e.opened()
		e.begin(old)
		e.want("pull_request", payload(e.t, "pull_request", pushed(newerHead, 1)...), enqueued, "started")
		r := e.live()
		if r.Head != newerHead || r.Generation != 1 || r.Event != convergence.EventPush {
			e.t.Errorf("%+v", r)
		}
		was, err := e.st.Run(e.t.Context(), old.ID)
		if err != nil || was.State != store.RunSuperseded || was.SupersededBy != newerHead {
			e.t.Errorf("%+v, %v", was, err)
		}
		e.wantJobs("judge cancelled", "publish available", "judge available")
		// The first event comes again, late.
		e.want("pull_request", payload(e.t, "pull_request"), ignored, "newer head")
		if got := e.live(); got.ID != r.ID {
			e.t.Errorf("%+v", got)
		}
		// A force push back to the first head is a new run of that one.
		e.want("pull_request", payload(e.t, "pull_request", append(pushed(head, 2), set{"before", newerHead})...), enqueued, "started")
		if got := e.live(); got.Head != head || got.Generation != 2 {
			e.t.Errorf("%+v", got)
		}
	},
	"pull_request reopened": func(e *env) {
		key := store.LedgerKey(repoID, pullNumber)
		e.in(func(ctx context.Context, tx *store.Tx) error {
			return tx.Ledgers().Update(ctx, key, func(l convergence.Ledger) (convergence.Ledger, error) {
				return convergence.Close(convergence.Push(l, head), "closed", 0, updated), nil
			})
		})
		e.want("pull_request", payload(e.t, "pull_request", action("reopened")), enqueued, "started")
		l, err := e.st.Ledgers().Load(e.t.Context(), key)
		if err != nil || l.Closed {
			e.t.Errorf("%+v, %v", l, err)
		}
		if r := e.live(); r.Event != convergence.EventReopened {
			e.t.Errorf("%+v", r)
		}
	},
	"pull_request ready_for_review": func(e *env) {
		e.want("pull_request", payload(e.t, "pull_request", set{"pull_request.draft", true}), ignored, "draft")
		e.noLive()
		e.want("pull_request", payload(e.t, "pull_request", action("ready_for_review"), at(1)), enqueued, "started")
		if r := e.live(); r.Cause != store.CauseReady {
			e.t.Errorf("%+v", r)
		}
	},
	"pull_request edited": func(e *env) {
		edited := func(seconds int, changes map[string]any) []byte {
			return payload(e.t, "pull_request", action("edited"), set{"changes", changes}, at(seconds))
		}
		title := map[string]any{"title": map[string]any{"from": "before"}}
		guid := e.want("pull_request", edited(1, map[string]any{}), ignored, "nothing was edited")
		e.unrecorded(guid)
		for i := range store.MaxEdits + 1 { // the one beyond the bound says that it is
			e.want("pull_request", edited(2+i, title), enqueued, "started")
			e.judge(e.live(), "failure", int64(i+1))
		}
		guid = e.want("pull_request", edited(20, title), ignored, "edited more than 5 times")
		if d := e.delivery(guid); d.State != store.Ignored || !strings.Contains(d.Reason, "edited more than") {
			e.t.Errorf("%+v", d)
		}
		// Another base is another diff, however often the title was edited; and so is another head.
		base := map[string]any{"base": map[string]any{"ref": map[string]any{"from": "old"}, "sha": map[string]any{"from": "0000"}}}
		e.want("pull_request", edited(21, base), enqueued, "started")
		if r := e.live(); r.Cause != store.CauseReady || r.Generation != 7 {
			e.t.Errorf("%+v", r)
		}
		e.want("pull_request", payload(e.t, "pull_request", pushed(newerHead, 22)...), enqueued, "started")
		e.judge(e.live(), "failure", 10)
		e.want("pull_request", payload(e.t, "pull_request", action("edited"), set{"changes", map[string]any{"body": map[string]any{"from": ""}}}, at(23), set{"pull_request.head.sha", newerHead}), enqueued, "started")
	},
	"pull_request labeled": func(e *env) {
		r := e.opened()
		other := map[string]any{}
		for k, v := range label {
			other[k] = v
		}
		other["name"] = "bug"
		e.unrecorded(e.want("pull_request", payload(e.t, "pull_request", action("labeled"), set{"label", other}, at(1)), ignored, "none of ours"))
		e.begin(r)
		e.want("pull_request", payload(e.t, "pull_request", action("labeled"), set{"label", label}, at(1)), enqueued, "under way")
		k, err := e.st.KillSwitch(e.t.Context(), repoID, pullNumber)
		if err != nil || k.On || !k.Wanted || !k.Pending || k.WantedBy != "Codertocat" {
			e.t.Errorf("%+v, %v", k, err)
		}
		if got := e.live(); got.Pokes != 1 {
			e.t.Errorf("the run was not told: %+v", got)
		}
	},
	"pull_request unlabeled": func(e *env) {
		e.want("pull_request", payload(e.t, "pull_request", action("labeled"), set{"label", label}), enqueued, "started")
		e.in(func(ctx context.Context, tx *store.Tx) error {
			_, _, err := tx.SettleKillSwitch(ctx, repoID, pullNumber, "Codertocat", true)
			return err
		})
		e.judge(e.live(), "neutral", 1)
		e.want("pull_request", payload(e.t, "pull_request", action("unlabeled"), set{"label", label}, at(1), set{"sender.login", "mallory"}), enqueued, "started")
		k, err := e.st.KillSwitch(e.t.Context(), repoID, pullNumber)
		if err != nil || !k.On || k.By != "Codertocat" || k.Wanted || !k.Pending || k.WantedBy != "mallory" {
			e.t.Errorf("%+v, %v", k, err)
		}
		if r := e.live(); r.Cause != store.CauseSwitch || r.Event != convergence.EventResume || r.Generation != 2 || r.Sender.Login != "mallory" {
			e.t.Errorf("%+v", r)
		}
		// A label on a pull request that is closed switches nothing.
		e.want("pull_request", payload(e.t, "pull_request", action("closed"), set{"pull_request.state", "closed"}, at(2)), done, "closed")
		e.want("pull_request", payload(e.t, "pull_request", action("labeled"), set{"label", label}, set{"pull_request.state", "closed"}, at(3)), ignored, "closed")
	},
	"pull_request closed": func(e *env) {
		r := e.opened()
		e.begin(r)
		key := store.LedgerKey(repoID, pullNumber)
		e.in(func(ctx context.Context, tx *store.Tx) error {
			return tx.Ledgers().Update(ctx, key, func(l convergence.Ledger) (convergence.Ledger, error) { return convergence.Push(l, head), nil })
		})
		merged := payload(e.t, "pull_request", action("closed"), set{"pull_request.state", "closed"}, set{"pull_request.merged", true}, at(1))
		guid := e.want("pull_request", merged, done, "merged")
		e.noLive()
		was, err := e.st.Run(e.t.Context(), r.ID)
		if err != nil || was.State != store.RunCancelled || was.Reason != "the pull request was merged" {
			e.t.Errorf("%+v, %v", was, err)
		}
		l, err := e.st.Ledgers().Load(e.t.Context(), key)
		if err != nil || !l.Closed || l.Outcome != "merged" {
			e.t.Errorf("%+v, %v", l, err)
		}
		e.wantJobs("judge cancelled", "publish available")
		if a := e.deliver("pull_request", guid, merged); a.Status != duplicate {
			e.t.Errorf("%+v", a)
		}
		// What comes late about an open one starts nothing.
		e.want("pull_request", payload(e.t, "pull_request", pushed(head, 0)...), ignored, "newer state")
		// One that nobody has judged has no ledger, and gets none.
		e.want("pull_request", payload(e.t, "pull_request", action("closed"), set{"number", 3}, set{"pull_request.number", 3}, set{"pull_request.state", "closed"}), done, "closed")
		if all, err := e.st.Ledgers().List(e.t.Context()); err != nil || len(all) != 1 {
			e.t.Errorf("%+v, %v", all, err)
		}
	},
	"pull_request converted_to_draft": func(e *env) {
		e.opened()
		e.want("pull_request", payload(e.t, "pull_request", action("converted_to_draft"), set{"pull_request.draft", true}, at(1)), done, "draft")
		e.noLive()
		e.wantJobs("judge cancelled") // it had not begun, so there is nothing to conclude
		// It was asked for, is judged, and is pushed to.
		e.in(func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.StartRun(ctx, store.RunRequest{Installation: 5, RepoID: repoID, Owner: "o", Repo: "r", PR: pullNumber, Head: head, Cause: store.CauseRerun})
			return err
		})
		e.begin(e.live())
		e.want("pull_request", payload(e.t, "pull_request", append(pushed(newerHead, 2), set{"pull_request.draft", true})...), done, "draft")
		e.noLive()
	},
	"push": func(e *env) {
		guid := e.want("push", payload(e.t, "push"), enqueued, "looked up")
		e.wantJobs("resolve scheduled")
		if d := e.delivery(guid); d.State != store.Enqueued {
			e.t.Errorf("%+v", d)
		}
		e.judge(e.opened(), "success", 1)
		e.want("push", payload(e.t, "push"), enqueued, "started")
		if r := e.live(); r.Cause != store.CauseBase || r.Event != convergence.EventPolicyOrBase || r.Base != "6113728f27ae82c7b1a177c8d03f9e96e0adf246" || r.Head != head || r.Generation != 2 {
			e.t.Errorf("%+v", r)
		}
		e.unrecorded(e.want("push", payload(e.t, "push", set{"ref", "refs/heads/feature"}), ignored, "no pull request asks"))
		e.unrecorded(e.want("push", payload(e.t, "push", set{"ref", "refs/tags/v1"}), ignored, "no branch"))
		e.unrecorded(e.want("push", payload(e.t, "push", set{"deleted", true}), ignored, "no branch"))
	},
	"status": func(e *env) {
		sha := set{"sha", head}
		e.unrecorded(e.want("status", payload(e.t, "status", sha, set{"state", "pending"}), ignored, "pending"))
		e.want("status", payload(e.t, "status", sha), enqueued, "looked up")
		e.wantJobs("resolve scheduled")
		r := e.opened()
		e.want("status", payload(e.t, "status", sha), enqueued, "under way")
		if got := e.live(); got.Pokes != 1 || got.ID != r.ID || got.Event != "pull_request.opened" {
			e.t.Errorf("%+v", got)
		}
		branches := []any{map[string]any{"name": "master", "commit": map[string]any{"sha": newerHead, "url": "https://api.github.com/repos/Codertocat/Hello-World/commits/1"}, "protected": false}}
		e.unrecorded(e.want("status", payload(e.t, "status", set{"sha", newerHead}, set{"branches", branches}), ignored, "default branch"))
	},
	"check_run completed": func(e *env) {
		e.unrecorded(e.want("check_run", payload(e.t, "check_run", set{"check_run.app.id", ourApp}), ignored, "our own"))
		// It is named in the payload, and new to us.
		e.want("check_run", payload(e.t, "check_run"), enqueued, "started")
		if r := e.live(); r.PR != pullNumber || r.Head != head || r.Cause != store.CauseEvidence || r.Event != "check_run.completed" {
			e.t.Errorf("%+v", r)
		}
		e.judge(e.live(), "success", 1)
		// From a fork nothing is named, and the head branch is not either.
		fork := []set{{"check_run.pull_requests", []any{}}, {"check_run.check_suite.head_branch", nil}, {"check_run.check_suite.pull_requests", []any{}}}
		e.want("check_run", payload(e.t, "check_run", fork...), enqueued, "looked up")
		e.judge(e.opened(set{"pull_request.head.repo.id", 7}), "success", 2)
		e.want("check_run", payload(e.t, "check_run", fork...), enqueued, "started")
		e.judge(e.live(), "success", 3)
		// Pull requests of other repositories, and with another head, are none of ours.
		e.want("check_run", payload(e.t, "check_run", set{"check_run.head_sha", newerHead}), enqueued, "looked up")
		e.want("check_run", payload(e.t, "check_run", set{"check_run.head_sha", newerHead}, set{"check_run.pull_requests.base.repo.id", 7}, set{"check_run.pull_requests.head.sha", newerHead}), enqueued, "looked up")
		e.noLive()
		e.unrecorded(e.want("check_run", payload(e.t, "check_run", append(fork, set{"check_run.head_sha", newerHead}, set{"check_run.check_suite.head_branch", "master"})...), ignored, "default branch"))
		// The pull request that is named has another head by now.
		e.want("pull_request", payload(e.t, "pull_request", pushed(newerHead, 1)...), enqueued, "started")
		e.judge(e.live(), "success", 4)
		e.want("check_run", payload(e.t, "check_run"), enqueued, "looked up")
		e.noLive()
	},
	"check_run rerequested": func(e *env) {
		ours := set{"check_run.app.id", ourApp}
		e.judge(e.opened(), "failure", 128620228)
		e.unrecorded(e.want("check_run", payload(e.t, "check_run", action("rerequested")), ignored, "another App's"))
		e.unrecorded(e.want("check_run", payload(e.t, "check_run", action("rerequested"), ours, set{"sender.login", ourLogin}), ignored, "no person"))
		e.unrecorded(e.want("check_run", payload(e.t, "check_run", action("rerequested"), ours, bot), ignored, "no person"))
		fork := []set{{"check_run.pull_requests", []any{}}, {"check_run.check_suite.pull_requests", []any{}}, {"check_run.check_suite.head_branch", nil}}
		e.want("check_run", payload(e.t, "check_run", append(fork, action("rerequested"), ours)...), enqueued, "started")
		r := e.live()
		if r.PR != pullNumber || r.Generation != 2 || r.Cause != store.CauseRerun || r.Event != convergence.EventRerun || r.Sender.Login != "Codertocat" || r.CheckRunID != 0 {
			e.t.Errorf("%+v", r)
		}
		// One that we do not know we made is found by its commit.
		e.judge(r, "failure", 2)
		e.want("check_run", payload(e.t, "check_run", append(fork, action("rerequested"), ours, set{"check_run.id", 99})...), enqueued, "started")
		if r := e.live(); r.Cause != store.CauseRerun || r.Generation != 3 {
			e.t.Errorf("%+v", r)
		}
		// The head is another one by now.
		e.want("pull_request", payload(e.t, "pull_request", pushed(newerHead, 1)...), enqueued, "started")
		e.want("check_run", payload(e.t, "check_run", action("rerequested"), ours), ignored, "the head is "+newerHead)
	},
	"check_run requested_action": func(e *env) {
		body := payload(e.t, "check_run", action("requested_action"), set{"check_run.app.id", ourApp}, set{"requested_action", map[string]any{"identifier": "run_again"}})
		guid := e.want("check_run", body, enqueued, "command")
		e.wantJobs("command available")
		if a := e.deliver("check_run", guid, body); a.Status != enqueued {
			e.t.Errorf("%+v", a)
		}
		e.wantJobs("command available")
	},
	"check_suite completed": func(e *env) {
		e.unrecorded(e.want("check_suite", payload(e.t, "check_suite", set{"check_suite.app.id", ourApp}), ignored, "our own"))
		e.want("check_suite", payload(e.t, "check_suite"), enqueued, "started")
		if r := e.live(); r.Cause != store.CauseEvidence || r.Event != convergence.EventChecksFinished {
			e.t.Errorf("%+v", r)
		}
		e.wantJobs("judge scheduled")
	},
	"check_suite rerequested": func(e *env) {
		ours := set{"check_suite.app.id", ourApp}
		e.judge(e.opened(), "success", 1)
		e.unrecorded(e.want("check_suite", payload(e.t, "check_suite", action("rerequested")), ignored, "another App's"))
		e.unrecorded(e.want("check_suite", payload(e.t, "check_suite", action("rerequested"), ours, bot), ignored, "no person"))
		fork := []set{{"check_suite.pull_requests", []any{}}, {"check_suite.head_branch", nil}}
		e.want("check_suite", payload(e.t, "check_suite", append(fork, action("rerequested"), ours)...), enqueued, "started")
		if r := e.live(); r.Cause != store.CauseRerun || r.Event != convergence.EventRerunAll || r.Generation != 2 {
			e.t.Errorf("%+v", r)
		}
		e.wantJobs("judge available", "publish available", "judge available")
		e.want("check_suite", payload(e.t, "check_suite", append(fork, action("rerequested"), ours, set{"check_suite.head_sha", newerHead})...), enqueued, "looked up")
	},
	"issue_comment created": func(e *env) {
		body := func(text string, more ...set) []byte {
			return payload(e.t, "issue_comment", append(more, set{"comment.body", text})...)
		}
		guid := e.want("issue_comment", body("Why?\r\n/prosecute lens=security\r\n"), enqueued, "command")
		if d := e.delivery(guid); d.State != store.Enqueued || !strings.Contains(string(d.Payload), "lens=security") {
			e.t.Errorf("%+v", d)
		}
		e.wantJobs("command available")
		e.unrecorded(e.want("issue_comment", body("please /prosecute"), ignored, "no command"))
		e.unrecorded(e.want("issue_comment", body("/prosecute", bot), ignored, "a bot"))
		e.unrecorded(e.want("issue_comment", body("/prosecute", set{"sender.login", ourLogin}), ignored, "our own"))
		e.unrecorded(e.want("issue_comment", body("/prosecute", set{"issue.pull_request", gone{}}), ignored, "not on a pull request"))
	},
	"pull_request_review_comment created": func(e *env) {
		reply := set{"comment.in_reply_to_id", 7}
		e.want("pull_request_review_comment", payload(e.t, "pull_request_review_comment", reply, set{"comment.body", "/prosecute dismiss it is meant so"}), enqueued, "command")
		e.wantJobs("command available")
		e.unrecorded(e.want("pull_request_review_comment", payload(e.t, "pull_request_review_comment", reply), ignored, "no command"))
		e.unrecorded(e.want("pull_request_review_comment", payload(e.t, "pull_request_review_comment", set{"comment.body", "/prosecute"}), ignored, "no reply"))
		e.unrecorded(e.want("pull_request_review_comment", payload(e.t, "pull_request_review_comment", reply, bot, set{"comment.body", "/prosecute"}), ignored, "a bot"))
	},
	"code_scanning_alert created":            alertEvent("created", "refs/pull/2/merge"),
	"code_scanning_alert reopened":           alertEvent("reopened", "refs/pull/2/head"),
	"code_scanning_alert reopened_by_user":   alertEvent("reopened_by_user", ""),
	"code_scanning_alert appeared_in_branch": alertEvent("appeared_in_branch", "refs/heads/changes"),
	"code_scanning_alert fixed":              alertEvent("fixed", "refs/heads/master"),
	"code_scanning_alert closed_by_user":     alertEvent("closed_by_user", ""),
	"merge_group checks_requested": func(e *env) {
		e.want("merge_group", payload(e.t, "merge_group"), enqueued, "started")
		r := e.live()
		if !r.IsGroup() || r.Head != groupHead || r.GroupRef == "" || r.Base == "" || r.Event != convergence.EventMergeGroup || r.RepoID != groupRepoID {
			e.t.Errorf("%+v", r)
		}
		// Another group stands beside it.
		e.want("merge_group", payload(e.t, "merge_group", set{"merge_group.head_sha", newerHead}), enqueued, "started")
		if runs, err := e.st.LiveRuns(e.t.Context()); err != nil || len(runs) != 2 {
			e.t.Errorf("%+v, %v", runs, err)
		}
		// Its check run can be asked for again, which names no pull request.
		e.judge(r, "failure", 128620228)
		again := payload(e.t, "check_run", action("rerequested"), set{"check_run.app.id", ourApp}, set{"repository.id", groupRepoID}, set{"check_run.head_sha", groupHead}, set{"check_run.pull_requests", []any{}})
		e.want("check_run", again, enqueued, "started")
		runs, err := e.st.RunsOfHead(e.t.Context(), groupRepoID, 0, groupHead)
		if err != nil || len(runs) != 2 || runs[0].Generation != 2 || runs[0].GroupRef != r.GroupRef {
			e.t.Errorf("%+v, %v", runs, err)
		}
		suite := payload(e.t, "check_suite", action("rerequested"), set{"check_suite.app.id", ourApp}, set{"repository.id", groupRepoID}, set{"check_suite.head_sha", groupHead}, set{"check_suite.pull_requests", []any{}})
		e.want("check_suite", suite, enqueued, "under way")
	},
	"merge_group destroyed": func(e *env) {
		e.want("merge_group", payload(e.t, "merge_group"), enqueued, "started")
		e.begin(e.live())
		e.want("merge_group", payload(e.t, "merge_group", action("destroyed"), set{"reason", "dequeued"}), done, "dequeued")
		e.noLive()
		e.wantJobs("judge cancelled", "publish available")
	},
	"installation created": func(e *env) {
		e.want("installation", payload(e.t, "installation"), done, "active")
		e.wantInstallation(store.Active)
		repos, err := e.st.Repositories(e.t.Context(), 5)
		if err != nil || len(repos) != 1 || repos[0].Owner != "Codertocat" || repos[0].Name != "Hello-World" {
			e.t.Errorf("%+v, %v", repos, err)
		}
	},
	"installation deleted": func(e *env) { e.uninstalled("deleted", store.Deleted) },
	"installation suspend": func(e *env) { e.uninstalled("suspend", store.Suspended) },
	"installation unsuspend": func(e *env) {
		e.want("installation", payload(e.t, "installation", suspended(action("suspend"))...), done, "suspended")
		e.wantInstallation(store.Suspended)
		e.want("installation", payload(e.t, "installation", action("unsuspend"), set{"installation.suspended_at", nil}, set{"installation.suspended_by", nil}), done, "active")
		e.wantInstallation(store.Active)
	},
	"installation new_permissions_accepted": func(e *env) {
		e.want("installation", payload(e.t, "installation", action("new_permissions_accepted")), done, "active")
		e.wantInstallation(store.Active)
	},
	"installation_repositories added": func(e *env) {
		e.want("installation_repositories", payload(e.t, "installation_repositories"), done, "")
		r, err := e.st.Repository(e.t.Context(), 186853007)
		if err != nil || r.Name != "Space" || r.Installation != 5 || r.Removed {
			e.t.Errorf("%+v, %v", r, err)
		}
	},
	"installation_repositories removed": func(e *env) {
		r := e.opened()
		e.begin(r)
		removed := []any{map[string]any{"id": repoID, "node_id": "x", "name": "Hello-World", "full_name": "Codertocat/Hello-World", "private": false}}
		e.want("installation_repositories", payload(e.t, "installation_repositories", action("removed"), set{"repositories_added", []any{}}, set{"repositories_removed", removed}), done, "")
		e.noLive()
		e.wantJobs("judge cancelled") // nothing can be published
		if repo, err := e.st.Repository(e.t.Context(), repoID); err != nil || !repo.Removed {
			e.t.Errorf("%+v, %v", repo, err)
		}
		// It comes back, under another name.
		e.opened(set{"number", 3}, set{"pull_request.number", 3}, set{"repository.name", "Bye-World"})
		if repo, err := e.st.Repository(e.t.Context(), repoID); err != nil || repo.Removed || repo.Name != "Bye-World" {
			e.t.Errorf("%+v, %v", repo, err)
		}
	},
}

// alertEvent tests an alert on a ref that concerns the pull request.
func alertEvent(act, ref string) func(*env) {
	return func(e *env) {
		body := payload(e.t, "code_scanning_alert", alertChanges(act, ref)...)
		if strings.HasPrefix(ref, "refs/pull/") {
			e.want("code_scanning_alert", body, enqueued, "looked up")
			e.wantJobs("resolve scheduled")
		} else {
			e.unrecorded(e.want("code_scanning_alert", body, ignored, "no pull request is concerned"))
		}
		e.judge(e.opened(), "failure", 1)
		guid := e.want("code_scanning_alert", body, enqueued, "started")
		r := e.live()
		if r.PR != pullNumber || r.Head != head || r.Cause != store.CauseEvidence || r.Event != convergence.Event("code_scanning_alert."+act) || r.Generation != 2 {
			e.t.Errorf("%+v", r)
		}
		if !convergence.Supported(r.Event) {
			e.t.Errorf("the gate does not serve %s", r.Event)
		}
		if d := e.delivery(guid); d.State != store.Enqueued {
			e.t.Errorf("%+v", d)
		}
		if ref != "" { // else it concerns all that are blocked
			e.unrecorded(e.want("code_scanning_alert", payload(e.t, "code_scanning_alert", alertChanges(act, "refs/heads/nobody")...), ignored, "no pull request is concerned"))
		}
	}
}

func suspended(changes ...set) []set {
	return append(changes, set{"installation.suspended_at", "2019-05-15T15:20:31Z"}, set{"installation.suspended_by", nil})
}

func (e *env) wantInstallation(state store.InstallationState) {
	e.t.Helper()
	list, err := e.st.Installations(e.t.Context())
	if err != nil || len(list) != 1 || list[0].ID != 5 || list[0].State != state || list[0].Account == "" {
		e.t.Errorf("%+v, %v", list, err)
	}
}

// uninstalled has the App lose an installation with a run that is judged, and one whose result is to be published.
func (e *env) uninstalled(act string, state store.InstallationState) {
	begun := e.begin(e.opened())
	e.in(func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.FinishRun(ctx, begun, store.Verdict{Conclusion: "success"})
		return err
	})
	e.begin(e.opened(set{"number", 3}, set{"pull_request.number", 3}))
	e.want("installation", payload(e.t, "installation", suspended(action(act))...), done, "")
	e.noLive()
	e.wantInstallation(state)
	if list, err := e.st.UnpublishedRuns(e.t.Context()); err != nil || len(list) != 0 {
		e.t.Errorf("%+v, %v", list, err)
	}
	if orphans, err := e.q.Orphans(e.t.Context()); err != nil || len(orphans) != 0 {
		e.t.Errorf("%v, %v", orphans, err)
	}
	for _, j := range e.jobs() {
		if !strings.HasSuffix(j, " cancelled") {
			e.t.Errorf("job %s", j)
		}
	}
}

func TestEvents(t *testing.T) {
	each(t, func(t *testing.T, d storetest.Database) {
		for name, test := range events {
			t.Run(name, func(t *testing.T) { test(newEnv(t, d)) })
		}
	})
}

// TestDismissed sends an alert that was dismissed, a word that GitHub's description of the event does not have.
func TestDismissed(t *testing.T) {
	e := newEnv(t, sqlite(t))
	e.judge(e.opened(), "failure", 1)
	body := payload(t, "code_scanning_alert", append(alertChanges("closed_by_user", ""), action("dismissed"))...)
	if a := e.deliver("code_scanning_alert", "guid", body); a.Status != enqueued {
		t.Fatalf("%+v", a)
	}
	if r := e.live(); r.Event != convergence.EventAlertClosed {
		t.Errorf("%+v", r)
	}
}

// notGitHubs are actions that are served though GitHub's description has none of the name.
var notGitHubs = []string{"code_scanning_alert dismissed"}

// TestEveryEventIsTested walks the table of what is served.
func TestEveryEventIsTested(t *testing.T) {
	var served []string
	for event, actions := range Events() {
		if len(actions) == 0 {
			served = append(served, event)
		}
		for _, a := range actions {
			if name := event + " " + a; !slices.Contains(notGitHubs, name) {
				served = append(served, name)
			}
		}
	}
	var tested []string
	for name := range events {
		tested = append(tested, name)
	}
	slices.Sort(served)
	slices.Sort(tested)
	if diff := cmp.Diff(served, tested); diff != "" {
		t.Errorf("served and not tested, or the other way round:\n%s", diff)
	}
}

// TestEventsOfTheGate holds the events of runs to those that the gate serves.
func TestEventsOfTheGate(t *testing.T) {
	for event, actions := range Events() {
		if len(actions) == 0 {
			actions = []string{""}
		}
		for _, a := range actions {
			name := strings.TrimSuffix(fmt.Sprintf("%s.%s", event, a), ".")
			switch event {
			case "installation", "installation_repositories", "issue_comment", "pull_request_review_comment":
				continue // become no run, or a command
			}
			switch name {
			case "pull_request.labeled", "pull_request.unlabeled", "pull_request.closed", "pull_request.converted_to_draft", "merge_group.destroyed", "code_scanning_alert.dismissed":
				continue // are translated, or become no run
			}
			if !convergence.Supported(convergence.Event(name)) {
				t.Errorf("the gate does not serve %s", name)
			}
		}
	}
}

// alertChanges make an alert one of an action on a ref. One that a person closes or opens has no ref, but an instance.
func alertChanges(act, ref string) []set {
	alert := []set{action(act), {"ref", ref}, {"commit_oid", head}}
	instance := ref
	switch act {
	case "closed_by_user", "reopened_by_user":
		instance = "refs/heads/elsewhere"
	case "fixed":
		alert = append(alert, set{"alert.state", "fixed"})
	}
	if act == "closed_by_user" {
		alert = append(alert, set{"alert.state", "dismissed"}, set{"alert.dismissed_at", "2020-01-01T00:00:00Z"}, set{"alert.dismissed_reason", "won't fix"}, set{"alert.dismissed_by", nil})
	}
	return append(alert, set{"alert.most_recent_instance", map[string]any{"ref": instance, "analysis_key": "a", "environment": "{}", "state": "open"}})
}
