package rules

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/diff"
)

func hiddenRules() []Rule {
	base := func(r Rule) Rule {
		r.Lens, r.Charge = prosecutor.Security, prosecutor.ChargeSecurity
		return r
	}
	return []Rule{
		base(Rule{
			ID: "trojan-source", Severity: prosecutor.High, Title: "Invisible or direction-changing characters",
			Why:     "Bidirectional controls and invisible characters make code read differently from what it does, or carry text that no reviewer sees. High for bidirectional controls, invisible letters and tag characters in code and in file names; medium in prose, translations and test data, and for zero-width characters.",
			perFile: trojanSource,
		}),
		base(Rule{
			ID: "mixed-script-identifier", Severity: prosecutor.Medium, Title: "Identifier mixes look-alike alphabets",
			Why:     "A Cyrillic or Greek letter that looks Latin makes two different names look alike.",
			langs:   of(golang, python, javascript, java, kotlin, csharp, rust, ruby, php, c, swift, scala, shell),
			perFile: mixedScript,
		}),
		base(Rule{
			ID: "prompt-injection", Severity: prosecutor.High, Title: "Text that instructs an automated reviewer",
			Why:     "Text in a change that tells the reader to ignore its instructions or to approve is aimed at the judge, not at the project (semantics 2). High in the description, in comments, and in files people do not write prompts in; medium in prose, prompts, strings and tests.",
			whole:   promptInjection,
			needles: injectionNeedles,
		}),
	}
}

const terminalControl = "a terminal control character"

// hiddenKind classifies a character that a reader cannot see, or that reorders what he sees; "" for all others.
func hiddenKind(r rune) (kind string, severity prosecutor.Severity) {
	switch {
	case r >= 0x202A && r <= 0x202E, r >= 0x2066 && r <= 0x2069:
		return "a bidirectional control", prosecutor.High
	case r >= 0xE0000 && r <= 0xE007F:
		return "an invisible tag character", prosecutor.High
	case r == 0x115F, r == 0x1160, r == 0x3164, r == 0xFFA0:
		return "an invisible letter", prosecutor.High
	case r >= 0xE0100 && r <= 0xE01EF:
		return "a supplementary variation selector", prosecutor.Medium
	case r == 0x200B, r == 0x2060, r == 0x180E, r >= 0x2061 && r <= 0x2064, r == 0x200E, r == 0x200F:
		return "a zero-width character", prosecutor.Medium
	case r == 0x200C, r == 0x200D, r == 0xFEFF:
		return "a zero-width character", prosecutor.Medium // subject to its neighbours
	case r == 0x1B, r == 0x08, r == 0x7F:
		return terminalControl, prosecutor.Medium
	}
	return "", ""
}

func trojanSource(s *scan, f *file) {
	if kind, severity, found := scanHidden(f.path, false); found {
		s.hitFile(f, severity, fmt.Sprintf("The file name %s holds %s", clip(fmt.Sprintf("%+q", f.path)), kind))
	}
	if isASCII(f.Raw) && !containsAny(f.Raw, hiddenBytes[:3]) {
		return
	}
	needles := f.present(hiddenBytes)
	if needles == nil {
		return
	}
	for i := range f.rows() {
		r := &f.all[i]
		if r.Op != diff.Add || !containsAny(r.Text, needles) {
			continue
		}
		kind, severity, found := scanHidden(r.Text, r.New == 1)
		if !found {
			continue
		}
		// Control characters are data in recordings and fuzz corpora; in a program they hide what follows in a terminal.
		if strings.HasPrefix(kind, terminalControl) && (f.test || f.doc || f.lang == other) {
			continue
		}
		if severity == prosecutor.High && (f.test || f.fixture || f.doc || f.lang == other || f.lang == yaml) {
			severity = prosecutor.Medium
		} else if severity == prosecutor.Medium && (f.test || f.fixture || f.doc || isVendored(f.path)) {
			severity = prosecutor.Low
		}
		s.hit(f, r, severity, "The line holds "+kind)
	}
}

// hiddenBytes are bytes that what scanHidden finds begins with, as far as they are rare.
var hiddenBytes = []string{"\x1B", "\x08", "\x7F", "\xE2\x80", "\xE2\x81", "\xF3\xA0", "\xE1\x85", "\xE3\x85\xA4", "\xEF\xBE\xA0", "\xE1\xA0\x8E", "\xEF\xBB\xBF"}

// scanHidden finds the worst hidden character of a line. first says that the line is the first of its file, where a byte
// order mark may stand.
func scanHidden(s string, first bool) (kind string, severity prosecutor.Severity, found bool) {
	prev := rune(0)
	for i, r := range s {
		k, sev := hiddenKind(r)
		if byteOrderMark := first && i == 0 && r == 0xFEFF; k != "" && !byteOrderMark && !joins(r, prev, s[i:]) {
			k = fmt.Sprintf("%s (U+%04X)", k, r)
			if !found || sev.Rank() > severity.Rank() {
				kind, severity, found = k, sev, true
			}
			if sev == prosecutor.High {
				return kind, severity, true
			}
		}
		prev = r
	}
	return kind, severity, found
}

// joins reports whether a joiner, mark or tag stands where scripts and emoji need it: beside letters that are not ASCII,
// or behind the flag that a sequence of tags belongs to.
func joins(r, prev rune, rest string) bool {
	switch {
	case r == 0x200C, r == 0x200D, r == 0x200E, r == 0x200F:
		_, n := utf8.DecodeRuneInString(rest)
		next, _ := utf8.DecodeRuneInString(rest[n:])
		return prev > 0x2FF || next > 0x2FF && next != utf8.RuneError
	case r >= 0xE0020 && r <= 0xE007F:
		return prev == 0x1F3F4 || prev >= 0xE0020 && prev <= 0xE007F && strings.ContainsRune(rest[:min(len(rest), 32)], 0xE007F)
	}
	return false
}

func mixedScript(s *scan, f *file) {
	if f.test || f.fixture || f.doc || !f.containsAny(lookAlikeBytes) {
		return
	}
	rows := f.masked()
	for i := range rows {
		r := &rows[i]
		if r.Op != diff.Add || len(r.Text) > MaxLine || isASCII(r.code) {
			continue
		}
		if word := mixedWord(r.code); word != "" {
			s.hit(f, r, prosecutor.Medium, fmt.Sprintf("The identifier %+q mixes Latin letters with look-alikes from another alphabet", word))
		}
	}
}

func isASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// lookAlikes are the Cyrillic and Greek letters whose usual glyph is that of a Latin letter.
const lookAlikes = "абвсԁеһіјкӏмнорԛгѕтхуѵԝҮАВСЕНІЈКМОРЅТХУΑΒΕΖΗΙΚΜΝΟΡΤΥΧονρ"

// lookAlikeBytes are the first bytes of their UTF-8.
var lookAlikeBytes = []string{"\xCE", "\xCF", "\xD0", "\xD1", "\xD2", "\xD3", "\xD4"}

// mixedWord returns the first identifier with ASCII letters and a look-alike side by side.
func mixedWord(code string) string {
	for _, word := range strings.FieldsFunc(code, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' }) {
		if isASCII(word) {
			continue
		}
		latin, alike, others := 0, 0, 0
		for _, r := range word {
			switch {
			case r < 0x80 && unicode.IsLetter(r):
				latin++
			case r < 0x80:
			case strings.ContainsRune(lookAlikes, r):
				alike++
			default:
				others++
			}
		}
		if latin > 0 && alike > 0 && others == 0 {
			return word
		}
	}
	return ""
}

var injectionNeedles = []string{"gnore", "GNORE", "isregard", "verdict", "approve", "Approve", "APPROVE", "do not report", "Do not report", "reviewer", "Reviewer"}

var injected = lazy(`(?i)\b(?:ignore|disregard|forget)\s+(?:all\s+|any\s+)?(?:of\s+)?(?:the\s+|your\s+)?(?:previous|prior|above|preceding|earlier)\s+(?:instructions|prompts?|rules|directions)\b` +
	`|\b(?:note|instructions?|message|attention)\s+(?:to|for)\s+(?:the\s+)?(?:ai|llm|automated|bot|model)[\w -]{0,20}\b(?:reviewer|judge|assistant|agent)s?\b` +
	`|\b(?:ai|llm|automated)\s+(?:code\s+)?(?:reviewer|judge)s?\b[^.]{0,60}\b(?:must|should|please|do not|don't|always)\b[^.]{0,60}\b(?:approve|ship|pass|report|flag|block)\b` +
	`|\b(?:return|answer|respond|output|reply)\b[^.]{0,40}\bverdict\b\W{1,6}ship\b` +
	`|\bdo not (?:report|flag|mention) (?:any )?(?:findings|issues|problems|vulnerabilities)\b`)

func promptInjection(s *scan) {
	if containsAny(s.in.Spec, injectionNeedles) && injected().MatchString(s.in.Spec) {
		s.hitChange(prosecutor.High, "The description of the change instructs an automated reviewer")
	}
	for _, f := range s.files {
		if s.ctx.Err() != nil {
			return
		}
		if !f.containsAny(injectionNeedles) {
			continue
		}
		s.added(f, func(_ int, r *row) {
			if !injected().MatchString(r.Text) {
				return
			}
			severity := prosecutor.Medium
			if programming.has(f.lang) && !f.test && !f.fixture && !injected().MatchString(r.text) {
				severity = prosecutor.High // masked away: it stands in a comment
			}
			s.hit(f, r, severity, "The text instructs an automated reviewer")
		})
	}
}
