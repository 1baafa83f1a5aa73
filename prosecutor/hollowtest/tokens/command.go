package tokens

import (
	"errors"
	"strings"
)

// Split turns a command of a policy or of a command line into arguments: words apart by white space, with single and
// double quotes and backslashes as in a POSIX shell. A command that uses more of a shell's language (pipes, lists,
// variables, patterns) becomes `sh -c` of itself. Commands come from the base branch or the user, never from the change.
func Split(command string) ([]string, error) {
	if strings.TrimSpace(command) == "" {
		return nil, errors.New("the command is empty")
	}
	var words []string
	var word strings.Builder
	inWord, quote := false, rune(0)
	runes := []rune(command)
	for i := 0; i < len(runes); i++ {
		r := runes[i]
		switch {
		case quote == '\'' && r != '\'', quote == '"' && !strings.ContainsRune("\"\\$`", r):
			word.WriteRune(r)
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '\'' || r == '"'):
			quote, inWord = r, true
		case r == '\\':
			if i++; i == len(runes) {
				return nil, errors.New("the command ends with a backslash")
			}
			if quote == '"' && !strings.ContainsRune("\"\\$`", runes[i]) {
				word.WriteRune('\\')
			}
			word.WriteRune(runes[i])
			inWord = true
		case quote == 0 && strings.ContainsRune(" \t\n\r", r):
			if r == '\n' && strings.TrimSpace(string(runes[i:])) != "" {
				return []string{"sh", "-c", command}, nil
			}
			if inWord {
				words = append(words, word.String())
				word.Reset()
				inWord = false
			}
		case strings.ContainsRune("|&;<>()$`", r), quote == 0 && strings.ContainsRune("*?[]{}~#!", r) && shellWord(r, inWord):
			return []string{"sh", "-c", command}, nil
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	if quote != 0 {
		return nil, errors.New("the command has an open quote")
	}
	if inWord {
		words = append(words, word.String())
	}
	if len(words) > 0 && strings.Contains(words[0], "=") {
		return []string{"sh", "-c", command}, nil // an assignment before the command
	}
	return words, nil
}

// shellWord reports whether the rune means something to a shell where it stands: ~, # and ! do at the beginning of a word.
func shellWord(r rune, inWord bool) bool {
	return !strings.ContainsRune("~#!", r) || !inWord
}
