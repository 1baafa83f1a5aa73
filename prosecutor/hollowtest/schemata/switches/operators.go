//go:build go1.21

package switches

type integer interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr
}

type float interface{ ~float32 | ~float64 }

type number interface {
	integer | float | ~complex64 | ~complex128
}

type ordered interface{ integer | float | ~string }

// Less is a < b; its mutants are a <= b and a >= b.
func Less[T ordered](a, b T, boundary, negation int32) bool {
	switch active {
	case boundary:
		return hit() && a <= b
	case negation:
		return hit() && a >= b
	}
	v := a < b
	if recording {
		note(boundary, v != (a <= b))
		note(negation, v != (a >= b))
	}
	return v
}

// LessEq is a <= b; its mutants are a < b and a > b.
func LessEq[T ordered](a, b T, boundary, negation int32) bool {
	switch active {
	case boundary:
		return hit() && a < b
	case negation:
		return hit() && a > b
	}
	v := a <= b
	if recording {
		note(boundary, v != (a < b))
		note(negation, v != (a > b))
	}
	return v
}

// Greater is a > b; its mutants are a >= b and a <= b.
func Greater[T ordered](a, b T, boundary, negation int32) bool {
	switch active {
	case boundary:
		return hit() && a >= b
	case negation:
		return hit() && a <= b
	}
	v := a > b
	if recording {
		note(boundary, v != (a >= b))
		note(negation, v != (a <= b))
	}
	return v
}

// GreaterEq is a >= b; its mutants are a > b and a < b.
func GreaterEq[T ordered](a, b T, boundary, negation int32) bool {
	switch active {
	case boundary:
		return hit() && a > b
	case negation:
		return hit() && a < b
	}
	v := a >= b
	if recording {
		note(boundary, v != (a > b))
		note(negation, v != (a < b))
	}
	return v
}

// The two sides of a && b and a || b. Under swap both sides and the result are negated, which makes one operator of the
// other without evaluating anything twice or too early.

// AndLeft is the left side of a && b; its mutants are a || b and (a || true) && b.
func AndLeft[B ~bool](a B, swap, left int32) B {
	switch active {
	case swap:
		hit()
		return !a
	case left:
		hit()
		return true
	}
	if recording {
		note(swap, bool(!a))
		note(left, bool(!a))
	}
	return a
}

// AndRight is the right side of a && b; its own mutant is a && (b || true).
func AndRight[B ~bool](b B, swap, right int32) B {
	switch active {
	case swap:
		return !b
	case right:
		hit()
		return true
	}
	if recording {
		if !b {
			note(swap, true)
		}
		note(right, bool(!b))
	}
	return b
}

// OrLeft is the left side of a || b; its mutants are a && b and a && false || b.
func OrLeft[B ~bool](a B, swap, left int32) B {
	switch active {
	case swap:
		hit()
		return !a
	case left:
		hit()
		return false
	}
	if recording {
		note(swap, bool(a))
		note(left, bool(a))
	}
	return a
}

// OrRight is the right side of a || b; its own mutant is a || b && false.
func OrRight[B ~bool](b B, swap, right int32) B {
	switch active {
	case swap:
		return !b
	case right:
		hit()
		return false
	}
	if recording {
		if b {
			note(swap, true)
		}
		note(right, bool(b))
	}
	return b
}

// Swapped is the result of a && b and a || b.
func Swapped[B ~bool](v B, swap int32) B {
	if active == swap {
		return !v
	}
	return v
}

// Cond is a condition; its mutants are true and false.
func Cond[B ~bool](v B, yes, no int32) B {
	switch active {
	case yes:
		hit()
		return true
	case no:
		hit()
		return false
	}
	if recording {
		note(yes, bool(!v))
		note(no, bool(v))
	}
	return v
}

// Not is !v; its mutant is v.
func Not[B ~bool](v B, id int32) B {
	if active == id {
		hit()
		return v
	}
	if recording {
		note(id, true)
	}
	return !v
}

// Add is a + b; its mutant is a - b.
func Add[T number](a, b T, id int32) T {
	if active == id {
		hit()
		return a - b
	}
	if recording {
		note(id, a+b != a-b)
	}
	return a + b
}

// Sub is a - b; its mutant is a + b.
func Sub[T number](a, b T, id int32) T {
	if active == id {
		hit()
		return a + b
	}
	if recording {
		note(id, a+b != a-b)
	}
	return a - b
}

// Mul is a * b; its mutant is a / b.
func Mul[T number](a, b T, id int32) T {
	if active == id {
		hit()
		return a / b
	}
	if recording {
		note(id, b == 0 || a*b != a/b)
	}
	return a * b
}

// Quo is a / b; its mutant is a * b.
func Quo[T number](a, b T, id int32) T {
	if active == id {
		hit()
		return a * b
	}
	if recording {
		note(id, b == 0 || a*b != a/b)
	}
	return a / b
}

// Rem is a % b; its mutant is a * b.
func Rem[T integer](a, b T, id int32) T {
	if active == id {
		hit()
		return a * b
	}
	if recording {
		note(id, b == 0 || a*b != a%b)
	}
	return a % b
}

// BitAnd is a & b; its mutant is a | b.
func BitAnd[T integer](a, b T, id int32) T {
	if active == id {
		hit()
		return a | b
	}
	if recording {
		note(id, a&b != a|b)
	}
	return a & b
}

// BitOr is a | b; its mutant is a & b.
func BitOr[T integer](a, b T, id int32) T {
	if active == id {
		hit()
		return a & b
	}
	if recording {
		note(id, a&b != a|b)
	}
	return a | b
}

// BitXor is a ^ b; its mutant is a & b.
func BitXor[T integer](a, b T, id int32) T {
	if active == id {
		hit()
		return a & b
	}
	if recording {
		note(id, a&b != a^b)
	}
	return a ^ b
}

// BitClear is a &^ b; its mutant is a & b.
func BitClear[T integer](a, b T, id int32) T {
	if active == id {
		hit()
		return a & b
	}
	if recording {
		note(id, a&b != a&^b)
	}
	return a &^ b
}

// Shl is a << n; its mutant is a >> n.
func Shl[T, N integer](a T, n N, id int32) T {
	if active == id {
		hit()
		return a >> n
	}
	if recording {
		note(id, n < 0 || a<<n != a>>n)
	}
	return a << n
}

// Shr is a >> n; its mutant is a << n.
func Shr[T, N integer](a T, n N, id int32) T {
	if active == id {
		hit()
		return a << n
	}
	if recording {
		note(id, n < 0 || a<<n != a>>n)
	}
	return a >> n
}

// Neg is -v; its mutant is v.
func Neg[T number](v T, id int32) T {
	if active == id {
		hit()
		return v
	}
	if recording {
		note(id, v != -v)
	}
	return -v
}

// Flip is ^v; its mutant is v.
func Flip[T integer](v T, id int32) T {
	if active == id {
		hit()
		return v
	}
	if recording {
		note(id, true)
	}
	return ^v
}

// Cat is a + b; its mutants are a and b.
func Cat[S ~string](a, b S, left, right int32) S {
	switch active {
	case left:
		hit()
		return a
	case right:
		hit()
		return b
	}
	if recording {
		note(left, b != "")
		note(right, a != "")
	}
	return a + b
}

// Inc is v++; its mutant is v--.
func Inc[T number](v *T, id int32) {
	if active == id {
		hit()
		*v--
		return
	}
	if recording {
		note(id, true)
	}
	*v++
}

// Dec is v--; its mutant is v++.
func Dec[T number](v *T, id int32) {
	if active == id {
		hit()
		*v++
		return
	}
	if recording {
		note(id, true)
	}
	*v--
}

// Plus is v; its mutant is v + d.
func Plus[T integer](v T, d int, id int32) T {
	if active == id {
		hit()
		return v + T(d)
	}
	if recording {
		note(id, true)
	}
	return v
}

// Pick is v; its mutant is w.
func Pick[T comparable](v, w T, id int32) T {
	if active == id {
		hit()
		return w
	}
	if recording {
		note(id, v != w)
	}
	return v
}

// Sel is v; its mutant is w.
func Sel[T any](v, w T, id int32) T {
	if On(id) {
		return w
	}
	return v
}
