package githubtest

import "strconv"

// workflowRun is a run of a workflow of GitHub Actions; its jobs are the check runs of its suite.
type workflowRun struct {
	id          int64
	suite       *checkSuite
	path, event string
}

func actionsRoutes() map[string]route {
	return map[string]route{
		"GET /repos/{owner}/{repo}/actions/runs": {need: "actions:read", handle: listWorkflowRuns},
	}
}

// Workflow makes a check run a job of a workflow run: of the workflow at path, started by event.
func (r *Repo) Workflow(checkRunID int64, path, event string) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.workflows = append(r.workflows, &workflowRun{id: r.s.id(), suite: r.run(checkRunID).suite, path: path, event: event})
}

func listWorkflowRuns(c *call) reply {
	var found []*workflowRun
	for _, w := range c.repo.workflows {
		suite, head, event := c.query("check_suite_id"), c.query("head_sha"), c.query("event")
		if suite != "" && suite != strconv.FormatInt(w.suite.id, 10) || head != "" && head != w.suite.headSHA || event != "" && event != w.event {
			continue
		}
		found = append(found, w)
	}
	return listIn(c, "workflow_runs", found, func(w *workflowRun) any { return c.repo.workflowJSON(w) })
}

func (r *Repo) workflowJSON(w *workflowRun) object {
	id := strconv.FormatInt(w.id, 10)
	api := r.api() + "/actions/runs/" + id
	commit, _ := r.commit(w.suite.headSHA)
	return object{
		"id": w.id, "node_id": nodeID("WFR", w.id), "name": w.path, "head_branch": text(w.suite.headBranch), "run_number": 1, "display_title": w.path,
		"event": w.event, "status": w.suite.status, "conclusion": text(w.suite.conclusion), "head_sha": w.suite.headSHA, "path": w.path, "workflow_id": w.id,
		"check_suite_id": w.suite.id, "url": api, "html_url": r.web() + "/actions/runs/" + id, "created_at": stamp(w.suite.created), "updated_at": stamp(w.suite.updated),
		"head_commit": r.simpleCommitJSON(commit), "head_repository": r.s.repoJSON(r), "repository": r.s.repoJSON(r), "jobs_url": api + "/jobs", "logs_url": api + "/logs",
		"check_suite_url": r.api() + "/check-suites/" + strconv.FormatInt(w.suite.id, 10), "cancel_url": api + "/cancel", "rerun_url": api + "/rerun",
		"artifacts_url": api + "/artifacts", "workflow_url": r.api() + "/actions/workflows/" + id, "pull_requests": r.pullsOf(w.suite.headSHA),
	}
}
