// Package anthropic is the judge adapter for Anthropic's Messages API and for gateways that speak it.
//
// A call is one request, plus at most two retries of a rate limit that passes within 20 seconds and before the
// deadline, plus one request without the output format when the model turns out not to take it. No tools are offered to
// the model. The reply counts requests, tokens and cost, also when Ask returns an error.
package anthropic

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/judge"
	"github.com/prosecutor-bot/prosecutor/prosecutor/judge/internal/wire"
)

const (
	// DefaultBaseURL is Anthropic's own endpoint.
	DefaultBaseURL = "https://api.anthropic.com"
	// DefaultMaxTokens is the size of an answer where none is configured: the API demands a number. It is what every
	// current model can write, and far more than an answer needs.
	DefaultMaxTokens = 8192
)

// Options configure a judge.
type Options struct {
	Info judge.Info
	// BaseURL is the address without "/v1/messages"; DefaultBaseURL when empty.
	BaseURL string
	Key     judge.Secret // sent as x-api-key; required by Anthropic, not by every gateway
	KeyFrom string       // where the key came from, for messages: "variable ANTHROPIC_API_KEY"
	// Output is auto (default), json_schema or text. Auto sends the schema of the answer as the output format; when the
	// API rejects such a request as invalid (400, 422), it is sent again without, and when that succeeds the judge stays
	// with it.
	Output    string
	MaxTokens int           // of an answer; DefaultMaxTokens when 0
	Timeout   time.Duration // of one call; 8 minutes when 0
	// Price is applied to all input tokens alike. Prompts are not cached, since a nonce makes each of them new.
	Price *config.Price
	// Errors classifies failures; nil means judge.AnthropicErrors.
	Errors *judge.ErrorTable

	Transport http.RoundTripper                          // nil means a transport of the judge's own, with limits
	Now       func() time.Time                           // nil means time.Now
	Sleep     func(context.Context, time.Duration) error // waits before a retry; nil means a timer
}

// Judge asks one model. It is safe for concurrent use.
type Judge struct {
	endpoint  wire.Endpoint
	messages  sdk.MessageService
	client    *http.Client
	output    wire.Output
	maxTokens int
	timeout   time.Duration
	price     *config.Price
	plain     atomic.Bool // the output format is known not to be taken
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
	if output == wire.OutputJSON {
		problems = append(problems, errors.New("output json_object: Anthropic's API has no such mode: use auto, json_schema or text"))
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
	// The version belongs to the path of the call. People write it all the same, as they do for OpenAI's endpoints.
	base.Path = strings.TrimSuffix(base.Path, "v1/")
	if o.Info.Provider == "" {
		o.Info.Provider = base.Host
	}
	table := judge.AnthropicErrors()
	if o.Errors != nil {
		table = *o.Errors
	}
	if o.Timeout <= 0 {
		o.Timeout = wire.DefaultTimeout
	}
	if o.MaxTokens == 0 {
		o.MaxTokens = DefaultMaxTokens
	}
	if o.Transport == nil {
		o.Transport = wire.NewTransport(base.Scheme == "http" && !o.Key.IsZero())
	}
	j := &Judge{
		endpoint:  wire.NewEndpoint(o.Info, table, o.Key, o.KeyFrom, o.Now, o.Sleep),
		client:    wire.NewClient(o.Transport),
		output:    output,
		maxTokens: o.MaxTokens,
		timeout:   o.Timeout,
		price:     o.Price,
	}
	j.plain.Store(output == wire.OutputText)
	query := base.Query()
	base.RawQuery = ""
	// The service is built directly, not through the SDK's client, which would take addresses, headers, profiles and keys
	// from the environment and the home directory.
	opts := []option.RequestOption{
		option.WithHTTPClient(j.client),
		option.WithBaseURL(base.String()),
		option.WithMaxRetries(0),
		// The call's context bounds the time. Without a time-out of its own the SDK refuses large answers.
		option.WithRequestTimeout(o.Timeout),
		option.WithHeader("User-Agent", wire.UserAgent),
		option.WithMiddleware(wire.Recorder(j.endpoint.Now)), //nolint:bodyclose // the SDK closes the bodies that pass through
	}
	for name, values := range query {
		for _, v := range values {
			opts = append(opts, option.WithQueryAdd(name, v))
		}
	}
	if !o.Key.IsZero() {
		opts = append(opts, option.WithAPIKey(o.Key.Reveal()))
	}
	j.messages = sdk.NewMessageService(opts...)
	return j, nil
}

// Info describes the judge.
func (j *Judge) Info() judge.Info { return j.endpoint.Info }

// String names the judge, and nothing secret.
func (j *Judge) String() string {
	return fmt.Sprintf("judge %s (anthropic, model %s)", j.endpoint.Info.ID, j.endpoint.Info.Model)
}

// Format prints String for every verb, so that no verb reaches the key.
func (j *Judge) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(j.String())) }

// Close closes the idle connections. The judge may be used again afterwards.
func (j *Judge) Close() error {
	j.client.CloseIdleConnections()
	return nil
}

// Ask sends the conversation and returns the text blocks of the answer, joined, as they came. Failures are *judge.Error
// values:
//
//   - stop_reason refusal is Refusal
//   - an answer without text is Transport
//   - an answer cut at the token limit or by the context window is returned as it came, with Truncated set: whether it is
//     of use is the contract's to say
func (j *Judge) Ask(ctx context.Context, req judge.Request) (judge.Reply, error) {
	start := j.endpoint.Now()
	call, cancel := context.WithTimeout(ctx, j.timeout)
	defer cancel()

	params, err := j.params(req)
	reply := judge.Reply{Model: j.endpoint.Info.Model}
	if err != nil {
		return reply, &judge.Error{Kind: prosecutor.Transport, Provider: j.endpoint.Info.Provider, Code: "request", Err: err}
	}
	formatted := params.OutputConfig.Format.Schema != nil
	var res *sdk.Message
	attempt := func() error {
		return j.endpoint.Retry(call, func() error {
			reply.Requests++
			var err error
			res, err = j.messages.New(call, params)
			return err
		})
	}
	err = attempt()
	if formatted && j.output == wire.OutputAuto && j.rejected(err) {
		params.OutputConfig = sdk.OutputConfigParam{}
		if err = attempt(); err == nil {
			j.plain.Store(true)
		}
	}
	reply.Latency = j.endpoint.Now().Sub(start)
	if err != nil {
		return reply, j.endpoint.Error(ctx, call, err)
	}
	if res.Model != "" {
		reply.Model = wire.Clean(res.Model, 200)
	}
	reply.TokensIn = int(res.Usage.InputTokens + res.Usage.CacheCreationInputTokens + res.Usage.CacheReadInputTokens)
	reply.TokensOut = int(res.Usage.OutputTokens)
	reply.CostUSD = wire.Cost(j.price, reply.TokensIn, reply.TokensOut)
	if err := j.read(res, &reply); err != nil {
		return reply, err
	}
	return reply, nil
}

// rejected reports whether a request was refused as invalid, in a way that its output format may have caused.
func (j *Judge) rejected(err error) bool {
	var f *wire.Failure
	return errors.As(err, &f) && j.endpoint.Kind(f) == prosecutor.Transport &&
		(f.Status == http.StatusBadRequest || f.Status == http.StatusUnprocessableEntity)
}

func (j *Judge) read(res *sdk.Message, reply *judge.Reply) error {
	fail := func(kind prosecutor.ErrorKind, code, text string) error {
		return &judge.Error{
			Kind: kind, Provider: j.endpoint.Info.Provider, Status: http.StatusOK, Code: code, Err: errors.New(text),
		}
	}
	var text strings.Builder
	for i := range res.Content {
		if res.Content[i].Type == "text" {
			text.WriteString(res.Content[i].Text)
		}
	}
	switch res.StopReason {
	case sdk.StopReasonRefusal:
		return fail(prosecutor.Refusal, "refusal", "the model refuses to answer")
	case sdk.StopReasonMaxTokens, sdk.StopReasonModelContextWindowExceeded:
		reply.Truncated = true
		if text.Len() == 0 {
			return fail(prosecutor.Transport, string(res.StopReason),
				"the token limit was used up before the answer began: raise max_tokens, or choose a model with a larger context")
		}
	}
	if text.Len() == 0 {
		return fail(prosecutor.Transport, "no_text", "the server answered without text")
	}
	reply.Text = text.String()
	return nil
}

// emptyTurn stands for an earlier answer without text: the API takes no empty text.
const emptyTurn = "(no answer)"

func (j *Judge) params(req judge.Request) (sdk.MessageNewParams, error) {
	p := sdk.MessageNewParams{Model: j.endpoint.Info.Model, MaxTokens: int64(j.maxTokens)}
	if req.System != "" {
		p.System = []sdk.TextBlockParam{{Text: req.System}}
	}
	for _, m := range req.Messages {
		text := m.Text
		if strings.TrimSpace(text) == "" {
			text = emptyTurn
		}
		block := sdk.NewTextBlock(text)
		if m.Role == judge.Assistant {
			p.Messages = append(p.Messages, sdk.NewAssistantMessage(block))
		} else {
			p.Messages = append(p.Messages, sdk.NewUserMessage(block))
		}
	}
	if len(req.Schema) > 0 && !j.plain.Load() {
		if err := json.Unmarshal(req.Schema, &p.OutputConfig.Format.Schema); err != nil {
			return p, fmt.Errorf("the schema of the answer is not a JSON object: %w", err)
		}
	}
	return p, nil
}

var _ judge.Judge = (*Judge)(nil)
