package rules

import (
	"strings"

	"github.com/prosecutor-bot/prosecutor/prosecutor"
)

func errorRules() []Rule {
	return []Rule{{
		ID: "swallowed-error", Lens: prosecutor.Correctness, Severity: prosecutor.Medium, Charge: prosecutor.ChargeCorrectness,
		Title:   "Error swallowed",
		Why:     "An error that is caught and dropped turns a failure into wrong results later. Medium when everything is caught and nothing is done; low when one result is ignored. A comment in the handler, or a narrow exception, counts as a decision and is no finding.",
		langs:   of(golang, python, javascript, java, kotlin, csharp, rust, ruby, php),
		needles: []string{"!= nil", "_ = ", ", _ := ", "except", "catch", "rescue", "let _ = ", ".ok();"},
		perFile: swallowedErrors,
	}}
}

var (
	goEmptyIf     = lazy(`\bif\s+(?:.*;\s*)?(?:err|e|\w*Err)\s*!=\s*nil\s*\{\s*(\}?)\s*$`)
	goDropErr     = lazy(`^\s*_ = err\s*$`)
	goDropParse   = lazy(`^\s*\w+, _ :?= (?:strconv\.(?:Atoi|Parse\w+)|json\.Marshal\w*|ioutil\.ReadAll|io\.ReadAll|os\.ReadFile|ioutil\.ReadFile|http\.(?:Get|NewRequest\w*)|url\.Parse|time\.Parse\w*|os\.(?:Open|Create))\(`)
	goDropDecode  = lazy(`^\s*_ = (?:json\.Unmarshal|yaml\.Unmarshal|xml\.Unmarshal|\w+\.Decode|binary\.Read)\(`)
	pyExceptAll   = lazy(`^\s*except(?:\s+\(?(?:Exception|BaseException)\)?(?:\s+as\s+\w+)?)?\s*:\s*(.*)$`)
	jsEmptyCatch  = lazy(`\bcatch\s*(?:\(\s*[\w$: ]*\s*\))?\s*\{\s*(\}?)[\s;]*$`)
	jsEmptyThen   = lazy(`\.catch\(\s*(?:\(\s*[\w$]*\s*\)|[\w$]+)\s*=>\s*(?:\{\s*\}|undefined|null)\s*\)|\.catch\(\s*function\s*\([\w$]*\)\s*\{\s*\}\s*\)|\.catch\(\s*noop\s*\)`)
	jvmEmptyCatch = lazy(`\bcatch\s*\(\s*(?:final\s+)?(?:\\?[\w.]+\s*[|]?\s*)*?\\?(Exception|Throwable|Error|RuntimeException|\w+)\s+\$?(\w+)\s*\)\s*\{\s*(\}?)\s*$|\bcatch\s*(?:\(\s*(?:System\.)?Exception\s*\)\s*)?\{\s*(\}?)\s*$`)
	ktEmptyCatch  = lazy(`\bcatch\s*\(\s*(\w+)\s*:\s*(\w+)\s*\)\s*\{\s*(\}?)\s*$`)
	rbRescueNil   = lazy(`\brescue\s+nil\s*$`)
	rbRescueAll   = lazy(`^\s*rescue(?:\s+(?:StandardError|Exception))?(?:\s*=>\s*\w+)?\s*$`)
	rsDropResult  = lazy(`^\s*let _ = (?:std::)?(?:fs::(?:write|rename|copy|create_dir_all)|serde_\w+::\w+)\(`)
	rsDropOK      = lazy(`^\s*[\w.:]*(?:fs::(?:write|rename|copy)|serde_\w+::\w+|\.(?:write_all|flush|sync_all|commit|save))\(.*\)(?:\.await)?\.ok\(\);\s*$`)
	onlyClosing   = lazy(`^\s*\}[\s;)]*$`)
	commentBehind = lazy(`(?://|/\*|#)`)
)

func swallowedErrors(s *scan, f *file) {
	if f.test || isVendored(f.path) {
		return
	}
	rows := f.masked()
	// emptyBlock reports whether the block that opens on row i holds nothing, not even a comment.
	emptyBlock := func(i int, closed bool) bool {
		if closed {
			return !commentBehind().MatchString(strings.Trim(rows[i].Text[min(len(rows[i].Text), strings.LastIndexByte(rows[i].Text, '{')+1):], " }"))
		}
		if rows[i].Text != "" && strings.TrimSpace(rows[i].text) != strings.TrimSpace(rows[i].Text) {
			return false // a comment behind the brace
		}
		next := nextNew(rows, i)
		return next != nil && onlyClosing().MatchString(next.Text)
	}
	s.added(f, func(i int, r *row) {
		switch f.lang {
		case golang:
			if m := goEmptyIf().FindStringSubmatch(r.code); m != nil && emptyBlock(i, m[1] != "") {
				s.hit(f, r, prosecutor.Medium, "An error is checked and then nothing is done about it")
			} else if goDropErr().MatchString(r.Text) {
				s.hit(f, r, prosecutor.Medium, "An error is assigned to the blank identifier")
			} else if goDropParse().MatchString(r.code) || goDropDecode().MatchString(r.code) {
				s.hit(f, r, prosecutor.Low, "The error of a call that fails on bad input is discarded")
			}
		case python:
			m := pyExceptAll().FindStringSubmatch(r.text)
			if m == nil || strings.TrimSpace(r.text) != strings.TrimSpace(r.Text) {
				return
			}
			body := strings.TrimSpace(m[1])
			if body == "" {
				if next := nextNew(rows, i); next != nil {
					body = strings.TrimSpace(next.Text)
				}
			}
			if body == "pass" || body == "..." {
				s.hit(f, r, prosecutor.Medium, "Every exception is caught and dropped")
			}
		case javascript:
			if m := jsEmptyCatch().FindStringSubmatch(r.code); m != nil && emptyBlock(i, m[1] != "") {
				s.hit(f, r, prosecutor.Medium, "Every exception is caught and dropped")
			} else if jsEmptyThen().MatchString(r.text) {
				s.hit(f, r, prosecutor.Low, "The rejection of a promise is dropped")
			}
		case java, csharp, php, kotlin:
			var broad, variable string
			var closed bool
			if f.lang == kotlin {
				m := ktEmptyCatch().FindStringSubmatch(r.code)
				if m == nil {
					return
				}
				variable, broad, closed = m[1], m[2], m[3] != ""
			} else {
				m := jvmEmptyCatch().FindStringSubmatch(r.code)
				if m == nil {
					return
				}
				broad, variable, closed = m[1], m[2], m[3]+m[4] != ""
			}
			if !emptyBlock(i, closed) || strings.HasPrefix(variable, "ignore") || strings.HasPrefix(variable, "expected") {
				return
			}
			switch broad {
			case "Exception", "Throwable", "Error", "RuntimeException", "":
				s.hit(f, r, prosecutor.Medium, "Every exception is caught and dropped")
			default:
				s.hit(f, r, prosecutor.Low, "An exception is caught and dropped")
			}
		case ruby:
			if rbRescueNil().MatchString(r.code) {
				s.hit(f, r, prosecutor.Low, "Any failure of the expression becomes nil")
			} else if rbRescueAll().MatchString(r.code) {
				if next := nextNew(rows, i); next != nil && strings.TrimSpace(next.Text) == "end" {
					s.hit(f, r, prosecutor.Medium, "Every exception is caught and dropped")
				}
			}
		case rust:
			if rsDropResult().MatchString(r.code) || rsDropOK().MatchString(r.code) {
				s.hit(f, r, prosecutor.Low, "The Result of a call that can fail is discarded")
			}
		}
	})
}
