package githubtest

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// GitHub's limits of a diff (Repository limits; REST description, 406 of pulls/get).
const (
	maxDiffFiles = 300
	maxDiffLines = 20_000
	maxDiffBytes = 1 << 20
	// A single file's patch is left out beyond these.
	maxPatchLines = 20_000
	maxPatchBytes = 500 << 10
	// How much the files endpoint and compare list.
	maxPullFiles    = 3000
	maxPullCommits  = 250
	maxCompareFiles = 300
)

// changedFile is one file of a diff.
type changedFile struct {
	path, from string // from: the former name of a renamed or copied file
	status     string // added, removed, modified, renamed, copied, changed
	sha        string // the blob, the former one of a removed file
	additions  int
	deletions  int
	patch      string // hunks only; empty for binary files and pure renames
	binary     bool
}

// change is the difference between two commits.
type change struct {
	raw       []byte
	lines     int
	files     []changedFile
	additions int
	deletions int
}

// diff compares two trees as GitHub does: renames found, no external help. The caller holds s.mu.
func (r *Repo) diff(from, to string) *change {
	return memoIf(r, "diff "+from+" "+to, func() (*change, bool) {
		raw, err := r.tryGit(nil, "-c", "core.quotePath=true", "diff", "--no-color", "--no-ext-diff", "--no-textconv", "-M", from, to)
		if err != nil {
			return &change{}, false
		}
		names, err := r.tryGit(nil, "diff", "--no-ext-diff", "--no-textconv", "-M", "--raw", "--numstat", "--no-abbrev", "-z", from, to)
		if err != nil {
			return &change{}, false
		}
		c := &change{raw: raw, lines: bytes.Count(raw, []byte("\n"))}
		c.files = parseNames(names)
		attachPatches(c)
		for _, f := range c.files {
			c.additions += f.additions
			c.deletions += f.deletions
		}
		return c, true
	})
}

var statuses = map[byte]string{'A': "added", 'D': "removed", 'M': "modified", 'R': "renamed", 'C': "copied", 'T': "changed"}

// parseNames reads git diff --raw --numstat -z: first all raw records, then all counts, in the same order.
func parseNames(out []byte) []changedFile {
	fields := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	var files []changedFile
	i := 0
	for ; i < len(fields) && strings.HasPrefix(fields[i], ":"); i++ {
		f := strings.Fields(fields[i])
		if len(f) != 5 {
			continue
		}
		file := changedFile{status: statuses[f[4][0]], sha: f[3]}
		if file.status == "removed" {
			file.sha = f[2]
		}
		i++
		file.path = fields[i]
		if file.status == "renamed" || file.status == "copied" {
			file.from = file.path
			i++
			file.path = fields[i]
		}
		files = append(files, file)
	}
	for n := 0; i < len(fields) && n < len(files); i, n = i+1, n+1 {
		count := strings.SplitN(fields[i], "\t", 3)
		if len(count) != 3 {
			break
		}
		if count[0] == "-" {
			files[n].binary = true
		}
		files[n].additions, _ = strconv.Atoi(count[0])
		files[n].deletions, _ = strconv.Atoi(count[1])
		if count[2] == "" {
			i += 2 // a renamed file's names follow
		}
	}
	return files
}

// attachPatches gives each file its hunks. Sections come in the files' order; a change of type has two of them.
func attachPatches(c *change) {
	var sections []string
	for i, part := range strings.Split("\n"+string(c.raw), "\ndiff --git ") {
		if i > 0 {
			sections = append(sections, part)
		}
	}
	hunks := func(section string) string {
		_, rest, found := strings.Cut(section, "\n@@ ")
		if !found {
			return ""
		}
		return "@@ " + strings.TrimSuffix(rest, "\n")
	}
	for i := range c.files {
		if len(sections) == 0 {
			return
		}
		c.files[i].patch = hunks(sections[0])
		sections = sections[1:]
		if c.files[i].status == "changed" && len(sections) > 0 {
			sections = sections[1:]
		}
	}
}

// tooLarge is the refusal of a diff that breaks a limit; nil when it breaks none.
func (c *change) tooLarge(resource string) *reply {
	var message string
	switch {
	case len(c.files) > maxDiffFiles:
		message = fmt.Sprintf("Sorry, the diff exceeded the maximum number of files (%d). Consider using 'List pull requests files' API or locally cloning the repository instead.", maxDiffFiles)
	case c.lines > maxDiffLines:
		message = fmt.Sprintf("Sorry, the diff exceeded the maximum number of lines (%d)", maxDiffLines)
	case len(c.raw) > maxDiffBytes:
		message = fmt.Sprintf("Sorry, the diff exceeded the maximum size (%d bytes)", maxDiffBytes)
	default:
		return nil
	}
	rep := failure(http.StatusNotAcceptable, message, object{"resource": resource, "field": "diff", "code": "too_large"})
	return &rep
}

// diffReply is a diff by media type.
func (c *change) diffReply(resource string) reply {
	if refused := c.tooLarge(resource); refused != nil {
		return *refused
	}
	raw := c.raw
	if raw == nil {
		raw = []byte{}
	}
	return reply{status: http.StatusOK, raw: raw, contentType: "application/vnd.github.diff; charset=utf-8"}
}

func (r *Repo) fileJSON(f changedFile, head string) object {
	escaped := (&url.URL{Path: f.path}).EscapedPath()
	body := object{
		"sha": f.sha, "filename": f.path, "status": f.status, "additions": f.additions, "deletions": f.deletions, "changes": f.additions + f.deletions,
		"blob_url": r.web() + "/blob/" + head + "/" + escaped, "raw_url": r.web() + "/raw/" + head + "/" + escaped,
		"contents_url": r.api() + "/contents/" + escaped + "?ref=" + head,
	}
	if f.from != "" {
		body["previous_filename"] = f.from
	}
	if f.patch != "" && strings.Count(f.patch, "\n") < maxPatchLines && len(f.patch) <= maxPatchBytes {
		body["patch"] = f.patch
	}
	return body
}

// hunk is the lines that a hunk of a patch covers.
type hunk struct {
	oldStart, oldLines int
	newStart, newLines int
	header             string
	body               []string // with their markers
}

func parseHunks(patch string) []hunk {
	var list []hunk
	for _, line := range strings.Split(patch, "\n") {
		if strings.HasPrefix(line, "@@ ") {
			h := hunk{header: line, oldLines: 1, newLines: 1}
			f := strings.Fields(line)
			if len(f) < 3 {
				continue
			}
			h.oldStart, h.oldLines = span(f[1])
			h.newStart, h.newLines = span(f[2])
			list = append(list, h)
			continue
		}
		if len(list) > 0 {
			h := &list[len(list)-1]
			h.body = append(h.body, line)
		}
	}
	return list
}

func span(s string) (start, lines int) {
	a, b, two := strings.Cut(s[1:], ",")
	start, _ = strconv.Atoi(a)
	lines = 1
	if two {
		lines, _ = strconv.Atoi(b)
	}
	return start, lines
}

// shown is where a patch shows a line.
type shown struct {
	hunk     int    // which of the patch's hunks
	position int    // lines below the first hunk's header, the retiring way to name it
	excerpt  string // the hunk up to the line, which is what a review comment keeps
}

// shows finds a line of a side in a patch.
func shows(patch, side string, line int) (at shown, ok bool) {
	position := 0
	for i, h := range parseHunks(patch) {
		oldLine, newLine := h.oldStart, h.newStart
		for n, l := range h.body {
			position++
			marker := byte(' ')
			if l != "" {
				marker = l[0]
			}
			if marker == '\\' {
				continue
			}
			if side == "RIGHT" && marker != '-' && newLine == line || side == "LEFT" && marker != '+' && oldLine == line {
				return shown{hunk: i, position: position, excerpt: strings.Join(append([]string{h.header}, h.body[:n+1]...), "\n")}, true
			}
			if marker != '-' {
				newLine++
			}
			if marker != '+' {
				oldLine++
			}
		}
		position++ // the next hunk's header
	}
	return shown{}, false
}

// follow maps a line of one commit's file to another commit's; zero when the line itself was changed or is gone.
func (r *Repo) follow(from, to, path string, line int) int {
	for _, f := range r.diff(from, to).files {
		if f.path != path && f.from != path {
			continue
		}
		if f.path != path || f.status == "removed" || f.binary {
			return 0
		}
		shift := 0
		for _, h := range parseHunks(f.patch) {
			oldLine, newLine := h.oldStart, h.newStart
			if line < h.oldStart {
				break
			}
			for _, l := range h.body {
				switch {
				case strings.HasPrefix(l, "+"):
					newLine++
				case strings.HasPrefix(l, "-"):
					if oldLine == line {
						return 0
					}
					oldLine++
				case strings.HasPrefix(l, `\`):
				default:
					if oldLine == line {
						return newLine
					}
					oldLine++
					newLine++
				}
			}
			shift = newLine - oldLine
		}
		return line + shift
	}
	return line
}
