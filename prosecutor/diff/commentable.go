package diff

import (
	"sort"

	"github.com/prosecutor-bot/prosecutor/prosecutor"
)

// Find returns the file with this name on GitHub's diff page: its new name or, of a deleted file, its old one. A type
// change has two sections of one name; Find returns the addition. It returns nil when the diff does not have the file.
func (d *Diff) Find(path string) *File {
	if path == "" {
		return nil
	}
	var deleted *File
	for _, f := range d.Files {
		if f.NewPath == path {
			return f
		}
		if f.NewPath == "" && f.OldPath == path {
			deleted = f
		}
	}
	return deleted
}

// Commentable reports whether a review comment may stand at a line: GitHub takes one where the line lies in a hunk of
// the file on that side. It returns the index of that hunk in the file that Find returns. The old name of a renamed file
// is not in the diff.
func (d *Diff) Commentable(path string, side prosecutor.Side, line int) (hunk int, ok bool) {
	f := d.Find(path)
	if f == nil {
		return 0, false
	}
	return f.Commentable(side, line)
}

// Commentable is Diff.Commentable for one file.
func (f *File) Commentable(side prosecutor.Side, line int) (hunk int, ok bool) {
	i := sort.Search(len(f.Hunks), func(i int) bool {
		first, lines := f.Hunks[i].Range(side)
		return line < first+lines
	})
	if i == len(f.Hunks) {
		return 0, false
	}
	// The first hunk that ends behind the line has it, or starts behind it.
	if first, _ := f.Hunks[i].Range(side); line < first {
		return 0, false
	}
	return i, true
}

// CommentableRange reports whether a review comment may stand on a range of lines, both ends included: GitHub takes one
// where all of it lies in one hunk on one side.
func (d *Diff) CommentableRange(path string, side prosecutor.Side, start, end int) (hunk int, ok bool) {
	first, ok := d.Commentable(path, side, start)
	if !ok || end < start {
		return 0, false
	}
	last, ok := d.Commentable(path, side, end)
	if !ok || first != last {
		return 0, false
	}
	return first, true
}

// Range is the number of the first line and the count of the lines of the hunk on a side. Where a side has no line, first
// is the number that its next line has, and not the one before it, as in the hunk header. For a side that is none it is
// 0, 0.
func (h *Hunk) Range(side prosecutor.Side) (first, lines int) {
	switch side {
	case prosecutor.Left:
		first, lines = h.OldStart, h.OldLines
	case prosecutor.Right:
		first, lines = h.NewStart, h.NewLines
	default:
		return 0, 0
	}
	if lines == 0 {
		first++
	}
	return first, lines
}
