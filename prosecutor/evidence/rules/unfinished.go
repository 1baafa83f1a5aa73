package rules

import (
	"strings"

	"github.com/prosecutor-bot/prosecutor/prosecutor"
)

func unfinishedRules() []Rule {
	return []Rule{
		{
			ID: "elided-code", Lens: prosecutor.Correctness, Severity: prosecutor.High, Charge: prosecutor.ChargeCorrectness,
			Title:   "Code replaced by a placeholder comment",
			Why:     "A comment such as \"... existing code ...\" is what an assistant writes instead of code it did not repeat. Applied to a file, the code it stood for is gone.",
			langs:   programming,
			needles: []string{"..."},
			perFile: elidedCode,
		},
		{
			ID: "stub-left-in", Lens: prosecutor.Correctness, Severity: prosecutor.Medium, Charge: prosecutor.ChargeCorrectness,
			Title:   "Unimplemented code",
			Why:     "The code fails whenever it is reached. Sometimes that is meant, so it is medium: a reviewer should know.",
			langs:   of(golang, javascript, rust, java, kotlin, csharp, python, php),
			needles: []string{"mplemented", "todo!(", "TODO("},
			perFile: stubs,
		},
	}
}

var elided = lazy(`(?i)^\s*(?://|#|/\*|--|\*|\{/\*)\s*\.\.\.\s*(?:\(?(?:the )?(?:rest of|existing|remaining|previous|other existing|keep|same|unchanged)\b[\w /'-]*(?:code|file|function|functions|method|methods|class|implementation|logic|imports|unchanged|same|content|as before|here)\b[\w /'-]*\)?)\s*(?:\.\.\.)?|^\s*(?://|#|/\*|\{/\*)\s*(?:the )?(?:rest|remainder) of (?:the |your |this )?(?:code|file|function|method|class|implementation|component)\b[\w ,'-]*(?:unchanged|the same|as before|remains|here|\.\.\.)`)

func elidedCode(s *scan, f *file) {
	if f.fixture || f.doc {
		return
	}
	// Masking blanks comments, so that a placeholder inside a string shows as itself here.
	s.added(f, func(_ int, r *row) {
		if elided().MatchString(r.Text) && blank(strings.Trim(r.text, "{} ")) {
			s.hit(f, r, prosecutor.High, "A placeholder comment stands where code should be")
		}
	})
}

var stub = lazy(`^\s*panic\(\s*"(?i:todo|(?:not|un)[ -]?(?:yet )?implemented)|\bthrow new (?:Error\(\s*["'](?i:todo|not (?:yet )?implemented)|NotImplementedException\()|^\s*TODO\(|\bthrow new (?:UnsupportedOperationException|RuntimeException|\\?BadMethodCallException|\\?LogicException|\\?Exception)\(\s*["'](?i:todo|not (?:yet )?implemented)`)

var stubMacro = lazy(`\b(?:todo|unimplemented)!\(`)

func stubs(s *scan, f *file) {
	if f.test || f.doc || isVendored(f.path) {
		return
	}
	s.added(f, func(i int, r *row) {
		if f.lang == python {
			// An abstract method raises it too; only one that says so is a stub.
			if strings.Contains(r.Text, "raise NotImplementedError") && strings.Contains(strings.ToLower(r.Text), "todo") {
				s.hit(f, r, prosecutor.Medium, "The code is not implemented")
			}
			return
		}
		if !blank(r.code) && stub().MatchString(r.text) || f.lang == rust && stubMacro().MatchString(r.code) {
			s.hit(f, r, prosecutor.Medium, "The code is not implemented")
		}
	})
}
