package config

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strconv"
)

// PolicySchema returns the JSON schema (draft 2020-12) of a policy file, generated from the types: keys, descriptions,
// defaults, allowed values and bounds. What a schema cannot say, such as the range of a duration or that a glob is well
// formed, only ParsePolicy checks.
func PolicySchema() []byte {
	return render(policyShape(), "Prosecutor policy", canonical(policyShape(), reflect.ValueOf(DefaultPolicy()).Elem()))
}

// ServerSchema returns the JSON schema (draft 2020-12) of the server file. What an adapter needs and refuses, only
// ParseServer checks.
func ServerSchema() []byte {
	return render(serverShape(), "Prosecutor server file", canonical(serverShape(), reflect.ValueOf(DefaultServer()).Elem()))
}

// durationPattern is what ParseDuration reads, but for signs, which no duration of a file may have.
const durationPattern = `^(([0-9]+d)?(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+|[0-9]+d)$`

// schema is the part of JSON schema that is used here, in the order in which it is written.
type schema struct {
	Dialect              string      `json:"$schema,omitempty"`
	Title                string      `json:"title,omitempty"`
	Description          string      `json:"description,omitempty"`
	Type                 any         `json:"type"` // a name, or a list of names
	Enum                 []string    `json:"enum,omitempty"`
	Minimum              json.Number `json:"minimum,omitempty"`
	Maximum              json.Number `json:"maximum,omitempty"`
	Pattern              string      `json:"pattern,omitempty"`
	MaxLength            int         `json:"maxLength,omitempty"`
	MinItems             int         `json:"minItems,omitempty"`
	UniqueItems          bool        `json:"uniqueItems,omitempty"`
	Items                *schema     `json:"items,omitempty"`
	Properties           properties  `json:"properties,omitempty"`
	Required             []string    `json:"required,omitempty"`
	PropertyNames        *schema     `json:"propertyNames,omitempty"`
	AdditionalProperties any         `json:"additionalProperties,omitempty"` // false, or a schema
	Default              any         `json:"default,omitempty"`
}

// properties keep the order of the type's fields, which a map would lose.
type properties []property

type property struct {
	name   string
	schema *schema
}

// MarshalJSON implements json.Marshaler.
func (p properties) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, property := range p {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(property.name)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		if err := encode(&b, property.schema, ""); err != nil {
			return nil, err
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

func encode(b *bytes.Buffer, v any, indent string) error {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	return e.Encode(v)
}

func render(root *shape, title string, defaults any) []byte {
	c := comments()
	s := schemaOf(root, c, defaults)
	s.Dialect, s.Title, s.Description = "https://json-schema.org/draft/2020-12/schema", title, c.types[root.typ.Name()]
	var b bytes.Buffer
	if err := encode(&b, s, "  "); err != nil {
		panic("config: writing a schema: " + err.Error()) // every value in it is made here
	}
	return b.Bytes()
}

// schemaOf turns a shape into a schema. defaults is the canonical form of the default value, or nil where there is none.
func schemaOf(s *shape, c commentsOf, defaults any) *schema {
	switch s.kind {
	case kindSection, kindChoice:
		return sectionSchema(s, c, defaults)
	case kindMap:
		return &schema{
			Type:                 "object",
			PropertyNames:        formatSchema(s.keys),
			AdditionalProperties: schemaOf(s.elem, c, nil),
			Default:              defaults,
		}
	case kindList:
		out := &schema{Type: "array", Items: schemaOf(s.elem, c, itemDefaults(s.elem)), UniqueItems: s.rule.unique, Default: defaults}
		if s.elem.kind == kindSection {
			out.Items.Type = "object"
		}
		if s.rule.nonEmpty {
			out.MinItems = 1
		}
		return out
	case kindBool:
		return &schema{Type: "boolean", Default: defaults}
	case kindInt:
		return &schema{Type: "integer", Minimum: number(float64(s.rule.min)), Maximum: number(float64(s.rule.max)), Default: defaults}
	case kindFloat:
		return &schema{Type: "number", Minimum: number(s.rule.minFloat), Maximum: number(s.rule.maxFloat), Default: defaults}
	case kindDuration:
		return &schema{Type: "string", Pattern: durationPattern, Default: defaults}
	default:
		out := formatSchema(s.rule.format)
		if s.rule.enum != nil {
			out = &schema{Type: "string", Enum: s.rule.enum}
		}
		if defaults != "" || s.rule.format == "command" {
			out.Default = defaults
		}
		return out
	}
}

// itemDefaults are the defaults of the items of a list: only judges have any.
func itemDefaults(s *shape) any {
	if s.typ != reflect.TypeFor[JudgeConfig]() {
		return nil
	}
	return canonical(s, reflect.ValueOf(defaultJudge()))
}

func sectionSchema(s *shape, c commentsOf, defaults any) *schema {
	out := &schema{Type: []string{"object", "null"}, AdditionalProperties: false}
	if s.kind == kindChoice || s.ptr {
		out.Type = "object" // only a section may stand without a value
	}
	values, _ := defaults.(map[string]any)
	for _, f := range s.fields {
		property := property{name: f.name, schema: schemaOf(f.shape, c, values[f.name])}
		property.schema.Description = c.fields[f.owner+"."+f.goName]
		out.Properties = append(out.Properties, property)
		if f.required {
			out.Required = append(out.Required, f.name)
		}
	}
	return out
}

func formatSchema(name string) *schema {
	f := formats()[name]
	return &schema{Type: "string", Pattern: f.pattern, MaxLength: f.most}
}

func number(f float64) json.Number { return json.Number(strconv.FormatFloat(f, 'f', -1, 64)) }
