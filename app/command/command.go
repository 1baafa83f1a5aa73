// Package command reads /prosecute commands in comments, and decides who may give them.
//
// Parse is the grammar, Decide the rule about permissions; both are pure. Handler asks GitHub what the account may do, shows
// by a reaction that the command was seen, and hands back a Request: carrying it out is the caller's.
package command

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/prosecutor-bot/prosecutor/prosecutor"
)

// Kind is what a command asks for.
type Kind string

// The kinds of commands.
const (
	Run      Kind = "run" // judge the head again
	Explain  Kind = "explain"
	Dismiss  Kind = "dismiss"
	Override Kind = "override"
	Help     Kind = "help"
)

// Command is one /prosecute command.
type Command struct {
	Kind      Kind
	Lens      prosecutor.Lens // of Run: judge this lens again, the others keep their verdicts; empty means all
	Dry       int             // of Run: consecutive ships asked of a lens; 0 leaves it to the policy, which it can only raise
	FindingID string          // of Dismiss
	Reason    string          // of Dismiss and Override
}

// Plain reports whether the command is a re-run without options, which a pull request's author may ask for.
func (c Command) Plain() bool { return c.Kind == Run && c.Lens == "" && c.Dry == 0 }

// UsageError says what is wrong with a command that was meant for us.
type UsageError struct{ Problem string }

func (e *UsageError) Error() string { return e.Problem }

const (
	// Word is what a command begins with.
	Word = "/prosecute"
	// maxReason bounds a reason, in characters: it is shown in a table and kept for ever.
	maxReason = 500
	// maxDry is the most dry passes that a policy may ask for (semantics 3).
	maxDry = 5
)

var findingID = regexp.MustCompile(`^[0-9a-f]{12}$`)

// IsFindingID reports whether a word looks like the identity of a finding: 12 hexadecimal digits.
func IsFindingID(word string) bool { return findingID.MatchString(word) }

// Parse finds the command in a comment: the first line that begins with /prosecute and white space or nothing behind it, at
// most three spaces before it, and that is text: not in a code block or span, a quotation or an HTML comment. ok is false
// when there is none. An error is a UsageError: there is a command, and it cannot be understood. Further commands in one
// comment are one.
func Parse(body string) (c Command, ok bool, err error) {
	line, n := find(body)
	switch {
	case n == 0:
		return Command{}, false, nil
	case n > 1:
		return Command{}, true, &UsageError{"one command for each comment"}
	}
	c, err = parse(line, "")
	return c, true, err
}

// ParseReply is Parse for a reply in the thread of a finding, where /prosecute dismiss <reason> means that finding.
func ParseReply(body, threadFinding string) (c Command, ok bool, err error) {
	line, n := find(body)
	switch {
	case n == 0:
		return Command{}, false, nil
	case n > 1:
		return Command{}, true, &UsageError{"one command for each comment"}
	}
	c, err = parse(line, threadFinding)
	return c, true, err
}

// find returns the arguments of the first command, and how many there are.
func find(body string) (args string, n int) {
	if !strings.Contains(body, Word) {
		return "", 0
	}
	for _, line := range prose(body) {
		rest, ok := strings.CutPrefix(line, Word)
		if !ok || rest != "" && rest[0] != ' ' && rest[0] != '\t' {
			continue
		}
		if n++; n == 1 {
			args = strings.TrimSpace(rest)
		}
	}
	return args, n
}

func parse(args, threadFinding string) (Command, error) {
	word, rest := cutWord(args)
	switch Kind(word) {
	case "":
		return Command{Kind: Run}, nil
	case Help, Explain:
		if rest != "" {
			return Command{}, &UsageError{fmt.Sprintf("%q takes no arguments", word)}
		}
		return Command{Kind: Kind(word)}, nil
	case Override:
		reason, err := reason(rest)
		return Command{Kind: Override, Reason: reason}, err
	case Dismiss:
		id, text := cutWord(rest)
		id = strings.ToLower(strings.Trim(id, "`"))
		if !IsFindingID(id) {
			if threadFinding == "" {
				return Command{}, &UsageError{"which finding is to be dismissed? Its id has 12 digits and stands beside it"}
			}
			id, text = threadFinding, rest
		}
		reason, err := reason(text)
		return Command{Kind: Dismiss, FindingID: id, Reason: reason}, err
	}
	c := Command{Kind: Run}
	for _, arg := range strings.Fields(args) {
		key, value, _ := strings.Cut(arg, "=")
		switch key {
		case "lens":
			if c.Lens != "" {
				return Command{}, &UsageError{"lens= is given twice"}
			}
			for _, l := range prosecutor.Lenses() {
				if string(l) == value {
					c.Lens = l
				}
			}
			if c.Lens == "" {
				return Command{}, &UsageError{fmt.Sprintf("there is no lens %s; it is correctness, security or spec", repeat(value))}
			}
		case "dry":
			if c.Dry != 0 {
				return Command{}, &UsageError{"dry= is given twice"}
			}
			n, err := strconv.Atoi(value)
			if err != nil || n < 1 || n > maxDry || value != strconv.Itoa(n) {
				return Command{}, &UsageError{fmt.Sprintf("dry= is a whole number from 1 to %d", maxDry)}
			}
			c.Dry = n
		default:
			return Command{}, &UsageError{fmt.Sprintf("%s is nothing that /prosecute knows", repeat(arg))}
		}
	}
	return c, nil
}

func cutWord(s string) (word, rest string) {
	s = strings.TrimSpace(s)
	i := strings.IndexAny(s, " \t")
	if i < 0 {
		return s, ""
	}
	return s[:i], strings.TrimSpace(s[i:])
}

func reason(text string) (string, error) {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "\ufffd")), " ")
	switch {
	case text == "":
		return "", &UsageError{"a reason is needed"}
	case utf8.RuneCountInString(text) > maxReason:
		return "", &UsageError{fmt.Sprintf("the reason is longer than %d characters", maxReason)}
	}
	return text, nil
}

// repeat is a word of a comment as a message may repeat it.
func repeat(word string) string {
	if utf8.RuneCountInString(word) > 40 {
		word = string([]rune(word)[:40]) + "…"
	}
	return strconv.Quote(word)
}

// IsUsage reports whether an error is a UsageError, and returns what it says.
func IsUsage(err error) (string, bool) {
	var u *UsageError
	if errors.As(err, &u) {
		return u.Problem, true
	}
	return "", false
}
