package schemata

import (
	"bytes"
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest"
	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest/process"
)

// TestSwitchedMutantsAreTheMutants holds random programs to the promise of the engine: each mutant, switched on in the
// build that holds all of them, behaves exactly as the same mutant written into the source and compiled alone.
func TestSwitchedMutantsAreTheMutants(t *testing.T) {
	seeds, sample := 2, 25
	if os.Getenv("PROSECUTOR_HOLLOW_LONG") != "" {
		seeds, sample = 3, 1<<20
	}
	total := 0
	for seed := range seeds {
		n := holdProgram(t, uint64(seed), sample)
		t.Logf("seed %d: %d valid mutants compared", seed, n)
		total += n
	}
	t.Logf("%d valid mutants compared", total)
}

// holdProgram compares a sample of the mutants of one program, and returns how many of them are programs by themselves.
func holdProgram(t *testing.T, seed uint64, sample int) int {
	t.Helper()
	program, driver := newProgram(seed)
	dir := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("go.mod", "module ex.com/m\n\ngo 1.22\n")
	put("prog/prog.go", program)
	put("prog/run.go", driver)
	put("cmd/main.go", "package main\n\nimport \"ex.com/m/prog\"\n\nfunc main() { prog.Run() }\n")
	r := &run{root: dir, e: &Engine{}}
	r.req.Exec = process.Plain{}
	ctx := context.Background()
	scratch := t.TempDir()
	if err := r.prepare(ctx, scratch); err != nil {
		t.Fatal(err)
	}
	mod, err := r.tool.loadModule(ctx, dir, ".")
	if err != nil {
		t.Fatal(err)
	}
	list := mod.packages["ex.com/m/prog"]
	export, err := r.tool.exportData(ctx, mod, []*listed{list})
	if err != nil {
		t.Fatal(err)
	}
	p, err := r.tool.load(mod, list, export, dir)
	if err != nil {
		t.Fatalf("seed %d: %v\n%s", seed, err, program)
	}
	var f *file
	for _, x := range p.files {
		if x.path == "prog/prog.go" {
			f = x
		}
	}
	f.lines = map[int]bool{}
	for i, line := range strings.Split(program, "\n") {
		f.lines[i+1] = !strings.Contains(line, "fuel()")
	}
	mutants, sites := generate(f, func(op Operator) bool { return true })
	var most int32
	for _, m := range mutants {
		if m.skip == "" && !m.alone {
			most++
			m.id = most
		}
	}
	ws, err := newWorkspace(r.tool, mod, filepath.Join(scratch, "ws"))
	if err != nil {
		t.Fatal(err)
	}
	ws.packages, ws.sites = []*pkg{p}, map[*file][]*site{f: sites}
	if err := ws.render(); err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	if err := ws.writeRuntime(most); err != nil {
		t.Fatal(err)
	}
	switched := buildMain(t, ws, dir, filepath.Join(scratch, "switched"))

	// The same mutants one by one, each a package of its own in one program.
	alone := t.TempDir()
	dir = alone
	put("go.mod", "module ex.com/m\n\ngo 1.22\n")
	entries, err := switchFiles.ReadDir("switches")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		data, err := switchFiles.ReadFile("switches/" + e.Name())
		if err != nil {
			t.Fatal(err)
		}
		put("zzhollow/"+e.Name(), string(data))
	}
	main := "package main\n\nimport (\n\t\"os\"\n"
	cases := ""
	valid := []*mutant{}
	tried := 0
	for _, i := range rand.New(rand.NewPCG(seed, 3)).Perm(len(mutants)) {
		m := mutants[i]
		if m.id == 0 || tried >= sample {
			continue
		}
		tried++
		text, _ := apply(m, "ex.com/m/zzhollow")
		if err := compiles(p, text, driver); err != nil {
			if os.Getenv("PROSECUTOR_HOLLOW_DEBUG") != "" {
				t.Logf("%s %q -> %q: %v", m.op, m.original(), m.mutated(), err)
			}
			continue
		}
		valid = append(valid, m)
		put(fmt.Sprintf("m%d/prog.go", m.id), text)
		put(fmt.Sprintf("m%d/run.go", m.id), driver)
		main += fmt.Sprintf("\tm%d \"ex.com/m/m%d\"\n", m.id, m.id)
		cases += fmt.Sprintf("\tcase \"%d\":\n\t\tm%d.Run()\n", m.id, m.id)
	}
	put("cmd/main.go", main+")\n\nfunc main() {\n\tswitch os.Args[1] {\n"+cases+"\t}\n}\n")
	plain, err := newWorkspace(r.tool, &module{dir: alone, env: mod.env, path: "ex.com/m"}, filepath.Join(scratch, "plain"))
	if err != nil {
		t.Fatal(err)
	}
	single := buildMain(t, plain, alone, filepath.Join(scratch, "single"))
	different := 0
	original := runMain(t, switched)
	for _, m := range valid {
		link := fmt.Sprintf("%s.zz-%d-%d-%d", switched, m.id, 1<<40, 1<<40)
		if err := os.Link(switched, link); err != nil {
			t.Fatal(err)
		}
		got, want := runMain(t, link), runMain(t, single, strconv.Itoa(int(m.id)))
		if got != want {
			t.Errorf("seed %d, line %d: %s %q -> %q in\n%s\nswitched:\n%s\nalone:\n%s", seed, m.line, m.op, m.original(), m.mutated(),
				strings.Split(program, "\n")[m.line-1], firstDifference(got, want), firstDifference(want, got))
		}
		if want != original {
			different++
		}
	}
	// A generator of programs that nothing can change would prove nothing.
	if different < len(valid)/4 {
		t.Errorf("seed %d: only %d of %d mutants change the output", seed, different, len(valid))
	}
	if len(valid) < tried/2 {
		t.Errorf("seed %d: only %d of %d mutants are valid", seed, len(valid), tried)
	}
	return len(valid)
}

func firstDifference(a, b string) string {
	la, lb := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range la {
		if i >= len(lb) || la[i] != lb[i] {
			return strings.Join(la[i:min(len(la), i+4)], "\n")
		}
	}
	return "(a prefix)"
}

func buildMain(t *testing.T, ws *workspace, dir, out string) string {
	t.Helper()
	args := []string{"build", "-o", out}
	if len(ws.overlay) > 0 {
		var b bytes.Buffer
		b.WriteString(`{"Replace":{`)
		first := true
		for from, to := range ws.overlay {
			if !first {
				b.WriteByte(',')
			}
			first = false
			fmt.Fprintf(&b, "%q:%q", from, to)
		}
		b.WriteString("}}")
		name := out + ".json"
		if err := os.WriteFile(name, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, "-overlay="+name)
	}
	if _, err := ws.tool.run(context.Background(), dir, ws.mod.env, append(args, "./cmd")...); err != nil {
		t.Fatal(err)
	}
	return out
}

func runMain(t *testing.T, argv ...string) string {
	t.Helper()
	res, err := process.Plain{}.Run(context.Background(), hollowtest.Command{Argv: argv, Dir: t.TempDir(), Env: os.Environ(), Wall: time.Minute, Memory: 512 << 20, Output: 1 << 20})
	if err == nil && (res.TimedOut || res.OutMemory) {
		return "it grows without bound"
	}
	if err != nil || res.Exit == nil {
		t.Fatalf("running %s: %+v, %v", argv[0], res, err)
	}
	return fmt.Sprintf("%s\nexit %d", res.Output, *res.Exit)
}

// compiles type-checks a mutated file beside the driver.
func compiles(p *pkg, text, driver string) error {
	fset := token.NewFileSet()
	var files []*ast.File
	for _, src := range []string{text, driver} {
		f, err := parser.ParseFile(fset, "x.go", src, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files = append(files, f)
	}
	look := newExports(fset, p.lookup.files, nil)
	runtime, err := checkRuntime(fset, look, "ex.com/m/zzhollow")
	if err != nil {
		return err
	}
	config := types.Config{Importer: withRuntime{look.imp, "ex.com/m/zzhollow", runtime}, GoVersion: "go1.22"}
	_, err = config.Check("prog", fset, files, nil)
	return err
}

// programmer writes random programs that always end: every loop burns fuel.
type programmer struct {
	r     *rand.Rand
	b     strings.Builder
	depth int
	vars  []map[string][]string // names by type, one map per scope
	n     int
	loops int
	funcs []string // result types of the functions so far, all of (int, string, []int, bool)
	ret   string
}

// newProgram returns a package of random functions and a driver that calls them and prints what they return.
func newProgram(seed uint64) (program, driver string) {
	g := &programmer{r: rand.New(rand.NewPCG(seed, 17))}
	g.b.WriteString(`package prog

import (
	"errors"
	"strings"
)

type Flag bool

type Num int

type Pair struct {
	A, B int
	S    string
}

type number interface{ ~int | ~int8 | ~float64 }

var errOdd = errors.New("odd")

var table = map[string]int{"a": 1, "b": 2 + 3}

var list = []int{3, 1, 2}

var start = len("ab") + 1

func generic[T number](a, b T, c bool) T {
	if a > b && c {
		return a + b*2
	}
	if c || a == b {
		return -b
	}
	a -= b
	return a
}

func note(log *[]int, n int) int {
	*log = append(*log, n)
	return n
}

func order(a, b int) (log []int) {
	if note(&log, a) > 1 && note(&log, b) < 3 || note(&log, a+b) == 2 {
		note(&log, 100)
	}
	log = append(log, note(&log, a)-note(&log, b))
	return log
}

func named(n int) (v int, err error) {
	defer func() {
		if p := recover(); p != nil {
			v, err = -1, errors.New("recovered")
		}
	}()
	defer note(&list, n)
	if n%2 == 1 {
		return n, errOdd
	}
	v = 12 / (n - 2)
	return v, nil
}

func check(n int) (s string, err error) {
	v, err := named(n)
	if err != nil {
		return "", err
	}
	if err := pure(v); err == nil {
		return "fine", nil
	}
	switch v {
	case 1, 2:
		s = "low"
	case 3:
		s += "three"
		fallthrough
	case 4:
		s += "four"
	default:
		s = strings.Repeat("x", v&3)
	}
	return s + "!", nil
}

func pure(n int) error {
	if Num(n) >= 6 {
		return errOdd
	}
	return nil
}

func (f Flag) and(g Flag, n int) Flag { return f && g || n > 2 }

func flags(a, b bool, n int) (Flag, any) {
	f, g := Flag(a), Flag(n < 3)
	var x any = a && b
	if !f.and(g, n) {
		return f || !g, x
	}
	return !f && Flag(b), n == 1
}

func bits(a uint8, n uint) (uint8, int, float64) {
	a ^= 3
	a <<= n & 3
	v := 1<<n | int(a&^5)
	w := 1.5 * float64(v)
	w /= 2
	return a>>1 ^ 7, v, w
}

func pairs(xs []int) (out []Pair) {
	m := map[int]int{}
	for i, x := range xs {
		m[x%3] += i
		m[x%2]++
		out = append(out, Pair{A: x + i, B: m[x%3], S: "p"})
		out[i].A++
		out[len(out)-1].B *= 2
	}
outer:
	for i := 0; i < len(out); i++ {
		fuel()
		for j := range out[i:] {
			if out[j].A > 5 {
				continue outer
			}
			if out[j].B == 3 {
				break outer
			}
			out[i].S += string(rune('a' + j))
		}
	}
	return out[:len(out)-len(out)/2]
}

func kind(v any) string {
	switch v := v.(type) {
	case int:
		if v > 0 {
			return "int"
		}
	case string:
		return v + "s"
	case nil:
		return "nil"
	}
	return "other"
}
`)
	const functions = 4
	for i := range functions {
		g.function(i)
	}
	var d strings.Builder
	d.WriteString(`package prog

import "fmt"

var left int

func fuel() int {
	if left--; left < 0 {
		panic("out of fuel")
	}
	return left
}

// cut ends what grows without bound.
func cut(s string) string {
	if len(s) > 1000 {
		panic("too long")
	}
	return s
}

func try(name string, f func() []any) {
	left = 300
	defer func() {
		if p := recover(); p != nil {
			fmt.Println(name, "panics", p)
		}
	}()
	fmt.Println(append([]any{name}, f()...)...)
}

// Run calls every function with some arguments.
func Run() {
	fmt.Println(start, table, list)
	for _, n := range []int{-3, -1, 0, 1, 2, 3, 4, 5, 8} {
		try("generic", func() []any { return []any{generic(n, 2, n > 0), generic(float64(n), 0.5, n < 0)} })
		try("order", func() []any { return []any{order(n, 2), order(2, n)} })
		try("named", func() []any { v, err := named(n); return []any{v, err} })
		try("check", func() []any { v, err := check(n); return []any{v, err} })
		try("flags", func() []any { a, b := flags(n > 0, n%2 == 0, n); return []any{a, b} })
		try("bits", func() []any { a, b, c := bits(uint8(n), uint(n&7)); return []any{a, b, c} })
		try("pairs", func() []any { return []any{pairs([]int{n, 2, 3, n * n}), list} })
		try("kind", func() []any { return []any{kind(n), kind("k"), kind(nil), kind(1.5)} })
		for _, s := range []string{"", "a", "zz"} {
			for _, c := range []bool{false, true} {
`)
	for i := range functions {
		fmt.Fprintf(&d, "\t\t\t\ttry(\"F%d\", func() []any { return []any{F%d(n, s, []int{n, 1, 4}, c)} })\n", i, i)
	}
	d.WriteString("\t\t\t}\n\t\t}\n\t}\n}\n")
	return g.b.String(), d.String()
}

func (g *programmer) pick(choices ...string) string { return choices[g.r.IntN(len(choices))] }

func (g *programmer) line(format string, args ...any) {
	g.b.WriteString(strings.Repeat("\t", g.depth))
	fmt.Fprintf(&g.b, format, args...)
	g.b.WriteByte('\n')
}

func (g *programmer) name(typ string) string {
	var all []string
	for _, scope := range g.vars {
		all = append(all, scope[typ]...)
	}
	return all[g.r.IntN(len(all))]
}

func (g *programmer) function(i int) {
	g.ret = g.pick("int", "string", "[]int", "bool")
	g.b.WriteByte('\n')
	g.line("func F%d(n int, s string, xs []int, ok bool) %s {", i, g.ret)
	g.depth++
	g.vars = []map[string][]string{{"int": {"n"}, "string": {"s"}, "[]int": {"xs"}, "bool": {"ok"}}}
	g.block(5)
	g.line("return %s", g.expr(g.ret, 2))
	g.depth--
	g.line("}")
	g.funcs = append(g.funcs, g.ret)
}

func (g *programmer) block(n int) {
	g.vars = append(g.vars, map[string][]string{})
	for range n {
		g.statement()
	}
	g.vars = g.vars[:len(g.vars)-1]
}

func (g *programmer) statement() {
	small := g.depth > 4
	switch k := g.r.IntN(12); {
	case k < 2:
		typ := g.pick("int", "string", "[]int", "bool")
		g.n++
		name := "v" + strconv.Itoa(g.n)
		g.line("%s := %s", name, g.expr(typ, 2))
		g.line("_ = %s", name)
		g.vars[len(g.vars)-1][typ] = append(g.vars[len(g.vars)-1][typ], name)
	case k < 4:
		typ := g.pick("int", "string", "[]int", "bool")
		g.line("%s = %s", g.name(typ), g.expr(typ, 2))
	case k == 4:
		g.line("%s %s %s", g.name("int"), g.pick("+=", "-=", "*=", "|=", "&=", "^="), g.expr("int", 1))
	case k == 5:
		g.line("%s%s", g.name("int"), g.pick("++", "--"))
	case k == 6:
		name := g.name("string")
		g.line("%s += %s", name, g.expr("string", 1))
		g.line("_, _ = cut(%s), fuel()", name)
	case small:
		g.line("%s = append(%s, %s)", "xs", "xs", g.expr("int", 1))
	case k == 7:
		g.line("if %s {", g.expr("bool", 2))
		g.inside(2)
		if g.r.IntN(3) == 0 {
			g.line("return %s", g.indented(g.expr(g.ret, 1)))
		}
		if g.r.IntN(2) == 0 {
			g.line("} else {")
			g.inside(1)
		}
		g.line("}")
	case k == 8:
		g.n++
		v := "i" + strconv.Itoa(g.n)
		g.line("for %s := %s; %s < %s; %s++ {", v, g.pick("0", "1", "n"), v, g.pick("3", "len(xs)", "n+2"), v)
		g.loop(v)
	case k == 9:
		g.n++
		v := "x" + strconv.Itoa(g.n)
		g.line("for _, %s := range %s {", v, g.expr("[]int", 1))
		g.loop(v)
	case k == 10:
		g.line("switch {")
		for range 2 {
			g.line("case %s:", g.expr("bool", 1))
			g.inside(1)
		}
		g.line("}")
	default:
		g.line("switch %s {", g.expr("int", 1))
		g.line("case 0:")
		g.inside(1)
		g.line("case 1, 4:")
		g.inside(1)
		g.line("default:")
		g.inside(1)
		g.line("}")
	}
}

func (g *programmer) indented(s string) string { return s }

func (g *programmer) inside(n int) {
	g.depth++
	g.block(n)
	g.depth--
}

func (g *programmer) loop(v string) {
	g.depth++
	g.loops++
	g.line("fuel()")
	g.vars = append(g.vars, map[string][]string{"int": {v}})
	g.block(2)
	g.vars = g.vars[:len(g.vars)-1]
	if g.r.IntN(2) == 0 {
		g.line("if %s {", g.expr("bool", 1))
		g.depth++
		g.line("%s", g.pick("break", "continue"))
		g.depth--
		g.line("}")
	}
	g.line("_ = %s", v)
	g.loops--
	g.depth--
	g.line("}")
}

func (g *programmer) expr(typ string, depth int) string {
	if depth == 0 || g.r.IntN(5) == 0 {
		switch typ {
		case "int":
			return g.pick(g.name("int"), strconv.Itoa(g.r.IntN(5)), "len("+g.name("string")+")", "len("+g.name("[]int")+")")
		case "string":
			return g.pick(g.name("string"), `"a"`, `""`, `"zz"`)
		case "[]int":
			return g.pick(g.name("[]int"), "[]int{1, 2}", "[]int{"+g.name("int")+"}", "[]int(nil)")
		default:
			return g.pick(g.name("bool"), "true", "false")
		}
	}
	d := depth - 1
	for i := len(g.funcs) - 1; i >= 0 && g.r.IntN(8) == 0; i-- {
		if g.funcs[i] == typ {
			return fmt.Sprintf("F%d(%s, %s, %s, %s)", i, g.expr("int", d), g.expr("string", d), g.name("[]int"), g.expr("bool", d))
		}
	}
	switch typ {
	case "int":
		switch g.r.IntN(6) {
		case 0:
			return fmt.Sprintf("(%s %s %s)", g.expr("int", d), g.pick("/", "%"), g.expr("int", d))
		case 1:
			return fmt.Sprintf("%s(%s)", g.pick("-", "^", ""), g.name("int"))
		case 2:
			return fmt.Sprintf("%s[%s&1]", g.name("[]int"), g.name("int"))
		case 3:
			return fmt.Sprintf("(%s %s %s %s %s)", g.name("int"), g.pick("+", "-", "*", "|"), g.expr("int", d), g.pick("&", "|", "^", "&^"), g.expr("int", d))
		}
		return fmt.Sprintf("(%s %s %s)", g.name("int"), g.pick("+", "-", "*"), g.expr("int", d))
	case "string":
		switch g.r.IntN(3) {
		case 0:
			return fmt.Sprintf("%s[:len(%s)/2]", g.name("string"), g.name("string"))
		case 1:
			return fmt.Sprintf("strings.Replace(%s, %s, %s, 1)", g.name("string"), `"a"`, g.expr("string", d))
		}
		return fmt.Sprintf("cut(%s + %s)", g.expr("string", d), g.expr("string", d))
	case "[]int":
		switch g.r.IntN(3) {
		case 0:
			return fmt.Sprintf("append([]int{%s}, %s...)", g.expr("int", d), g.name("[]int"))
		case 1:
			return fmt.Sprintf("[]int{%s, %s}", g.expr("int", d), g.expr("int", d))
		}
		return fmt.Sprintf("%s[%s&1:]", g.name("[]int"), g.name("int"))
	default:
		switch g.r.IntN(6) {
		case 0, 1:
			return fmt.Sprintf("%s %s %s", g.name("int"), g.pick("<", "<=", ">", ">=", "==", "!="), g.expr("int", d))
		case 2:
			return fmt.Sprintf("(%s %s %s %s %s)", g.expr("bool", d), g.pick("&&", "||"), g.expr("bool", d), g.pick("&&", "||"), g.expr("bool", d))
		case 3:
			return fmt.Sprintf("(%s || %s)", g.expr("bool", d), g.expr("bool", d))
		case 4:
			return fmt.Sprintf("!(%s)", g.name("bool"))
		}
		return fmt.Sprintf("%s %s %s", g.name("string"), g.pick("==", "!=", "<", ">="), g.expr("string", d))
	}
}
