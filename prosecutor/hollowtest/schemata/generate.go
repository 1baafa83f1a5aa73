package schemata

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strconv"
	"strings"

	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest"
)

// mutant is a change of one place, made from the typed syntax tree.
type mutant struct {
	file  *file
	fn    string // the enclosing function, for the identity
	op    Operator
	lo    int // of the source that is replaced, in bytes
	hi    int
	text  string // what it is replaced by
	shown string // how the replacement is shown, text when empty
	from  string // how the original is shown, the source when empty
	line  int
	skip  string // why it is left out, empty when it is not
	alone bool   // cannot be switched on at run time
	why   string // it is alone
	// infects tells that the recording says whether the mutant changes a value; otherwise every reach may.
	infects bool
	// seen tells that a test reaches it with a value that the mutant changes, or may; guarded like the verdict.
	seen bool
	key  string
	id   int32 // at run time, 0 when it is not in the build

	status   hollowtest.Status
	pending  bool
	reason   string
	killer   string
	hint     string
	tests    []string
	duration int64 // milliseconds
}

func (m *mutant) original() string {
	if m.from != "" {
		return m.from
	}
	return string(m.file.src[m.lo:m.hi])
}

func (m *mutant) mutated() string {
	if m.shown != "" {
		return m.shown
	}
	return m.text
}

// generator makes the mutants of one file.
type generator struct {
	f       *file
	info    *types.Info
	enabled func(Operator) bool
	mutants []*mutant
	sites   []*site
	stack   []ast.Node
	arid    []string // beside stack: why the code below is not worth a mutant
	alts    map[ast.Stmt][]*mutant
	order   []ast.Stmt // of alts
	count   map[string]int
}

// generate returns all mutants of the changed lines of a file and the sites that encode them.
func generate(f *file, enabled func(Operator) bool) ([]*mutant, []*site) {
	g := &generator{f: f, info: f.pkg.info, enabled: enabled, alts: map[ast.Stmt][]*mutant{}, count: map[string]int{}}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		if n == nil {
			g.stack = g.stack[:len(g.stack)-1]
			g.arid = g.arid[:len(g.arid)-1]
			return true
		}
		reason := ""
		if len(g.arid) > 0 {
			reason = g.arid[len(g.arid)-1]
		}
		if reason == "" {
			reason = g.aridity(n)
		}
		g.stack = append(g.stack, n)
		g.arid = append(g.arid, reason)
		if !g.visit(n) {
			g.stack = g.stack[:len(g.stack)-1]
			g.arid = g.arid[:len(g.arid)-1]
			return false
		}
		return true
	})
	for _, s := range g.order {
		g.statementSite(s, g.alts[s])
	}
	g.ticks()
	return g.mutants, g.sites
}

func (g *generator) offset(p token.Pos) int { return g.f.pkg.fset.PositionFor(p, false).Offset }
func (g *generator) lineOf(p token.Pos) int { return g.f.pkg.fset.PositionFor(p, false).Line }

func (g *generator) source(n ast.Node) string {
	return string(g.f.src[g.offset(n.Pos()):g.offset(n.End())])
}

// parent returns the n-th enclosing node of the visited one.
func (g *generator) parent(n int) ast.Node {
	if i := len(g.stack) - 1 - n; i >= 0 {
		return g.stack[i]
	}
	return nil
}

// outer returns the nearest enclosing node that is no parenthesis, and the expression below it.
func (g *generator) outer() (ast.Node, ast.Node) {
	child := g.stack[len(g.stack)-1]
	for i := len(g.stack) - 2; i >= 0; i-- {
		if _, ok := g.stack[i].(*ast.ParenExpr); !ok {
			return g.stack[i], child
		}
		child = g.stack[i]
	}
	return nil, child
}

// make adds a mutant that replaces [lo, hi) when the place at is on a changed line. It returns nil otherwise.
func (g *generator) make(op Operator, at token.Pos, lo, hi token.Pos, text string) *mutant {
	line := g.lineOf(at)
	if !g.f.lines[line] || !g.enabled(op) {
		return nil
	}
	m := &mutant{file: g.f, fn: g.function(), op: op, lo: g.offset(lo), hi: g.offset(hi), text: text, line: line, skip: g.arid[len(g.arid)-1]}
	if m.skip == "" && g.f.cgo {
		m.alone, m.why = true, "the file imports C"
	}
	normal, _ := flatten(m.original())
	base := strings.Join([]string{g.f.path, m.fn, string(op), normal, text}, "\x00")
	g.count[base]++
	sum := sha256.Sum256([]byte(base + "\x00" + strconv.Itoa(g.count[base])))
	m.key = hex.EncodeToString(sum[:6])
	g.mutants = append(g.mutants, m)
	return m
}

// function names the enclosing declaration.
func (g *generator) function() string {
	for i := len(g.stack) - 1; i >= 0; i-- {
		switch d := g.stack[i].(type) {
		case *ast.FuncDecl:
			if d.Recv != nil && len(d.Recv.List) == 1 {
				return strings.TrimLeft(g.source(d.Recv.List[0].Type), "*") + "." + d.Name.Name
			}
			return d.Name.Name
		case *ast.ValueSpec:
			return d.Names[0].Name
		}
	}
	return ""
}

// wrap encodes mutants at an expression. A nil mutant was not made.
func (g *generator) wrap(n ast.Node, render func(inner func(lo, hi int) string) string, mutants ...*mutant) {
	var real []*mutant
	for _, m := range mutants {
		if m != nil && m.skip == "" && !m.alone {
			real = append(real, m)
		}
	}
	if len(real) == 0 {
		return
	}
	lo, hi := g.offset(n.Pos()), g.offset(n.End())
	g.sites = append(g.sites, &site{lo: lo, hi: hi, depth: len(g.stack), mutants: real, render: func(inner func(lo, hi int) string) string {
		for _, m := range real {
			if m.id != 0 {
				return render(inner)
			}
		}
		return inner(lo, hi)
	}})
}

func id(m *mutant) int32 {
	if m == nil {
		return 0
	}
	return m.id
}

func call(name string, args ...string) string {
	return runtimeName + "." + name + "(" + strings.Join(args, ", ") + ")"
}

func ids(mutants ...*mutant) string {
	text := make([]string, len(mutants))
	for i, m := range mutants {
		text[i] = strconv.Itoa(int(id(m)))
	}
	return strings.Join(text, ", ")
}

// inStatement encodes a mutant as a second copy of the statement around it. It works for every expression whose
// statement stands in a block and declares nothing; other mutants must be built alone.
func (g *generator) inStatement(m *mutant, why string) {
	if m == nil || m.skip != "" || m.alone {
		return
	}
	for i := len(g.stack) - 1; i > 0; i-- {
		s, ok := g.stack[i].(ast.Stmt)
		if !ok {
			if _, ok := g.stack[i].(ast.Decl); ok {
				break
			}
			continue
		}
		if simple(s) && inBlock(g.stack[i-1], s) {
			g.alternative(s, m)
			return
		}
		break
	}
	m.alone, m.why = true, why
}

func (g *generator) alternative(s ast.Stmt, m *mutant) {
	if m == nil || m.skip != "" || m.alone {
		return
	}
	if _, ok := g.alts[s]; !ok {
		g.order = append(g.order, s)
	}
	g.alts[s] = append(g.alts[s], m)
}

func simple(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.ExprStmt, *ast.IncDecStmt, *ast.ReturnStmt, *ast.SendStmt, *ast.DeferStmt, *ast.GoStmt, *ast.BranchStmt:
		return true
	case *ast.AssignStmt:
		return s.Tok != token.DEFINE
	}
	return false
}

// inBlock reports whether a statement is one of a list of statements.
func inBlock(parent ast.Node, s ast.Stmt) bool {
	switch p := parent.(type) {
	case *ast.BlockStmt:
		return true
	case *ast.CaseClause:
		return true
	case *ast.CommClause:
		return p.Comm != s
	}
	return false
}

// statementSite chooses between copies of a statement.
func (g *generator) statementSite(s ast.Stmt, mutants []*mutant) {
	lo, hi := g.offset(s.Pos()), g.offset(s.End())
	texts := make([]string, len(mutants))
	for i, m := range mutants {
		text, ok := flatten(string(g.f.src[lo:m.lo]) + m.text + string(g.f.src[m.hi:hi]))
		if !ok {
			m.alone, m.why = true, "the statement cannot be copied"
		}
		texts[i] = text
	}
	g.sites = append(g.sites, &site{lo: lo, hi: hi, depth: 0, mutants: mutants, render: func(inner func(lo, hi int) string) string {
		var b strings.Builder
		for i, m := range mutants {
			if m.id != 0 {
				fmt.Fprintf(&b, "if %s { %s } else ", call("On", ids(m)), texts[i])
			}
		}
		if b.Len() == 0 {
			return inner(lo, hi)
		}
		return b.String() + "{ " + inner(lo, hi) + " }"
	}})
}

// insertion encodes a mutant that puts text at the beginning of a block.
func (g *generator) insertion(at token.Pos, m *mutant) {
	if m == nil || m.skip != "" || m.alone {
		return
	}
	o := g.offset(at)
	g.sites = append(g.sites, &site{lo: o, hi: o, depth: len(g.stack), mutants: []*mutant{m}, render: func(func(lo, hi int) string) string {
		if m.id == 0 {
			return ""
		}
		return fmt.Sprintf(" if %s { %s }; ", call("On", ids(m)), m.text)
	}})
}

// ticks counts the turns of the loops in functions that have mutants.
func (g *generator) ticks() {
	var live []int
	for _, s := range g.sites {
		live = append(live, s.lo)
	}
	for _, d := range g.f.ast.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Body == nil {
			continue
		}
		lo, hi := g.offset(fn.Pos()), g.offset(fn.End())
		has := false
		for _, o := range live {
			has = has || lo <= o && o < hi
		}
		if !has {
			continue
		}
		ast.Inspect(fn.Body, func(n ast.Node) bool {
			var body *ast.BlockStmt
			switch n := n.(type) {
			case *ast.ForStmt:
				body = n.Body
			case *ast.RangeStmt:
				body = n.Body
			}
			if body != nil {
				o := g.offset(body.Lbrace) + 1
				g.sites = append(g.sites, &site{lo: o, hi: o, depth: -1, render: func(func(lo, hi int) string) string {
					return " " + runtimeName + ".Tick(); "
				}})
			}
			return true
		})
	}
}

// visit makes the mutants of one node. It returns false when nothing below can have any.
func (g *generator) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.ImportSpec:
		return false
	case *ast.GenDecl:
		if n.Tok == token.CONST {
			g.constants(n)
			return false
		}
		return n.Tok == token.VAR
	case *ast.ArrayType:
		return false
	case *ast.Field:
		return false
	}
	if e, ok := n.(ast.Expr); ok {
		if tv, ok := g.info.Types[e]; ok {
			if tv.Value != nil {
				g.constant(e, tv)
				return false
			}
			if tv.IsType() {
				return false
			}
		}
	}
	switch n := n.(type) {
	case *ast.BinaryExpr:
		g.binary(n)
	case *ast.UnaryExpr:
		g.unary(n)
	case *ast.IfStmt:
		g.condition(n.Cond, true)
	case *ast.ForStmt:
		if n.Cond != nil {
			g.condition(n.Cond, false)
		}
	case *ast.RangeStmt:
		if m := g.make(LoopNever, n.For, n.Body.Lbrace+1, n.Body.Lbrace+1, " break; "); m != nil {
			m.from = string(g.f.src[g.offset(n.For):g.offset(n.Body.Lbrace)]) + "{"
			m.shown = m.from + " break"
			g.insertion(n.Body.Lbrace+1, m)
		}
	case *ast.SwitchStmt:
		g.cases(n.Body, n.Tag == nil)
	case *ast.TypeSwitchStmt:
		g.cases(n.Body, false)
	case *ast.ReturnStmt:
		g.returns(n)
	case *ast.ExprStmt:
		g.expression(n)
	case *ast.AssignStmt:
		g.assign(n)
	case *ast.IncDecStmt:
		g.incdec(n)
	case *ast.SendStmt:
		g.remove(n, RemoveSend)
	case *ast.DeferStmt:
		g.deferred(n)
	case *ast.GoStmt:
		g.remove(n, RemoveGo)
	case *ast.BranchStmt:
		g.branch(n)
	case *ast.SliceExpr:
		g.bound(n.Low, 1)
		g.bound(n.High, -1)
	case *ast.CallExpr:
		g.arguments(n)
	case *ast.CompositeLit:
		g.composite(n)
	}
	return true
}

// remove drops a statement of a block.
func (g *generator) remove(s ast.Stmt, op Operator) {
	if !inBlock(g.parent(1), s) {
		return
	}
	m := g.make(op, s.Pos(), s.Pos(), s.End(), "")
	if m != nil {
		m.shown = "(removed)"
	}
	g.alternative(s, m)
}

var compareNames = map[token.Token]struct {
	helper             string
	boundary, negation token.Token
}{
	token.LSS: {"Less", token.LEQ, token.GEQ},
	token.LEQ: {"LessEq", token.LSS, token.GTR},
	token.GTR: {"Greater", token.GEQ, token.LEQ},
	token.GEQ: {"GreaterEq", token.GTR, token.LSS},
}

// operate returns the source of a binary expression with another operator, in parentheses where it needs them.
func (g *generator) operate(b *ast.BinaryExpr, op token.Token) string {
	x, y := g.source(b.X), g.source(b.Y)
	if e, ok := b.X.(*ast.BinaryExpr); ok && e.Op.Precedence() < op.Precedence() {
		x = "(" + x + ")"
	}
	if e, ok := b.Y.(*ast.BinaryExpr); ok && e.Op.Precedence() <= op.Precedence() {
		y = "(" + y + ")"
	}
	text := x + " " + op.String() + " " + y
	parent, _ := g.outer()
	switch parent.(type) {
	case *ast.BinaryExpr, *ast.UnaryExpr, *ast.StarExpr, *ast.SelectorExpr, *ast.IndexExpr:
		return "(" + text + ")"
	}
	return text
}

// operands renders x and y as arguments. What stands between them is left out but for its newlines.
func (g *generator) operands(b *ast.BinaryExpr, inner func(lo, hi int) string) (x, y string) {
	xlo, xhi := g.offset(b.X.Pos()), g.offset(b.X.End())
	ylo, yhi := g.offset(b.Y.Pos()), g.offset(b.Y.End())
	return inner(xlo, xhi), newlines(g.f.src[xhi:ylo]) + inner(ylo, yhi)
}

func (g *generator) binary(b *ast.BinaryExpr) {
	x, y := g.source(b.X), g.source(b.Y)
	operand := g.operandType(b)
	other := func(op Operator, sign token.Token) *mutant {
		return g.make(op, b.OpPos, b.Pos(), b.End(), g.operate(b, sign))
	}
	switch b.Op {
	case token.LSS, token.LEQ, token.GTR, token.GEQ:
		c := compareNames[b.Op]
		var boundary *mutant
		if !g.againstZero(b) {
			boundary = other(Boundary, c.boundary)
		}
		negation := other(Negation, c.negation)
		convert, ok := g.conversion(b)
		if !ok || !all(operand, types.IsOrdered) || g.untypedShift(b.X) || g.untypedShift(b.Y) {
			g.inStatement(boundary, noHelper)
			g.inStatement(negation, noHelper)
			return
		}
		infect(boundary, negation)
		g.wrap(b, func(inner func(lo, hi int) string) string {
			x, y := g.operands(b, inner)
			return convert(call(c.helper, x, y, ids(boundary, negation)))
		}, boundary, negation)
	case token.EQL, token.NEQ:
		if g.isCondition() && (g.isNil(b.X) || g.isNil(b.Y)) {
			return // the condition's own mutants say the same and more
		}
		sign := token.NEQ
		if b.Op == token.NEQ {
			sign = token.EQL
		}
		m := other(Negation, sign)
		lo, hi := g.offset(b.Pos()), g.offset(b.End())
		g.wrap(b, func(inner func(lo, hi int) string) string {
			return "((" + inner(lo, hi) + ") != " + call("On", ids(m)) + ")"
		}, m)
	case token.LAND, token.LOR:
		g.logical(b, x, y)
	default:
		g.arithmetic(b, operand, x, y)
	}
}

const noHelper = "its types leave no room for a switch"

func infect(mutants ...*mutant) {
	for _, m := range mutants {
		if m != nil {
			m.infects = true
		}
	}
}

func (g *generator) logical(b *ast.BinaryExpr, x, y string) {
	name, sign, neutral := "And", token.LOR, "|| true"
	if b.Op == token.LOR {
		name, sign, neutral = "Or", token.LAND, "&& false"
	}
	swap := g.make(LogicalSwap, b.OpPos, b.Pos(), b.End(), g.operate(b, sign))
	var left, right *mutant
	if g.info.Types[b.X].Value == nil {
		left = g.make(LogicalOperand, b.X.Pos(), b.X.Pos(), b.X.End(), "(("+x+") "+neutral+")")
	}
	if g.info.Types[b.Y].Value == nil {
		right = g.make(LogicalOperand, b.Y.Pos(), b.Y.Pos(), b.Y.End(), "(("+y+") "+neutral+")")
	}
	for _, m := range []*mutant{left, right} {
		if m != nil {
			m.shown = strings.Fields(neutral)[1]
		}
	}
	convert, ok := g.conversion(b)
	if !ok {
		g.inStatement(swap, noHelper)
		g.inStatement(left, noHelper)
		g.inStatement(right, noHelper)
		return
	}
	plain := isPlainBool(g.info.TypeOf(b))
	infect(swap, left, right)
	g.wrap(b, func(inner func(lo, hi int) string) string {
		x, y := g.operands(b, inner)
		if !plain {
			x, y = "bool("+x+")", "bool("+y+")"
		}
		return convert(call("Swapped", call(name+"Left", x, ids(swap, left))+" "+b.Op.String()+" "+call(name+"Right", y, ids(swap, right)), ids(swap)))
	}, swap, left, right)
}

var arithmetics = map[token.Token]struct {
	op     Operator
	helper string
	sign   token.Token
}{
	token.ADD: {Arithmetic, "Add", token.SUB}, token.SUB: {Arithmetic, "Sub", token.ADD}, token.MUL: {Arithmetic, "Mul", token.QUO},
	token.QUO: {Arithmetic, "Quo", token.MUL}, token.REM: {Arithmetic, "Rem", token.MUL},
	token.AND: {Bitwise, "BitAnd", token.OR}, token.OR: {Bitwise, "BitOr", token.AND}, token.XOR: {Bitwise, "BitXor", token.AND},
	token.AND_NOT: {Bitwise, "BitClear", token.AND}, token.SHL: {Shift, "Shl", token.SHR}, token.SHR: {Shift, "Shr", token.SHL},
}

func (g *generator) arithmetic(b *ast.BinaryExpr, operand types.Type, x, y string) {
	if b.Op == token.ADD && all(operand, isString) {
		// In a chain each level drops its right side, and the innermost its left side too. A literal has a mutant of its own.
		var left, right *mutant
		if !isStringLiteral(b.Y) {
			left = g.make(Concat, b.OpPos, b.Pos(), b.End(), x)
		}
		if inner, ok := ast.Unparen(b.X).(*ast.BinaryExpr); (!ok || inner.Op != token.ADD || g.info.Types[b.X].Value != nil) && !isStringLiteral(b.X) {
			right = g.make(Concat, b.OpPos, b.Pos(), b.End(), y)
		}
		if !total(g.info, b.X) || !total(g.info, b.Y) {
			g.inStatement(left, noHelper)
			g.inStatement(right, noHelper)
			return
		}
		infect(left, right)
		g.wrap(b, func(inner func(lo, hi int) string) string {
			x, y := g.operands(b, inner)
			return call("Cat", x, y, ids(left, right))
		}, left, right)
		return
	}
	a, ok := arithmetics[b.Op]
	if !ok {
		return
	}
	if v := g.info.Types[b.Y].Value; v != nil && b.Op == token.MUL && v.Kind() != constant.Unknown && constant.Sign(v) == 0 {
		return // a division by zero is no program
	}
	if b.Op == token.ADD && !all(operand, isNumeric) {
		return // numbers or strings, by type parameter: no other operator fits both
	}
	m := g.make(a.op, b.OpPos, b.Pos(), b.End(), g.operate(b, a.sign))
	fits := all(operand, isNumeric)
	if a.op != Arithmetic || b.Op == token.REM {
		fits = all(operand, isInteger)
	}
	if a.op == Shift {
		fits = fits && !g.untypedShift(b) && !g.untypedShift(b.Y) && all(g.info.TypeOf(b.Y), isInteger)
	}
	if !fits || g.untypedShift(b.X) || g.untypedShift(b.Y) {
		g.inStatement(m, noHelper)
		return
	}
	infect(m)
	g.wrap(b, func(inner func(lo, hi int) string) string {
		x, y := g.operands(b, inner)
		return call(a.helper, x, y, ids(m))
	}, m)
}

func isStringLiteral(e ast.Expr) bool {
	lit, ok := ast.Unparen(e).(*ast.BasicLit)
	return ok && lit.Kind == token.STRING
}

func (g *generator) unary(u *ast.UnaryExpr) {
	var op string
	switch u.Op {
	case token.SUB:
		op = "Neg"
	case token.XOR:
		op = "Flip"
	case token.NOT:
		op = "Not"
		if g.isCondition() {
			return // the condition's own mutants say the same and more
		}
	default:
		return
	}
	m := g.make(Unary, u.OpPos, u.Pos(), u.End(), g.source(u.X))
	convert := func(s string) string { return s }
	if u.Op == token.NOT {
		var ok bool
		if convert, ok = g.conversion(u); !ok {
			g.inStatement(m, noHelper)
			return
		}
	} else if g.untypedShift(u.X) || !all(g.info.TypeOf(u.X), isNumeric) {
		g.inStatement(m, noHelper)
		return
	}
	infect(m)
	lo, hi := g.offset(u.X.Pos()), g.offset(u.X.End())
	g.wrap(u, func(inner func(lo, hi int) string) string { return convert(call(op, inner(lo, hi), ids(m))) }, m)
}

// isCondition reports whether the visited expression is the whole condition of an if, a loop or a case.
func (g *generator) isCondition() bool {
	parent, child := g.outer()
	switch p := parent.(type) {
	case *ast.IfStmt:
		return p.Cond == child
	case *ast.ForStmt:
		return p.Cond == child
	case *ast.CaseClause:
		for i := len(g.stack) - 1; i >= 0; i-- {
			if s, ok := g.stack[i].(*ast.SwitchStmt); ok {
				return s.Tag == nil && len(p.List) == 1
			}
			if _, ok := g.stack[i].(*ast.TypeSwitchStmt); ok {
				return false
			}
		}
	}
	return false
}

func (g *generator) isNil(e ast.Expr) bool { return g.info.Types[e].IsNil() }

// condition forces a condition one way or the other. Checks of errors are only dropped.
func (g *generator) condition(c ast.Expr, both bool) {
	if g.info.Types[c].Value != nil {
		return
	}
	src := g.source(c)
	var yes, no *mutant
	if check, negated := g.errorCheck(c); check {
		if negated {
			yes = g.make(ErrorCheck, c.Pos(), c.Pos(), c.End(), "("+src+") || true")
		} else {
			no = g.make(ErrorCheck, c.Pos(), c.Pos(), c.End(), "("+src+") && false")
		}
	} else {
		// A side of && that is true decides as the whole does where it would be true; and so with || and false.
		b, _ := ast.Unparen(c).(*ast.BinaryExpr)
		if both && (b == nil || b.Op != token.LAND) {
			yes = g.make(ConditionTrue, c.Pos(), c.Pos(), c.End(), "("+src+") || true")
		}
		if b == nil || b.Op != token.LOR {
			no = g.make(ConditionFalse, c.Pos(), c.Pos(), c.End(), "("+src+") && false")
		}
	}
	if yes != nil {
		yes.shown = "true"
	}
	if no != nil {
		no.shown = "false"
	}
	infect(yes, no)
	lo, hi := g.offset(c.Pos()), g.offset(c.End())
	g.wrap(c, func(inner func(lo, hi int) string) string { return call("Cond", inner(lo, hi), ids(yes, no)) }, yes, no)
}

// errorCheck recognises err != nil, and err == nil as its negation.
func (g *generator) errorCheck(c ast.Expr) (check, negated bool) {
	b, ok := ast.Unparen(c).(*ast.BinaryExpr)
	if !ok || b.Op != token.NEQ && b.Op != token.EQL {
		return false, false
	}
	x := b.X
	switch {
	case g.isNil(b.Y):
	case g.isNil(b.X):
		x = b.Y
	default:
		return false, false
	}
	return isError(g.info.TypeOf(x)), b.Op == token.EQL
}

func (g *generator) cases(body *ast.BlockStmt, tagless bool) {
	terminates := g.endsWithReturn()
	for _, s := range body.List {
		c, ok := s.(*ast.CaseClause)
		if !ok {
			continue
		}
		if tagless {
			for _, e := range c.List {
				g.condition(e, true)
			}
		}
		if (!tagless || c.List == nil) && len(c.Body) > 0 && !terminates {
			m := g.make(CaseBody, c.Case, c.Colon+1, c.Colon+1, " break; ")
			if m != nil {
				m.from = string(g.f.src[g.offset(c.Case) : g.offset(c.Colon)+1])
				m.shown = m.from + " break"
			}
			g.insertion(c.Colon+1, m)
		}
	}
}

// signature returns the type of the innermost function around the visited node.
func (g *generator) signature() *types.Signature {
	for i := len(g.stack) - 1; i >= 0; i-- {
		switch d := g.stack[i].(type) {
		case *ast.FuncLit:
			sig, _ := g.info.TypeOf(d).(*types.Signature)
			return sig
		case *ast.FuncDecl:
			if obj := g.info.Defs[d.Name]; obj != nil {
				sig, _ := obj.Type().(*types.Signature)
				return sig
			}
		}
	}
	return nil
}

func (g *generator) returns(r *ast.ReturnStmt) {
	sig := g.signature()
	if sig == nil {
		return
	}
	results := sig.Results()
	if len(r.Results) == 0 {
		if results.Len() == 0 && !g.endsFunction(r) {
			g.remove(r, RemoveReturn)
		}
		return
	}
	if len(r.Results) == 1 && results.Len() > 1 {
		var zeros []string
		for i := range results.Len() {
			z, ok := g.zero(results.At(i).Type(), r.Pos())
			if !ok {
				return
			}
			zeros = append(zeros, z)
		}
		e := r.Results[0]
		g.alternative(r, g.make(ReturnZero, e.Pos(), e.Pos(), e.End(), strings.Join(zeros, ", ")))
		return
	}
	for i, e := range r.Results {
		g.result(r, e, results.At(i).Type())
	}
}

func (g *generator) result(r *ast.ReturnStmt, e ast.Expr, t types.Type) {
	tv := g.info.Types[e]
	if isError(t) {
		if tv.IsNil() {
			m := g.make(ReturnError, e.Pos(), e.Pos(), e.End(), runtimeName+".ErrMutant")
			if m != nil {
				m.shown = `errors.New("mutant")`
			}
			g.alternative(r, m)
			return
		}
		g.alternative(r, g.make(ReturnNilError, e.Pos(), e.Pos(), e.End(), "nil"))
		return
	}
	if tv.IsNil() || tv.Value != nil || isEmptyComposite(e) {
		return // literals have mutants of their own
	}
	if all(t, isBoolean) {
		src := g.source(e)
		yes := g.make(ReturnTrue, e.Pos(), e.Pos(), e.End(), "("+src+") || true")
		no := g.make(ReturnZero, e.Pos(), e.Pos(), e.End(), "("+src+") && false")
		if yes != nil {
			yes.shown = "true"
		}
		if no != nil {
			no.shown = "false"
		}
		if types.Identical(tv.Type, t) {
			name, ok := "", true
			if !isPlainBool(t) {
				name, ok = g.typeText(t, e.Pos())
			}
			if ok {
				infect(yes, no)
				lo, hi := g.offset(e.Pos()), g.offset(e.End())
				g.wrap(e, func(inner func(lo, hi int) string) string {
					s := call("Cond", inner(lo, hi), ids(yes, no))
					if name != "" {
						s = name + "(" + s + ")"
					}
					return s
				}, yes, no)
				return
			}
		}
		g.alternative(r, yes)
		g.alternative(r, no)
		return
	}
	z, ok := g.zero(t, e.Pos())
	if !ok {
		return
	}
	m := g.make(ReturnZero, e.Pos(), e.Pos(), e.End(), z)
	_, basic := t.Underlying().(*types.Basic)
	if basic && types.Identical(tv.Type, t) && total(g.info, e) && !g.untypedShift(e) {
		infect(m)
		lo, hi := g.offset(e.Pos()), g.offset(e.End())
		g.wrap(e, func(inner func(lo, hi int) string) string { return call("Pick", inner(lo, hi), z, ids(m)) }, m)
		return
	}
	g.alternative(r, m)
}

func isEmptyComposite(e ast.Expr) bool {
	if u, ok := e.(*ast.UnaryExpr); ok && u.Op == token.AND {
		return false
	}
	c, ok := e.(*ast.CompositeLit)
	return ok && len(c.Elts) == 0
}

// endsFunction reports whether a statement is the last of its function.
func (g *generator) endsFunction(s ast.Stmt) bool {
	b, ok := g.parent(1).(*ast.BlockStmt)
	if !ok || b.List[len(b.List)-1] != s {
		return false
	}
	switch g.parent(2).(type) {
	case *ast.FuncDecl, *ast.FuncLit:
		return true
	}
	return false
}

// endsWithReturn reports whether the visited statement may be what makes a function with results end in a return. It must
// not learn to be left in another way: that is no program.
func (g *generator) endsWithReturn() bool {
	if sig := g.signature(); sig == nil || sig.Results().Len() == 0 {
		return false
	}
	for i := len(g.stack) - 1; i > 0; i-- {
		child, ok := g.stack[i].(ast.Stmt)
		var list []ast.Stmt
		switch p := g.stack[i-1].(type) {
		case *ast.FuncDecl, *ast.FuncLit:
			return true
		case *ast.BlockStmt:
			list = p.List
		case *ast.CaseClause:
			list = p.Body
		case *ast.CommClause:
			list = p.Body
		}
		if ok && list != nil && list[len(list)-1] != child {
			if _, clause := child.(*ast.CaseClause); !clause {
				if _, clause := child.(*ast.CommClause); !clause {
					return false
				}
			}
		}
	}
	return true
}

func (g *generator) expression(s *ast.ExprStmt) {
	c, ok := ast.Unparen(s.X).(*ast.CallExpr)
	if !ok {
		return
	}
	op := RemoveCall
	switch methodName(c) {
	case "Lock", "RLock":
		op = RemoveLock
	case "Unlock", "RUnlock":
		op = RemoveUnlock
	}
	g.remove(s, op)
}

func (g *generator) deferred(s *ast.DeferStmt) {
	op := RemoveDefer
	switch methodName(s.Call) {
	case "Unlock", "RUnlock":
		op = RemoveUnlock
	case "Lock", "RLock":
		op = RemoveLock
	}
	g.remove(s, op)
}

func methodName(c *ast.CallExpr) string {
	if sel, ok := ast.Unparen(c.Fun).(*ast.SelectorExpr); ok {
		return sel.Sel.Name
	}
	return ""
}

var inverse = map[token.Token]struct {
	op   Operator
	sign string
}{
	token.ADD_ASSIGN: {AssignOp, "-="}, token.SUB_ASSIGN: {AssignOp, "+="}, token.MUL_ASSIGN: {AssignOp, "/="}, token.QUO_ASSIGN: {AssignOp, "*="},
	token.REM_ASSIGN: {AssignOp, "*="}, token.AND_ASSIGN: {AssignOp, "|="}, token.OR_ASSIGN: {AssignOp, "&="}, token.XOR_ASSIGN: {AssignOp, "&="},
	token.AND_NOT_ASSIGN: {AssignOp, "&="}, token.SHL_ASSIGN: {AssignOp, ">>="}, token.SHR_ASSIGN: {AssignOp, "<<="},
}

func (g *generator) assign(a *ast.AssignStmt) {
	if a.Tok == token.DEFINE {
		return
	}
	if a.Tok == token.ASSIGN {
		for _, l := range a.Lhs {
			if name, ok := l.(*ast.Ident); !ok || name.Name != "_" {
				g.remove(a, RemoveAssign)
				return
			}
		}
		return
	}
	g.remove(a, RemoveAssign)
	end := a.TokPos + token.Pos(len(a.Tok.String()))
	t := g.info.TypeOf(a.Lhs[0])
	i := inverse[a.Tok]
	v := g.info.Types[a.Rhs[0]].Value
	zero := v != nil && (v.Kind() == constant.Int || v.Kind() == constant.Float) && constant.Sign(v) == 0
	if all(t, isNumeric) && (a.Tok != token.MUL_ASSIGN || !zero) {
		g.inStatement(g.shownAs(a, g.make(i.op, a.TokPos, a.TokPos, end, i.sign)), noHelper)
	}
	if a.Tok != token.SHL_ASSIGN && a.Tok != token.SHR_ASSIGN && (a.Tok != token.MUL_ASSIGN || v == nil) {
		g.inStatement(g.shownAs(a, g.make(AssignPlain, a.TokPos, a.TokPos, end, "=")), noHelper)
	}
}

// shownAs shows the whole node instead of the operator that changes.
func (g *generator) shownAs(n ast.Node, m *mutant) *mutant {
	if m != nil {
		m.from = g.source(n)
		m.shown = string(g.f.src[g.offset(n.Pos()):m.lo]) + m.text + string(g.f.src[m.hi:g.offset(n.End())])
	}
	return m
}

func (g *generator) incdec(s *ast.IncDecStmt) {
	sign, helper := "--", "Inc"
	if s.Tok == token.DEC {
		sign, helper = "++", "Dec"
	}
	m := g.shownAs(s, g.make(IncDec, s.TokPos, s.TokPos, s.TokPos+2, sign))
	if inBlock(g.parent(1), s) {
		g.alternative(s, m)
		g.remove(s, RemoveAssign)
		return
	}
	// Beside a block it is the statement after a for, or before an if or a switch: a call can stand there as well.
	var beside bool
	switch g.parent(1).(type) {
	case *ast.ForStmt, *ast.IfStmt, *ast.SwitchStmt, *ast.TypeSwitchStmt:
		beside = true
	}
	if beside && addressable(g.info, s.X) && all(g.info.TypeOf(s.X), isNumeric) {
		infect(m)
		lo, hi := g.offset(s.X.Pos()), g.offset(s.X.End())
		g.wrap(s, func(inner func(lo, hi int) string) string { return call(helper, "&"+inner(lo, hi), ids(m)) }, m)
		return
	}
	g.inStatement(m, noHelper)
}

func (g *generator) branch(b *ast.BranchStmt) {
	other := map[token.Token]string{token.BREAK: "continue", token.CONTINUE: "break"}[b.Tok]
	if other == "" || !inBlock(g.parent(1), b) {
		return
	}
	for i := len(g.stack) - 2; i >= 0; i-- {
		switch g.stack[i].(type) {
		case *ast.ForStmt, *ast.RangeStmt:
		case *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.SelectStmt:
			if b.Label == nil {
				return
			}
			continue
		case *ast.FuncLit, *ast.FuncDecl:
			return
		default:
			continue
		}
		if b.Label != nil {
			l, ok := g.stack[i-1].(*ast.LabeledStmt)
			if !ok || l.Label.Name != b.Label.Name {
				continue
			}
		}
		g.alternative(b, g.shownAs(b, g.make(LoopBranch, b.TokPos, b.TokPos, b.TokPos+token.Pos(len(b.Tok.String())), other)))
		return
	}
}

func (g *generator) bound(e ast.Expr, d int) {
	if e == nil || g.info.Types[e].Value != nil {
		return
	}
	m := g.make(SliceBound, e.Pos(), e.Pos(), e.End(), fmt.Sprintf("(%s)%+d", g.source(e), d))
	if m != nil {
		m.shown = fmt.Sprintf("%s %c 1", g.source(e), "-+"[(d+1)/2])
	}
	if !all(g.info.TypeOf(e), isInteger) || g.untypedShift(e) {
		g.inStatement(m, noHelper)
		return
	}
	lo, hi := g.offset(e.Pos()), g.offset(e.End())
	infect(m)
	g.wrap(e, func(inner func(lo, hi int) string) string {
		return call("Plus", inner(lo, hi), strconv.Itoa(d), ids(m))
	}, m)
}

// arguments swaps neighbouring arguments of one type.
func (g *generator) arguments(c *ast.CallExpr) {
	sig, ok := g.info.TypeOf(c.Fun).(*types.Signature)
	if !ok || g.info.Types[c.Fun].IsType() || g.info.Types[c.Fun].IsBuiltin() || commutative(methodOrName(c)) {
		return
	}
	fixed := sig.Params().Len()
	if sig.Variadic() {
		fixed--
	}
	for i := 0; i+1 < min(len(c.Args), fixed); i++ {
		a, b := c.Args[i], c.Args[i+1]
		t := sig.Params().At(i).Type()
		if !types.Identical(t, sig.Params().At(i+1).Type()) || !types.Identical(g.info.TypeOf(a), t) || !types.Identical(g.info.TypeOf(b), t) {
			continue
		}
		sa, sb := g.source(a), g.source(b)
		if sa == sb || !total(g.info, a) || !total(g.info, b) || g.untypedShift(a) || g.untypedShift(b) {
			continue
		}
		between := string(g.f.src[g.offset(a.End()):g.offset(b.Pos())])
		m := g.make(SwapArguments, a.Pos(), a.Pos(), b.End(), sb+between+sa)
		sel := "Sel"
		if g.info.Types[a].Value != nil && g.info.Types[b].Value != nil {
			name, ok := g.typeText(t, a.Pos())
			if !ok {
				g.inStatement(m, noHelper)
				continue
			}
			sel += "[" + name + "]"
		}
		fa, okA := flatten(sa)
		fb, okB := flatten(sb)
		if !okA || !okB || m == nil {
			g.inStatement(m, noHelper)
			continue
		}
		if _, ok := t.Underlying().(*types.Basic); !ok {
			// A nil or an untyped function among them has no type to infer.
			g.inStatement(m, noHelper)
			continue
		}
		alo, ahi, blo, bhi := g.offset(a.Pos()), g.offset(a.End()), g.offset(b.Pos()), g.offset(b.End())
		g.wrap(a, func(inner func(lo, hi int) string) string { return call(sel, inner(alo, ahi), fb, ids(m)) }, m)
		g.wrap(b, func(inner func(lo, hi int) string) string { return call(sel, inner(blo, bhi), fa, ids(m)) }, m)
	}
}

func methodOrName(c *ast.CallExpr) string {
	if name := methodName(c); name != "" {
		return name
	}
	if name, ok := ast.Unparen(c.Fun).(*ast.Ident); ok {
		return name.Name
	}
	return ""
}

// composite empties the literals of slices and maps.
func (g *generator) composite(c *ast.CompositeLit) {
	if len(c.Elts) == 0 || c.Type == nil {
		return
	}
	switch t := g.info.TypeOf(c).Underlying().(type) {
	case *types.Slice, *types.Map:
		_ = t
	default:
		return
	}
	if u, ok := g.parent(1).(*ast.UnaryExpr); ok && u.Op == token.AND {
		return
	}
	m := g.make(Initializer, c.Pos(), c.Lbrace+1, c.Rbrace, "")
	if m == nil {
		return
	}
	empty := g.source(c.Type) + "{}"
	m.from, m.shown = g.source(c), empty
	flat, ok := flatten(empty)
	for _, e := range c.Elts {
		ok = ok && total(g.info, e)
	}
	if !ok {
		g.inStatement(m, "its elements have effects")
		return
	}
	lo, hi := g.offset(c.Pos()), g.offset(c.End())
	g.wrap(c, func(inner func(lo, hi int) string) string { return call("Sel", inner(lo, hi), flat, ids(m)) }, m)
}

// constant mutates the literals of a constant expression that is used as a value.
func (g *generator) constant(e ast.Expr, tv types.TypeAndValue) {
	parent, child := g.outer()
	switch p := parent.(type) {
	case *ast.ForStmt, *ast.IfStmt, *ast.SelectorExpr:
		return
	case *ast.KeyValueExpr:
		if p.Key == child {
			return
		}
	case *ast.CaseClause, *ast.LabeledStmt:
		return // of a tagged switch: a label equal to another is no program
	case *ast.IncDecStmt, *ast.SwitchStmt:
		return
	}
	before := len(g.mutants)
	if g.besideFailure(tv) {
		defer func() {
			for _, m := range g.mutants[before:] {
				if m.skip == "" {
					m.skip = aridBeside
				}
			}
		}()
	}
	switch tv.Value.Kind() {
	case constant.Bool:
		name, ok := ast.Unparen(e).(*ast.Ident)
		if !ok || g.info.Uses[name] != types.Universe.Lookup(name.Name) {
			return
		}
		text := "true"
		if name.Name == text {
			text = "false"
		}
		m := g.make(BoolLiteral, e.Pos(), e.Pos(), e.End(), text)
		g.wrap(e, func(func(lo, hi int) string) string {
			return "(" + name.Name + " != " + call("On", ids(m)) + ")"
		}, m)
	case constant.String:
		lit, ok := ast.Unparen(e).(*ast.BasicLit)
		if !ok {
			return
		}
		text := `""`
		if constant.StringVal(tv.Value) == "" {
			text = `"x"`
		}
		g.literal(e, StringLiteral, lit.Pos(), lit.Pos(), lit.End(), text, tv)
	case constant.Int, constant.Float:
		lit := intLiteral(e)
		if lit == nil {
			return
		}
		if text, ok := g.neighbour(e, lit, tv.Type); ok {
			g.literal(e, IntLiteral, lit.Pos(), lit.Pos(), lit.End(), text, tv)
		}
	}
}

// neighbour returns the next integer after a literal within a constant expression, or the one before it where the type
// has no room for the next.
func (g *generator) neighbour(e ast.Expr, lit *ast.BasicLit, t types.Type) (string, bool) {
	v, exact := constant.Int64Val(constant.MakeFromLiteral(lit.Value, token.INT, 0))
	if !exact || v+1 < v {
		return "", false
	}
	name, named := g.typeText(types.Default(t), e.Pos())
	src := g.source(e)
	at := g.offset(lit.Pos()) - g.offset(e.Pos())
	for _, n := range []int64{v + 1, v - 1} {
		text := strconv.FormatInt(n, 10)
		if !named || n < 0 {
			return text, n >= 0
		}
		if _, err := types.Eval(g.f.pkg.fset, g.f.pkg.types, e.Pos(), name+"("+src[:at]+text+src[at+len(lit.Value):]+")"); err == nil {
			return text, true
		}
	}
	return "", false
}

// besideFailure recognises a zero value that is returned beside an error or a false, where nobody looks at it.
func (g *generator) besideFailure(tv types.TypeAndValue) bool {
	parent, child := g.outer()
	r, ok := parent.(*ast.ReturnStmt)
	if !ok || len(r.Results) < 2 || r.Results[len(r.Results)-1] == child {
		return false
	}
	switch tv.Value.Kind() {
	case constant.Bool:
		if constant.BoolVal(tv.Value) {
			return false
		}
	case constant.String:
		if constant.StringVal(tv.Value) != "" {
			return false
		}
	case constant.Int, constant.Float:
		if constant.Sign(tv.Value) != 0 {
			return false
		}
	default:
		return false
	}
	last := g.info.Types[r.Results[len(r.Results)-1]]
	if last.Value != nil && last.Value.Kind() == constant.Bool {
		return !constant.BoolVal(last.Value)
	}
	sig := g.signature()
	return sig != nil && isError(sig.Results().At(sig.Results().Len()-1).Type()) && !last.IsNil()
}

// literal replaces a literal within a constant expression e by text.
func (g *generator) literal(e ast.Expr, op Operator, at, lo, hi token.Pos, text string, tv types.TypeAndValue) {
	m := g.make(op, at, lo, hi, text)
	if m == nil || m.skip != "" {
		return
	}
	src := g.source(e)
	changed := src[:m.lo-g.offset(e.Pos())] + text + src[m.hi-g.offset(e.Pos()):]
	flat, ok := flatten(changed)
	name, expressible := g.typeText(types.Default(tv.Type), e.Pos())
	if _, iface := tv.Type.Underlying().(*types.Interface); iface || !ok || !expressible {
		g.inStatement(m, noHelper)
		return
	}
	elo, ehi := g.offset(e.Pos()), g.offset(e.End())
	infect(m)
	g.wrap(e, func(inner func(lo, hi int) string) string {
		return call("Pick["+name+"]", inner(elo, ehi), flat, ids(m))
	}, m)
}

// intLiteral finds the first integer literal of a constant expression.
func intLiteral(e ast.Expr) *ast.BasicLit {
	var found *ast.BasicLit
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			if n.Kind == token.INT && found == nil {
				found = n
			}
		case *ast.CallExpr:
			// The arguments of len and unsafe.Sizeof are no numbers.
			if name, ok := ast.Unparen(n.Fun).(*ast.Ident); ok && (name.Name == "len" || name.Name == "cap") {
				return false
			}
			if sel, ok := ast.Unparen(n.Fun).(*ast.SelectorExpr); ok {
				if x, ok := sel.X.(*ast.Ident); ok && x.Name == "unsafe" {
					return false
				}
			}
		case *ast.CompositeLit, *ast.FuncLit:
			return false
		}
		return found == nil
	})
	return found
}

// constants mutates constant declarations. Their values are fixed at compile time, so that each is built alone.
func (g *generator) constants(d *ast.GenDecl) {
	for _, s := range d.Specs {
		v, ok := s.(*ast.ValueSpec)
		if !ok {
			continue
		}
		for i, e := range v.Values {
			if i >= len(v.Names) || usesIota(g.info, e) {
				continue
			}
			var m *mutant
			if lit := intLiteral(e); lit != nil {
				n, exact := constant.Int64Val(constant.MakeFromLiteral(lit.Value, token.INT, 0))
				if !exact || n+1 < n {
					continue
				}
				m = g.make(Constant, lit.Pos(), lit.Pos(), lit.End(), strconv.FormatInt(n+1, 10))
			} else if lit, ok := ast.Unparen(e).(*ast.BasicLit); ok && lit.Kind == token.STRING {
				text := `""`
				if s, err := strconv.Unquote(lit.Value); err == nil && s == "" {
					text = `"x"`
				}
				m = g.make(Constant, lit.Pos(), lit.Pos(), lit.End(), text)
			}
			if m == nil {
				continue
			}
			if m.skip == "" && g.tuning(v.Names[i].Name, g.info.TypeOf(e)) {
				m.skip = aridTuning
			}
			m.alone, m.why = true, "a constant is fixed when it is compiled"
		}
	}
}

func usesIota(info *types.Info, e ast.Expr) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		if name, ok := n.(*ast.Ident); ok && info.Uses[name] == types.Universe.Lookup("iota") {
			found = true
		}
		return !found
	})
	return found
}
