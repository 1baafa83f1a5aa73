// Package contract holds what GitHub publishes about its API, trimmed to what this project uses: the REST description,
// the webhook payloads and the GraphQL schema. The emulator of GitHub (test/githubtest) is held to it, and so is every
// request that the App makes in a test. README.md in this directory names sources and licences.
//
// Everything here is read-only once loaded and safe for concurrent use.
package contract

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"
	"github.com/vektah/gqlparser/v2/validator"
)

//go:embed rest.json
var restJSON []byte

//go:embed webhooks.json
var webhooksJSON []byte

//go:embed graphql.graphql
var graphqlSource string

var (
	rest     = sync.OnceValues(loadREST)
	webhooks = sync.OnceValues(func() (*openapi3.T, error) { return load("webhooks.json", webhooksJSON) })
	schema   = sync.OnceValues(loadSchema)
)

func load(name string, data []byte) (*openapi3.T, error) {
	doc, err := openapi3.NewLoader().LoadFromData(data)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	// Schemas must have been validated before values are checked against them. GitHub's examples are gone, its defaults
	// are not always of their own type, and "multipleOf" and the like are fine.
	if err := doc.Validate(context.Background(), openapi3.DisableSchemaDefaultsValidation(), openapi3.DisableExamplesValidation(), openapi3.DisableSchemaPatternValidation()); err != nil {
		return nil, fmt.Errorf("%s is not a valid description: %w", name, err)
	}
	return doc, nil
}

func loadSchema() (*ast.Schema, error) {
	s, err := gqlparser.LoadSchema(&ast.Source{Name: "graphql.graphql", Input: graphqlSource})
	if err != nil {
		return nil, fmt.Errorf("reading graphql.graphql: %w", err)
	}
	return s, nil
}

// Schema is GitHub's GraphQL schema, trimmed.
func Schema() (*ast.Schema, error) { return schema() }

// ParseQuery parses a GraphQL document, checks it against GitHub's schema and coerces the variables of its only (or first)
// operation. The error says what GitHub would refuse.
func ParseQuery(query string, vars map[string]any) (*ast.QueryDocument, map[string]any, error) {
	s, err := schema()
	if err != nil {
		return nil, nil, err
	}
	doc, err := parser.ParseQuery(&ast.Source{Name: "query", Input: query})
	if err != nil {
		return nil, nil, fmt.Errorf("parsing the query: %w", err)
	}
	if errs := validator.ValidateWithRules(s, doc, nil); len(errs) > 0 {
		return nil, nil, fmt.Errorf("query against GitHub's schema: %w", errs)
	}
	if len(doc.Operations) == 0 {
		return nil, nil, fmt.Errorf("the query has no operation")
	}
	coerced, err := validator.VariableValues(s, doc.Operations[0], vars)
	if err != nil {
		return nil, nil, fmt.Errorf("variables against GitHub's schema: %w", err)
	}
	return doc, coerced, nil
}

// ValidateQuery checks a GraphQL query and its variables against GitHub's schema.
func ValidateQuery(query string, vars map[string]any) error {
	_, _, err := ParseQuery(query, vars)
	return err
}

// ValidateWebhook checks a webhook's payload against GitHub's description of the event; action is empty for events without.
func ValidateWebhook(event, action string, payload []byte) error {
	doc, err := webhooks()
	if err != nil {
		return err
	}
	name := strings.ReplaceAll(event, "_", "-")
	if action != "" {
		name += "-" + strings.ReplaceAll(action, "_", "-")
	}
	hook := doc.Webhooks[name]
	if hook == nil {
		return fmt.Errorf("webhook %s %s: not in the trimmed description", event, action)
	}
	var value any
	if err := json.Unmarshal(payload, &value); err != nil {
		return fmt.Errorf("webhook %s %s: %w", event, action, err)
	}
	body := hook.Post.RequestBody.Value.Content["application/json"].Schema.Value
	options := append(formats(), openapi3.EnableJSONSchema2020(), openapi3.MultiErrors())
	if err := body.VisitJSON(value, options...); err != nil {
		return fmt.Errorf("webhook %s %s: %w", event, action, err)
	}
	return nil
}

// Webhooks lists the trimmed description's webhooks as GitHub names them: "check-run-completed", "push".
func Webhooks() ([]string, error) {
	doc, err := webhooks()
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(doc.Webhooks))
	for name := range doc.Webhooks {
		names = append(names, name)
	}
	return names, nil
}

// formats makes kin-openapi check what GitHub means by the formats that its clients parse.
func formats() []openapi3.SchemaValidationOption {
	return []openapi3.SchemaValidationOption{
		openapi3.WithStringFormatValidator("date-time", openapi3.NewCallbackValidator(func(s string) error {
			if _, err := time.Parse(time.RFC3339, s); err != nil {
				return fmt.Errorf("%q is no date and time", s)
			}
			return nil
		})),
		openapi3.WithStringFormatValidator("uri", openapi3.NewCallbackValidator(func(s string) error {
			// Some of GitHub's "uri" values are templates; url.Parse accepts braces.
			if u, err := url.Parse(s); err != nil || s != "" && u.Scheme == "" {
				return fmt.Errorf("%q is no URL", s)
			}
			return nil
		})),
	}
}
