package modeltest

import (
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// openAI is the wire format of OpenAI's POST /v1/chat/completions, after its API reference.
type openAI struct{}

// openAIFields are the parameters of a request that the API knows.
var openAIFields = []string{
	"model", "messages", "audio", "frequency_penalty", "function_call", "functions", "logit_bias", "logprobs", "max_completion_tokens",
	"max_tokens", "metadata", "modalities", "n", "parallel_tool_calls", "prediction", "presence_penalty", "prompt_cache_key",
	"reasoning_effort", "response_format", "safety_identifier", "seed", "service_tier", "stop", "store", "stream", "stream_options",
	"temperature", "tool_choice", "tools", "top_logprobs", "top_p", "user", "verbosity", "web_search_options",
}

var formatName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

func invalid(param, code, format string, args ...any) *Problem {
	return &Problem{Status: http.StatusBadRequest, Type: "invalid_request_error", Param: param, Code: code, Message: fmt.Sprintf(format, args...)}
}

// envelopeProblem checks what both formats demand of a request before its fields are read.
func envelopeProblem(r *http.Request, body []byte, known []string) (map[string]json.RawMessage, *Problem) {
	if r.Method != http.MethodPost {
		return nil, &Problem{Status: http.StatusMethodNotAllowed, Type: "invalid_request_error", Message: "Only POST requests are accepted."}
	}
	if media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); media != "application/json" {
		return nil, invalid("", "unsupported_content_type", "Unsupported content type: %q", media)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		return nil, invalid("", "invalid_json", "We could not parse the JSON body of your request.")
	}
	for name := range fields {
		if !slices.Contains(known, name) {
			return nil, invalid(name, "unknown_parameter", "Unknown parameter: %q.", name)
		}
	}
	return fields, nil
}

func (openAI) parse(r *http.Request, body []byte) (Request, *Problem) {
	req := Request{Format: FormatOpenAI, Path: r.URL.Path, Query: r.URL.Query(), Header: r.Header.Clone(), Body: body}
	if key, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		req.Key = key
	} else {
		req.Key = r.Header.Get("api-key") // Azure
	}
	if _, p := envelopeProblem(r, body, openAIFields); p != nil {
		return req, p
	}
	var in struct {
		Model    string `json:"model"`
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
		MaxTokens           *int `json:"max_tokens"`
		MaxCompletionTokens *int `json:"max_completion_tokens"`
		ResponseFormat      *struct {
			Type       string `json:"type"`
			JSONSchema *struct {
				Name   string          `json:"name"`
				Strict *bool           `json:"strict"`
				Schema json.RawMessage `json:"schema"`
			} `json:"json_schema"`
		} `json:"response_format"`
		Stream        bool `json:"stream"`
		StreamOptions struct {
			IncludeUsage bool `json:"include_usage"`
		} `json:"stream_options"`
		Tools []json.RawMessage `json:"tools"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return req, invalid("", "invalid_type", "Invalid type in the body: %v", err)
	}
	req.Model, req.Stream, req.includeUsage, req.Tools = in.Model, in.Stream, in.StreamOptions.IncludeUsage, len(in.Tools)
	if in.Model == "" {
		return req, invalid("model", "", "you must provide a model parameter")
	}
	if len(in.Messages) == 0 {
		return req, invalid("messages", "empty_array", "Invalid 'messages': empty array.")
	}
	for i, m := range in.Messages {
		text, ok := contentText(m.Content)
		if !ok {
			return req, invalid(fmt.Sprintf("messages.[%d].content", i), "invalid_type", "Invalid content of message %d.", i)
		}
		switch m.Role {
		case "system", "developer":
			req.System += text
		case "user", "assistant":
			req.Messages = append(req.Messages, Message{Role: m.Role, Text: text})
		default:
			return req, invalid(fmt.Sprintf("messages[%d].role", i), "invalid_value", "Invalid value: %q.", m.Role)
		}
	}
	switch {
	case in.MaxTokens != nil && in.MaxCompletionTokens != nil:
		return req, invalid("max_tokens", "invalid_value", "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.")
	case in.MaxTokens != nil:
		req.MaxTokens, req.legacyLimit = *in.MaxTokens, true
	case in.MaxCompletionTokens != nil:
		req.MaxTokens = *in.MaxCompletionTokens
	}
	if (in.MaxTokens != nil || in.MaxCompletionTokens != nil) && req.MaxTokens < 1 {
		return req, invalid("max_tokens", "integer_below_min_value", "Invalid token limit: expected a value of at least 1.")
	}
	if f := in.ResponseFormat; f != nil {
		req.Output = f.Type
		switch f.Type {
		case "text":
			req.Output = ""
		case "json_object":
			if !strings.Contains(strings.ToLower(req.Text()), "json") {
				return req, invalid("messages", "", "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.")
			}
		case "json_schema":
			s := f.JSONSchema
			if s == nil || !formatName.MatchString(s.Name) {
				return req, invalid("response_format.json_schema.name", "missing_required_parameter", "Missing or invalid name of the schema.")
			}
			var schema any
			if json.Unmarshal(s.Schema, &schema) != nil {
				return req, invalid("response_format.json_schema.schema", "invalid_type", "The schema is not an object.")
			}
			req.Schema, req.Strict = s.Schema, s.Strict != nil && *s.Strict
			if req.Strict {
				if why := strictProblem(schema, "()"); why != "" {
					return req, invalid("response_format", "", "Invalid schema for response_format %q: %s", s.Name, why)
				}
			}
		default:
			return req, invalid("response_format.type", "invalid_value", "Invalid value: %q.", f.Type)
		}
	}
	return req, nil
}

// contentText reads the content of a message: a string, or a list of text parts.
func contentText(raw json.RawMessage) (string, bool) {
	var text string
	if json.Unmarshal(raw, &text) == nil && string(raw) != "null" {
		return text, true
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if json.Unmarshal(raw, &parts) != nil || len(parts) == 0 {
		return "", false
	}
	for _, p := range parts {
		if p.Type != "text" {
			return "", false
		}
		text += p.Text
	}
	return text, true
}

// strictProblem says where a schema breaks the rules of strict mode that answers here can meet: every object is closed
// and requires all of its properties, and the root is an object.
func strictProblem(v any, at string) string {
	if list, ok := v.([]any); ok {
		for i, x := range list {
			if why := strictProblem(x, fmt.Sprintf("%s[%d]", at, i)); why != "" {
				return why
			}
		}
		return ""
	}
	m, ok := v.(map[string]any)
	if !ok {
		return ""
	}
	if at == "()" && m["type"] != "object" {
		return "schema must be a JSON Schema of type 'object'"
	}
	if props, ok := m["properties"].(map[string]any); ok {
		if m["additionalProperties"] != false {
			return "In context=" + at + ", 'additionalProperties' is required to be supplied and to be false."
		}
		required, _ := m["required"].([]any)
		for name := range props {
			if !slices.Contains(required, any(name)) {
				return "In context=" + at + ", 'required' is required to be supplied and to be an array including every key in properties. Missing '" + name + "'."
			}
		}
	}
	for name, x := range m {
		if why := strictProblem(x, at+"."+name); why != "" {
			return why
		}
	}
	return ""
}

func (openAI) finish(s stop) string {
	switch s {
	case stopLength:
		return "length"
	case stopFilter:
		return "content_filter"
	default:
		return "stop"
	}
}

func (o openAI) usage(u Usage) map[string]any {
	return map[string]any{"prompt_tokens": u.In, "completion_tokens": u.Out, "total_tokens": u.In + u.Out}
}

func (o openAI) envelope(a answer) any {
	message := map[string]any{"role": "assistant", "content": a.text, "refusal": nil}
	if a.stop == stopRefusal {
		message["content"], message["refusal"] = nil, a.text
	}
	return map[string]any{
		"id": "chatcmpl-" + a.id, "object": "chat.completion", "created": 1700000000, "model": a.model,
		"choices": []any{map[string]any{"index": 0, "message": message, "logprobs": nil, "finish_reason": o.finish(a.stop)}},
		"usage":   o.usage(a.usage),
	}
}

func (o openAI) empty(a answer) any {
	return map[string]any{
		"id": "chatcmpl-" + a.id, "object": "chat.completion", "created": 1700000000, "model": a.model,
		"choices": []any{}, "usage": o.usage(a.usage),
	}
}

func (o openAI) events(a answer, includeUsage bool) []string {
	var events []string
	chunk := func(choices []any, usage any) {
		v := map[string]any{"id": "chatcmpl-" + a.id, "object": "chat.completion.chunk", "created": 1700000000, "model": a.model, "choices": choices}
		if includeUsage {
			v["usage"] = usage
		}
		events = append(events, "data: "+mustJSON(v)+"\n\n")
	}
	delta := func(d map[string]any, finish any) {
		chunk([]any{map[string]any{"index": 0, "delta": d, "finish_reason": finish}}, nil)
	}
	field := "content"
	if a.stop == stopRefusal {
		field = "refusal"
	}
	delta(map[string]any{"role": "assistant", field: ""}, nil)
	for _, piece := range pieces(a.text) {
		delta(map[string]any{field: piece}, nil)
	}
	delta(map[string]any{}, o.finish(a.stop))
	if includeUsage {
		chunk([]any{}, o.usage(a.usage))
	}
	return append(events, "data: [DONE]\n\n")
}

func (openAI) fail(w http.ResponseWriter, p Problem) {
	for name, v := range p.Header {
		w.Header().Set(name, v)
	}
	e := map[string]any{"message": p.Message, "type": p.Type, "param": nil, "code": nil}
	if p.Param != "" {
		e["param"] = p.Param
	}
	if p.Code != "" {
		e["code"] = p.Code
	}
	writeJSON(w, p.Status, map[string]any{"error": e})
}

// pieces cuts a text into what a model may emit at a time.
func pieces(text string) []string {
	var out []string
	for len(text) > 0 {
		n := min(16, len(text))
		for n < len(text) && text[n]&0xC0 == 0x80 {
			n++ // never in the middle of a character
		}
		out = append(out, text[:n])
		text = text[n:]
	}
	return out
}

func mustJSON(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(raw)
}
