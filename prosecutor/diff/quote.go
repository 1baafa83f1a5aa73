package diff

import "strings"

// unquote reads the C-quoted name that s starts with, as git's core.quotePath writes it, and returns the text behind it.
// Names hold bytes: an octal escape is one byte, not one character. What is not well written is empty or has a NUL in it, as
// no name is.
func unquote(s string) (name, rest string) {
	var b strings.Builder
	start := 1 // of the bytes that are not yet in b
	for i := 1; i < len(s); {
		switch s[i] {
		case '"':
			if b.Len() == 0 {
				return s[1:i], s[i+1:]
			}
			b.WriteString(s[start:i])
			return b.String(), s[i+1:]
		case '\\':
			c, size := unescape(s[i+1:])
			b.Grow(len(s) - i)
			b.WriteString(s[start:i])
			b.WriteByte(c)
			i += 1 + size
			start = i
		default:
			i++
		}
	}
	return
}

// unescape reads what stands behind a backslash. What git does not write there is a NUL.
func unescape(s string) (c byte, size int) {
	if s == "" {
		return
	}
	if c = escapes[s[0]]; c != 0 {
		return c, 1
	}
	if s[0] < '0' || s[0] > '3' || len(s) < 3 || !octal(s[1]) || !octal(s[2]) {
		return
	}
	return s[0]<<6 | s[1]&7<<3 | s[2]&7, 3
}

// escapes are the characters that stand for a byte behind a backslash.
var escapes = [256]byte{
	'a': '\a', 'b': '\b', 't': '\t', 'n': '\n', 'v': '\v', 'f': '\f', 'r': '\r', '"': '"', '\\': '\\',
}

func octal(c byte) bool { return '0' <= c && c <= '7' }

// bareName reads a whole line's name that has no prefix, as behind "rename from ".
func bareName(s string) (name string, ok bool) {
	if strings.HasPrefix(s, `"`) {
		name, rest := unquote(s)
		return name, rest == "" && validName(name)
	}
	return s, validName(s)
}

// validName reports whether git can have a file of this name.
func validName(name string) bool { return name != "" && strings.IndexByte(name, 0) < 0 }

// cutName cuts prefix+name, quoted or plain, off the start of s.
func cutName(s, prefix, name string) (rest string, ok bool) {
	if !strings.HasPrefix(s, `"`) {
		if s, ok = strings.CutPrefix(s, prefix); !ok {
			return "", false
		}
		return strings.CutPrefix(s, name)
	}
	s = s[1:]
	for _, part := range [2]string{prefix, name} {
		for i := range len(part) {
			c, size := quotedByte(s)
			if c != part[i] {
				return "", false
			}
			s = s[size:]
		}
	}
	return strings.CutPrefix(s, `"`)
}

// quotedByte reads the first byte of a C-quoted name and says how long it is written. Where the name ends, or is not well
// written, the byte is 0, which no name has.
func quotedByte(s string) (c byte, size int) {
	if s == "" || s[0] == '"' {
		return
	}
	if s[0] != '\\' {
		return s[0], 1
	}
	c, size = unescape(s[1:])
	return c, 1 + size
}

// pair reports whether text is two names, each behind its prefix, with sep between them.
func pair(text, oldPre, oldName, sep, newPre, newName string) bool {
	rest, ok := cutName(text, oldPre, oldName)
	if !ok {
		return false
	}
	if rest, ok = strings.CutPrefix(rest, sep); !ok {
		return false
	}
	rest, ok = cutName(rest, newPre, newName)
	return ok && rest == ""
}

// sameName reads the one name in "a/NAME b/NAME". Both halves are equally long, so that a name which itself holds " b/"
// is not ambiguous.
func sameName(s string) (name string, ok bool) {
	if strings.HasPrefix(s, `"`) {
		first, rest := unquote(s)
		name, ok = strings.CutPrefix(first, oldPrefix)
		if !ok || !validName(name) || !strings.HasPrefix(rest, ` "`) {
			return "", false
		}
		rest, ok = cutName(rest[1:], newPrefix, name)
		return name, ok && rest == ""
	}
	half := len(s) / 2
	name, ok = strings.CutPrefix(s[half:], " "+newPrefix)
	// A half that does not start with its prefix is longer than the name.
	return name, ok && validName(name) && strings.TrimPrefix(s[:half], oldPrefix) == name
}
