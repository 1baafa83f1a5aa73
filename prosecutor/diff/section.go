package diff

import (
	"fmt"
	"strings"
)

const (
	gitLine   = "diff --git " // starts a section; inside a hunk no row can start with it
	oldPrefix = "a/"
	newPrefix = "b/"
	devNull   = "/dev/null"
	tab       = "\t" // git puts one behind a name with a space on the --- and +++ lines
)

// section is the state of reading one section.
type section struct {
	file    *File
	text    string // starts at the section; may go on behind it
	pos     int
	line    int // number of the line at pos
	maxLine int
	hunks   []Hunk

	seen      header
	wantHunks bool   // behind the --- and +++ lines
	names     string // the diff --git line, without its start
	from, to  string // of a rename or copy
	marked    bool   // a no-newline mark stood in a hunk, so that no other hunk can follow
	nextOld   int    // first number the next hunk may have on the old side
	nextNew   int
}

// header is a set of header lines, so that none can stand twice.
type header uint16

const (
	sawOldMode header = 1 << iota
	sawNewMode
	sawDeletedMode
	sawNewFileMode
	sawSimilarity
	sawDissimilarity
	sawRenameFrom
	sawRenameTo
	sawCopyFrom
	sawCopyTo
	sawIndex
)

// read reads the section at the start of text, whose first line has the number line, into f. It leaves pos and line
// behind the section.
func (s *section) read(f *File, text string, line int) error {
	*s = section{file: f, text: text, line: line, maxLine: s.maxLine, hunks: s.hunks[:0], nextOld: 1, nextNew: 1}
	*f = File{Line: line, Similarity: -1, Status: Modified}
	row, err := s.row()
	if err != nil {
		return err
	}
	names, ok := strings.CutPrefix(row, gitLine)
	if !ok {
		return s.outside(row)
	}
	s.names = names
	s.advance(row)
	if err := s.headers(); err != nil {
		return err
	}
	if err := s.body(); err != nil {
		return err
	}
	f.Raw = s.text[:s.pos]
	return nil
}

// row returns the line at the position, without its line feed. At the end of the text it is an error.
func (s *section) row() (string, error) {
	rest := s.text[s.pos:]
	i := strings.IndexByte(rest, '\n')
	if i < 0 {
		return "", s.fail("the text ends in the middle of a line: it is cut off")
	}
	if i > s.maxLine {
		return "", &LimitError{Line: s.line, What: "line", Limit: s.maxLine}
	}
	return rest[:i], nil
}

func (s *section) advance(row string) {
	s.pos += len(row) + 1
	s.line++
}

// ended reports whether the section ends at the position.
func (s *section) ended() bool {
	rest := s.text[s.pos:]
	return rest == "" || strings.HasPrefix(rest, gitLine)
}

func (s *section) fail(format string, args ...any) error {
	name := s.file.Path()
	if name == "" {
		name = s.names
	}
	return &SyntaxError{Line: s.line, File: name, Msg: fmt.Sprintf(format, args...)}
}

// refuse fails at a row, unless it could not be read.
func (s *section) refuse(err error, format string, args ...any) error {
	if err != nil {
		return err
	}
	return s.fail(format, args...)
}

// outside refuses a line where a section must start.
func (s *section) outside(row string) error {
	msg := fmt.Sprintf("want a line that starts with %q, not %s", gitLine, excerpt(row))
	switch {
	case strings.HasPrefix(row, "diff --cc "), strings.HasPrefix(row, "diff --combined "):
		msg = "this is the combined diff of a merge; compare two trees instead"
	case strings.HasPrefix(row, "Submodule "):
		msg = "this is git's log form of a submodule change; use --submodule=short"
	case strings.HasPrefix(row, "From "):
		msg = "this is a mailed patch; use the plain diff"
	}
	return &SyntaxError{Line: s.line, Msg: msg}
}

// body reads what follows the header: hunks, a binary body, or nothing.
func (s *section) body() error {
	f := s.file
	if s.ended() {
		return s.checkNoBody()
	}
	row, err := s.row()
	if err != nil {
		return err
	}
	switch {
	case strings.HasPrefix(row, "@@ "):
		if !s.wantHunks {
			return s.fail("a hunk without --- and +++ lines")
		}
		for !s.ended() {
			if err := s.hunk(); err != nil {
				return err
			}
		}
		return nil
	case s.wantHunks:
		return s.fail("want a hunk behind the --- and +++ lines, not %s", excerpt(row))
	case strings.HasPrefix(row, "Binary files "):
		f.Binary = true
		if err := s.binaryNames(row); err != nil {
			return err
		}
		s.advance(row)
	case row == "GIT binary patch":
		f.Binary = true
		s.advance(row)
		if err := s.binaryPatch(); err != nil {
			return err
		}
	default:
		return s.fail("unknown line %s", excerpt(row))
	}
	if !s.ended() {
		row, err := s.row()
		return s.refuse(err, "want the next file behind a binary file, not %s", excerpt(row))
	}
	return nil
}

// emptyBlobs are the object names of the empty file, SHA-1 and SHA-256.
var emptyBlobs = [...]string{
	"e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
	"473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
}

func emptyBlob(oid string) bool {
	return strings.HasPrefix(emptyBlobs[0], oid) || strings.HasPrefix(emptyBlobs[1], oid)
}

// checkNoBody refuses a section that says that content changed but does not show it: git always does, so the text was
// cut off or made with options that hide changes, and a review of it would certify what it did not see.
func (s *section) checkNoBody() error {
	f := s.file
	if s.wantHunks {
		return s.fail("no hunk behind the --- and +++ lines: the text is cut off")
	}
	if s.seen&sawIndex == 0 {
		// Without an index line the content is the same, so that only a mode or a name can have changed.
		switch {
		case f.Status == Added, f.Status == Deleted:
			return s.fail("a new or deleted file without an index line: the text is cut off")
		case f.Similarity >= 0 && f.Similarity < 100:
			return s.fail("a rename or copy with changes that are not shown: the text is cut off")
		case s.seen&(sawNewMode|sawRenameTo|sawCopyTo) == 0:
			return s.fail("the section says nothing about the file")
		}
		return nil
	}
	var shown bool
	switch f.Status {
	case Added:
		shown = emptyBlob(f.NewOID)
	case Deleted:
		shown = emptyBlob(f.OldOID)
	default:
		shown = f.OldOID == f.NewOID
	}
	if !shown {
		return s.fail("the content changed from %s to %s but no change is shown: the text is cut off, or made with options that hide changes", f.OldOID, f.NewOID)
	}
	return nil
}
