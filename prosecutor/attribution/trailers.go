package attribution

import "strings"

const coAuthored = "co-authored-by"

// trailer is one trailer that says who built: key in lower case, value without surrounding white space.
type trailer struct {
	key, value string
}

// line is the trailer in lower case with one space after the colon. Catalogue entries are looked for in it, so that
// an entry may begin with a key.
func (t trailer) line() string { return t.key + ": " + strings.ToLower(t.value) }

// trailers returns the trailers of a commit message that say who built the commit. They stand in its last paragraph;
// a line that begins with white space continues the one above it, as in git.
func trailers(message string) []trailer {
	var found []trailer
	open := false // the line above was one of ours
	for _, line := range lastParagraph(message) {
		if open && strings.TrimLeft(line, " \t") != line {
			last := &found[len(found)-1]
			last.value = strings.TrimSpace(last.value + " " + strings.TrimSpace(line))
			continue
		}
		key, value, ok := strings.Cut(line, ":")
		key = strings.ToLower(strings.TrimSpace(key))
		open = ok && builds(key)
		if open {
			found = append(found, trailer{key: key, value: strings.TrimSpace(value)})
		}
	}
	return found
}

// builds reports whether a trailer key names a builder. "Reviewed-by" does not: reviewing is not building.
func builds(key string) bool {
	switch key {
	case coAuthored, "assisted-by", "generated-by":
		return true
	default:
		return false
	}
}

// lastParagraph returns the lines after the last blank line, trailing blank lines aside.
func lastParagraph(message string) []string {
	lines := splitLines(message)
	end := len(lines)
	for end > 0 && strings.TrimSpace(lines[end-1]) == "" {
		end--
	}
	start := end
	for start > 0 && strings.TrimSpace(lines[start-1]) != "" {
		start--
	}
	return lines[start:end]
}

// lastLine returns the last line of a text that is not blank, without surrounding white space.
func lastLine(text string) string {
	lines := splitLines(text)
	for i := len(lines) - 1; i >= 0; i-- {
		if s := strings.TrimSpace(lines[i]); s != "" {
			return s
		}
	}
	return ""
}

func splitLines(text string) []string {
	return strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text), "\n")
}

// noreplyLogin returns the login in one of GitHub's no-reply addresses, such as 123+octocat@users.noreply.github.com,
// or "" for any other address.
func noreplyLogin(email string) string {
	local, domain, ok := strings.Cut(email, "@")
	if !ok || !strings.EqualFold(domain, "users.noreply.github.com") {
		return ""
	}
	if _, login, ok := strings.Cut(local, "+"); ok {
		return login
	}
	return local
}
