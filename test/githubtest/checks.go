package githubtest

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"
)

func checkRoutes() map[string]route {
	return map[string]route{
		"POST /repos/{owner}/{repo}/check-runs":                           {need: "checks:write", handle: createRun},
		"GET /repos/{owner}/{repo}/check-runs/{check_run_id}":             {need: "checks:read", handle: onRun(func(c *call, r *checkRun) reply { return ok(c.repo.runJSON(r)) })},
		"PATCH /repos/{owner}/{repo}/check-runs/{check_run_id}":           {need: "checks:write", handle: onRun(updateRun)},
		"GET /repos/{owner}/{repo}/check-runs/{check_run_id}/annotations": {need: "checks:read", handle: onRun(listAnnotations)},
		"POST /repos/{owner}/{repo}/check-runs/{check_run_id}/rerequest":  {need: "checks:write", handle: onRun(func(c *call, r *checkRun) reply { c.repo.rerequest(r, c.who.login); return created(object{}) })},
		"GET /repos/{owner}/{repo}/check-suites/{check_suite_id}":         {need: "checks:read", handle: onSuite(func(c *call, s *checkSuite) reply { return ok(c.repo.suiteJSON(s)) })},
		"GET /repos/{owner}/{repo}/check-suites/{check_suite_id}/check-runs": {need: "checks:read", handle: onSuite(func(c *call, s *checkSuite) reply {
			return c.listRuns(func(r *checkRun) bool { return r.suite == s })
		})},
		"POST /repos/{owner}/{repo}/check-suites/{check_suite_id}/rerequest": {need: "checks:write", handle: onSuite(func(c *call, s *checkSuite) reply { c.repo.rerequestSuite(s, c.who.login); return created(object{}) })},
		"GET /repos/{owner}/{repo}/commits/{ref}/check-runs": {need: "checks:read", handle: onCommit(func(c *call, sha string) reply {
			return c.listRuns(func(r *checkRun) bool { return r.headSHA == sha })
		})},
		"GET /repos/{owner}/{repo}/commits/{ref}/check-suites": {need: "checks:read", handle: onCommit(listSuites)},
		"GET /repos/{owner}/{repo}/commits/{ref}/statuses": {need: "statuses:read", handle: onCommit(func(c *call, sha string) reply {
			return list(c, c.repo.statusesOf(sha), func(s *status) any { return c.repo.statusJSON(s) })
		})},
		"GET /repos/{owner}/{repo}/commits/{ref}/status": {need: "statuses:read", handle: onCommit(combinedStatus)},
		"POST /repos/{owner}/{repo}/statuses/{sha}":      {need: "statuses:write", handle: createStatus},
	}
}

func onRun(h func(*call, *checkRun) reply) handler {
	return func(c *call) reply {
		for _, r := range c.repo.runs {
			if r.id == c.number("check_run_id") {
				return h(c, r)
			}
		}
		return notFound()
	}
}

func onSuite(h func(*call, *checkSuite) reply) handler {
	return func(c *call) reply {
		for _, s := range c.repo.suites {
			if s.id == c.number("check_suite_id") {
				return h(c, s)
			}
		}
		return notFound()
	}
}

func onCommit(h func(*call, string) reply) handler {
	return func(c *call) reply {
		sha := c.repo.resolve(c.param("ref"))
		if sha == "" {
			return refuse("No commit found for SHA: " + c.param("ref"))
		}
		return h(c, sha)
	}
}

// runRequest is the body of creating or updating a check run.
type runRequest struct {
	Name        *string
	HeadSHA     string     `json:"head_sha"`
	DetailsURL  *string    `json:"details_url"`
	ExternalID  *string    `json:"external_id"`
	Status      *string    `json:"status"`
	StartedAt   *time.Time `json:"started_at"`
	Conclusion  *string    `json:"conclusion"`
	CompletedAt *time.Time `json:"completed_at"`
	Output      *struct {
		Title       *string
		Summary     string
		Text        *string
		Annotations []struct {
			Path            string
			StartLine       int    `json:"start_line"`
			EndLine         int    `json:"end_line"`
			StartColumn     int    `json:"start_column"`
			EndColumn       int    `json:"end_column"`
			AnnotationLevel string `json:"annotation_level"`
			Message         string
			Title           string
			RawDetails      string `json:"raw_details"`
		}
	}
	Actions []Action
}

// What the description says in words only: GitHub's limits of an annotation's texts.
const (
	maxAnnotationText  = 64 << 10
	maxAnnotationTitle = 255
)

// refused says what the description's schema cannot about a check run.
func (in *runRequest) refused() *reply {
	var rep reply
	switch {
	case in.Conclusion != nil && *in.Conclusion == "stale":
		rep = refuse("Invalid request.\n\nOnly GitHub can change a check run conclusion to stale.")
	case in.Status != nil && *in.Status == "completed" && in.Conclusion == nil:
		rep = unprocessable("CheckRun", "conclusion", "missing_field", "")
	case in.Output != nil && in.Output.Title == nil:
		rep = refuse("Invalid request.\n\n\"title\" wasn't supplied.")
	default:
		if in.Output == nil {
			return nil
		}
		for _, a := range in.Output.Annotations {
			switch {
			case len(a.Message) > maxAnnotationText || len(a.RawDetails) > maxAnnotationText:
				rep = unprocessable("CheckAnnotation", "message", "custom", "is too long (maximum is 64 KB)")
			case len([]rune(a.Title)) > maxAnnotationTitle:
				rep = unprocessable("CheckAnnotation", "title", "custom", "is too long (maximum is 255 characters)")
			case a.EndLine < a.StartLine:
				rep = unprocessable("CheckAnnotation", "end_line", "custom", "must be greater than or equal to start_line")
			case a.StartLine != a.EndLine && (a.StartColumn != 0 || a.EndColumn != 0):
				rep = unprocessable("CheckAnnotation", "start_column", "custom", "can only be set when start_line and end_line are equal")
			default:
				continue
			}
			return &rep
		}
		return nil
	}
	return &rep
}

func createRun(c *call) reply {
	var in runRequest
	c.decode(&in)
	if rep := in.refused(); rep != nil {
		return *rep
	}
	if full, found := c.repo.commit(in.HeadSHA); !found || full.sha != in.HeadSHA {
		return refuse("No commit found for SHA: " + in.HeadSHA)
	}
	r := c.repo.newRun(c.s.apps[c.s.app.Slug], *in.Name, in.HeadSHA)
	c.repo.change(r, in)
	c.repo.announceRun("created", r, c.who.login)
	if r.status == "completed" {
		c.repo.concluded(r, c.who.login)
	}
	return created(c.repo.runJSON(r))
}

func updateRun(c *call, r *checkRun) reply {
	if r.app.slug != c.s.app.Slug {
		return failure(http.StatusForbidden, "Invalid app_id `"+strconv.FormatInt(c.s.app.ID, 10)+"` - check run can only be modified by the GitHub App that created it.")
	}
	var in runRequest
	c.decode(&in)
	if rep := in.refused(); rep != nil {
		return *rep
	}
	was := r.status
	c.repo.change(r, in)
	if r.status == "completed" && was != "completed" {
		c.repo.concluded(r, c.who.login)
	}
	return ok(c.repo.runJSON(r))
}

// newRun adds a queued check run to its App's suite on the commit; the caller holds s.mu.
func (r *Repo) newRun(a *app, name, sha string) *checkRun {
	run := &checkRun{id: r.s.id(), suite: r.suiteOf(a, sha), app: a, name: name, headSHA: sha, status: "queued", started: r.s.now()}
	r.runs = append(r.runs, run)
	// GitHub keeps a thousand of a name in a suite.
	const most = 1000
	var same []*checkRun
	for _, o := range r.runs {
		if o.suite == run.suite && o.name == name {
			same = append(same, o)
		}
	}
	if len(same) > most {
		r.runs = slices.DeleteFunc(r.runs, func(o *checkRun) bool { return o == same[0] })
	}
	return run
}

// change applies a request to a run: annotations are added, everything else replaced.
func (r *Repo) change(run *checkRun, in runRequest) {
	set := func(to *string, from *string) {
		if from != nil {
			*to = *from
		}
	}
	set(&run.name, in.Name)
	set(&run.detailsURL, in.DetailsURL)
	set(&run.externalID, in.ExternalID)
	set(&run.status, in.Status)
	if in.Status != nil && *in.Status != "completed" {
		run.conclusion, run.completed = "", time.Time{}
	}
	if in.StartedAt != nil {
		run.started = *in.StartedAt
	}
	if in.Conclusion != nil {
		run.conclusion, run.status, run.completed = *in.Conclusion, "completed", r.s.now()
		if in.CompletedAt != nil {
			run.completed = *in.CompletedAt
		}
	}
	if in.Output != nil {
		run.hasOutput, run.title, run.summary, run.text = true, *in.Output.Title, in.Output.Summary, ""
		set(&run.text, in.Output.Text)
		for _, a := range in.Output.Annotations {
			run.annotations = append(run.annotations, Annotation{
				Path: a.Path, StartLine: a.StartLine, EndLine: a.EndLine, StartColumn: a.StartColumn, EndColumn: a.EndColumn,
				Level: a.AnnotationLevel, Title: a.Title, Message: a.Message, Raw: a.RawDetails,
			})
		}
	}
	if in.Actions != nil {
		run.actions = in.Actions
	}
}

// announceRun tells of a check run.
func (r *Repo) announceRun(action string, run *checkRun, sender string) {
	r.s.emit(event{name: "check_run", action: action, repo: r, run: run, suite: run.suite, sender: sender})
}

// concluded tells of a completed run and, when it was the last of its suite, of the suite.
func (r *Repo) concluded(run *checkRun, sender string) {
	r.announceRun("completed", run, sender)
	s := run.suite
	if s.status, s.conclusion = r.suiteState(s); s.status == "completed" {
		s.updated = r.s.now()
		r.s.emit(event{name: "check_suite", action: "completed", repo: r, suite: s, sender: sender})
	}
}

// suiteState sums up the runs of a suite: the latest of each name count.
func (r *Repo) suiteState(s *checkSuite) (status, conclusion string) {
	latest := map[string]*checkRun{}
	for _, run := range r.runs {
		if run.suite == s {
			latest[run.name] = run
		}
	}
	if len(latest) == 0 {
		return "queued", ""
	}
	conclusion = "success"
	order := []string{"skipped", "neutral", "success", "cancelled", "stale", "action_required", "timed_out", "failure"}
	worst := -1
	for _, run := range latest {
		if run.status != "completed" {
			return "in_progress", ""
		}
		if i := slices.Index(order, run.conclusion); i > worst {
			worst, conclusion = i, run.conclusion
		}
	}
	return "completed", conclusion
}

// suiteOf finds the suite of an App on a commit, or makes it.
func (r *Repo) suiteOf(a *app, sha string) *checkSuite {
	for _, s := range r.suites {
		if s.app == a && s.headSHA == sha {
			return s
		}
	}
	s := &checkSuite{id: r.s.id(), app: a, headSHA: sha, status: "queued", created: r.s.now(), updated: r.s.now(), before: zeroSHA}
	for _, p := range r.sortedPulls() {
		if p.headSHA == sha && p.headRepo == r { // of a fork's head GitHub knows no branch
			s.headBranch = p.headRef
		}
	}
	if s.headBranch == "" && r.branch(r.defaultBranch) == sha {
		s.headBranch = r.defaultBranch
	}
	r.suites = append(r.suites, s)
	return s
}

// requestSuites makes the App's suite for a push and tells it, as GitHub does to each App that may write checks.
func (r *Repo) requestSuites(branch, before, after, sender string) {
	if r.s.installed(r) == nil {
		return
	}
	s := r.suiteOf(r.s.apps[r.s.app.Slug], after)
	s.headBranch, s.before = branch, before
	r.s.emit(event{name: "check_suite", action: "requested", repo: r, suite: s, sender: sender})
}

// Check makes or updates the latest check run of a name and App on a commit. appSlug defaults to github-actions; conclusion
// is empty while status is not "completed".
func (r *Repo) Check(sha, name, status, conclusion, appSlug string) (id int64) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	a := r.s.appBySlug(appSlug)
	var run *checkRun
	for _, o := range r.runs {
		if o.headSHA == sha && o.name == name && o.app == a && o.status != "completed" {
			run = o
		}
	}
	isNew := run == nil
	if isNew {
		run = r.newRun(a, name, sha)
	}
	run.status, run.conclusion = status, conclusion
	if isNew {
		r.announceRun("created", run, a.slug+"[bot]")
	}
	if status == "completed" {
		run.completed = r.s.now()
		r.concluded(run, a.slug+"[bot]")
	}
	return run.id
}

// SetOutput gives a check run of somebody else's App a title, summary and annotations.
func (r *Repo) SetOutput(checkRunID int64, title, summary string, annotations ...Annotation) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	run := r.run(checkRunID)
	run.hasOutput, run.title, run.summary, run.annotations = true, title, summary, annotations
}

// run finds a check run that has to be there.
func (r *Repo) run(id int64) *checkRun {
	for _, run := range r.runs {
		if run.id == id {
			return run
		}
	}
	panic(fmt.Sprintf("githubtest: there is no check run %d", id))
}

// Status sets a commit status.
func (r *Repo) Status(sha, context, state, description string) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.addStatus(&status{sha: sha, state: state, context: context, description: description, creator: "ci"})
}

func (r *Repo) addStatus(st *status) {
	st.id, st.created = r.s.id(), r.s.now()
	r.statuses = append(r.statuses, st)
	r.s.emit(event{name: "status", repo: r, status: st, sender: st.creator})
}

// Rerequest presses "Re-run" on a check run as the administrator: its App is told, the suite is queued again, and the run
// stays as it is until the App acts.
func (r *Repo) Rerequest(checkRunID int64) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.rerequest(r.run(checkRunID), r.s.admin(r.owner))
}

func (r *Repo) rerequest(run *checkRun, sender string) {
	run.suite.status, run.suite.conclusion = "queued", ""
	r.announceRun("rerequested", run, sender)
}

// RerequestSuite presses "Re-run all checks" for the App's suite on a commit.
func (r *Repo) RerequestSuite(sha string) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.rerequestSuite(r.suiteOf(r.s.apps[r.s.app.Slug], sha), r.s.admin(r.owner))
}

func (r *Repo) rerequestSuite(s *checkSuite, sender string) {
	s.status, s.conclusion = "queued", ""
	r.s.emit(event{name: "check_suite", action: "rerequested", repo: r, suite: s, sender: sender})
}

// RequestAction presses one of a check run's buttons, as somebody.
func (r *Repo) RequestAction(checkRunID int64, identifier, sender string) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	run := r.run(checkRunID)
	if !slices.ContainsFunc(run.actions, func(a Action) bool { return a.Identifier == identifier }) {
		panic(fmt.Sprintf("githubtest: check run %d has no button %q", checkRunID, identifier))
	}
	if sender == "" {
		sender = r.s.admin(r.owner)
	}
	r.s.emit(event{name: "check_run", action: "requested_action", repo: r, run: run, suite: run.suite, actionID: identifier, sender: sender})
}

// CheckRuns lists all check runs on a commit, oldest first.
func (r *Repo) CheckRuns(sha string) []CheckRun {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	var out []CheckRun
	for _, run := range r.runs {
		if run.headSHA != sha {
			continue
		}
		out = append(out, CheckRun{
			ID: run.id, SuiteID: run.suite.id, App: run.app.slug, Name: run.name, HeadSHA: run.headSHA, Status: run.status, Conclusion: run.conclusion,
			ExternalID: run.externalID, DetailsURL: run.detailsURL, Title: run.title, Summary: run.summary, Text: run.text, StartedAt: run.started, CompletedAt: run.completed,
			Annotations: slices.Clone(run.annotations), Actions: slices.Clone(run.actions),
		})
	}
	return out
}

// listRuns answers the lists of check runs with their filters. "latest" is the newest of each name and suite.
func (c *call) listRuns(belongs func(*checkRun) bool) reply {
	var runs []*checkRun
	for _, r := range c.repo.runs {
		switch {
		case !belongs(r),
			c.query("check_name") != "" && c.query("check_name") != r.name,
			c.query("status") != "" && c.query("status") != r.status,
			c.query("app_id") != "" && c.query("app_id") != strconv.FormatInt(r.app.id, 10):
			continue
		}
		runs = append(runs, r)
	}
	slices.Reverse(runs) // newest first
	if f := c.query("filter"); f == "" || f == "latest" {
		type key struct {
			suite int64
			name  string
		}
		seen := map[key]bool{}
		runs = slices.DeleteFunc(runs, func(r *checkRun) bool {
			k := key{r.suite.id, r.name}
			was := seen[k]
			seen[k] = true
			return was
		})
	}
	return listIn(c, "check_runs", runs, func(r *checkRun) any { return c.repo.runJSON(r) })
}

func listSuites(c *call, sha string) reply {
	var suites []*checkSuite
	for _, s := range c.repo.suites {
		if s.headSHA != sha || c.query("app_id") != "" && c.query("app_id") != strconv.FormatInt(s.app.id, 10) {
			continue
		}
		if name := c.query("check_name"); name != "" && !slices.ContainsFunc(c.repo.runs, func(r *checkRun) bool { return r.suite == s && r.name == name }) {
			continue
		}
		suites = append(suites, s)
	}
	return listIn(c, "check_suites", suites, func(s *checkSuite) any { return c.repo.suiteJSON(s) })
}

func listAnnotations(c *call, r *checkRun) reply {
	return list(c, r.annotations, func(a Annotation) any {
		return object{
			"path": a.Path, "blob_href": c.repo.web() + "/blob/" + r.headSHA + "/" + a.Path, "start_line": a.StartLine, "end_line": a.EndLine,
			"start_column": lineOrNull(a.StartColumn), "end_column": lineOrNull(a.EndColumn), "annotation_level": a.Level, "title": text(a.Title),
			"message": a.Message, "raw_details": text(a.Raw),
		}
	})
}

// pullsOf lists the pull requests that a check on a commit belongs to, as checks do: none when the head is a fork's.
func (r *Repo) pullsOf(sha string) []any {
	out := []any{}
	for _, p := range r.sortedPulls() {
		if p.headSHA != sha || p.headRepo != r || p.state != "open" {
			continue
		}
		end := func(ref, sha string) object {
			return object{"ref": ref, "sha": sha, "repo": object{"id": r.id, "url": r.api(), "name": r.name}}
		}
		out = append(out, object{"id": p.id, "number": p.number, "url": p.api(), "head": end(p.headRef, p.headSHA), "base": end(p.baseRef, p.baseSHA)})
	}
	return out
}

func (r *Repo) runJSON(run *checkRun) object {
	id := strconv.FormatInt(run.id, 10)
	api := r.api() + "/check-runs/" + id
	output := object{"title": nil, "summary": nil, "text": nil, "annotations_count": len(run.annotations), "annotations_url": api + "/annotations"}
	if run.hasOutput {
		output["title"], output["summary"], output["text"] = text(run.title), text(run.summary), text(run.text)
	}
	details := run.detailsURL
	if details == "" {
		details = "https://example.com/" + run.app.slug
	}
	return object{
		"id": run.id, "name": run.name, "node_id": nodeID("CR", run.id), "head_sha": run.headSHA, "external_id": run.externalID, "url": api,
		"html_url": r.web() + "/runs/" + id, "details_url": details, "status": run.status, "conclusion": text(run.conclusion), "started_at": stamp(run.started),
		"completed_at": stamp(run.completed), "output": output, "check_suite": object{"id": run.suite.id}, "app": r.s.appJSON(run.app), "pull_requests": r.pullsOf(run.headSHA),
	}
}

func (r *Repo) suiteJSON(s *checkSuite) object {
	api := r.api() + "/check-suites/" + strconv.FormatInt(s.id, 10)
	count := 0
	for _, run := range r.runs {
		if run.suite == s {
			count++
		}
	}
	commit, _ := r.commit(s.headSHA)
	return object{
		"id": s.id, "node_id": nodeID("CS", s.id), "head_branch": text(s.headBranch), "head_sha": s.headSHA, "status": s.status, "conclusion": text(s.conclusion), "url": api,
		"before": s.before, "after": s.headSHA, "pull_requests": r.pullsOf(s.headSHA), "app": r.s.appJSON(s.app), "created_at": stamp(s.created), "updated_at": stamp(s.updated),
		"rerequestable": true, "runs_rerequestable": true, "latest_check_runs_count": count, "check_runs_url": api + "/check-runs", "head_commit": r.simpleCommitJSON(commit),
		"repository": r.s.repoJSON(r),
	}
}

// statusesOf lists a commit's statuses, newest first.
func (r *Repo) statusesOf(sha string) []*status {
	var list []*status
	for _, s := range r.statuses {
		if s.sha == sha {
			list = append(list, s)
		}
	}
	slices.Reverse(list)
	return list
}

func (r *Repo) statusJSON(s *status) object {
	body := r.shortStatusJSON(s)
	body["creator"] = r.s.user(s.creator)
	return body
}

func (r *Repo) shortStatusJSON(s *status) object {
	return object{
		"url": r.api() + "/statuses/" + s.sha, "avatar_url": r.s.user(s.creator)["avatar_url"], "id": s.id, "node_id": nodeID("SC", s.id), "state": s.state,
		"description": text(s.description), "target_url": text(s.target), "context": s.context, "created_at": stamp(s.created), "updated_at": stamp(s.created),
	}
}

// latestStatuses keeps the newest of each context.
func (r *Repo) latestStatuses(sha string) []*status {
	var latest []*status
	for _, s := range r.statusesOf(sha) {
		if !slices.ContainsFunc(latest, func(o *status) bool { return o.context == s.context }) {
			latest = append(latest, s)
		}
	}
	return latest
}

func combinedStatus(c *call, sha string) reply {
	latest := c.repo.latestStatuses(sha)
	state := "success"
	for _, s := range latest {
		if s.state == "failure" || s.state == "error" {
			state = "failure"
		} else if s.state == "pending" && state == "success" {
			state = "pending"
		}
	}
	if len(latest) == 0 {
		state = "pending"
	}
	items, header := page(c, latest, func(s *status) any { return c.repo.shortStatusJSON(s) })
	return reply{status: http.StatusOK, header: header, body: object{
		"state": state, "sha": sha, "total_count": len(latest), "statuses": items, "repository": c.s.repoJSON(c.repo), "commit_url": c.repo.api() + "/commits/" + sha,
		"url": c.repo.api() + "/commits/" + sha + "/status",
	}}
}

// GitHub's limits of a commit status.
const (
	maxStatusContext     = 255
	maxStatusDescription = 140
	maxStatuses          = 1000
)

func createStatus(c *call) reply {
	var in struct {
		State, Description, Context string
		TargetURL                   string `json:"target_url"`
	}
	c.decode(&in)
	if in.Context == "" {
		in.Context = "default"
	}
	if _, found := c.repo.commit(c.param("sha")); !found {
		return refuse("No commit found for SHA: " + c.param("sha"))
	}
	same := 0
	for _, s := range c.repo.statusesOf(c.param("sha")) {
		if s.context == in.Context {
			same++
		}
	}
	switch {
	case len([]rune(in.Context)) > maxStatusContext:
		return unprocessable("Status", "context", "custom", "context is too long (maximum is 255 characters)")
	case len([]rune(in.Description)) > maxStatusDescription:
		return unprocessable("Status", "description", "custom", "description is too long (maximum is 140 characters)")
	case same >= maxStatuses:
		return unprocessable("Status", "base", "custom", "This SHA and context has reached the maximum number of statuses.")
	}
	st := &status{sha: c.param("sha"), state: in.State, context: in.Context, description: in.Description, target: in.TargetURL, creator: c.who.login}
	c.repo.addStatus(st)
	return created(c.repo.statusJSON(st))
}
