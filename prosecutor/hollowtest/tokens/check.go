package tokens

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest"
)

//go:embed helpers
var helpers embed.FS

// checkWithin is how long the syntax check of all mutants of a language may take.
const checkWithin = 2 * time.Minute

// checkers are the programs that parse candidates, by language. Rust has none: what does not compile there is found by
// the build before the tests.
var checkers = map[hollowtest.Language]struct {
	file string
	argv []string
}{
	hollowtest.JavaScript: {"check.cjs", []string{"node", "--experimental-vm-modules", "--no-warnings"}},
	hollowtest.TypeScript: {"check.cjs", []string{"node", "--experimental-vm-modules", "--no-warnings"}},
	hollowtest.Python:     {"check.py", []string{"python3"}},
	hollowtest.Ruby:       {"check.rb", []string{"ruby", "--disable-gems"}},
	hollowtest.Java:       {"Check.java", []string{"java"}},
}

// candidate is a mutant for a checker.
type candidate struct {
	Path     string `json:"path"` // in the tree, absolute: parsers are looked for from there
	Original string `json:"original"`
	Mutant   string `json:"mutant"`
}

// helper writes one of the helper programs below dir and returns its name.
func helper(dir, name string) (string, error) {
	content, err := helpers.ReadFile("helpers/" + name)
	if err != nil {
		return "", err
	}
	to := filepath.Join(dir, name)
	return to, os.WriteFile(to, content, 0o644) //nolint:gosec // the tests may run as another account
}

// errNoChecker says that a language's parser is not on this machine.
var errNoChecker = errors.New("there is no syntax check")

// check parses the mutants of one language, in one process, and returns what is known of each: ok, invalid or unknown.
// Parsers of the repository itself run where its tests run.
func (r *run) check(ctx context.Context, language hollowtest.Language, mutants []*mutant) ([]string, error) {
	c, ok := checkers[language]
	if !ok {
		if language == hollowtest.Rust {
			return nil, nil
		}
		return nil, errNoChecker
	}
	argv, err := r.lookPath(c.argv)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoChecker, err)
	}
	dir := filepath.Join(r.scratch, "check-"+string(language))
	out := filepath.Join(dir, "out")
	if err := os.MkdirAll(out, 0o755); err != nil { //nolint:gosec // the tests may run as another account
		return nil, err
	}
	script, err := helper(dir, c.file)
	if err != nil {
		return nil, err
	}
	list, err := candidates(dir, r.trees[0], mutants, language == hollowtest.Java)
	if err != nil {
		return nil, err
	}
	result := filepath.Join(out, "result.json")
	res, err := r.req.Exec.Run(ctx, hollowtest.Command{
		Kind: hollowtest.TestCommand, Argv: append(argv, script, list, result), Dir: dir, Env: r.env, Read: append([]string{r.trees[0], dir}, r.read...),
		Write: []string{out, filepath.Join(r.scratch, "tmp"), filepath.Join(r.scratch, "home")}, Wall: checkWithin,
	})
	if err != nil {
		return nil, err
	}
	data, readErr := os.ReadFile(result)
	var states []string
	if readErr == nil {
		readErr = json.Unmarshal(data, &states)
	}
	if readErr != nil || len(states) != len(mutants) {
		return nil, fmt.Errorf("the syntax check of %s failed: %s", language, lastLines(res.Output))
	}
	return states, nil
}

// candidates writes the mutants and their list.
func candidates(dir, tree string, mutants []*mutant, plain bool) (string, error) {
	originals := map[*source]string{}
	var list []candidate
	var lines bytes.Buffer
	for i, m := range mutants {
		if originals[m.f] == "" {
			name := filepath.Join(dir, "original-"+strconv.Itoa(len(originals)))
			if err := os.WriteFile(name, m.f.src, 0o644); err != nil { //nolint:gosec // the tests may run as another account
				return "", err
			}
			originals[m.f] = name
		}
		name := filepath.Join(dir, "mutant-"+strconv.Itoa(i))
		if err := os.WriteFile(name, m.source(), 0o644); err != nil { //nolint:gosec // the tests may run as another account
			return "", err
		}
		c := candidate{filepath.Join(tree, filepath.FromSlash(m.f.path)), originals[m.f], name}
		list = append(list, c)
		fmt.Fprintf(&lines, "%s\n%s\n%s\n", c.Path, c.Original, c.Mutant)
	}
	data := lines.Bytes()
	if !plain {
		var err error
		if data, err = json.Marshal(list); err != nil {
			return "", err
		}
	}
	name := filepath.Join(dir, "list")
	return name, os.WriteFile(name, data, 0o644) //nolint:gosec // the tests may run as another account
}

// lastLines is the end of a program's output on one line.
func lastLines(out []byte) string {
	s := strings.Join(strings.Fields(strings.ToValidUTF8(string(out), "?")), " ")
	if len(s) > 400 {
		s = "..." + strings.ToValidUTF8(s[len(s)-400:], "")
	}
	if s == "" {
		return "it said nothing"
	}
	return s
}
