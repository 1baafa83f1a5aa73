package panel_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/charter"
	"github.com/prosecutor-bot/prosecutor/prosecutor/diff"
	"github.com/prosecutor-bot/prosecutor/prosecutor/judge"
	"github.com/prosecutor-bot/prosecutor/prosecutor/panel"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const change = `diff --git a/limits.go b/limits.go
--- a/limits.go
+++ b/limits.go
@@ -1,3 +1,3 @@
 package limits
 
-const Most = 10
+const Most = 100
`

const (
	shipAnswer   = `{"verdict":"ship","findings":[]}`
	blockAnswer  = `{"verdict":"block","findings":[{"severity":"high","charge":"correctness","claim":"The limit is ten times too high.","anchor":{"path":"limits.go","side":"RIGHT","quote":"const Most = 100"}}]}`
	brokenAnswer = `I would ship this.`
)

func brief(t *testing.T, text string) *charter.Brief {
	t.Helper()
	d, err := diff.ParseString(text)
	if err != nil {
		t.Fatal(err)
	}
	return &charter.Brief{Diff: d, Text: text, Spec: "Raise the limit"}
}

// pass is what a judge does in one pass: the answers of one conversation, or a failure, or something to do first.
type pass struct {
	answers []string
	failure prosecutor.ErrorKind
	reset   bool // the failure names a reset time
	before  func(ctx context.Context)
}

func (p pass) begin(ctx context.Context) {
	if p.before != nil {
		p.before(ctx)
	}
}

func ship() pass { return pass{answers: []string{shipAnswer}} }

func block() pass { return pass{answers: []string{blockAnswer}} }

func fails(kind prosecutor.ErrorKind) pass { return pass{failure: kind} }

func broken() pass { return pass{answers: []string{brokenAnswer, brokenAnswer}} }

// repaired puts a malformed answer before the pass's own.
func repaired(p pass) pass {
	p.answers = append([]string{brokenAnswer}, p.answers...)
	return p
}

// script is what the judges of a case say, by judge and lens. It fails the test when it is asked for more.
type script struct {
	t *testing.T

	mu            sync.Mutex
	passes        map[string][]pass // by judge and lens
	open          map[string]pass   // the conversation that is going on, by judge and lens
	calls         int
	conversations int
	texts         []string // the opening messages
	order         []string // who was asked in which conversation
}

func newScript(t *testing.T) *script {
	return &script{t: t, passes: map[string][]pass{}, open: map[string]pass{}}
}

func key(id string, lens prosecutor.Lens) string { return id + " under " + string(lens) }

func (s *script) under(lens prosecutor.Lens, id string, passes ...pass) *script {
	s.passes[key(id, lens)] = append(s.passes[key(id, lens)], passes...)
	return s
}

func (s *script) next(id string, req judge.Request) (pass, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	k := key(id, req.Lens)
	if len(req.Messages) == 1 {
		s.conversations++
		s.texts = append(s.texts, req.Messages[0].Text)
		s.order = append(s.order, k)
		if len(s.passes[k]) == 0 {
			s.t.Errorf("%s was asked for more than the script holds", k)
			return fails(prosecutor.Transport), 0
		}
		s.open[k], s.passes[k] = s.passes[k][0], s.passes[k][1:]
	}
	return s.open[k], len(req.Messages) / 2
}

// actor is a judge that follows the script.
type actor struct {
	info   judge.Info
	script *script
}

func (a actor) Info() judge.Info { return a.info }

func (a actor) Ask(ctx context.Context, req judge.Request) (judge.Reply, error) {
	p, turn := a.script.next(a.info.ID, req)
	p.begin(ctx)
	if err := ctx.Err(); err != nil {
		return judge.Reply{}, err
	}
	switch {
	case p.failure == prosecutor.Panic:
		panic("scripted")
	case p.failure != "":
		e := &judge.Error{Kind: p.failure, Provider: a.info.Provider, Err: errors.New("scripted")}
		if p.reset {
			e.ResetAt = resetAt
		}
		return judge.Reply{}, e
	case turn >= len(p.answers):
		a.script.t.Errorf("%s was asked for an answer too many", key(a.info.ID, req.Lens))
		return judge.Reply{}, fmt.Errorf("the script has %d answers", len(p.answers))
	default:
		return judge.Reply{Text: p.answers[turn], Model: "scripted", TokensIn: 10, TokensOut: 2}, nil
	}
}

func poolOf(t *testing.T, s *script, opts judge.PoolOptions, infos ...judge.Info) *judge.Pool {
	t.Helper()
	judges := make([]judge.Judge, len(infos))
	for i, info := range infos {
		judges[i] = actor{info: info, script: s}
	}
	pool, err := judge.NewPool(judges, opts)
	if err != nil {
		t.Fatal(err)
	}
	return pool
}

var (
	fern  = judge.Info{ID: "fern-large", Family: "fern", Provider: "northgate", Model: "fern-2"}
	moss  = judge.Info{ID: "moss-pro", Family: "moss", Provider: "harbour", Model: "moss-9"}
	quill = judge.Info{ID: "quill-max", Family: "quill", Provider: "quill-cloud", Model: "quill-4"}
	rules = judge.Info{ID: "static", Family: "static", Provider: "static", Model: "rules", Static: true}
)

// recorder collects events as one line each.
type recorder struct{ lines []string }

func (r *recorder) Observe(e panel.Event) {
	line := fmt.Sprintf("%s %s %s", e.Lens, e.Kind, e.Judge.ID)
	switch e.Kind {
	case panel.PassDone:
		line += fmt.Sprintf(" %d/%d %s", e.Pass, e.Wanted, e.Verdict)
	case panel.FellBack, panel.Finished:
		line += fmt.Sprintf(" %s %s", e.Verdict, e.ErrorKind)
	}
	r.lines = append(r.lines, strings.TrimSpace(line))
}
