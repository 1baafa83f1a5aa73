package hollowtest

import "github.com/prosecutor-bot/prosecutor/prosecutor/diff"

// ChangedLines returns the lines to mutate: the added lines of each file, by their number on the new side, ascending, under
// the file's new name. Deleted lines, pure renames, binary files, links and submodules have none. Which of the files are
// eligible is told by Targets.
func ChangedLines(d *diff.Diff) map[string][]int {
	lines := make(map[string][]int)
	for _, f := range d.Files {
		if f.NewPath == "" || f.NewMode == diff.ModeSymlink || f.NewMode == diff.ModeSubmodule {
			continue
		}
		for i := range f.Hunks {
			for l := range f.Hunks[i].Lines() {
				if l.Op == diff.Add {
					lines[f.NewPath] = append(lines[f.NewPath], l.New)
				}
			}
		}
	}
	return lines
}
