package githubtest

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxBodyRunes is the longest body of a comment or review.
const maxBodyRunes = 65_536

const tooLongBody = "Body is too long (maximum is 65536 characters)"

// draftComment is a comment on the diff as requests hold it.
type draftComment struct {
	Path        string
	Position    int
	Body        string
	Line        int
	Side        string
	StartLine   int    `json:"start_line"`
	StartSide   string `json:"start_side"`
	CommitID    string `json:"commit_id"`
	InReplyTo   int64  `json:"in_reply_to"`
	SubjectType string `json:"subject_type"`
}

func reviewRoutes() map[string]route {
	return map[string]route{
		"GET /repos/{owner}/{repo}/pulls/{pull_number}/reviews": {need: "pull_requests:read", handle: onPull(func(c *call, p *PullRequest) reply {
			seen := slices.DeleteFunc(slices.Clone(p.reviews), func(r *review) bool { return r.state == "PENDING" && r.author != c.who.login })
			return list(c, seen, func(r *review) any { return p.reviewJSON(r) })
		})},
		"POST /repos/{owner}/{repo}/pulls/{pull_number}/reviews":                       {need: "pull_requests:write", handle: onPull(createReview)},
		"GET /repos/{owner}/{repo}/pulls/{pull_number}/reviews/{review_id}":            {need: "pull_requests:read", handle: onReview(func(_ *call, p *PullRequest, r *review) reply { return ok(p.reviewJSON(r)) })},
		"PUT /repos/{owner}/{repo}/pulls/{pull_number}/reviews/{review_id}":            {need: "pull_requests:write", handle: onReview(updateReview)},
		"GET /repos/{owner}/{repo}/pulls/{pull_number}/reviews/{review_id}/comments":   {need: "pull_requests:read", handle: onReview(listReviewComments)},
		"PUT /repos/{owner}/{repo}/pulls/{pull_number}/reviews/{review_id}/dismissals": {need: "pull_requests:write", handle: onReview(dismissReview)},
		"POST /repos/{owner}/{repo}/pulls/{pull_number}/reviews/{review_id}/events":    {need: "pull_requests:write", handle: onReview(submitReview)},
		"GET /repos/{owner}/{repo}/pulls/{pull_number}/comments": {need: "pull_requests:read", handle: onPull(func(c *call, p *PullRequest) reply {
			return list(c, p.notes(), func(n *reviewComment) any { return n.restJSON() })
		})},
		"POST /repos/{owner}/{repo}/pulls/{pull_number}/comments":                      {need: "pull_requests:write", handle: onPull(createNote)},
		"POST /repos/{owner}/{repo}/pulls/{pull_number}/comments/{comment_id}/replies": {need: "pull_requests:write", handle: onPull(createReply)},
		"GET /repos/{owner}/{repo}/pulls/comments/{comment_id}":                        {need: "pull_requests:read", handle: onNote(func(_ *call, n *reviewComment) reply { return ok(n.restJSON()) })},
		"PATCH /repos/{owner}/{repo}/pulls/comments/{comment_id}":                      {need: "pull_requests:write", handle: onNote(updateNote)},
		"DELETE /repos/{owner}/{repo}/pulls/comments/{comment_id}":                     {need: "pull_requests:write", handle: onNote(deleteNote)},
		"GET /repos/{owner}/{repo}/pulls/comments/{comment_id}/reactions": {need: "pull_requests:read", handle: onNote(func(c *call, n *reviewComment) reply {
			return list(c, n.reactions, func(r Reaction) any { return c.s.reactionJSON(r) })
		})},
		"POST /repos/{owner}/{repo}/pulls/comments/{comment_id}/reactions": {need: "pull_requests:write", handle: onNote(func(c *call, n *reviewComment) reply { return c.react(&n.reactions) })},
	}
}

func onReview(h func(*call, *PullRequest, *review) reply) handler {
	return onPull(func(c *call, p *PullRequest) reply {
		for _, r := range p.reviews {
			if r.id == c.number("review_id") {
				return h(c, p, r)
			}
		}
		return notFound()
	})
}

func onNote(h func(*call, *reviewComment) reply) handler {
	return func(c *call) reply {
		n := c.repo.reviewNotes[c.number("comment_id")]
		if n == nil {
			return notFound()
		}
		return h(c, n)
	}
}

func createReview(c *call, p *PullRequest) reply {
	var in struct {
		CommitID string `json:"commit_id"`
		Body     string
		Event    string
		Comments []draftComment
	}
	c.decode(&in)
	if in.CommitID == "" {
		in.CommitID = p.headSHA
	}
	if !p.has(in.CommitID) {
		return refuse("Unprocessable Entity", "The commit_id is not part of the pull request")
	}
	r := &review{author: c.who.login, body: in.Body, commit: in.CommitID, state: "PENDING"}
	if slices.ContainsFunc(p.reviews, func(o *review) bool { return o.state == "PENDING" && o.author == r.author }) {
		return refuse("Unprocessable Entity", "User can only have one pending review per pull request")
	}
	if rep, refused := p.submit(r, in.Event); refused {
		return rep
	}
	notes := make([]*reviewComment, 0, len(in.Comments))
	for _, d := range in.Comments {
		n, problem := p.note(d, in.CommitID, c.who.login)
		if problem != "" {
			return refuse("Unprocessable Entity", problem) // one bad comment refuses the whole review
		}
		notes = append(notes, n)
	}
	r.id = c.s.id()
	p.reviews = append(p.reviews, r)
	for _, n := range notes {
		n.review = r
		p.startThread(n)
	}
	if r.state != "PENDING" {
		p.announce(r)
	}
	return ok(p.reviewJSON(r))
}

// submit gives a review the state of its event, or refuses the event.
func (p *PullRequest) submit(r *review, ev string) (reply, bool) {
	own := strings.EqualFold(r.author, p.author)
	switch {
	case utf8.RuneCountInString(r.body) > maxBodyRunes:
		return refuse("Unprocessable Entity", tooLongBody), true
	case ev == "APPROVE" && own:
		return refuse("Unprocessable Entity", "Can not approve your own pull request"), true
	case ev == "REQUEST_CHANGES" && own:
		return refuse("Unprocessable Entity", "Can not request changes on your own pull request"), true
	case (ev == "COMMENT" || ev == "REQUEST_CHANGES") && strings.TrimSpace(r.body) == "":
		return refuse("Unprocessable Entity", "Body can't be blank"), true
	}
	r.state = map[string]string{"APPROVE": "APPROVED", "REQUEST_CHANGES": "CHANGES_REQUESTED", "COMMENT": "COMMENTED", "": "PENDING"}[ev]
	if r.state != "PENDING" {
		r.submitted = p.repo.s.now()
	}
	return reply{}, false
}

// announce tells of a submitted review and of its comments.
func (p *PullRequest) announce(r *review) {
	p.updated = p.repo.s.now()
	p.repo.s.emit(event{name: "pull_request_review", action: "submitted", repo: p.repo, pull: p, review: r, sender: r.author})
	for _, n := range p.notes() {
		if n.review == r {
			p.repo.s.emit(event{name: "pull_request_review_comment", action: "created", repo: p.repo, pull: p, note: n, review: r, sender: n.author})
		}
	}
}

// has tells whether a commit is one of the pull request's.
func (p *PullRequest) has(sha string) bool {
	return sha == p.headSHA || slices.ContainsFunc(p.commits(), func(i commitInfo) bool { return i.sha == sha })
}

// note makes a comment on the diff of a commit, or says why GitHub refuses it.
func (p *PullRequest) note(d draftComment, commit, author string) (*reviewComment, string) {
	if strings.TrimSpace(d.Body) == "" {
		return nil, "Body can't be blank"
	}
	if utf8.RuneCountInString(d.Body) > maxBodyRunes {
		return nil, tooLongBody
	}
	now := p.repo.s.now()
	n := &reviewComment{
		pull: p, author: author, body: d.Body, path: d.Path, side: d.Side, startSide: d.StartSide, line: d.Line, startLine: d.StartLine,
		commit: commit, originalCommit: commit, subject: "line", created: now, updated: now,
	}
	if n.side == "" {
		n.side = "RIGHT"
	}
	base := p.repo.mergeBase(p.baseSHA, commit)
	var file *changedFile
	files := p.repo.diff(base, commit).files
	for i := range files {
		if files[i].path == d.Path {
			file = &files[i]
		}
	}
	if file == nil {
		return nil, "Path could not be resolved"
	}
	if d.SubjectType == "file" {
		n.subject, n.side, n.line = "file", "RIGHT", 0
		return n, ""
	}
	if d.Position > 0 && d.Line == 0 {
		if n.side, n.line = atPosition(file.patch, d.Position); n.line == 0 {
			return nil, "Position could not be resolved"
		}
	}
	at, ok := shows(file.patch, n.side, n.line)
	var wrong []string
	if !ok {
		wrong = append(wrong, "Pull request review thread line must be part of the diff")
	}
	n.hunk, n.position, n.originalPosition = at.excerpt, at.position, at.position
	if d.StartLine != 0 {
		if n.startSide == "" {
			n.startSide = n.side
		}
		if n.startSide == n.side && d.StartLine >= d.Line {
			return nil, "Pull request review thread start line must precede the end line."
		}
		if start, shown := shows(file.patch, n.startSide, d.StartLine); !shown || !ok || start.hunk != at.hunk {
			wrong = append(wrong, "Pull request review thread start line must be part of the same hunk as the line.")
		}
	}
	if !ok {
		wrong = append(wrong, "Pull request review thread diff hunk can't be blank")
	}
	if len(wrong) > 0 {
		return nil, sentence(wrong)
	}
	n.originalLine, n.originalStart = n.line, n.startLine
	if commit != p.headSHA {
		n.age(p.headSHA)
	}
	return n, ""
}

// sentence joins what is wrong with a comment as GitHub does: "a", "a and b", "a, b, and c".
func sentence(parts []string) string {
	switch last := len(parts) - 1; last {
	case 0:
		return parts[0]
	case 1:
		return parts[0] + " and " + parts[1]
	default:
		return strings.Join(parts[:last], ", ") + ", and " + parts[last]
	}
}

// atPosition turns the retiring position (lines below the first hunk's header) into a side and a line.
func atPosition(patch string, position int) (side string, line int) {
	oldLine, newLine, at := 0, 0, -1
	for _, l := range strings.Split(patch, "\n") {
		at++
		if strings.HasPrefix(l, "@@ ") {
			f := strings.Fields(l)
			oldLine, _ = span(f[1])
			newLine, _ = span(f[2])
			continue
		}
		marker := byte(' ')
		if l != "" {
			marker = l[0]
		}
		if at == position {
			switch marker {
			case '-':
				return "LEFT", oldLine
			case '\\':
				return "", 0
			}
			return "RIGHT", newLine
		}
		switch marker {
		case '-':
			oldLine++
		case '+':
			newLine++
		case '\\':
		default:
			oldLine++
			newLine++
		}
	}
	return "", 0
}

// age moves the comment to a new head: to where its line is now, or out of the diff.
func (n *reviewComment) age(head string) {
	p := n.pull
	if n.subject == "file" {
		n.commit = head
		return
	}
	n.line, n.startLine, n.position = 0, 0, 0
	line := n.originalLine
	if n.side == "RIGHT" {
		line = p.repo.follow(n.originalCommit, head, n.path, n.originalLine)
	}
	if line == 0 {
		return
	}
	base := p.repo.mergeBase(p.baseSHA, head)
	for _, f := range p.repo.diff(base, head).files {
		if f.path != n.path {
			continue
		}
		if at, ok := shows(f.patch, n.side, line); ok {
			n.line, n.position, n.commit = line, at.position, head
			if n.originalStart != 0 {
				n.startLine = line - (n.originalLine - n.originalStart)
			}
		}
	}
}

// startThread gives a comment its id and a conversation of its own.
func (p *PullRequest) startThread(n *reviewComment) {
	s := p.repo.s
	n.id = s.id()
	p.repo.reviewNotes[n.id] = n
	p.threads = append(p.threads, &thread{id: s.id(), comments: []*reviewComment{n}})
}

// notes lists the comments on the diff, oldest first; those of a pending review are not there yet.
func (p *PullRequest) notes() []*reviewComment {
	var all []*reviewComment
	for _, t := range p.threads {
		for _, n := range t.comments {
			if n.review == nil || n.review.state != "PENDING" {
				all = append(all, n)
			}
		}
	}
	slices.SortFunc(all, func(a, b *reviewComment) int { return int(a.id - b.id) })
	return all
}

func (p *PullRequest) threadOf(id int64) *thread {
	for _, t := range p.threads {
		for _, n := range t.comments {
			if n.id == id {
				return t
			}
		}
	}
	return nil
}

func createNote(c *call, p *PullRequest) reply {
	var d draftComment
	c.decode(&d)
	if d.InReplyTo != 0 {
		return c.answerThread(p, d.InReplyTo, d.Body)
	}
	if !p.has(d.CommitID) {
		return unprocessable("PullRequestReviewComment", "commit_id", "custom", "commit_id is not part of the pull request")
	}
	n, problem := p.note(d, d.CommitID, c.who.login)
	if problem != "" {
		return unprocessable("PullRequestReviewComment", "pull_request_review_thread.line", "custom", problem)
	}
	p.single(n)
	return created(n.restJSON())
}

// single posts a comment in a review of its own, as GitHub does.
func (p *PullRequest) single(n *reviewComment) {
	r := &review{id: p.repo.s.id(), author: n.author, state: "COMMENTED", commit: n.originalCommit, submitted: n.created}
	p.reviews = append(p.reviews, r)
	n.review = r
	p.startThread(n)
	p.announce(r)
}

func createReply(c *call, p *PullRequest) reply {
	var in struct{ Body string }
	c.decode(&in)
	return c.answerThread(p, c.number("comment_id"), in.Body)
}

func (c *call) answerThread(p *PullRequest, to int64, body string) reply {
	t := p.threadOf(to)
	if t == nil {
		return notFound()
	}
	if t.comments[0].id != to {
		return unprocessable("PullRequestReviewComment", "in_reply_to", "invalid", "in_reply_to must be the ID of a top-level review comment")
	}
	if utf8.RuneCountInString(body) > maxBodyRunes {
		return unprocessable("PullRequestReviewComment", "body", "custom", tooLongBody)
	}
	if strings.TrimSpace(body) == "" {
		return unprocessable("PullRequestReviewComment", "body", "missing_field", "")
	}
	return created(p.reply(t, c.who.login, body).restJSON())
}

// reply adds a comment to a conversation; the caller holds s.mu.
func (p *PullRequest) reply(t *thread, author, body string) *reviewComment {
	s, first := p.repo.s, t.comments[0]
	now := s.now()
	n := *first
	n.id, n.replyTo, n.author, n.body, n.reactions, n.created, n.updated = s.id(), first.id, author, body, nil, now, now
	r := &review{id: s.id(), author: author, state: "COMMENTED", commit: p.headSHA, submitted: now}
	p.reviews = append(p.reviews, r)
	n.review = r
	t.comments = append(t.comments, &n)
	p.repo.reviewNotes[n.id] = &n
	p.announce(r)
	return &n
}

func updateNote(c *call, n *reviewComment) reply {
	var in struct{ Body string }
	c.decode(&in)
	if utf8.RuneCountInString(in.Body) > maxBodyRunes {
		return unprocessable("PullRequestReviewComment", "body", "custom", tooLongBody)
	}
	before := n.body
	n.body, n.updated = in.Body, c.s.now()
	c.s.emit(event{name: "pull_request_review_comment", action: "edited", repo: c.repo, pull: n.pull, note: n, review: n.review, sender: c.who.login, changes: map[string]any{"body": object{"from": before}}})
	return ok(n.restJSON())
}

func deleteNote(c *call, n *reviewComment) reply {
	delete(c.repo.reviewNotes, n.id)
	for i, t := range n.pull.threads {
		t.comments = slices.DeleteFunc(t.comments, func(o *reviewComment) bool { return o == n })
		if len(t.comments) == 0 {
			n.pull.threads = slices.Delete(n.pull.threads, i, i+1)
			break
		}
	}
	c.s.emit(event{name: "pull_request_review_comment", action: "deleted", repo: c.repo, pull: n.pull, note: n, review: n.review, sender: c.who.login})
	return noContent()
}

func updateReview(c *call, p *PullRequest, r *review) reply {
	var in struct{ Body string }
	c.decode(&in)
	if r.author != c.who.login {
		return failure(http.StatusForbidden, inaccessible)
	}
	if utf8.RuneCountInString(in.Body) > maxBodyRunes {
		return refuse("Unprocessable Entity", tooLongBody)
	}
	r.body = in.Body
	return ok(p.reviewJSON(r))
}

func listReviewComments(c *call, p *PullRequest, r *review) reply {
	var mine []*reviewComment
	for _, t := range p.threads {
		for _, n := range t.comments {
			if n.review == r {
				mine = append(mine, n)
			}
		}
	}
	return list(c, mine, func(n *reviewComment) any { return n.legacyJSON() })
}

func dismissReview(c *call, p *PullRequest, r *review) reply {
	var in struct{ Message string }
	c.decode(&in)
	if r.state != "APPROVED" && r.state != "CHANGES_REQUESTED" {
		return refuse("Unprocessable Entity", "Can not dismiss a "+strings.ToLower(r.state)+" pull request review")
	}
	r.state, r.message = "DISMISSED", in.Message
	c.s.emit(event{name: "pull_request_review", action: "dismissed", repo: c.repo, pull: p, review: r, sender: c.who.login})
	return ok(p.reviewJSON(r))
}

func submitReview(c *call, p *PullRequest, r *review) reply {
	var in struct{ Body, Event string }
	c.decode(&in)
	if r.state != "PENDING" {
		return refuse("Unprocessable Entity", "Can not submit a review that is not pending")
	}
	if in.Body != "" {
		r.body = in.Body
	}
	if rep, refused := p.submit(r, in.Event); refused {
		return rep
	}
	p.announce(r)
	return ok(p.reviewJSON(r))
}

// Review submits a review as a person: event is APPROVE, REQUEST_CHANGES or COMMENT.
func (p *PullRequest) Review(author, ev, body string) (id int64) {
	p.repo.s.mu.Lock()
	defer p.repo.s.mu.Unlock()
	r := &review{author: author, body: body, commit: p.headSHA}
	if rep, refused := p.submit(r, ev); refused {
		panic(fmt.Sprintf("githubtest: reviewing #%d: %v", p.number, rep.body))
	}
	r.id = p.repo.s.id()
	p.reviews = append(p.reviews, r)
	p.announce(r)
	return r.id
}

// CommentOn comments on a line of the diff's new side as a person and returns the comment's id.
func (p *PullRequest) CommentOn(author, path string, line int, body string) (id int64) {
	p.repo.s.mu.Lock()
	defer p.repo.s.mu.Unlock()
	n, problem := p.note(draftComment{Path: path, Line: line, Side: "RIGHT", Body: body}, p.headSHA, author)
	if problem != "" {
		panic(fmt.Sprintf("githubtest: commenting on %s:%d of #%d: %s", path, line, p.number, problem))
	}
	p.single(n)
	return n.id
}

// ReplyTo answers a comment on the diff as a person and returns the reply's id.
func (p *PullRequest) ReplyTo(reviewCommentID int64, author, body string) (id int64) {
	p.repo.s.mu.Lock()
	defer p.repo.s.mu.Unlock()
	t := p.threadOf(reviewCommentID)
	if t == nil {
		panic(fmt.Sprintf("githubtest: #%d has no review comment %d", p.number, reviewCommentID))
	}
	return p.reply(t, author, body).id
}

// Resolve resolves the conversation that a comment on the diff is in, as a person; Unresolve opens it again.
func (p *PullRequest) Resolve(by string, reviewCommentID int64) {
	p.setResolved(by, reviewCommentID, true)
}

// Unresolve is described with Resolve.
func (p *PullRequest) Unresolve(by string, reviewCommentID int64) {
	p.setResolved(by, reviewCommentID, false)
}

func (p *PullRequest) setResolved(by string, id int64, resolved bool) {
	p.repo.s.mu.Lock()
	defer p.repo.s.mu.Unlock()
	t := p.threadOf(id)
	if t == nil {
		panic(fmt.Sprintf("githubtest: #%d has no review comment %d", p.number, id))
	}
	p.resolve(t, by, resolved)
}

// resolve resolves or opens a conversation; the caller holds s.mu.
func (p *PullRequest) resolve(t *thread, by string, resolved bool) {
	t.resolved, t.resolvedBy = resolved, ""
	action := "unresolved"
	if resolved {
		t.resolvedBy, action = by, "resolved"
	}
	p.repo.s.emit(event{name: "pull_request_review_thread", action: action, repo: p.repo, pull: p, thread: t, sender: by})
}

// Reviews lists the submitted reviews, oldest first. Single comments and replies are reviews of their own on GitHub, without a body.
func (p *PullRequest) Reviews() []Review {
	return locked(p, func() []Review {
		var out []Review
		for _, r := range p.reviews {
			if r.state == "PENDING" {
				continue
			}
			v := Review{ID: r.id, Author: r.author, State: r.state, Body: r.body, CommitID: r.commit, DismissedWith: r.message, SubmittedAt: r.submitted}
			for _, n := range p.notes() {
				if n.review == r {
					v.Comments = append(v.Comments, n.view())
				}
			}
			out = append(out, v)
		}
		return out
	})
}

// ReviewComments lists the comments on the diff, oldest first.
func (p *PullRequest) ReviewComments() []ReviewComment {
	return locked(p, func() []ReviewComment {
		var out []ReviewComment
		for _, n := range p.notes() {
			out = append(out, n.view())
		}
		return out
	})
}

// Threads lists the conversations on the diff.
func (p *PullRequest) Threads() []Thread {
	return locked(p, func() []Thread {
		var out []Thread
		for _, t := range p.threads {
			first := t.comments[0]
			v := Thread{ID: nodeID("PRRT", t.id), Path: first.path, Line: first.line, Resolved: t.resolved, ResolvedBy: t.resolvedBy, Outdated: first.outdated()}
			for _, n := range t.comments {
				v.Comments = append(v.Comments, n.view())
			}
			out = append(out, v)
		}
		return out
	})
}

func (n *reviewComment) outdated() bool { return n.subject == "line" && n.line == 0 }

func (n *reviewComment) reviewID() int64 {
	if n.review == nil {
		return 0
	}
	return n.review.id
}

func (n *reviewComment) view() ReviewComment {
	return ReviewComment{
		ID: n.id, ReviewID: n.reviewID(), ReplyTo: n.replyTo, Author: n.author, Body: n.body, Path: n.path, Side: n.side, StartSide: n.startSide,
		Line: n.line, StartLine: n.startLine, OriginalLine: n.originalLine, CommitID: n.commit, OriginalCommitID: n.originalCommit, DiffHunk: n.hunk,
		Reactions: slices.Clone(n.reactions), CreatedAt: n.created,
	}
}

func (p *PullRequest) reviewJSON(r *review) object {
	web := p.web() + "#pullrequestreview-" + strconv.FormatInt(r.id, 10)
	body := object{
		"id": r.id, "node_id": nodeID("PRR", r.id), "user": p.repo.s.user(r.author), "body": r.body, "state": r.state, "html_url": web, "pull_request_url": p.api(),
		"_links": object{"html": object{"href": web}, "pull_request": object{"href": p.api()}}, "commit_id": r.commit, "author_association": p.repo.association(r.author),
	}
	if !r.submitted.IsZero() {
		body["submitted_at"] = stamp(r.submitted)
	}
	return body
}

func lineOrNull(n int) any {
	if n == 0 {
		return nil
	}
	return n
}

func (n *reviewComment) json() object {
	p := n.pull
	id := strconv.FormatInt(n.id, 10)
	api, web := p.repo.api()+"/pulls/comments/"+id, p.web()+"#discussion_r"+id
	body := object{
		"id": n.id, "node_id": nodeID("PRRC", n.id), "url": api, "html_url": web, "pull_request_url": p.api(), "pull_request_review_id": n.reviewID(),
		"diff_hunk": n.hunk, "path": n.path, "commit_id": n.commit, "original_commit_id": n.originalCommit, "user": p.repo.s.user(n.author), "body": n.body,
		"created_at": stamp(n.created), "updated_at": stamp(n.updated), "author_association": p.repo.association(n.author), "subject_type": n.subject, "side": n.side,
		"line": lineOrNull(n.line), "original_line": lineOrNull(n.originalLine), "start_line": lineOrNull(n.startLine), "original_start_line": lineOrNull(n.originalStart),
		"start_side": text(n.startSide), "position": lineOrNull(n.position), "original_position": max(1, n.originalPosition),
		"_links":    object{"self": object{"href": api}, "html": object{"href": web}, "pull_request": object{"href": p.api()}},
		"reactions": p.repo.s.rollup(api, n.reactions),
	}
	if n.replyTo != 0 {
		body["in_reply_to_id"] = n.replyTo
	}
	return body
}

// restJSON is the comment as the REST API's description has it: lines that it does not have are left out, not null as in webhooks.
func (n *reviewComment) restJSON() object {
	body := n.json()
	for _, k := range []string{"line", "original_line", "position"} {
		if body[k] == nil {
			delete(body, k)
		}
	}
	return body
}

// legacyJSON is a comment among those of its review, an older form with positions.
func (n *reviewComment) legacyJSON() object {
	position := lineOrNull(n.position)
	body := n.restJSON()
	delete(body, "subject_type")
	if n.startSide == "" {
		delete(body, "start_side")
	}
	body["position"] = position
	return body
}
