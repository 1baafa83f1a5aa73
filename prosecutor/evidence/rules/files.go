package rules

import (
	"bytes"
	"fmt"
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/diff"
)

func fileRules() []Rule {
	return []Rule{
		{
			ID: "binary-file", Lens: prosecutor.Spec, Severity: prosecutor.High, Charge: prosecutor.ChargeScope,
			Title:   "Binary file that nobody can review",
			Why:     "A diff does not show what is in it. Images and fonts, known by their first bytes and not by their name, are no finding, nor is what diff.binary_allow matches, nor a binary that is deleted, renamed or gets another mode: those bring no content (semantics 2).",
			perFile: binaryFiles,
			facts:   true,
		},
		{
			ID: "submodule-change", Lens: prosecutor.Spec, Severity: prosecutor.Medium, Charge: prosecutor.ChargeScope,
			Title:   "Submodule points to another commit",
			Why:     "The diff shows two object names and none of the code between them. A submodule that is removed is no finding.",
			perFile: submodules,
		},
		{
			ID: "symlink-outside", Lens: prosecutor.Security, Severity: prosecutor.Medium, Charge: prosecutor.ChargeSecurity,
			Title:   "Symbolic link that leaves the repository",
			Why:     "Whatever follows the link reads or writes outside the checkout.",
			perFile: symlinks,
		},
	}
}

func binaryFiles(s *scan, f *file) {
	if !f.Binary || f.Status == diff.Deleted || f.NewPath == "" {
		return
	}
	if f.OldOID != "" && f.OldOID == f.NewOID {
		return // the same content
	}
	for _, glob := range s.in.BinaryAllow {
		if ok, err := doublestar.Match(glob, f.NewPath); err == nil && ok {
			return
		}
	}
	why := "its content could not be read"
	if s.in.Blob != nil {
		if content, err := s.in.Blob(f.NewPath); err == nil {
			if ImageOrFont(content) {
				return
			}
			why = "its content is neither an image nor a font"
		}
	}
	s.hitFile(f, prosecutor.High, fmt.Sprintf("The binary file %+q cannot be reviewed: %s", f.NewPath, why))
}

// ImageOrFont reports whether content begins like an image or a font. The first 512 bytes are enough. SVG is text, and
// text is reviewed as text.
func ImageOrFont(content []byte) bool {
	for _, magic := range []string{
		"\x89PNG\r\n\x1a\n", "\xff\xd8\xff", "GIF87a", "GIF89a", "II*\x00", "MM\x00*", "\x00\x00\x01\x00", "\x00\x00\x02\x00",
		"8BPS", "qoif", "\xff\x0a", "\x00\x00\x00\x0cJXL ", "\x00\x00\x00\x0cjP  ", "icns",
		"wOFF", "wOF2", "\x00\x01\x00\x00\x00", "OTTO", "true\x00", "ttcf",
	} {
		if bytes.HasPrefix(content, []byte(magic)) {
			return true
		}
	}
	switch {
	case len(content) >= 12 && string(content[:4]) == "RIFF" && string(content[8:12]) == "WEBP":
		return true
	case len(content) >= 14 && string(content[:2]) == "BM" && (content[6]|content[7]|content[8]|content[9]) == 0:
		return true
	case len(content) >= 12 && string(content[4:8]) == "ftyp":
		switch string(content[8:12]) {
		case "avif", "avis", "heic", "heix", "mif1", "msf1":
			return true
		}
	case len(content) >= 36 && string(content[34:36]) == "LP": // embedded OpenType
		return true
	}
	return false
}

const commitLine = "Subproject commit "

func submodules(s *scan, f *file) {
	if f.NewMode != diff.ModeSubmodule && f.OldMode != diff.ModeSubmodule || f.Status == diff.Deleted {
		return
	}
	before, after := "", ""
	var at *row
	for i := range f.rows() {
		r := &f.all[i]
		commit, ok := strings.CutPrefix(r.Text, commitLine)
		if !ok {
			continue
		}
		commit = clip(commit)
		if r.Op == diff.Delete {
			before = commit
		} else {
			after, at = commit, r
		}
	}
	if after == "" || at.Op != diff.Add {
		if f.OldOID == f.NewOID {
			return // renamed only
		}
		s.hitFile(f, prosecutor.Medium, fmt.Sprintf("The submodule %+q changes from commit %s to commit %s, and the diff does not show what that brings", f.path, orNone(f.OldOID), orNone(f.NewOID)))
		return
	}
	if before == "" {
		s.hit(f, at, prosecutor.Medium, fmt.Sprintf("The submodule %+q is added at commit %s: its code is not in the diff", f.path, after))
		return
	}
	s.hit(f, at, prosecutor.Medium, fmt.Sprintf("The submodule %+q moves from commit %s to commit %s: the code between them is not in the diff", f.path, before, after))
}

func orNone(oid string) string {
	if oid == "" {
		return "(none)"
	}
	return oid
}

func symlinks(s *scan, f *file) {
	if f.NewMode != diff.ModeSymlink || f.Status == diff.Deleted || f.fixture {
		return
	}
	for i := range f.rows() {
		r := &f.all[i]
		if r.Op != diff.Add {
			continue
		}
		target := window(r.Text)
		joined := path.Join(path.Dir(f.NewPath), target)
		if path.IsAbs(target) || joined == ".." || strings.HasPrefix(joined, "../") {
			s.hit(f, r, prosecutor.Medium, "The symbolic link points outside the repository")
		}
	}
}
