// Package openai is the judge adapter for every endpoint that speaks OpenAI's chat completions: OpenAI, Azure OpenAI,
// Gemini, Ollama, vLLM, OpenRouter and others.
//
// A call is one request, plus at most two retries of a rate limit that passes within 20 seconds and before the
// deadline, plus one request for each form of request the server turns out not to take (see Options.Output). No tools
// are offered to the model. The reply counts requests, tokens and cost, also when Ask returns an error.
package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"

	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/judge"
	"github.com/prosecutor-bot/prosecutor/prosecutor/judge/internal/wire"
)

// DefaultBaseURL is OpenAI's own endpoint.
const DefaultBaseURL = "https://api.openai.com/v1"

// Options configure a judge.
type Options struct {
	Info judge.Info
	// BaseURL is the address without "/chat/completions"; DefaultBaseURL when empty. Its query is kept, as Azure's older
	// addresses need ("?api-version=...").
	BaseURL string
	// Key is sent as a bearer token, or as api-key to Azure's hosts. Without one no credentials are sent, which local
	// servers are content with.
	Key     judge.Secret
	KeyFrom string // where the key came from, for messages: "variable OPENAI_API_KEY"
	// Output is auto (default), json_schema, json_object or text. Auto sends the schema of the answer; when the server
	// rejects such a request as invalid (400, 422, 501), it is sent again without, and when that succeeds the judge stays
	// with it.
	Output    string
	MaxTokens int           // of an answer; 0 leaves it to the server
	Timeout   time.Duration // of one call; 8 minutes when 0
	Price     *config.Price // cost is 0 without
	// Errors classifies failures; nil means the table that fits the host.
	Errors *judge.ErrorTable

	Transport http.RoundTripper                          // nil means a transport of the judge's own, with limits
	Now       func() time.Time                           // nil means time.Now
	Sleep     func(context.Context, time.Duration) error // waits before a retry; nil means a timer
}

// Judge asks one model. It is safe for concurrent use.
type Judge struct {
	endpoint  wire.Endpoint
	chat      sdk.ChatCompletionService
	client    *http.Client
	output    wire.Output
	maxTokens int
	timeout   time.Duration
	price     *config.Price
	shape     atomic.Pointer[shape]
}

// shape is what is known about what the server takes.
type shape struct {
	output wire.Output // json_schema, json_object or text
	legacy bool        // max_tokens instead of max_completion_tokens
	// swapped says that the name of the token limit was changed once, so that it is not changed back and forth.
	swapped bool
}

// New returns the judge, or an error that says which option is wrong. It sends nothing.
func New(o Options) (*Judge, error) {
	var problems []error
	if o.Info.Model == "" {
		problems = append(problems, errors.New("model is missing"))
	}
	output, err := wire.ParseOutput(o.Output)
	if err != nil {
		problems = append(problems, err)
	}
	if o.BaseURL == "" {
		o.BaseURL = DefaultBaseURL
	}
	base, err := wire.ParseBaseURL(o.BaseURL)
	if err != nil {
		problems = append(problems, err)
	}
	if o.MaxTokens < 0 {
		problems = append(problems, fmt.Errorf("max_tokens is %d: it cannot be negative", o.MaxTokens))
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	host := base.Hostname()
	if o.Info.Provider == "" {
		o.Info.Provider = base.Host
	}
	table := tableFor(host)
	if o.Errors != nil {
		table = *o.Errors
	}
	if o.Timeout <= 0 {
		o.Timeout = wire.DefaultTimeout
	}
	j := &Judge{
		endpoint:  wire.NewEndpoint(o.Info, table, o.Key, o.KeyFrom, o.Now, o.Sleep),
		output:    output,
		maxTokens: o.MaxTokens,
		timeout:   o.Timeout,
		price:     o.Price,
	}
	if o.Transport == nil {
		o.Transport = wire.NewTransport(base.Scheme == "http" && !o.Key.IsZero())
	}
	j.client = wire.NewClient(o.Transport)

	query := base.Query()
	base.RawQuery = ""
	// The service is built directly, not through the SDK's client, which would take addresses, organisations, headers
	// and keys from the environment.
	opts := []option.RequestOption{
		option.WithHTTPClient(j.client),
		option.WithBaseURL(base.String()),
		option.WithMaxRetries(0),
		option.WithHeader("User-Agent", wire.UserAgent),
		option.WithMiddleware(wire.Recorder(j.endpoint.Now)), //nolint:bodyclose // the SDK closes the bodies that pass through
	}
	for name, values := range query {
		for _, v := range values {
			opts = append(opts, option.WithQueryAdd(name, v))
		}
	}
	switch {
	case o.Key.IsZero():
	case isAzure(host):
		opts = append(opts, option.WithHeader("api-key", o.Key.Reveal()))
	default:
		opts = append(opts, option.WithAPIKey(o.Key.Reveal()))
	}
	j.chat = sdk.NewChatCompletionService(opts...)

	first := shape{output: output, legacy: host != "api.openai.com" && !isAzure(host)}
	if output == wire.OutputAuto {
		first.output = wire.OutputSchema
	}
	j.shape.Store(&first)
	return j, nil
}

func tableFor(host string) judge.ErrorTable {
	if host == "openrouter.ai" || strings.HasSuffix(host, ".openrouter.ai") {
		return judge.OpenRouterErrors()
	}
	return judge.OpenAIErrors()
}

// isAzure recognises Azure's hosts, which want the key in a header of its own.
func isAzure(host string) bool {
	for _, suffix := range []string{".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com"} {
		if strings.HasSuffix(host, suffix) {
			return true
		}
	}
	return false
}

// Info describes the judge.
func (j *Judge) Info() judge.Info { return j.endpoint.Info }

// String names the judge, and nothing secret.
func (j *Judge) String() string {
	return fmt.Sprintf("judge %s (openai, model %s)", j.endpoint.Info.ID, j.endpoint.Info.Model)
}

// Format prints String for every verb, so that no verb reaches the key.
func (j *Judge) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(j.String())) }

// Close closes the idle connections. The judge may be used again afterwards.
func (j *Judge) Close() error {
	j.client.CloseIdleConnections()
	return nil
}

// Ask sends the conversation and returns the text of the first choice as it came. Failures are *judge.Error values:
//
//   - a refusal (message.refusal, or finish_reason content_filter) is Refusal
//   - no choice, or a choice without text that was cut at the token limit, is Transport
//   - an answer cut at the token limit is returned as it came, with Truncated set: whether it is of use is the
//     contract's to say
func (j *Judge) Ask(ctx context.Context, req judge.Request) (judge.Reply, error) {
	start := j.endpoint.Now()
	call, cancel := context.WithTimeout(ctx, j.timeout)
	defer cancel()

	var (
		reply = judge.Reply{Model: j.endpoint.Info.Model}
		known = j.shape.Load()
		s     = *known
		res   *sdk.ChatCompletion
		err   error
	)
	for {
		err = j.endpoint.Retry(call, func() error {
			reply.Requests++
			res, err = j.chat.New(call, j.params(req, s))
			if err == nil {
				err = j.embeddedError(res)
			}
			return err
		})
		next, ok := j.adapt(s, err)
		if !ok {
			break
		}
		s = next
	}
	reply.Latency = j.endpoint.Now().Sub(start)
	if err != nil {
		return reply, j.endpoint.Error(ctx, call, err)
	}
	if s != *known {
		j.shape.CompareAndSwap(known, &s)
	}
	if res.Model != "" {
		reply.Model = wire.Clean(res.Model, 200)
	}
	reply.TokensIn, reply.TokensOut = int(res.Usage.PromptTokens), int(res.Usage.CompletionTokens)
	reply.CostUSD = wire.Cost(j.price, reply.TokensIn, reply.TokensOut)
	if err := j.read(res, &reply); err != nil {
		return reply, err
	}
	return reply, nil
}

func (j *Judge) read(res *sdk.ChatCompletion, reply *judge.Reply) error {
	fail := func(kind prosecutor.ErrorKind, code, text string) error {
		return &judge.Error{
			Kind: kind, Provider: j.endpoint.Info.Provider, Status: http.StatusOK, Code: code, Err: errors.New(text),
		}
	}
	if len(res.Choices) == 0 {
		return fail(prosecutor.Transport, "no_choices", "the server answered without a choice")
	}
	choice := res.Choices[0]
	switch {
	case choice.Message.Refusal != "":
		return fail(prosecutor.Refusal, "refusal", "the model refuses to answer")
	case choice.FinishReason == "content_filter":
		return fail(prosecutor.Refusal, "content_filter", "the provider's content filter withheld the answer")
	case choice.FinishReason == "length":
		reply.Truncated = true
		if choice.Message.Content == "" {
			return fail(prosecutor.Transport, "length",
				"the token limit was used up before the answer began: raise max_tokens, or lower the model's reasoning effort")
		}
	}
	reply.Text = choice.Message.Content
	return nil
}

// embeddedError finds an error object in a response with status 200, which OpenRouter sends when the model behind it
// fails.
func (j *Judge) embeddedError(res *sdk.ChatCompletion) error {
	raw := json.RawMessage(res.JSON.ExtraFields["error"].Raw())
	if len(res.Choices) > 0 || len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	f := &wire.Failure{Status: http.StatusOK, Retry: -1, Problem: "the server answered with an error in place of choices"}
	if n := wire.NumericCode(raw); n != 0 {
		f.Status = n
	}
	f.ParseError(raw, j.endpoint.Now())
	if f.Status == http.StatusOK && f.Code == "" && f.Type == "" {
		f.Code = "error"
	}
	return f
}

// adapt decides whether a rejected request is to be sent once more in another shape.
func (j *Judge) adapt(s shape, err error) (shape, bool) {
	var f *wire.Failure
	if !errors.As(err, &f) || j.endpoint.Kind(f) != prosecutor.Transport {
		return s, false
	}
	switch f.Status {
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusNotImplemented:
	default:
		return s, false
	}
	if j.maxTokens > 0 && !s.swapped && (f.Param == "max_tokens" && s.legacy || f.Param == "max_completion_tokens" && !s.legacy) {
		s.legacy, s.swapped = !s.legacy, true
		return s, true
	}
	// Servers say "unsupported response_format" in words of their own, so that every rejection of a request with a
	// schema is worth one without, unless the provider tells that something else is wrong.
	if j.output != wire.OutputAuto || f.Param != "" && !strings.HasPrefix(f.Param, "response_format") {
		return s, false
	}
	switch f.Code {
	case "context_length_exceeded", "model_not_found", "string_above_max_length":
		return s, false
	}
	if s.output != wire.OutputSchema {
		return s, false
	}
	s.output = wire.OutputText
	return s, true
}

func (j *Judge) params(req judge.Request, s shape) sdk.ChatCompletionNewParams {
	p := sdk.ChatCompletionNewParams{Model: j.endpoint.Info.Model}
	if j.maxTokens > 0 {
		if s.legacy {
			p.MaxTokens = param.NewOpt(int64(j.maxTokens))
		} else {
			p.MaxCompletionTokens = param.NewOpt(int64(j.maxTokens))
		}
	}
	switch {
	case len(req.Schema) == 0:
	case s.output == wire.OutputSchema:
		format := shared.ResponseFormatJSONSchemaJSONSchemaParam{Name: "answer", Schema: json.RawMessage(req.Schema)}
		if wire.Strict(req.Schema) {
			format.Strict = param.NewOpt(true)
		}
		p.ResponseFormat.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{JSONSchema: format}
	case s.output == wire.OutputJSON:
		p.ResponseFormat.OfJSONObject = &shared.ResponseFormatJSONObjectParam{}
	}
	if req.System != "" {
		p.Messages = append(p.Messages, sdk.SystemMessage(req.System))
	}
	for _, m := range req.Messages {
		if m.Role == judge.Assistant {
			p.Messages = append(p.Messages, sdk.AssistantMessage(m.Text))
		} else {
			p.Messages = append(p.Messages, sdk.UserMessage(m.Text))
		}
	}
	return p
}

var _ judge.Judge = (*Judge)(nil)
