package record

import (
	"strings"
	"testing"
)

func TestCanonical(t *testing.T) {
	for in, want := range map[string]string{
		`null`:                                 `null`,
		` { } `:                                `{}`,
		` [ ] `:                                `[]`,
		`[1, -2,0,-0, true ,false,null,"",{}]`: `[1,-2,0,0,true,false,null,"",{}]`,
		`[9007199254740991,-9007199254740991]`: `[9007199254740991,-9007199254740991]`,
		`{"b":1,"a":{"d":[],"c":""},"":0}`:     `{"":0,"a":{"c":"","d":[]},"b":1}`,
		`{"a":1,"b":2,"a":3}`:                  `{"a":3,"b":2}`,
		`"\u0000\u001f\u0020\u007f\u00e9\/"`:   "\"\\u0000\\u001f\x20\x7fé/\"",
		`"\b\t\n\f\r\"\\ <>&\u2028"`:           "\"\\b\\t\\n\\f\\r\\\"\\\\ <>&\u2028\"",
		// The order of RFC 8785, 3.2.3: by UTF-16, in which a character beyond the first plane comes before U+FB33.
		`{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One","\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}`: "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u0080\":\"Control\",\"ö\":\"Latin Small Letter O With Diaeresis\",\"€\":\"Euro Sign\",\"😀\":\"Emoji: Grinning Face\",\"\ufb33\":\"Hebrew Letter Dalet With Dagesh\"}",
	} {
		got, err := canonical([]byte(in))
		if err != nil || string(got) != want {
			t.Errorf("%s:\n got %s, %v\nwant %s", in, got, err, want)
		}
		if again, err := canonical(got); err != nil || string(again) != want {
			t.Errorf("%s is encoded as %s, %v", got, again, err)
		}
	}
	for in, want := range map[string]string{
		``:                             "not JSON",
		`{`:                            "not JSON",
		`{} {}`:                        "something follows",
		`{}x`:                          "something follows",
		"\"\xff\"":                     "not valid UTF-8",
		`1.0`:                          "whole",
		`1e2`:                          "whole",
		`[{"a":[1.5]}]`:                "whole",
		`{"a":{"b":9007199254740992}}`: "whole",
		`-9007199254740992`:            "whole",
		`99999999999999999999`:         "whole",
	} {
		if got, err := canonical([]byte(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %s, %v; want an error that says %q", in, got, err, want)
		}
	}
}

func TestShown(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":"plain ~"}`:      `{"a":"plain ~"}`,
		"é 😀 \u00a0":           "é 😀 \u00a0",
		"\x00\x1f\x20\x7e\x7f": `\u0000\u001f ~\u007f`,
		"\x1b":                 `\u001b`,
		"\u0080\u009f\u00ad":   `\u0080\u009f\u00ad`,
		"\u200b\u202e\u2028\u2029\ue000\ufeff\U000e0001": `\u200b\u202e\u2028\u2029\ue000\ufeff\udb40\udc01`,
	} {
		if got := shown([]byte(in)); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}

func TestHashesThatAreNone(t *testing.T) {
	for h, want := range map[Hash]bool{
		Genesis: true, Hash(strings.Repeat("0aF", 21) + "0"): false, Hash(strings.Repeat("ab", 31)): false, Hash(strings.Repeat("ab", 33)): false, "": false,
		Hash(strings.Repeat("zz", 32)): false, Hash(strings.Repeat("ab", 32)): true,
	} {
		if h.valid() != want {
			t.Errorf("%s: %v", h, h.valid())
		}
	}
}
