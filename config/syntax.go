package config

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

const (
	// MaxFileSize is the size of the largest policy or server file that is read, in bytes.
	MaxFileSize = 1 << 20
	// maxDepth bounds how deep lists and keys may nest: the deepest valid file needs six.
	maxDepth = 20
	// maxKeys bounds the keys of one file: the parser takes time that grows with the square of their number, a fifth of a
	// second for this many.
	maxKeys = 10_000
	// maxExtras bounds the YAML features that are refused one by one before the rest of the file is looked at.
	maxExtras = 50
)

// parseYAML returns the tree of a file that holds one document of plain YAML, or nil when the file is empty or broken.
// It reports what is wrong; what it returns beside a report can still be checked further.
func parseYAML(r *report, data []byte, secret bool) ast.Node {
	text, ok := readable(r, data)
	if !ok {
		return nil
	}
	tokens, failure := tokenize(text)
	if failure != "" {
		r.add(place{}, Problem{Message: failure})
		return nil
	}
	if at, ok := tooDeep(tokens); ok {
		r.add(at, Problem{Message: fmt.Sprintf("lists and keys are nested more than %d deep", maxDepth)})
		return nil
	}
	if at, ok := tooMany(tokens); ok {
		r.add(at, Problem{Message: fmt.Sprintf("the file has more than %d keys", maxKeys)})
		return nil
	}
	refused, aliases := refuseExtras(r, tokens)
	switch {
	case refused > maxExtras:
		return nil
	case refused > 0 && refused == len(aliases):
		if tokens, failure = tokenize(withoutStars(text, aliases)); failure != "" {
			return nil
		}
	}
	second, two := secondDocument(tokens)
	if two {
		r.add(second, Problem{Message: "a second document starts here; the file holds one"})
	}
	file, at, failure := parseTokens(tokens, secret)
	if failure != "" {
		if refused == 0 && !two {
			r.add(at, Problem{Message: "the YAML cannot be read: " + failure})
		}
		return nil
	}
	for _, doc := range file.Docs {
		if _, directive := doc.Body.(*ast.DirectiveNode); !directive {
			return doc.Body
		}
	}
	return nil
}

// readable checks that a file is text, and returns it with plain line ends and without a byte order mark.
func readable(r *report, data []byte) (string, bool) {
	if len(data) > MaxFileSize {
		r.add(place{}, Problem{Message: fmt.Sprintf("the file has %d bytes; at most %d are read", len(data), MaxFileSize)})
		return "", false
	}
	if bytes.HasPrefix(data, []byte{0xff, 0xfe}) || bytes.HasPrefix(data, []byte{0xfe, 0xff}) {
		r.add(place{}, Problem{Message: "the file is UTF-16; save it as UTF-8"})
		return "", false
	}
	text := strings.ReplaceAll(strings.TrimPrefix(string(data), "\ufeff"), "\r\n", "\n")
	at := place{1, 0}
	for i, c := range text {
		at.column++
		switch {
		case c == '\n':
			at = place{at.line + 1, 0}
		case c == '\t':
		case c == utf8.RuneError && !strings.HasPrefix(text[i:], "\ufffd"):
			r.add(at, Problem{Message: "the file is not valid UTF-8 here"})
			return "", false
		case hidden(c):
			r.add(at, Problem{Message: fmt.Sprintf("the file holds the invisible character %U here", c)})
			return "", false
		}
	}
	return text, true
}

// tokenize never panics: the text is hostile, and the lexer is not ours.
func tokenize(text string) (lexed token.Tokens, failure string) {
	defer func() {
		if recover() != nil {
			lexed, failure = nil, "the YAML cannot be read"
		}
	}()
	return lexer.Tokenize(text), ""
}

// parseTokens never panics, see tokenize. Of a secret file it returns only reasons that hold no text of it.
func parseTokens(tokens token.Tokens, secret bool) (file *ast.File, at place, failure string) {
	defer func() {
		if recover() != nil {
			file, failure = nil, "it is malformed"
		}
	}()
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err == nil {
		return file, place{}, ""
	}
	failure = "it is malformed"
	located, ok := err.(interface {
		GetMessage() string
		GetToken() *token.Token
	})
	if !ok {
		return nil, place{}, failure
	}
	if t := located.GetToken(); t != nil && t.Position != nil {
		at = place{t.Position.Line, t.Position.Column}
	}
	if message := located.GetMessage(); !secret || !strings.ContainsAny(message, `"`) {
		failure = printable(message)
	}
	if strings.Contains(failure, `\t`) || strings.Contains(failure, "tab character") {
		failure = "a tab stands where blanks are due; indent with blanks"
	}
	return nil, at, failure
}

// refuseExtras reports the features of YAML that a configuration has no use for and that make a file mean something else
// than it shows: anchors, aliases, merge keys, tags, directives and complex keys. It returns how many there were, and
// where the aliases among them are.
func refuseExtras(r *report, tokens token.Tokens) (count int, aliases []place) {
	var last token.Token
	for _, t := range tokens {
		var message string
		switch t.Type {
		case token.AnchorType:
			message = "anchors are not supported; write the value out, or put a text that starts with & in quotes"
		case token.AliasType:
			message = "aliases are not supported; write the value out, or put a glob that starts with * in quotes"
		case token.MergeKeyType:
			message = "merge keys are not supported; write the keys out"
		case token.TagType:
			message = "tags are not supported; put a text that starts with ! in quotes"
		case token.DirectiveType:
			message = "directives are not supported; put a text that starts with % in quotes"
		case token.MappingKeyType:
			message = "complex keys are not supported; write key: value"
		default:
			continue
		}
		count++
		at := place{t.Position.Line, t.Position.Column}
		if t.Type == token.AliasType {
			aliases = append(aliases, at)
		}
		stutters := last.Type == t.Type && last.Position.Line == t.Position.Line && last.Position.Column == t.Position.Column-1
		last = *t
		if stutters {
			continue // the second star of **, reported with the first
		}
		r.add(at, Problem{Message: message})
	}
	for _, at := range aliases {
		r.silenced[at.line] = true
	}
	return count, aliases
}

// withoutStars puts another letter in place of the star of each alias. A glob without quotes is by far the most usual
// slip, and the rest of the file is to be checked in spite of it.
func withoutStars(text string, aliases []place) string {
	lines := strings.Split(text, "\n")
	for _, at := range aliases {
		if at.line > len(lines) {
			continue
		}
		line := []rune(lines[at.line-1])
		if at.column <= len(line) && line[at.column-1] == '*' {
			line[at.column-1] = 'x'
		}
		lines[at.line-1] = string(line)
	}
	return strings.Join(lines, "\n")
}

// tooDeep finds the first place where lists and keys nest deeper than maxDepth. The parser is recursive, so this has to
// be known before it runs.
func tooDeep(tokens token.Tokens) (place, bool) {
	flow := 0
	var block []int // columns of the open block collections
	for i, t := range tokens {
		column := t.Position.Column
		switch t.Type {
		case token.MappingStartType, token.SequenceStartType:
			flow++
		case token.MappingEndType, token.SequenceEndType:
			flow = max(0, flow-1)
		case token.SequenceEntryType, token.MappingKeyType, token.MappingValueType:
			if flow > 0 {
				continue
			}
			if t.Type == token.MappingValueType && i > 0 {
				column = tokens[i-1].Position.Column
			}
			for len(block) > 0 && block[len(block)-1] >= column {
				block = block[:len(block)-1]
			}
			block = append(block, column)
		}
		if flow+len(block) > maxDepth {
			return place{t.Position.Line, t.Position.Column}, true
		}
	}
	return place{}, false
}

// tooMany finds the key that is one too many.
func tooMany(tokens token.Tokens) (place, bool) {
	keys := 0
	for _, t := range tokens {
		if t.Type == token.MappingValueType {
			keys++
		}
		if keys > maxKeys {
			return place{t.Position.Line, t.Position.Column}, true
		}
	}
	return place{}, false
}

// secondDocument finds where the first document has ended and something follows.
func secondDocument(tokens token.Tokens) (place, bool) {
	begun, ended := false, false
	for _, t := range tokens {
		switch t.Type {
		case token.CommentType:
			continue
		case token.DirectiveType:
			return place{}, false // refused as such, and its words are no document
		case token.DocumentEndType:
			ended = true
			continue
		}
		if ended || begun && t.Type == token.DocumentHeaderType {
			return place{t.Position.Line, t.Position.Column}, true
		}
		begun = true
	}
	return place{}, false
}
