package diff

import "strings"

// binaryNames checks the names in "Binary files a/x and b/x differ".
func (s *section) binaryNames(row string) error {
	text := strings.TrimPrefix(row, "Binary files ")
	text, ok := strings.CutSuffix(text, " differ")
	f := s.file
	oldPre, oldName := oldPrefix, f.OldPath
	if oldName == "" {
		oldPre, oldName = "", devNull
	}
	newPre, newName := newPrefix, f.NewPath
	if newName == "" {
		newPre, newName = "", devNull
	}
	if !ok || !pair(text, oldPre, oldName, " and ", newPre, newName) {
		return s.fail("the line %s does not name the files of this section", excerpt(row))
	}
	return nil
}

// binaryPatch reads the body of a GIT binary patch: how to make the new content and how to get the old one back. Each is
// a line with its kind and size, lines of base 85, and an empty line.
func (s *section) binaryPatch() error {
	if err := s.binaryHunk(); err != nil {
		return err
	}
	return s.binaryHunk()
}

func (s *section) binaryHunk() error {
	if s.ended() {
		return s.fail("a binary patch without content: the text is cut off")
	}
	row, err := s.row()
	size, ok := strings.CutPrefix(row, "literal ")
	if !ok {
		size, ok = strings.CutPrefix(row, "delta ")
	}
	if _, rest, digits := number(size); !ok || !digits || rest != "" {
		return s.refuse(err, "want literal or delta and a size in a binary patch, not %s", excerpt(row))
	}
	s.advance(row)
	for first := true; ; first = false {
		if s.ended() {
			return s.fail("a binary patch without an empty line at its end: the text is cut off")
		}
		row, err := s.row()
		if row == "" { // the end, or a row that cannot be read
			if err == nil && first {
				err = s.fail("a binary patch without content")
			}
			s.advance(row)
			return err
		}
		if !base85Line(row) {
			return s.fail("want a line of base 85, not %s", excerpt(row))
		}
		s.advance(row)
	}
}

// base85Line reports whether row is a line of a binary patch: a letter for 1 to 52 bytes, then five digits for every
// four bytes begun.
func base85Line(row string) bool {
	var n int
	switch c := row[0]; {
	case 'A' <= c && c <= 'Z':
		n = int(c-'A') + 1
	case 'a' <= c && c <= 'z':
		n = int(c-'a') + 27
	default:
		return false
	}
	if len(row) != 1+(n+3)/4*5 {
		return false
	}
	for i := 1; i < len(row); i++ {
		if !base85[row[i]] {
			return false
		}
	}
	return true
}

// base85 is git's alphabet of 85 digits.
var base85 = byteSet("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~")
