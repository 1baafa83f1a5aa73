package generated

import (
	"bytes"
	"path"
	"strings"
)

// value is what an attribute is set to for a path.
type value struct {
	state state
	text  string // of a value
}

type state int

const (
	undecided   state = iota // no line says anything
	unspecified              // "!attr": as if no line said anything
	set                      // "attr"
	unset                    // "-attr"
	valued                   // "attr=text"
)

type assignment struct {
	attr  string
	value value
}

// attributeLine is one line of a .gitattributes file.
type attributeLine struct {
	macro       string // the name that an [attr] line defines; empty for a pattern
	pattern     pattern
	assignments []assignment
}

// attributeFile is a parsed .gitattributes file.
type attributeFile struct {
	dir    string // the directory it stands in, without a trailing slash; empty for the root
	lines  []attributeLine
	macros map[string][]assignment
}

// The limits of git: a longer line is ignored, as git ignores it.
const maxAttributeLine = 2048

const blanks = " \t\r\n"

// parseAttributes reads a .gitattributes file as git does (gitattributes(5)). Macros count in the file at the root only.
// What git ignores with a warning is ignored: a negative pattern, a line with an invalid attribute name, an overly long
// line.
func parseAttributes(dir string, content []byte) *attributeFile {
	f := &attributeFile{dir: dir}
	content = bytes.TrimPrefix(content, []byte("\xef\xbb\xbf"))
	for raw := range bytes.Lines(content) {
		line := string(bytes.TrimSuffix(bytes.TrimSuffix(raw, []byte("\n")), []byte("\r")))
		if i := strings.IndexByte(line, 0); i >= 0 {
			line = line[:i]
		}
		if len(line) >= maxAttributeLine {
			continue
		}
		l, ok := parseAttributeLine(line)
		if !ok || l.macro != "" && dir != "" {
			continue
		}
		if l.macro != "" {
			if f.macros == nil {
				f.macros = make(map[string][]assignment)
			}
			f.macros[l.macro] = l.assignments
			continue
		}
		f.lines = append(f.lines, l)
	}
	return f
}

func parseAttributeLine(line string) (attributeLine, bool) {
	const macroPrefix = "[attr]"
	line = strings.TrimLeft(line, blanks)
	if line == "" || line[0] == '#' {
		return attributeLine{}, false
	}
	name, rest, quoted := unquote(line)
	if !quoted {
		end := strings.IndexAny(line, blanks)
		if end < 0 {
			end = len(line)
		}
		name, rest = line[:end], line[end:]
	}

	var l attributeLine
	if len(name) > len(macroPrefix) && strings.HasPrefix(name, macroPrefix) {
		l.macro = strings.TrimLeft(name[len(macroPrefix):], blanks)
		if i := strings.IndexAny(l.macro, blanks); i >= 0 {
			l.macro = l.macro[:i]
		}
		if !validAttribute(l.macro) {
			return attributeLine{}, false
		}
	} else {
		p, ok := parsePattern(name)
		if !ok {
			return attributeLine{}, false
		}
		l.pattern = p
	}
	for _, field := range strings.FieldsFunc(rest, func(r rune) bool { return strings.ContainsRune(blanks, r) }) {
		a, ok := parseAssignment(field)
		if !ok {
			return attributeLine{}, false
		}
		l.assignments = append(l.assignments, a)
	}
	return l, true
}

func parseAssignment(field string) (assignment, bool) {
	name, text, hasText := strings.Cut(field, "=")
	a := assignment{attr: name, value: value{state: set}}
	switch {
	case strings.HasPrefix(name, "-"):
		a = assignment{attr: name[1:], value: value{state: unset}}
	case strings.HasPrefix(name, "!"):
		a = assignment{attr: name[1:], value: value{state: unspecified}}
	case hasText:
		a.value = value{state: valued, text: text}
	}
	return a, validAttribute(a.attr)
}

func validAttribute(name string) bool {
	if name == "" || name[0] == '-' {
		return false
	}
	for i := range len(name) {
		if c := name[i]; !isAlpha(c) && !isDigit(c) && c != '-' && c != '.' && c != '_' {
			return false
		}
	}
	return true
}

// unquote reads a pattern in double quotes, with C's escapes, at the start of line. ok is false when there is none, or
// when it is malformed: git then takes the quote for an ordinary byte.
func unquote(line string) (name, rest string, ok bool) {
	if line[0] != '"' {
		return "", "", false
	}
	var b strings.Builder
	for i := 1; i < len(line); i++ {
		c := line[i]
		switch c {
		case '"':
			return b.String(), line[i+1:], true
		case '\\':
			if i++; i == len(line) {
				return "", "", false
			}
			const letters, bytes = `abfnrtv\"`, "\a\b\f\n\r\t\v\\\""
			if k := strings.IndexByte(letters, line[i]); k >= 0 {
				b.WriteByte(bytes[k])
				continue
			}
			if i+2 >= len(line) || line[i] > '3' || !isOctal(line[i]) || !isOctal(line[i+1]) || !isOctal(line[i+2]) {
				return "", "", false
			}
			b.WriteByte((line[i]-'0')<<6 | (line[i+1]-'0')<<3 | (line[i+2] - '0'))
			i += 2
		default:
			b.WriteByte(c)
		}
	}
	return "", "", false
}

func isOctal(b byte) bool { return '0' <= b && b <= '7' }

// pattern is the left side of an attribute line.
type pattern struct {
	basename bool   // no slash: compared with the last path segment only
	never    bool   // "dir/" is about directories, and attributes belong to files
	prefix   string // what a path must begin with, before anything special; for patterns with a slash
	wild     wild   // the remainder
}

func parsePattern(p string) (pattern, bool) {
	if strings.HasPrefix(p, "!") {
		return pattern{}, false // git refuses negative patterns here
	}
	if strings.HasSuffix(p, "/") {
		return pattern{never: true}, true
	}
	if !strings.Contains(p, "/") {
		return pattern{basename: true, wild: compileWild(p)}, true
	}
	p = strings.TrimPrefix(p, "/")
	// Git compares the part before the first special byte by itself and hands on only the remainder, where "**" then
	// stands at the start: "a**/b" also matches "a/x/b". What git does is what the repository's authors see.
	plain := strings.IndexAny(p, `*?[\`)
	if plain < 0 {
		plain = len(p)
	}
	return pattern{prefix: p[:plain], wild: compileWild(p[plain:])}, true
}

// match reports whether the pattern, which stands in dir, matches the file name.
func (p pattern) match(dir, name string) bool {
	if p.never {
		return false
	}
	if p.basename {
		return p.wild.match(path.Base(name))
	}
	if dir != "" {
		name = name[len(dir)+1:]
	}
	rest, ok := strings.CutPrefix(name, p.prefix)
	return ok && p.wild.match(rest)
}

// attributesOf resolves the attributes of a file from the .gitattributes files on its way, the root's first: the last
// matching line of a file wins, and a deeper directory wins over a higher one. An attribute that no line decides is
// missing in the result.
func attributesOf(name string, files []*attributeFile) map[string]value {
	decided := make(map[string]value)
	var macros map[string][]assignment
	if len(files) > 0 {
		macros = files[0].macros
	}
	for i := len(files) - 1; i >= 0; i-- {
		f := files[i]
		for j := len(f.lines) - 1; j >= 0; j-- {
			if l := f.lines[j]; l.pattern.match(f.dir, name) {
				decide(decided, l.assignments, macros)
			}
		}
	}
	return decided
}

// decide takes the assignments of one line over, the last first, where nothing stronger has decided. A macro that is set
// stands for its own assignments.
func decide(decided map[string]value, assignments []assignment, macros map[string][]assignment) {
	for i := len(assignments) - 1; i >= 0; i-- {
		a := assignments[i]
		if _, ok := decided[a.attr]; ok {
			continue
		}
		decided[a.attr] = a.value
		if m, ok := macros[a.attr]; ok && a.value.state == set {
			decide(decided, m, macros)
		}
	}
}
