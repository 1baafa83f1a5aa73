package casefile

import (
	"context"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/go-github/v62/github"
	"golang.org/x/sync/errgroup"

	"github.com/prosecutor-bot/prosecutor/app/ghclient"
	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/convergence"
	"github.com/prosecutor-bot/prosecutor/prosecutor/attribution"
	"github.com/prosecutor-bot/prosecutor/prosecutor/diff"
	"github.com/prosecutor-bot/prosecutor/prosecutor/evidence"
	"github.com/prosecutor-bot/prosecutor/prosecutor/evidence/rules"
)

// mostGroupCommits bounds the commits of a merge group that are read: GitHub compares 250 without paging.
const mostGroupCommits = 250

// GroupRequest names a merge group as its event does.
type GroupRequest struct {
	Installation int64
	RepoID       int64
	Owner, Repo  string
	Head, Base   string // head_sha and base_sha
	HeadRef      string // refs/heads/gh-readonly-queue/main/pr-12-...
	BaseRef      string // refs/heads/main
	Generation   int

	Event         convergence.Event
	Sender        convergence.Sender
	EvidenceSince time.Time

	// Prosecuted tells at which base the decision about a pull request's head was made, from its ledger. ok is false when
	// that head is not converged: its decision cannot be carried over, and nothing is compared. nil means that none is.
	Prosecuted func(ctx context.Context, pr int, head string) (base string, ok bool, err error)
}

// Group is a collected merge group. Its File is a case of its own, with the pull request number 0.
type Group struct {
	File
	Members []Member
	// CarriesOver says that the decisions of the members hold for the group without a judge, as far as diffs tell
	// (semantics 11): each member is converged, its step in the group is what was prosecuted, and no two touch one file.
	// Hollow-test of a group that touches tests comes on top. Otherwise Why says what is in the way.
	CarriesOver  bool
	Why          string
	TouchesTests bool
}

// Member is a pull request of a group.
type Member struct {
	PR        int
	Title     string
	Head      string // of the pull request
	From, To  string // its step in the group: the commits before and after it
	Converged bool   // as Prosecuted says
	Base      string // at which it was prosecuted
	// PatchID and StepPatchID identify the prosecuted diff and that of the step: git patch-id --verbatim. Empty when they
	// were not computed.
	PatchID, StepPatchID string
	Files                []string // of the step; both names of a rename
}

// Same reports whether the step is what was prosecuted.
func (m Member) Same() bool { return m.PatchID != "" && m.PatchID == m.StepPatchID }

const groupQuery = `query Group($owner: String!, $name: String!, $head: GitObjectID!, $base: GitObjectID!, $policy: String!, $attributes: String!) {
  repository(owner: $owner, name: $name) {
    databaseId
    nameWithOwner
    head: object(oid: $head) { ... on Commit { ...checked } }
    base: object(oid: $base) { __typename oid ... on Commit { policy: file(path: $policy) { ...entry } attributes: file(path: $attributes) { ...entry } } }
  }
}
` + entryFragment + checkedFragment

const memberFragment = `fragment member on PullRequest {
  number state title body url
  author { __typename login }
  headRefName headRefOid isCrossRepository baseRefName
  labels(first: 100) { nodes { name } }
  commits(first: 100) { totalCount pageInfo { hasNextPage endCursor } nodes { ...written } }
  closingIssuesReferences(first: 10) { totalCount nodes { number title body repository { nameWithOwner } } }
}
`

// CollectGroup reads a merge group (semantics 11). Errors are those of Collect. A group whose members cannot be told is
// no error: it is judged.
func (c *Collector) CollectGroup(ctx context.Context, r GroupRequest) (*Group, error) {
	if r.Installation <= 0 || r.RepoID <= 0 || r.Owner == "" || r.Repo == "" || r.Head == "" || r.Base == "" {
		return nil, fmt.Errorf("no merge group is named by installation %d, repository %d (%s/%s), %q..%q", r.Installation, r.RepoID, r.Owner, r.Repo, r.Base, r.Head)
	}
	s, err := c.open(ctx, r.Installation, r.RepoID, r.Owner, r.Repo)
	if err != nil {
		return nil, err
	}
	request := Request{
		Installation: r.Installation, RepoID: r.RepoID, Owner: r.Owner, Repo: r.Repo, Head: r.Head, Generation: r.Generation,
		Event: r.Event, Sender: r.Sender, EvidenceSince: r.EvidenceSince,
	}
	s, tip, baseCommit, err := s.groupPins(ctx, r)
	if err != nil {
		return nil, err
	}
	g := &Group{File: File{
		Request: request, RepoID: r.RepoID, Owner: s.owner, Repo: s.repo, Generation: r.Generation, State: Open,
		Base: r.Base, Head: r.Head, BaseBranch: branch(r.BaseRef), HeadBranch: branch(r.HeadRef),
	}}
	g.Case.ID = convergence.Case{Key: convergence.Key{Repo: s.owner + "/" + s.repo, Change: "merge_group/" + g.HeadBranch}, Base: r.Base, Head: r.Head}
	g.Case.Branch, g.Case.Event, g.Case.Sender = g.HeadBranch, r.Event, r.Sender
	base, head := newTree(s, r.Base), newTree(s, r.Head)
	base.know(attributesPath, baseCommit.Attributes)
	g.Case.ReadBase, g.Case.ReadHead = base.Read, head.Read

	var policy policyRead
	var steps []step
	var read diffRead
	var scan evidence.Scan
	work, gctx := errgroup.WithContext(ctx)
	work.Go(func() (err error) {
		policy, err = s.policy(gctx, base, baseCommit.Policy)
		return err
	})
	work.Go(func() (err error) {
		var changed int
		if steps, changed, g.Why, err = s.steps(gctx, r); err != nil {
			return err
		}
		g.ChangedFiles = changed
		read, err = s.groupDiff(gctx, &g.File, changed)
		return err
	})
	work.Go(func() error {
		scan = s.groupScan(gctx, &g.File, request)
		return stops(gctx, scan)
	})
	work.Go(func() (err error) {
		tip, err = s.checked(gctx, r.Head, []tipNode{{tip}}, tip.unread)
		return err
	})
	if err := work.Wait(); err != nil {
		return nil, err
	}
	head.group(read.binaries)
	base.group(base.wanted(read.text))
	pulls, err := s.members(ctx, steps)
	if err != nil {
		return nil, err
	}
	if err := c.carryOver(ctx, s, g, r, steps, pulls); err != nil {
		return nil, err
	}
	g.settle(c, policy, read, scan, tip, pulls)
	g.Case.HollowTest = s.hollowCI(&g.File, tip)
	if err := head.readBinaries(ctx, read.binaries, g.Case.Policy.Diff.BinaryAllow); err != nil {
		return nil, err
	}
	g.Complete = true
	return g, nil
}

// branch is the name of a ref without refs/heads/.
func branch(ref string) string { return strings.TrimPrefix(ref, "refs/heads/") }

func (s *session) groupPins(ctx context.Context, r GroupRequest) (*session, checked, *baseCommit, error) {
	for attempt := 0; ; attempt++ {
		var a struct {
			Repository *struct {
				DatabaseID    int64
				NameWithOwner string
				Head          *checked
				Base          *baseCommit
			}
		}
		vars := map[string]any{"head": r.Head, "base": r.Base, "policy": config.PolicyPath, "attributes": attributesPath}
		var unread checksUnread
		err := s.graphql(ctx, groupQuery, vars, &a, unread.takes)
		switch {
		case err != nil && !ghclient.IsNotFound(err):
			return nil, checked{}, nil, failed(err, "reading merge group %s of %s/%s", short(r.Head), s.owner, s.repo)
		case err == nil && a.Repository != nil && a.Repository.DatabaseID == r.RepoID:
			if a.Repository.Head == nil || a.Repository.Head.Oid == "" || a.Repository.Base == nil || a.Repository.Base.Oid == "" {
				return nil, checked{}, nil, &RetryableError{What: fmt.Sprintf("GitHub does not show the commits %s and %s of a merge group", short(r.Base), short(r.Head)), Stale: true}
			}
			a.Repository.Head.unread = unread.why
			named, err := s.renamed(a.Repository.NameWithOwner)
			return named, *a.Repository.Head, a.Repository.Base, err
		case attempt > 0:
			return nil, checked{}, nil, &RetryableError{What: fmt.Sprintf("GitHub knows repository %d as %s/%s, and does not show it", r.RepoID, s.owner, s.repo), Err: err}
		}
		named, err := s.find(ctx, r.RepoID)
		if err != nil {
			return nil, checked{}, nil, err
		}
		s = named
	}
}

// step is what one pull request adds to a group.
type step struct {
	from, to string
	pr       int
}

var (
	mergeTitle  = regexp.MustCompile(`^Merge pull request #([1-9][0-9]{0,9}) from `)
	squashTitle = regexp.MustCompile(`\(#([1-9][0-9]{0,9})\)$`)
	queueBranch = regexp.MustCompile(`/pr-([1-9][0-9]{0,9})-[0-9a-f]{7,64}$`)
)

// steps takes the group apart along its first parents. Which pull request a step belongs to is only claimed by its message
// and by the queue's branch name; what the step contains is compared with that pull request before anything is carried
// over. why says that the members cannot be told. changed is how many files the group changes, -1 when unknown.
func (s *session) steps(ctx context.Context, r GroupRequest) (list []step, changed int, why string, err error) {
	var all []*github.RepositoryCommit
	changed = -1
	for page := 1; ; page++ {
		var c github.CommitsComparison
		resp, err := s.get(ctx, fmt.Sprintf("compare/%s...%s", r.Base, r.Head), url.Values{"per_page": {"100"}, "page": {strconv.Itoa(page)}}, &c)
		if err != nil {
			return nil, -1, "", failed(err, "comparing %s with %s in %s/%s", short(r.Base), short(r.Head), s.owner, s.repo)
		}
		if page == 1 && len(c.Files) < mostCompared {
			changed = len(c.Files)
		}
		all = append(all, c.Commits...)
		if c.GetMergeBaseCommit().GetSHA() != r.Base && page == 1 {
			return nil, changed, "the group does not build on its base", nil
		}
		if len(all) >= c.GetTotalCommits() || resp.NextPage == 0 {
			break
		}
		if len(all) >= mostGroupCommits {
			return nil, changed, fmt.Sprintf("the group has more than %d commits", mostGroupCommits), nil
		}
	}
	bySHA := make(map[string]*github.RepositoryCommit, len(all))
	for _, c := range all {
		bySHA[c.GetSHA()] = c
	}
	for at := r.Head; at != r.Base; {
		c := bySHA[at]
		if c == nil || len(c.Parents) == 0 || len(list) > mostGroupCommits {
			return nil, changed, "the group's commits do not lead to its base", nil
		}
		parent := c.Parents[0].GetSHA()
		list = append(list, step{from: parent, to: at, pr: claimed(c.GetCommit().GetMessage())})
		at = parent
	}
	slices.Reverse(list)
	return assign(list, r, changed)
}

func claimed(message string) int {
	title, _, _ := strings.Cut(message, "\n")
	title = strings.TrimSpace(title)
	for _, re := range []*regexp.Regexp{mergeTitle, squashTitle} {
		if m := re.FindStringSubmatch(title); m != nil {
			n, err := strconv.Atoi(m[1])
			if err == nil {
				return n
			}
		}
	}
	return 0
}

// assign gives each step its pull request.
func assign(list []step, r GroupRequest, changed int) ([]step, int, string, error) {
	if len(list) == 0 {
		return nil, changed, "the group has no commits", nil
	}
	last := 0
	if m := queueBranch.FindStringSubmatch(r.HeadRef); m != nil {
		last, _ = strconv.Atoi(m[1]) // the expression takes digits only
	}
	end := &list[len(list)-1]
	if end.pr == 0 {
		end.pr = last
	}
	if last != 0 && end.pr != last {
		return nil, changed, fmt.Sprintf("the last commit names #%d and the queue's branch #%d", end.pr, last), nil
	}
	named := 0
	seen := make(map[int]bool)
	for _, s := range list {
		if s.pr != 0 {
			named++
			if seen[s.pr] {
				return nil, changed, fmt.Sprintf("#%d is named by more than one commit", s.pr), nil
			}
			seen[s.pr] = true
		}
	}
	switch {
	case named == len(list):
		return list, changed, "", nil
	case named == 1 && end.pr != 0:
		// Rebased: the commits of one pull request.
		return []step{{from: list[0].from, to: end.to, pr: end.pr}}, changed, "", nil
	default:
		return nil, changed, "not every commit of the group names its pull request", nil
	}
}

// members reads the pull requests of the steps.
func (s *session) members(ctx context.Context, steps []step) ([]*pull, error) {
	if len(steps) == 0 {
		return nil, nil
	}
	var params, fields strings.Builder
	vars := map[string]any{}
	for i, st := range steps {
		fmt.Fprintf(&params, ", $n%d: Int!", i)
		fmt.Fprintf(&fields, "    m%d: pullRequest(number: $n%d) { ...member }\n", i, i)
		vars["n"+strconv.Itoa(i)] = st.pr
	}
	query := "query Members($owner: String!, $name: String!" + params.String() + ") {\n  repository(owner: $owner, name: $name) {\n" + fields.String() + "  }\n}\n" + memberFragment + writtenFragment
	var a struct{ Repository map[string]*pull }
	// A number that is claimed and does not exist is a problem of that member only.
	err := s.graphql(ctx, query, vars, &a, func(p ghclient.GraphQLProblem) bool {
		return beyondReach(p) || len(p.Path) == 2 && strings.HasPrefix(fmt.Sprint(p.Path[1]), "m")
	})
	if err != nil {
		return nil, failed(err, "reading the pull requests of a merge group of %s/%s", s.owner, s.repo)
	}
	pulls := make([]*pull, len(steps))
	for i := range steps {
		pulls[i] = a.Repository["m"+strconv.Itoa(i)]
	}
	return pulls, nil
}

// carryOver finds out whether the decisions of the members hold for the group.
func (c *Collector) carryOver(ctx context.Context, s *session, g *Group, r GroupRequest, steps []step, pulls []*pull) error {
	if g.Why != "" {
		return nil
	}
	for i, st := range steps {
		m := Member{PR: st.pr, From: st.from, To: st.to}
		p := pulls[i]
		if p == nil {
			g.Why = fmt.Sprintf("there is no pull request #%d", st.pr)
			return nil
		}
		m.Title, m.Head = p.Title, p.HeadRefOid
		if r.Prosecuted != nil {
			var err error
			if m.Base, m.Converged, err = r.Prosecuted(ctx, m.PR, m.Head); err != nil {
				return fmt.Errorf("looking up the decision about %s/%s#%d: %w", s.owner, s.repo, m.PR, err)
			}
		}
		g.Members = append(g.Members, m)
	}
	for _, m := range g.Members {
		if !m.Converged {
			g.Why = fmt.Sprintf("#%d is not converged at %s", m.PR, short(m.Head))
			return nil
		}
	}
	if err := s.compareSteps(ctx, g.Members); err != nil {
		if notWhole, ok := errorAs[*errNotWhole](err); ok {
			g.Why = "the steps cannot be compared with what was prosecuted: " + notWhole.why
			return nil
		}
		return err
	}
	touched := make(map[string]int)
	for _, m := range g.Members {
		if !m.Same() {
			g.Why = fmt.Sprintf("what #%d changes in the group is not what was prosecuted", m.PR)
			return nil
		}
		for _, file := range m.Files {
			if other, taken := touched[file]; taken {
				g.Why = fmt.Sprintf("#%d and #%d both touch %q", other, m.PR, file)
				return nil
			}
			touched[file] = m.PR
		}
	}
	g.CarriesOver = true
	return nil
}

// compareSteps computes the patch ids in one clone.
func (s *session) compareSteps(ctx context.Context, members []Member) error {
	if s.c.opt.GitDir == "" {
		return notWhole("%v", errNoClone)
	}
	prosecuted := make([][2]string, len(members))
	together, gctx := errgroup.WithContext(ctx)
	together.SetLimit(4)
	for i, m := range members {
		together.Go(func() error {
			base, err := s.mergeBase(gctx, m.Base, m.Head)
			prosecuted[i] = [2]string{base, m.Head}
			return err
		})
	}
	if err := together.Wait(); err != nil {
		return err
	}
	var commits []string
	pairs := slices.Clone(prosecuted)
	for _, m := range members {
		pairs = append(pairs, [2]string{m.From, m.To})
	}
	for _, p := range pairs {
		for _, sha := range p {
			if !slices.Contains(commits, sha) {
				commits = append(commits, sha)
			}
		}
	}
	c, err := s.clone(ctx)
	if err != nil {
		return err
	}
	defer c.close()
	if err := c.fetch(commits...); err != nil {
		return err
	}
	if err := c.fetchBlobs(pairs...); err != nil {
		return err
	}
	for i := range members {
		m := &members[i]
		if m.PatchID, err = c.patchID(prosecuted[i][0], prosecuted[i][1]); err != nil {
			return err
		}
		if m.StepPatchID, err = c.patchID(m.From, m.To); err != nil {
			return err
		}
		if m.Files, err = c.files(m.From, m.To); err != nil {
			return err
		}
	}
	return nil
}

// patchID identifies the change between two commits, white space and binary content included.
func (c *clone) patchID(from, to string) (string, error) {
	patch, err := c.git(nil, "diff-tree", "-p", "-r", "--full-index", "--binary", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color",
		"--src-prefix=a/", "--dst-prefix=b/", "-U3", "--diff-algorithm=myers", "--no-indent-heuristic", "--submodule=short", from, to)
	if err != nil {
		return "", err
	}
	out, err := c.git([]byte(patch), "patch-id", "--verbatim")
	if err != nil {
		return "", err
	}
	id, _, _ := strings.Cut(out, " ")
	return strings.TrimSpace(id), nil
}

// files lists the paths in which two commits differ.
func (c *clone) files(from, to string) ([]string, error) {
	out, err := c.git(nil, "diff-tree", "-r", "-z", "--name-only", "--no-renames", from, to)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, name := range strings.Split(out, "\x00") {
		if name != "" {
			names = append(names, name)
		}
	}
	return names, nil
}

// groupDiff reads the diff of a group. There is no list of files to fall back on.
func (s *session) groupDiff(ctx context.Context, f *File, changed int) (diffRead, error) {
	read, err := s.diff(ctx, f)
	if changed < 0 && err == nil {
		if d, perr := diff.ParseString(read.text); perr == nil {
			f.ChangedFiles = files(d)
		}
	}
	return read, err
}

// groupScan reads what code scanning says about the head of a group: it is analysed on the queue's branch.
func (s *session) groupScan(ctx context.Context, f *File, r Request) evidence.Scan {
	all := s.analyses(ctx, r)
	scan := evidence.Scan{PR: evidence.PullRequest{BaseBranch: f.BaseBranch, HeadBranch: f.HeadBranch, Commits: []string{f.Head}}}
	if all.notEnabled || all.err != nil || len(all.list) == 0 && all.complete {
		scan.NotEnabled, scan.Err = all.notEnabled, all.err
		return scan
	}
	ref := "refs/heads/" + f.HeadBranch
	if scan.Err = s.analysesOf(ctx, &scan, f, []string{ref}, all, all.complete); scan.Err == nil {
		scan.Alerts, scan.Err = s.alerts(ctx, f, []string{ref}, func(a *github.Alert) bool { return outdated(scan, a) })
	}
	return scan
}

// wanted lists what the base is asked about a diff: every .gitattributes on the way, which are read together.
func (t *tree) wanted(text string) []string {
	d, err := diff.ParseString(text)
	if err != nil {
		return nil
	}
	p := &pull{}
	for _, f := range d.Files {
		p.Files.Nodes = append(p.Files.Nodes, changedFile{Path: f.Path(), ChangeType: "MODIFIED"})
	}
	names := baseFiles(p)
	return names[:min(len(names), mostPrefetch)]
}

// settle fills in the group's own case from what was read.
func (g *Group) settle(c *Collector, policy policyRead, read diffRead, scan evidence.Scan, tip checked, pulls []*pull) {
	specs := make([]string, 0, len(pulls))
	var commits []attribution.Commit
	cut := len(pulls) == 0
	g.Case.Builder = attribution.Result{Families: []string{}}
	for _, p := range pulls {
		if p == nil {
			cut = true
			continue
		}
		s := specOf(p)
		specs = append(specs, s.text)
		g.Closing = append(g.Closing, s.closing...)
		g.Notes = append(g.Notes, s.notes...)
		for _, n := range p.Commits.Nodes {
			commits = append(commits, attributed(n.Commit))
		}
		cut = cut || p.Commits.TotalCount > len(p.Commits.Nodes)
		one := &File{Author: account(p.Author), Labels: labelsOf(p), HeadBranch: p.HeadRefName}
		g.Case.Builder = union(g.Case.Builder, builder(one, p.Body, commits, cut, policy.effective()))
	}
	if len(pulls) == 0 {
		g.note("the pull requests of the group cannot be told (%s), so an unknown agent is assumed to have built it", g.Why)
		g.Case.Builder.UnknownAgent = true
	}
	c.settle(&g.File, policy, read, strings.Join(specs, "\n\n"), scan, tip)
	d, err := diff.ParseString(read.text)
	g.TouchesTests = err != nil || len(read.unseen) > 0 // what cannot be told is taken to touch tests
	if err == nil {
		for _, f := range d.Files {
			g.TouchesTests = g.TouchesTests || rules.IsTest(f.OldPath) || rules.IsTest(f.NewPath)
		}
	}
}

// union is what built two changes together.
func union(a, b attribution.Result) attribution.Result {
	for _, family := range b.Families {
		if !slices.Contains(a.Families, family) {
			a.Families = append(a.Families, family)
		}
	}
	slices.Sort(a.Families)
	for _, sign := range b.Found {
		if !slices.Contains(a.Found, sign) {
			a.Found = append(a.Found, sign)
		}
	}
	a.UnknownAgent = a.UnknownAgent || b.UnknownAgent
	return a
}
