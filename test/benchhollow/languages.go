package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest"
	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest/process"
	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest/tokens"
)

// functions is how many functions a generated project has, each with a test of its own: about as many tests as the library has on
// which the peers of JavaScript were compared (jshttp/negotiator, 253).
const (
	functions = 240
	inModule  = 10
	inChange  = 6 // modules
)

// languages measures JavaScript and Python: what a mutant costs where a helper keeps the runner loaded, beside the whole
// command for each mutant. The projects are generated: functions of one shape, each with a test that takes some milliseconds
// of work, as tests do, in modules of ten with a test file each. The change is of some of the modules.
func languages() (missed int, err error) {
	for _, l := range []struct {
		name, command string
		files         func() map[string]string
	}{
		{"JavaScript", "node --test", javaScript}, {"Python", "python3 -m unittest", python}, {"Python", "python3 -m pytest -q", python},
	} {
		if rest, ok := strings.CutPrefix(l.command, "python3 -m pytest"); ok {
			// The python3 of PATH need not be the one that the system's pytest belongs to.
			pythons := []string{"python3", "/usr/bin/python3"}
			i := slices.IndexFunc(pythons, func(p string) bool {
				_, _, err := command(".", nil, p, "-m", "pytest", "--version")
				return err == nil
			})
			if i < 0 {
				fmt.Println("== Python by pytest\n   NOT MEASURED: python3 has no pytest here")
				continue
			}
			l.command = pythons[i] + " -m pytest" + rest
		}
		root, err := os.MkdirTemp("", "benchhollow-")
		if err != nil {
			return missed, err
		}
		defer os.RemoveAll(root)
		changed := map[string][]int{}
		for name, text := range l.files() {
			if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
				return missed, err
			}
			var module int
			if n, _ := fmt.Sscanf(name, "rates%d.", &module); n == 1 && module < inChange {
				for i := range strings.Count(text, "\n") {
					changed[name] = append(changed[name], i+1)
				}
			}
		}
		measure := func(whole bool, most int) (time.Duration, int, error) {
			start := time.Now()
			r, err := (&tokens.Engine{Whole: whole}).Measure(context.Background(), hollowtest.Request{
				Dir: root, Lines: changed, Policy: config.HollowTest{Command: l.command}, Budget: time.Hour, Exec: process.Plain{}, MaxMutants: most,
			})
			if err != nil {
				return 0, 0, err
			}
			if executed(r) == 0 {
				return 0, 0, fmt.Errorf("%s: no mutant was tried: %s", l.name, r.Reason)
			}
			return time.Since(start), executed(r), nil
		}
		short, nShort, err := measure(false, 100)
		if err != nil {
			return missed, err
		}
		driven, n, err := measure(false, 0)
		if err != nil {
			return missed, err
		}
		// The whole command's fixed cost is taken off by two runs of different length.
		few, nFew, err := measure(true, 4)
		if err != nil {
			return missed, err
		}
		many, nMany, err := measure(true, 16)
		if err != nil {
			return missed, err
		}
		perDriven, perWhole := driven/time.Duration(n), (many-few)/time.Duration(max(nMany-nFew, 1))
		further := (driven - short) / time.Duration(max(n-nShort, 1))
		factor := perWhole.Seconds() / perDriven.Seconds()
		mark := "ok    "
		if factor < 10 {
			mark = "MISSED"
			missed++
		}
		fmt.Printf("== %s, %d functions by %s\n   %s %d mutants in %.2fs, everything included: %.1fms each, 1/%.0f of the whole command's %.0fms, at most 1/10 (each further one %.1fms)\n",
			l.name, functions, l.command, mark, n, driven.Seconds(), perDriven.Seconds()*1000, factor, perWhole.Seconds()*1000, further.Seconds()*1000)
	}
	return missed, nil
}

func javaScript() map[string]string {
	files := map[string]string{"package.json": `{"name":"rates","version":"1.0.0","private":true}` + "\n"}
	for group := range functions / inModule {
		source, test := "'use strict';\n", fmt.Sprintf("'use strict';\nconst test = require('node:test');\nconst assert = require('node:assert');\nconst rates = require('./rates%d.js');\n", group)
		for i := group * inModule; i < (group+1)*inModule; i++ {
			source += fmt.Sprintf("exports.rate%d = function (a, b) {\n  if (a > b && b !== %d) {\n    return a - b;\n  }\n  return a + b * %d;\n};\n", i, i, i+2)
			test += fmt.Sprintf("test('rate%d', () => {\n  for (let i = 0, x = 0; i < 2e6; i++) x += i;\n  assert.strictEqual(rates.rate%d(%d, %d), 1);\n  assert.strictEqual(rates.rate%d(1, 2), %d);\n});\n", i, i, i+2, i+1, i, 1+2*(i+2))
		}
		files[fmt.Sprintf("rates%d.js", group)], files[fmt.Sprintf("group%d.test.js", group)] = source, test
	}
	return files
}

func python() map[string]string {
	files := map[string]string{}
	for group := range functions / inModule {
		source, test := "", fmt.Sprintf("import unittest\n\nimport rates%d as rates\n\n\nclass Rates(unittest.TestCase):\n", group)
		for i := group * inModule; i < (group+1)*inModule; i++ {
			source += fmt.Sprintf("def rate%d(a, b):\n    if a > b and b != %d:\n        return a - b\n    return a + b * %d\n\n\n", i, i, i+2)
			test += fmt.Sprintf("    def test_rate%d(self):\n        sum(range(200_000))\n        self.assertEqual(rates.rate%d(%d, %d), 1)\n        self.assertEqual(rates.rate%d(1, 2), %d)\n\n", i, i, i+2, i+1, i, 1+2*(i+2))
		}
		files[fmt.Sprintf("rates%d.py", group)], files[fmt.Sprintf("test_group%d.py", group)] = source, test
	}
	return files
}
