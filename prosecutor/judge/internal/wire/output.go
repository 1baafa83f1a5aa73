package wire

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Output is how a server is made to answer in JSON. The prompt tells the form of the answer in words in any case, and
// the contract validates what comes back in any case.
type Output string

// The values of a judge's output setting.
const (
	OutputAuto   Output = "auto"        // the schema where the server takes it, else words
	OutputSchema Output = "json_schema" // the schema of the answer is sent along
	OutputJSON   Output = "json_object" // the server's JSON mode
	OutputText   Output = "text"        // words alone
)

// ParseOutput reads the setting; empty means auto.
func ParseOutput(s string) (Output, error) {
	switch o := Output(s); o {
	case "":
		return OutputAuto, nil
	case OutputAuto, OutputSchema, OutputJSON, OutputText:
		return o, nil
	default:
		return "", fmt.Errorf("unknown output %q: use auto, json_schema, json_object or text", s)
	}
}

// Strict reports whether a JSON schema keeps to the rule of OpenAI's strict mode that every object is closed and
// requires all of its properties. A schema that does not is sent as a hint instead: in strict mode the server would
// reject it.
func Strict(schema []byte) bool {
	var v any
	return json.Unmarshal(schema, &v) == nil && strict(v)
}

func strict(v any) bool {
	switch v := v.(type) {
	case []any:
		return !slices.ContainsFunc(v, func(x any) bool { return !strict(x) })
	case map[string]any:
		if props, ok := v["properties"].(map[string]any); ok {
			required, _ := v["required"].([]any)
			if v["additionalProperties"] != false || len(required) != len(props) {
				return false
			}
			for _, name := range required {
				s, _ := name.(string)
				if _, known := props[s]; !known {
					return false
				}
			}
		}
		for _, x := range v {
			if !strict(x) {
				return false
			}
		}
	}
	return true
}
