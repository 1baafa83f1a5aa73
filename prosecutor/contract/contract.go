// Package contract decides one pass: it puts a case to a judge once, in a fresh conversation, and makes a verdict of the
// answer and the evidence. The table of semantics 2 is all there is to it, the first row that matches wins, and the
// judge's prose decides nothing.
//
// Everything in this package is safe for concurrent use.
package contract

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/charter"
	"github.com/prosecutor-bot/prosecutor/prosecutor/judge"
)

// DefaultTimeout is how long a pass may take, its repair round included (semantics 2).
const DefaultTimeout = judge.DefaultPassTime

// Input is what one pass is about.
type Input struct {
	Lens  prosecutor.Lens
	Brief *charter.Brief
	// Nonce returns the word for the markers of a call; nil means charter.RandomNonce. It is asked again, a few times,
	// when the case happens to contain the word.
	Nonce func() string
	// Now is the clock that latencies are measured with; nil means time.Now.
	Now func() time.Time
	// Timeout bounds the pass; 0 means DefaultTimeout.
	Timeout time.Duration
}

// Pass is the record of one pass.
type Pass struct {
	Verdict   prosecutor.Verdict
	ErrorKind prosecutor.ErrorKind // set exactly when Verdict is Errored
	// Err says why the verdict is Errored. It is safe to show: no secret, no stack trace. A panic of ours is a *PanicError
	// in its chain.
	Err error
	// Findings are those of the evidence and rules first, then the judge's. An errored pass keeps those of the evidence.
	Findings []prosecutor.Finding
	// Violation is how the last answer broke the contract, empty when it did not. It can stand beside a Block: a sound
	// critical or high finding, or red evidence, decides before the form of the answer does.
	Violation  string
	Calls      int // requests to the judge, the repair included
	Repairs    int // repair rounds, 0 or 1
	Latency    time.Duration
	TokensIn   int
	TokensOut  int
	CostUSD    float64
	Model      string   // as the provider reports it
	PromptHash string   // of the opening request, see charter.Brief.PromptHash; empty when the judge was not asked
	AnswerHash string   // SHA-256 of the last answer as it came, in hexadecimal; empty when there was none
	Confidence *float64 // the judge's own, from 0 to 1; nil when it gave none
	ResetAt    time.Time
}

// PanicError is a bug of ours, or of an adapter, that was caught in a pass.
type PanicError struct {
	Value any
	Stack []byte // for the operator's log, never for an output
}

// Error names the kind of the panic. Only the runtime's own panics are quoted: the text of others may hold anything.
func (e *PanicError) Error() string {
	if err, ok := e.Value.(runtime.Error); ok {
		return "panic: " + err.Error()
	}
	return fmt.Sprintf("panic with a value of type %T", e.Value)
}

// Prosecute runs one pass. It always returns a verdict: whatever goes wrong is in the pass as Errored, with its kind. The
// judge is asked at most twice, the second time only because the first answer broke the contract. An end of ctx is
// Canceled when the caller gave up and Timeout when time ran out; an answer that comes after it is not read.
func Prosecute(ctx context.Context, j judge.Judge, in Input) Pass {
	if f := Preflight(in.Brief.Text); f != nil {
		return Pass{Verdict: prosecutor.Block, Findings: []prosecutor.Finding{*f}}
	}
	timeout := in.Timeout
	if timeout <= 0 {
		timeout = DefaultTimeout
	}
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	t := trial{judge: j, in: in, timeout: timeout, evidence: evidenceFindings(in.Brief.Evidence)}
	t.info = introduced(j)
	if err := t.run(limited); err != nil {
		t.fail(ctx, limited, err)
	}
	return t.pass
}

// introduced is what a judge says of itself: nothing when it panics, which is no reason not to ask it for its verdict.
func introduced(j judge.Judge) (info judge.Info) {
	defer func() { _ = recover() }()
	return j.Info()
}

// trial is a pass on its way.
type trial struct {
	judge    judge.Judge
	info     judge.Info
	in       Input
	timeout  time.Duration
	evidence []prosecutor.Finding
	pass     Pass
}

// run asks until the pass has a verdict. An error is the reason why it has none.
func (t *trial) run(ctx context.Context) error {
	t.pass.PromptHash = t.in.Brief.PromptHash(t.in.Lens)
	req := t.in.Brief.Request(t.in.Lens, t.nonce())
	for {
		reply, err := t.ask(ctx, req)
		if err != nil {
			return err
		}
		a := readAnswer(reply.Text, t.in.Lens)
		if reply.Truncated && len(a.problems) > 0 {
			a.problems = append([]string{"the answer was cut off at the length limit: answer more briefly, the most severe findings first"}, a.problems...)
		}
		t.pass.Violation = strings.Join(a.problems, "; ")
		if t.decide(a) {
			return nil
		}
		if t.pass.Repairs > 0 {
			return &judge.Error{
				Kind: prosecutor.SchemaViolation, Provider: t.info.Provider,
				Err: fmt.Errorf("the answer breaks the contract, and so did the one before it: %s", t.pass.Violation),
			}
		}
		t.pass.Repairs++
		req.Messages = append(slices.Clone(req.Messages),
			judge.Message{Role: judge.Assistant, Text: repeatable(reply.Text)},
			judge.Message{Role: judge.User, Text: repairRequest(a.problems)})
	}
}

// decide applies rows 5 to 7 to an answer. It reports false when only row 6 is left.
func (t *trial) decide(a answer) bool {
	findings := slices.Clone(t.evidence)
	for _, f := range a.findings {
		f.Origin = t.info.ID
		findings = append(findings, Settle(t.in.Brief.Diff, f))
	}
	switch {
	case blocks(findings):
		t.pass.Verdict = prosecutor.Block
	case len(a.problems) > 0:
		return false
	default:
		t.pass.Verdict = a.verdict
	}
	t.pass.Findings = findings
	if len(a.problems) == 0 {
		t.pass.Confidence = a.confidence
	}
	return true
}

// ask makes one call and keeps its account.
func (t *trial) ask(ctx context.Context, req judge.Request) (judge.Reply, error) {
	if err := ctx.Err(); err != nil {
		return judge.Reply{}, err
	}
	now := t.in.Now
	if now == nil {
		now = time.Now
	}
	t.pass.Calls++
	start := now()
	reply, err := guard(t.info.Provider, func() (judge.Reply, error) { return t.judge.Ask(ctx, req) })
	t.pass.Latency += now().Sub(start)
	t.pass.TokensIn += reply.TokensIn
	t.pass.TokensOut += reply.TokensOut
	t.pass.CostUSD += reply.CostUSD
	if reply.Model != "" {
		t.pass.Model = reply.Model
	}
	if err != nil {
		return judge.Reply{}, err
	}
	sum := sha256.Sum256([]byte(reply.Text))
	t.pass.AnswerHash = hex.EncodeToString(sum[:])
	return reply, ctx.Err()
}

// fail ends the pass with row 4, or with row 6 after its repair. It is Canceled when the caller gave it up, and Timeout
// when its time is over by the caller's clock or ours.
func (t *trial) fail(caller, limited context.Context, err error) {
	var failed *judge.Error
	named := errors.As(err, &failed)
	kind := prosecutor.Transport
	switch {
	case named && failed.Kind == prosecutor.Quota:
		// Exhausted quota is never swallowed, not even by the end of the case (semantics 7).
		kind = prosecutor.Quota
	case errors.Is(caller.Err(), context.Canceled):
		kind = prosecutor.Canceled
	case named && known(failed.Kind) && failed.Kind != prosecutor.Transport:
		kind = failed.Kind
	case limited.Err() != nil, errors.Is(err, context.DeadlineExceeded):
		kind = prosecutor.Timeout
	}
	if named {
		t.pass.ResetAt = failed.ResetAt
	} else {
		err = fmt.Errorf("judge %s, asked for up to %s: %w", t.info.ID, t.timeout, err)
	}
	t.pass.Verdict, t.pass.ErrorKind, t.pass.Err, t.pass.Findings = prosecutor.Errored, kind, err, t.evidence
}

// known reports whether a failed call can be of that kind by a judge's word. Canceled is not: only the caller cancels.
func known(kind prosecutor.ErrorKind) bool {
	switch kind {
	case prosecutor.Timeout, prosecutor.Transport, prosecutor.Refusal, prosecutor.Quota, prosecutor.Auth, prosecutor.Panic, prosecutor.SchemaViolation:
		return true
	default:
		return false
	}
}

func (t *trial) nonce() string {
	next := t.in.Nonce
	if next == nil {
		next = charter.RandomNonce
	}
	nonce := next()
	for range 3 {
		if t.in.Brief.Fits(nonce) {
			return nonce
		}
		nonce = next()
	}
	return nonce
}

// guard calls a judge and makes an error of a panic in it, so that a bug in one adapter ends one pass.
func guard[T any](provider string, call func() (T, error)) (out T, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &judge.Error{Kind: prosecutor.Panic, Provider: provider, Err: &PanicError{Value: v, Stack: debug.Stack()}}
		}
	}()
	out, err = call()
	if failed, ok := err.(*judge.Error); ok && failed == nil { //nolint:errorlint // only this very value would panic when it is read
		err = &judge.Error{Kind: prosecutor.Panic, Provider: provider, Err: errors.New("the adapter returned a nil *judge.Error as its error")}
	}
	return out, err
}

// maxRepeated bounds what a repair round repeats of the first answer, in bytes. No sensible answer is longer, and a
// runaway one must not push the case out of the model's context.
const maxRepeated = 64 << 10

// repeatable is an answer as a turn of the conversation: never blank, which providers refuse, and never endless.
func repeatable(text string) string {
	if strings.TrimSpace(text) == "" {
		return "(an empty answer)"
	}
	if len(text) <= maxRepeated {
		return text
	}
	end := maxRepeated
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "\n(the rest of the answer is not repeated)"
}

// repairRequest is the user turn of a repair round. The problems quote of the model's answer nothing but the names of
// properties, in Go's quoting and shortened.
func repairRequest(problems []string) string {
	var w strings.Builder
	w.WriteString("That answer breaks the contract, so it was not used:\n\n")
	for _, p := range problems {
		w.WriteString("- ")
		w.WriteString(p)
		w.WriteByte('\n')
	}
	w.WriteString("\nAnswer once more: one JSON object after the schema of your instructions, complete, and nothing before or after it. " +
		"Correct the form; change what you found only if you find it mistaken.\n")
	return w.String()
}
