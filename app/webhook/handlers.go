package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/go-github/v62/github"

	"github.com/prosecutor-bot/prosecutor/app/queue"
	"github.com/prosecutor-bot/prosecutor/app/store"
	"github.com/prosecutor-bot/prosecutor/convergence"
)

const (
	// evidenceDelay collects the checks of a suite, which finish in bursts, into one look at the case.
	evidenceDelay = 3 * time.Second
	// baseDelay collects pushes to a base branch, each of which concerns all pull requests that ask for it.
	baseDelay = 20 * time.Second
)

// delivery is a signed delivery.
type delivery struct {
	GUID  string
	Event string
	Body  []byte
	envelope
}

// envelope is what the payloads of all events have in common.
type envelope struct {
	Action       string `json:"action"`
	Installation struct {
		ID int64 `json:"id"`
	} `json:"installation"`
	Repository struct {
		ID    int64  `json:"id"`
		Name  string `json:"name"`
		Owner struct {
			Login string `json:"login"`
		} `json:"owner"`
		DefaultBranch string `json:"default_branch"`
	} `json:"repository"`
	Sender account `json:"sender"`
}

type account struct {
	Login string `json:"login"`
	Type  string `json:"type"`
}

func (a account) bot() bool { return a.Type == string(convergence.Bot) }

// handler serves one event.
type handler struct {
	actions    []string // that are served; none means that the event has no actions
	repository bool     // the event is about a repository
	ours       bool     // what we did ourselves is served, too
	// parse reads the payload. A reason says that there is nothing to do; then the delivery is counted and not recorded, as
	// most are: a repository's every check and comment comes by here.
	parse func(h *Handler, d *delivery) (do work, reason string, err error)
}

func (h handler) serves(action string) bool {
	return len(h.actions) == 0 || slices.Contains(h.actions, action)
}

// work does what a delivery asks for, inside its transaction. It may be called again after a rollback.
type work func(ctx context.Context, s *scope) (outcome, error)

// outcome is what became of a delivery: enqueued, done or ignored.
type outcome struct{ status, reason string }

// handlers is the one table of what is served.
func handlers() map[string]handler {
	return map[string]handler{
		"pull_request": {repository: true, parse: pullRequest, actions: []string{"opened", "reopened", "synchronize", "ready_for_review", "edited",
			"labeled", "unlabeled", "closed", "converted_to_draft"}},
		"push":                        {repository: true, parse: push},
		"status":                      {repository: true, parse: status},
		"check_run":                   {repository: true, ours: true, parse: checkRun, actions: []string{"completed", "rerequested", "requested_action"}},
		"check_suite":                 {repository: true, ours: true, parse: checkSuite, actions: []string{"completed", "rerequested"}},
		"issue_comment":               {repository: true, parse: issueComment, actions: []string{"created"}},
		"pull_request_review_comment": {repository: true, parse: reviewComment, actions: []string{"created"}},
		"code_scanning_alert": {repository: true, parse: codeScanningAlert, actions: []string{"created", "reopened", "reopened_by_user", "appeared_in_branch",
			"fixed", "closed_by_user", "dismissed"}},
		"merge_group":               {repository: true, ours: true, parse: mergeGroup, actions: []string{"checks_requested", "destroyed"}},
		"installation":              {ours: true, parse: installation, actions: []string{"created", "deleted", "suspend", "unsuspend", "new_permissions_accepted"}},
		"installation_repositories": {ours: true, parse: installationRepositories, actions: []string{"added", "removed"}},
	}
}

// Events lists what is served: the events and their actions, none for an event that has no actions.
func Events() map[string][]string {
	out := map[string][]string{}
	for name, h := range handlers() {
		out[name] = slices.Clone(h.actions)
	}
	return out
}

// ours reports whether an account is our own.
func (h *Handler) ours(a account) bool { return strings.EqualFold(a.Login, h.o.Login) }

// ourApp reports whether something was made by our own App.
func (h *Handler) ourApp(app *github.App) bool { return app.GetID() == h.o.AppID }

// decode reads a payload.
func decode[T any](d *delivery) (*T, error) {
	v := new(T)
	if err := json.Unmarshal(d.Body, v); err != nil {
		return nil, err
	}
	return v, nil
}

// scope is what work has at hand.
type scope struct {
	*store.Tx
	q  queue.Queue
	d  delivery
	id int64 // of the delivery
}

// request begins a request for a run.
func (s *scope) request(pr int, head string, cause store.Cause, event convergence.Event) store.RunRequest {
	return store.RunRequest{
		Installation: s.d.Installation.ID, RepoID: s.d.Repository.ID, Owner: s.d.Repository.Owner.Login, Repo: s.d.Repository.Name,
		PR: pr, Head: head, Cause: cause, Event: event,
		Sender:     convergence.Sender{Login: s.d.Sender.Login, Type: convergence.SenderType(s.d.Sender.Type)},
		Deliveries: []int64{s.id},
	}
}

// submit asks for a run.
func (s *scope) submit(ctx context.Context, req store.RunRequest) (outcome, error) {
	started, err := queue.Submit(ctx, s.q, s.Tx, req)
	if err != nil {
		return outcome{}, err
	}
	switch {
	case started.Refused != "":
		return outcome{ignored, started.Refused}, nil
	case !started.Run.State.Live():
		return outcome{enqueued, "it was judged already"}, nil
	case started.Created:
		return outcome{enqueued, "a run was started"}, nil
	default:
		return outcome{enqueued, "a run is under way"}, nil
	}
}

// submitAll asks for a run of each pull request but drafts.
func (s *scope) submitAll(ctx context.Context, pulls []store.Pull, change func(store.Pull) store.RunRequest) (outcome, error) {
	out := outcome{ignored, "no pull request is concerned"}
	for _, p := range pulls {
		if p.Draft {
			if out.status == ignored {
				out.reason = "only drafts are concerned"
			}
			continue
		}
		o, err := s.submit(ctx, change(p))
		if err != nil {
			return outcome{}, err
		}
		if o.status == enqueued || len(pulls) == 1 {
			out = o
		}
	}
	return out, nil
}

// resolve leaves it to a job to find the pull requests.
func (s *scope) resolve(ctx context.Context, args queue.ResolveArgs, delay time.Duration) (outcome, error) {
	args.RepoID = s.d.Repository.ID
	return s.job(ctx, args, "the pull requests are looked up", queue.After(delay))
}

// command leaves it to a job to carry out what a person asks for.
func (s *scope) command(ctx context.Context) (outcome, error) {
	return s.job(ctx, queue.CommandArgs{Delivery: s.id}, "a command is carried out")
}

func (s *scope) job(ctx context.Context, job queue.Job, reason string, opts ...queue.EnqueueOption) (outcome, error) {
	id, err := s.q.EnqueueTx(ctx, s.Tx, job, opts...)
	if err != nil {
		return outcome{}, err
	}
	return outcome{enqueued, reason}, s.SetDeliveryJob(ctx, s.id, id)
}

// byCommit asks for runs of the pull requests that have a commit as their head. Those that the store does not know, it knows
// of no others, are left to a job unless the commit is on a branch that none can come from.
//
// GitHub names pull requests in its events about commits, but none that comes from a fork, and it may name some of other
// repositories; the store knows both better.
func (s *scope) byCommit(ctx context.Context, sha string, named []*github.PullRequest, cause store.Cause, event convergence.Event, delay time.Duration, lost string) (outcome, error) {
	request := func(pr int) store.RunRequest {
		req := s.request(pr, sha, cause, event)
		req.Delay = delay
		return req
	}
	pulls, err := s.PullsByHead(ctx, s.d.Repository.ID, sha)
	if err != nil {
		return outcome{}, err
	}
	for _, p := range named {
		if p.GetBase().GetRepo().GetID() != s.d.Repository.ID || p.GetHead().GetSHA() != sha {
			continue
		}
		// Of one that is known, the store knows whether it still has that head.
		if _, err := s.Pull(ctx, s.d.Repository.ID, p.GetNumber()); errors.Is(err, store.ErrNotFound) {
			pulls = append(pulls, store.Pull{Number: p.GetNumber(), Head: sha})
		} else if err != nil {
			return outcome{}, err
		}
	}
	if len(pulls) > 0 {
		slices.SortFunc(pulls, func(a, b store.Pull) int { return a.Number - b.Number })
		return s.submitAll(ctx, pulls, func(p store.Pull) store.RunRequest { return request(p.Number) })
	}
	if lost != "" {
		return outcome{}, &droppedError{lost}
	}
	return s.resolve(ctx, queue.ResolveArgs{SHA: sha, Event: string(event)}, delay)
}

// causeOf is the cause that belongs to an event that a resolve job carries.
func causeOf(event convergence.Event) store.Cause {
	switch event {
	case convergence.EventRerun, convergence.EventRerunAll:
		return store.CauseRerun
	case convergence.EventPolicyOrBase:
		return store.CauseBase
	default:
		return store.CauseEvidence
	}
}

// branch is the name of a branch in a ref.
func branch(ref string) (string, bool) { return strings.CutPrefix(ref, "refs/heads/") }

// prosecute reports whether a text has a line that begins with the command. Whether that is a command, in a block of code for
// one, is for the parser to say.
func prosecute(text string) bool {
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(strings.TrimLeft(line, " "), "/prosecute")
		if ok && (rest == "" || strings.ContainsRune(" \t\r\n", rune(rest[0]))) {
			return true
		}
	}
	return false
}

// missing is the error of a payload that lacks what its event always has.
func missing(what string) error { return fmt.Errorf("it lacks %s", what) }
