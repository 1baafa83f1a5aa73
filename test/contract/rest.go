package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
)

// API is GitHub's REST description, trimmed.
type API struct {
	doc        *openapi3.T
	operations []*Operation
}

// Operation is one method of one path of the description.
type Operation struct {
	Method   string
	Template string // "/repos/{owner}/{repo}/pulls/{pull_number}"
	doc      *openapi3.T
	item     *openapi3.PathItem
	op       *openapi3.Operation
	segments []string
}

// Match is an operation with the parameters of one path.
type Match struct {
	*Operation
	Params map[string]string
}

// REST loads the description once and returns it.
func REST() (*API, error) { return rest() }

func loadREST() (*API, error) {
	doc, err := load("rest.json", restJSON)
	if err != nil {
		return nil, err
	}
	api := &API{doc: doc}
	for template, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			api.operations = append(api.operations, &Operation{
				Method: method, Template: template, doc: doc, item: item, op: op,
				segments: strings.Split(strings.TrimPrefix(template, "/"), "/"),
			})
		}
	}
	// The literal wins over the parameter, the longer template over the shorter.
	slices.SortFunc(api.operations, func(a, b *Operation) int {
		if d := len(b.segments) - len(a.segments); d != 0 {
			return d
		}
		return strings.Compare(rank(a.segments), rank(b.segments))
	})
	return api, nil
}

// rank orders templates of one length: a literal segment before a parameter.
func rank(segments []string) string {
	var b strings.Builder
	for _, s := range segments {
		if strings.HasPrefix(s, "{") {
			b.WriteByte('1')
		} else {
			b.WriteByte('0')
		}
	}
	return b.String() + strings.Join(segments, "/")
}

// Operations lists what the description has, most specific first.
func (a *API) Operations() []*Operation { return slices.Clone(a.operations) }

// Find matches a method and a path (escaped, below the API's base) with the description.
// ok is false when no operation has them. known tells whether another method has the path.
func (a *API) Find(method, escapedPath string) (m Match, known, ok bool) {
	parts := strings.Split(strings.Trim(escapedPath, "/"), "/")
	for _, op := range a.operations {
		params, fits := match(op.segments, parts)
		if !fits {
			continue
		}
		known = true
		if op.Method == method {
			return Match{Operation: op, Params: params}, true, true
		}
	}
	return Match{}, known, false
}

// greedy are the parameters whose value may hold slashes: paths of files and names of branches.
var greedy = []string{"{path}", "{ref}", "{basehead}", "{branch}", "{name}"}

func match(segments, parts []string) (map[string]string, bool) {
	if len(segments) == 0 {
		return map[string]string{}, len(parts) == 0
	}
	if len(parts) == 0 {
		// The root of a repository's contents is an empty path.
		return map[string]string{"path": ""}, len(segments) == 1 && segments[0] == "{path}"
	}
	s := segments[0]
	if !strings.HasPrefix(s, "{") {
		if s != parts[0] {
			return nil, false
		}
		return match(segments[1:], parts[1:])
	}
	longest := 1
	if slices.Contains(greedy, s) {
		longest = len(parts)
	}
	for n := 1; n <= longest; n++ {
		params, ok := match(segments[1:], parts[n:])
		if !ok {
			continue
		}
		value, err := url.PathUnescape(strings.Join(parts[:n], "/"))
		if err != nil {
			return nil, false
		}
		params[strings.Trim(s, "{}")] = value
		return params, true
	}
	return nil, false
}

// ValidateRequest checks path, query and body of a request. The body is given apart, since the request's may be read already.
func (m Match) ValidateRequest(r *http.Request, body []byte) error {
	if bytes.Equal(bytes.TrimSpace(body), []byte("null")) && (m.op.RequestBody == nil || !m.op.RequestBody.Value.Required) {
		body = nil // what clients send for no options, and what GitHub takes
	}
	req := r.Clone(r.Context())
	req.Body = io.NopCloser(bytes.NewReader(body))
	req.ContentLength = int64(len(body))
	if len(body) > 0 && req.Header.Get("Content-Type") == "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for name := range r.URL.Query() {
		if m.parameter("query", name) == nil {
			return fmt.Errorf("%s %s: there is no query parameter %q", m.Method, m.Template, name)
		}
	}
	params := m.Params
	if params["path"] == "" && params["path"] != "/" {
		// The description requires a path; the root is asked for without one.
		params = maps.Clone(params)
		if m.parameter("path", "path") != nil {
			params["path"] = "/"
		}
	}
	input := &openapi3filter.RequestValidationInput{
		Request: req, PathParams: params,
		Route: &routers.Route{Spec: m.doc, Path: m.Template, PathItem: m.item, Method: m.Method, Operation: m.op},
		Options: &openapi3filter.Options{SkipSettingDefaults: true, AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, RejectWhenRequestBodyNotSpecified: true,
			SchemaValidationOptions: []openapi3.SchemaValidationOption{openapi3.DisableSchemaErrorDetails()},
		},
	}
	if err := openapi3filter.ValidateRequest(r.Context(), input); err != nil {
		return fmt.Errorf("%s %s: %w", m.Method, m.Template, err)
	}
	if len(body) == 0 || m.op.RequestBody == nil || m.op.RequestBody.Value.Content["application/json"] == nil {
		return nil
	}
	var value any
	if err := json.Unmarshal(body, &value); err != nil {
		return fmt.Errorf("%s %s: the body is no JSON: %w", m.Method, m.Template, err)
	}
	if name := stranger(value, "", m.op.RequestBody.Value.Content["application/json"].Schema.Value); name != "" {
		return fmt.Errorf("%s %s: there is no property %q in the body", m.Method, m.Template, name)
	}
	return nil
}

// stranger finds a property that no alternative of the schema has: GitHub ignores it, and a client that sends it has a mistake.
func stranger(value any, at string, s *openapi3.Schema) string {
	switch v := value.(type) {
	case map[string]any:
		known, open := map[string]*openapi3.Schema{}, true
		collect(s, known, &open)
		for name, e := range v {
			switch {
			case known[name] != nil:
				if found := stranger(e, at+name+".", known[name]); found != "" {
					return found
				}
			case len(known) > 0 || !open:
				return at + name
			}
		}
	case []any:
		for _, e := range v {
			unknown := ""
			for _, items := range arrays(s) {
				if unknown = stranger(e, at, items); unknown == "" {
					break // one alternative knows all of it
				}
			}
			if unknown != "" {
				return unknown
			}
		}
	}
	return ""
}

// collect gathers the properties of a schema and of all its alternatives.
func collect(s *openapi3.Schema, known map[string]*openapi3.Schema, open *bool) {
	for name, p := range s.Properties {
		known[name] = p.Value
	}
	if s.AdditionalProperties.Has != nil && !*s.AdditionalProperties.Has {
		*open = false
	}
	for _, list := range []openapi3.SchemaRefs{s.AllOf, s.AnyOf, s.OneOf} {
		for _, ref := range list {
			collect(ref.Value, known, open)
		}
	}
}

// arrays gathers what a schema and its alternatives say of an array's elements.
func arrays(s *openapi3.Schema) []*openapi3.Schema {
	var out []*openapi3.Schema
	if s.Items != nil {
		out = append(out, s.Items.Value)
	}
	for _, list := range []openapi3.SchemaRefs{s.AllOf, s.AnyOf, s.OneOf} {
		for _, ref := range list {
			out = append(out, arrays(ref.Value)...)
		}
	}
	return out
}

// ValidateResponse checks status, content type and body. Bodies of other media types than JSON (diffs, raw files) are not
// described by GitHub and are not looked at. A status of 400 and above that GitHub does not list for the operation has to have
// the body of all its errors: an object with a message.
func (m Match) ValidateResponse(status int, header http.Header, body []byte) error {
	fail := func(err error) error {
		return fmt.Errorf("%s %s answered %d: %w", m.Method, m.Template, status, err)
	}
	ref := m.op.Responses.Status(status)
	if ref == nil && status < 300 {
		return fail(errors.New("GitHub does not list this status for the operation"))
	}
	if status == http.StatusNotModified || status == http.StatusNoContent {
		if len(body) > 0 {
			return fail(errors.New("a body where there is none"))
		}
		return nil
	}
	media, _, err := mime.ParseMediaType(header.Get("Content-Type"))
	if err != nil {
		return fail(fmt.Errorf("content type %q: %w", header.Get("Content-Type"), err))
	}
	if media != "application/json" && !strings.HasSuffix(media, "+json") {
		if status >= 400 {
			return fail(fmt.Errorf("an error of content type %s", media))
		}
		return nil
	}
	var value any
	decoder := json.NewDecoder(bytes.NewReader(body))
	if err := decoder.Decode(&value); err != nil {
		return fail(fmt.Errorf("the body is no JSON: %w", err))
	}
	var content openapi3.Content
	if ref != nil && ref.Value != nil {
		content = ref.Value.Content
	}
	var candidates []*openapi3.MediaType
	for name, c := range content {
		if c.Schema != nil && (strings.HasSuffix(name, "json") || strings.HasPrefix(name, "application/vnd.github.")) {
			candidates = append(candidates, c)
		}
	}
	if len(candidates) == 0 {
		if status < 400 {
			return nil
		}
		if o, ok := value.(map[string]any); !ok || o["message"] == nil {
			return fail(errors.New("an error without a message"))
		}
		return nil
	}
	var errs []error
	for _, c := range candidates {
		if status >= 400 && len(c.Schema.Value.OneOf) > 0 {
			// GitHub's kinds of errors are told apart by properties that none of them requires: "one of" never holds.
			for _, kind := range c.Schema.Value.OneOf {
				if kind.Value.VisitJSON(value, openapi3.VisitAsResponse()) == nil {
					return nil
				}
			}
		}
		err := c.Schema.Value.VisitJSON(value, append(formats(), openapi3.VisitAsResponse(), openapi3.MultiErrors(), openapi3.DisableSchemaErrorDetails())...)
		if err == nil {
			return nil
		}
		errs = append(errs, err)
	}
	return fail(errors.Join(errs...))
}

// MaxItems returns the largest number of elements that the description allows for a property of the request's body, and
// MaxLength the longest string; zero when it sets no limit. The property is named by its path: "output.annotations".
func (o *Operation) MaxItems(property string) int {
	if s := o.property(property); s != nil && s.MaxItems != nil {
		return int(*s.MaxItems)
	}
	return 0
}

// MaxLength is described with MaxItems.
func (o *Operation) MaxLength(property string) int {
	if s := o.property(property); s != nil && s.MaxLength != nil {
		return int(*s.MaxLength)
	}
	return 0
}

func (o *Operation) property(path string) *openapi3.Schema {
	if o.op.RequestBody == nil {
		return nil
	}
	s := o.op.RequestBody.Value.Content["application/json"].Schema.Value
	for _, name := range strings.Split(path, ".") {
		if s.Items != nil {
			s = s.Items.Value
		}
		p := s.Properties[name]
		if p == nil {
			return nil
		}
		s = p.Value
	}
	return s
}

func (o *Operation) parameter(in, name string) *openapi3.Parameter {
	for _, list := range []openapi3.Parameters{o.op.Parameters, o.item.Parameters} {
		for _, p := range list {
			if p.Value.In == in && (p.Value.Name == name || p.Value.Name == strings.TrimSuffix(name, "[]")) {
				return p.Value
			}
		}
	}
	return nil
}
