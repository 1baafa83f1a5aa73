package rules_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/prosecutor-bot/prosecutor/prosecutor/evidence/rules"
)

// TestDocsHoldEveryRule keeps the table of docs/static-rules.md equal to the rules.
func TestDocsHoldEveryRule(t *testing.T) {
	raw, err := os.ReadFile("../../../docs/static-rules.md")
	if err != nil {
		t.Fatal(err)
	}
	var missing strings.Builder
	for _, r := range rules.All() {
		row := fmt.Sprintf("| `%s` | %s | %s | %s | %s |\n", r.ID, r.Lens, r.Severity, r.Title, strings.ReplaceAll(r.Why, "|", `\|`))
		if !strings.Contains(string(raw), row) {
			missing.WriteString(row)
		}
	}
	if missing.Len() > 0 {
		t.Errorf("the table lacks these rows:\n%s", missing.String())
	}
	if want := strings.Count(string(raw), "\n| `"); want < len(rules.All()) {
		t.Errorf("%d rows", want)
	}
}
