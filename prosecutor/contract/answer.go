package contract

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/charter"
	"github.com/prosecutor-bot/prosecutor/prosecutor/charter/strictjson"
)

// answer is what a judge's text says. It keeps the contract exactly when it has no problems.
type answer struct {
	verdict    prosecutor.Verdict
	confidence *float64
	// findings are the entries that are sound: in an answer that keeps the contract, all of it, and nothing of a text that is
	// no object. Of more than charter.MaxFindings, which is a violation, the most severe are kept.
	findings []prosecutor.Finding
	problems []string // for the judge to read, the most useful first; at most maxProblems
}

const maxProblems = 10

// readAnswer reads an answer against charter.Schema. The schema is checked by hand here rather than by a schema library:
// the messages are for a model to act on, and a compiled library costs every start of the program some milliseconds. Tests
// hold it to the schema. An optional property that is null counts as absent: providers' strict output modes can only
// make a property optional by letting it be null.
func readAnswer(text string, lens prosecutor.Lens) answer {
	obj, problems, err := strictjson.Parse(text, charter.MaxAnswerBytes)
	if err != nil {
		return answer{problems: []string{err.Error()}}
	}
	r := reader{lens: lens}
	for _, p := range problems {
		r.problem("", "%s", p)
	}
	r.object("", obj, map[string]property{
		"verdict":    {required: true, read: r.verdict},
		"findings":   {required: true, read: r.list},
		"confidence": {read: r.confidence},
	})
	if r.out.verdict == prosecutor.Block && len(r.out.findings) == 0 && len(r.out.problems) == 0 {
		r.problem("/findings", "a verdict of block needs at least one finding that says why")
	}
	if len(r.out.findings) > charter.MaxFindings {
		slices.SortStableFunc(r.out.findings, func(a, b prosecutor.Finding) int { return b.Severity.Rank() - a.Severity.Rank() })
		r.out.findings = r.out.findings[:charter.MaxFindings]
	}
	return r.out
}

type reader struct {
	lens prosecutor.Lens
	out  answer
}

func (r *reader) problem(at, format string, args ...any) {
	if len(r.out.problems) >= maxProblems {
		return
	}
	if at == "" {
		at = "the object"
	}
	r.out.problems = append(r.out.problems, at+": "+fmt.Sprintf(format, args...))
}

type property struct {
	required bool
	read     func(at string, value any)
}

// object checks the names of an object and reads the values of those it may have.
func (r *reader) object(at string, obj strictjson.Object, may map[string]property) {
	present := map[string]bool{}
	for _, m := range obj {
		p, known := may[m.Name]
		if !known {
			r.problem(at, "the property %s is not allowed", quoted(m.Name))
			continue
		}
		present[m.Name] = true
		if m.Value == nil && !p.required {
			continue
		}
		p.read(at+"/"+m.Name, m.Value)
	}
	for _, name := range propertyOrder {
		if may[name].required && !present[name] {
			r.problem(at, "the property %q is missing", name)
		}
	}
}

// propertyOrder gives messages a fixed order.
var propertyOrder = [...]string{"verdict", "findings", "severity", "charge", "claim", "path", "side", "quote"}

func (r *reader) verdict(at string, value any) {
	s, _ := value.(string)
	switch v := prosecutor.Verdict(s); v {
	case prosecutor.Ship, prosecutor.Block:
		r.out.verdict = v
	default:
		r.problem(at, `must be "ship" or "block"`)
	}
}

func (r *reader) confidence(at string, value any) {
	switch n, ok := r.number(at, value); {
	case !ok:
		// number has said so.
	case n.Sign() < 0 || n.Cmp(big.NewRat(1, 1)) > 0:
		r.problem(at, "must be a number from 0 to 1")
	default:
		f, _ := n.Float64()
		r.out.confidence = &f
	}
}

func (r *reader) list(at string, value any) {
	items, ok := value.(strictjson.Array)
	if !ok {
		r.mistyped(at, value, "a list")
	}
	if len(items) > charter.MaxFindings {
		r.problem(at, "has %d findings, at most %d are allowed: keep the most severe", len(items), charter.MaxFindings)
	}
	for i, item := range items {
		r.finding(at+"/"+strconv.Itoa(i), item)
	}
}

func (r *reader) finding(at string, value any) {
	obj, ok := value.(strictjson.Object)
	if !ok {
		r.mistyped(at, value, "an object")
		return
	}
	f := prosecutor.Finding{Source: prosecutor.FromModel, Lens: r.lens}
	anchored := true
	r.object(at, obj, map[string]property{
		"severity": {required: true, read: func(at string, v any) {
			s, _ := v.(string)
			if f.Severity = prosecutor.Severity(s); f.Severity.Rank() == 0 {
				r.problem(at, "must be one of %s", words(prosecutor.Severities()))
			}
		}},
		"charge": {required: true, read: func(at string, v any) {
			if f.Charge = charge(v); f.Charge == "" {
				r.problem(at, "must be one of %s", words(prosecutor.Charges()))
			}
		}},
		"claim": {required: true, read: func(at string, v any) {
			f.Claim = r.text(at, v, charter.MaxClaim)
			if _, isString := v.(string); isString && charter.Blank(f.Claim) {
				r.problem(at, "must say what is wrong")
			}
		}},
		"evidence":   {read: func(at string, v any) { f.Evidence = r.text(at, v, charter.MaxEvidence) }},
		"suggestion": {read: func(at string, v any) { f.Suggestion = r.text(at, v, math.MaxInt) }},
		"anchor":     {read: func(at string, v any) { f.Anchor, anchored = r.anchor(at, v) }},
	})
	if sound(obj) && anchored {
		if f.Charge == "" {
			f.Charge = chargeOf(r.lens)
		}
		r.out.findings = append(r.out.findings, f)
	}
}

// anchor reads an anchor. It is not ok when there is no telling which code it means.
func (r *reader) anchor(at string, value any) (*prosecutor.Anchor, bool) {
	obj, ok := value.(strictjson.Object)
	if !ok {
		r.mistyped(at, value, "an object")
		return nil, false
	}
	a := &prosecutor.Anchor{}
	r.object(at, obj, map[string]property{
		"path": {required: true, read: func(at string, v any) {
			if a.Path = r.text(at, v, charter.MaxPath); v == "" {
				r.problem(at, "must name a file; leave the anchor out when the finding is about no file")
			}
		}},
		"side": {required: true, read: func(at string, v any) {
			switch v {
			case string(prosecutor.Left), string(prosecutor.Right):
				a.Side = prosecutor.Side(v.(string))
			default:
				r.problem(at, `must be "LEFT" or "RIGHT"`)
			}
		}},
		"quote": {required: true, read: func(at string, v any) { a.Quote = r.text(at, v, math.MaxInt) }},
		"line":  {read: func(at string, v any) { a.Line = r.line(at, v) }},
	})
	path, _ := only(obj, "path")
	_, hasQuote := only(obj, "quote")
	return a, path != "" && hasQuote
}

// line reads a line number. One that no file has is a number like any other, but it is 0 to us: not given.
func (r *reader) line(at string, value any) int {
	n, ok := r.number(at, value)
	if !ok {
		return 0
	}
	if !n.IsInt() {
		r.problem(at, "must be a whole number")
		return 0
	}
	if i := n.Num(); i.IsUint64() && i.Uint64() <= math.MaxInt32 {
		return int(i.Int64())
	}
	return 0
}

func (r *reader) number(at string, value any) (*big.Rat, bool) {
	if n, ok := value.(json.Number); ok {
		// The literal is short and its exponent small: strictjson omits others.
		return new(big.Rat).SetString(n.String())
	}
	r.mistyped(at, value, "a number")
	return nil, false
}

func (r *reader) text(at string, value any, most int) string {
	s, ok := value.(string)
	if !ok {
		r.mistyped(at, value, "a string")
		return ""
	}
	if n := utf8.RuneCountInString(s); n > most {
		r.problem(at, "has %d characters, at most %d are allowed", n, most)
	}
	return s
}

func (r *reader) mistyped(at string, value any, want string) {
	if value == (strictjson.Omitted{}) {
		// Reported where it was read.
		return
	}
	r.problem(at, "must be %s", want)
}

// sound reports whether a finding is sound in itself: it has one severity, exactly spelled, and one claim with words.
func sound(obj strictjson.Object) bool {
	severity, _ := only(obj, "severity")
	claim, _ := only(obj, "claim")
	return prosecutor.Severity(severity).Rank() > 0 && !charter.Blank(claim)
}

// only returns the text of a name that an object has once.
func only(obj strictjson.Object, name string) (string, bool) {
	v, _ := obj.Get(name)
	s, ok := v.(string)
	return s, ok
}

func charge(v any) prosecutor.Charge {
	s, _ := v.(string)
	for _, c := range prosecutor.Charges() {
		if s == string(c) {
			return c
		}
	}
	return ""
}

// chargeOf is the charge of a sound finding that names none of the five: what its lens looks for.
func chargeOf(lens prosecutor.Lens) prosecutor.Charge {
	switch lens {
	case prosecutor.Security:
		return prosecutor.ChargeSecurity
	case prosecutor.Spec:
		return prosecutor.ChargeSpec
	default:
		return prosecutor.ChargeCorrectness
	}
}

func words[T ~string](list []T) string {
	quoted := make([]string, len(list))
	for i, w := range list {
		quoted[i] = strconv.Quote(string(w))
	}
	return strings.Join(quoted, ", ")
}

// quoted is a text of the model for a message: short, on one line, and without control characters.
func quoted(s string) string {
	const most = 60
	if utf8.RuneCountInString(s) > most {
		s = string([]rune(s)[:most]) + "..."
	}
	return strconv.Quote(s)
}
