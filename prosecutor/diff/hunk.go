package diff

import (
	"math"
	"strings"

	"github.com/prosecutor-bot/prosecutor/prosecutor"
)

const noNewline = `\ No newline at end of file`

// hunk reads one hunk. Only its counts say where it ends: a row may look like any header.
func (s *section) hunk() error {
	row, err := s.row()
	if err != nil {
		return err
	}
	h, ok := hunkHeader(row)
	if !ok {
		return s.fail("want a hunk header or the next file, not %s", excerpt(row))
	}
	if err := s.checkRange(&h); err != nil {
		return err
	}
	s.advance(row)
	start := s.pos
	if err := s.rows(h.OldLines, h.NewLines); err != nil {
		return err
	}
	h.body = s.text[start:s.pos]
	s.hunks = append(s.hunks, h)
	return nil
}

// rows reads the rows of a hunk that has so many lines on each side.
func (s *section) rows(oldLeft, newLeft int) error {
	added, deleted := 0, 0
	var last Op
	for oldLeft > 0 || newLeft > 0 {
		rest := s.text[s.pos:]
		end := strings.IndexByte(rest, '\n')
		if end < 0 || end > s.maxLine {
			return s.badRow(oldLeft, newLeft)
		}
		switch rest[0] {
		case byte(Context), '\n': // an empty row is an empty context line: diff.suppressBlankEmpty
			oldLeft--
			newLeft--
			last = Context
		case byte(Add):
			newLeft--
			added++
			last = Add
		case byte(Delete):
			oldLeft--
			deleted++
			last = Delete
		case '\\':
			if err := s.noNewline(rest[:end], last, oldLeft, newLeft); err != nil {
				return err
			}
			last = Context // a second mark would have to be behind the last line of both sides
		default:
			return s.badRow(oldLeft, newLeft)
		}
		if oldLeft < 0 || newLeft < 0 {
			return s.fail("the hunk has more lines on one side than its header counts")
		}
		s.pos += end + 1
		s.line++
	}
	if strings.HasPrefix(s.text[s.pos:], `\`) {
		row, err := s.row()
		if err == nil {
			err = s.noNewline(row, last, 0, 0)
		}
		if err != nil {
			return err
		}
		s.advance(row)
	}
	s.file.Added += added
	s.file.Deleted += deleted
	return nil
}

// badRow says what is wrong with the line at the position, which cannot be a row of a hunk.
func (s *section) badRow(oldLeft, newLeft int) error {
	if s.ended() {
		return s.fail("the hunk is cut off: %d old and %d new lines are missing", oldLeft, newLeft)
	}
	row, err := s.row()
	return s.refuse(err, "want a row of the hunk, not %s: %d old and %d new lines are missing", excerpt(row), oldLeft, newLeft)
}

// noNewline reads the mark that the row before it ends its file without a line feed.
func (s *section) noNewline(row string, last Op, oldLeft, newLeft int) error {
	if row != noNewline {
		return s.fail("want %s, not %s", excerpt(noNewline), excerpt(row))
	}
	if last != Add && oldLeft > 0 || last != Delete && newLeft > 0 {
		return s.fail("a mark of the end of the file that does not stand behind its last line")
	}
	s.marked = true
	return nil
}

// hunkHeader reads "@@ -START[,LINES] +START[,LINES] @@[ SECTION]". A count that is left out is 1.
func hunkHeader(row string) (h Hunk, ok bool) {
	rest, ok := strings.CutPrefix(row, "@@ -")
	if !ok {
		return Hunk{}, false
	}
	if h.OldStart, h.OldLines, rest, ok = lineRange(rest); !ok {
		return Hunk{}, false
	}
	// No digit follows a range, so that the second one is none without its plus.
	if h.NewStart, h.NewLines, rest, ok = lineRange(strings.TrimPrefix(rest, " +")); !ok {
		return Hunk{}, false
	}
	if rest, ok = strings.CutPrefix(rest, " @@"); !ok {
		return Hunk{}, false
	}
	if rest == "" {
		return h, true
	}
	h.Section, ok = strings.CutPrefix(rest, " ")
	return h, ok
}

func lineRange(s string) (start, lines int, rest string, ok bool) {
	start, rest, ok = number(s)
	lines = 1
	if ok && strings.HasPrefix(rest, ",") {
		lines, rest, ok = number(rest[1:])
	}
	return start, lines, rest, ok && (lines == 0 || start > 0)
}

// number reads the decimal digits at the start of s. More than 2^31-1 is refused: git's own line numbers do not go
// further, and sums of two stay far from an overflow.
func number(s string) (n int, rest string, ok bool) {
	i := 0
	for i < len(s) && '0' <= s[i] && s[i] <= '9' {
		n = n*10 + int(s[i]-'0')
		if n > math.MaxInt32 {
			return 0, "", false
		}
		i++
	}
	return n, s[i:], i > 0
}

// checkRange checks a hunk against the ones before it: hunks are in order and do not overlap, and as many unchanged lines
// lie between two of them on either side. A lost hunk or a wrong number breaks this.
func (s *section) checkRange(h *Hunk) error {
	switch {
	case h.OldLines == 0 && h.NewLines == 0:
		return s.fail("a hunk without lines")
	case s.file.Status == Added && h.OldLines > 0:
		return s.fail("a new file with old lines")
	case s.file.Status == Deleted && h.NewLines > 0:
		return s.fail("a deleted file with new lines")
	case s.marked:
		return s.fail("a hunk behind the end of the file")
	}
	oldFirst, _ := h.Range(prosecutor.Left)
	newFirst, _ := h.Range(prosecutor.Right)
	if oldFirst < s.nextOld || newFirst < s.nextNew {
		return s.fail("the hunk starts before the end of the one above it")
	}
	if oldFirst-s.nextOld != newFirst-s.nextNew {
		return s.fail("the hunk's numbers do not fit what is above it: %d unchanged lines between on the old side, %d on the new side",
			oldFirst-s.nextOld, newFirst-s.nextNew)
	}
	s.nextOld, s.nextNew = oldFirst+h.OldLines, newFirst+h.NewLines
	return nil
}
