package config

import (
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// decoder reads a YAML tree into a Go value by its shape, on top of the defaults that are in it, and reports whatever
// does not fit.
type decoder struct {
	report *report
	root   *shape
	// secret keeps every text of the file out of the messages: a key may stand where it should not.
	secret bool
	places map[string]place // where each key that is present stands
}

// section reads keys into a struct.
func (d *decoder) section(n ast.Node, s *shape, v reflect.Value, path string, at place) {
	seen := d.entries(n, s, path, at, func(key string, value ast.Node, keyAt place) {
		f := s.field(key)
		d.value(value, f.shape, v.Field(f.index), join(path, key), keyAt)
	})
	if seen == nil {
		return
	}
	for _, f := range s.fields {
		if _, ok := seen[f.name]; f.required && !ok {
			d.report.add(at, Problem{Key: join(path, f.name), Message: "the key is missing", Allowed: f.shape.allowed()})
		}
	}
}

// choice reads a map whose keys are fixed, key by key on top of the defaults.
func (d *decoder) choice(n ast.Node, s *shape, v reflect.Value, path string, at place) {
	merged := reflect.MakeMap(s.typ)
	for it := v.MapRange(); it.Next(); {
		merged.SetMapIndex(it.Key(), it.Value())
	}
	d.entries(n, s, path, at, func(key string, value ast.Node, keyAt place) {
		f := s.field(key)
		item := reflect.New(s.typ.Elem()).Elem()
		d.value(value, f.shape, item, join(path, key), keyAt)
		merged.SetMapIndex(reflect.ValueOf(key).Convert(s.typ.Key()), item)
	})
	v.Set(merged)
}

// entries calls each for every key of a mapping that s knows, and reports the others and those that come twice. It
// returns where each key stands, or nil when n is no mapping.
func (d *decoder) entries(n ast.Node, s *shape, path string, at place, each func(key string, value ast.Node, at place)) map[string]place {
	if _, null := n.(*ast.NullNode); null {
		return map[string]place{}
	}
	values, ok := mapping(n)
	if !ok {
		d.wrongKind(n, s, path, at)
		return nil
	}
	seen := map[string]place{}
	for _, entry := range values {
		key, keyAt, ok := d.key(entry, path)
		if !ok {
			continue
		}
		if first, twice := seen[key]; twice {
			d.report.add(keyAt, Problem{Key: d.name(path, key), Message: fmt.Sprintf("the key is there twice, first on line %d", first.line)})
			continue
		}
		seen[key] = keyAt
		if s.kind != kindMap && s.field(key) == nil {
			d.unknownKey(s, path, key, keyAt)
			continue
		}
		d.places[join(path, key)] = keyAt
		each(key, entry.Value, keyAt)
	}
	return seen
}

// key returns the key of an entry as text.
func (d *decoder) key(entry *ast.MappingValueNode, path string) (key string, at place, ok bool) {
	at = nodePlace(entry.Key)
	switch k := entry.Key.(type) {
	case *ast.StringNode:
		if strings.ContainsFunc(k.Value, hidden) {
			d.report.add(at, Problem{Key: path, Message: "a key holds an invisible character"})
			return "", at, false
		}
		return k.Value, at, true
	case *ast.MergeKeyNode, *ast.MappingKeyNode:
		return "", at, false // reported with the tokens
	default:
		d.report.add(at, Problem{Key: path, Message: "a key is no text; put it in quotes"})
		return "", at, false
	}
}

func (d *decoder) unknownKey(s *shape, path, key string, at place) {
	p := Problem{Key: d.name(path, key), Message: "unknown key", Allowed: strings.Join(s.names(), ", ")}
	if p.Suggestion = nearest(key, s.names()); p.Suggestion == "" && s.kind == kindSection {
		p.Suggestion = elsewhere(d.root, "", key)
	}
	if d.secret && slices.Contains([]string{"api_key", "apikey", "key", "token", "api_token", "secret", "password", "credentials"}, strings.ToLower(key)) {
		p.Message = "unknown key; a key is never written in this file: put it in an environment variable or a file and name that"
		p.Suggestion = "api_key_env"
	}
	d.report.add(at, p)
}

// elsewhere finds the one place in another section where a key belongs.
func elsewhere(s *shape, path, key string) string {
	for _, f := range s.fields {
		if f.name == key && path != "" {
			return join(path, key)
		}
		if f.shape.kind == kindSection {
			if found := elsewhere(f.shape, join(path, f.name), key); found != "" {
				return found
			}
		}
	}
	return ""
}

// value reads one value. A value that does not fit leaves v as it is.
func (d *decoder) value(n ast.Node, s *shape, v reflect.Value, path string, keyAt place) {
	switch n.(type) {
	case *ast.AliasNode, *ast.AnchorNode, *ast.TagNode:
		return // reported with the tokens
	case *ast.NullNode:
		if s.kind == kindSection && !s.ptr {
			return
		}
		d.report.add(keyAt, Problem{Key: path, Message: "the key has no value; leave it out for its default", Allowed: s.allowed()})
		return
	}
	if s.ptr {
		target := reflect.New(s.typ)
		d.value(n, &shape{kind: s.kind, typ: s.typ, elem: s.elem, fields: s.fields, keys: s.keys, rule: s.rule}, target.Elem(), path, keyAt)
		v.Set(target)
		return
	}
	switch s.kind {
	case kindSection:
		d.section(n, s, v, path, keyAt)
	case kindChoice:
		d.choice(n, s, v, path, keyAt)
	case kindMap:
		d.table(n, s, v, path, keyAt)
	case kindList:
		d.list(n, s, v, path)
	default:
		d.scalar(n, s, v, path)
	}
}

// table reads a map with free keys.
func (d *decoder) table(n ast.Node, s *shape, v reflect.Value, path string, at place) {
	m := reflect.MakeMap(s.typ)
	folded := map[string]string{}
	d.entries(n, s, path, at, func(key string, value ast.Node, keyAt place) {
		name := join(path, key)
		if problem, better := checkFormat(s.keys, key); problem != "" {
			d.report.add(keyAt, Problem{Key: name, Message: "the key is not valid: " + problem, Allowed: formats()[s.keys].allowed, Suggestion: better})
		}
		if first, twice := folded[strings.ToLower(key)]; twice {
			d.report.add(keyAt, Problem{Key: name, Message: fmt.Sprintf("the key differs from %s only by case, and case does not count here", excerpt(first))})
		}
		folded[strings.ToLower(key)] = key
		item := reflect.New(s.typ.Elem()).Elem()
		d.value(value, s.elem, item, name, keyAt)
		m.SetMapIndex(reflect.ValueOf(key), item)
	})
	v.Set(m)
}

func (d *decoder) list(n ast.Node, s *shape, v reflect.Value, path string) {
	sequence, ok := n.(*ast.SequenceNode)
	if !ok {
		d.wrongKind(n, s, path, nodePlace(n))
		return
	}
	items := reflect.MakeSlice(s.typ, len(sequence.Values), len(sequence.Values))
	first := map[string]int{}
	for i, value := range sequence.Values {
		name := fmt.Sprintf("%s[%d]", path, i)
		at := nodePlace(value)
		d.places[name] = at
		if _, null := value.(*ast.NullNode); null {
			d.report.add(at, Problem{Key: name, Message: "the item is empty", Allowed: s.elem.allowed()})
			continue
		}
		d.value(value, s.elem, items.Index(i), name, at)
		if !s.rule.unique || s.elem.kind != kindString {
			continue
		}
		text := items.Index(i).String()
		if earlier, twice := first[text]; twice && text != "" {
			d.report.add(at, Problem{Key: name, Message: fmt.Sprintf("the item is there twice, first as [%d]", earlier)})
			continue
		}
		first[text] = i
	}
	if s.rule.nonEmpty && len(sequence.Values) == 0 {
		d.report.add(nodePlace(n), Problem{Key: path, Message: "the list is empty; leave the key out instead", Allowed: s.allowed()})
	}
	v.Set(items)
}

func (d *decoder) scalar(n ast.Node, s *shape, v reflect.Value, path string) {
	at := nodePlace(n)
	switch s.kind {
	case kindBool:
		if b, ok := n.(*ast.BoolNode); ok {
			v.SetBool(b.Value)
			return
		}
	case kindInt:
		if text, ok := plainNumber(n); ok {
			d.wholeNumber(text, s, v, path, at)
			return
		}
	case kindFloat:
		if text, ok := plainNumber(n); ok {
			d.number(text, s, v, path, at)
			return
		}
	case kindDuration:
		if text, ok := scalarText(n); ok {
			d.duration(text, s, v, path, at)
			return
		}
	default:
		if text, ok := scalarText(n); ok {
			d.words(n, text, s, v, path, at)
			return
		}
	}
	d.wrongKind(n, s, path, at)
}

// leadingZero is a number that some readers of YAML take for octal.
var leadingZero = regexp.MustCompile(`^-?0[0-9]`)

func (d *decoder) wholeNumber(text string, s *shape, v reflect.Value, path string, at place) {
	p := Problem{Key: path, Allowed: s.allowed()}
	switch i, err := strconv.ParseInt(text, 10, 64); {
	case strings.Trim(text, "-0123456789") != "" || leadingZero.MatchString(text):
		p.Message = "want a whole number in plain decimal digits" + d.got(text)
	case err != nil || i < s.rule.min || i > s.rule.max:
		p.Message = d.subject(text) + " is out of range"
	default:
		v.SetInt(i)
		return
	}
	d.report.add(at, p)
}

func (d *decoder) number(text string, s *shape, v reflect.Value, path string, at place) {
	f, err := strconv.ParseFloat(text, 64)
	p := Problem{Key: path, Allowed: s.allowed()}
	switch {
	case strings.Trim(text, "-.0123456789") != "" || err != nil && !math.IsInf(f, 0):
		p.Message = "want a number in plain decimal digits" + d.got(text)
	case math.IsInf(f, 0) || f < s.rule.minFloat || f > s.rule.maxFloat:
		p.Message = d.subject(text) + " is out of range"
	default:
		v.SetFloat(f)
		return
	}
	d.report.add(at, p)
}

func (d *decoder) duration(text string, s *shape, v reflect.Value, path string, at place) {
	p := Problem{Key: path, Allowed: s.allowed()}
	switch value, err := ParseDuration(text); {
	case err != nil:
		p.Message = "want a duration" + d.got(text)
	case int64(value) < s.rule.min || int64(value) > s.rule.max:
		p.Message = d.subject(text) + " is out of range"
	default:
		v.SetInt(int64(value))
		return
	}
	d.report.add(at, p)
}

func (d *decoder) words(n ast.Node, text string, s *shape, v reflect.Value, path string, at place) {
	p := Problem{Key: path, Allowed: s.allowed()}
	if foldedPlain(n) {
		p.Message = "the text goes on over several lines without quotes; check the indentation, or put it in quotes"
		d.report.add(at, p)
		return
	}
	if d.secret && (secretLike(text) || s.rule.format == "env" && randomLike(text)) {
		p.Message = "this looks like a credential; a key is never written in this file: put it in an environment variable or a file and name that in api_key_env or api_key_file"
		d.report.add(at, p)
		return
	}
	if s.rule.enum != nil {
		for _, value := range s.rule.enum {
			if text == value {
				v.SetString(text)
				return
			}
		}
		p.Message = "unknown value" + d.quoted(text)
		p.Suggestion = nearest(text, s.rule.enum)
		d.report.add(at, p)
		return
	}
	problem, better := checkFormat(s.rule.format, text)
	if problem == "" {
		v.SetString(text)
		return
	}
	p.Message = problem + d.got(text)
	if !d.secret {
		p.Suggestion = better
	}
	d.report.add(at, p)
}

// wrongKind reports a value that is of another kind than s.
func (d *decoder) wrongKind(n ast.Node, s *shape, path string, at place) {
	want := map[kind]string{
		kindBool: "true or false", kindInt: "a whole number", kindFloat: "a number", kindString: "a text", kindDuration: "a duration",
		kindList: "a list", kindMap: "keys and values", kindChoice: "keys and values", kindSection: "keys and values",
	}[s.kind]
	message := "want " + want + ", got " + d.describe(n)
	switch got := n.(type) {
	case *ast.StringNode:
		quoted := got.Token != nil && got.Token.Type != token.StringType
		_, err := strconv.ParseFloat(got.Value, 64)
		switch {
		case s.kind == kindList:
			message += "; write - before it"
		case quoted && (err == nil && (s.kind == kindInt || s.kind == kindFloat) || s.kind == kindBool && (got.Value == "true" || got.Value == "false")):
			message += "; remove the quotes"
		}
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		switch s.kind {
		case kindString:
			message += "; put it in quotes"
		case kindDuration:
			message += "; a number needs a unit"
		case kindList:
			message += "; write - before it"
		}
	}
	d.report.add(at, Problem{Key: path, Message: message, Allowed: s.allowed()})
}

// describe says what a node is, without the text of a secret file.
func (d *decoder) describe(n ast.Node) string {
	switch n := n.(type) {
	case *ast.StringNode:
		if d.secret {
			return "a text"
		}
		return "the text" + d.quoted(n.Value)
	case *ast.LiteralNode:
		return "a block of text"
	case *ast.BoolNode:
		return strconv.FormatBool(n.Value)
	case *ast.InfinityNode:
		return "infinity"
	case *ast.NanNode:
		return "a value that is no number"
	case *ast.IntegerNode, *ast.FloatNode:
		if d.secret {
			return "a number"
		}
		return "the number " + printable(n.GetToken().Value)
	case *ast.SequenceNode:
		return "a list"
	case *ast.NullNode:
		return "nothing"
	default:
		return "keys and values"
	}
}

func (d *decoder) quoted(text string) string {
	if d.secret {
		return ""
	}
	return " " + excerpt(text)
}

func (d *decoder) subject(text string) string {
	if d.secret {
		return "the value"
	}
	return text
}

func (d *decoder) got(text string) string {
	if d.secret || text == "" {
		return ""
	}
	return ", got " + excerpt(text)
}

// name is the path of a key that is not known: in a secret file only if it looks like the key of a file, since anything
// may have been pasted there.
func (d *decoder) name(path, key string) string {
	if d.secret && (len(key) > 40 || strings.Trim(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-") != "" || secretLike(key)) {
		return path + "[not shown]"
	}
	return join(path, key)
}

// scalarText returns the text of a scalar that YAML reads as text.
func scalarText(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	default:
		return "", false
	}
}

// plainNumber returns a number as it is written. The YAML parser hands numbers too large for it on as text.
func plainNumber(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.IntegerNode, *ast.FloatNode:
		return n.GetToken().Value, true
	case *ast.StringNode:
		digits := strings.TrimPrefix(n.Value, "-")
		if n.Token.Type == token.StringType && digits != "" && strings.Trim(digits, "0123456789") == "" {
			return n.Value, true
		}
	}
	return "", false
}

// foldedPlain reports whether a text without quotes spans lines: YAML joins them, which is hardly ever meant.
func foldedPlain(n ast.Node) bool {
	s, ok := n.(*ast.StringNode)
	return ok && s.Token != nil && s.Token.Type == token.StringType && strings.Contains(strings.Trim(s.Token.Origin, " \t\r\n"), "\n")
}

// mapping returns the entries of a node that holds keys and values.
func mapping(n ast.Node) ([]*ast.MappingValueNode, bool) {
	switch n := n.(type) {
	case *ast.MappingNode:
		return n.Values, true
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}, true
	default:
		return nil, false
	}
}

// nodePlace is where a node begins: for keys and values at the first key.
func nodePlace(n ast.Node) place {
	if m, ok := n.(*ast.MappingNode); ok && !m.IsFlowStyle && len(m.Values) > 0 {
		n = m.Values[0]
	}
	if m, ok := n.(*ast.MappingValueNode); ok && m.Key != nil {
		n = m.Key
	}
	if n == nil {
		return place{}
	}
	t := n.GetToken()
	if t == nil || t.Position == nil {
		return place{}
	}
	return place{t.Position.Line, t.Position.Column}
}

// join appends a key to a path, quoted and shortened where it is no plain word.
func join(path, key string) string {
	if key == "" || len(key) > 60 || strings.ContainsFunc(key, func(r rune) bool {
		return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) {
		return path + "[" + excerpt(key) + "]"
	}
	if path == "" {
		return key
	}
	return path + "." + key
}
