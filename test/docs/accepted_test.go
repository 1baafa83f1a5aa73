package docs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prosecutor-bot/prosecutor/config"
)

// What our own policy accepts is listed where people look for it, with its reason.
func TestAcceptedMutantsAreDocumented(t *testing.T) {
	root := filepath.Join("..", "..")
	policy, err := config.LoadPolicy(filepath.Join(root, config.PolicyPath))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := os.ReadFile(filepath.Join(root, "docs", "hollow-test.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(doc), "## Accepted in this repository")
	section, _, _ = strings.Cut(section, "\n## ")
	want := len(policy.HollowTest.Accepted)
	if got := strings.Count(section, "\n| `"); got != want || want == 0 {
		t.Errorf("%d entries are documented, the policy has %d", got, want)
	}
	for _, a := range policy.HollowTest.Accepted {
		row := "| `" + a.Path + "` | `" + a.Operator + "` of `" + strings.ReplaceAll(a.Original, "|", `\|`) + "` | " + a.Reason + " |"
		if !strings.Contains(section, row) {
			t.Errorf("docs/hollow-test.md lacks %s", row)
		}
	}
}
