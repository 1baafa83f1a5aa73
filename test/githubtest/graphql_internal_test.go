package githubtest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/prosecutor-bot/prosecutor/test/contract"
)

// TestEveryResolver asks for every field that the emulator knows, down to a depth, and so holds each resolver to the schema:
// the names, the types, the enumerations, and that nothing is null that may not be.
func TestEveryResolver(t *testing.T) {
	s := New(t)
	repo := s.AddRepo("acme/pay", map[string]string{"pay.go": "package pay\n\nfunc Pay() int {\n\treturn 1\n}\n", "logo.png": "\x89PNG\x00"})
	repo.Collaborator("alice", "write")
	number := repo.OpenIssue("alice", "Pay twice", "We pay once.")
	repo.Commit("feature", "Pay\n\nCo-authored-by: Claude <noreply@anthropic.com>", map[string]string{"pay.go": "package pay\n\nfunc Pay() int {\n\treturn 2\n}\n"})
	pr := repo.OpenPR(PR{Title: "Pay", Body: fmt.Sprintf("Fixes #%d", number), Head: "feature", Labels: []string{"bug"}})
	pr.Comment("alice", "hello")
	pr.ReplyTo(pr.CommentOn("alice", "pay.go", 4, "why?"), "dev", "because")
	pr.Review("alice", "APPROVE", "fine")
	id := repo.Check(pr.HeadSHA(), "build", "completed", "failure", "")
	repo.SetOutput(id, "Build", "It failed.", Annotation{Path: "pay.go", StartLine: 4, EndLine: 4, Level: "failure", Message: "no"})
	repo.Status(pr.HeadSHA(), "ci/lint", "success", "clean")

	s.mu.Lock()
	p := repo.pulls[pr.Number()]
	p.reviewers, p.teams = []string{"alice"}, []string{"core"}
	p.computeMerge()
	schema, err := contract.Schema()
	if err != nil {
		t.Fatal(err)
	}
	in := s.installationOn("acme")
	who := identity{token: &token{installation: in.id, permissions: in.permissions}, installation: in, login: s.app.BotLogin(), who: "test"}
	g := &graph{ctx: context.Background(), s: s, who: who, schema: schema}
	known := map[string]fields{"Query": g.queryRoot().fields}
	for _, o := range []*gobject{
		g.repo(repo), g.pull(p), g.issue(repo, repo.issues[number]), g.thread(p, p.threads[0]), g.reviewNote(p.threads[0].comments[0]), g.review(p, p.reviews[0]),
		g.comment(repo, repo.conversation(p.number)[0]), g.run(repo, repo.runs[0]), g.suite(repo, repo.suites[0]), g.status(repo, repo.statuses[0]), g.label(repo, repo.label("bug")),
		g.commit(repo, p.headSHA).(*gobject), g.ref(repo, "refs/heads/main").(*gobject), g.rollup(repo, p.headSHA).(*gobject), g.app(repo.runs[0].app).(*gobject),
		g.lookup(repo, "main:pay.go", "").(*gobject), g.lookup(repo, "main:", "").(*gobject), g.user("alice").(*gobject), g.actor("acme").(*gobject), g.actor("x[bot]").(*gobject),
		g.reviewRequest(p, "alice"),
	} {
		known[o.typ] = o.fields
	}
	known["TreeEntry"] = g.entry(repo, treeEntry{mode: "100644", kind: "blob", path: "pay.go"}).fields
	s.mu.Unlock()

	args := map[string]string{
		"repository": `(owner: "acme", name: "pay")`, "node": `(id: "` + nodeID("PR", p.id) + `")`, "nodes": `(ids: ["` + nodeID("PR", p.id) + `"])`, "label": `(name: "bug")`,
		"pullRequest": `(number: 2)`, "issue": `(number: 1)`, "issueOrPullRequest": `(number: 2)`, "ref": `(qualifiedName: "main")`, "object": `(expression: "main:pay.go")`,
		"file": `(path: "pay.go")`, "context": `(name: "ci/lint")`,
	}
	leaves := map[string]bool{}
	var selection func(typ string, depth int) string
	selection = func(typ string, depth int) string {
		d := schema.Types[typ]
		if d.IsAbstractType() {
			var b strings.Builder
			b.WriteString("__typename ")
			for _, member := range schema.PossibleTypes[typ] {
				if known[member.Name] != nil {
					fmt.Fprintf(&b, "... on %s { id } ", member.Name)
				}
			}
			return b.String()
		}
		var b strings.Builder
		b.WriteString("__typename ")
		for _, f := range d.Fields {
			if strings.HasPrefix(f.Name, "__") {
				continue
			}
			resolvers, listed := known[typ]
			if listed && resolvers[f.Name] == nil {
				continue
			}
			target := schema.Types[f.Type.Name()]
			arg := args[f.Name]
			if name, _, given := strings.Cut(strings.TrimPrefix(arg, "("), ":"); given && f.Arguments.ForName(name) == nil {
				arg = ""
			}
			if f.Arguments.ForName("first") != nil {
				arg = "(first: 2)"
			}
			leaves[typ+"."+f.Name] = true
			if target.IsLeafType() {
				fmt.Fprintf(&b, "%s%s ", f.Name, arg)
				continue
			}
			if depth > 0 {
				fmt.Fprintf(&b, "%s%s { %s } ", f.Name, arg, selection(target.Name, depth-1))
			}
		}
		return b.String()
	}
	run := func(query string) {
		t.Helper()
		body, err := json.Marshal(map[string]string{"query": query})
		if err != nil {
			t.Fatal(err)
		}
		rep, _ := s.query(context.Background(), who, body)
		answer := rep.body.(object)
		if answer["errors"] != nil {
			t.Errorf("%.300s: %v", query, answer["errors"])
		}
	}
	run("{ " + selection("Query", 1) + "}")
	// From each object its own fields and those of its neighbours.
	ids := map[string]string{}
	s.mu.Lock()
	for _, typ := range slices.Sorted(maps.Keys(known)) {
		if f := known[typ]["id"]; f != nil {
			ids[typ] = fmt.Sprint(f(ask{}))
		}
	}
	s.mu.Unlock()
	for _, typ := range []string{"Repository", "PullRequest", "Issue", "IssueComment", "PullRequestReview", "PullRequestReviewThread", "PullRequestReviewComment", "CheckRun", "CheckSuite", "User", "Bot", "Organization"} {
		run(fmt.Sprintf("{ node(id: %q) { ... on %s { %s } } }", ids[typ], typ, selection(typ, 1)))
	}
	run("{ repository(owner: \"acme\", name: \"pay\") { object(expression: \"feature\") { ... on Commit { " + selection("Commit", 3) + " } } } }")
	run("{ repository(owner: \"acme\", name: \"pay\") { object(expression: \"main:\") { ... on Tree { " + selection("Tree", 1) + " } } } }")
	run("{ repository(owner: \"acme\", name: \"pay\") { object(expression: \"main:logo.png\") { ... on Blob { " + selection("Blob", 0) + " } } } }")
	run("{ repository(owner: \"acme\", name: \"pay\") { pullRequest(number: 2) { " + selection("PullRequest", 2) + " } } }")
	var missing []string
	for _, typ := range slices.Sorted(maps.Keys(known)) {
		for name := range known[typ] {
			if schema.Types[typ].Fields.ForName(name) != nil && !leaves[typ+"."+name] {
				missing = append(missing, typ+"."+name)
			}
		}
	}
	if len(missing) > 0 {
		t.Errorf("never asked for: %v", missing)
	}
}
