package tokens

import (
	"regexp"
	"strings"

	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest"
)

// statement returns the edits that take a whole line: a statement that stands alone on it, a condition, a returned
// value. What spans lines is left to the tokens.
func (f *source) statement(line int) []edit {
	first, last := f.tokensOf(line)
	if first < 0 || !f.balanced(first, last) || f.declares(line) {
		return nil
	}
	all := f.condition(first, last)
	if !f.startsStatement(first) || !f.endsStatement(last) {
		return all
	}
	t := f.tokens
	terminated := t[last].s == ";"
	end := last
	if terminated {
		end--
	}
	if end < first {
		return all
	}
	switch {
	case t[first].s == "return":
		return append(all, f.returned(first, end)...)
	case f.language == hollowtest.Rust && !terminated, t[first].kind != word, keywords[t[first].s], reserved[t[first].s]:
		return all
	}
	op, ok := f.removable(first, end)
	if !ok {
		return all
	}
	with := map[hollowtest.Language]string{hollowtest.Python: "pass", hollowtest.Ruby: "nil", hollowtest.Rust: "()"}[f.language]
	stop := t[end].end
	if !terminated && with == "" {
		with = ";"
	}
	return append(all, edit{op, t[first].start, stop, with})
}

// reserved are words that begin a statement which cannot simply go.
var reserved = map[string]bool{
	"def": true, "class": true, "for": true, "try": true, "catch": true, "except": true, "finally": true, "with": true, "switch": true, "async": true,
	"pass": true, "break": true, "continue": true, "end": true, "begin": true, "rescue": true, "ensure": true, "loop": true, "fn": true, "pub": true,
	"struct": true, "enum": true, "impl": true, "use": true, "mod": true, "super": true, "this": false, "global": true, "nonlocal": true, "require": true,
	"goto": true, "public": true, "private": true, "protected": true, "final": true, "interface": true, "type": true, "declare": true, "unsafe": true,
	"module": true, "include": true, "extend": true, "package": true, "synchronized": true, "next": true, "redo": true, "describe": true, "it": true,
}

// tokensOf returns the first and last token of a line, -1 when it has none or a token spans lines.
func (f *source) tokensOf(line int) (first, last int) {
	first, last = -1, -1
	lo, hi := 0, len(f.tokens)
	for lo < hi { // the first token of the line
		mid := (lo + hi) / 2
		if f.tokens[mid].line < line {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	for i := lo; i < len(f.tokens) && f.tokens[i].line == line; i++ {
		if first < 0 {
			first = i
		}
		last = i
	}
	if first < 0 || f.tokens[last].endLine != line || first > 0 && f.tokens[first-1].endLine == line {
		return -1, -1
	}
	return first, last
}

func (f *source) balanced(first, last int) bool {
	depth := 0
	for i := first; i <= last; i++ {
		switch f.tokens[i].s {
		case "(", "[":
			depth++
		case ")", "]":
			depth--
		}
		if depth < 0 {
			return false
		}
	}
	return depth == 0
}

// startsStatement reports whether the statement before is over where the token begins.
func (f *source) startsStatement(i int) bool {
	p := f.prev(i)
	switch f.language {
	case hollowtest.Python, hollowtest.Ruby:
		return f.depth(i) == 0 && (i == 0 || ends(p) || p.s == ":" || p.s == ";" || p.kind == word || p.s == "|")
	default:
		return p.s == ";" || p.s == "{" || p.s == "}" || (f.language == hollowtest.JavaScript || f.language == hollowtest.TypeScript) && p.s == ")" && f.prevIsCall(i)
	}
}

// prevIsCall reports whether the line before is a statement by itself, in code that goes without semicolons.
func (f *source) prevIsCall(i int) bool {
	first, last := f.tokensOf(f.tokens[i-1].line)
	return first >= 0 && f.balanced(first, last) && f.tokens[first].kind == word && !reserved[f.tokens[first].s] && f.tokens[first].s != "if" &&
		f.tokens[first].s != "while" && f.tokens[first].s != "else" && f.tokens[first].s != "for"
}

// endsStatement reports whether nothing of the next line belongs to what ends with the token.
func (f *source) endsStatement(i int) bool {
	t, n := f.tokens[i], f.next(i)
	switch f.language {
	case hollowtest.Java, hollowtest.Rust:
		return t.s == ";" || f.language == hollowtest.Rust && n.s == "}" && t.s != "{"
	case hollowtest.Python, hollowtest.Ruby:
		return f.depth(i+1) == 0 && t.s != "\\" && t.s != ":" && (ends(t) || t.s == ";") && n.s != "."
	default:
		if t.s == ";" {
			return true
		}
		return ends(t) && (n.kind == word && n.s != "in" && n.s != "instanceof" || n.s == "}" || n.start == len(f.src))
	}
}

// depth is how many brackets are open before a token.
func (f *source) depth(i int) int {
	depth := 0
	for k := 0; k < i && k < len(f.tokens); k++ {
		switch f.tokens[k].s {
		case "(", "[", "{":
			depth++
		case ")", "]", "}":
			depth--
		}
	}
	if f.language == hollowtest.Ruby && depth > 0 {
		return 0 // blocks have braces there
	}
	return depth
}

// removable tells statements that call, and assignments to what exists already.
func (f *source) removable(first, end int) (Operator, bool) {
	depth := 0
	for i := first; i <= end; i++ {
		t := f.tokens[i]
		switch t.s {
		case "(", "[", "{":
			depth++
		case ")", "]", "}":
			depth--
		case "=", "+=", "-=", "*=", "/=", "||=", "&&=", "??=":
			if depth == 0 {
				// A plain name may be declared by it.
				return RemoveAssign, i > first+1 || t.s != "=" && f.language != hollowtest.Ruby
			}
		case "=>", "?", "{}", "do", "if", "unless", "and", "or", "&&", "||", "while", "rescue", "yield", "await", "function", "new":
			if depth == 0 && t.s != "await" {
				return "", false
			}
		case ":", "==", "!=", "<", ">":
			if depth == 0 && f.language == hollowtest.Python || depth == 0 && t.s == ":" {
				return "", false
			}
		}
	}
	last := f.tokens[end]
	if last.s != ")" {
		return "", false
	}
	// A name, a chain of names and brackets, then a call.
	t := f.tokens[first+1]
	return RemoveCall, first < end && (t.s == "." || t.s == "(" || t.s == "?." || t.s == "::" || t.s == "[")
}

var plainValue = regexp.MustCompile(`^(?:true|false|True|False|None|null|undefined|nil|self|this|-?\d+|""|''|\[\]|\{\})$`)

// returned empties a return of its value.
func (f *source) returned(first, end int) []edit {
	if first == end {
		return nil
	}
	if f.language == hollowtest.Ruby {
		for i := first; i <= end; i++ {
			if s := f.tokens[i].s; s == "if" || s == "unless" {
				return nil // the value ends before its condition
			}
		}
	}
	from, to := f.tokens[first+1].start, f.tokens[end].end
	value := strings.TrimSpace(string(f.src[from:to]))
	if plainValue.MatchString(value) {
		return nil
	}
	switch f.language {
	case hollowtest.Python:
		return []edit{{ReturnZero, from, to, "None"}}
	case hollowtest.Ruby:
		return []edit{{ReturnZero, from, to, "nil"}}
	case hollowtest.JavaScript:
		return []edit{{ReturnZero, from, to, "undefined"}}
	case hollowtest.TypeScript:
		return []edit{{ReturnZero, from, to, "undefined as any"}}
	default:
		return nil // no value fits every type
	}
}

// decided matches conditions that a token's mutant turns round already.
var decided = map[string]bool{
	"==": true, "!=": true, "===": true, "!==": true, "<": true, ">": true, "<=": true, ">=": true, "!": true, "not": true, "in": true, "is": true,
	"&&": true, "||": true, "and": true, "or": true, "true": true, "True": true, "let": true, ":=": true, "=": true,
}

// condition turns a condition round that has no operator of its own to turn.
func (f *source) condition(first, last int) []edit {
	i := first
	for i <= last && (f.tokens[i].s == "}" || f.tokens[i].s == "else") {
		i++
	}
	if i > last {
		return nil
	}
	switch f.tokens[i].s {
	case "if", "elif", "elsif":
	default:
		return nil
	}
	from := i + 1
	var to int
	switch f.language {
	case hollowtest.Python:
		to = f.closing(i, last, ":")
	case hollowtest.Rust:
		to = f.closing(i, last, "{")
	case hollowtest.Ruby:
		if to = last + 1; f.tokens[last].s == "then" {
			to = last
		}
	default:
		if i+1 > last || f.tokens[i+1].s != "(" {
			return nil
		}
		from, to = i+2, f.match(i+1, last)
	}
	if to <= from || to < 0 {
		return nil
	}
	for k := from; k < to; k++ {
		if decided[f.tokens[k].s] {
			return nil
		}
	}
	a, b := f.tokens[from].start, f.tokens[to-1].end
	not := "!("
	if f.language == hollowtest.Python {
		not = "not ("
	}
	return []edit{{NegateCondition, a, b, not + string(f.src[a:b]) + ")"}}
}

// closing is the first such sign outside of brackets, -1 when there is none.
func (f *source) closing(i, last int, s string) int {
	depth := 0
	for k := i; k <= last; k++ {
		t := f.tokens[k].s
		if depth == 0 && t == s {
			return k
		}
		switch t {
		case "(", "[", "{":
			depth++
		case ")", "]", "}":
			depth--
		}
	}
	return -1
}

// match is the bracket that closes the one at i, -1 when it is not on the line.
func (f *source) match(i, last int) int {
	depth := 0
	for k := i; k <= last; k++ {
		switch f.tokens[k].s {
		case "(":
			depth++
		case ")":
			if depth--; depth == 0 {
				return k
			}
		}
	}
	return -1
}
