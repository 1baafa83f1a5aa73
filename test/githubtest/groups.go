package githubtest

import (
	"fmt"
	"strconv"
	"strings"
)

// Group is a merge group: pull requests of one base branch merged one after another on a branch of the queue's own.
type Group struct {
	repo             *Repo
	HeadSHA, HeadRef string
	BaseSHA, BaseRef string
}

// MergeGroup puts pull requests of one base into a merge group and asks for its checks (merge_group checks_requested).
func (r *Repo) MergeGroup(pulls ...*PullRequest) *Group {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	if len(pulls) == 0 {
		panic("githubtest: a merge group of no pull requests")
	}
	baseRef := pulls[0].baseRef
	base := r.branch(baseRef)
	tip := base
	when := strconv.FormatInt(r.s.now().Unix(), 10) + " +0000"
	for _, p := range pulls {
		out, err := r.tryGit(nil, "merge-tree", "--write-tree", tip, p.headSHA)
		if err != nil {
			panic(fmt.Sprintf("githubtest: #%d does not merge into its group: %v", p.number, err))
		}
		text := fmt.Sprintf("tree %s\nparent %s\nparent %s\nauthor GitHub <noreply@github.com> %s\ncommitter GitHub <noreply@github.com> %s\n\nMerge pull request #%d from %s/%s\n\n%s\n",
			strings.TrimSpace(string(out)), tip, p.headSHA, when, when, p.number, p.headRepo.owner, p.headRef, p.title)
		sha, err := r.tryGit([]byte(text), "hash-object", "-t", "commit", "-w", "--stdin")
		if err != nil {
			panic(fmt.Sprintf("githubtest: %v", err))
		}
		tip = strings.TrimSpace(string(sha))
	}
	last := pulls[len(pulls)-1]
	g := &mergeGroup{headSHA: tip, headRef: fmt.Sprintf("refs/heads/gh-readonly-queue/%s/pr-%d-%s", baseRef, last.number, base), baseSHA: base, baseRef: "refs/heads/" + baseRef, pulls: pulls}
	r.git("update-ref", g.headRef, tip)
	r.groups = append(r.groups, g)
	r.s.emit(event{name: "merge_group", action: "checks_requested", repo: r, group: g, sender: last.author})
	return &Group{repo: r, HeadSHA: g.headSHA, HeadRef: g.headRef, BaseSHA: g.baseSHA, BaseRef: g.baseRef}
}

// Destroy ends the group: reason is merged, invalidated or dequeued.
func (g *Group) Destroy(reason string) {
	s := g.repo.s
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, o := range g.repo.groups {
		if o.headSHA == g.HeadSHA {
			g.repo.groups = append(g.repo.groups[:i:i], g.repo.groups[i+1:]...)
			g.repo.git("update-ref", "-d", o.headRef)
			s.emit(event{name: "merge_group", action: "destroyed", repo: g.repo, group: o, reason: reason, sender: s.admin(g.repo.owner)})
			return
		}
	}
}
