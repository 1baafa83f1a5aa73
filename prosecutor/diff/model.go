// Package diff reads git's unified diff as GitHub serves it, and answers where a review comment may stand and where a
// quoted piece of code is.
package diff

import (
	"iter"
	"strings"
)

// Status is what happened to a file. A type change (file to symlink and the like) is two sections in the text, a
// deletion and an addition of one path.
type Status string

// The states of a file.
const (
	Added    Status = "added"
	Deleted  Status = "deleted"
	Modified Status = "modified" // mode-only changes too
	Renamed  Status = "renamed"
	Copied   Status = "copied"
)

// Mode is a git file mode in octal, such as "100644". It is empty where the side does not exist or the text does not say.
type Mode string

// The git file modes.
const (
	ModeRegular    Mode = "100644"
	ModeExecutable Mode = "100755"
	ModeSymlink    Mode = "120000"
	ModeSubmodule  Mode = "160000"
)

// Diff is a whole parsed diff.
type Diff struct {
	Files []*File
}

// File is one section of a diff. Paths are real names, unquoted, as bytes: they need not be UTF-8.
type File struct {
	OldPath string // empty for an added file
	NewPath string // empty for a deleted file
	Status  Status
	OldMode Mode
	NewMode Mode
	OldOID  string // as written, perhaps abbreviated; empty when there is no index line
	NewOID  string
	// Similarity is the percentage of a rename or copy; -1 where there is none.
	Similarity int
	// Binary is set when git shows no text: it has no lines and no hunks. An exact rename of a binary file is not
	// marked, since its section has no body to tell.
	Binary  bool
	Added   int // added lines
	Deleted int // deleted lines
	Hunks   []Hunk
	Line    int    // 1-based line of the diff text where the section starts
	Raw     string // the section's text, byte for byte
}

// Path is the name the file has on GitHub's diff page: the new one, or the old one of a deleted file.
func (f *File) Path() string {
	if f.NewPath != "" {
		return f.NewPath
	}
	return f.OldPath
}

// Changed is the number of added plus deleted lines.
func (f *File) Changed() int { return f.Added + f.Deleted }

// Submodule reports whether either side is a submodule.
func (f *File) Submodule() bool { return f.OldMode == ModeSubmodule || f.NewMode == ModeSubmodule }

// Symlink reports whether either side is a symbolic link.
func (f *File) Symlink() bool { return f.OldMode == ModeSymlink || f.NewMode == ModeSymlink }

// Op is what happened to a line.
type Op byte

// The operations.
const (
	Context Op = ' '
	Add     Op = '+'
	Delete  Op = '-'
)

// Line is one line of a hunk. Text has no diff marker and no line feed; a carriage return stays.
type Line struct {
	Op    Op
	Text  string
	Old   int  // 1-based number on the old side; 0 for an added line
	New   int  // 1-based number on the new side; 0 for a deleted line
	NoEOL bool // no newline at the end of the file on the sides this line is on
}

// Hunk is one hunk. Its lines are read with Lines.
type Hunk struct {
	OldStart int
	OldLines int
	NewStart int
	NewLines int
	Section  string // text behind the second @@, without the separating space
	body     string // the rows, byte for byte, each with its line feed
}

// Lines iterates over the rows of the hunk. Numbers are computed on the way, nothing is allocated.
func (h *Hunk) Lines() iter.Seq[Line] {
	return func(yield func(Line) bool) {
		oldNo, newNo := h.OldStart, h.NewStart
		rest := h.body
		for rest != "" {
			end := strings.IndexByte(rest, '\n')
			row := rest[:end]
			rest = rest[end+1:]
			l := Line{Op: Context, NoEOL: strings.HasPrefix(rest, "\\")}
			if row != "" { // an empty row is an empty context line: diff.suppressBlankEmpty
				if row[0] == '\\' {
					continue
				}
				l.Op, l.Text = Op(row[0]), row[1:]
			}
			if l.Op != Add {
				l.Old = oldNo
				oldNo++
			}
			if l.Op != Delete {
				l.New = newNo
				newNo++
			}
			if !yield(l) {
				return
			}
		}
	}
}
