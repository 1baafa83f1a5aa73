package schemata

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// testOutput is what the lines of a test binary say under -test.v=test2json, which marks the lines of the testing package
// so that nothing a test prints can be taken for one.
type testOutput struct {
	passed   map[string]time.Duration
	failed   []string
	running  string // the test that had begun last and not ended
	complete bool   // the final PASS or FAIL was reached
	green    bool   // the final PASS
	ran      bool
	noTests  bool
}

var resultLine = regexp.MustCompile(`^--- (PASS|FAIL|SKIP): ([^ /]+) \(([0-9.]+)s\)$`)

func parseOutput(out []byte) testOutput {
	o := testOutput{passed: map[string]time.Duration{}}
	open := map[string]bool{}
	for line := range bytes.SplitSeq(out, []byte{'\n'}) {
		// A mark may follow output without a newline.
		i := bytes.LastIndexByte(line, 0x16)
		if i < 0 {
			if bytes.Equal(line, []byte("testing: warning: no tests to run")) {
				o.noTests = true
			}
			continue
		}
		text := strings.TrimRight(string(line[i+1:]), "\r")
		switch {
		case text == "PASS":
			o.complete, o.green = true, true
		case text == "FAIL":
			o.complete = true
		case strings.HasPrefix(text, "=== RUN   "):
			o.ran = true
			name, _, _ := strings.Cut(strings.TrimPrefix(text, "=== RUN   "), "/")
			o.running = name
			open[name] = true
		case strings.HasPrefix(text, "=== CONT  "), strings.HasPrefix(text, "=== NAME  "):
			name, _, _ := strings.Cut(text[len("=== CONT  "):], "/")
			if name != "" {
				o.running = name
			}
		default:
			m := resultLine.FindStringSubmatch(text)
			if m == nil {
				continue
			}
			delete(open, m[2])
			seconds, err := strconv.ParseFloat(m[3], 64)
			if err != nil {
				continue
			}
			if m[1] == "FAIL" {
				o.failed = append(o.failed, m[2])
			} else {
				o.passed[m[2]] = time.Duration(seconds * float64(time.Second))
			}
		}
	}
	if !open[o.running] {
		o.running = ""
		for name := range open {
			if o.running == "" || name < o.running {
				o.running = name
			}
		}
	}
	return o
}
