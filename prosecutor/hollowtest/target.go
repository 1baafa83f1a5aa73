package hollowtest

import (
	"path"
	"strings"

	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/prosecutor/blast/glob"
)

// Language is a language whose code can be mutated.
type Language string

// The languages.
const (
	NoLanguage Language = ""
	Go         Language = "go"
	JavaScript Language = "js"
	TypeScript Language = "ts"
	Python     Language = "python"
	Java       Language = "java"
	Rust       Language = "rust"
	Ruby       Language = "ruby"
)

// TargetWhy says why a file is mutated or not.
type TargetWhy string

// The reasons of a target.
const (
	IsSource    TargetWhy = "source"
	IsTestFile  TargetWhy = "test_file"
	NotLanguage TargetWhy = "language" // no mutation for this language
)

// Target says what a file is to mutation testing.
type Target struct {
	Eligible bool
	Language Language // empty when it is none that can be mutated
	Why      TargetWhy
}

// Targets tells sources from tests by their path, as the conventions of each language and a policy say. It is immutable
// and safe for concurrent use.
type Targets struct {
	source, test glob.Set
}

// NewTargets prepares the globs of a policy. A malformed glob is an error; config.ParsePolicy has refused it before.
func NewTargets(p config.HollowTest) (Targets, error) {
	source, err := glob.New(p.SourceGlobs...)
	if err != nil {
		return Targets{}, err
	}
	test, err := glob.New(p.TestGlobs...)
	if err != nil {
		return Targets{}, err
	}
	return Targets{source: source, test: test}, nil
}

// Of says what the file of that path is. hollow_test.source_globs take a file in that would count as a test, and win over
// hollow_test.test_globs, which name further tests: where the two contradict each other, more is measured.
func (t Targets) Of(name string) Target {
	language := languages[path.Ext(name)]
	if language == NoLanguage {
		return Target{Why: NotLanguage}
	}
	if _, ok := t.source.Match(name); ok {
		return Target{Eligible: true, Language: language, Why: IsSource}
	}
	if _, ok := t.test.Match(name); ok || isTest(language, name) {
		return Target{Language: language, Why: IsTestFile}
	}
	return Target{Eligible: true, Language: language, Why: IsSource}
}

var languages = map[string]Language{
	".go": Go,
	".js": JavaScript, ".jsx": JavaScript, ".mjs": JavaScript, ".cjs": JavaScript,
	".ts": TypeScript, ".tsx": TypeScript, ".mts": TypeScript, ".cts": TypeScript,
	".py": Python, ".java": Java, ".rs": Rust, ".rb": Ruby,
}

// isTest reports whether the runners of a language take the file for a test or for what belongs to tests. A directory
// counts when its name equals the word, a file when the word stands apart in its name: contest.go and test-kit/ are
// sources.
func isTest(language Language, name string) bool {
	dirs := strings.Split(path.Dir(name), "/")
	base := strings.TrimSuffix(path.Base(name), path.Ext(name))
	switch language {
	case Go:
		return strings.HasSuffix(base, "_test") || within(dirs, "testdata")
	case JavaScript, TypeScript:
		return within(dirs, "test", "tests", "__tests__", "__mocks__", "spec", "specs", "e2e") ||
			base == "test" || ends(base, ".test", ".spec", "-test", "-spec", "_test", "_spec", ".e2e", ".cy")
	case Python:
		return within(dirs, "test", "tests") || base == "conftest" || base == "test" || base == "tests" ||
			strings.HasPrefix(base, "test_") || strings.HasSuffix(base, "_test")
	case Java:
		return within(dirs, "test", "tests") || isTestSourceSet(dirs) ||
			ends(base, "Test", "Tests", "TestCase", "IT") || startsWord(base, "Test")
	case Rust:
		return within(dirs, "tests", "benches") || base == "test" || base == "tests" || ends(base, "_test", "_tests")
	case Ruby:
		return within(dirs, "test", "tests", "spec", "specs", "features") || strings.HasPrefix(base, "test_") || ends(base, "_test", "_spec")
	default:
		return false
	}
}

// isTestSourceSet recognises the further source sets of Gradle and Maven: src/integrationTest, src/testFixtures.
func isTestSourceSet(dirs []string) bool {
	for i, d := range dirs {
		if i > 0 && dirs[i-1] == "src" && (strings.HasSuffix(d, "Test") || startsWord(d, "test")) {
			return true
		}
	}
	return false
}

func within(dirs []string, names ...string) bool {
	for _, d := range dirs {
		for _, n := range names {
			if d == n {
				return true
			}
		}
	}
	return false
}

func ends(s string, suffixes ...string) bool {
	for _, suffix := range suffixes {
		if strings.HasSuffix(s, suffix) {
			return true
		}
	}
	return false
}

// startsWord reports whether s begins with a word of camel case: TestRefund, not Testimony.
func startsWord(s, word string) bool {
	rest, ok := strings.CutPrefix(s, word)
	return ok && rest != "" && rest[0] >= 'A' && rest[0] <= 'Z'
}
