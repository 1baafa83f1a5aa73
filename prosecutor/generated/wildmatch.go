package generated

import "strings"

// wild is a pattern as git's attributes and ignore files understand it: "*" and "?" do not cross a slash, "**" does
// where it is a whole path segment, brackets hold ranges and named classes, a backslash takes the next byte literally.
// Git matches bytes, so does this.
type wild struct {
	parts []part
	never bool // malformed: such a pattern matches nothing
}

type part struct {
	kind  partKind
	lit   byte
	class *[256]bool
}

type partKind int

const (
	literal  partKind = iota
	anyByte           // ?
	oneOf             // [...]
	star              // any bytes but a slash
	starStar          // any bytes
	starDirs          // "**/": nothing, or whole directories
)

func compileWild(p string) wild {
	var w wild
	for i := 0; i < len(p); {
		switch c := p[i]; c {
		case '\\':
			if i++; i == len(p) {
				return wild{never: true}
			}
			w.parts = append(w.parts, part{kind: literal, lit: p[i]})
			i++
		case '?':
			w.parts = append(w.parts, part{kind: anyByte})
			i++
		case '*':
			start := i
			for i < len(p) && p[i] == '*' {
				i++
			}
			whole := i-start > 1 && (start == 0 || p[start-1] == '/')
			switch rest := p[i:]; {
			case whole && strings.HasPrefix(rest, "/"):
				w.parts = append(w.parts, part{kind: starDirs})
				i++
			case whole && (rest == "" || strings.HasPrefix(rest, `\/`)):
				w.parts = append(w.parts, part{kind: starStar})
			default:
				w.parts = append(w.parts, part{kind: star})
			}
		case '[':
			class, n := compileClass(p[i:])
			if class == nil {
				return wild{never: true}
			}
			w.parts = append(w.parts, part{kind: oneOf, class: class})
			i += n
		default:
			w.parts = append(w.parts, part{kind: literal, lit: c})
			i++
		}
	}
	return w
}

// compileClass reads a bracket expression at the start of p and returns its bytes and its length; nil when it is
// malformed. A slash is never in a class.
func compileClass(p string) (*[256]bool, int) {
	i := 1
	negated := i < len(p) && (p[i] == '!' || p[i] == '^')
	if negated {
		i++
	}
	var in [256]bool
	previous := -1 // the byte a range may start with
	for first := true; ; first = false {
		if i >= len(p) {
			return nil, 0
		}
		c := p[i]
		switch {
		case c == ']' && !first:
			i++
			if negated {
				for b := range in {
					in[b] = !in[b]
				}
			}
			in['/'] = false
			return &in, i
		case c == '\\':
			if i++; i >= len(p) {
				return nil, 0
			}
			in[p[i]] = true
			previous = int(p[i])
			i++
		case c == '-' && previous > 0 && i+1 < len(p) && p[i+1] != ']':
			i++
			if p[i] == '\\' {
				if i++; i >= len(p) {
					return nil, 0
				}
			}
			for b := previous; b <= int(p[i]); b++ {
				in[b] = true
			}
			previous = -1
			i++
		case c == '[' && i+1 < len(p) && p[i+1] == ':':
			end := strings.IndexByte(p[i+2:], ']')
			if end < 0 {
				return nil, 0
			}
			name := p[i+2 : i+2+end]
			if !strings.HasSuffix(name, ":") {
				in['['] = true
				previous = '['
				i++
				continue
			}
			member, ok := classes[strings.TrimSuffix(name, ":")]
			if !ok {
				return nil, 0
			}
			for b := range in {
				in[b] = in[b] || member(byte(b))
			}
			previous = -1
			i += 2 + end + 1
		default:
			in[c] = true
			previous = int(c)
			i++
		}
	}
}

// classes are the named classes of ASCII; a byte above 127 is in none.
var classes = map[string]func(byte) bool{
	"alnum":  func(b byte) bool { return isAlpha(b) || isDigit(b) },
	"alpha":  isAlpha,
	"blank":  func(b byte) bool { return b == ' ' || b == '\t' },
	"cntrl":  func(b byte) bool { return b < 0x20 || b == 0x7f },
	"digit":  isDigit,
	"graph":  isGraph,
	"lower":  func(b byte) bool { return 'a' <= b && b <= 'z' },
	"print":  func(b byte) bool { return b == ' ' || isGraph(b) },
	"punct":  func(b byte) bool { return isGraph(b) && !isAlpha(b) && !isDigit(b) },
	"space":  func(b byte) bool { return b == ' ' || b == '\t' || b == '\n' || b == '\r' },
	"upper":  func(b byte) bool { return 'A' <= b && b <= 'Z' },
	"xdigit": func(b byte) bool { return isDigit(b) || 'a' <= b && b <= 'f' || 'A' <= b && b <= 'F' },
}

func isAlpha(b byte) bool { return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' }
func isDigit(b byte) bool { return '0' <= b && b <= '9' }
func isGraph(b byte) bool { return 0x20 < b && b < 0x7f }

func (w wild) match(text string) bool {
	if w.never {
		return false
	}
	m := matcher{parts: w.parts, text: text}
	return m.from(0, 0)
}

// matcher remembers the stars and places that failed, so that the work on a pattern of many stars stays bounded.
type matcher struct {
	parts  []part
	text   string
	failed []bool // by part and byte; nil until something failed
}

func (m *matcher) from(t, i int) bool {
	for ; t < len(m.parts); t++ {
		p := m.parts[t]
		switch p.kind {
		case literal:
			if i >= len(m.text) || m.text[i] != p.lit {
				return false
			}
		case anyByte:
			if i >= len(m.text) || m.text[i] == '/' {
				return false
			}
		case oneOf:
			if i >= len(m.text) || !p.class[m.text[i]] {
				return false
			}
		default:
			return m.stretch(t, i)
		}
		i++
	}
	return i == len(m.text)
}

// stretch tries every length of the star at part t.
func (m *matcher) stretch(t, i int) bool {
	state := t*(len(m.text)+1) + i
	if m.failed != nil && m.failed[state] {
		return false
	}
	kind := m.parts[t].kind
	if m.from(t+1, i) {
		return true
	}
	for j := i; j < len(m.text); j++ {
		if kind == star && m.text[j] == '/' {
			break
		}
		if kind == starDirs && m.text[j] != '/' {
			continue
		}
		if m.from(t+1, j+1) {
			return true
		}
	}
	if m.failed == nil {
		m.failed = make([]bool, len(m.parts)*(len(m.text)+1))
	}
	m.failed[state] = true
	return false
}
