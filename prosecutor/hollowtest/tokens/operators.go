package tokens

import (
	"regexp"
	"strconv"

	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest"
)

// Operator is a kind of mutant, as reports and the policy's accepted mutants name it. Where the engine for Go has the same
// kind, it has the same name.
type Operator string

// The operators.
const (
	Boundary        Operator = "comparison_boundary" // < becomes <=
	Negation        Operator = "comparison_negation" // < becomes >=, == becomes !=
	NegateCondition Operator = "negate_condition"    // if (x) becomes if (!(x))
	LogicalSwap     Operator = "logical_swap"        // && becomes ||
	RemoveNot       Operator = "remove_not"          // !x becomes x
	Membership      Operator = "membership"          // in becomes not in
	Arithmetic      Operator = "arithmetic"          // + becomes -
	AssignOp        Operator = "assign_op"           // += becomes -=
	IncDec          Operator = "increment"           // ++ becomes --
	BoolLiteral     Operator = "literal_bool"        // true becomes false
	IntLiteral      Operator = "literal_int"         // 3 becomes 4
	ReturnZero      Operator = "return_zero"         // return x becomes return
	RemoveCall      Operator = "remove_call"         // a statement that calls goes
	RemoveAssign    Operator = "remove_assignment"   // a statement that assigns to what exists goes
	LoopBranch      Operator = "loop_branch"         // break becomes continue
)

// severity orders the mutants of a line: what removes behaviour comes before what shifts it.
var severity = map[Operator]int{
	RemoveCall: 0, RemoveAssign: 1, NegateCondition: 2, ReturnZero: 3, Negation: 4, LogicalSwap: 5, Membership: 6, RemoveNot: 7, Boundary: 8,
	LoopBranch: 9, Arithmetic: 10, AssignOp: 11, IncDec: 12, BoolLiteral: 13, IntLiteral: 14,
}

// edit replaces the bytes from start to end.
type edit struct {
	op         Operator
	start, end int
	with       string
}

// generate returns the edits of the changed lines, in the order of the source.
func (f *source) generate(changed map[int]bool) []edit {
	var all []edit
	for i := range f.tokens {
		if changed[f.tokens[i].line] {
			all = append(all, f.at(i)...)
		}
	}
	for line := range changed {
		all = append(all, f.statement(line)...)
	}
	return all
}

// inverse holds the swaps that need nothing but an operand on both sides.
var inverse = map[string]struct {
	op   Operator
	with string
}{
	"==": {Negation, "!="}, "!=": {Negation, "=="}, "===": {Negation, "!=="}, "!==": {Negation, "==="},
	"&&": {LogicalSwap, "||"}, "||": {LogicalSwap, "&&"},
	"+": {Arithmetic, "-"}, "-": {Arithmetic, "+"}, "*": {Arithmetic, "/"}, "/": {Arithmetic, "*"}, "%": {Arithmetic, "*"},
	"//": {Arithmetic, "*"}, "**": {Arithmetic, "*"},
	"+=": {AssignOp, "-="}, "-=": {AssignOp, "+="}, "*=": {AssignOp, "/="}, "/=": {AssignOp, "*="}, "%=": {AssignOp, "*="}, "//=": {AssignOp, "*="},
}

var comparisons = map[string][2]string{ // boundary, negation
	"<": {"<=", ">="}, "<=": {"<", ">"}, ">": {">=", "<="}, ">=": {">", "<"},
}

// at returns the edits of one token.
func (f *source) at(i int) []edit {
	t := f.tokens[i]
	one := func(op Operator, with string) []edit { return []edit{{op, t.start, t.end, with}} }
	switch t.kind {
	case number:
		if n, err := strconv.ParseInt(t.s, 10, 62); err == nil && (len(t.s) == 1 || t.s[0] != '0') && f.literal(i) {
			return one(IntLiteral, strconv.FormatInt(n+1, 10))
		}
	case word:
		return f.wordAt(i)
	case sign:
		if c, ok := comparisons[t.s]; ok {
			if f.binary(i) && f.comparison(i) {
				return []edit{{Boundary, t.start, t.end, c[0]}, {Negation, t.start, t.end, c[1]}}
			}
			return nil
		}
		if v, ok := inverse[t.s]; ok {
			if !f.binary(i) || v.op == Arithmetic && f.joins(i) || f.declares(t.line) {
				return nil
			}
			return one(v.op, v.with)
		}
		switch {
		case t.s == "!" && f.prefix(i) && (f.language != hollowtest.Rust || f.next(i).s != "["):
			return one(RemoveNot, "")
		case (t.s == "++" || t.s == "--") && f.language != hollowtest.Python && f.language != hollowtest.Rust && f.language != hollowtest.Ruby:
			return one(IncDec, map[string]string{"++": "--", "--": "++"}[t.s])
		}
	}
	return nil
}

// wordAt returns the edits of a keyword.
func (f *source) wordAt(i int) []edit {
	t := f.tokens[i]
	if p := f.prev(i); p.s == "." || p.s == "?." || p.s == "::" || f.next(i).s == ":" && f.language != hollowtest.Python && (p.s == "{" || p.s == ",") {
		return nil // a member or a key
	}
	if f.declares(t.line) {
		return nil
	}
	one := func(op Operator, with string) []edit { return []edit{{op, t.start, t.end, with}} }
	switch t.s {
	case "true":
		if f.language != hollowtest.Python {
			return one(BoolLiteral, "false")
		}
	case "false":
		if f.language != hollowtest.Python {
			return one(BoolLiteral, "true")
		}
	case "break", "continue":
		if f.language != hollowtest.Ruby {
			return one(LoopBranch, map[string]string{"break": "continue", "continue": "break"}[t.s])
		}
	}
	if f.language == hollowtest.Ruby {
		switch t.s {
		case "and":
			return one(LogicalSwap, "or")
		case "or":
			return one(LogicalSwap, "and")
		case "unless":
			return one(NegateCondition, "if")
		}
	}
	if f.language != hollowtest.Python {
		return nil
	}
	switch t.s {
	case "True":
		return one(BoolLiteral, "False")
	case "False":
		return one(BoolLiteral, "True")
	case "and":
		return one(LogicalSwap, "or")
	case "or":
		return one(LogicalSwap, "and")
	case "not":
		if n := f.next(i); n.s == "in" {
			return []edit{{Membership, t.start, n.end, "in"}}
		}
		if f.prev(i).s != "is" {
			return []edit{{RemoveNot, t.start, f.next(i).start, ""}}
		}
	case "in":
		if f.prev(i).s != "not" && !f.loops(i) {
			return one(Membership, "not in")
		}
	case "is":
		if n := f.next(i); n.s == "not" {
			return []edit{{Negation, t.start, n.end, "is"}}
		}
		return one(Negation, "is not")
	}
	return nil
}

func (f *source) prev(i int) token {
	if i > 0 {
		return f.tokens[i-1]
	}
	return token{kind: sign, s: ";"}
}

func (f *source) next(i int) token {
	if i+1 < len(f.tokens) {
		return f.tokens[i+1]
	}
	return token{kind: sign, s: ";", start: len(f.src), end: len(f.src), line: len(f.lines)}
}

// keywords are words that no operand ends with.
var keywords = map[string]bool{
	"return": true, "case": true, "in": true, "of": true, "typeof": true, "instanceof": true, "new": true, "delete": true, "void": true, "throw": true,
	"else": true, "do": true, "await": true, "yield": true, "and": true, "or": true, "not": true, "if": true, "elif": true, "while": true, "is": true,
	"lambda": true, "assert": true, "import": true, "export": true, "from": true, "extends": true, "implements": true, "unless": true, "until": true,
	"when": true, "then": true, "raise": true, "del": true, "print": true, "match": true, "mut": true, "ref": true, "let": true, "const": true, "var": true,
	"function": true, "static": true, "default": true, "as": true,
}

// ends reports whether an operand ends with the token.
func ends(t token) bool {
	switch t.kind {
	case number, text:
		return true
	case word:
		return !keywords[t.s]
	default:
		return t.s == ")" || t.s == "]" || t.s == "}"
	}
}

// prefixes are the signs that an operand may begin with.
var prefixes = map[string]bool{
	"(": true, "[": true, "{": true, "!": true, "-": true, "+": true, "~": true, "&": true, "*": true, "++": true, "--": true, ":": true, "::": true,
}

// begins reports whether an operand begins with the token.
func begins(t token) bool {
	switch t.kind {
	case number, text, word:
		return true
	default:
		return prefixes[t.s]
	}
}

// binary reports whether a sign stands between two operands.
func (f *source) binary(i int) bool { return ends(f.prev(i)) && begins(f.next(i)) }

// prefix reports whether a sign stands before its only operand.
func (f *source) prefix(i int) bool {
	return !ends(f.prev(i)) && begins(f.next(i)) && !f.tokens[i].spaceR
}

// comparison tells < and > from the brackets of types and tags: where a language has those, only signs with space on both
// sides compare.
func (f *source) comparison(i int) bool {
	t := f.tokens[i]
	switch f.language {
	case hollowtest.JavaScript, hollowtest.TypeScript, hollowtest.Java, hollowtest.Rust:
	default:
		return !f.declares(t.line)
	}
	if f.declares(t.line) {
		return false
	}
	spaced := t.spaceL && t.spaceR
	if f.language != hollowtest.JavaScript || f.jsx {
		if !spaced {
			return false
		}
	} else if !spaced && (t.spaceL != t.spaceR) {
		return false
	}
	if t.s == "<" || t.s == "<=" {
		return true
	}
	// A > at the end of an open tag.
	depth := 0
	for k := i - 1; k >= 0 && k > i-200; k-- {
		b := f.tokens[k]
		switch {
		case b.s == ";":
			return true
		case b.s == ">" && !b.spaceL || b.s == "=>":
			depth++
		case b.s == "<" && !b.spaceR && f.next(k).kind == word:
			if depth == 0 && f.language != hollowtest.Java && f.language != hollowtest.Rust {
				return ends(f.prev(k)) && !f.jsx
			}
			depth--
		}
	}
	return true
}

// joins reports whether a + joins texts rather than adds numbers, as far as can be seen.
func (f *source) joins(i int) bool {
	if f.prev(i).kind == text || f.next(i).kind == text {
		return true
	}
	// A chain of + with a text in it joins as a whole.
	if f.tokens[i].s != "+" {
		return false
	}
	return f.chained(i, -1) || f.chained(i, 1)
}

// chained looks for a text among the operands on one side of a +.
func (f *source) chained(i, step int) bool {
	depth := 0
	for k := i + step; k >= 0 && k < len(f.tokens); k += step {
		t := f.tokens[k]
		switch t.s {
		case "(", "[", "{":
			depth += step
		case ")", "]", "}":
			depth -= step
		case ";", ",", "=", "return", ":":
			if depth == 0 {
				return false
			}
		}
		if depth < 0 || depth == 0 && t.line != f.tokens[i].line {
			return false
		}
		if depth == 0 && t.kind == text {
			return true
		}
	}
	return false
}

// loops reports whether an `in` belongs to a for.
func (f *source) loops(i int) bool {
	depth := 0
	for k := i - 1; k >= 0; k-- {
		switch t := f.tokens[k]; t.s {
		case ")", "]", "}":
			depth++
		case "(", "[", "{":
			if depth == 0 {
				return false
			}
			depth--
		case "for":
			if depth == 0 {
				return true
			}
		case "in", "if", "else", ":", "=", "return":
			if depth == 0 {
				return false
			}
		}
	}
	return false
}

// literal reports whether a number is worth changing: it is no member's name, index type or version.
func (f *source) literal(i int) bool {
	return f.prev(i).s != "." && f.next(i).s != "." && !f.declares(f.tokens[i].line)
}

// declaration matches lines that declare types and modules: there is nothing to compute in them.
var declaration = map[hollowtest.Language]*regexp.Regexp{
	hollowtest.JavaScript: regexp.MustCompile(`^\s*(?:import\b|export\s+(?:\*|\{[^}]*\}\s*(?:from|;|$))|['"]use )`),
	hollowtest.TypeScript: regexp.MustCompile(`^\s*(?:import\b|export\s+(?:\*|\{[^}]*\}\s*(?:from|;|$))|(?:export\s+)?(?:declare\s+)?(?:type|interface|namespace|declare|abstract)\s+\w|['"]use )`),
	hollowtest.Python:     regexp.MustCompile(`^\s*(?:import|from)\b|^\s*@|^\s*class\b`),
	hollowtest.Java:       regexp.MustCompile(`^\s*(?:import|package)\b|^\s*@|\b(?:class|interface|enum|record)\s+\w+|^\s*(?:public|protected|private|static|final|abstract|synchronized|\s)*(?:<[^>]+>\s*)?[\w.<>\[\], ?]+\s+\w+\s*\([^)]*\)\s*(?:throws[^{]+)?\{?\s*$`),
	hollowtest.Rust:       regexp.MustCompile(`^\s*(?:use|mod|extern|pub\s+(?:use|mod)|impl\b|trait\b|pub\s+trait\b|#!?\[|where\b)|^\s*(?:pub(?:\([^)]*\))?\s+)?(?:const\s+|async\s+|unsafe\s+)*(?:fn|struct|enum|type)\b`),
	hollowtest.Ruby:       regexp.MustCompile(`^\s*(?:require|require_relative|include|extend|attr_\w+|module|class|def)\b`),
}

// declares reports whether a line only declares.
func (f *source) declares(line int) bool {
	s := f.lineText(line)
	return declaration[f.language].MatchString(s) && (f.language != hollowtest.Java || !control.MatchString(s))
}

// control matches lines of Java that only look like the head of a method.
var control = regexp.MustCompile(`^[\s}]*(?:if|else|for|while|do|switch|case|return|throw|try|catch|finally|synchronized|new|assert)\b`)
