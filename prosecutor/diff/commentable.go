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
	if line < 1 {
		return 0, false
	}
	i := sort.Search(len(f.Hunks), func(i int) bool {
		start, lines := f.Hunks[i].Range(side)
		return start+lines > line
	})
	if i == len(f.Hunks) {
		return 0, false
	}
	start, lines := f.Hunks[i].Range(side)
	if lines == 0 || line < start {
		return 0, false
	}
	return i, true
}

// Range is the first line and the number of lines of the hunk on a side. The first line of an empty side is the line
// before it, perhaps 0. Of an unknown side it is 0, 0.
func (h *Hunk) Range(side prosecutor.Side) (start, lines int) {
	switch side {
	case prosecutor.Left:
		return h.OldStart, h.OldLines
	case prosecutor.Right:
		return h.NewStart, h.NewLines
	default:
		return 0, 0
	}
}
