// Package tokens measures changes of JavaScript, TypeScript, Python, Java, Rust and Ruby. It makes mutants of the tokens
// of the changed lines, outside of strings and comments, lets each language's own parser throw out what is no program,
// and runs the repository's own test command against the others, in copies of the tree.
//
// Where the command is node's or Python's own test runner, or pytest, a helper keeps the runner loaded, finds out which
// tests reach a mutant, and runs only those: that costs a few milliseconds where a whole command costs hundreds.
package tokens

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest"
)

// Engine is the engine for the languages above. Its zero value is ready. It is safe for concurrent use.
type Engine struct {
	// PerLine bounds the mutants of one line; the severest are kept. 0 means 4.
	PerLine int
	// Workers is how many copies of the tree are tested at once. 0 means the number of processors, at most 8.
	Workers int
	// Whole runs the whole command for every mutant, also where a helper could do better.
	Whole bool
}

var _ hollowtest.Engine = (*Engine)(nil)

const (
	defaultPerLine = 4
	mostWorkers    = 8
	// memoryFloor is what a mutant's tests may use at least, and memoryFactor how many times what they use without it.
	memoryFloor  = 2 << 30
	memoryFactor = 8
)

// Reasons of mutants without a verdict.
const (
	reasonBudget      = "budget: the time was over before it was tried"
	reasonInterrupted = "interrupted before it was tried"
	reasonMost        = "budget: more mutants than the limit"
)

// mutant is one edit of a file and what became of it.
type mutant struct {
	hollowtest.Mutant
	f       *source
	edit    edit
	skip    string
	decided bool
}

// source is the mutated file.
func (m *mutant) source() []byte {
	out := make([]byte, 0, len(m.f.src)+len(m.edit.with))
	out = append(out, m.f.src[:m.edit.start]...)
	out = append(out, m.edit.with...)
	return append(out, m.f.src[m.edit.end:]...)
}

// run is the state of one measurement.
type run struct {
	e       *Engine
	req     hollowtest.Request
	root    string
	scratch string
	env     []string
	read    []string
	report  *hollowtest.Report
	files   map[string]*hollowtest.FileReport
	mutants []*mutant
	trees   []string
	start   time.Time

	mu          sync.Mutex
	done, total int
}

// Measure implements hollowtest.Engine.
func (e *Engine) Measure(ctx context.Context, req hollowtest.Request) (*hollowtest.Report, error) {
	if req.Exec == nil {
		return nil, errors.New("measuring by tokens: no executor given")
	}
	root, err := filepath.Abs(req.Dir)
	if err == nil {
		root, err = filepath.EvalSymlinks(root)
	}
	if err != nil {
		return nil, fmt.Errorf("measuring by tokens: %w", err)
	}
	scratch := req.Scratch
	if scratch == "" {
		if scratch, err = os.MkdirTemp("", "prosecutor-hollow-"); err != nil {
			return nil, fmt.Errorf("measuring by tokens: %w", err)
		}
		defer func() { _ = os.RemoveAll(scratch) }() // temporary files: the system removes what is left
	}
	if scratch, err = filepath.EvalSymlinks(scratch); err != nil {
		return nil, fmt.Errorf("measuring by tokens: %w", err)
	}
	r := &run{e: e, req: req, root: root, scratch: scratch, report: &hollowtest.Report{}, files: map[string]*hollowtest.FileReport{}, start: time.Now()}
	if r.env, r.read, err = Environment(scratch, req.Env); err != nil {
		return nil, fmt.Errorf("measuring by tokens: %w", err)
	}
	inner := ctx
	if req.Budget > 0 {
		var cancel context.CancelFunc
		inner, cancel = context.WithTimeout(ctx, req.Budget)
		defer cancel()
	}
	err = r.measure(inner)
	switch {
	case ctx.Err() != nil:
		r.problem(hollowtest.Interrupted, "")
	case inner.Err() != nil:
		if r.done == 0 {
			r.problem(hollowtest.TimeLimit, "no mutant was tried within "+req.Budget.String())
		}
	case err != nil:
		r.problem(hollowtest.SetupFailed, err.Error())
	}
	r.finish(ctx.Err() != nil)
	return r.report, nil
}

func (r *run) problem(p hollowtest.Problem, detail string) {
	if r.report.Problem == hollowtest.NoProblem {
		r.report.Problem, r.report.Detail = p, detail
	}
}

func (r *run) workers() int {
	if r.e.Workers > 0 {
		return r.e.Workers
	}
	return min(runtime.GOMAXPROCS(0), mostWorkers)
}

// measure does the work. Its error is a setup that failed.
func (r *run) measure(ctx context.Context) error {
	byLanguage := r.generate()
	if len(byLanguage) == 0 {
		return nil
	}
	if strings.TrimSpace(r.req.Policy.Command) == "" {
		r.problem(hollowtest.NoTestCommand, "")
		return nil
	}
	command, err := r.command()
	if err != nil {
		return err
	}
	tree := filepath.Join(r.scratch, "tree0")
	if err := forkTree(ctx, r.root, tree); err != nil {
		return fmt.Errorf("copying the tree: %w", err)
	}
	r.trees = []string{tree}
	if err := r.syntax(ctx, byLanguage); err != nil {
		return err
	}
	queue := r.pick()
	if len(queue) == 0 {
		return nil
	}
	r.total = len(queue)
	return r.test(ctx, command, queue)
}

// languages are those of this engine, by the ending of a file.
var languages = map[string]hollowtest.Language{
	".js": hollowtest.JavaScript, ".jsx": hollowtest.JavaScript, ".mjs": hollowtest.JavaScript, ".cjs": hollowtest.JavaScript,
	".ts": hollowtest.TypeScript, ".tsx": hollowtest.TypeScript, ".mts": hollowtest.TypeScript, ".cts": hollowtest.TypeScript,
	".py": hollowtest.Python, ".java": hollowtest.Java, ".rs": hollowtest.Rust, ".rb": hollowtest.Ruby,
}

// generate makes the mutants of every changed file.
func (r *run) generate() map[hollowtest.Language][]*mutant {
	byLanguage := make(map[hollowtest.Language][]*mutant)
	for _, name := range sortedKeys(r.req.Lines) {
		language, ok := languages[path.Ext(name)]
		if !ok || len(r.req.Lines[name]) == 0 {
			continue
		}
		r.files[name] = &hollowtest.FileReport{Path: name}
		if why := bundled(name); why != "" {
			r.note(name, hollowtest.Skipped, why)
			continue
		}
		src, err := readRegular(filepath.Join(r.root, filepath.FromSlash(name)))
		if err != nil {
			r.note(name, hollowtest.Undetermined, err.Error())
			continue
		}
		f, err := lex(name, language, src)
		if err != nil {
			r.note(name, hollowtest.Undetermined, err.Error())
			continue
		}
		made := r.mutate(f)
		if len(made) == 0 {
			r.files[name].Reason = "no changed line has code that a mutant would mean anything for"
			continue
		}
		r.mutants = append(r.mutants, made...)
		byLanguage[language] = append(byLanguage[language], made...)
	}
	return byLanguage
}

// bundled says why a file is other people's code or a tool's output, by its name alone.
func bundled(name string) string {
	for _, d := range strings.Split(path.Dir(name), "/") {
		switch d {
		case "node_modules", "bower_components", "site-packages":
			return "a dependency: " + d
		}
	}
	if base := path.Base(name); strings.HasSuffix(base, ".min.js") || strings.HasSuffix(base, ".d.ts") {
		return "a minified or declaration file"
	}
	return ""
}

// maxSource is the largest file that is read. Sources of people are smaller.
const maxSource = 4 << 20

func readRegular(name string) ([]byte, error) {
	info, err := os.Lstat(name)
	if err != nil {
		return nil, fmt.Errorf("it cannot be read: %w", err)
	}
	if !info.Mode().IsRegular() || info.Size() > maxSource {
		return nil, fmt.Errorf("it is no regular file of at most %d MiB", maxSource>>20)
	}
	return os.ReadFile(name)
}

func (r *run) note(name string, status hollowtest.Status, reason string) {
	r.files[name].Reason = reason
	r.report.Mutants = append(r.report.Mutants, hollowtest.Mutant{
		ID: "file:" + name, File: name, Line: r.req.Lines[name][0], Operator: "file", Original: path.Base(name), Mutated: path.Base(name),
		Status: status, Reason: reason,
	})
}

// mutate turns the edits of a file into mutants.
func (r *run) mutate(f *source) []*mutant {
	changed := make(map[int]bool)
	for _, l := range r.req.Lines[f.path] {
		changed[l] = true
	}
	edits := f.generate(changed)
	sort.SliceStable(edits, func(i, j int) bool {
		if edits[i].start != edits[j].start {
			return edits[i].start < edits[j].start
		}
		return severity[edits[i].op] < severity[edits[j].op]
	})
	seen := make(map[string]int)
	var made []*mutant
	for _, e := range edits {
		m := f.mutant(e)
		key := strings.Join([]string{f.path, m.Operator, m.Original, m.Mutated}, "\x00")
		m.ID = identity(key, seen[key])
		seen[key]++
		m.skip = f.arid(m.Line, e.op)
		for _, a := range r.req.Policy.Accepted {
			if m.skip == "" && a.Path == f.path && a.Operator == m.Operator && strings.TrimSpace(a.Original) == m.Original {
				m.skip = "accepted: " + a.Reason
			}
		}
		made = append(made, m)
	}
	return made
}

func identity(key string, n int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d", key, n))
	return hex.EncodeToString(sum[:8])
}

// mutant shows an edit as the line before and after, which is what people read.
func (f *source) mutant(e edit) *mutant {
	line := sort.SearchInts(f.lines, e.start+1)
	begin := f.lines[line-1]
	end := len(f.src)
	if line < len(f.lines) {
		end = f.lines[line] - 1
	}
	end = max(end, e.end)
	original := string(f.src[begin:end])
	from := begin + len(original) - len(strings.TrimLeft(original, " \t"))
	to := from + len(strings.TrimSpace(original))
	mutated := string(f.src[begin:e.start]) + e.with + string(f.src[e.end:end])
	last := sort.SearchInts(f.lines, to)
	return &mutant{f: f, edit: e, Mutant: hollowtest.Mutant{
		File: f.path, Line: line, Column: from - begin + 1, EndLine: last, EndCol: to - f.lines[last-1] + 1,
		Operator: string(e.op), Original: strings.TrimSpace(original), Mutated: strings.TrimSpace(mutated),
	}}
}

// syntax throws out what is no program, and says what cannot be checked.
func (r *run) syntax(ctx context.Context, byLanguage map[hollowtest.Language][]*mutant) error {
	for _, language := range sortedKeys(byLanguage) {
		var mutants []*mutant
		for _, m := range byLanguage[language] {
			if m.skip == "" {
				mutants = append(mutants, m)
			}
		}
		if len(mutants) == 0 {
			continue
		}
		states, err := r.check(ctx, language, mutants)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		for i, m := range mutants {
			switch {
			case err != nil:
				m.settle(hollowtest.Undetermined, fmt.Sprintf("unsupported: %s is not mutated without a syntax check here (%v)", language, err))
				r.files[m.File].Reason = m.Reason
			case states == nil || states[i] == "ok":
			case states[i] == "invalid":
				m.settle(hollowtest.Invalid, "it is no program")
			default:
				m.settle(hollowtest.Undetermined, "unsupported: no parser here reads the file as it is")
				r.files[m.File].Reason = m.Reason
			}
		}
	}
	return nil
}

func (m *mutant) settle(s hollowtest.Status, reason string) {
	m.Status, m.Reason, m.decided = s, reason, true
}

// pick leaves out what the limits have no room for, and returns the others in the order in which they are tried: files
// take turns, and within a file lines do, so that a limit starves none of them silently.
func (r *run) pick() []*mutant {
	perLine := r.e.PerLine
	if perLine <= 0 {
		perLine = defaultPerLine
	}
	lines := make(map[string][]*mutant)
	files := make(map[string][]*mutant)
	for _, m := range r.mutants {
		if m.skip == "" && !m.decided {
			key := fmt.Sprintf("%s\x00%d", m.File, m.Line)
			lines[key] = append(lines[key], m)
		}
	}
	turn := make(map[*mutant]int)
	for _, key := range sortedKeys(lines) {
		list := lines[key]
		sort.SliceStable(list, func(i, j int) bool { return severity[list[i].edit.op] < severity[list[j].edit.op] })
		for i, m := range list {
			turn[m] = i
			if i >= perLine {
				m.skip = fmt.Sprintf("more than %d mutants on the line", perLine)
				continue
			}
			files[m.File] = append(files[m.File], m)
		}
	}
	var order []*mutant
	queues := make([][]*mutant, 0, len(files))
	for _, name := range sortedKeys(files) {
		q := files[name]
		sort.SliceStable(q, func(i, j int) bool {
			if turn[q[i]] != turn[q[j]] {
				return turn[q[i]] < turn[q[j]]
			}
			return q[i].Line < q[j].Line
		})
		queues = append(queues, q)
	}
	for len(queues) > 0 {
		var rest [][]*mutant
		for _, q := range queues {
			order = append(order, q[0])
			if len(q) > 1 {
				rest = append(rest, q[1:])
			}
		}
		queues = rest
	}
	if most := r.req.MaxMutants; most > 0 && len(order) > most {
		for _, m := range order[most:] {
			m.Pending, m.decided = true, true
			m.Status, m.Reason = hollowtest.Skipped, reasonMost
		}
		order = order[:most]
	}
	return order
}

// progress counts a mutant as decided.
func (r *run) progress() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done++
	if r.req.Progress != nil {
		r.req.Progress(r.done, r.total)
	}
}

// finish writes the report.
func (r *run) finish(interrupted bool) {
	for _, m := range r.mutants {
		switch {
		case m.skip != "":
			m.Status, m.Reason = hollowtest.Skipped, m.skip
		case !m.decided:
			m.Status, m.Pending, m.Reason = hollowtest.Skipped, true, reasonBudget
			if interrupted {
				m.Reason = reasonInterrupted
			} else if r.report.Problem != hollowtest.NoProblem {
				m.Reason = "not tried: " + strings.ReplaceAll(string(r.report.Problem), "_", " ")
			}
		case m.Status == hollowtest.Survived:
			m.Hint = hint(m.edit.op, len(m.Tests) > 0)
		}
		r.report.Mutants = append(r.report.Mutants, m.Mutant)
	}
	for _, name := range sortedKeys(r.files) {
		r.report.Files = append(r.report.Files, *r.files[name])
	}
	slices.SortStableFunc(r.report.Mutants, func(a, b hollowtest.Mutant) int {
		if c := strings.Compare(a.File, b.File); c != 0 {
			return c
		}
		return a.Line - b.Line
	})
	slices.Sort(r.report.Flaky)
	r.report.Conclude()
}

// hint says which assertion is missing. Only where tests were recorded is it known that they run the place.
func hint(op Operator, reached bool) string {
	switch op {
	case Boundary:
		return "no test checks what happens when both sides are equal"
	case Negation, LogicalSwap, RemoveNot, Membership, NegateCondition, BoolLiteral:
		return "no test checks both outcomes of the condition"
	case ReturnZero:
		return "no test checks the returned value"
	}
	switch {
	case !reached:
		return "no test runs it, or none checks what comes of it"
	case op == RemoveCall || op == RemoveAssign:
		return "the tests run it, and nothing they check depends on its effect"
	}
	return "the tests run it, and none checks what comes of it"
}

func sortedKeys[K ~string, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
