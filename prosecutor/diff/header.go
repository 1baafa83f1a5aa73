package diff

import "strings"

// headers reads the extended header lines and the --- and +++ lines, and settles names, modes and status.
func (s *section) headers() error {
	for !s.ended() {
		row, err := s.row()
		var known bool
		if err == nil {
			known, err = s.header(row)
		}
		if err != nil {
			return err
		}
		if !known {
			if err := s.settle(); err != nil {
				return err
			}
			return s.nameLines(row)
		}
		s.advance(row)
	}
	return s.settle()
}

// header reads one extended header line. Their order is git's business; that none stands twice is ours.
func (s *section) header(row string) (known bool, err error) {
	if row == "" {
		return false, nil
	}
	f := s.file
	switch row[0] {
	case 'i':
		if v, ok := strings.CutPrefix(row, "index "); ok {
			return true, s.index(v)
		}
	case 'o':
		if v, ok := strings.CutPrefix(row, "old mode "); ok {
			return true, s.mode(sawOldMode, v, &f.OldMode)
		}
	case 'n':
		if v, ok := strings.CutPrefix(row, "new mode "); ok {
			return true, s.mode(sawNewMode, v, &f.NewMode)
		}
		if v, ok := strings.CutPrefix(row, "new file mode "); ok {
			f.Status = Added
			return true, s.mode(sawNewFileMode, v, &f.NewMode)
		}
	case 'd':
		if v, ok := strings.CutPrefix(row, "deleted file mode "); ok {
			f.Status = Deleted
			return true, s.mode(sawDeletedMode, v, &f.OldMode)
		}
		if v, ok := strings.CutPrefix(row, "dissimilarity index "); ok {
			_, err := s.percent(sawDissimilarity, v)
			return true, err
		}
	case 's':
		if v, ok := strings.CutPrefix(row, "similarity index "); ok {
			f.Similarity, err = s.percent(sawSimilarity, v)
			return true, err
		}
	case 'r':
		if v, ok := strings.CutPrefix(row, "rename from "); ok {
			return true, s.moved(sawRenameFrom, v, &s.from, Renamed)
		}
		if v, ok := strings.CutPrefix(row, "rename to "); ok {
			return true, s.moved(sawRenameTo, v, &s.to, Renamed)
		}
	case 'c':
		if v, ok := strings.CutPrefix(row, "copy from "); ok {
			return true, s.moved(sawCopyFrom, v, &s.from, Copied)
		}
		if v, ok := strings.CutPrefix(row, "copy to "); ok {
			return true, s.moved(sawCopyTo, v, &s.to, Copied)
		}
	}
	return false, nil
}

// once refuses a header line that stands twice.
func (s *section) once(h header) error {
	if s.seen&h != 0 {
		return s.fail("a header line that stands twice")
	}
	s.seen |= h
	return nil
}

func (s *section) mode(h header, v string, mode *Mode) error {
	if err := s.once(h); err != nil {
		return err
	}
	if len(v) != 6 {
		return s.fail("want a file mode of six octal digits, not %s", excerpt(v))
	}
	for i := range len(v) {
		if !octal(v[i]) {
			return s.fail("want a file mode of six octal digits, not %s", excerpt(v))
		}
	}
	*mode = Mode(v)
	return nil
}

func (s *section) percent(h header, v string) (int, error) {
	if err := s.once(h); err != nil {
		return 0, err
	}
	digits, ok := strings.CutSuffix(v, "%")
	n, rest, ok2 := number(digits)
	if !ok || !ok2 || rest != "" || n > 100 {
		return 0, s.fail("want a percentage from 0%% to 100%%, not %s", excerpt(v))
	}
	return n, nil
}

func (s *section) moved(h header, v string, name *string, status Status) error {
	if err := s.once(h); err != nil {
		return err
	}
	var ok bool
	if *name, ok = bareName(v); !ok {
		return s.fail("want the name of a file, not %s", excerpt(v))
	}
	s.file.Status = status
	return nil
}

// index reads "OLD..NEW" or "OLD..NEW MODE". Object names may be short.
func (s *section) index(v string) error {
	if err := s.once(sawIndex); err != nil {
		return err
	}
	oids, mode, hasMode := strings.Cut(v, " ")
	before, after, _ := strings.Cut(oids, "..")
	if !objectName(before) || !objectName(after) {
		return s.fail("want two object names with .. between them, not %s", excerpt(v))
	}
	s.file.OldOID, s.file.NewOID = before, after
	if !hasMode {
		return nil
	}
	if s.seen&(sawOldMode|sawNewMode|sawNewFileMode|sawDeletedMode) != 0 {
		return s.fail("a second file mode")
	}
	if err := s.mode(sawOldMode|sawNewMode, mode, &s.file.OldMode); err != nil {
		return err
	}
	s.file.NewMode = s.file.OldMode
	return nil
}

// objectName reports whether s is a full or short object name. Git writes no fewer than four digits (core.abbrev).
func objectName(s string) bool {
	if len(s) < 4 || len(s) > 64 {
		return false
	}
	for i := range len(s) {
		if !hexDigits[s[i]] {
			return false
		}
	}
	return true
}

// nothing reports whether an object name is git's word for no object: zeros.
func nothing(oid string) bool { return strings.Trim(oid, "0") == "" }

var hexDigits = byteSet("0123456789abcdef")

func byteSet(bytes string) (set [256]bool) {
	for i := range len(bytes) {
		set[bytes[i]] = true
	}
	return set
}

// settle checks that the header lines agree and finds the names. The rename and copy lines hold whole names; without
// them both names on the diff --git line are equal, which makes that line unambiguous.
func (s *section) settle() error {
	f := s.file
	const (
		modes  = sawOldMode | sawNewMode
		whole  = sawNewFileMode | sawDeletedMode
		rename = sawRenameFrom | sawRenameTo
		copied = sawCopyFrom | sawCopyTo
	)
	moved := s.seen & (rename | copied)
	indexed := s.seen&sawIndex != 0
	switch {
	case s.seen&whole == whole:
		return s.fail("a file that is both new and deleted")
	case s.seen&modes != 0 && s.seen&modes != modes:
		return s.fail("old mode and new mode do not both stand")
	case s.seen&whole != 0 && (s.seen&modes != 0 || moved != 0):
		return s.fail("a new or deleted file with a second mode, a rename or a copy")
	case moved != 0 && moved != rename && moved != copied:
		return s.fail("a rename or copy needs its two names and no others")
	case moved == 0 && s.seen&sawSimilarity != 0:
		return s.fail("a similarity index without a rename or copy")
	case indexed && (f.Status == Added) != nothing(f.OldOID):
		return s.fail("the index line and the file mode lines disagree on whether the file is new")
	case indexed && (f.Status == Deleted) != nothing(f.NewOID):
		return s.fail("the index line and the file mode lines disagree on whether the file is deleted")
	}
	if moved != 0 {
		f.OldPath, f.NewPath = s.from, s.to
		if !pair(s.names, oldPrefix, s.from, " ", newPrefix, s.to) {
			return s.fail("the diff --git line %s does not name %s and %s", excerpt(s.names), excerpt(oldPrefix+s.from), excerpt(newPrefix+s.to))
		}
		return nil
	}
	name, ok := sameName(s.names)
	if !ok {
		return s.fail("want %q and the same name twice, behind a/ and b/, not %s", strings.TrimSpace(gitLine), excerpt(s.names))
	}
	if f.Status != Added {
		f.OldPath = name
	}
	if f.Status != Deleted {
		f.NewPath = name
	}
	return nil
}

// nameLines reads the --- and +++ lines, if row is the first of them, and checks them against the names.
func (s *section) nameLines(row string) error {
	name, ok := strings.CutPrefix(row, "--- ")
	if !ok {
		return nil
	}
	f := s.file
	if !s.named(name, oldPrefix, f.OldPath) {
		return s.fail("the line %s does not name the old file of this section", excerpt(row))
	}
	s.advance(row)
	if s.ended() {
		return s.fail("a --- line without a +++ line")
	}
	row, err := s.row()
	if name, ok = strings.CutPrefix(row, "+++ "); !ok {
		return s.refuse(err, "a --- line without a +++ line")
	}
	if !s.named(name, newPrefix, f.NewPath) {
		return s.fail("the line %s does not name the new file of this section", excerpt(row))
	}
	s.advance(row)
	s.wantHunks = true
	return nil
}

// named reports whether the text of a --- or +++ line is the name of a side; a side that does not exist is /dev/null.
func (s *section) named(text, prefix, name string) bool {
	if name == "" {
		return text == devNull
	}
	rest, ok := cutName(text, prefix, name)
	return ok && (rest == "" || rest == tab)
}
