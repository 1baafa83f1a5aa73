// Package generated tells which changed files the base branch marks as generated, vendored or lock files. They count no
// lines of the blast radius (semantics 4), and judges are not shown them by default, except for vendored ones, which are
// read (semantics 2).
//
// Leaving a file out is the dangerous direction: what judges do not see they cannot accuse. So only the base says what
// is left out, never the head; what is new in the head is left out only by the base's .gitattributes or as a lock file;
// and what belongs to the gate itself, as well as links and submodules, is always shown.
//
// The rules are those that github-linguist documents, as far as they name code that nobody writes by hand. The classifier
// of go-enry is not used: its tables take 20 ms and 16 MB at the start of every process, and they also take as vendored
// what people write and builds execute (Jenkinsfile, .github/, cache/, env/, gradlew).
package generated

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/prosecutor/blast"
	"github.com/prosecutor-bot/prosecutor/prosecutor/diff"
)

// The reasons for which a file is left out.
const (
	LockFile           = "lock file"
	GeneratedAttribute = "generated (.gitattributes)"
	VendoredAttribute  = "vendored (.gitattributes)"
	GeneratedPath      = "generated (path rule)"
	VendoredPath       = "vendored (path rule)"
	GeneratedContent   = "generated (content at the base)"
	gitattributes      = ".gitattributes"
	linguistGenerated  = "linguist-generated"
	linguistVendored   = "linguist-vendored"
	mostErrors         = 5
	mostContent        = 8 << 20 // bytes; no rule needs more, and nobody writes such a file
)

// Base reads the base of a case.
type Base interface {
	// ReadFile returns the content of a file at the base; ok is false when the base has no such file, which is not an
	// error.
	ReadFile(ctx context.Context, path string) (content []byte, ok bool, err error)
}

// Classify returns the changed files that are generated, vendored or lock files, by their path and with the reason. A
// rename or a copy is one only when both of its names are, and then both are in the map. Classify reads each
// .gitattributes on the way to a changed file once, and of the changed files only those for whose kind there is a rule
// about content.
//
// When something could not be read, what depends on it could not be told: it is not in the map, and the error names it.
// The map is right without it, only smaller; it is never nil.
func Classify(ctx context.Context, d *diff.Diff, base Base) (map[string]string, error) {
	c := &classifier{base: base, attributes: make(map[string]attributesRead)}
	marked := make(map[string]string)
	shown := make(map[string]bool)
	var problems []error
	more := 0
	for _, f := range d.Files {
		if err := ctx.Err(); err != nil {
			return marked, fmt.Errorf("telling generated files: %w", err)
		}
		reason, err := c.file(ctx, f)
		if err != nil {
			if len(problems) < mostErrors {
				problems = append(problems, fmt.Errorf("telling whether %q is generated: %w", f.Path(), err))
			} else {
				more++
			}
			reason = ""
		}
		// A type change has two sections of one path, and both have to be out of sight.
		if reason == "" {
			shown[f.Path()] = true
			continue
		}
		for _, name := range []string{f.OldPath, f.NewPath} {
			if name != "" {
				marked[name] = reason
			}
		}
	}
	for name := range shown {
		delete(marked, name)
	}
	if more > 0 {
		problems = append(problems, fmt.Errorf("and %d more files", more))
	}
	return marked, errors.Join(problems...)
}

type classifier struct {
	base       Base
	attributes map[string]attributesRead // by directory
}

type attributesRead struct {
	file *attributeFile // nil where the base has none
	err  error
}

// file returns why a changed file is left out, or "".
func (c *classifier) file(ctx context.Context, f *diff.File) (string, error) {
	if f.Submodule() || f.Symlink() {
		return "", nil
	}
	if f.Status == diff.Renamed || f.Status == diff.Copied {
		// What is taken from a file that people write, or made one, is shown.
		if reason, err := c.name(ctx, f.OldPath, true, f.Binary); reason == "" || err != nil {
			return "", err
		}
		return c.name(ctx, f.NewPath, false, f.Binary)
	}
	atBase := f.Status == diff.Modified || f.Status == diff.Deleted
	return c.name(ctx, f.Path(), atBase, f.Binary)
}

// name returns why the file of that name is left out, or "". atBase says that the base has it.
func (c *classifier) name(ctx context.Context, name string, atBase, binary bool) (string, error) {
	if path.Base(name) == gitattributes || blast.Owns(name, config.PolicyPath) != blast.NotGate {
		return "", nil
	}
	files, err := c.on(ctx, name)
	if err != nil {
		return "", err
	}
	attributes := attributesOf(name, files)
	generated, vendored := mark(attributes[linguistGenerated]), mark(attributes[linguistVendored])
	switch {
	case generated == yes:
		return GeneratedAttribute, nil
	case vendored == yes:
		return VendoredAttribute, nil
	case generated == no:
		return "", nil // stands against every heuristic
	case isLockFile(name):
		return LockFile, nil
	case !atBase:
		return "", nil
	case vendored != no && isVendoredPath(name):
		return VendoredPath, nil
	case isGeneratedPath(name):
		return GeneratedPath, nil
	}
	rules := contentRules(name)
	if binary || len(rules) == 0 {
		return "", nil
	}
	content, ok, err := c.base.ReadFile(ctx, name)
	if err != nil {
		return "", fmt.Errorf("reading it at the base: %w", err)
	}
	if !ok || len(content) > mostContent {
		return "", nil
	}
	if isGeneratedContent(rules, content) {
		return GeneratedContent, nil
	}
	return "", nil
}

// on returns the .gitattributes files from the root to the directory of name.
func (c *classifier) on(ctx context.Context, name string) ([]*attributeFile, error) {
	var files []*attributeFile
	for i := -1; i < len(name); i++ {
		if i >= 0 && name[i] != '/' {
			continue
		}
		dir := name[:max(i, 0)]
		read, ok := c.attributes[dir]
		if !ok {
			read = c.read(ctx, dir)
			c.attributes[dir] = read
		}
		if read.err != nil {
			return nil, read.err
		}
		if read.file != nil {
			files = append(files, read.file)
		}
	}
	return files, nil
}

func (c *classifier) read(ctx context.Context, dir string) attributesRead {
	name := gitattributes
	if dir != "" {
		name = dir + "/" + gitattributes
	}
	content, ok, err := c.base.ReadFile(ctx, name)
	switch {
	case err != nil:
		return attributesRead{err: fmt.Errorf("reading %q at the base: %w", name, err)}
	case !ok:
		return attributesRead{}
	default:
		return attributesRead{file: parseAttributes(dir, content)}
	}
}

// answer is what .gitattributes say.
type answer int

const (
	silent answer = iota
	yes
	no
)

// mark reads the value of a linguist attribute. Only "attr" and "attr=true" leave a file out; any other word a person
// wrote there ("false", "0", "no") shows it.
func mark(v value) answer {
	switch {
	case v.state == undecided || v.state == unspecified:
		return silent
	case v.state == set || v.state == valued && v.text == "true":
		return yes
	default:
		return no
	}
}

// isLockFile reports whether a dependency manager writes files of that name and resolves what it installs from them.
func isLockFile(name string) bool {
	base := path.Base(name)
	return lockFiles[base] || strings.HasSuffix(base, ".esy.lock")
}
