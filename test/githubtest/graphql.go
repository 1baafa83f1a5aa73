package githubtest

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/prosecutor-bot/prosecutor/test/contract"
)

// GitHub's limits of a query (Rate limits and query limits for the GraphQL API).
const (
	maxConnection = 100
	maxNodes      = 500_000
)

// graph runs one query for one caller. It walks the parsed query and asks resolvers for fields, so that a new field is one
// more entry in graphql_objects.go. It runs while s.mu is held.
type graph struct {
	ctx    context.Context
	s      *Server
	who    identity
	schema *ast.Schema
	vars   map[string]any
	errors []object
	cost   int
	nodes  int
	after  []func() // what reading starts, done once the answer is made
}

// gobject is one object: its type's name, and what gives its fields.
type gobject struct {
	typ    string
	fields fields
}

type fields map[string]func(ask) any

// ask is one field that is asked for.
type ask struct {
	name  string
	field *ast.Field
	args  map[string]any
}

func (a ask) text(name string) string { s, _ := a.args[name].(string); return s }
func (a ask) number(name string) int  { n, _ := integer(a.args[name]); return n }

// integer reads an Int argument, in whichever form the parser or JSON left it.
func integer(v any) (int, bool) {
	switch n := v.(type) {
	case int:
		return n, true
	case int64:
		return int(n), true
	case float64:
		return int(n), true
	case json.Number:
		i, err := n.Int64()
		return int(i), err == nil
	}
	return 0, false
}

// is gives a field a value that is known already.
func is(v any) func(ask) any { return func(ask) any { return v } }

// get gives a field a value that is computed when somebody asks.
func get(f func() any) func(ask) any { return func(ask) any { return f() } }

// fieldError is the value of a field that cannot be given: it becomes null and is named among the errors.
type fieldError struct {
	kind, message string
	extra         object
}

func unresolved(format string, args ...any) *fieldError {
	return &fieldError{kind: "NOT_FOUND", message: fmt.Sprintf(format, args...)}
}

func (g *graph) forbidden() *fieldError {
	return &fieldError{kind: "FORBIDDEN", message: inaccessible, extra: object{"extensions": object{"saml_failure": false}}}
}

// may tells whether the caller has a permission on a repository.
func (g *graph) may(r *Repo, need string) bool {
	permission, level, _ := strings.Cut(need, ":")
	return g.who.may(r, permission, level)
}

func (s *Server) serveGraphQL(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	body, err := readBody(r)
	if err != nil {
		return // the client went away
	}
	who, refused := s.authenticate(r)
	var rep reply
	var operation string
	switch {
	case r.Method != http.MethodPost:
		rep = failure(http.StatusNotFound, "Not Found")
	case refused != nil:
		rep = *refused
	case who.app != nil:
		rep = failure(http.StatusUnauthorized, "Bad credentials")
	case who.who == "anonymous":
		rep = failure(http.StatusUnauthorized, "This endpoint requires you to be authenticated.")
	default:
		rep, operation = s.query(r.Context(), who, body)
	}
	header := w.Header()
	header.Set("Content-Type", jsonType)
	header.Set("Date", s.opt.Now().UTC().Format(http.TimeFormat))
	header.Set("X-GitHub-Request-Id", strings.ToUpper(rand.Text()[:16]))
	header.Set("X-GitHub-Media-Type", "github.v4; format=json")
	header.Set("Server", "github.com")
	if refused == nil {
		s.mu.Lock()
		b := s.graphBudget(who)
		for name, value := range map[string]int64{
			"Limit": int64(s.hourly(who)), "Remaining": int64(max(0, s.hourly(who)-b.used)), "Used": int64(b.used), "Reset": b.reset.Unix(),
		} {
			header.Set("X-RateLimit-"+name, strconv.FormatInt(value, 10))
		}
		header.Set("X-RateLimit-Resource", "graphql")
		s.mu.Unlock()
	}
	out, err := json.Marshal(rep.body)
	if err != nil {
		s.violate(fmt.Errorf("writing a GraphQL answer: %w", err))
	}
	s.note(r, rep.status, "/graphql", graphPath(operation), who, start)
	w.WriteHeader(rep.status)
	_, _ = w.Write(out)
}

// graphPath names a query in the log of requests.
func graphPath(operation string) string {
	if operation == "" {
		return "graphql"
	}
	return "graphql#" + operation
}

// note keeps a request for the log, which is not about git; the caller does not hold s.mu.
func (s *Server) note(r *http.Request, status int, route, path string, who identity, start time.Time) {
	if route == gitRoute {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, Request{Method: r.Method, Path: path, Route: route, Status: status, Installation: who.installationID(), At: s.now(), Duration: time.Since(start)})
}

// graphBudget is what is left of the caller's points of GraphQL, which are counted apart; the caller holds s.mu.
func (s *Server) graphBudget(who identity) *budget {
	return s.budget(identity{who: "graphql of " + who.payer()})
}

// query runs one request to the end.
func (s *Server) query(ctx context.Context, who identity, body []byte) (rep reply, operation string) {
	var in struct {
		Query         string         `json:"query"`
		OperationName string         `json:"operationName"`
		Variables     map[string]any `json:"variables"`
	}
	if json.Unmarshal(body, &in) != nil {
		return failure(http.StatusBadRequest, "Problems parsing JSON"), ""
	}
	if in.Query == "" {
		return ok(object{"errors": []object{{"message": "A query attribute must be specified and must be a string."}}}), ""
	}
	schema, err := contract.Schema()
	if err != nil {
		s.violate(err)
		return failure(http.StatusInternalServerError, "no schema"), ""
	}
	doc, vars, err := contract.ParseQuery(in.Query, in.Variables)
	if err != nil {
		s.violate(fmt.Errorf("the client's query: %w", err))
		return ok(object{"errors": refusals(err)}), in.OperationName
	}
	op := doc.Operations[0]
	if in.OperationName != "" && doc.Operations.ForName(in.OperationName) != op {
		s.violate(errors.New("the client's query: the emulator runs documents with one operation"))
	}
	operation = op.Name

	s.mu.Lock()
	defer s.mu.Unlock()
	g := &graph{ctx: ctx, s: s, who: who, schema: schema, vars: vars}
	g.estimate(op.SelectionSet, 1)
	if g.nodes > maxNodes {
		return ok(object{"errors": []object{{
			"type":    "MAX_NODE_LIMIT_EXCEEDED",
			"message": fmt.Sprintf("This query requests up to %d possible nodes which exceeds the maximum limit of %d.", g.nodes, maxNodes),
		}}}), operation
	}
	if rep, refused := s.hasty(who, "graphql", maxGraphPoints, op.Operation == ast.Mutation); refused {
		return rep, operation
	}
	b := s.graphBudget(who)
	cost := max(1, (g.cost+50)/100)
	if b.used+cost > s.hourly(who) {
		return ok(object{"errors": []object{rateLimited(who)}}), operation
	}
	b.used += cost
	g.cost = cost
	root := g.queryRoot()
	if op.Operation == ast.Mutation {
		root = g.mutationRoot()
	}
	restore := s.stale(ctx)
	data, _ := g.object(root, op.SelectionSet, nil)
	restore()
	for _, f := range g.after {
		f()
	}
	out := object{"data": data}
	if len(g.errors) > 0 {
		out["errors"] = g.errors
	}
	return ok(out), operation
}

func rateLimited(who identity) object {
	return object{"type": "RATE_LIMITED", "code": "graphql_rate_limit", "message": exceeded(who)}
}

// refusals are the errors of a query that the schema does not allow, in GitHub's form.
func refusals(err error) []object {
	var list gqlerror.List
	if !errors.As(err, &list) {
		var one *gqlerror.Error
		if !errors.As(err, &one) {
			return []object{{"message": err.Error()}}
		}
		list = gqlerror.List{one}
	}
	var out []object
	for _, e := range list {
		o := object{"message": e.Message}
		var at []object
		for _, l := range e.Locations {
			at = append(at, object{"line": l.Line, "column": l.Column})
		}
		if at != nil {
			o["locations"] = at
		}
		out = append(out, o)
	}
	return out
}

// estimate counts, before anything is read, how many requests and nodes a query may cause, as GitHub's documentation describes.
func (g *graph) estimate(set ast.SelectionSet, times int) {
	for _, f := range g.collect("", set) {
		inner := times
		if n, paged := g.pageSize(f); paged {
			g.cost += times
			g.nodes += times * n
			inner = times * max(1, n)
		}
		g.estimate(f.set, inner)
	}
}

func (g *graph) pageSize(f *wanted) (int, bool) {
	if f.field.Definition == nil || !strings.HasSuffix(f.field.Definition.Type.Name(), "Connection") {
		return 0, false
	}
	args := f.field.ArgumentMap(g.vars)
	n, _ := integer(args["first"])
	if last, given := integer(args["last"]); given {
		n = last
	}
	return n, true
}

// wanted is a field of an answer: all selections of one response key together.
type wanted struct {
	key   string
	field *ast.Field
	set   ast.SelectionSet
}

// collect lists the fields of a selection that apply to a type, those of fragments among them. An empty type takes all.
func (g *graph) collect(typ string, set ast.SelectionSet) []*wanted {
	var list []*wanted
	byKey := map[string]*wanted{}
	var walk func(ast.SelectionSet)
	walk = func(set ast.SelectionSet) {
		for _, sel := range set {
			switch sel := sel.(type) {
			case *ast.Field:
				if !g.included(sel.Directives) {
					continue
				}
				w := byKey[sel.Alias]
				if w == nil {
					w = &wanted{key: sel.Alias, field: sel}
					byKey[sel.Alias] = w
					list = append(list, w)
				}
				w.set = append(w.set, sel.SelectionSet...)
			case *ast.InlineFragment:
				if g.included(sel.Directives) && g.applies(typ, sel.TypeCondition) {
					walk(sel.SelectionSet)
				}
			case *ast.FragmentSpread:
				if g.included(sel.Directives) && g.applies(typ, sel.Definition.TypeCondition) {
					walk(sel.Definition.SelectionSet)
				}
			}
		}
	}
	walk(set)
	return list
}

func (g *graph) included(list ast.DirectiveList) bool {
	for _, d := range list {
		arg := d.Arguments.ForName("if")
		if arg == nil {
			continue
		}
		v, err := arg.Value.Value(g.vars)
		yes, _ := v.(bool)
		if err == nil && (d.Name == "skip" && yes || d.Name == "include" && !yes) {
			return false
		}
	}
	return true
}

func (g *graph) applies(typ, condition string) bool {
	if typ == "" || condition == "" || typ == condition {
		return true
	}
	for _, d := range g.schema.PossibleTypes[condition] {
		if d.Name == typ {
			return true
		}
	}
	return false
}

// object answers one object. ok is false when a field that may not be null is, so that the object cannot be given either.
func (g *graph) object(o *gobject, set ast.SelectionSet, path []any) (answer any, ok bool) {
	out := object{}
	for _, w := range g.collect(o.typ, set) {
		at := append(append([]any(nil), path...), w.key)
		if w.field.Name == "__typename" {
			out[w.key] = o.typ
			continue
		}
		resolve := o.fields[w.field.Name]
		if resolve == nil {
			g.s.later(fmt.Errorf("GraphQL: the emulator has no resolver for %s.%s", o.typ, w.field.Name))
			g.fail(w, at, &fieldError{message: "Something went wrong while executing your query."})
			return nil, false
		}
		definition := g.schema.Types[o.typ].Fields.ForName(w.field.Name)
		value, fine := g.complete(resolve(ask{name: w.field.Name, field: w.field, args: w.field.ArgumentMap(g.vars)}), definition.Type, w, at)
		if !fine {
			return nil, false
		}
		out[w.key] = value
	}
	return out, true
}

// complete turns what a resolver gave into what the answer holds.
func (g *graph) complete(v any, t *ast.Type, w *wanted, path []any) (answer any, ok bool) {
	if problem, failed := v.(*fieldError); failed && problem != nil {
		g.fail(w, path, problem)
		return nil, !t.NonNull
	}
	if o, isObject := v.(*gobject); isObject && o == nil {
		v = nil
	}
	switch {
	case v == nil:
		if t.NonNull {
			g.s.later(fmt.Errorf("GraphQL: the emulator gave null for %v, which may not be", path))
		}
		return nil, !t.NonNull
	case t.Elem != nil:
		list, isList := v.([]any)
		if !isList {
			g.s.later(fmt.Errorf("GraphQL: the emulator gave %T for the list %v", v, path))
			return nil, false
		}
		out := make([]any, 0, len(list))
		for i, e := range list {
			value, fine := g.complete(e, t.Elem, w, append(append([]any(nil), path...), i))
			if !fine {
				return nil, !t.NonNull
			}
			out = append(out, value)
		}
		return out, true
	}
	if o, isObject := v.(*gobject); isObject {
		value, fine := g.object(o, w.set, path)
		return value, fine || !t.NonNull
	}
	if at, isTime := v.(time.Time); isTime {
		return g.complete(stamp(at), t, w, path)
	}
	if !g.fits(v, t.NamedType) {
		g.s.later(fmt.Errorf("GraphQL: the emulator gave %#v for %v, which is no %s", v, path, t.NamedType))
	}
	return v, true
}

// fits tells whether a value is one of the schema's scalar or enumerated type.
func (g *graph) fits(v any, typ string) bool {
	if d := g.schema.Types[typ]; d.Kind == ast.Enum {
		name, isText := v.(string)
		return isText && d.EnumValues.ForName(name) != nil
	}
	switch v.(type) {
	case bool:
		return typ == "Boolean"
	case int, int64:
		return typ == "Int"
	case string:
		return typ != "Boolean" && typ != "Int"
	}
	return false
}

func (g *graph) fail(w *wanted, path []any, problem *fieldError) {
	e := object{"message": problem.message, "path": path}
	if p := w.field.Position; p != nil {
		e["locations"] = []object{{"line": p.Line, "column": p.Column}}
	}
	if problem.kind != "" {
		e["type"] = problem.kind
	}
	for k, v := range problem.extra {
		e[k] = v
	}
	g.errors = append(g.errors, e)
}

// connect gives a field that is read in pages.
func connect[T any](list func() []T, render func(T) any) func(ask) any {
	return func(a ask) any {
		all := list()
		from, to, problem := window(a, len(all))
		if problem != nil {
			return problem
		}
		typ := a.field.Definition.Type.Name()
		nodes, edges := []any{}, []any{}
		for i, e := range all[from:to] {
			node := render(e)
			nodes = append(nodes, node)
			edges = append(edges, &gobject{typ: strings.TrimSuffix(typ, "Connection") + "Edge", fields: fields{"node": is(node), "cursor": is(cursor(from + i))}})
		}
		page := fields{"hasNextPage": is(to < len(all)), "hasPreviousPage": is(from > 0), "startCursor": is(nil), "endCursor": is(nil)}
		if to > from {
			page["startCursor"], page["endCursor"] = is(cursor(from)), is(cursor(to-1))
		}
		return &gobject{typ: typ, fields: fields{
			"totalCount": is(len(all)), "nodes": is(nodes), "edges": is(edges), "pageInfo": is(&gobject{typ: "PageInfo", fields: page}),
		}}
	}
}

// cursor names the position of an element: opaque to clients.
func cursor(i int) string {
	return base64.StdEncoding.EncodeToString([]byte("cursor:v2:" + strconv.Itoa(i)))
}

func position(c string) (int, bool) {
	raw, err := base64.StdEncoding.DecodeString(c)
	rest, found := strings.CutPrefix(string(raw), "cursor:v2:")
	n, err2 := strconv.Atoi(rest)
	return n, err == nil && err2 == nil && found
}

// window reads first, last, after and before: a page needs one of the first two, of at most a hundred.
func window(a ask, n int) (from, to int, problem *fieldError) {
	first, hasFirst := integer(a.args["first"])
	last, hasLast := integer(a.args["last"])
	from, to = 0, n
	for name, bound := range map[string]*int{"after": &from, "before": &to} {
		c, given := a.args[name].(string)
		if !given {
			continue
		}
		at, valid := position(c)
		if !valid {
			return 0, 0, &fieldError{kind: "INVALID_CURSOR_ARGUMENTS", message: fmt.Sprintf("`%s` does not appear to be a valid cursor.", c)}
		}
		if name == "after" {
			at++
		}
		*bound = min(max(0, at), n)
	}
	to = max(from, to)
	switch {
	case !hasFirst && !hasLast:
		return 0, 0, &fieldError{kind: "MISSING_PAGINATION_BOUNDARIES", message: fmt.Sprintf("You must provide a `first` or `last` value to properly paginate the `%s` connection.", a.name)}
	case first > maxConnection || last > maxConnection:
		which := "first"
		if last > maxConnection {
			which = "last"
		}
		return 0, 0, &fieldError{kind: "EXCESSIVE_PAGINATION", message: fmt.Sprintf("Requesting %d records on the `%s` connection exceeds the `%s` limit of %d records.", max(first, last), a.name, which, maxConnection)}
	case first < 0 || last < 0:
		return 0, 0, &fieldError{kind: "INVALID_PAGINATION", message: fmt.Sprintf("`first` and `last` on the `%s` connection cannot be less than zero.", a.name)}
	}
	if hasFirst {
		to = min(to, from+first)
	}
	if hasLast {
		from = max(from, to-last)
	}
	return from, to, nil
}
