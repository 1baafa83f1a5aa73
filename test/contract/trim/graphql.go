package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/formatter"
	"github.com/vektah/gqlparser/v2/parser"
)

// roots are the fields of the root types that are kept.
var roots = map[string][]string{
	"Query": {"id", "node", "nodes", "rateLimit", "repository", "viewer"},
	"Mutation": {
		"addComment", "addPullRequestReviewThreadReply", "minimizeComment", "resolveReviewThread", "unminimizeComment", "unresolveReviewThread",
	},
}

// objects are the object, interface and union types that are kept. A field stays when everything it mentions stays;
// scalars, enums and input objects follow the fields that use them.
var objects = strings.Fields(`
Actor App Blob Bot CheckAnnotation CheckAnnotationConnection CheckAnnotationEdge CheckAnnotationPosition CheckAnnotationSpan CheckRun
CheckRunConnection CheckSuite CheckSuiteConnection ClosedEvent Comment Commit CommitConnection GitActor GitActorConnection GitObject Issue IssueComment
IssueCommentConnection IssueConnection IssueOrPullRequest Label LabelConnection Labelable Minimizable Node Organization PageInfo
PullRequest PullRequestChangedFile PullRequestChangedFileConnection PullRequestCommit PullRequestCommitConnection
PullRequestConnection PullRequestReview PullRequestReviewComment PullRequestReviewCommentConnection PullRequestReviewConnection
PullRequestReviewThread PullRequestReviewThreadConnection RateLimit Reactable Reaction ReactionConnection Ref RefConnection
Repository RepositoryConnection RepositoryNode RepositoryOwner RequestedReviewer ReviewRequest ReviewRequestConnection Status
StatusCheckRollup StatusCheckRollupContext StatusCheckRollupContextConnection StatusContext Team Tree TreeEntry
UniformResourceLocatable Updatable User UserContentEdit UserContentEditConnection
AddCommentPayload AddPullRequestReviewThreadReplyPayload MinimizeCommentPayload ResolveReviewThreadPayload UnminimizeCommentPayload
UnresolveReviewThreadPayload
`)

// trimGraphQL keeps the types above and, of their fields, those that lead nowhere else.
func trimGraphQL(source string) ([]byte, error) {
	doc, err := parser.ParseSchema(&ast.Source{Name: "schema.graphql", Input: source})
	if err != nil {
		return nil, fmt.Errorf("reading the schema: %w", err)
	}
	all := map[string]*ast.Definition{}
	for _, d := range doc.Definitions {
		all[d.Name] = d
	}
	composite := map[string]bool{}
	for _, name := range objects {
		if all[name] == nil {
			return nil, fmt.Errorf("the schema has no type %s", name)
		}
		composite[name] = true
	}
	// stays tells whether a type may be mentioned: a leaf always, an object only when listed, an input when all it holds is fine
	// (inputs never mention objects).
	stays := func(t *ast.Type) bool {
		d := all[t.Name()]
		return d == nil || d.IsLeafType() || d.Kind == ast.InputObject || composite[d.Name]
	}
	kept := map[string]*ast.Definition{}
	var need func(t *ast.Type)
	need = func(t *ast.Type) {
		d := all[t.Name()]
		if d == nil || kept[d.Name] != nil || !d.IsLeafType() && d.Kind != ast.InputObject {
			return
		}
		kept[d.Name] = d
		for _, f := range d.Fields {
			need(f.Type)
		}
	}
	take := func(d *ast.Definition, fields []string) {
		var list ast.FieldList
		for _, f := range d.Fields {
			if fields != nil && !slices.Contains(fields, f.Name) || !stays(f.Type) {
				continue
			}
			list = append(list, f)
			need(f.Type)
			for _, a := range f.Arguments {
				need(a.Type)
			}
		}
		d.Fields = list
		d.Interfaces = slices.DeleteFunc(d.Interfaces, func(i string) bool { return !composite[i] })
		d.Types = slices.DeleteFunc(d.Types, func(t string) bool { return !composite[t] })
		kept[d.Name] = d
	}
	for _, name := range objects {
		take(all[name], nil)
	}
	for name, fields := range roots {
		take(all[name], fields)
	}

	names := make([]string, 0, len(kept))
	for name := range kept {
		names = append(names, name)
	}
	slices.Sort(names)
	out := &ast.SchemaDocument{}
	for _, name := range names {
		d := kept[name]
		bare(d)
		out.Definitions = append(out.Definitions, d)
	}
	var buf bytes.Buffer
	formatter.NewFormatter(&buf, formatter.WithIndent(" ")).FormatSchemaDocument(out)
	return buf.Bytes(), nil
}

// bare removes descriptions, comments and directives.
func bare(d *ast.Definition) {
	d.Description, d.Directives = "", nil
	d.BeforeDescriptionComment, d.AfterDescriptionComment, d.EndOfDefinitionComment = nil, nil, nil
	for _, f := range d.Fields {
		f.Description, f.Directives = "", nil
		f.BeforeDescriptionComment, f.AfterDescriptionComment = nil, nil
		for _, a := range f.Arguments {
			a.Description, a.Directives = "", nil
		}
	}
	for _, v := range d.EnumValues {
		v.Description, v.Directives = "", nil
		v.BeforeDescriptionComment, v.AfterDescriptionComment = nil, nil
	}
}
