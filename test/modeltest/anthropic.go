package modeltest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// anthropic is the wire format of Anthropic's POST /v1/messages, after its API reference.
type anthropic struct{}

var anthropicFields = []string{
	"model", "messages", "max_tokens", "cache_control", "container", "inference_geo", "metadata", "output_config", "service_tier",
	"speed", "stop_sequences", "stream", "system", "temperature", "thinking", "tool_choice", "tools", "top_k", "top_p",
}

// unsupportedKeywords are the keywords of JSON schema that the output format does not take (Anthropic's page on
// structured outputs).
var unsupportedKeywords = []string{
	"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "maxItems", "if", "then", "else", "not",
}

func (anthropic) parse(r *http.Request, body []byte) (Request, *Problem) {
	req := Request{
		Format: FormatAnthropic, Path: r.URL.Path, Query: r.URL.Query(), Header: r.Header.Clone(), Body: body,
		Key: r.Header.Get("x-api-key"), legacyLimit: true,
	}
	if r.Header.Get("anthropic-version") == "" {
		return req, invalid("", "", "anthropic-version: header is required")
	}
	if _, p := envelopeProblem(r, body, anthropicFields); p != nil {
		p.Code = ""
		return req, p
	}
	var in struct {
		Model    string `json:"model"`
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
		System       json.RawMessage `json:"system"`
		MaxTokens    *int            `json:"max_tokens"`
		Stream       bool            `json:"stream"`
		OutputConfig struct {
			Format *struct {
				Type   string          `json:"type"`
				Schema json.RawMessage `json:"schema"`
			} `json:"format"`
		} `json:"output_config"`
		Tools []json.RawMessage `json:"tools"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return req, invalid("", "", "body: %v", err)
	}
	req.Model, req.Stream, req.Tools = in.Model, in.Stream, len(in.Tools)
	if in.Model == "" {
		return req, invalid("", "", "model: Field required")
	}
	if in.MaxTokens == nil {
		return req, invalid("", "", "max_tokens: Field required")
	}
	if req.MaxTokens = *in.MaxTokens; req.MaxTokens < 1 {
		return req, invalid("", "", "max_tokens: must be greater than or equal to 1")
	}
	if len(in.System) > 0 {
		text, ok := contentText(in.System)
		if !ok || strings.TrimSpace(text) == "" {
			return req, invalid("", "", "system: text content blocks must be non-empty")
		}
		req.System = text
	}
	if len(in.Messages) == 0 {
		return req, invalid("", "", "messages: at least one message is required")
	}
	for i, m := range in.Messages {
		if m.Role != "user" && m.Role != "assistant" {
			return req, invalid("", "", "messages.%d.role: Input should be 'user' or 'assistant'", i)
		}
		text, ok := contentText(m.Content)
		if !ok {
			return req, invalid("", "", "messages.%d.content: Input should be a valid list", i)
		}
		if strings.TrimSpace(text) == "" {
			return req, invalid("", "", "messages: text content blocks must be non-empty")
		}
		req.Messages = append(req.Messages, Message{Role: m.Role, Text: text})
	}
	if req.Messages[0].Role != "user" {
		return req, invalid("", "", "messages: first message must use the \"user\" role")
	}
	if req.Messages[len(req.Messages)-1].Role == "assistant" {
		return req, invalid("", "", "This model does not support assistant message prefill.")
	}
	if f := in.OutputConfig.Format; f != nil {
		var schema any
		if f.Type != "json_schema" || json.Unmarshal(f.Schema, &schema) != nil {
			return req, invalid("", "", "output_config.format: Input should be a JSON schema")
		}
		if why := formatProblem(schema); why != "" {
			return req, invalid("", "", "output_config.format.schema: %s", why)
		}
		req.Output, req.Schema, req.Strict = f.Type, f.Schema, true
	}
	return req, nil
}

// formatProblem says what of a schema the output format does not take.
func formatProblem(v any) string {
	if list, ok := v.([]any); ok {
		for _, x := range list {
			if why := formatProblem(x); why != "" {
				return why
			}
		}
		return ""
	}
	m, ok := v.(map[string]any)
	if !ok {
		return ""
	}
	for name := range m {
		if slices.Contains(unsupportedKeywords, name) {
			return fmt.Sprintf("property %q is not supported", name)
		}
	}
	props, ok := m["properties"].(map[string]any)
	if (ok || m["type"] == "object") && m["additionalProperties"] != false {
		return "For 'object' type, 'additionalProperties' must be explicitly set to false"
	}
	for _, x := range props {
		if why := formatProblem(x); why != "" {
			return why
		}
	}
	for _, name := range []string{"items", "anyOf", "allOf", "$defs"} {
		x := m[name]
		if defs, ok := x.(map[string]any); ok && name == "$defs" {
			for _, d := range defs {
				if why := formatProblem(d); why != "" {
					return why
				}
			}
			continue
		}
		if why := formatProblem(x); why != "" {
			return why
		}
	}
	return ""
}

func (anthropic) reason(s stop) string {
	switch s {
	case stopLength:
		return "max_tokens"
	case stopRefusal, stopFilter:
		return "refusal"
	default:
		return "end_turn"
	}
}

func (anthropic) usage(u Usage) map[string]any {
	return map[string]any{
		"input_tokens": u.In, "output_tokens": u.Out,
		"cache_creation_input_tokens": u.CacheWrite, "cache_read_input_tokens": u.CacheRead,
	}
}

func (x anthropic) message(a answer, content []any, reason any) map[string]any {
	return map[string]any{
		"id": "msg_" + a.id, "type": "message", "role": "assistant", "model": a.model,
		"content": content, "stop_reason": reason, "stop_sequence": nil, "usage": x.usage(a.usage),
	}
}

func (x anthropic) envelope(a answer) any {
	content := []any{}
	if a.text != "" {
		content = append(content, map[string]any{"type": "text", "text": a.text})
	}
	return x.message(a, content, x.reason(a.stop))
}

func (x anthropic) empty(a answer) any { return x.message(a, []any{}, x.reason(stopEnd)) }

func (x anthropic) events(a answer, _ bool) []string {
	var events []string
	event := func(name string, v map[string]any) {
		v["type"] = name
		events = append(events, "event: "+name+"\ndata: "+mustJSON(v)+"\n\n")
	}
	start := a
	start.usage.Out = 1
	event("message_start", map[string]any{"message": x.message(start, []any{}, nil)})
	event("content_block_start", map[string]any{"index": 0, "content_block": map[string]any{"type": "text", "text": ""}})
	event("ping", map[string]any{})
	for _, piece := range pieces(a.text) {
		event("content_block_delta", map[string]any{"index": 0, "delta": map[string]any{"type": "text_delta", "text": piece}})
	}
	event("content_block_stop", map[string]any{"index": 0})
	event("message_delta", map[string]any{
		"delta": map[string]any{"stop_reason": x.reason(a.stop), "stop_sequence": nil},
		"usage": map[string]any{"output_tokens": a.usage.Out},
	})
	event("message_stop", map[string]any{})
	return events
}

func (anthropic) fail(w http.ResponseWriter, p Problem) {
	for name, v := range p.Header {
		w.Header().Set(name, v)
	}
	w.Header().Set("request-id", "req_test")
	writeJSON(w, p.Status, map[string]any{
		"type": "error", "error": map[string]any{"type": p.Type, "message": p.Message}, "request_id": "req_test",
	})
}
