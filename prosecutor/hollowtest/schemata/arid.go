package schemata

import (
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"strings"
)

// The reasons for which code is not worth a mutant: no test should assert what it does, or what it does is a guess.
const (
	aridLogging   = "arid: logging, tracing and metrics"
	aridErrorText = "arid: text of an error"
	aridPanic     = "arid: panic"
	aridText      = "arid: String, GoString, Format and Error methods"
	aridGetter    = "arid: plain getter"
	aridCapacity  = "arid: capacity hint"
	aridTuning    = "arid: tuning constant"
	aridSleep     = "arid: sleeping"
	aridCleanup   = "arid: closing and cancelling"
	aridWiring    = "arid: flags and exit of main"
	aridDebug     = "arid: debug output"
	aridBeside    = "arid: a zero value beside a failure"
)

// logPackages hold what logs, traces and counts.
var logPackages = []string{
	"log", "log/slog", "expvar", "go.uber.org/zap", "github.com/rs/zerolog", "github.com/sirupsen/logrus", "github.com/go-logr/logr",
	"k8s.io/klog", "github.com/golang/glog", "github.com/go-kit/log", "github.com/hashicorp/go-hclog", "github.com/prometheus/client_golang",
	"go.opentelemetry.io/otel", "github.com/charmbracelet/log", "runtime/trace",
}

var flagPackages = []string{"flag", "github.com/spf13/pflag"}

var logMethod = regexp.MustCompile(`^(?:Debug|Info|Warn|Warning|Error|Trace|Fatal|Panic|Print|Log)(?:f|ln|w|Context|Ctx)?$`)

var loggerName = regexp.MustCompile(`(?i)^(?:log|logger|lg|slog|zlog|klog|glog|sugar)$`)

// tuningName matches the names of numbers that are chosen and not derived. Limits that decide something are not among
// them.
var tuningName = regexp.MustCompile(`(?i)(?:timeout|interval|backoff|delay|jitter|ttl|bufsize|buffersize|bufferlen|grace|debounce|cooldown|deadline|pollevery|capacity|prealloc|workers|parallelism|concurrency|batchsize|chunksize|pagesize)$`)

// aridity says why nothing below a node is worth a mutant, empty when it is.
func (g *generator) aridity(n ast.Node) string {
	switch n := n.(type) {
	case *ast.FuncDecl:
		return g.aridFunction(n)
	case *ast.CallExpr:
		return g.aridCall(n)
	case *ast.ExprStmt:
		if c, ok := ast.Unparen(n.X).(*ast.CallExpr); ok {
			return g.aridCall(c)
		}
	case *ast.DeferStmt:
		switch methodOrName(n.Call) {
		case "Close", "Flush", "Sync", "Stop", "cancel", "Cancel", "CloseIdleConnections", "Remove", "RemoveAll":
			return aridCleanup
		}
		return g.aridCall(n.Call)
	case *ast.ValueSpec:
		if len(n.Names) == 1 && len(n.Values) == 1 && g.tuning(n.Names[0].Name, g.info.TypeOf(n.Values[0])) && g.info.Types[n.Values[0]].Value != nil {
			return aridTuning
		}
	case *ast.AssignStmt:
		// err = errors.New(...) below; x.Timeout = 5 * time.Second here.
		if len(n.Lhs) == 1 && len(n.Rhs) == 1 && g.info.Types[n.Rhs[0]].Value != nil && g.tuning(lastName(n.Lhs[0]), g.info.TypeOf(n.Rhs[0])) {
			return aridTuning
		}
	case *ast.KeyValueExpr:
		if g.info.Types[n.Value].Value != nil && g.tuning(lastName(n.Key), g.info.TypeOf(n.Value)) {
			return aridTuning
		}
	case *ast.BasicLit:
		if g.isCapacityHint(n) {
			return aridCapacity
		}
		if isDuration(g.info.TypeOf(n)) {
			return aridTuning
		}
	case *ast.BinaryExpr:
		if g.isCapacityHint(n) {
			return aridCapacity
		}
		if isDuration(g.info.TypeOf(n)) && g.info.Types[n].Value != nil {
			return aridTuning
		}
	case ast.Expr:
		if g.isCapacityHint(n) {
			return aridCapacity
		}
	}
	return ""
}

func (g *generator) aridFunction(d *ast.FuncDecl) string {
	if d.Recv == nil || d.Body == nil {
		return ""
	}
	sig, ok := g.info.Defs[d.Name].Type().(*types.Signature)
	if !ok {
		return ""
	}
	returnsString := sig.Params().Len() == 0 && sig.Results().Len() == 1 && isString(sig.Results().At(0).Type())
	switch d.Name.Name {
	case "String", "GoString", "Error":
		if returnsString {
			return aridText
		}
	case "Format":
		if sig.Params().Len() == 2 && sig.Results().Len() == 0 {
			return aridText
		}
	}
	if sig.Params().Len() == 0 && len(d.Body.List) == 1 {
		if r, ok := d.Body.List[0].(*ast.ReturnStmt); ok && len(r.Results) == 1 {
			if sel, ok := r.Results[0].(*ast.SelectorExpr); ok {
				if s := g.info.Selections[sel]; s != nil && s.Kind() == types.FieldVal {
					return aridGetter
				}
			}
		}
	}
	return ""
}

// callee returns the function or method that a call names, nil when a value is called.
func (g *generator) callee(c *ast.CallExpr) *types.Func {
	fun := ast.Unparen(c.Fun)
	if i, ok := fun.(*ast.IndexExpr); ok {
		fun = i.X
	}
	var obj types.Object
	switch f := fun.(type) {
	case *ast.Ident:
		obj = g.info.Uses[f]
	case *ast.SelectorExpr:
		obj = g.info.Uses[f.Sel]
	}
	fn, _ := obj.(*types.Func)
	return fn
}

func from(pkg *types.Package, list []string) bool {
	if pkg == nil {
		return false
	}
	for _, p := range list {
		if pkg.Path() == p || strings.HasPrefix(pkg.Path(), p+"/") {
			return true
		}
	}
	return false
}

func (g *generator) aridCall(c *ast.CallExpr) string {
	fn := g.callee(c)
	if fn == nil {
		name, ok := ast.Unparen(c.Fun).(*ast.Ident)
		if !ok || !g.info.Types[c.Fun].IsBuiltin() {
			return ""
		}
		switch name.Name {
		case "panic":
			return aridPanic
		case "print", "println":
			return aridDebug
		}
		return ""
	}
	path := ""
	if fn.Pkg() != nil {
		path = fn.Pkg().Path()
	}
	if from(fn.Pkg(), logPackages) {
		return aridLogging
	}
	if sel, ok := ast.Unparen(c.Fun).(*ast.SelectorExpr); ok && logMethod.MatchString(sel.Sel.Name) && loggerName.MatchString(lastName(sel.X)) {
		return aridLogging
	}
	switch {
	case path == "errors" && fn.Name() == "New", path == "fmt" && fn.Name() == "Errorf":
		return aridErrorText
	case path == "fmt" && (fn.Name() == "Print" || fn.Name() == "Println" || fn.Name() == "Printf") && g.f.pkg.types.Name() != "main":
		return aridDebug
	case path == "time" && fn.Name() == "Sleep":
		return aridSleep
	case fn.Name() == "Grow" && len(c.Args) >= 1:
		return aridCapacity
	case path == "runtime" && (fn.Name() == "GC" || fn.Name() == "Gosched" || fn.Name() == "KeepAlive"):
		return aridDebug
	}
	if g.inMain() && (from(fn.Pkg(), flagPackages) || path == "os" && fn.Name() == "Exit") {
		return aridWiring
	}
	return ""
}

func (g *generator) inMain() bool {
	if g.f.pkg.types.Name() != "main" {
		return false
	}
	for _, n := range g.stack {
		if d, ok := n.(*ast.FuncDecl); ok {
			return d.Recv == nil && (d.Name.Name == "main" || d.Name.Name == "init")
		}
	}
	return false
}

// isCapacityHint recognises the capacity of make, the size of a map and the buffer of a channel.
func (g *generator) isCapacityHint(e ast.Expr) bool {
	if len(g.stack) == 0 {
		return false
	}
	c, ok := g.stack[len(g.stack)-1].(*ast.CallExpr)
	if !ok || len(c.Args) < 2 || c.Args[len(c.Args)-1] != e || !g.info.Types[c.Fun].IsBuiltin() {
		return false
	}
	name, ok := ast.Unparen(c.Fun).(*ast.Ident)
	if !ok || name.Name != "make" {
		return false
	}
	_, slice := g.info.TypeOf(c.Args[0]).Underlying().(*types.Slice)
	return len(c.Args) == 3 || !slice
}

// tuning reports whether a constant of that name and type is a number somebody chose.
func (g *generator) tuning(name string, t types.Type) bool {
	return isDuration(t) || tuningName.MatchString(name) && t != nil && isNumeric(t)
}

func isDuration(t types.Type) bool {
	if t == nil {
		return false
	}
	n, ok := types.Unalias(t).(*types.Named)
	return ok && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == "time" && n.Obj().Name() == "Duration"
}

func lastName(e ast.Expr) string {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.CallExpr:
		return lastName(e.Fun)
	case *ast.IndexExpr:
		return lastName(e.X)
	case *ast.UnaryExpr:
		if e.Op == token.AND {
			return lastName(e.X)
		}
	}
	return ""
}

// commutative recognises functions for which the order of two arguments of one type says nothing.
func commutative(name string) bool {
	switch strings.ToLower(name) {
	case "max", "min", "equal", "equalfold", "deepequal", "add", "mul", "and", "or", "xor", "union", "intersect", "intersection", "swap", "gcd", "lcm", "hypot", "constanttimecompare", "is":
		return true
	}
	return false
}
