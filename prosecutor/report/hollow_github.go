package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest"
)

// mostErrors is how many annotations of one kind GitHub keeps of a step of a workflow.
const mostErrors = 10

// HollowGitHub writes the report for a job of GitHub Actions: the text for its log, in which nothing is taken for a command of
// the runner, an error annotation for each of the first lines with a survivor or an uncovered mutant, and one notice that
// carries the whole report to the App (hollowtest.Published). head is the commit that was measured; token is any unguessable
// word.
func HollowGitHub(w io.Writer, r *hollowtest.Report, source Source, head, token string) error {
	published, err := hollowtest.Publish(r, head)
	if err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "::stop-commands::%s\n", token)
	if err := HollowText(&b, r, source, TextOptions{Width: 120}); err != nil {
		return err
	}
	fmt.Fprintf(&b, "\n::%s::\n", token)
	type place struct {
		file string
		line int
	}
	shown := make(map[place]bool)
	for i := range r.Mutants {
		m := &r.Mutants[i]
		at := place{m.File, m.Line}
		if len(shown) == mostErrors || shown[at] || m.Status != hollowtest.Survived && m.Status != hollowtest.NotCovered {
			continue
		}
		shown[at] = true
		title, said := "No test fails with this change", fmt.Sprintf("%s becomes %s (%s)", OneLine(m.Original, 200), OneLine(m.Mutated, 200), m.Operator)
		if m.Status == hollowtest.NotCovered {
			title = "No test reaches this"
		}
		if m.Hint != "" {
			said += ": " + OneLine(m.Hint, 300)
		}
		fmt.Fprintf(&b, "::error file=%s,line=%d,title=%s::%s\n", property(m.File), m.Line, property(title), data(said))
	}
	fmt.Fprintf(&b, "::notice title=%s::%s\n", property(hollowtest.PublishedTitle), data(published))
	_, err = io.WriteString(w, b.String())
	return err
}

// How the runner's commands are escaped:
// https://docs.github.com/actions/reference/workflow-commands-for-github-actions and its toolkit.
var (
	dataEscaper     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	propertyEscaper = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

func data(s string) string { return dataEscaper.Replace(s) }

func property(s string) string { return propertyEscaper.Replace(s) }
