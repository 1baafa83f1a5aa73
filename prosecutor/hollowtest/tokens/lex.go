package tokens

import (
	"fmt"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/alecthomas/chroma/v2"
	"github.com/alecthomas/chroma/v2/lexers"

	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest"
)

// kind is what a token is to mutation.
type kind uint8

const (
	word   kind = iota // a name or keyword
	number             // digits and what follows them
	text               // a string, a regular expression, a template's text: never mutated
	sign               // an operator or bracket
)

// token is a piece of code.
type token struct {
	kind       kind
	start, end int // bytes
	line       int // of its first byte, from 1
	endLine    int
	s          string
	spaceL     bool // white space or a line's begin is before it
	spaceR     bool
}

// source is a file with its tokens. Comments are none.
type source struct {
	path     string
	language hollowtest.Language
	jsx      bool
	src      []byte
	tokens   []token
	lines    []int // offset of each line
}

// chromaLexers names the lexers of the languages.
var chromaLexers = map[string]string{
	".js": "react", ".jsx": "react", ".mjs": "react", ".cjs": "react", ".ts": "typescript", ".tsx": "typescript", ".mts": "typescript", ".cts": "typescript",
	".py": "python", ".java": "java", ".rs": "rust", ".rb": "ruby",
}

// signs are the operators of two and more characters, longest first. Whatever else is not a letter stands alone.
var signs = []string{
	">>>=", "===", "!==", "**=", "<<=", ">>=", ">>>", "...", "..=", "&&=", "||=", "??=", "//=", "<=>", "=~", "!~",
	"=>", "->", "<-", "::", ":=", "?.", "??", "&&", "||", "==", "!=", "<=", ">=", "++", "--", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<", ">>", "**", "..",
}

// lex reads a file. Code is told from strings and comments by the lexer of its language; what the pieces of code are is
// read here, since lexers for highlighting join and split operators as it suits them.
func lex(name string, language hollowtest.Language, src []byte) (*source, error) {
	if !utf8.Valid(src) {
		return nil, fmt.Errorf("it is not UTF-8")
	}
	ext := path.Ext(name)
	lexer := lexers.Get(chromaLexers[ext])
	if lexer == nil {
		return nil, fmt.Errorf("there is no lexer for %s", ext)
	}
	iterator, err := lexer.Tokenise(&chroma.TokeniseOptions{State: "root", EnsureLF: false}, string(src))
	if err != nil {
		return nil, fmt.Errorf("it cannot be read: %w", err)
	}
	f := &source{path: name, language: language, jsx: ext == ".jsx" || ext == ".tsx", src: src, lines: []int{0}}
	for i, c := range src {
		if c == '\n' {
			f.lines = append(f.lines, i+1)
		}
	}
	// A byte is code, text or nothing (a comment).
	class := make([]byte, len(src))
	at := 0
	for _, t := range iterator.Tokens() {
		end := at + len(t.Value)
		if end > len(src) {
			// Some lexers add a line feed at the end.
			if strings.TrimRight(t.Value, "\n") != string(src[at:]) && t.Value != string(src[at:])+"\n" && at != len(src) {
				return nil, fmt.Errorf("its lexer lost its place")
			}
			end = len(src)
		} else if string(src[at:end]) != t.Value {
			return nil, fmt.Errorf("its lexer lost its place")
		}
		c := byte('c')
		switch {
		case t.Type.InCategory(chroma.Comment):
			c = '#'
		case t.Type.InSubCategory(chroma.LiteralString):
			c = 's'
		case t.Type == chroma.Error:
			c = '#' // nobody knows what it is
		}
		for i := at; i < end; i++ {
			class[i] = c
		}
		at = end
	}
	if at != len(src) {
		return nil, fmt.Errorf("its lexer lost its place")
	}
	f.scan(class)
	return f, nil
}

// scan splits code into tokens.
func (f *source) scan(class []byte) {
	line := 1
	space := true
	for i := 0; i < len(f.src); {
		c := f.src[i]
		if class[i] == '#' || class[i] == 'c' && strings.IndexByte(" \t\r\n\f\\", c) >= 0 {
			if c == '\n' {
				line++
			}
			space = true
			if n := len(f.tokens); n > 0 {
				f.tokens[n-1].spaceR = true
			}
			i++
			continue
		}
		t := token{start: i, line: line, spaceL: space}
		switch {
		case class[i] == 's':
			t.kind = text
			for i < len(f.src) && class[i] == 's' {
				if f.src[i] == '\n' {
					line++
				}
				i++
			}
		case isDigit(c):
			t.kind = number
			for i < len(f.src) && class[i] == 'c' && (isDigit(f.src[i]) || isLetter(f.src[i]) || f.src[i] == '.' && i+1 < len(f.src) && isDigit(f.src[i+1])) {
				i++
			}
		case isLetter(c):
			t.kind = word
			for i < len(f.src) && class[i] == 'c' {
				r, size := utf8.DecodeRune(f.src[i:])
				if !isLetter(f.src[i]) && !isDigit(f.src[i]) && !unicode.IsLetter(r) {
					break
				}
				i += size
			}
		default:
			t.kind = sign
			i += f.signAt(i, class)
		}
		t.end, t.endLine = i, line
		t.s = string(f.src[t.start:t.end])
		space = false
		f.tokens = append(f.tokens, t)
	}
	if n := len(f.tokens); n > 0 {
		f.tokens[n-1].spaceR = true
	}
}

// signAt is the length of the operator at an offset.
func (f *source) signAt(i int, class []byte) int {
	for _, s := range signs {
		if f.language != hollowtest.Python && s == "//=" || f.language != hollowtest.Ruby && (s == "=~" || s == "!~" || s == "<=>") {
			continue
		}
		if strings.HasPrefix(string(f.src[i:min(i+4, len(f.src))]), s) && allCode(class[i:i+len(s)]) {
			return len(s)
		}
	}
	_, size := utf8.DecodeRune(f.src[i:])
	return size
}

func allCode(class []byte) bool {
	for _, c := range class {
		if c != 'c' {
			return false
		}
	}
	return true
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func isLetter(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '$' || c == '@' || c >= 0x80
}

// lineText is a line without its line feed.
func (f *source) lineText(n int) string {
	if n < 1 || n > len(f.lines) {
		return ""
	}
	end := len(f.src)
	if n < len(f.lines) {
		end = f.lines[n] - 1
	}
	return strings.TrimSuffix(string(f.src[f.lines[n-1]:end]), "\r")
}
