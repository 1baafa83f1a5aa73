package tokens

import (
	"regexp"

	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest"
)

// The reasons for which a line is not worth a mutant, in the words of the engine for Go.
const (
	aridLogging = "arid: logging, tracing and metrics"
	aridTuning  = "arid: tuning constant"
	aridWiring  = "arid: modules and declarations"
)

// logging matches lines that log, trace or print for people.
var logging = map[hollowtest.Language]*regexp.Regexp{
	hollowtest.JavaScript: regexp.MustCompile(`^\s*(?:await\s+)?(?:this\.)?_?(?:console|log|logger|debug|winston|pino)(?:\.\w+)*\s*\(`),
	hollowtest.Python:     regexp.MustCompile(`^\s*(?:self\.)?_?(?:logging|log|logger|LOG|LOGGER|warnings)\.\w+\s*\(|^\s*print\s*\(`),
	hollowtest.Java:       regexp.MustCompile(`^\s*(?:this\.)?(?:log|logger|LOG|LOGGER)\.\w+\s*\(|^\s*System\.(?:out|err)\.print`),
	hollowtest.Rust:       regexp.MustCompile(`^\s*(?:log|tracing)?(?:::)?(?:trace|debug|info|warn|error|println|eprintln|print|eprint|dbg)!\s*[(\[{]`),
	hollowtest.Ruby:       regexp.MustCompile(`^\s*(?:\w+\.)?(?:logger|log)\.\w+|^\s*(?:puts|p|pp|warn)\b`),
}

// tuning matches numbers that are chosen and not derived.
var tuning = regexp.MustCompile(`(?i)\b\w*(?:timeout|interval|backoff|delay|jitter|ttl|buffer_?size|debounce|cooldown|deadline|capacity|workers|concurrency|batch_?size|chunk_?size|page_?size)\w*\s*[:=]\s*[\d_.]+\b`)

// arid says why a line is not worth a mutant of that operator, empty when it is.
func (f *source) arid(line int, op Operator) string {
	language := f.language
	if language == hollowtest.TypeScript {
		language = hollowtest.JavaScript
	}
	s := f.lineText(line)
	switch {
	case logging[language].MatchString(s):
		return aridLogging
	case (op == IntLiteral || op == Arithmetic) && tuning.MatchString(s):
		return aridTuning
	case f.declares(line):
		return aridWiring
	}
	return ""
}
