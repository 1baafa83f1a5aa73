package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// operations are the REST operations that the project calls or that its emulator of GitHub answers.
var operations = strings.Fields(`
GET:/app
GET:/app/hook/config
PATCH:/app/hook/config
GET:/app/hook/deliveries
GET:/app/hook/deliveries/{delivery_id}
POST:/app/hook/deliveries/{delivery_id}/attempts
GET:/app/installations
GET:/app/installations/{installation_id}
POST:/app/installations/{installation_id}/access_tokens
POST:/app-manifests/{code}/conversions
DELETE:/installation/token
GET:/installation/repositories
GET:/rate_limit
GET:/user
GET:/users/{username}
GET:/repos/{owner}/{repo}
GET:/repos/{owner}/{repo}/installation
GET:/repos/{owner}/{repo}/branches/{branch}
GET:/repos/{owner}/{repo}/check-runs/{check_run_id}
PATCH:/repos/{owner}/{repo}/check-runs/{check_run_id}
POST:/repos/{owner}/{repo}/check-runs
GET:/repos/{owner}/{repo}/actions/runs
GET:/repos/{owner}/{repo}/check-runs/{check_run_id}/annotations
POST:/repos/{owner}/{repo}/check-runs/{check_run_id}/rerequest
GET:/repos/{owner}/{repo}/check-suites/{check_suite_id}
GET:/repos/{owner}/{repo}/check-suites/{check_suite_id}/check-runs
POST:/repos/{owner}/{repo}/check-suites/{check_suite_id}/rerequest
GET:/repos/{owner}/{repo}/code-scanning/alerts
GET:/repos/{owner}/{repo}/code-scanning/alerts/{alert_number}
GET:/repos/{owner}/{repo}/code-scanning/alerts/{alert_number}/instances
GET:/repos/{owner}/{repo}/code-scanning/analyses
GET:/repos/{owner}/{repo}/codeowners/errors
GET:/repos/{owner}/{repo}/collaborators/{username}
GET:/repos/{owner}/{repo}/collaborators/{username}/permission
GET:/repos/{owner}/{repo}/commits
GET:/repos/{owner}/{repo}/commits/{commit_sha}/pulls
GET:/repos/{owner}/{repo}/commits/{ref}
GET:/repos/{owner}/{repo}/commits/{ref}/check-runs
GET:/repos/{owner}/{repo}/commits/{ref}/check-suites
GET:/repos/{owner}/{repo}/commits/{ref}/status
GET:/repos/{owner}/{repo}/commits/{ref}/statuses
GET:/repos/{owner}/{repo}/compare/{basehead}
GET:/repos/{owner}/{repo}/contents/{path}
PUT:/repos/{owner}/{repo}/contents/{path}
GET:/repos/{owner}/{repo}/git/blobs/{file_sha}
POST:/repos/{owner}/{repo}/git/blobs
GET:/repos/{owner}/{repo}/git/commits/{commit_sha}
POST:/repos/{owner}/{repo}/git/commits
GET:/repos/{owner}/{repo}/git/matching-refs/{ref}
GET:/repos/{owner}/{repo}/git/ref/{ref}
POST:/repos/{owner}/{repo}/git/refs
PATCH:/repos/{owner}/{repo}/git/refs/{ref}
DELETE:/repos/{owner}/{repo}/git/refs/{ref}
GET:/repos/{owner}/{repo}/git/trees/{tree_sha}
POST:/repos/{owner}/{repo}/git/trees
GET:/repos/{owner}/{repo}/issues/comments/{comment_id}
PATCH:/repos/{owner}/{repo}/issues/comments/{comment_id}
DELETE:/repos/{owner}/{repo}/issues/comments/{comment_id}
GET:/repos/{owner}/{repo}/issues/comments/{comment_id}/reactions
POST:/repos/{owner}/{repo}/issues/comments/{comment_id}/reactions
DELETE:/repos/{owner}/{repo}/issues/comments/{comment_id}/reactions/{reaction_id}
GET:/repos/{owner}/{repo}/issues/{issue_number}
GET:/repos/{owner}/{repo}/issues/{issue_number}/comments
POST:/repos/{owner}/{repo}/issues/{issue_number}/comments
GET:/repos/{owner}/{repo}/issues/{issue_number}/labels
POST:/repos/{owner}/{repo}/issues/{issue_number}/labels
DELETE:/repos/{owner}/{repo}/issues/{issue_number}/labels/{name}
GET:/repos/{owner}/{repo}/labels
POST:/repos/{owner}/{repo}/labels
GET:/repos/{owner}/{repo}/labels/{name}
GET:/repos/{owner}/{repo}/pulls
POST:/repos/{owner}/{repo}/pulls
GET:/repos/{owner}/{repo}/pulls/{pull_number}
PATCH:/repos/{owner}/{repo}/pulls/{pull_number}
GET:/repos/{owner}/{repo}/pulls/{pull_number}/comments
POST:/repos/{owner}/{repo}/pulls/{pull_number}/comments
GET:/repos/{owner}/{repo}/pulls/comments/{comment_id}
PATCH:/repos/{owner}/{repo}/pulls/comments/{comment_id}
DELETE:/repos/{owner}/{repo}/pulls/comments/{comment_id}
GET:/repos/{owner}/{repo}/pulls/comments/{comment_id}/reactions
POST:/repos/{owner}/{repo}/pulls/comments/{comment_id}/reactions
POST:/repos/{owner}/{repo}/pulls/{pull_number}/comments/{comment_id}/replies
GET:/repos/{owner}/{repo}/pulls/{pull_number}/commits
GET:/repos/{owner}/{repo}/pulls/{pull_number}/files
GET:/repos/{owner}/{repo}/pulls/{pull_number}/requested_reviewers
POST:/repos/{owner}/{repo}/pulls/{pull_number}/requested_reviewers
DELETE:/repos/{owner}/{repo}/pulls/{pull_number}/requested_reviewers
GET:/repos/{owner}/{repo}/pulls/{pull_number}/reviews
POST:/repos/{owner}/{repo}/pulls/{pull_number}/reviews
GET:/repos/{owner}/{repo}/pulls/{pull_number}/reviews/{review_id}
PUT:/repos/{owner}/{repo}/pulls/{pull_number}/reviews/{review_id}
GET:/repos/{owner}/{repo}/pulls/{pull_number}/reviews/{review_id}/comments
PUT:/repos/{owner}/{repo}/pulls/{pull_number}/reviews/{review_id}/dismissals
POST:/repos/{owner}/{repo}/pulls/{pull_number}/reviews/{review_id}/events
POST:/repos/{owner}/{repo}/statuses/{sha}
`)

// webhooks are the events that the App is subscribed to or that the emulator sends; an event's name covers its actions.
var webhooks = []string{
	"check-run-", "check-suite-", "code-scanning-alert-",
	"installation-created", "installation-deleted", "installation-new-permissions-accepted", "installation-suspend", "installation-unsuspend",
	"installation-repositories-", "issue-comment-", "merge-group-", "ping", "push", "status",
	"pull-request-closed", "pull-request-converted-to-draft", "pull-request-edited", "pull-request-labeled", "pull-request-opened",
	"pull-request-ready-for-review", "pull-request-reopened", "pull-request-review-comment-", "pull-request-review-dismissed",
	"pull-request-review-submitted", "pull-request-review-thread-resolved", "pull-request-review-thread-unresolved",
	"pull-request-review-requested", "pull-request-synchronize", "pull-request-unlabeled",
	"repository-renamed",
}

// prose are the keywords of a schema that state no fact about a value.
var prose = []string{"description", "title", "example", "examples", "externalDocs", "summary", "tags", "x-github-breaking-changes"}

func trimREST(data []byte) ([]byte, error) {
	var doc map[string]any
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("reading the description: %w", err)
	}
	paths := map[string]any{}
	all := object(doc, "paths")
	for _, op := range operations {
		method, path, _ := strings.Cut(op, ":")
		method = strings.ToLower(method)
		item := object(all, path)
		if item[method] == nil {
			return nil, fmt.Errorf("the description has no %s %s", method, path)
		}
		kept, _ := paths[path].(map[string]any)
		if kept == nil {
			kept = map[string]any{}
			if shared := item["parameters"]; shared != nil {
				kept["parameters"] = shared
			}
			paths[path] = kept
		}
		operation := object(item, method)
		delete(operation, "x-github")
		delete(operation, "servers")
		kept[method] = operation
	}
	if err := correct(doc); err != nil {
		return nil, err
	}
	return finish(doc, "paths", paths)
}

// correct mends what GitHub's description has wrong.
func correct(doc map[string]any) error {
	at := func(keys ...string) (map[string]any, error) {
		m := doc
		for _, key := range keys {
			if m = object(m, key); m == nil {
				return nil, fmt.Errorf("the description has changed its form: no %q of %q", key, keys)
			}
		}
		return m, nil
	}
	// An element of the list of installations is an installation like any other, not one whose account is a person and an
	// enterprise at once.
	list, err := at("paths", "/app/installations", "get", "responses", "200", "content", "application/json", "schema")
	if err != nil {
		return err
	}
	list["items"] = map[string]any{"$ref": "#/components/schemas/installation"}
	// A pull request outlives the fork that it came from: its head is then of no repository.
	for _, name := range []string{"pull-request", "pull-request-simple"} {
		head, err := at("components", "schemas", name, "properties", "head", "properties")
		if err != nil {
			return err
		}
		head["repo"] = map[string]any{"$ref": "#/components/schemas/nullable-repository"}
	}
	return nil
}

func trimWebhooks(data []byte) ([]byte, error) {
	var doc map[string]any
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("reading the description: %w", err)
	}
	kept := map[string]any{}
	for name, hook := range object(doc, "webhooks") {
		wanted := slices.ContainsFunc(webhooks, func(w string) bool {
			return name == w || strings.HasSuffix(w, "-") && strings.HasPrefix(name, w)
		})
		if !wanted {
			continue
		}
		// Only the body matters: the headers are the same for all, and the response is any.
		post := object(hook.(map[string]any), "post")
		kept[name] = map[string]any{"post": map[string]any{
			"operationId": post["operationId"],
			"requestBody": post["requestBody"],
			"responses":   map[string]any{"200": map[string]any{"description": ""}},
		}}
	}
	return finish(doc, "webhooks", kept)
}

// finish puts the kept entries and the components that they reach into a document of their own.
func finish(doc map[string]any, section string, kept map[string]any) ([]byte, error) {
	strip(kept)
	info := object(doc, "info")
	out := map[string]any{
		"openapi":    doc["openapi"],
		"info":       map[string]any{"title": info["title"], "version": info["version"], "license": info["license"]},
		section:      kept,
		"components": map[string]any{},
	}
	if section != "paths" {
		out["paths"] = map[string]any{}
	}
	components := object(doc, "components")
	taken := object(out, "components")
	seen := map[string]bool{}
	var visit func(v any) error
	visit = func(v any) error {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				if err := visit(e); err != nil {
					return err
				}
			}
		case map[string]any:
			for key, e := range v {
				ref, isRef := e.(string)
				if key != "$ref" || !isRef {
					if err := visit(e); err != nil {
						return err
					}
					continue
				}
				if seen[ref] {
					continue
				}
				seen[ref] = true
				parts := strings.Split(strings.TrimPrefix(ref, "#/components/"), "/")
				if len(parts) != 2 {
					return fmt.Errorf("reference %q is no component", ref)
				}
				part, ok := object(components, parts[0])[parts[1]].(map[string]any)
				if !ok {
					return fmt.Errorf("reference %q leads nowhere", ref)
				}
				if parts[0] == "examples" {
					continue
				}
				strip(part)
				if parts[0] == "responses" {
					part["description"] = "" // required, even if it says nothing
				}
				if taken[parts[0]] == nil {
					taken[parts[0]] = map[string]any{}
				}
				object(taken, parts[0])[parts[1]] = part
				if err := visit(part); err != nil {
					return err
				}
			}
		}
		return nil
	}
	if err := visit(kept); err != nil {
		return nil, err
	}
	return encode(out)
}

// strip removes prose and examples. Below "properties" a key is a name, not a keyword.
func strip(v any) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			strip(e)
		}
	case map[string]any:
		for _, key := range prose {
			delete(v, key)
		}
		for key, e := range v {
			named, ok := e.(map[string]any)
			if !ok {
				strip(e)
				continue
			}
			switch key {
			case "responses":
				for _, response := range named {
					if r, ok := response.(map[string]any); ok && r["$ref"] == nil {
						strip(r)
						r["description"] = ""
					}
				}
			case "properties", "patternProperties":
				for _, property := range named {
					strip(property)
				}
			default:
				strip(named)
			}
		}
	}
}

func object(m map[string]any, key string) map[string]any {
	o, _ := m[key].(map[string]any)
	return o
}
