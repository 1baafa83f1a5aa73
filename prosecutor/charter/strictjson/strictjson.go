// Package strictjson reads the one JSON object a model was asked for, and nothing more forgiving. It tells what is wrong
// with a text rather than guess what was meant: encoding/json takes the last of two equal names, matches names without
// regard to case, and replaces invalid UTF-8, and each of those lets one text mean two things.
package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxDepth is how deep objects and arrays may nest. An answer needs four levels.
const MaxDepth = 16

// The longest number literal and the largest decimal exponent, that of the smallest number a float64 can hold: beyond them a
// number has no use in an answer, and arbitrary-precision arithmetic on it costs memory.
const (
	maxNumberLength   = 64
	maxNumberExponent = 324
)

// Object is a JSON object with its members in their order, repeated names included.
type Object []Member

// Member is one name and value of an object. A value is an Object, an Array, a string, a json.Number, a bool or nil.
type Member struct {
	Name  string
	Value any
}

// Array is a JSON array.
type Array []any

// Omitted stands for a value that is nested too deeply to be read.
type Omitted struct{}

// Get returns the value of a name. It is not ok when the object has no such name, or has it more than once.
func (o Object) Get(name string) (value any, ok bool) {
	for _, m := range o {
		if m.Name == name {
			if ok {
				return nil, false
			}
			value, ok = m.Value, true
		}
	}
	return value, ok
}

// Parse reads a text that is one JSON object with white space around it at most.
//
// The error is set when the text is anything else: too long, not UTF-8, not JSON, prose or a byte order mark or a code
// fence around it, a second value behind it, an array, null. Then there is no object. Problems are faults inside of an
// object that is still well-formed JSON: a name given twice, nesting deeper than MaxDepth, a number out of all
// proportion. A text is sound when there is neither.
func Parse(text string, maxBytes int) (obj Object, problems []string, err error) {
	switch {
	case len(text) > maxBytes:
		return nil, nil, fmt.Errorf("the text is %d bytes long, at most %d are read", len(text), maxBytes)
	case strings.TrimSpace(text) == "":
		return nil, nil, errors.New("the text is empty: one JSON object is expected")
	case !utf8.ValidString(text):
		return nil, nil, errors.New("the text is not valid UTF-8")
	case !json.Valid([]byte(text)):
		return nil, nil, notJSON(text)
	}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	p := parser{dec: dec}
	value, err := p.value(0)
	if err != nil {
		return nil, nil, fmt.Errorf("the text is not valid JSON: %w", err)
	}
	obj, ok := value.(Object)
	if !ok {
		return nil, nil, fmt.Errorf("the text is %s: one JSON object is expected", kindOf(value))
	}
	return obj, p.problems, nil
}

// notJSON says what is wrong with a text that is not JSON, most useful cause first. It quotes nothing of the text.
func notJSON(text string) error {
	trimmed := strings.Trim(text, " \t\r\n")
	switch {
	case strings.HasPrefix(text, "\ufeff"):
		return errors.New("the text starts with a byte order mark")
	case strings.HasPrefix(trimmed, "```"):
		return errors.New("the text is in a code fence: the JSON object must stand alone")
	case trimmed[0] != '{':
		return errors.New("the text does not start with the JSON object: nothing may stand before it")
	}
	dec := json.NewDecoder(strings.NewReader(text))
	var first json.RawMessage
	err := dec.Decode(&first)
	if err == nil {
		return errors.New("something follows the JSON object: nothing may stand behind it")
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the JSON object is cut off before its end")
	}
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		line := 1 + bytes.Count([]byte(text[:min(int(syntax.Offset), len(text))]), []byte("\n"))
		return fmt.Errorf("the text is not valid JSON: %w, at byte %d, line %d", err, syntax.Offset, line)
	}
	return fmt.Errorf("the text is not valid JSON: %w", err)
}

type parser struct {
	dec      *json.Decoder
	problems []string
}

func (p *parser) problem(format string, args ...any) {
	// Ten are enough to tell, and an answer must not be able to order a message of any length.
	if len(p.problems) < 10 {
		p.problems = append(p.problems, fmt.Sprintf(format, args...))
	}
}

func (p *parser) value(depth int) (any, error) {
	tok, err := p.dec.Token()
	if err != nil {
		return nil, err
	}
	switch t := tok.(type) {
	case json.Delim:
		if depth >= MaxDepth {
			p.problem("nesting is deeper than %d levels", MaxDepth)
			return Omitted{}, p.skip()
		}
		if t == '{' {
			return p.object(depth + 1)
		}
		return p.array(depth + 1)
	case json.Number:
		if !plausible(string(t)) {
			p.problem("the number %s is out of range", strconv.Quote(clip(string(t))))
			return Omitted{}, nil
		}
		return t, nil
	default:
		return t, nil
	}
}

func (p *parser) object(depth int) (any, error) {
	obj := Object{}
	seen := map[string]bool{}
	for p.dec.More() {
		tok, err := p.dec.Token()
		if err != nil {
			return nil, err
		}
		name := tok.(string)
		if seen[name] {
			p.problem("the name %s is given twice", strconv.Quote(clip(name)))
		}
		seen[name] = true
		value, err := p.value(depth)
		if err != nil {
			return nil, err
		}
		obj = append(obj, Member{name, value})
	}
	_, err := p.dec.Token()
	return obj, err
}

func (p *parser) array(depth int) (any, error) {
	list := Array{}
	for p.dec.More() {
		value, err := p.value(depth)
		if err != nil {
			return nil, err
		}
		list = append(list, value)
	}
	_, err := p.dec.Token()
	return list, err
}

// skip reads to the end of the object or array that was just opened, without recursion.
func (p *parser) skip() error {
	for open := 1; open > 0; {
		tok, err := p.dec.Token()
		if err != nil {
			return err
		}
		if d, ok := tok.(json.Delim); ok {
			if d == '{' || d == '[' {
				open++
			} else {
				open--
			}
		}
	}
	return nil
}

func plausible(number string) bool {
	if len(number) > maxNumberLength {
		return false
	}
	i := strings.IndexAny(number, "eE")
	if i < 0 {
		return true
	}
	exponent, err := strconv.Atoi(number[i+1:])
	return err == nil && exponent <= maxNumberExponent && exponent >= -maxNumberExponent
}

func kindOf(v any) string {
	switch v.(type) {
	case Array:
		return "an array"
	case string:
		return "a string"
	case json.Number, Omitted:
		return "a number"
	case bool:
		return "a boolean"
	default:
		return "null"
	}
}

// clip shortens a text of the model for a message.
func clip(s string) string {
	const most = 60
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most]) + "..."
}
