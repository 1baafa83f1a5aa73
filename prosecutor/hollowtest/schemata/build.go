package schemata

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

//go:embed switches/*.go
var switchFiles embed.FS

// runtimeDir is where package switches appears to be, within each module. It exists in the overlay only.
const runtimeDir = "zzhollow"

// workspace writes the instrumented files of one module and compiles them. Nothing is written below the checkout.
type workspace struct {
	tool     *toolchain
	mod      *module
	dir      string // of the written files
	overlay  map[string]string
	packages []*pkg
	sites    map[*file][]*site
	files    int
}

func newWorkspace(t *toolchain, m *module, dir string) (*workspace, error) {
	w := &workspace{tool: t, mod: m, dir: dir, overlay: map[string]string{}, sites: map[*file][]*site{}}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("preparing a build: %w", err)
	}
	return w, nil
}

func (w *workspace) runtimePath() string { return path.Join(w.mod.path, runtimeDir) }

// write puts a file into the overlay.
func (w *workspace) write(abs string, data string) error {
	w.files++
	to := filepath.Join(w.dir, strconv.Itoa(w.files)+"_"+filepath.Base(abs))
	if err := os.WriteFile(to, []byte(data), 0o600); err != nil { //nolint:gosec // the name is a number and a base name, below our own directory
		return fmt.Errorf("writing an instrumented file: %w", err)
	}
	w.overlay[abs] = to
	return nil
}

// writeRuntime adds package switches for mutants up to number most.
func (w *workspace) writeRuntime(most int32) error {
	entries, err := switchFiles.ReadDir("switches")
	if err != nil {
		return fmt.Errorf("reading the embedded runtime: %w", err)
	}
	for _, e := range entries {
		data, err := switchFiles.ReadFile("switches/" + e.Name())
		if err != nil {
			return fmt.Errorf("reading the embedded runtime: %w", err)
		}
		text := string(data)
		if strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		if e.Name() == "size.go" {
			text = fmt.Sprintf("//go:build go1.21\n\npackage switches\n\nconst mutants = %d\n", most)
		}
		if err := w.write(filepath.Join(w.mod.dir, runtimeDir, e.Name()), text); err != nil {
			return err
		}
	}
	return nil
}

// render writes the mutated files. Before, it makes sure that they compile: mutants that do not are marked to be built
// alone.
func (w *workspace) render() error {
	for _, p := range w.packages {
		texts, err := w.settle(p)
		if err != nil {
			return err
		}
		for f, text := range texts {
			if err := w.write(f.abs, text); err != nil {
				return err
			}
		}
	}
	return nil
}

// settle renders the files of a package until they type-check.
func (w *workspace) settle(p *pkg) (map[*file]string, error) {
	const rounds = 6
	for round := range rounds {
		texts := make(map[*file]string)
		for _, f := range p.files {
			if live(w.sites[f]) {
				texts[f] = header(f, splice(f.src, 0, len(f.src), nest(w.sites[f])), w.runtimePath())
			}
		}
		if len(texts) == 0 {
			return texts, nil
		}
		problems := w.check(p, texts)
		if len(problems) == 0 {
			return texts, nil
		}
		if os.Getenv("PROSECUTOR_HOLLOW_DEBUG") != "" {
			for _, e := range problems {
				fmt.Fprintln(os.Stderr, "hollow-test:", e.file.path, e.line, e.text)
			}
		}
		dropped := 0
		for _, e := range problems {
			dropped += w.drop(e.file, e.line, e.line, round == rounds-2, e.text)
		}
		if dropped == 0 {
			// An error at the end of a function is caused by something in it.
			for _, e := range problems {
				lo, hi := functionAround(e.file, e.line)
				dropped += w.drop(e.file, lo, hi, false, e.text)
			}
		}
		if dropped == 0 {
			return nil, fmt.Errorf("instrumenting %s: %s:%d: %s", p.list.ImportPath, problems[0].file.path, problems[0].line, problems[0].text)
		}
	}
	return nil, fmt.Errorf("instrumenting %s: the files do not settle", p.list.ImportPath)
}

func live(sites []*site) bool {
	for _, s := range sites {
		for _, m := range s.mutants {
			if m.id != 0 && !m.alone {
				return true
			}
		}
	}
	return false
}

// drop takes the mutants that touch a range of lines out of the build, or all of the file.
func (w *workspace) drop(f *file, from, to int, whole bool, why string) int {
	n := 0
	for _, s := range w.sites[f] {
		if lo, hi := lineAt(f.src, s.lo), lineAt(f.src, s.hi); !whole && (to < lo || from > hi) {
			continue
		}
		for _, m := range s.mutants {
			if m.id != 0 {
				m.id, m.alone, m.why = 0, true, "it does not compile beside the others: "+why
				n++
			}
		}
	}
	return n
}

// functionAround returns the lines of the declaration that holds a line.
func functionAround(f *file, line int) (lo, hi int) {
	for _, d := range f.ast.Decls {
		lo, hi := f.pkg.fset.PositionFor(d.Pos(), false).Line, f.pkg.fset.PositionFor(d.End(), false).Line
		if lo <= line && line <= hi {
			return lo, hi
		}
	}
	return line, line
}

func lineAt(src []byte, offset int) int { return strings.Count(string(src[:offset]), "\n") + 1 }

// problem is a compile error of an instrumented file.
type problem struct {
	file *file
	line int
	text string
}

// check type-checks a package with instrumented files.
func (w *workspace) check(p *pkg, texts map[*file]string) []problem {
	fset := token.NewFileSet()
	look := newExports(fset, p.lookup.files, p.lookup.maps)
	runtime, err := checkRuntime(fset, look, w.runtimePath())
	if err != nil {
		return []problem{{file: p.files[0], text: err.Error()}}
	}
	var problems []problem
	var asts []*ast.File
	byName := make(map[string]*file)
	for _, f := range p.files {
		var src any = f.src
		if text, ok := texts[f]; ok {
			src = text
		}
		byName[f.abs] = f
		parsed, err := parser.ParseFile(fset, f.abs, src, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			line := 0
			if parsed != nil && parsed.Name != nil {
				if m := positionOf.FindStringSubmatch(err.Error()); m != nil {
					line, _ = strconv.Atoi(m[1])
				}
			}
			problems = append(problems, problem{f, line, err.Error()})
			continue
		}
		asts = append(asts, parsed)
	}
	if len(problems) > 0 {
		return problems
	}
	config := p.config
	config.Importer = withRuntime{look.imp, w.runtimePath(), runtime}
	config.Error = func(err error) {
		var e types.Error
		if errors.As(err, &e) {
			at := fset.Position(e.Pos)
			if f := byName[at.Filename]; f != nil {
				problems = append(problems, problem{f, at.Line, e.Msg})
			}
		}
	}
	if _, err := config.Check(p.list.ImportPath, fset, asts, nil); err != nil && len(problems) == 0 {
		problems = append(problems, problem{file: p.files[0], text: err.Error()})
	}
	return problems
}

var positionOf = regexp.MustCompile(`:(\d+):\d+: `)

type withRuntime struct {
	types.Importer
	path string
	pkg  *types.Package
}

func (i withRuntime) Import(name string) (*types.Package, error) {
	if name == i.path {
		return i.pkg, nil
	}
	return i.Importer.Import(name)
}

func checkRuntime(fset *token.FileSet, look *exports, name string) (*types.Package, error) {
	entries, err := switchFiles.ReadDir("switches")
	if err != nil {
		return nil, fmt.Errorf("reading the embedded runtime: %w", err)
	}
	var asts []*ast.File
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		data, err := switchFiles.ReadFile("switches/" + e.Name())
		if err != nil {
			return nil, fmt.Errorf("reading the embedded runtime: %w", err)
		}
		f, err := parser.ParseFile(fset, e.Name(), data, parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("parsing the embedded runtime: %w", err)
		}
		asts = append(asts, f)
	}
	config := types.Config{Importer: look.imp, IgnoreFuncBodies: true}
	return config.Check(name, fset, asts, nil)
}

// instrumentTests makes the tests of a package say which of them runs. It returns their names.
func (w *workspace) instrumentTests(list *listed) ([]testFunc, error) {
	var tests []testFunc
	for _, name := range slices.Concat(list.TestGoFiles, list.XTestGoFiles) {
		abs := filepath.Join(list.Dir, name)
		src, err := os.ReadFile(abs)
		if err != nil {
			return nil, fmt.Errorf("reading a test file: %w", err)
		}
		text, found, ok := instrumentTest(abs, src, w.runtimePath())
		if !ok {
			continue
		}
		tests = append(tests, found...)
		if err := w.write(abs, text); err != nil {
			return nil, err
		}
	}
	return tests, nil
}

// instrumentTest inserts calls of Enter. It returns false for a file that does not parse or has nothing to insert.
func instrumentTest(abs string, src []byte, runtimePath string) (string, []testFunc, bool) {
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, abs, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return "", nil, false
	}
	offset := func(p token.Pos) int { return fset.PositionFor(p, false).Offset }
	var tests []testFunc
	var sites []*site
	insert := func(at int, text string) {
		sites = append(sites, &site{lo: at, hi: at, render: func(func(lo, hi int) string) string { return text }})
	}
	for _, d := range parsed.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Body == nil {
			continue
		}
		if fn.Recv == nil && isTestName(fn.Name.Name) {
			uses := make(map[string]bool)
			ast.Inspect(fn.Body, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok {
					uses[id.Name] = true
				}
				return true
			})
			tests = append(tests, testFunc{name: fn.Name.Name, file: filepath.Base(abs), uses: uses})
			insert(offset(fn.Body.Lbrace)+1, fmt.Sprintf(" %s.Enter(%q); ", runtimeName, fn.Name.Name))
		}
		var params [][]string
		var visit func(n ast.Node) bool
		within := func(typ *ast.FuncType, body *ast.BlockStmt) {
			var ts []string
			for _, p := range typ.Params.List {
				if string(src[offset(p.Type.Pos()):offset(p.Type.End())]) == "*testing.T" {
					for _, n := range p.Names {
						ts = append(ts, n.Name)
					}
				}
			}
			params = append(params, ts)
			ast.Inspect(body, visit)
			params = params[:len(params)-1]
		}
		visit = func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncLit:
				within(n.Type, n.Body)
				return false
			case *ast.ExprStmt:
				c, ok := n.X.(*ast.CallExpr)
				if !ok || methodName(c) != "Parallel" || len(c.Args) > 0 {
					return true
				}
				sel, _ := c.Fun.(*ast.SelectorExpr)
				x, ok := sel.X.(*ast.Ident)
				if ok && slices.ContainsFunc(params, func(ts []string) bool { return slices.Contains(ts, x.Name) }) {
					insert(offset(n.End()), fmt.Sprintf("; %s.Enter(%s.Name())", runtimeName, x.Name))
				}
			}
			return true
		}
		within(fn.Type, fn.Body)
	}
	if len(sites) == 0 {
		return "", nil, false
	}
	body := splice(src, 0, len(src), nest(sites))
	end := offset(parsed.Name.End())
	return body[:end] + fmt.Sprintf("; import %s %q", runtimeName, runtimePath) + body[end:], tests, true
}

func isTestName(name string) bool {
	for _, prefix := range []string{"Test", "Fuzz", "Example"} {
		if rest, ok := strings.CutPrefix(name, prefix); ok && name != "TestMain" {
			return rest == "" || rest[0] < 'a' || rest[0] > 'z'
		}
	}
	return false
}

// buildError is a build that failed because of the source.
type buildError struct{ output string }

func (e *buildError) Error() string {
	text := strings.TrimSpace(e.output)
	if len(text) > 1500 {
		text = text[:1500] + "..."
	}
	return "the tests do not build: " + text
}

// compile builds the test binaries of packages with the overlay, and returns their paths by import path. Packages with
// the same last element are built one after the other, for the go command names binaries by it.
func (w *workspace) compile(ctx context.Context, out string, packages []*listed) (map[string]string, error) {
	replace, err := json.Marshal(map[string]any{"Replace": w.overlay})
	if err != nil {
		return nil, fmt.Errorf("writing the overlay: %w", err)
	}
	w.files++
	overlay := filepath.Join(w.dir, strconv.Itoa(w.files)+"_overlay.json")
	if err := os.WriteFile(overlay, replace, 0o600); err != nil {
		return nil, fmt.Errorf("writing the overlay: %w", err)
	}
	binaries := make(map[string]string)
	for len(packages) > 0 {
		taken := make(map[string]bool)
		var now, later []*listed
		for _, p := range packages {
			if taken[binaryName(p)] {
				later = append(later, p)
				continue
			}
			taken[binaryName(p)] = true
			now = append(now, p)
		}
		w.files++
		dir := filepath.Join(out, strconv.Itoa(w.files))
		if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // the tests may run as another account
			return nil, fmt.Errorf("preparing a build: %w", err)
		}
		args := []string{"test", "-c", "-vet=off", "-overlay=" + overlay, "-o", dir + string(filepath.Separator)}
		args = append(args, w.tool.unless("-ldflags", "-s -w")...)
		args = append(args, w.tool.unless("-gcflags", "-dwarf=false")...)
		for _, p := range now {
			args = append(args, p.ImportPath)
		}
		if _, err := w.tool.run(ctx, w.mod.dir, w.mod.env, args...); err != nil {
			var failed *goError
			if errors.As(err, &failed) {
				return nil, &buildError{failed.output}
			}
			return nil, err
		}
		for _, p := range now {
			for _, name := range []string{binaryName(p), path.Base(p.ImportPath)} {
				bin := filepath.Join(dir, name+".test")
				if _, err := os.Stat(bin); err == nil {
					binaries[p.ImportPath] = bin
					break
				}
			}
		}
		packages = later
	}
	return binaries, nil
}

var versionElement = regexp.MustCompile(`^v[0-9]+$`)

// binaryName is how the go command names the test binary of a package: the last element of its path, or the one before a
// major version.
func binaryName(p *listed) string {
	base := path.Base(p.ImportPath)
	if versionElement.MatchString(base) {
		if dir := path.Dir(p.ImportPath); dir != "." && dir != "/" {
			base = path.Base(dir)
		}
	}
	return base
}
