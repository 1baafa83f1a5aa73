// Package casefile collects one case from GitHub: a pull request pinned to one base and one head, the policy of its base,
// its diff, what it says it does, who built it, and the deterministic evidence that GitHub has about it.
//
// Collecting decides nothing. What could not be read is never left out silently: a passing failure is a RetryableError,
// what is gone is a GoneError, a limit is the client's own error, evidence that could not be read says so in its state, and
// a file of the change that nobody could show is listed as unseen, which keeps the case from advancing.
//
// # One moment
//
// One GraphQL query carries the pins (base and head commit), the policy at that base, spec, labels, commits and checks.
// Whatever is read after it is named by those commits, so that a push in between cannot mix two changes: the diff is
// GitHub's comparison of the two commits in the diff media type, not the pull request's, which follows the branch. It is
// the same diff: both compare with the merge base.
//
// # Requests
//
// A first case of a repository with a policy, required checks and one scanning tool costs at most seven requests, three of
// them one after another.
package casefile

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"time"

	"github.com/google/go-github/v62/github"
	"golang.org/x/sync/errgroup"

	"github.com/prosecutor-bot/prosecutor/app/ghclient"
	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/convergence"
	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/attribution"
	"github.com/prosecutor-bot/prosecutor/prosecutor/evidence"
	"github.com/prosecutor-bot/prosecutor/prosecutor/review"
)

// Clients is what of ghclient.Clients a collector needs.
type Clients interface {
	Installation(ctx context.Context, installationID int64, scope ghclient.Scope) (*github.Client, error)
	GraphQL(ctx context.Context, installationID int64, scope ghclient.Scope, query string, vars map[string]any, out any) error
}

// The defaults of Options.
const (
	DefaultCheckName  = "prosecutor"
	DefaultMaxClone   = 512 << 20
	DefaultCloneLimit = 3 * time.Minute
	// notEnabledFor is how long a repository without code scanning is taken to have none.
	notEnabledFor = time.Hour
)

// Options is what a Collector needs. Clients is required.
type Options struct {
	Clients Clients
	Now     func() time.Time // nil means time.Now

	// AppID and CheckName tell the gate's own check runs from those of others. The name is DefaultCheckName by default.
	AppID     int64
	CheckName string

	// GitDir is the directory in which bare clones are made for changes that GitHub's interfaces do not show in full, and
	// for merge groups. Each lives as long as one case is collected. Empty means that nothing is cloned: such a change has
	// unseen files then, and a merge group is always judged.
	GitDir string
	// HTML is the base URL of repositories, https://github.com by default, and Token returns a token for reading their
	// contents; both are needed for cloning only.
	HTML  string
	Token func(ctx context.Context, installationID int64, scope ghclient.Scope) (string, error)
	// MaxClone bounds one clone in bytes, CloneLimit in time. Two are made at once at most.
	MaxClone   int64
	CloneLimit time.Duration
}

// Collector collects cases. It is safe for concurrent use.
type Collector struct {
	opt        Options
	notEnabled *recent // repositories without code scanning
	clones     chan struct{}
}

// New returns a collector.
func New(o Options) (*Collector, error) {
	if o.Clients == nil {
		return nil, errors.New("a case cannot be collected without GitHub clients")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.CheckName == "" {
		o.CheckName = DefaultCheckName
	}
	if o.MaxClone == 0 {
		o.MaxClone = DefaultMaxClone
	}
	if o.CloneLimit == 0 {
		o.CloneLimit = DefaultCloneLimit
	}
	if o.HTML == "" {
		o.HTML = "https://github.com"
	}
	if o.GitDir != "" {
		if o.Token == nil {
			return nil, errors.New("cloning needs tokens: set Token, or leave GitDir empty")
		}
		if _, err := exec.LookPath("git"); err != nil {
			return nil, errors.New("the git program was not found: install git, or leave GitDir empty")
		}
		if err := sweepClones(o.GitDir, o.Now()); err != nil {
			return nil, err
		}
	}
	return &Collector{opt: o, notEnabled: newRecent(notEnabledFor, 10_000), clones: make(chan struct{}, 2)}, nil
}

// Request names the case that is wanted.
type Request struct {
	Installation int64
	RepoID       int64
	Owner, Repo  string // as last known; a repository that was renamed is found by its id
	PR           int
	// Head is the commit that the event was about. Empty means the current one, for events that name none.
	Head string
	// UpdatedAt is when the pull request had last changed as the event saw it. It tells an answer from before the event,
	// which is asked for again, from a head that has moved on. Zero when the event does not say.
	UpdatedAt  time.Time
	Generation int

	Event  convergence.Event
	Sender convergence.Sender
	// Drafts asks for a draft to be collected like any other pull request. Without it only its pins are read, since the
	// gate does not judge a draft unless a person asks.
	Drafts bool
	// EvidenceSince is when evidence for this head began to be waited for; zero when it is asked for the first time.
	EvidenceSince time.Time
}

// State is the state of a pull request.
type State string

// The states of a pull request.
const (
	Open   State = "open"
	Closed State = "closed"
	Merged State = "merged"
)

// File is a collected case.
type File struct {
	// Case is ready for review.Bench.Prosecute when Complete is set; before that it holds its identity only.
	Case review.Case
	// Complete is set when everything was collected. It is not for a pull request that is not open, whose head has moved,
	// or that is a draft nobody asked to be judged.
	Complete bool

	Request     Request
	RepoID      int64
	Owner, Repo string // as they are now
	PR          int
	Generation  int
	URL         string
	Title       string
	State       State
	Draft       bool
	Author      attribution.Account
	Labels      []string
	Base, Head  string // the pins
	BaseBranch  string
	HeadBranch  string
	HeadRepo    string // owner/name; empty when the head's repository is gone
	Fork        bool

	// HeadMoved is set when the head is not the one that was asked for, and Superseded when it is a newer one. A head that
	// moved to an unknown place in time is a RetryableError instead.
	HeadMoved  bool
	Superseded bool

	PolicySource string          // which file, and where; or the built-in defaults
	PolicyError  config.Problems // of a broken policy; the case is unjudgeable then

	ChangedFiles int // as GitHub counts them
	DiffSource   DiffSource
	Unseen       []Unseen
	Closing      []Issue

	Scan   evidence.ScanResult
	Checks evidence.ChecksResult

	Notes []string // what a reader should know about how the case was read
}

func (f *File) note(format string, args ...any) {
	f.Notes = append(f.Notes, fmt.Sprintf(format, args...))
}

// Issue is an issue that the pull request closes.
type Issue struct {
	Repo   string // owner/name
	Number int
	Title  string
}

// KeyOf names the ledger of a pull request.
func KeyOf(owner, repo string, pr int) convergence.Key {
	return convergence.Key{Repo: owner + "/" + repo, Change: fmt.Sprintf("pull/%d", pr)}
}

// Collect reads the case. Errors are RetryableError, GoneError, the errors of package ghclient (limits), or the context's;
// anything else is a failure of ours. A broken policy, evidence that cannot be read and files that cannot be shown are no
// errors: they are in the file.
func (c *Collector) Collect(ctx context.Context, r Request) (*File, error) {
	if r.Installation <= 0 || r.RepoID <= 0 || r.PR <= 0 || r.Owner == "" || r.Repo == "" {
		return nil, fmt.Errorf("no case is named by installation %d, repository %d (%s/%s), pull request %d", r.Installation, r.RepoID, r.Owner, r.Repo, r.PR)
	}
	s, err := c.open(ctx, r.Installation, r.RepoID, r.Owner, r.Repo)
	if err != nil {
		return nil, err
	}
	// What code scanning has analysed does not depend on the pins, so it is asked for beside them.
	together, gctx := errgroup.WithContext(ctx)
	var p *pull
	var named *session
	var analyses analysesRead
	together.Go(func() (err error) {
		named, p, err = s.pull(gctx, r)
		return err
	})
	together.Go(func() error {
		analyses = s.analyses(gctx, r)
		return nil
	})
	if err := together.Wait(); err != nil {
		return nil, err
	}
	renamed := named.owner != s.owner || named.repo != s.repo
	s = named
	f, err := s.pinned(r, p)
	if err != nil || f.State != Open || f.HeadMoved || f.Draft && !r.Drafts {
		return f, err
	}
	if renamed {
		// Another repository may have the name that was asked under.
		analyses = s.analyses(ctx, r)
	}
	if err := c.collect(ctx, s, f, p, analyses); err != nil {
		return nil, err
	}
	f.Complete = true
	return f, nil
}

// collect reads what depends on the pins.
func (c *Collector) collect(ctx context.Context, s *session, f *File, p *pull, analyses analysesRead) error {
	base, head := newTree(s, f.Base), newTree(s, f.Head)
	base.know(attributesPath, p.BaseRef.Target.Attributes)
	f.Case.ReadBase, f.Case.ReadHead = base.Read, head.Read

	var commits []attribution.Commit
	var commitsCut bool
	var read diffRead
	var policy policyRead
	var scan evidence.Scan
	var tip checked
	work, gctx := errgroup.WithContext(ctx)
	work.Go(func() (err error) {
		policy, err = s.policy(gctx, base, p.BaseRef.Target.Policy)
		return err
	})
	work.Go(func() (err error) {
		read, err = s.diff(gctx, f)
		return err
	})
	work.Go(func() error {
		// What it cannot read is read again, and reported, when it is asked for.
		base.prefetch(gctx, baseFiles(p))
		return nil
	})
	work.Go(func() (err error) {
		commits, commitsCut, err = s.commits(gctx, f, p)
		return err
	})
	work.Go(func() error {
		scan = s.scan(gctx, f, p, analyses)
		return stops(gctx, scan)
	})
	work.Go(func() (err error) {
		tip, err = s.checked(gctx, f.Head, p.Tip.Nodes, p.checks)
		return err
	})
	if err := work.Wait(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	head.group(read.binaries)
	base.group(base.wanted(read.text))

	if commitsCut {
		f.note("GitHub shows only %d commits of the change: who built the others is not known, so an unknown agent is assumed", len(commits))
	}
	f.Case.Builder = builder(f, p.Body, commits, commitsCut, policy.effective())
	spec := specOf(p)
	f.Closing = spec.closing
	f.Notes = append(f.Notes, spec.notes...)
	c.settle(f, policy, read, spec.text, scan, tip)
	f.Case.HollowTest = s.hollowCI(f, tip)
	return head.readBinaries(ctx, read.binaries, f.Case.Policy.Diff.BinaryAllow)
}

// settle makes the case from what was read.
func (c *Collector) settle(f *File, policy policyRead, read diffRead, spec string, scan evidence.Scan, tip checked) {
	f.PolicySource, f.PolicyError = policy.source, policy.problems
	f.Case.Policy = policy.effective()
	f.Case.ID.PolicyHash = f.Case.Policy.Hash()
	if policy.problems != nil {
		f.Case.Unjudgeable, f.Case.Unjudgeably = convergence.BrokenPolicy, brokenPolicy(policy.problems)
		f.Case.ID.PolicyHash = hash(policy.problems.Error()) // mending the file makes another case
	}
	f.Case.Diff, f.DiffSource, f.Unseen = read.text, read.source, read.unseen
	f.Notes = append(f.Notes, read.notes...)
	f.Case.Spec, f.Case.ID.SpecHash = spec, hash(spec)

	wait, waited := time.Duration(f.Case.Policy.Checks.Wait), c.waited(f.Request)
	scan.Floor, scan.Wait, scan.Waited = f.Case.Policy.CodeScanning.Severity, wait, waited
	f.Scan = evidence.CodeScanning(scan)
	checks := checksOf(tip)
	checks.Required, checks.OwnCheck, checks.OwnApp = f.Case.Policy.Checks.Required, c.opt.CheckName, c.opt.AppID
	checks.Wait, checks.Waited = wait, waited
	checks.OpenSuites = openSuites(tip, c.opt.AppID)
	f.Checks = evidence.CIChecks(checks)
	f.Case.Evidence = append(f.Case.Evidence, f.Scan.Evidence, f.Checks.Evidence)
	if len(f.Unseen) > 0 {
		f.Case.Evidence = append(f.Case.Evidence, unseenEvidence(f.Unseen, f.ChangedFiles))
	}
}

func (c *Collector) waited(r Request) time.Duration {
	if r.EvidenceSince.IsZero() {
		return 0
	}
	return max(0, c.opt.Now().Sub(r.EvidenceSince))
}

// unseenEvidence is how files that nobody could show reach the gate: as a static finding of high severity, which no list
// of accepted rules reaches. It is red, so no judge is asked and the case goes back with what the author can do, like a
// diff that is over the limit (semantics 2, row 2; REVIEWING: incomplete coverage cannot ADVANCE).
func unseenEvidence(unseen []Unseen, changed int) prosecutor.Evidence {
	f := prosecutor.Finding{
		Source: prosecutor.FromEvidence, Origin: string(prosecutor.StaticRules), Rule: "unseen-file",
		Severity: prosecutor.High, Claimed: prosecutor.High, Charge: prosecutor.ChargeScope,
		Claim:    fmt.Sprintf("%s of the %d changed files cannot be read, and a change that was not seen as a whole cannot be judged.", countUnseen(unseen), changed),
		Evidence: listUnseen(unseen) + "\nSplit the change into smaller pull requests, or leave out what is too large to review.",
		Place:    prosecutor.Place{Status: prosecutor.NoFile},
	}
	f.ID = prosecutor.Identify(f)
	return prosecutor.Evidence{
		Source: prosecutor.StaticRules, State: prosecutor.Red, Detail: "files that cannot be read", Findings: []prosecutor.Finding{f},
	}
}

// builder finds who built the change. Commits that GitHub does not show may be anybody's.
func builder(f *File, body string, commits []attribution.Commit, cut bool, p *config.Policy) attribution.Result {
	r := attribution.Find(attribution.Change{
		Author: f.Author, Labels: f.Labels, Commits: commits, Branch: f.HeadBranch, Body: normalised(body),
	}, p.Attribution, attribution.DefaultCatalog())
	if cut {
		r.UnknownAgent = true
	}
	return r
}

func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// labelsOf returns the names of the labels.
func labelsOf(p *pull) []string {
	labels := make([]string, 0, len(p.Labels.Nodes))
	for _, l := range p.Labels.Nodes {
		labels = append(labels, l.Name)
	}
	slices.Sort(labels)
	return labels
}
