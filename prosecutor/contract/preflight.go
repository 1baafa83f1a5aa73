package contract

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/charter"
)

// MaxCodePoints is the length of the longest diff that is judged, in Unicode code points: 120,000 is allowed, 120,001 is
// not (semantics 2, row 2). An invalid byte counts one.
const MaxCodePoints = charter.MaxCodePoints

// The rules of the contract that need no model, as Finding.Rule names them.
const (
	RuleNoChange = "no-change"
	RuleTooLarge = "too-large"
)

// Preflight decides rows 1 and 2 of the table, which need no model: it returns the finding that blocks a text that is
// blank or too long, and nil for a text that can be judged. White space is Unicode's.
func Preflight(text string) *prosecutor.Finding {
	if strings.TrimSpace(text) == "" {
		return rule(RuleNoChange, prosecutor.ChargeSpec,
			"There is no committed change: the diff is empty.",
			"")
	}
	if n := utf8.RuneCountInString(text); n > MaxCodePoints {
		return rule(RuleTooLarge, prosecutor.ChargeScope,
			"The change is too large to be judged as a whole: split it.",
			fmt.Sprintf("The diff has %d characters, at most %d are judged. Nothing is cut off, because a review of a part cannot vouch for the rest.", n, MaxCodePoints))
	}
	return nil
}

func rule(id string, charge prosecutor.Charge, claim, evidence string) *prosecutor.Finding {
	f := prosecutor.Finding{
		Source: prosecutor.FromRule, Origin: "contract", Rule: id,
		Severity: prosecutor.Critical, Claimed: prosecutor.Critical, Charge: charge, Claim: claim, Evidence: evidence,
		Place: prosecutor.Place{Status: prosecutor.NoFile},
	}
	f.ID = prosecutor.Identify(f)
	return &f
}
