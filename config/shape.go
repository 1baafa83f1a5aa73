package config

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"github.com/prosecutor-bot/prosecutor/prosecutor"
)

// A shape is what a file may hold, read from the types once: the parser, the JSON schema, the hash and the reference in
// docs all walk it, so that they cannot disagree.
type shape struct {
	kind   kind
	typ    reflect.Type // of the Go value, behind the pointer if there is one
	ptr    bool         // the Go value is a pointer: nil is the default
	elem   *shape       // of a list, or of the values of a map
	fields []field      // of a section, or of a map whose keys are fixed
	keys   string       // format of the keys of a free map
	rule   rule
}

// kind is the kind of a value as a person writes it.
type kind int

const (
	kindBool kind = iota
	kindInt
	kindFloat
	kindString
	kindDuration
	kindList
	kindMap     // any key, values of one shape
	kindChoice  // a map whose keys are fixed
	kindSection // a struct
)

// field is one key of a section.
type field struct {
	name     string
	index    int    // of the struct field
	owner    string // name of the struct type, to find its comment
	goName   string
	required bool
	shape    *shape
}

// rule is what a single value has to keep to. It comes from the `check` tag of a field, words separated by blanks:
//
//	min=N max=N     bounds, inclusive, of a number or duration
//	enum=a|b|c      the values of a text
//	required        the key has to be there (in the items of a list)
//	keys=FORMAT     the format of a map's keys
//	nonempty        a list needs an item
//	unique          a list holds no item twice
//	FORMAT          the format of a text, or of the texts in a list or map; see formats.go
type rule struct {
	min, max           int64 // of kindInt, and of kindDuration in nanoseconds
	minFloat, maxFloat float64
	enum               []string
	format             string
	nonEmpty, unique   bool
}

var (
	policyShape = sync.OnceValue(func() *shape { return shapeOf(reflect.TypeFor[Policy](), "") })
	serverShape = sync.OnceValue(func() *shape { return shapeOf(reflect.TypeFor[Server](), "") })
)

// shapeOf panics on a type or tag it does not know: that is a bug in this package, and every test would meet it.
func shapeOf(t reflect.Type, tag string) *shape {
	s := &shape{typ: t}
	switch {
	case t.Kind() == reflect.Pointer:
		s = shapeOf(t.Elem(), tag)
		s.ptr = true
		return s
	case t == reflect.TypeFor[Duration]():
		s.kind = kindDuration
	case t == reflect.TypeFor[map[prosecutor.Radius]int]():
		return lensesShape(t)
	case t.Kind() == reflect.Bool:
		s.kind = kindBool
	case t.Kind() == reflect.Int:
		s.kind = kindInt
	case t.Kind() == reflect.Float64:
		s.kind = kindFloat
	case t.Kind() == reflect.String:
		s.kind = kindString
	case t.Kind() == reflect.Slice:
		s.kind, s.elem = kindList, shapeOf(t.Elem(), tag)
	case t.Kind() == reflect.Map && t.Key().Kind() == reflect.String:
		s.kind, s.elem = kindMap, shapeOf(t.Elem(), tag)
	case t.Kind() == reflect.Struct:
		s.kind = kindSection
		for i := range t.NumField() {
			f := t.Field(i)
			check := f.Tag.Get("check")
			s.fields = append(s.fields, field{
				name:     f.Tag.Get("yaml"),
				index:    i,
				owner:    t.Name(),
				goName:   f.Name,
				required: hasWord(check, "required"),
				shape:    shapeOf(f.Type, check),
			})
		}
		return s
	default:
		panic(fmt.Sprintf("config: no shape for %s", t))
	}
	s.applyTag(tag)
	return s
}

// lensesShape is the shape of blast_radius.lenses, where each key has bounds of its own.
func lensesShape(t reflect.Type) *shape {
	s := &shape{kind: kindChoice, typ: t}
	for _, r := range prosecutor.Radii() {
		value := &shape{kind: kindInt, typ: t.Elem()}
		value.rule.min, value.rule.max = int64(leastLenses()[r]), int64(len(prosecutor.Lenses()))
		s.fields = append(s.fields, field{name: string(r), shape: value})
	}
	return s
}

func (s *shape) applyTag(tag string) {
	for _, word := range strings.Fields(tag) {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "required":
		case "min", "max":
			s.applyBound(name, value)
		case "enum":
			s.rule.enum = strings.Split(value, "|")
		case "keys":
			if s.kind == kindMap {
				s.keys = value
			}
		case "nonempty":
			s.rule.nonEmpty = true
		case "unique":
			s.rule.unique = true
		default:
			if _, ok := formats()[name]; !ok {
				panic(fmt.Sprintf("config: unknown format %q", name))
			}
			s.rule.format = name
		}
	}
}

func (s *shape) applyBound(name, value string) {
	var n int64
	var f float64
	var err error
	switch s.kind {
	case kindInt:
		n, err = strconv.ParseInt(value, 10, 64)
	case kindFloat:
		f, err = strconv.ParseFloat(value, 64)
	case kindDuration:
		var d Duration
		d, err = ParseDuration(value)
		n = int64(d)
	default:
		return
	}
	if err != nil {
		panic(fmt.Sprintf("config: bound %s=%s: %v", name, value, err))
	}
	if name == "min" {
		s.rule.min, s.rule.minFloat = n, f
	} else {
		s.rule.max, s.rule.maxFloat = n, f
	}
}

func hasWord(tag, word string) bool {
	for _, w := range strings.Fields(tag) {
		if w == word {
			return true
		}
	}
	return false
}

// field returns the field of a section by its key.
func (s *shape) field(name string) *field {
	for i := range s.fields {
		if s.fields[i].name == name {
			return &s.fields[i]
		}
	}
	return nil
}

// names returns the keys of a section in the order of the type.
func (s *shape) names() []string {
	names := make([]string, len(s.fields))
	for i, f := range s.fields {
		names[i] = f.name
	}
	return names
}

// allowed says in short what may stand in the place of s.
func (s *shape) allowed() string {
	switch s.kind {
	case kindBool:
		return "true or false"
	case kindInt:
		if s.rule.min == s.rule.max {
			return strconv.FormatInt(s.rule.min, 10)
		}
		return fmt.Sprintf("a whole number from %d to %d", s.rule.min, s.rule.max)
	case kindFloat:
		return fmt.Sprintf("a number from %s to %s", formatFloat(s.rule.minFloat), formatFloat(s.rule.maxFloat))
	case kindDuration:
		return fmt.Sprintf("a duration from %s to %s, as in 90s, 30m, 1h30m or 7d", Duration(s.rule.min), Duration(s.rule.max))
	case kindString:
		if s.rule.enum != nil {
			return strings.Join(s.rule.enum, ", ")
		}
		return formats()[s.rule.format].allowed
	case kindList:
		return "a list, each item " + s.elem.allowed()
	case kindMap:
		return "keys and values, each key " + formats()[s.keys].allowed + ", each value " + s.elem.allowed()
	default:
		return "the keys " + strings.Join(s.names(), ", ")
	}
}

func formatFloat(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
