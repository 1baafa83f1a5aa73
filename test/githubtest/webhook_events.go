package githubtest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// eventNeeds is the permission that an installation must have granted, at least to read, for an event to be sent to it.
var eventNeeds = map[string]string{
	"check_run": "checks", "check_suite": "checks", "code_scanning_alert": "security_events", "issue_comment": "issues_or_pulls", "merge_group": "merge_queues",
	"pull_request": "pull_requests", "pull_request_review": "pull_requests", "pull_request_review_comment": "pull_requests",
	"pull_request_review_thread": "pull_requests", "push": "contents", "repository": "metadata", "status": "statuses",
}

// emit sends an event to whom GitHub would send it; the caller holds s.mu. Its payload is of this moment.
func (s *Server) emit(e event) {
	if e.name == "pull_request" && e.action == "synchronize" {
		s.formerHeads[e.pull] = e.before
	}
	if s.hook.url == "" {
		return
	}
	in := s.recipient(e)
	if in == nil {
		return
	}
	body := s.payload(e, in)
	d := Delivery{GUID: guid(), Event: e.name, Action: e.action, Installation: in.id}
	if e.repo != nil {
		d.Repository = e.repo.id
	}
	s.ship(d, body)
}

// ship queues a payload, unless it is larger than GitHub sends.
func (s *Server) ship(d Delivery, body object) {
	data, err := json.Marshal(body)
	if err != nil {
		s.later(fmt.Errorf("writing a payload of %s: %w", d.Event, err))
		return
	}
	if len(data) > maxPayload {
		return
	}
	d.Payload = data
	s.hooks.add(&shipment{Delivery: d})
}

// recipient is the installation that hears of an event, nil when none does. Whoever writes checks is subscribed to the events of
// checks without asking, and alone hears of requests for its own.
func (s *Server) recipient(e event) *installation {
	if e.name == "installation" || e.name == "installation_repositories" {
		return s.installationOn(e.account)
	}
	in := s.installed(e.repo)
	if in == nil || !in.suspendedAt.IsZero() {
		return nil
	}
	need := eventNeeds[e.name]
	granted := in.permissions[need]
	switch need {
	case "metadata":
		granted = "read"
	case "issues_or_pulls":
		granted = in.permissions["issues"]
		if e.issue == nil || e.repo.pulls[e.issue.number] != nil {
			granted += in.permissions["pull_requests"]
		}
	}
	if granted == "" {
		return nil
	}
	if need != "checks" {
		if !slices.Contains(in.events, e.name) {
			return nil
		}
		return in
	}
	writes := granted == "write" || granted == "admin"
	if slices.Contains([]string{"requested", "rerequested", "requested_action"}, e.action) {
		owner := ""
		switch {
		case e.run != nil:
			owner = e.run.app.slug
		case e.suite != nil:
			owner = e.suite.app.slug
		}
		if owner != s.app.Slug || !writes {
			return nil
		}
		return in
	}
	if !writes && !slices.Contains(in.events, e.name) {
		return nil
	}
	return in
}

func (s *Server) installationOn(account string) *installation {
	for _, in := range s.installations {
		if strings.EqualFold(in.account, account) {
			return in
		}
	}
	return nil
}

// payload builds what is sent.
func (s *Server) payload(e event, in *installation) object {
	body := object{"sender": s.user(e.sender)}
	if e.action != "" {
		body["action"] = e.action
	}
	if e.changes != nil {
		body["changes"] = e.changes
	}
	if e.repo != nil {
		body["repository"] = s.hookRepoJSON(e.repo)
		if s.account(e.repo.owner).kind == "Organization" {
			body["organization"] = s.organizationJSON(e.repo.owner)
		}
		body["installation"] = object{"id": in.id, "node_id": nodeID("I", in.id)}
	}
	switch e.name {
	case "pull_request":
		s.pullPayload(body, e)
	case "push":
		s.pushPayload(body, e)
	case "status":
		s.statusPayload(body, e)
	case "check_run":
		body["check_run"] = s.hookRunJSON(e.repo, e.run)
		if e.action == "requested_action" {
			body["requested_action"] = object{"identifier": e.actionID}
		}
	case "check_suite":
		body["check_suite"] = s.hookSuiteJSON(e.repo, e.suite)
	case "issue_comment":
		comment := e.repo.commentJSON(e.comment)
		comment["performed_via_github_app"] = s.appJSON(e.comment.app)
		body["comment"], body["issue"] = comment, e.repo.issueJSON(e.issue)
	case "pull_request_review_comment":
		body["comment"], body["pull_request"] = e.note.json(), hookPull(e.note.pull.simpleJSON())
	case "pull_request_review":
		body["review"], body["pull_request"] = s.hookReviewJSON(e), hookPull(e.pull.simpleJSON())
	case "pull_request_review_thread":
		notes := []any{}
		for _, n := range e.thread.comments {
			notes = append(notes, n.json())
		}
		body["thread"] = object{"node_id": nodeID("PRRT", e.thread.id), "comments": notes}
		body["pull_request"] = hookPull(e.pull.simpleJSON())
	case "code_scanning_alert":
		s.alertPayload(body, e)
	case "merge_group":
		body["merge_group"] = object{
			"head_sha": e.group.headSHA, "head_ref": "refs/heads/" + strings.TrimPrefix(e.group.headRef, "refs/heads/"), "base_sha": e.group.baseSHA,
			"base_ref": "refs/heads/" + strings.TrimPrefix(e.group.baseRef, "refs/heads/"), "head_commit": e.repo.headCommitJSON(e.group.headSHA),
		}
		if e.action == "destroyed" {
			body["reason"] = e.reason
		}
	case "installation":
		body["installation"] = s.installationJSON(in)
		if e.action == "created" || e.action == "deleted" || e.action == "new_permissions_accepted" {
			covered := []*Repo{}
			for _, r := range s.sortedRepos() {
				if s.installed(r) == in {
					covered = append(covered, r)
				}
			}
			body["repositories"] = shortRepos(covered)
		}
		if e.action == "created" {
			body["requester"] = nil
		}
	case "installation_repositories":
		body["installation"], body["repository_selection"], body["requester"] = s.installationJSON(in), in.selection(), nil
		body["repositories_added"], body["repositories_removed"] = shortRepos(e.added), shortRepos(e.removed)
	}
	return body
}

func shortRepos(list []*Repo) []any {
	out := []any{}
	for _, r := range list {
		out = append(out, object{"id": r.id, "node_id": nodeID("R", r.id), "name": r.name, "full_name": r.owner + "/" + r.name, "private": r.private})
	}
	return out
}

func (s *Server) organizationJSON(login string) object {
	a := s.account(login)
	api := s.REST + "orgs/" + a.login
	return object{
		"login": a.login, "id": a.id, "node_id": nodeID("O", a.id), "url": api, "repos_url": api + "/repos", "events_url": api + "/events", "hooks_url": api + "/hooks",
		"issues_url": api + "/issues", "members_url": api + "/members{/member}", "public_members_url": api + "/public_members{/member}",
		"avatar_url": fmt.Sprintf("%s/avatars/%d", s.URL, a.id), "description": "",
	}
}

// hookRepoJSON is a repository at the side of a payload.
func (s *Server) hookRepoJSON(r *Repo) object {
	body := s.repoJSON(r)
	body["custom_properties"] = object{}
	return body
}

// hookPull adds what events, other than REST, say of the repositories at a pull request's ends.
func hookPull(pull object) object {
	for _, end := range []string{"head", "base"} {
		side, _ := pull[end].(object)
		repo, present := side["repo"].(object)
		if !present {
			continue // the fork is gone
		}
		for _, name := range []string{"allow_squash_merge", "allow_merge_commit", "allow_rebase_merge"} {
			repo[name] = true
		}
		for _, name := range []string{"allow_auto_merge", "allow_update_branch", "delete_branch_on_merge", "use_squash_pr_title_as_default"} {
			repo[name] = false
		}
	}
	return pull
}

func (s *Server) pullPayload(body object, e event) {
	body["number"], body["pull_request"] = e.pull.number, hookPull(e.pull.fullJSON())
	switch e.action {
	case "synchronize":
		body["before"], body["after"] = e.before, e.after
	case "labeled", "unlabeled":
		body["label"] = e.repo.labelJSON(e.label)
	case "review_requested":
		body["requested_reviewer"] = s.user(e.reviewer)
	}
}

// maxPushCommits is how many commits a push lists, the newest ones.
const maxPushCommits = 2048

func (s *Server) pushPayload(body object, e event) {
	r := e.repo
	repo := s.hookRepoJSON(r)
	// Of all payloads only this one has Unix times here.
	repo["created_at"], repo["pushed_at"], repo["stargazers"], repo["master_branch"] = r.created.Unix(), r.pushed.Unix(), 0, r.defaultBranch
	if org := body["organization"]; org != nil {
		repo["organization"] = r.owner
	}
	if owner, isUser := repo["owner"].(object); isUser {
		owner["name"], owner["email"] = r.owner, nil
	}
	delete(body, "action")
	body["repository"] = repo
	body["ref"], body["before"], body["after"], body["base_ref"] = e.ref, e.before, e.after, nil
	body["created"], body["deleted"], body["forced"] = e.before == zeroSHA, e.after == zeroSHA, e.forced
	body["pusher"] = object{"name": e.sender, "email": s.noreply(e.sender)}
	from := e.before
	if e.before == zeroSHA {
		from = r.branch(r.defaultBranch)
	}
	body["compare"] = r.web() + "/compare/" + short(e.before) + "..." + short(e.after)
	commits := []any{}
	body["head_commit"] = nil
	if e.after != zeroSHA {
		list := r.between(from, e.after)
		for _, i := range list[max(0, len(list)-maxPushCommits):] {
			commits = append(commits, r.pushCommitJSON(i))
		}
		if tip, known := r.commit(e.after); known {
			body["head_commit"] = r.pushCommitJSON(tip)
		}
	}
	body["commits"] = commits
}

func short(sha string) string { return sha[:min(12, len(sha))] }

func (r *Repo) pushCommitJSON(i commitInfo) object {
	body := r.headCommitJSON(i.sha)
	body["distinct"], body["url"] = true, r.web()+"/commit/"+i.sha
	var added, removed, modified = []string{}, []string{}, []string{}
	parent := emptyTree
	if len(i.parents) > 0 {
		parent = i.parents[0]
	}
	for _, f := range r.names(parent, i.sha) {
		switch f.status {
		case "added":
			added = append(added, f.path)
		case "removed":
			removed = append(removed, f.path)
		default:
			modified = append(modified, f.path)
		}
	}
	body["added"], body["removed"], body["modified"] = added, removed, modified
	return body
}

const emptyTree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

type nameStatus struct{ status, path string }

// names lists what changed between two trees, without looking for renames.
func (r *Repo) names(from, to string) []nameStatus {
	return memo(r, "names "+from+" "+to, func() []nameStatus {
		out, err := r.tryGit(nil, "diff-tree", "-r", "-z", "--no-renames", "--name-status", from, to)
		if err != nil {
			return nil
		}
		var list []nameStatus
		fields := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
		for pair := range slices.Chunk(fields, 2) {
			if len(pair) != 2 {
				continue
			}
			kind := map[string]string{"A": "added", "D": "removed"}[pair[0]]
			list = append(list, nameStatus{status: kind, path: pair[1]})
		}
		return list
	})
}

// headCommitJSON is a commit as it stands in payloads.
func (r *Repo) headCommitJSON(sha string) object {
	i, _ := r.commit(sha)
	person := func(name, email string) object {
		p := object{"name": name, "email": email}
		if login := r.s.loginOf(email); login != "" {
			p["username"] = login
		}
		return p
	}
	return object{
		"id": i.sha, "tree_id": i.tree, "message": i.message, "timestamp": stamp(i.committerDate),
		"author": person(i.authorName, i.authorEmail), "committer": person(i.committerName, i.committerEmail),
	}
}

func (s *Server) statusPayload(body object, e event) {
	st, r := e.status, e.repo
	delete(body, "action")
	commit, _ := r.commit(st.sha)
	branches := []any{}
	for _, line := range strings.Split(r.git("for-each-ref", "--format=%(refname:short) %(objectname)", "--contains", st.sha, "--count=10", "refs/heads"), "\n") {
		if name, tip, found := strings.Cut(line, " "); found {
			branches = append(branches, object{"name": name, "commit": object{"sha": tip, "url": r.api() + "/commits/" + tip}, "protected": false})
		}
	}
	for key, value := range (object{
		"id": st.id, "sha": st.sha, "name": r.owner + "/" + r.name, "target_url": text(st.target), "avatar_url": nil, "context": st.context,
		"description": text(st.description), "state": st.state, "commit": r.commitJSON(commit), "branches": branches,
		"created_at": stamp(st.created), "updated_at": stamp(st.created),
	}) {
		body[key] = value
	}
}

// checkedPulls are the pull requests that GitHub names in events of checks: open, and from a branch of this very repository.
func (r *Repo) checkedPulls(sha string) []any {
	out := []any{}
	for _, p := range r.sortedPulls() {
		if p.state != "open" || p.headRepo != r || p.headSHA != sha {
			continue
		}
		repo := object{"id": r.id, "url": r.api(), "name": r.name}
		out = append(out, object{
			"url": p.api(), "id": p.id, "number": p.number,
			"head": object{"ref": p.headRef, "sha": p.headSHA, "repo": repo}, "base": object{"ref": p.baseRef, "sha": p.baseSHA, "repo": repo},
		})
	}
	return out
}

func (s *Server) hookRunJSON(r *Repo, run *checkRun) object {
	api := fmt.Sprintf("%s/check-runs/%d", r.api(), run.id)
	web := fmt.Sprintf("%s/runs/%d", r.web(), run.id)
	details := run.detailsURL
	if details == "" {
		details = web
	}
	started := run.started
	if started.IsZero() {
		started = run.suite.created
	}
	suite := run.suite
	return object{
		"id": run.id, "node_id": nodeID("CR", run.id), "name": run.name, "head_sha": run.headSHA, "external_id": run.externalID, "url": api, "html_url": web,
		"details_url": details, "status": run.status, "conclusion": text(run.conclusion), "started_at": stamp(started), "completed_at": stamp(run.completed),
		"output": object{
			"title": text(run.title), "summary": text(run.summary), "text": text(run.text), "annotations_count": len(run.annotations), "annotations_url": api + "/annotations",
		},
		"check_suite": object{
			"id": suite.id, "node_id": nodeID("CS", suite.id), "head_branch": text(suite.headBranch), "head_sha": suite.headSHA, "status": suite.status,
			"conclusion": text(suite.conclusion), "url": fmt.Sprintf("%s/check-suites/%d", r.api(), suite.id), "before": text(suite.before), "after": suite.headSHA,
			"pull_requests": r.checkedPulls(suite.headSHA), "app": s.appJSON(suite.app), "created_at": stamp(suite.created), "updated_at": stamp(suite.updated),
		},
		"app": s.appJSON(run.app), "pull_requests": r.checkedPulls(run.headSHA),
	}
}

func (s *Server) hookSuiteJSON(r *Repo, suite *checkSuite) object {
	api := fmt.Sprintf("%s/check-suites/%d", r.api(), suite.id)
	runs := 0
	for _, run := range r.runs {
		if run.suite == suite {
			runs++
		}
	}
	return object{
		"id": suite.id, "node_id": nodeID("CS", suite.id), "head_branch": text(suite.headBranch), "head_sha": suite.headSHA, "status": text(suite.status),
		"conclusion": text(suite.conclusion), "url": api, "before": text(suite.before), "after": suite.headSHA, "pull_requests": r.checkedPulls(suite.headSHA),
		"app": s.suiteAppJSON(suite.app), "created_at": stamp(suite.created), "updated_at": stamp(suite.updated), "rerequestable": true, "runs_rerequestable": true,
		"latest_check_runs_count": runs, "check_runs_url": api + "/check-runs", "head_commit": r.headCommitJSON(suite.headSHA),
	}
}

// suiteAppJSON is an App in events of check suites, whose description does not know that an App may hear of merge groups.
func (s *Server) suiteAppJSON(a *app) any {
	known := *a
	known.events = slices.DeleteFunc(slices.Clone(a.events), func(name string) bool { return name == "merge_group" })
	return s.appJSON(&known)
}

// alertPayload: an alert as its REST form, bent to what each action says of it.
func (s *Server) alertPayload(body object, e event) {
	a, r := e.alert, e.repo
	api := fmt.Sprintf("%s/code-scanning/alerts/%d", r.api(), a.number)
	ref := e.ref
	if ref == "" {
		ref = a.Alert.Ref
	}
	oid := e.after
	if oid == "" {
		oid = a.Alert.CommitSHA
	}
	state := a.state
	severity := a.Alert.Severity
	if severity == "" {
		severity = "warning"
	}
	alert := object{
		"number": a.number, "created_at": stamp(a.created), "updated_at": stamp(a.updated), "url": api, "html_url": fmt.Sprintf("%s/security/code-scanning/%d", r.web(), a.number),
		"instances_url": api + "/instances", "state": state, "fixed_at": nil, "dismissed_by": nil, "dismissed_at": nil, "dismissed_reason": nil, "dismissed_comment": nil,
		"rule": object{
			"id": a.Alert.Rule, "severity": severity, "description": a.Alert.Description, "name": a.Alert.Rule, "full_description": a.Alert.Description,
			"tags": []string{"security"}, "help": "", "help_uri": "",
		},
		"tool": object{"name": a.Alert.Tool, "guid": nil, "version": "2.20.0"},
		"most_recent_instance": object{
			"ref": ref, "analysis_key": "analysis", "environment": "{}", "category": a.Alert.Category, "state": state, "commit_sha": oid,
			"message":         object{"text": a.Alert.Message},
			"location":        object{"path": a.Alert.Path, "start_line": a.Alert.StartLine, "end_line": a.Alert.EndLine, "start_column": a.Alert.StartColumn, "end_column": a.Alert.EndColumn},
			"classifications": []string{},
		},
	}
	switch e.action {
	case "fixed":
		alert["fixed_at"] = stamp(a.fixed)
	case "closed_by_user":
		alert["dismissed_by"], alert["dismissed_at"], alert["dismissed_reason"] = s.user(e.sender), stamp(a.updated), text(a.Alert.DismissedReason)
	}
	body["alert"], body["ref"], body["commit_oid"] = alert, ref, oid
}

func (s *Server) hookReviewJSON(e event) object {
	v, p := e.review, e.pull
	web := fmt.Sprintf("%s#pullrequestreview-%d", p.web(), v.id)
	return object{
		"id": v.id, "node_id": nodeID("PRR", v.id), "user": s.user(v.author), "body": text(v.body), "commit_id": v.commit, "submitted_at": stamp(v.submitted),
		"updated_at": stamp(v.submitted), "state": strings.ToLower(v.state), "html_url": web, "pull_request_url": p.api(), "author_association": p.repo.association(v.author),
		"_links": object{"html": object{"href": web}, "pull_request": object{"href": p.api()}},
	}
}

// Ping sends what GitHub sends when a webhook is set up.
func (s *Server) Ping() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hook.url == "" {
		return
	}
	a := s.apps[s.app.Slug]
	s.ship(Delivery{GUID: guid(), Event: "ping"}, object{
		"zen": "Keep it logically awesome.", "hook_id": s.hooks.id,
		"hook": object{
			"type": "App", "id": s.hooks.id, "name": "web", "active": true, "events": a.events, "app_id": a.id, "created_at": stamp(a.created), "updated_at": stamp(a.created),
			"config": object{"content_type": "json", "insecure_ssl": "0", "secret": "********", "url": s.hook.url}, "deliveries_url": s.REST + "app/hook/deliveries",
		},
	})
}
