package casefile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-github/v62/github"

	"github.com/prosecutor-bot/prosecutor/app/ghclient"
	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/convergence"
	"github.com/prosecutor-bot/prosecutor/prosecutor/attribution"
	"github.com/prosecutor-bot/prosecutor/prosecutor/review"
)

// attributesPath is the one .gitattributes that nearly every repository with any has.
const attributesPath = ".gitattributes"

// maxCommits is how many commits of a pull request GitHub shows (REST API: list commits on a pull request).
const maxCommits = 250

// session reads one case: clients with a token for one repository, and the repository's name as it is now.
type session struct {
	c            *Collector
	installation int64
	repoID       int64
	scope        ghclient.Scope
	rest         *github.Client
	owner, repo  string
}

// permissions are what reading a case needs.
func permissions() map[string]string {
	return map[string]string{
		"contents": "read", "pull_requests": "read", "issues": "read", "checks": "read", "statuses": "read",
		"security_events": "read", "metadata": "read", "actions": "read",
	}
}

func (c *Collector) open(ctx context.Context, installation, repoID int64, owner, repo string) (*session, error) {
	s := &session{c: c, installation: installation, repoID: repoID, owner: owner, repo: repo}
	s.scope = ghclient.Scope{RepositoryIDs: []int64{repoID}, Permissions: permissions()}
	rest, err := c.opt.Clients.Installation(ctx, installation, s.scope)
	if ghclient.ClassOf(err) == ghclient.ClassForbidden {
		// A permission that the owner has not approved yet must not stop the rest: what needs it says that it is missing.
		s.scope.Permissions = nil
		if rest, err = c.opt.Clients.Installation(ctx, installation, s.scope); ghclient.ClassOf(err) == ghclient.ClassForbidden {
			return nil, &GoneError{What: GoneRepository, Name: owner + "/" + repo, Err: err}
		}
	}
	if err != nil {
		return nil, failed(err, "a token for reading %s/%s", owner, repo)
	}
	s.rest = rest
	return s, nil
}

// renamed returns the session under the repository's present name. It is a copy, so that reads under way keep theirs.
func (s *session) renamed(nameWithOwner string) (*session, error) {
	owner, repo, ok := strings.Cut(nameWithOwner, "/")
	if !ok {
		return nil, fmt.Errorf("%q is not the name of a repository", nameWithOwner)
	}
	t := *s
	t.owner, t.repo = owner, repo
	return &t, nil
}

// graphql asks a query about the repository. A partial answer is no error when tolerated takes every problem.
func (s *session) graphql(ctx context.Context, query string, vars map[string]any, out any, tolerated func(p ghclient.GraphQLProblem) bool) error {
	all := map[string]any{"owner": s.owner, "name": s.repo}
	for k, v := range vars {
		all[k] = v
	}
	err := s.c.opt.Clients.GraphQL(ctx, s.installation, s.scope, query, all, out)
	var partial *ghclient.GraphQLError
	if errors.As(err, &partial) && partial.Partial && tolerated != nil {
		for _, p := range partial.Errors {
			if !tolerated(p) {
				return err
			}
		}
		return nil
	}
	return err
}

// pull reads the pull request, and returns the session under the repository's present name: by GitHub, which follows
// renames, and by its id, since a name may have been taken by another repository.
func (s *session) pull(ctx context.Context, r Request) (*session, *pull, error) {
	for attempt := 0; ; attempt++ {
		var a pullAnswer
		var unread checksUnread
		err := s.graphql(ctx, pullQuery, map[string]any{"pr": r.PR, "policy": config.PolicyPath, "attributes": attributesPath}, &a, unread.takes)
		switch {
		case err == nil && a.Repository != nil && a.Repository.DatabaseID == r.RepoID && a.Repository.PullRequest != nil:
			a.Repository.PullRequest.checks = unread.why
			named, err := s.renamed(a.Repository.NameWithOwner)
			return named, a.Repository.PullRequest, err
		case err != nil && !ghclient.IsNotFound(err):
			return nil, nil, failed(err, "reading pull request %s/%s#%d", s.owner, s.repo, r.PR)
		case a.Repository != nil && a.Repository.DatabaseID == r.RepoID:
			// A pull request that was just opened may not be there yet; one that is gone was deleted by GitHub's staff.
			if r.Event == "pull_request.opened" {
				return nil, nil, &RetryableError{What: fmt.Sprintf("GitHub does not show pull request %s/%s#%d yet", s.owner, s.repo, r.PR), Stale: true, Err: err}
			}
			return nil, nil, &GoneError{What: GonePull, Name: fmt.Sprintf("%s/%s#%d", s.owner, s.repo, r.PR), Err: err}
		case attempt > 0:
			return nil, nil, &RetryableError{What: fmt.Sprintf("GitHub knows repository %d as %s/%s, and does not show it", r.RepoID, s.owner, s.repo), Err: err}
		}
		named, err := s.find(ctx, r.RepoID)
		if err != nil {
			return nil, nil, err
		}
		s = named
	}
}

// beyondReach takes problems with what may be missing: a linked issue of a repository that the App may not read, an
// account or a fork that is gone.
func beyondReach(p ghclient.GraphQLProblem) bool {
	for _, at := range p.Path {
		switch at {
		case "closingIssuesReferences", "author", "user", "headRepository", "potentialMergeCommit":
			return true
		}
	}
	return false
}

// checksUnread takes what beyondReach takes, and remembers problems with checks: they are evidence that could not be read,
// and no reason not to read the rest.
type checksUnread struct{ why string }

func (c *checksUnread) takes(p ghclient.GraphQLProblem) bool {
	for _, at := range p.Path {
		if at == "statusCheckRollup" || at == "checkSuites" {
			c.why = ghclient.Redact(p.Message) + "; has the installation approved the permissions checks and statuses?"
			return true
		}
	}
	return beyondReach(p)
}

// find looks the repository up by its id, and returns the session under the name that it has.
func (s *session) find(ctx context.Context, id int64) (*session, error) {
	repo, _, err := s.rest.Repositories.GetByID(ctx, id)
	switch {
	case ghclient.IsNotFound(err), ghclient.IsGone(err):
		return nil, &GoneError{What: GoneRepository, Name: fmt.Sprintf("%s/%s", s.owner, s.repo), Err: err}
	case err != nil:
		return nil, failed(err, "looking up repository %d, last known as %s/%s", id, s.owner, s.repo)
	}
	return s.renamed(repo.GetFullName())
}

// pinned is the file with its pins and what decides whether the rest is read.
func (s *session) pinned(r Request, p *pull) (*File, error) {
	f := &File{
		Request: r, RepoID: r.RepoID, Owner: s.owner, Repo: s.repo, PR: r.PR, Generation: r.Generation,
		URL: p.URL, Title: p.Title, State: State(strings.ToLower(p.State)), Draft: p.IsDraft,
		Author: account(p.Author), Labels: labelsOf(p),
		Base: p.BaseRefOid, Head: p.HeadRefOid, BaseBranch: p.BaseRefName, HeadBranch: p.HeadRefName,
		Fork: p.IsCrossRepository, ChangedFiles: p.ChangedFiles,
	}
	if p.HeadRepository != nil {
		f.HeadRepo = p.HeadRepository.NameWithOwner
	}
	if p.BaseRef != nil && p.BaseRef.Target != nil {
		// The tip of the base branch, which GitHub writes into the pull request only when that changes.
		f.Base = p.BaseRef.Target.Oid
	}
	f.Case = caseOf(f, r)
	if f.State != Open {
		return f, nil
	}
	if r.Head != "" && r.Head != f.Head {
		// A push forward has the asked head among its commits, and so has an old answer from before a rewinding push; the
		// event's time tells them apart.
		newer := !r.UpdatedAt.IsZero() && p.UpdatedAt.After(r.UpdatedAt)
		if r.UpdatedAt.IsZero() || p.UpdatedAt.Equal(r.UpdatedAt) {
			newer = slices.ContainsFunc(p.Commits.Nodes, func(n commitNode) bool { return n.Commit.Oid == r.Head })
		}
		if !newer {
			return nil, &RetryableError{
				What:  fmt.Sprintf("GitHub shows head %s of %s/%s#%d, and the event was about %s", short(f.Head), f.Owner, f.Repo, f.PR, short(r.Head)),
				Stale: true,
			}
		}
		f.HeadMoved, f.Superseded = true, true
		return f, nil
	}
	if p.BaseRef == nil || p.BaseRef.Target == nil || p.BaseRef.Target.Typename != "Commit" {
		return nil, &GoneError{What: GoneBase, Name: p.BaseRefName}
	}
	return f, nil
}

func caseOf(f *File, r Request) (c review.Case) {
	c.ID = convergence.Case{Key: KeyOf(f.Owner, f.Repo, f.PR), Base: f.Base, Head: f.Head}
	c.Branch, c.Draft, c.Event, c.Sender = f.HeadBranch, f.Draft, r.Event, r.Sender
	return c
}

// account is an actor as REST would name it: GraphQL leaves out the suffix of a bot's login. An account that is gone is
// GitHub's ghost.
func account(a *actor) attribution.Account {
	switch {
	case a == nil:
		return attribution.Account{Login: "ghost", Type: "User"}
	case a.Typename == "Bot" && !strings.HasSuffix(a.Login, "[bot]"):
		return attribution.Account{Login: a.Login + "[bot]", Type: "Bot"}
	default:
		return attribution.Account{Login: a.Login, Type: a.Typename}
	}
}

// commits returns the commits of the change. cut is set when GitHub does not show all of them.
func (s *session) commits(ctx context.Context, f *File, p *pull) (list []attribution.Commit, cut bool, err error) {
	page := p.Commits
	for {
		for _, n := range page.Nodes {
			list = append(list, attributed(n.Commit))
		}
		if !page.PageInfo.HasNextPage || len(list) >= maxCommits {
			return list, len(list) < p.Commits.TotalCount || page.PageInfo.HasNextPage, nil
		}
		var a struct {
			Repository struct {
				PullRequest struct {
					HeadRefOid string
					Commits    commitPage
				}
			}
		}
		vars := map[string]any{"pr": f.PR, "after": page.PageInfo.EndCursor}
		if err := s.graphql(ctx, moreCommitsQuery, vars, &a, beyondReach); err != nil {
			return nil, false, failed(err, "reading the commits of %s/%s#%d", s.owner, s.repo, f.PR)
		}
		if got := a.Repository.PullRequest.HeadRefOid; got != f.Head {
			return nil, false, &RetryableError{What: fmt.Sprintf("the head of %s/%s#%d moved to %s while it was read", s.owner, s.repo, f.PR, short(got))}
		}
		page = a.Repository.PullRequest.Commits
		if len(page.Nodes) == 0 {
			return list, true, nil
		}
	}
}

func attributed(w written) attribution.Commit {
	c := attribution.Commit{Message: w.Message}
	if a := w.Author; a != nil {
		c.AuthorName, c.AuthorEmail = a.Name, a.Email
		if a.User != nil {
			c.AuthorLogin = a.User.Login
		}
	}
	if a := w.Committer; a != nil {
		c.CommitterName, c.CommitterEmail = a.Name, a.Email
		if a.User != nil {
			c.CommitterLogin = a.User.Login
		}
	}
	return c
}

func short(sha string) string { return sha[:min(len(sha), 12)] }
