package publish

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/diff"
	"github.com/prosecutor-bot/prosecutor/prosecutor/report"
)

// stateQuery re-reads the head and finds what of ours is there already, in one request. viewerDidAuthor tells our own
// artefacts from those of somebody who copied a marker.
const stateQuery = `query Published($owner: String!, $name: String!, $pr: Int!, $threads: String, $comments: String) {
  viewer { login }
  repository(owner: $owner, name: $name) {
    pullRequest(number: $pr) {
      state
      headRefOid
      viewerDidAuthor
      labels(first: 100) { nodes { name } }
      reviews(last: 100) { nodes { fullDatabaseId state body viewerDidAuthor } }
      comments(first: 100, after: $comments) {
        pageInfo { hasNextPage endCursor }
        nodes { fullDatabaseId body viewerDidAuthor }
      }
      reviewThreads(first: 100, after: $threads) {
        pageInfo { hasNextPage endCursor }
        nodes {
          id isResolved isOutdated path line startLine diffSide
          resolvedBy { login }
          comments(first: 50) { totalCount nodes { body viewerDidAuthor author { __typename } } }
        }
      }
    }
  }
}`

// maxPages bounds the pages of threads and comments that are read. What is behind them is not seen, so nothing in it is
// resolved, and a finding may be posted again.
const maxPages = 10

// state is what is on a pull request when a publication begins.
type state struct {
	head     string
	open     bool
	login    string // ours
	ours     bool   // the App itself opened the pull request
	labels   []string
	reviews  []reviewNode  // ours, oldest first
	comments []commentNode // ours, oldest first
	threads  []threadNode  // that we opened with a finding
}

type pageInfo struct {
	HasNextPage bool
	EndCursor   string
}

// bigID is GitHub's BigInt: a number, or a string of digits.
type bigID int64

// UnmarshalJSON implements json.Unmarshaler.
func (id *bigID) UnmarshalJSON(data []byte) error {
	var n json.Number
	if err := json.Unmarshal([]byte(strings.Trim(string(data), `"`)), &n); err != nil {
		return fmt.Errorf("reading an id: %w", err)
	}
	if n == "" {
		return nil
	}
	v, err := strconv.ParseInt(n.String(), 10, 64)
	if err != nil {
		return fmt.Errorf("reading an id: %w", err)
	}
	*id = bigID(v)
	return nil
}

type reviewNode struct {
	FullDatabaseID  bigID
	State           string
	Body            string
	ViewerDidAuthor bool
}

type commentNode struct {
	FullDatabaseID  bigID
	Body            string
	ViewerDidAuthor bool
}

type threadNode struct {
	ID         string
	IsResolved bool
	IsOutdated bool
	Path       string
	Line       int
	StartLine  int
	DiffSide   string
	ResolvedBy *struct{ Login string }
	Comments   struct {
		TotalCount int
		Nodes      []struct {
			Body            string
			ViewerDidAuthor bool
			Author          *struct {
				Typename string `json:"__typename"`
			}
		}
	}
	finding Marked
}

// read reads the state of a pull request. A pull request that is not there is an error.
func (p *Publisher) read(ctx context.Context, t Target) (*state, error) {
	type page struct {
		Viewer     struct{ Login string }
		Repository *struct {
			PullRequest *struct {
				State           string
				HeadRefOid      string
				ViewerDidAuthor bool
				Labels          struct{ Nodes []struct{ Name string } }
				Reviews         struct{ Nodes []reviewNode }
				Comments        struct {
					PageInfo pageInfo
					Nodes    []commentNode
				}
				ReviewThreads struct {
					PageInfo pageInfo
					Nodes    []threadNode
				}
			}
		}
	}
	st := &state{}
	vars := map[string]any{"owner": t.Owner, "name": t.Repo, "pr": t.PR}
	for i := range maxPages {
		var got page
		if err := p.clients.GraphQL(ctx, t.Installation, t.scope(), stateQuery, vars, &got); err != nil {
			return nil, fmt.Errorf("reading what is published on %s: %w", t.where(), err)
		}
		if got.Repository == nil || got.Repository.PullRequest == nil {
			return nil, fmt.Errorf("reading what is published on %s: GitHub answers with no pull request", t.where())
		}
		pr := got.Repository.PullRequest
		// The newest page counts: the head may move while pages are read.
		st.head, st.open, st.ours, st.login = pr.HeadRefOid, pr.State == "OPEN", pr.ViewerDidAuthor, got.Viewer.Login
		if i == 0 {
			for _, l := range pr.Labels.Nodes {
				st.labels = append(st.labels, l.Name)
			}
			for _, r := range pr.Reviews.Nodes {
				if r.ViewerDidAuthor {
					st.reviews = append(st.reviews, r)
				}
			}
		}
		for _, c := range pr.Comments.Nodes {
			if c.ViewerDidAuthor {
				st.comments = append(st.comments, c)
			}
		}
		for _, th := range pr.ReviewThreads.Nodes {
			if n := th.Comments.Nodes; len(n) == 0 || !n[0].ViewerDidAuthor {
				continue
			}
			if m, ok := FindingOf(th.Comments.Nodes[0].Body); ok {
				th.finding = m
				st.threads = append(st.threads, th)
			}
		}
		if !pr.Comments.PageInfo.HasNextPage && !pr.ReviewThreads.PageInfo.HasNextPage {
			break
		}
		advance(vars, "comments", pr.Comments.PageInfo)
		advance(vars, "threads", pr.ReviewThreads.PageInfo)
	}
	return st, nil
}

// advance moves a cursor, also past the last page, which then stays empty.
func advance(vars map[string]any, name string, info pageInfo) {
	if info.EndCursor != "" {
		vars[name] = info.EndCursor
	}
}

// threaded are the identities of findings that are not to be posted again: their thread is open, or a person resolved it.
// A thread that we resolved ourselves does not count, since its finding is back.
func (st *state) threaded() map[string]bool {
	out := map[string]bool{}
	for _, th := range st.threads {
		byUs := th.ResolvedBy == nil || strings.TrimSuffix(th.ResolvedBy.Login, "[bot]") == strings.TrimSuffix(st.login, "[bot]")
		if !th.IsResolved || !byUs {
			out[th.finding.ID] = true
		}
	}
	return out
}

// resolvable are the ids of the threads that may be resolved (semantics 10): the finding is gone, and whoever made it has
// spoken about this head; GitHub marks the thread outdated, or the accused lines are gone; and no human has replied after
// us. Everything that cannot be told keeps a thread open, and so does a current finding that stands on its lines: it may be
// the same one in other words.
func (p *Publication) resolvable(st *state) []string {
	if !p.judged() || p.Files == nil {
		return nil
	}
	current := map[string]bool{}
	for _, f := range p.Result.Findings {
		current[safe(f.ID)] = true
	}
	heard := map[string]bool{}
	for _, h := range p.Heard {
		heard[h] = true
	}
	unread := map[string]bool{}
	for _, n := range p.Result.NotRead {
		unread[n.Path] = true
	}
	var out []string
	for _, th := range st.threads {
		switch {
		case th.IsResolved, current[th.finding.ID], !heard[th.finding.By]:
			continue
		case !th.IsOutdated && (unread[th.Path] || !gone(p.Files, th)):
			continue
		case answered(th), p.overlaps(th):
			continue
		}
		out = append(out, th.ID)
	}
	return out
}

// gone reports whether the accused lines are no longer part of the change. Without a quotation nobody can tell.
func gone(d *diff.Diff, th threadNode) bool {
	q := th.finding
	if strings.TrimSpace(q.Quote) == "" {
		return false
	}
	return d.Locate(prosecutor.Anchor{Path: th.Path, Side: q.Side, Quote: q.Quote}).Status == prosecutor.Unanchored
}

// answered reports whether a human wrote in a thread after our last comment, or could have.
func answered(th threadNode) bool {
	if th.Comments.TotalCount > len(th.Comments.Nodes) {
		return true
	}
	human := false
	for _, c := range th.Comments.Nodes {
		switch {
		case c.ViewerDidAuthor:
			human = false
		case c.Author == nil || c.Author.Typename != "Bot": // deleted accounts have no author
			human = true
		}
	}
	return human
}

func (p *Publication) overlaps(th threadNode) bool {
	if th.Line == 0 {
		return false
	}
	start := th.StartLine
	if start == 0 {
		start = th.Line
	}
	return anyOf(p.Result.Findings, func(f report.Finding) bool {
		return f.Anchored && f.Path == th.Path && f.Side == th.DiffSide && f.StartLine <= th.Line && start <= f.EndLine
	})
}

func anyOf[T any](items []T, ok func(T) bool) bool {
	for _, item := range items {
		if ok(item) {
			return true
		}
	}
	return false
}

// resolveBatch is how many threads one request resolves.
const resolveBatch = 20

// resolve resolves threads and returns how many.
func (p *Publisher) resolve(ctx context.Context, t Target, ids []string) (int, error) {
	done := 0
	for len(ids) > 0 {
		batch := ids[:min(resolveBatch, len(ids))]
		ids = ids[len(batch):]
		var params, fields strings.Builder
		vars := map[string]any{}
		for i, id := range batch {
			if i > 0 {
				params.WriteString(", ")
			}
			fmt.Fprintf(&params, "$t%d: ID!", i)
			fmt.Fprintf(&fields, "  r%d: resolveReviewThread(input: {threadId: $t%d}) { thread { id isResolved } }\n", i, i)
			vars[fmt.Sprintf("t%d", i)] = id
		}
		query := fmt.Sprintf("mutation Resolve(%s) {\n%s}", params.String(), fields.String())
		var got map[string]*struct {
			Thread *struct {
				IsResolved bool
			}
		}
		if err := p.clients.GraphQL(ctx, t.Installation, t.scope(), query, vars, &got); err != nil {
			return done, fmt.Errorf("resolving threads of %s: %w", t.where(), err)
		}
		// An answer without an error does not mean that it was done.
		for _, r := range got {
			if r != nil && r.Thread != nil && r.Thread.IsResolved {
				done++
			}
		}
	}
	return done, nil
}
