package schemata

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strconv"
)

func isString(t types.Type) bool  { return is(t, types.IsString) }
func isNumeric(t types.Type) bool { return is(t, types.IsNumeric) }
func isInteger(t types.Type) bool { return is(t, types.IsInteger) }
func isBoolean(t types.Type) bool { return is(t, types.IsBoolean) }

func is(t types.Type, flag types.BasicInfo) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&flag != 0
}

// all reports whether a test holds for a type, and for every type of a type parameter. The test is a function of this
// file or a flag of go/types.
func all[F func(types.Type) bool | types.BasicInfo](t types.Type, test F) bool {
	check := func(t types.Type) bool {
		switch f := any(test).(type) {
		case func(types.Type) bool:
			return f(t)
		case types.BasicInfo:
			return is(t, f)
		}
		return false
	}
	p, ok := types.Unalias(t).(*types.TypeParam)
	if !ok {
		return t != nil && check(t)
	}
	iface, ok := p.Constraint().Underlying().(*types.Interface)
	if !ok {
		return false
	}
	return allTerms(iface, check)
}

// allTerms reports whether the type set of an interface is finite and all of it passes a test.
func allTerms(i *types.Interface, check func(types.Type) bool) bool {
	restricted := false
	for k := range i.NumEmbeddeds() {
		switch e := types.Unalias(i.EmbeddedType(k)).(type) {
		case *types.Union:
			good := true
			for n := range e.Len() {
				t := e.Term(n).Type()
				if in, ok := t.Underlying().(*types.Interface); ok {
					good = good && allTerms(in, check)
				} else {
					good = good && check(t)
				}
			}
			restricted = restricted || good
		default:
			if in, ok := e.Underlying().(*types.Interface); ok {
				restricted = restricted || allTerms(in, check)
			} else {
				restricted = restricted || check(e)
			}
		}
	}
	// An intersection passes when any of its parts does.
	return restricted
}

func isError(t types.Type) bool {
	return t != nil && types.Identical(t, types.Universe.Lookup("error").Type())
}

func isPlainBool(t types.Type) bool {
	b, ok := types.Unalias(t).(*types.Basic)
	return ok && (b.Kind() == types.Bool || b.Kind() == types.UntypedBool)
}

// operandType is the type that both operands have once untyped constants are converted.
func (g *generator) operandType(b *ast.BinaryExpr) types.Type {
	if x := g.info.Types[b.X]; x.Value == nil || b.Op == token.SHL || b.Op == token.SHR {
		return x.Type
	}
	return g.info.Types[b.Y].Type
}

// conversion returns how a plain bool is made the type of a boolean expression.
func (g *generator) conversion(e ast.Expr) (func(string) string, bool) {
	t := g.info.TypeOf(e)
	if t == nil || isPlainBool(t) {
		return func(s string) string { return s }, true
	}
	name, ok := g.typeText(t, e.Pos())
	if !ok || !g.resolves("bool", e.Pos(), types.Universe.Lookup("bool")) {
		return nil, false
	}
	return func(s string) string { return name + "(" + s + ")" }, true
}

// untypedShift reports whether an expression may get its type from what surrounds it: a shift of an untyped constant by a
// variable does. Such an expression cannot become an argument.
func (g *generator) untypedShift(e ast.Expr) bool {
	if tv := g.info.Types[e]; tv.Value != nil {
		return false
	}
	switch e := ast.Unparen(e).(type) {
	case *ast.BinaryExpr:
		switch e.Op {
		case token.SHL, token.SHR:
			if g.info.Types[e.X].Value != nil {
				_, conversion := ast.Unparen(e.X).(*ast.CallExpr)
				return !conversion
			}
			return g.untypedShift(e.X)
		case token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ, token.LAND, token.LOR:
			return false
		}
		return g.untypedShift(e.X) || g.untypedShift(e.Y)
	case *ast.UnaryExpr:
		return e.Op != token.AND && e.Op != token.ARROW && g.untypedShift(e.X)
	}
	return false
}

// againstZero recognises comparisons whose boundary says nothing: a length or an unsigned number with zero.
func (g *generator) againstZero(b *ast.BinaryExpr) bool {
	zero := func(e ast.Expr) bool {
		v := g.info.Types[e].Value
		return v != nil && (v.Kind() == constant.Int || v.Kind() == constant.Float) && constant.Sign(v) == 0
	}
	other := b.X
	switch {
	case zero(b.Y):
	case zero(b.X):
		other = b.Y
	default:
		return false
	}
	if is(g.info.TypeOf(other), types.IsUnsigned) {
		return true
	}
	c, ok := ast.Unparen(other).(*ast.CallExpr)
	if !ok || !g.info.Types[c.Fun].IsBuiltin() {
		return false
	}
	name, ok := ast.Unparen(c.Fun).(*ast.Ident)
	return ok && (name.Name == "len" || name.Name == "cap")
}

// total reports whether an expression has no effect and cannot panic, so that it may be evaluated or left out at will.
func total(info *types.Info, e ast.Expr) bool {
	if tv, ok := info.Types[e]; ok && (tv.Value != nil || tv.IsNil() || tv.IsType()) {
		return true
	}
	switch e := e.(type) {
	case *ast.Ident, *ast.BasicLit:
		return true
	case *ast.ParenExpr:
		return total(info, e.X)
	case *ast.KeyValueExpr:
		return total(info, e.Value) && (total(info, e.Key) || isFieldName(info, e.Key))
	case *ast.SelectorExpr:
		s, ok := info.Selections[e]
		if !ok {
			return true // a name of another package
		}
		return s.Kind() == types.FieldVal && !s.Indirect() && !isPointer(info.TypeOf(e.X)) && total(info, e.X)
	case *ast.UnaryExpr:
		return (e.Op == token.SUB || e.Op == token.NOT || e.Op == token.XOR || e.Op == token.ADD) && total(info, e.X)
	case *ast.BinaryExpr:
		switch e.Op {
		case token.QUO, token.REM, token.SHL, token.SHR:
			v := info.Types[e.Y].Value
			if v == nil || v.Kind() != constant.Int || constant.Sign(v) <= 0 {
				return false
			}
		case token.EQL, token.NEQ:
			// Interfaces panic when they hold what cannot be compared.
			if !comparesSafely(info.TypeOf(e.X)) || !comparesSafely(info.TypeOf(e.Y)) {
				return false
			}
		}
		return total(info, e.X) && total(info, e.Y)
	case *ast.CallExpr:
		if len(e.Args) != 1 {
			return false
		}
		if info.Types[e.Fun].IsType() {
			_, basic := info.TypeOf(e.Fun).Underlying().(*types.Basic)
			return basic && total(info, e.Args[0])
		}
		if name, ok := ast.Unparen(e.Fun).(*ast.Ident); ok && info.Types[e.Fun].IsBuiltin() && (name.Name == "len" || name.Name == "cap") {
			return !isPointer(info.TypeOf(e.Args[0])) && total(info, e.Args[0])
		}
	case *ast.CompositeLit:
		if m, ok := info.TypeOf(e).Underlying().(*types.Map); ok && !comparesSafely(m.Key()) {
			return false
		}
		for _, x := range e.Elts {
			if !total(info, x) {
				return false
			}
		}
		return true
	}
	return false
}

func isFieldName(info *types.Info, e ast.Expr) bool {
	name, ok := e.(*ast.Ident)
	if !ok {
		return false
	}
	v, ok := info.Uses[name].(*types.Var)
	return ok && v.IsField()
}

func isPointer(t types.Type) bool {
	_, ok := t.Underlying().(*types.Pointer)
	return ok
}

// comparesSafely reports whether == on a type never panics.
func comparesSafely(t types.Type) bool {
	switch u := t.Underlying().(type) {
	case *types.Basic, *types.Pointer, *types.Chan, *types.Slice, *types.Map, *types.Signature:
		return true // the last three only with nil
	case *types.Array:
		return comparesSafely(u.Elem())
	case *types.Struct:
		for i := range u.NumFields() {
			if !comparesSafely(u.Field(i).Type()) {
				return false
			}
		}
		return true
	}
	return false
}

// addressable reports whether & can be applied to an operand that was assigned to.
func addressable(info *types.Info, e ast.Expr) bool {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		return e.Name != "_"
	case *ast.SelectorExpr, *ast.StarExpr:
		return true
	case *ast.IndexExpr:
		_, isMap := info.TypeOf(e.X).Underlying().(*types.Map)
		return !isMap
	}
	return false
}

// resolves reports whether a name means an object at a position.
func (g *generator) resolves(name string, at token.Pos, obj types.Object) bool {
	scope := g.f.pkg.types.Scope().Innermost(at)
	if scope == nil {
		return false
	}
	_, found := scope.LookupParent(name, at)
	return found == obj
}

// zero writes the zero value of a type.
func (g *generator) zero(t types.Type, at token.Pos) (string, bool) {
	if _, ok := types.Unalias(t).(*types.TypeParam); !ok {
		switch u := t.Underlying().(type) {
		case *types.Basic:
			switch {
			case u.Info()&types.IsString != 0:
				return `""`, true
			case u.Info()&types.IsBoolean != 0:
				return "false", g.resolves("false", at, types.Universe.Lookup("false"))
			case u.Info()&types.IsNumeric != 0:
				return "0", true
			}
		case *types.Pointer, *types.Slice, *types.Map, *types.Chan, *types.Signature, *types.Interface:
			return "nil", g.resolves("nil", at, types.Universe.Lookup("nil"))
		}
	}
	name, ok := g.typeText(t, at)
	return "*new(" + name + ")", ok && g.resolves("new", at, types.Universe.Lookup("new"))
}

// typeText writes a type as the code at a position would name it. It returns false when it cannot be named there.
func (g *generator) typeText(t types.Type, at token.Pos) (string, bool) {
	args := func(base string, list *types.TypeList) (string, bool) {
		if list.Len() == 0 {
			return base, true
		}
		text := base + "["
		for i := range list.Len() {
			s, ok := g.typeText(list.At(i), at)
			if !ok {
				return "", false
			}
			if i > 0 {
				text += ", "
			}
			text += s
		}
		return text + "]", true
	}
	prefixed := func(prefix string, elem types.Type) (string, bool) {
		s, ok := g.typeText(elem, at)
		return prefix + s, ok
	}
	switch t := t.(type) {
	case *types.Basic:
		if t.Kind() == types.UnsafePointer || t.Info()&types.IsUntyped != 0 {
			return "", false
		}
		return t.Name(), g.resolves(t.Name(), at, types.Universe.Lookup(t.Name()))
	case *types.Alias:
		if name, ok := g.objectName(t.Obj(), at); ok {
			return args(name, t.TypeArgs())
		}
		return g.typeText(types.Unalias(t), at)
	case *types.Named:
		name, ok := g.objectName(t.Obj(), at)
		if !ok {
			return "", false
		}
		return args(name, t.TypeArgs())
	case *types.TypeParam:
		return t.Obj().Name(), g.resolves(t.Obj().Name(), at, t.Obj())
	case *types.Pointer:
		return prefixed("*", t.Elem())
	case *types.Slice:
		return prefixed("[]", t.Elem())
	case *types.Array:
		return prefixed("["+strconv.FormatInt(t.Len(), 10)+"]", t.Elem())
	case *types.Map:
		key, ok := g.typeText(t.Key(), at)
		if !ok {
			return "", false
		}
		return prefixed("map["+key+"]", t.Elem())
	case *types.Interface:
		if t.Empty() {
			return "interface{}", true
		}
	case *types.Struct:
		if t.NumFields() == 0 {
			return "struct{}", true
		}
	}
	return "", false
}

// objectName names a type's object as the file can.
func (g *generator) objectName(obj *types.TypeName, at token.Pos) (string, bool) {
	if obj.Pkg() == nil || obj.Pkg() == g.f.pkg.types {
		return obj.Name(), g.resolves(obj.Name(), at, obj)
	}
	if !obj.Exported() {
		return "", false
	}
	scope := g.info.Scopes[g.f.ast]
	for _, name := range scope.Names() {
		p, ok := scope.Lookup(name).(*types.PkgName)
		if ok && p.Imported().Path() == obj.Pkg().Path() && g.resolves(name, at, p) {
			return name + "." + obj.Name(), true
		}
	}
	return "", false
}
