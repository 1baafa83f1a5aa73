package schemata

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest"
)

// listed is what `go list` says about a package.
type listed struct {
	ImportPath        string
	Dir               string
	Name              string
	Export            string
	GoFiles           []string
	CgoFiles          []string
	IgnoredGoFiles    []string
	TestGoFiles       []string
	XTestGoFiles      []string
	Imports           []string
	TestImports       []string
	XTestImports      []string
	ImportMap         map[string]string
	InvalidGoFiles    []string
	IgnoredOtherFiles []string
	Module            *struct {
		Path      string
		Dir       string
		GoVersion string
	}
	Error *struct {
		Pos string
		Err string
	}
	DepsErrors []struct{ Err string }
}

const listFields = "ImportPath,Dir,Name,GoFiles,CgoFiles,IgnoredGoFiles,TestGoFiles,XTestGoFiles,Imports,TestImports,XTestImports,ImportMap,InvalidGoFiles,Module,Error"

// module is a Go module of the checkout with all of its packages.
type module struct {
	dir      string // absolute
	rel      string // from the root of the checkout, "." for itself
	path     string
	goarch   string
	version  string // of the language, such as "1.21"; empty when go.mod names none
	packages map[string]*listed
	byDir    map[string]*listed
	env      []string
}

// toolchain runs the go command for one run.
type toolchain struct {
	exec    hollowtest.Executor
	env     []string
	scratch string
	goarch  string
	// read and write are the directories of the tool chain.
	read, write []string
}

// run runs the go command and returns its standard output and error in one. Only builds and lists go through here;
// they run none of the repository's code.
func (t *toolchain) run(ctx context.Context, dir string, env []string, args ...string) ([]byte, error) {
	res, err := t.exec.Run(ctx, hollowtest.Command{
		Kind: hollowtest.BuildCommand, Argv: append([]string{"go"}, args...), Dir: dir, Env: env,
		Read: t.read, Write: append([]string{t.scratch}, t.write...), Output: 64 << 20,
	})
	if err != nil {
		return nil, fmt.Errorf("running go %s: %w", args[0], err)
	}
	if res.Exit == nil || *res.Exit != 0 {
		return res.Output, &goError{verb: args[0], output: strings.TrimSpace(string(res.Output))}
	}
	return res.Output, nil
}

// unless gives a flag that makes builds faster, but not where the environment sets the flag: tests may need what it says.
func (t *toolchain) unless(flag, value string) []string {
	for _, e := range t.env {
		set, ok := strings.CutPrefix(e, "GOFLAGS=")
		if ok && slices.ContainsFunc(strings.Fields(set), func(f string) bool { return strings.HasPrefix(strings.TrimLeft(f, `"'-`), flag[1:]+"=") }) {
			return nil
		}
	}
	return []string{flag + "=" + value}
}

// goError is a go command that failed.
type goError struct{ verb, output string }

func (e *goError) Error() string {
	text := e.output
	if len(text) > 2000 {
		text = text[:2000] + "..."
	}
	return fmt.Sprintf("go %s failed: %s", e.verb, text)
}

// list decodes the output of go list -json. The go command writes warnings into the same stream, which stand before and
// between the objects.
func decodeList(out []byte) ([]*listed, error) {
	var all []*listed
	for len(out) > 0 {
		i := bytes.IndexByte(out, '{')
		if i < 0 {
			break
		}
		if i > 0 && out[i-1] != '\n' {
			// A brace within a line of text.
			next := bytes.IndexByte(out, '\n')
			if next < 0 {
				break
			}
			out = out[next+1:]
			continue
		}
		d := json.NewDecoder(bytes.NewReader(out[i:]))
		var p listed
		if err := d.Decode(&p); err != nil {
			if errors.Is(err, io.EOF) {
				break
			}
			return nil, fmt.Errorf("reading the output of go list: %w", err)
		}
		all = append(all, &p)
		out = out[i+int(d.InputOffset()):]
	}
	return all, nil
}

// findModule returns the directory of the module that holds a file, relative to the root, or "" when none does.
func findModule(root, name string) string {
	for dir := path.Dir(name); ; dir = path.Dir(dir) {
		if info, err := os.Lstat(filepath.Join(root, filepath.FromSlash(dir), "go.mod")); err == nil && info.Mode().IsRegular() {
			return dir
		}
		if dir == "." || dir == "/" {
			return ""
		}
	}
}

// loadModule lists the packages of one module.
func (t *toolchain) loadModule(ctx context.Context, root, rel string) (*module, error) {
	m := &module{dir: filepath.Join(root, filepath.FromSlash(rel)), rel: rel, packages: map[string]*listed{}, byDir: map[string]*listed{}, env: t.env, goarch: t.goarch}
	args := []string{"list", "-e", "-json=" + listFields, "./..."}
	out, err := t.run(ctx, m.dir, m.env, args...)
	var failed *goError
	if errors.As(err, &failed) || (err == nil && bytes.Contains(out, []byte("go.work"))) {
		// A module that the workspace does not name is measured by itself.
		env := append(slices.Clone(t.env), "GOWORK=off")
		if again, err2 := t.run(ctx, m.dir, env, args...); err2 == nil {
			out, err, m.env = again, nil, env
		}
	}
	if err != nil {
		return nil, err
	}
	all, err := decodeList(out)
	if err != nil {
		return nil, err
	}
	for _, p := range all {
		if p.Module == nil || p.Dir == "" {
			continue
		}
		if m.path == "" {
			m.path, m.version = p.Module.Path, p.Module.GoVersion
		}
		if p.Module.Path == m.path {
			m.packages[p.ImportPath] = p
			m.byDir[p.Dir] = p
		}
	}
	if m.path == "" {
		for _, p := range all {
			if p.Error != nil {
				return nil, fmt.Errorf("listing the packages of the module in %q: %s", rel, strings.TrimSpace(p.Error.Err))
			}
		}
	}
	return m, nil
}

// excluded reports whether the build constraints leave a file out that is in no listed package.
func (t *toolchain) excluded(ctx context.Context, m *module, abs string) (bool, error) {
	out, err := t.run(ctx, m.dir, m.env, "list", "-e", "-json="+listFields, "--", filepath.Dir(abs))
	if err != nil {
		return false, err
	}
	all, err := decodeList(out)
	if err != nil {
		return false, err
	}
	for _, p := range all {
		if slices.Contains(p.IgnoredGoFiles, filepath.Base(abs)) {
			return true, nil
		}
	}
	return false, nil
}

// hasTests reports whether a package has test files at all.
func (p *listed) hasTests() bool { return len(p.TestGoFiles)+len(p.XTestGoFiles) > 0 }

// dependents returns the packages of the module whose tests may reach a package, nearest first, without itself.
func (m *module) dependents(target string) []string {
	importers := make(map[string][]string) // by imported package, through the code that tests link too
	for name, p := range m.packages {
		for _, i := range p.Imports {
			importers[mapped(p, i)] = append(importers[mapped(p, i)], name)
		}
	}
	distance := map[string]int{target: 0}
	queue := []string{target}
	for len(queue) > 0 {
		p := queue[0]
		queue = queue[1:]
		for _, i := range importers[p] {
			if _, ok := distance[i]; !ok {
				distance[i] = distance[p] + 1
				queue = append(queue, i)
			}
		}
	}
	tested := make(map[string]int)
	for name, p := range m.packages {
		if name == target || !p.hasTests() {
			continue
		}
		best := -1
		consider := func(d int, ok bool) {
			if ok && (best < 0 || d < best) {
				best = d
			}
		}
		d, ok := distance[name]
		consider(d, ok)
		for _, i := range slices.Concat(p.TestImports, p.XTestImports) {
			d, ok := distance[mapped(p, i)]
			consider(d+1, ok)
		}
		if best >= 0 {
			tested[name] = best
		}
	}
	names := make([]string, 0, len(tested))
	for name := range tested {
		names = append(names, name)
	}
	sort.Slice(names, func(i, j int) bool {
		if tested[names[i]] != tested[names[j]] {
			return tested[names[i]] < tested[names[j]]
		}
		return names[i] < names[j]
	})
	return names
}

func mapped(p *listed, name string) string {
	if to, ok := p.ImportMap[name]; ok {
		return to
	}
	return name
}

// pkg is a type-checked package that is mutated.
type pkg struct {
	mod    *module
	list   *listed
	fset   *token.FileSet
	files  []*file
	types  *types.Package
	info   *types.Info
	config types.Config
	lookup *exports
}

// file is a source file of a mutated package.
type file struct {
	pkg     *pkg
	path    string // from the root of the checkout, with slashes
	abs     string
	src     []byte
	ast     *ast.File
	lines   map[int]bool // changed
	imports map[string]string
	cgo     bool
}

// exports finds the export data of imported packages.
type exports struct {
	files map[string]string // by import path, after the import map
	maps  map[string]string
	imp   types.Importer
}

func newExports(fset *token.FileSet, files, maps map[string]string) *exports {
	e := &exports{files: files, maps: maps}
	e.imp = importer.ForCompiler(fset, "gc", func(name string) (io.ReadCloser, error) {
		name = e.resolve(name)
		f := e.files[name]
		if f == "" {
			return nil, fmt.Errorf("no export data of %s", name)
		}
		return os.Open(f)
	})
	return e
}

func (e *exports) resolve(name string) string {
	if to, ok := e.maps[name]; ok {
		return to
	}
	return name
}

// runtimeImports are the imports of package switches, which is type-checked with the instrumented files.
var runtimeImports = []string{"errors", "os", "strconv", "strings", "sync", "sync/atomic"}

// exportData compiles the imports of packages and says where their export data is.
func (t *toolchain) exportData(ctx context.Context, m *module, of []*listed) (map[string]string, error) {
	want := map[string]bool{}
	for _, i := range runtimeImports {
		want[i] = true
	}
	for _, p := range of {
		for _, i := range p.Imports {
			if i != "C" && i != "unsafe" {
				want[mapped(p, i)] = true
			}
		}
	}
	names := make([]string, 0, len(want))
	for n := range want {
		names = append(names, n)
	}
	sort.Strings(names)
	out, err := t.run(ctx, m.dir, m.env, append([]string{"list", "-e", "-export", "-json=ImportPath,Export,Error", "--"}, names...)...)
	if err != nil {
		return nil, err
	}
	all, err := decodeList(out)
	if err != nil {
		return nil, err
	}
	files := make(map[string]string)
	for _, p := range all {
		if p.Export == "" && p.Error != nil {
			return nil, fmt.Errorf("package %s does not build: %s", p.ImportPath, strings.TrimSpace(p.Error.Err))
		}
		files[p.ImportPath] = p.Export
	}
	return files, nil
}

// load parses and type-checks one package.
func (t *toolchain) load(m *module, list *listed, export map[string]string, root string) (*pkg, error) {
	if list.Error != nil {
		return nil, fmt.Errorf("package %s: %s", list.ImportPath, strings.TrimSpace(list.Error.Err))
	}
	p := &pkg{mod: m, list: list, fset: token.NewFileSet()}
	p.lookup = newExports(p.fset, export, list.ImportMap)
	for _, name := range slices.Concat(list.GoFiles, list.CgoFiles) {
		f, err := p.parse(root, name)
		if err != nil {
			return nil, err
		}
		f.cgo = slices.Contains(list.CgoFiles, name)
		p.files = append(p.files, f)
	}
	p.config = types.Config{Importer: p.lookup.imp, FakeImportC: true, Sizes: types.SizesFor("gc", m.goarch)}
	if m.version != "" {
		p.config.GoVersion = "go" + m.version
	}
	p.info = newInfo()
	var asts []*ast.File
	for _, f := range p.files {
		asts = append(asts, f.ast)
	}
	var err error
	if p.types, err = p.config.Check(list.ImportPath, p.fset, asts, p.info); err != nil {
		return nil, fmt.Errorf("package %s does not compile: %w", list.ImportPath, err)
	}
	return p, nil
}

func newInfo() *types.Info {
	return &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
		Selections: map[*ast.SelectorExpr]*types.Selection{}, Implicits: map[ast.Node]types.Object{}, Scopes: map[ast.Node]*types.Scope{},
		Instances: map[*ast.Ident]types.Instance{},
	}
}

func (p *pkg) parse(root, name string) (*file, error) {
	abs := filepath.Join(p.list.Dir, name)
	src, err := os.ReadFile(abs)
	if err != nil {
		return nil, fmt.Errorf("reading a source file: %w", err)
	}
	rel, err := filepath.Rel(root, abs)
	if err != nil {
		return nil, fmt.Errorf("placing a source file: %w", err)
	}
	f := &file{pkg: p, path: filepath.ToSlash(rel), abs: abs, src: src, imports: map[string]string{}}
	if f.ast, err = parser.ParseFile(p.fset, abs, src, parser.ParseComments|parser.SkipObjectResolution); err != nil {
		return nil, fmt.Errorf("package %s does not compile: %w", p.list.ImportPath, err)
	}
	return f, nil
}
