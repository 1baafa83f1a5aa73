package tokens

import (
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest"
)

// edits lists the mutants of a file's lines that hold no comment "base", as "operator: mutated line".
func edits(t *testing.T, name, src string) []string {
	t.Helper()
	language := languages[name[strings.LastIndexByte(name, '.'):]]
	f, err := lex(name, language, []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	changed := map[int]bool{}
	for i := range f.lines {
		changed[i+1] = true
	}
	all := f.generate(changed)
	sort.SliceStable(all, func(i, j int) bool { return all[i].start < all[j].start })
	var out []string
	for _, e := range all {
		m := f.mutant(e)
		out = append(out, m.Operator+": "+m.Mutated)
	}
	return out
}

func TestMutantsOfTokens(t *testing.T) {
	for _, c := range []struct {
		name, file, src string
		want            []string
	}{
		{"comparison", "a.js", "const x = a < b;\n", []string{"comparison_boundary: const x = a <= b;", "comparison_negation: const x = a >= b;"}},
		{"equality", "a.js", "const x = a === b;\n", []string{"comparison_negation: const x = a !== b;"}},
		{"logic", "a.ts", "const x = a && !b;\n", []string{"logical_swap: const x = a || !b;", "remove_not: const x = a && b;"}},
		{"arithmetic", "a.js", "const x = a - b * 2;\n", []string{"arithmetic: const x = a + b * 2;", "arithmetic: const x = a - b / 2;", "literal_int: const x = a - b * 3;"}},
		{"texts are not joined otherwise", "a.js", "const x = 'a' + b + c;\n", nil},
		{"strings and comments", "a.js", "const x = 'a < b && c'; // d < e && true\n/* f > g */ const y = `a < b ${c < d}`;\n", []string{
			"comparison_boundary: /* f > g */ const y = `a < b ${c <= d}`;", "comparison_negation: /* f > g */ const y = `a < b ${c >= d}`;",
		}},
		{"regular expressions", "a.js", "const x = /a<b|c>d/.test(s);\n", nil},
		{"sign of a number", "a.js", "const x = -y;\n", nil},
		{"members and keys", "a.js", "const x = { true: y.false };\n", nil},
		{"imports", "a.js", "import * as x from 'y';\nexport * from 'z';\nexport { a as b } from 'c';\n", nil},
		{"generator", "a.js", "function* g() {\n  yield* h();\n}\n", nil},
		{"arrow", "a.js", "const f = (a) => a;\n", nil},
		{"types", "a.ts", "const p: Promise<unknown> = f<string>(q);\nlet m: Map<string, Array<number>>;\nfunction g<T extends U>(x: T): x is T { return h(x); }\n", []string{
			// A one-line body is no statement of its own; nothing is compared.
		}},
		{"type declarations", "a.ts", "type A = 1 | 2;\ninterface B { c: number }\nexport type D<T> = T extends E ? true : false;\n", nil},
		{"comparison in typescript", "a.ts", "const x = a < b;\n", []string{"comparison_boundary: const x = a <= b;", "comparison_negation: const x = a >= b;"}},
		{"tags", "a.jsx", "const e = <div className=\"a\" hidden >\n  <Item key={i} /> text\n</div>;\n", nil},
		{"comparison beside tags", "a.tsx", "const e = n > limit ? <Big n={n} /> : <Small />;\n", []string{
			"comparison_boundary: const e = n >= limit ? <Big n={n} /> : <Small />;", "comparison_negation: const e = n <= limit ? <Big n={n} /> : <Small />;",
		}},
		{"call", "a.js", "function f() {\n  save(x);\n}\n", []string{"remove_call: ;"}},
		{"assignment", "a.js", "function f() {\n  this.n = m;\n}\n", []string{"remove_assignment: ;"}},
		{"declaration stays", "a.js", "let n = m;\n", nil},
		{"return", "a.js", "function f() {\n  return g(x);\n}\n", []string{"return_zero: return undefined;"}},
		{"return over lines", "a.js", "function f() {\n  return {\n    a: b,\n  };\n}\n", nil},
		{"call over lines", "a.js", "function f() {\n  save(x)\n    .then(y);\n}\n", nil},
		{"condition", "a.js", "if (ok(x)) {\n}\n", []string{"negate_condition: if (!(ok(x))) {"}},
		{"condition with an operator", "a.js", "if (a === b) {\n}\n", []string{"comparison_negation: if (a !== b) {"}},
		{"loop", "a.js", "for (;;) {\n  break;\n}\n", []string{"loop_branch: continue;"}},
		{"increment", "a.js", "i++;\n", []string{"increment: i--;"}},
		{"python logic", "a.py", "x = a and not b\n", []string{"logical_swap: x = a or not b", "remove_not: x = a and b"}},
		{"python membership", "a.py", "x = a in b\ny = a not in b\nfor i in c:\n    pass\nz = [i for i in d if i in e]\n", []string{
			"membership: x = a not in b", "membership: y = a in b", "membership: z = [i for i in d if i not in e]",
		}},
		{"python identity", "a.py", "x = a is None\ny = a is not None\n", []string{"comparison_negation: x = a is not None", "comparison_negation: y = a is None"}},
		{"python stars", "a.py", "f(*a, **b)\n", []string{"remove_call: pass"}},
		{"python return", "a.py", "def f():\n    return a\n", []string{"return_zero: return None"}},
		{"python condition", "a.py", "if ok(x):\n    pass\n", []string{"negate_condition: if not (ok(x)):"}},
		{"python strings", "a.py", "x = \"a < b\"  # a < b\n\"\"\"a and b\n1 < 2\"\"\"\n", nil},
		{"python decorator and class", "a.py", "@lru_cache(maxsize=1)\nclass A(B):\n    pass\n", nil},
		{"python arguments over lines", "a.py", "f(\n    a,\n    g(b),\n)\n", nil},
		{"java", "A.java", "class A {\n  boolean f(List<String> a, int b) {\n    return b < 3;\n  }\n}\n", []string{
			"comparison_boundary: return b <= 3;", "comparison_negation: return b >= 3;", "literal_int: return b < 4;",
		}},
		{"java condition", "A.java", "    if (a > b) {\n    } else if (c(d)) {\n    }\n  static int most(int a, int b) {\n", []string{
			"comparison_boundary: if (a >= b) {", "comparison_negation: if (a <= b) {", "negate_condition: } else if (!(c(d))) {",
		}},
		{"rust", "a.rs", "fn f(a: Vec<u8>) -> bool {\n    a.len() > 3\n}\n", []string{
			"comparison_boundary: a.len() >= 3", "comparison_negation: a.len() <= 3", "literal_int: a.len() > 4",
		}},
		{"ruby", "a.rb", "def f(a)\n  return a if a && b\nend\n", []string{"logical_swap: return a if a || b"}},
		{"carriage returns", "a.js", "const x = a < b;\r\nconst y = c;\r\n", []string{"comparison_boundary: const x = a <= b;", "comparison_negation: const x = a >= b;"}},
	} {
		got := edits(t, c.file, c.src)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s:\n got %q\nwant %q", c.name, got, c.want)
		}
	}
}

func TestMutantsSayWhereTheyAre(t *testing.T) {
	src := "const é = 1;\n\tif (a < b) {\n}\n"
	f, err := lex("a.js", hollowtest.JavaScript, []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	all := f.generate(map[int]bool{2: true})
	if len(all) != 2 {
		t.Fatalf("%d mutants", len(all))
	}
	m := f.mutant(all[0])
	if m.Line != 2 || m.Column != 2 || m.EndLine != 2 || m.EndCol != 2+len("if (a < b) {") || m.Original != "if (a < b) {" || m.Mutated != "if (a <= b) {" {
		t.Errorf("%+v", m.Mutant)
	}
	if got := string(m.source()); got != strings.Replace(src, "a < b", "a <= b", 1) {
		t.Errorf("the mutated file is %q", got)
	}
}

func TestAridLines(t *testing.T) {
	for _, c := range []struct {
		file, line, want string
	}{
		{"a.js", "console.log('n', n + 1);", aridLogging},
		{"a.ts", "this.logger.info(n + 1);", aridLogging},
		{"a.py", "logging.info('n %d', n + 1)", aridLogging},
		{"a.py", "print(n + 1)", aridLogging},
		{"A.java", "System.out.println(n + 1);", aridLogging},
		{"a.rs", "info!(\"{}\", n + 1);", aridLogging},
		{"a.rb", "puts n + 1", aridLogging},
		{"a.js", "const timeoutMs = 5000;", aridTuning},
		{"a.py", "BATCH_SIZE = 100", aridTuning},
		{"a.py", "login(n + 1)", ""},
		{"a.js", "const limit = 5000;", ""},
		{"a.js", "catalog.update(n + 1);", ""},
	} {
		f, err := lex(c.file, languages[c.file[strings.LastIndexByte(c.file, '.'):]], []byte(c.line+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		if got := f.arid(1, IntLiteral); got != c.want {
			t.Errorf("%s: %q, want %q", c.line, got, c.want)
		}
	}
}

func TestNoEditCutsACharacterOrAString(t *testing.T) {
	for _, file := range []string{"a.js", "a.jsx", "a.ts", "a.tsx", "a.py", "A.java", "a.rs", "a.rb"} {
		for _, src := range []string{"", "\n", "x", "\"", "'''", "/*", "`${", "a <", "é<ü&&ö", "\x00", "a\r\rb", "<<<<<<< HEAD\n=======\n", "1.5e3+0x1f", "if", "return", "!"} {
			f, err := lex(file, languages[file[strings.LastIndexByte(file, '.'):]], []byte(src))
			if err != nil {
				continue // refused, and said so
			}
			for _, e := range f.generate(map[int]bool{1: true, 2: true, 3: true}) {
				if m := f.mutant(e); len(m.source()) == 0 && src != "" && e.with != "" {
					t.Errorf("%s %q: %+v", file, src, e)
				}
			}
		}
	}
	if _, err := lex("a.js", hollowtest.JavaScript, []byte("\xff")); err == nil {
		t.Error("invalid UTF-8 was read")
	}
}

func FuzzGenerate(f *testing.F) {
	f.Add("a.js", "if (a < b) { return `x${y}`; }\n")
	f.Add("a.py", "if not (a):\n    return [i for i in b if i in c]\n")
	f.Fuzz(func(t *testing.T, name, src string) {
		i := strings.LastIndexByte(name, '.')
		if i < 0 || languages[name[i:]] == "" || len(src) > 1<<12 {
			return
		}
		s, err := lex(name, languages[name[i:]], []byte(src))
		if err != nil {
			return
		}
		changed := map[int]bool{}
		for n := range s.lines {
			changed[n+1] = true
		}
		for _, e := range s.generate(changed) {
			if e.start < 0 || e.end > len(src) || e.start > e.end {
				t.Fatalf("an edit from %d to %d of %d bytes", e.start, e.end, len(src))
			}
			s.mutant(e)
		}
	})
}

func TestHints(t *testing.T) {
	for _, c := range []struct {
		op      Operator
		reached bool
		want    string
	}{
		{Boundary, true, "no test checks what happens when both sides are equal"},
		{LogicalSwap, false, "no test checks both outcomes of the condition"},
		{ReturnZero, true, "no test checks the returned value"},
		{RemoveCall, true, "the tests run it, and nothing they check depends on its effect"},
		{RemoveAssign, true, "the tests run it, and nothing they check depends on its effect"},
		{RemoveCall, false, "no test runs it, or none checks what comes of it"},
		{Arithmetic, true, "the tests run it, and none checks what comes of it"},
		{Arithmetic, false, "no test runs it, or none checks what comes of it"},
	} {
		if got := hint(c.op, c.reached); got != c.want {
			t.Errorf("%s, reached %t: %q", c.op, c.reached, got)
		}
	}
}
