package rules

import (
	"fmt"
	"path"
	"strings"

	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/diff"
)

func claimRules() []Rule {
	base := func(r Rule) Rule {
		r.Lens, r.Charge = prosecutor.Spec, prosecutor.ChargeSpec
		return r
	}
	return []Rule{
		base(Rule{
			ID: "claim-docs-only", Severity: prosecutor.High, Title: "\"Docs only\", but code changes",
			Why:   "The description says that only documentation changes, and a program file has changed lines that are neither blank nor comment. Medium where the claim is no more than a \"docs:\" title.",
			whole: claimDocsOnly,
		}),
		base(Rule{
			ID: "claim-tests-only", Severity: prosecutor.High, Title: "\"Tests only\", but other code changes",
			Why:   "The description says that only tests change, and code outside the tests has changed lines that are neither blank nor comment.",
			whole: claimTestsOnly,
		}),
		base(Rule{
			ID: "claim-only-touches", Severity: prosecutor.High, Title: "\"Only touches X\", but another place changes",
			Why:   "The description names the one place that changes, and the diff changes a file elsewhere.",
			whole: claimOnlyTouches,
		}),
		base(Rule{
			ID: "claim-untouched", Severity: prosecutor.High, Title: "\"Does not touch X\", but X changes",
			Why:   "The description says that a path stays as it is, and the diff changes it.",
			whole: claimUntouched,
		}),
		base(Rule{
			ID: "claim-adds-tests", Severity: prosecutor.Medium, Title: "\"Adds tests\", but no test changes",
			Why:   "The description says that tests come with the change, and neither a test file nor a test in a source file gets a line.",
			whole: claimAddsTests,
		}),
	}
}

var (
	htmlComment = lazy(`(?s)<!--.*?(?:-->|\z)`)
	codeFence   = lazy("(?s)```.*?(?:```|\\z)")
	quotedLine  = lazy(`(?m)^\s*>.*$`)
	emptyBox    = lazy(`(?m)^\s*[-*+]\s*\[ \].*$`)
	questions   = lazy(`[^.!?\n]*\?`)
)

// sentences returns the statements of a description, in lower case: without comments of a template, quoted text, code
// blocks, boxes that are not ticked, and questions.
func sentences(spec string) []string {
	const limit = 64 << 10
	if len(spec) > limit {
		spec = spec[:limit]
	}
	spec = htmlComment().ReplaceAllString(spec, "")
	spec = codeFence().ReplaceAllString(spec, "")
	spec = quotedLine().ReplaceAllString(spec, "")
	spec = emptyBox().ReplaceAllString(spec, "")
	spec = questions().ReplaceAllString(spec, "")
	var out []string
	for _, line := range strings.Split(spec, "\n") {
		// A full stop ends a sentence only before white space: paths have stops in them.
		for _, sentence := range strings.Split(strings.ReplaceAll(line, ". ", "\x00"), "\x00") {
			for _, part := range strings.Split(sentence, "; ") {
				if t := strings.TrimSpace(part); t != "" {
					out = append(out, t)
				}
			}
		}
	}
	return out
}

const (
	subject = `^\W*(?:(?:this|the|my|our) )?(?:pr|pull request|merge request|mr|change|changeset|commit|patch|this|it) `
	claimed = `[\w.@-]*/[\w./@*-]*|[\w-]+\.(?:go|py|js|ts|tsx|rs|java|rb|php|c|h|cpp|yml|yaml|toml|json|sql|sh)`
)

var (
	// A claim about the change starts its sentence, or has the change as its subject. Anything else, such as "the docs
	// only say" or "skip CI for docs-only changes", is about something else.
	docsOnly    = lazy(`(?i)^\W*(?:docs?|documentation|readme|comments?)[ -](?:changes? )?only(?: changes?| updates?| pr| commit)?(?:\W*$|:)|` + subject + `(?:is|are|contains?)(?: \w+){0,2} (?:docs?|documentation|readme|comments?)[ -]only\b|` + subject + `(?:only|just) (?:changes|updates|touches|affects|edits|modifies|improves|fixes|adds)(?: to)? (?:the )?(?:docs|documentation|readme|comments)\W*$|^\W*(?:only|just) (?:docs|documentation)(?: changes?| updates?)?\W*$|^\W*no (?:source )?code changes?\W*$|` + subject + `(?:contains|has|makes) no (?:source )?code changes?\W*$`)
	docsTitle   = lazy(`^(?i:docs?)(?:\([^)]*\))?: `)
	testsOnly   = lazy(`(?i)^\W*tests?[ -](?:changes? )?only(?: changes?| updates?| pr| commit)?(?:\W*$|:)|` + subject + `(?:is|are|contains?)(?: \w+){0,2} tests?[ -]only\b|` + subject + `(?:only|just) (?:changes|updates|touches|affects|edits|modifies|improves|fixes|adds)(?: to)? (?:the )?(?:unit |integration |e2e )?tests\W*$|^\W*no (?:production|non-test) (?:code )?changes?\W*$`)
	onlyPath    = lazy(`(?i)(?:^\W*|` + subject + `)only (?:touch(?:es)?|chang(?:es|ed)|modif(?:ies|ied)|affects?|edits?|updates?) (?:files (?:in|under|below) |the (?:folder|directory|file|package) )?\x60?([\w.@-]*/[\w./@*-]*|[\w-]+\.[a-z]{1,5}\b)\x60?`)
	untouched   = lazy(`(?i)(?:^\W*|` + subject + `)(?:(?:does|did|do) not|doesn't|don't|didn't) (?:touch|chang|modify|edit|affect)e? (?:anything (?:in|under) |files (?:in|under) |the (?:folder|directory|file|package) )?\x60?(` + claimed + `)\x60?|(?:^\W*|` + subject + `(?:contains|has|makes) )no changes? (?:to|in|under) (?:the (?:folder|directory|file|package) )?\x60?(` + claimed + `)\x60?`)
	addsTests   = lazy(`(?i)\b(?:adds?|added|adding|includes?|included|comes with|wrote|extends?|extended|updated) (?:\w+ ){0,2}?(?:unit |regression |integration |e2e |end-to-end |more |new )*tests\b|[,+&(] ?with (?:unit |regression |integration |e2e )?tests\b|\b(?:a |new )(?:unit |regression |integration )?test (?:is|was|has been) added\b|\btests (?:are|were|have been) (?:added|included|updated)\b|\[x\]\s*(?:i have )?added tests`)
	hedged      = lazy(`(?i)\b(?:no|not|without|todo|will|later|follow-?up|should|need|needs|future|don't|doesn't|didn't|haven't|can't|cannot|won't|would|could|if|when|unless|except|until|before|planned|missing|lacks?|existing|passes|pass|passing)\b|n/a`)
	negatedOnly = lazy(`(?i)\b(?:not|isn't|aren't|wasn't|never|instead of|rather than|used to|if|unless|was|were|except)\b`)
)

// codeChange returns the first changed line that is code, as opposed to comment or blank, or nil.
func codeChange(f *file) *row {
	rows := f.masked()
	for i := range rows {
		r := &rows[i]
		if r.Op == diff.Context {
			continue
		}
		text := r.text
		if r.Op == diff.Delete && len(r.Text) <= MaxLine {
			text, _, _ = maskLine(f.lang, r.Text, inCode)
			if t := strings.TrimSpace(text); strings.HasPrefix(t, "* ") || t == "*" {
				continue
			}
		}
		if f.lang == python && isDocstringLine(text) {
			continue
		}
		if !blank(text) {
			return r
		}
	}
	return nil
}

func isDocstringLine(text string) bool {
	t := strings.TrimSpace(text)
	return strings.HasPrefix(t, `"""`) || strings.HasPrefix(t, "'''")
}

func (s *scan) claims() []string { return sentences(s.in.Spec) }

func excerpt(sentence string) string {
	return "\"" + clip(Redact(window(sentence))) + "\""
}

func claimDocsOnly(s *scan) {
	severity, said := prosecutor.Severity(""), ""
	for i, sentence := range s.claims() {
		if docsOnly().MatchString(sentence) && !negatedOnly().MatchString(sentence) {
			severity, said = prosecutor.High, sentence
			break
		}
		if i == 0 && docsTitle().MatchString(sentence) {
			severity, said = prosecutor.Medium, sentence
		}
	}
	if said == "" {
		return
	}
	for _, f := range s.files {
		if f.doc || !programming.has(f.lang) || f.fixture || isDocAsset(f.path) {
			continue
		}
		claim := fmt.Sprintf("The description says %s, but the change touches code in %+q", excerpt(said), f.path)
		if r := codeChange(f); r != nil {
			s.hit(f, r, severity, claim)
			return
		}
	}
}

func claimTestsOnly(s *scan) {
	for _, sentence := range s.claims() {
		if !testsOnly().MatchString(sentence) || negatedOnly().MatchString(sentence) {
			continue
		}
		for _, f := range s.files {
			if f.test || f.doc || !programming.has(f.lang) {
				continue
			}
			if f.lang == rust && strings.Contains(f.Raw, "#[cfg(test)]") || strings.Contains(f.Raw, "mod tests") {
				continue // tests in the source file: paths cannot tell
			}
			if r := codeChange(f); r != nil {
				s.hit(f, r, prosecutor.High, fmt.Sprintf("The description says %s, but the change touches code outside the tests in %+q", excerpt(sentence), f.path))
				return
			}
		}
		return
	}
}

// claimedPath cleans a path that a sentence names; "" when it is no path that a diff could contradict.
func claimedPath(p string) string {
	p = strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(p, "."), "**"), "*"), "/")
	p = strings.TrimPrefix(p, "./")
	if p == "" || strings.ContainsAny(p, "*") || strings.HasPrefix(p, "/") || strings.Contains(p, "//") {
		return ""
	}
	return p
}

// under reports whether a file is the claimed path or below it. A claim may leave leading folders out.
func under(file, claimed string) bool {
	if file == claimed || strings.HasPrefix(file, claimed+"/") || strings.HasSuffix(file, "/"+claimed) {
		return true
	}
	return strings.Contains(file, "/"+claimed+"/")
}

func claimOnlyTouches(s *scan) {
	for _, sentence := range s.claims() {
		m := onlyPath().FindStringSubmatch(sentence)
		if m == nil || negatedOnly().MatchString(sentence) || strings.Contains(sentence, " and ") || strings.Contains(sentence, ",") {
			continue
		}
		claimed := claimedPath(m[1])
		if claimed == "" || !strings.Contains(m[1], "/") && !strings.Contains(claimed, ".") {
			continue
		}
		matched := false
		var stray *file
		for _, f := range s.files {
			if under(f.path, claimed) {
				matched = true
			} else if stray == nil {
				stray = f
			}
		}
		// A claim that matches no changed file may be about something else than files ("only affects I/O").
		if !matched || stray == nil {
			continue
		}
		s.hitChanged(stray, prosecutor.High, fmt.Sprintf("The description says %s, but the change touches %+q", excerpt(sentence), stray.path))
		return
	}
}

func claimUntouched(s *scan) {
	for _, sentence := range s.claims() {
		m := untouched().FindStringSubmatch(sentence)
		if m == nil {
			continue
		}
		claimed := claimedPath(m[1] + m[2])
		if claimed == "" {
			continue
		}
		for _, f := range s.files {
			if f.path == claimed || strings.HasPrefix(f.path, claimed+"/") || !strings.Contains(claimed, "/") && path.Base(f.path) == claimed {
				s.hitChanged(f, prosecutor.High, fmt.Sprintf("The description says %s, but the change touches %+q", excerpt(sentence), f.path))
				return
			}
		}
	}
}

// hitChanged accuses the first changed line of a file, or the file where it has none.
func (s *scan) hitChanged(f *file, severity prosecutor.Severity, claim string) {
	for i := range f.rows() {
		if r := &f.all[i]; r.Op != diff.Context && !blank(r.Text) {
			s.hit(f, r, severity, claim)
			return
		}
	}
	s.hitFile(f, severity, claim)
}

var anyTest = lazy(`#\[(?:\w+::)?test\b|#\[cfg\(test\)\]|\b(?:it|test|describe)\(|\bdef test_|@Test\b|\bfunc Test[A-Z_]|>>> |\bunittest\b|\bassert\w*[!(]`)

func claimAddsTests(s *scan) {
	if len(s.files) == 0 {
		return
	}
	for _, sentence := range s.claims() {
		if !addsTests().MatchString(sentence) || hedged().MatchString(sentence) {
			continue
		}
		for _, f := range s.files {
			if f.test || strings.Contains(strings.ToLower(f.path), "test") || strings.Contains(strings.ToLower(f.path), "spec") {
				return
			}
			rows := f.rows()
			for i := range rows {
				if r := &rows[i]; r.Op == diff.Add && len(r.Text) <= MaxLine && anyTest().MatchString(r.Text) {
					return
				}
			}
		}
		s.hitChange(prosecutor.Medium, fmt.Sprintf("The description says %s, but no test changes", excerpt(sentence)))
		return
	}
}
