package rules

import (
	"strings"

	"github.com/prosecutor-bot/prosecutor/prosecutor"
)

func debugRules() []Rule {
	return []Rule{
		{
			ID: "breakpoint-left-in", Lens: prosecutor.Correctness, Severity: prosecutor.High, Charge: prosecutor.ChargeCorrectness,
			Title:   "Breakpoint left in",
			Why:     "A breakpoint stops the program, or the test run, for whoever reaches it first. Medium in test code and scripts.",
			langs:   of(python, javascript, ruby, golang, php),
			needles: []string{"set_trace", "breakpoint()", "debugger", "binding.", "byebug", "runtime.Breakpoint()", "xdebug_break"},
			perFile: breakpoints,
		},
		{
			ID: "debug-output-left-in", Lens: prosecutor.Correctness, Severity: prosecutor.Low, Charge: prosecutor.ChargeCorrectness,
			Title:   "Debugging output left in",
			Why:     "Output that was added to find a bug is noise in production and may show data to the wrong reader. Only what is plainly for debugging: dbg!, var_dump, prints that say so, console.log outside tools.",
			langs:   of(python, javascript, ruby, golang, php, rust, java),
			needles: []string{"console.log(", "dbg!(", "var_dump(", "print_r(", "dd(", "dump(", "rint", "puts"},
			perFile: debugOutput,
		},
	}
}

var (
	breakPython = lazy(`^\s*(?:import (?:i?pdb|pudb)\s*;\s*)?(?:(?:i?pdb|pudb|rpdb|wdb)\.set_trace\(|breakpoint\(\))`)
	breakJS     = lazy(`(?:^|[;{]\s*)\s*debugger\s*;?\s*\}?\s*$`)
	breakRuby   = lazy(`^\s*(?:binding\.(?:pry|irb|break)|byebug|debugger)\s*$`)
	breakGo     = lazy(`^\s*runtime\.Breakpoint\(\)`)
	breakPHP    = lazy(`^\s*xdebug_break\(\)`)
)

func breakpoints(s *scan, f *file) {
	s.added(f, func(_ int, r *row) {
		found := false
		switch f.lang {
		case python:
			found = breakPython().MatchString(r.code)
		case javascript:
			found = breakJS().MatchString(r.code)
		case ruby:
			found = breakRuby().MatchString(r.code)
		case golang:
			found = breakGo().MatchString(r.code)
		case php:
			found = breakPHP().MatchString(r.code)
		}
		if !found {
			return
		}
		severity := prosecutor.High
		if f.test || isScript(f.path) {
			severity = prosecutor.Medium
		}
		s.hit(f, r, severity, "A breakpoint is left in: the program stops here")
	})
}

var (
	debugText   = `(?i)["'` + "`" + `](?:\[?debug\]?\b|xxx+\b|here\b["' !.\d]|got here|>>>+|<<<+|\*\*\*+|###+|---+>|=====+)`
	debugPrint  = lazy(`^\s*(?:fmt\.Print(?:ln|f)?|print(?:ln)?!?|eprintln!|log\.Print(?:ln|f)?|System\.(?:out|err)\.println?|puts|p|pp)[( ]\s*f?` + debugText)
	debugPHP    = lazy(`^\s*(?:var_dump|dd|dump|print_r)\(.*\)\s*;`)
	debugRust   = lazy(`\bdbg!\(`)
	consoleLine = lazy(`^\s*console\.log\(`)
	nodeTool    = lazy(`(?i)(?:^|/)(?:cli|cmd|commands?|bin|logger|logging|log|server|dev|demo|playground|debug)(?:/|\.|-|_)`)
)

func debugOutput(s *scan, f *file) {
	if f.test || f.doc || isScript(f.path) || isVendored(f.path) {
		return
	}
	s.added(f, func(_ int, r *row) {
		switch f.lang {
		case rust:
			if debugRust().MatchString(r.code) {
				s.hit(f, r, prosecutor.Low, "dbg! prints to standard error in every build")
				return
			}
		case php:
			if debugPHP().MatchString(r.code) && !strings.Contains(r.code, "print_r($") {
				s.hit(f, r, prosecutor.Low, "A value is dumped into the response")
			}
			return
		case javascript:
			if consoleLine().MatchString(r.code) && !nodeTool().MatchString(f.path) && !strings.HasSuffix(f.path, ".mjs") {
				s.hit(f, r, prosecutor.Low, "console.log is left in code that is not a command-line tool")
			}
			return
		}
		if !blank(r.code) && debugPrint().MatchString(r.text) {
			s.hit(f, r, prosecutor.Low, "A print that looks like a debugging aid is left in")
		}
	})
}
