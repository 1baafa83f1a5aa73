package panel

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/attribution"
	"github.com/prosecutor-bot/prosecutor/prosecutor/charter"
	"github.com/prosecutor-bot/prosecutor/prosecutor/contract"
	"github.com/prosecutor-bot/prosecutor/prosecutor/judge"
)

// Ruling is what became of an accusation.
type Ruling string

// The rulings. The zero value is none of them and settles nothing.
const (
	Refuted      Ruling = "refuted"        // a verifier showed it to be wrong
	Upheld       Ruling = "upheld"         // a verifier did not refute it
	CouldNotTell Ruling = "could_not_tell" // nobody could verify it; the accusation stands
	Dismissed    Ruling = "dismissed"      // a person with the right to do so dismissed it; no verifier says this
)

// VerifyCase is one accusation to be verified.
type VerifyCase struct {
	Brief   *charter.Brief
	Finding prosecutor.Finding // of a model; its Origin is the accuser
	Builder attribution.Result
	Policy  *config.Policy // of the base branch, for the order of judges; nil means the default policy
	Repo    string         // who waits for a judge
}

// Verification is what came of verifying one accusation.
type Verification struct {
	FindingID  string
	Ruling     Ruling
	Reason     string     // the verifier's, or why nobody could tell
	Judge      judge.Info // the verifier, or who failed last; zero when nobody was asked
	ErrorKind  prosecutor.ErrorKind
	Calls      int
	Latency    time.Duration
	TokensIn   int
	TokensOut  int
	CostUSD    float64
	Model      string // as the provider reports it
	PromptHash string
	AnswerHash string // SHA-256 of the answer, in hexadecimal; empty when there was none
}

// Verify puts one accusation to a judge that did not make it, in a fresh conversation (semantics 2 and 6). The verifier
// is neither the accuser, nor the accuser's model under another name, nor of a family that built the change, nor of an
// unknown one unless people alone built it: where that cannot be had, and wherever else anything goes wrong, the ruling
// is CouldNotTell. Only a well-formed answer that says so refutes.
//
// A judge that fails is replaced by the next one, as under a lens; one that gives a malformed answer is not. The error
// is not nil exactly when ctx ended first; the ruling is then CouldNotTell, too.
func (p *Panel) Verify(ctx context.Context, c VerifyCase) (Verification, error) {
	v := Verification{FindingID: c.Finding.ID, Ruling: CouldNotTell}
	if c.Policy == nil {
		c.Policy = config.DefaultPolicy()
	}
	if why := p.unverifiable(c); why != "" {
		v.Reason = why
		return v, nil
	}
	want := judge.Want{
		Criteria: judge.Criteria{
			BuilderFamilies: c.Builder.Families,
			UnknownAgent:    c.Builder.UnknownAgent,
			Independence:    config.IndependenceRequired,
			Prefer:          c.Policy.Judges.Prefer,
			Lenses:          1,
			Except:          p.accusers(c.Finding.Origin),
		},
		Repo:   c.Repo,
		Tokens: estimate(c.Brief),
	}
	for {
		lease, _, err := p.pool.Acquire(ctx, want)
		if err != nil {
			var unavailable *judge.UnavailableError
			if !errors.As(err, &unavailable) {
				v.ErrorKind, v.Reason = prosecutor.Canceled, err.Error()
				return v, fmt.Errorf("verifying finding %s: %w", c.Finding.ID, err)
			}
			if v.Reason == "" {
				v.Reason = "no judge may verify this: " + err.Error()
			}
			return v, nil
		}
		failed := p.verifyWith(ctx, lease, c, &v)
		if ctx.Err() != nil && failed != "" {
			v.ErrorKind = prosecutor.Canceled
			return v, fmt.Errorf("verifying finding %s: %w", c.Finding.ID, ctx.Err())
		}
		if !replaceable(failed) || failed == prosecutor.SchemaViolation {
			return v, nil
		}
		want.Except = append(want.Except, judge.Skip{Judge: lease.Info().ID, Why: judge.SkipFailed})
	}
}

// unverifiable says why an accusation cannot be put to a verifier at all.
func (p *Panel) unverifiable(c VerifyCase) string {
	models := 0
	for _, info := range p.pool.Infos() {
		if !info.Static {
			models++
		}
	}
	switch {
	case c.Finding.Source != prosecutor.FromModel:
		return "a model does not overrule evidence or rules"
	case c.Finding.Origin == "":
		return "it is not known who made the accusation"
	case models == 0:
		return "no model is configured, and static rules cannot verify"
	case contract.Preflight(c.Brief.Text) != nil:
		return "the change cannot be read as a whole"
	default:
		return ""
	}
}

// accusers are the judges that share the accuser's name or its model.
func (p *Panel) accusers(origin string) []judge.Skip {
	infos := p.pool.Infos()
	var accuser judge.Info
	for _, info := range infos {
		if info.ID == origin {
			accuser = info
		}
	}
	var out []judge.Skip
	for _, info := range infos {
		sameModel := accuser.Model != "" && info.Model == accuser.Model && info.Provider == accuser.Provider
		if info.ID == origin || sameModel {
			out = append(out, judge.Skip{Judge: info.ID, Why: judge.SkipAccuser})
		}
	}
	return out
}

// verifyWith asks one verifier and gives its slot back. It returns the kind of its failure, or "" after a ruling.
func (p *Panel) verifyWith(ctx context.Context, lease *judge.Lease, c VerifyCase, v *Verification) prosecutor.ErrorKind {
	defer lease.Release()
	v.Judge = lease.Info()
	v.PromptHash = c.Brief.VerifyPromptHash(c.Finding)
	v.Calls++
	start := p.opts.Now()
	reply, err := p.ask(ctx, lease, c)
	v.Latency += p.opts.Now().Sub(start)
	v.TokensIn += reply.TokensIn
	v.TokensOut += reply.TokensOut
	v.CostUSD += reply.CostUSD
	v.Model = reply.Model
	if err != nil {
		v.ErrorKind, v.Reason = failureKind(err), "the verifier failed: "+err.Error()
		return v.ErrorKind
	}
	sum := sha256.Sum256([]byte(reply.Text))
	v.AnswerHash = hex.EncodeToString(sum[:])
	refuted, reason, err := charter.ParseVerification(reply.Text)
	if err != nil {
		v.ErrorKind, v.Reason = prosecutor.SchemaViolation, err.Error()
		return v.ErrorKind
	}
	v.ErrorKind, v.Reason, v.Ruling = "", reason, Upheld
	if refuted {
		v.Ruling = Refuted
	}
	return ""
}

// ask makes the call within its time. An answer that comes after the end of ctx is not read, and a panic is an error.
func (p *Panel) ask(ctx context.Context, lease *judge.Lease, c VerifyCase) (reply judge.Reply, err error) {
	ctx, cancel := context.WithTimeout(ctx, p.passTime(lease))
	defer cancel()
	defer func() {
		if v := recover(); v != nil {
			err = &judge.Error{Kind: prosecutor.Panic, Provider: "judge", Err: &contract.PanicError{Value: v, Stack: debug.Stack()}}
		}
	}()
	reply, err = lease.Judge().Ask(ctx, c.Brief.VerifyRequest(c.Finding, p.opts.Nonce()))
	if err == nil {
		err = ctx.Err()
	}
	return reply, err
}

func failureKind(err error) prosecutor.ErrorKind {
	var failed *judge.Error
	switch {
	case errors.As(err, &failed) && failed != nil && failed.Kind != "":
		return failed.Kind
	case errors.Is(err, context.DeadlineExceeded):
		return prosecutor.Timeout
	default:
		return prosecutor.Transport
	}
}
