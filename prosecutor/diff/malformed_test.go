package diff_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/prosecutor-bot/prosecutor/prosecutor/diff"
)

// Heads of sections that the malformed texts go on from. They end behind line 4, line 2 and line 3.
const (
	modified = "diff --git a/f b/f\nindex 1111111..2222222 100644\n--- a/f\n+++ b/f\n"
	plain    = "diff --git a/f b/f\nindex 1111111..2222222 100644\n"
	renamed  = "diff --git a/f b/g\nrename from f\nrename to g\n"
	binary   = plain + "GIT binary patch\n"
	literal  = "literal 1\nIcmZPo000310RR91\n\n"
)

// Whole sections of seven lines that are the halves of a type change.
const (
	deleted = "diff --git a/f b/f\ndeleted file mode 100644\nindex 2222222..0000000\n--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"
	added   = "diff --git a/f b/f\nnew file mode 120000\nindex 0000000..2222222\n--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+a\n"
)

// named writes a whole section of three lines.
func named(path string) string {
	return fmt.Sprintf("diff --git a/%[1]s b/%[1]s\nold mode 100644\nnew mode 100755\n", path)
}

// TestMalformed shows what is refused, with the line and the words.
func TestMalformed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want string }{
		{"text before the first file", "hello\n" + modified, `line 1: want a line that starts with "diff --git ", not "hello"`},
		{"blank line before the first file", "\n" + modified, `line 1: want a line that starts with "diff --git ", not ""`},
		{"no git header", "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n", `line 1: want a line that starts with "diff --git ", not "--- a/f"`},
		{"mailed patch", "From 123 Mon Sep 17\nSubject: x\n", "line 1: this is a mailed patch; use the plain diff"},
		{"merge", "diff --cc f\nindex 1,2..3\n", "line 1: this is the combined diff of a merge; compare two trees instead"},
		{"merge, in its other form", "diff --combined f\nindex 1,2..3\n", "line 1: this is the combined diff of a merge; compare two trees instead"},
		{"submodule log", "Submodule lib 1111111..2222222:\n", "line 1: this is git's log form of a submodule change; use --submodule=short"},
		{"80 bytes are quoted whole", strings.Repeat("x", 80) + "\n", `line 1: want a line that starts with "diff --git ", not "` + strings.Repeat("x", 80) + `"`},
		{"81 bytes are not", strings.Repeat("x", 81) + "\n", `line 1: want a line that starts with "diff --git ", not "` + strings.Repeat("x", 80) + `"...`},
		{"not a diff in HTML", "<!DOCTYPE html>\n", `line 1: want a line that starts with "diff --git ", not "<!DOCTYPE html>"`},
		{"hostile bytes are escaped", "\x1b[2J\u202e" + strings.Repeat("x", 200) + "\n", `line 1: want a line that starts with "diff --git ", not "\x1b[2J\u202e` + strings.Repeat("x", 73) + `"...`},

		{"no last line feed", "diff --git a/f b/f", "line 1: the text ends in the middle of a line: it is cut off"},
		{"nothing said", "diff --git a/f b/f\n", `line 2, file "f": the section says nothing about the file`},
		{"header cut off in a line", "diff --git a/f b/g\nrename from f\nrename to g", `line 3, file "a/f b/g": the text ends in the middle of a line: it is cut off`},
		{"blank line in the header", "diff --git a/f b/f\n\n", `line 2, file "f": unknown line ""`},
		{"no names", "diff --git \nold mode 100644\nnew mode 100755\n", `line 4: want "diff --git" and the same name twice, behind a/ and b/, not ""`},
		{"empty names", "diff --git a/ b/\nold mode 100644\nnew mode 100755\n", `line 4, file "a/ b/": want "diff --git" and the same name twice, behind a/ and b/, not "a/ b/"`},
		{"no prefixes", "diff --git f f\nold mode 100644\nnew mode 100755\n", `line 4, file "f f": want "diff --git" and the same name twice, behind a/ and b/, not "f f"`},
		{"two names without a rename", "diff --git a/f b/g\nindex 1111111..2222222 100644\n--- a/f\n+++ b/g\n@@ -1 +1 @@\n-a\n+b\n", `line 3, file "a/f b/g": want "diff --git" and the same name twice, behind a/ and b/, not "a/f b/g"`},
		{"carriage return behind the names", "diff --git a/f b/f\r\nold mode 100644\nnew mode 100755\n", `line 4, file "a/f b/f\r": want "diff --git" and the same name twice, behind a/ and b/, not "a/f b/f\r"`},
		{"open quote", "diff --git \"a/f b/f\nold mode 100644\nnew mode 100755\n", `line 4, file "\"a/f b/f": want "diff --git" and the same name twice, behind a/ and b/, not "\"a/f b/f"`},
		{"unknown escape", `diff --git "a/\q" "b/\q"` + "\nold mode 100644\nnew mode 100755\n", `line 4, file "\"a/\\q\" \"b/\\q\"": want "diff --git" and the same name twice, behind a/ and b/, not "\"a/\\q\" \"b/\\q\""`},
		{"octal over a byte", `diff --git "a/\777" "b/\777"` + "\nold mode 100644\nnew mode 100755\n", `line 4, file "\"a/\\777\" \"b/\\777\"": want "diff --git" and the same name twice, behind a/ and b/, not "\"a/\\777\" \"b/\\777\""`},
		{"NUL in a name", `diff --git "a/\000" "b/\000"` + "\nold mode 100644\nnew mode 100755\n", `line 4, file "\"a/\\000\" \"b/\\000\"": want "diff --git" and the same name twice, behind a/ and b/, not "\"a/\\000\" \"b/\\000\""`},

		{"unknown header line", "diff --git a/f b/f\nsome header\n", `line 2, file "f": unknown line "some header"`},
		{"header line twice", "diff --git a/f b/f\nold mode 100644\nold mode 100644\n", `line 3, file "a/f b/f": a header line that stands twice`},
		{"old mode alone", "diff --git a/f b/f\nold mode 100644\n", `line 3, file "a/f b/f": old mode and new mode do not both stand`},
		{"mode that is none", "diff --git a/f b/f\nold mode 10064x\nnew mode 100755\n", `line 2, file "a/f b/f": want a file mode of six octal digits, not "10064x"`},
		{"mode too long", "diff --git a/f b/f\nold mode 0100644\nnew mode 100755\n", `line 2, file "a/f b/f": want a file mode of six octal digits, not "0100644"`},
		{"new and deleted", "diff --git a/f b/f\nnew file mode 100644\ndeleted file mode 100644\n", `line 4, file "a/f b/f": a file that is both new and deleted`},
		{"new and renamed", "diff --git a/f b/g\nnew file mode 100644\nrename from f\nrename to g\n", `line 5, file "a/f b/g": a new or deleted file with a second mode, a rename or a copy`},
		{"half a rename", "diff --git a/f b/g\nsimilarity index 100%\nrename from f\n", `line 4, file "a/f b/g": a rename or copy needs its two names and no others`},
		{"rename and copy", "diff --git a/f b/g\nrename from f\ncopy to g\n", `line 4, file "a/f b/g": a rename or copy needs its two names and no others`},
		{"rename of other files", "diff --git a/f b/g\nsimilarity index 100%\nrename from f\nrename to h\n", `line 5, file "h": the diff --git line "a/f b/g" does not name "a/f" and "b/h"`},
		{"rename without a name", "diff --git a/f b/\nrename from f\nrename to \n", `line 3, file "a/f b/": want the name of a file, not ""`},
		{"rename with text behind the quote", "diff --git a/f b/g\nrename from \"f\"x\nrename to g\n", `line 2, file "a/f b/g": want the name of a file, not "\"f\"x"`},
		{"rename with changes not shown", "diff --git a/f b/g\nsimilarity index 90%\nrename from f\nrename to g\n", `line 5, file "g": a rename or copy with changes that are not shown: the text is cut off`},
		{"similarity over 100", "diff --git a/f b/g\nsimilarity index 101%\n", `line 2, file "a/f b/g": want a percentage from 0% to 100%, not "101%"`},
		{"similarity without a sign", "diff --git a/f b/g\nsimilarity index 10\n", `line 2, file "a/f b/g": want a percentage from 0% to 100%, not "10"`},
		{"similarity without a rename", "diff --git a/f b/f\nsimilarity index 100%\nold mode 100644\nnew mode 100755\n", `line 5, file "a/f b/f": a similarity index without a rename or copy`},
		{"similarity with text behind the sign", "diff --git a/f b/g\nsimilarity index 10%%\n", `line 2, file "a/f b/g": want a percentage from 0% to 100%, not "10%%"`},
		{"similarity far over 100", "diff --git a/f b/g\nsimilarity index 99999999999%\n", `line 2, file "a/f b/g": want a percentage from 0% to 100%, not "99999999999%"`},
		{"similarity of nothing", "diff --git a/f b/g\nsimilarity index %\n", `line 2, file "a/f b/g": want a percentage from 0% to 100%, not "%"`},
		{"dissimilarity over 100", "diff --git a/f b/f\ndissimilarity index 101%\n", `line 2, file "a/f b/f": want a percentage from 0% to 100%, not "101%"`},
		{"object name of three digits", "diff --git a/f b/f\nindex 111..2222222 100644\n", `line 2, file "a/f b/f": want two object names with .. between them, not "111..2222222 100644"`},
		{"object name longer than SHA-256", "diff --git a/f b/f\nindex 2222222.." + strings.Repeat("1", 65) + "\n", `line 2, file "a/f b/f": want two object names with .. between them, not "2222222..` + strings.Repeat("1", 65) + `"`},
		{"mode in the index line that is none", "diff --git a/f b/f\nindex 1111111..2222222 10064\n", `line 2, file "a/f b/f": want a file mode of six octal digits, not "10064"`},
		{"index of one object", "diff --git a/f b/f\nindex 1111111 100644\n", `line 2, file "a/f b/f": want two object names with .. between them, not "1111111 100644"`},
		{"index of a merge", "diff --git a/f b/f\nindex 1111111,2222222..3333333\n", `line 2, file "a/f b/f": want two object names with .. between them, not "1111111,2222222..3333333"`},
		{"index not in hexadecimal", "diff --git a/f b/f\nindex 111111g..2222222 100644\n", `line 2, file "a/f b/f": want two object names with .. between them, not "111111g..2222222 100644"`},
		{"second mode in the index line", "diff --git a/f b/f\nold mode 100644\nnew mode 100755\nindex 1111111..2222222 100644\n", `line 4, file "a/f b/f": a second file mode`},
		{"new file that existed", "diff --git a/f b/f\nnew file mode 100644\nindex 1111111..2222222\n", `line 4, file "a/f b/f": the index line and the file mode lines disagree on whether the file is new`},
		{"no longer there, and not deleted", "diff --git a/f b/f\nindex 1111111..0000000 100644\n", `line 3, file "a/f b/f": the index line and the file mode lines disagree on whether the file is deleted`},
		{"change not shown", plain, `line 3, file "f": the content changed from 1111111 to 2222222 but no change is shown: the text is cut off, or made with options that hide changes`},
		{"new file not shown", "diff --git a/f b/f\nnew file mode 100644\nindex 0000000..2222222\n", `line 4, file "f": the content changed from 0000000 to 2222222 but no change is shown: the text is cut off, or made with options that hide changes`},
		{"deleted file not shown", "diff --git a/f b/f\ndeleted file mode 100644\nindex 2222222..0000000\n", `line 4, file "f": the content changed from 2222222 to 0000000 but no change is shown: the text is cut off, or made with options that hide changes`},
		{"new file without an index line", "diff --git a/f b/f\nnew file mode 100644\n", `line 3, file "f": a new or deleted file without an index line: the text is cut off`},

		{"old name of another file", plain + "--- a/g\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n", `line 3, file "f": the line "--- a/g" does not name the old file of this section`},
		{"new name of another file", plain + "--- a/f\n+++ b/g\n@@ -1 +1 @@\n-a\n+b\n", `line 4, file "f": the line "+++ b/g" does not name the new file of this section`},
		{"time behind a name", plain + "--- a/f\t2020-01-01 00:00:00\n+++ b/f\n", `line 3, file "f": the line "--- a/f\t2020-01-01 00:00:00" does not name the old file of this section`},
		{"modified file from nothing", plain + "--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+b\n", `line 3, file "f": the line "--- /dev/null" does not name the old file of this section`},
		{"new file from something", "diff --git a/f b/f\nnew file mode 100644\nindex 0000000..2222222\n--- a/f\n+++ b/f\n@@ -0,0 +1 @@\n+b\n", `line 4, file "f": the line "--- a/f" does not name the old file of this section`},
		{"one name line", plain + "--- a/f\n", `line 4, file "f": a --- line without a +++ line`},
		{"name line cut off", plain + "--- a/f", `line 3, file "a/f b/f": the text ends in the middle of a line: it is cut off`},
		{"second name line cut off", plain + "--- a/f\n+++ b/f", `line 4, file "f": the text ends in the middle of a line: it is cut off`},
		{"something else for the second name line", plain + "--- a/f\n@@ -1 +1 @@\n", `line 4, file "f": a --- line without a +++ line`},
		{"hunk without name lines", plain + "@@ -1 +1 @@\n-a\n+b\n", `line 3, file "f": a hunk without --- and +++ lines`},
		{"name lines without a hunk", modified, `line 5, file "f": no hunk behind the --- and +++ lines: the text is cut off`},
		{"name lines before something else", modified + "Binary files a/f and b/f differ\n", `line 5, file "f": want a hunk behind the --- and +++ lines, not "Binary files a/f and b/f differ"`},

		{"hunk header cut off", modified + "@@ -1 +1 @@", `line 5, file "f": the text ends in the middle of a line: it is cut off`},
		{"header of a second hunk cut off", modified + "@@ -1 +1 @@\n-a\n+b\n@@ -7 +7", `line 8, file "f": the text ends in the middle of a line: it is cut off`},
		{"hunk header without an old start", modified + "@@ -,1 +1 @@\n", `line 5, file "f": want a hunk header or the next file, not "@@ -,1 +1 @@"`},
		{"hunk header without a new start", modified + "@@ -1 +,1 @@\n", `line 5, file "f": want a hunk header or the next file, not "@@ -1 +,1 @@"`},
		{"hunk header without a minus", modified + "@@ 1 +1 @@\n", `line 5, file "f": want a hunk header or the next file, not "@@ 1 +1 @@"`},
		{"hunk header without a plus", modified + "@@ -1 1 @@\n", `line 5, file "f": want a hunk header or the next file, not "@@ -1 1 @@"`},
		{"hunk header with an empty new count", modified + "@@ -1 +1, @@\n", `line 5, file "f": want a hunk header or the next file, not "@@ -1 +1, @@"`},
		{"hunk header with a character before the digits", modified + "@@ -1,/ +1 @@\n", `line 5, file "f": want a hunk header or the next file, not "@@ -1,/ +1 @@"`},
		{"hunk header with a character behind the digits", modified + "@@ -1: +1 @@\n", `line 5, file "f": want a hunk header or the next file, not "@@ -1: +1 @@"`},
		{"hunk header without ranges", modified + "@@ @@\n", `line 5, file "f": want a hunk header or the next file, not "@@ @@"`},
		{"hunk header of a merge", modified + "@@@ -1 -1 +1 @@@\n", `line 5, file "f": want a hunk behind the --- and +++ lines, not "@@@ -1 -1 +1 @@@"`},
		{"hunk header not closed", modified + "@@ -1 +1 @\n", `line 5, file "f": want a hunk header or the next file, not "@@ -1 +1 @"`},
		{"section text not separated", modified + "@@ -1 +1 @@func\n-a\n+b\n", `line 5, file "f": want a hunk header or the next file, not "@@ -1 +1 @@func"`},
		{"hunk header with an empty count", modified + "@@ -1, +1 @@\n", `line 5, file "f": want a hunk header or the next file, not "@@ -1, +1 @@"`},
		{"hunk header with a negative count", modified + "@@ -1,-1 +1 @@\n", `line 5, file "f": want a hunk header or the next file, not "@@ -1,-1 +1 @@"`},
		{"number too large", modified + "@@ -1,2147483648 +1 @@\n", `line 5, file "f": want a hunk header or the next file, not "@@ -1,2147483648 +1 @@"`},
		{"number far too large", modified + "@@ -1,99999999999999999999999999 +1 @@\n", `line 5, file "f": want a hunk header or the next file, not "@@ -1,99999999999999999999999999 +1 @@"`},
		{"line zero", modified + "@@ -0 +1 @@\n-a\n+b\n", `line 5, file "f": want a hunk header or the next file, not "@@ -0 +1 @@"`},
		{"new line zero", modified + "@@ -1 +0 @@\n-a\n+b\n", `line 5, file "f": want a hunk header or the next file, not "@@ -1 +0 @@"`},
		{"count without a number", modified + "@@ -,0 +1 @@\n+b\n", `line 5, file "f": want a hunk header or the next file, not "@@ -,0 +1 @@"`},
		{"second hunk header without its start", modified + "@@ -1 +1 @@\n-a\n+b\n7 +7 @@\n-a\n+b\n", `line 8, file "f": want a hunk header or the next file, not "7 +7 @@"`},
		{"hunk of nothing", modified + "@@ -1,0 +1,0 @@\n", `line 5, file "f": a hunk without lines`},
		{"overlapping hunks", modified + "@@ -1,2 +1,2 @@\n-a\n+b\n c\n@@ -2 +3 @@\n-c\n+d\n", `line 9, file "f": the hunk starts before the end of the one above it`},
		{"overlapping hunks on the old side", modified + "@@ -1,2 +1 @@\n-a\n-b\n+c\n@@ -2 +2 @@\n-b\n+d\n", `line 9, file "f": the hunk starts before the end of the one above it`},
		{"overlapping hunks on the new side", modified + "@@ -1 +1,2 @@\n-a\n+b\n+c\n@@ -2 +2 @@\n-b\n+d\n", `line 9, file "f": the hunk starts before the end of the one above it`},
		{"hunks out of order", modified + "@@ -9 +9 @@\n-a\n+b\n@@ -1 +1 @@\n-c\n+d\n", `line 8, file "f": the hunk starts before the end of the one above it`},
		{"lost hunk", modified + "@@ -1 +1,2 @@\n-a\n+b\n+b\n@@ -9 +9 @@\n-c\n+d\n", `line 9, file "f": the hunk's numbers do not fit what is above it: 7 unchanged lines between on the old side, 6 on the new side`},
		{"deleted file without an index line", "diff --git a/f b/f\ndeleted file mode 100644\n", `line 3, file "f": a new or deleted file without an index line: the text is cut off`},
		{"rename with nothing in common", "diff --git a/f b/g\nsimilarity index 0%\nrename from f\nrename to g\n", `line 5, file "g": a rename or copy with changes that are not shown: the text is cut off`},
		{"copy with a change not shown", "diff --git a/f b/g\nsimilarity index 99%\ncopy from f\ncopy to g\n", `line 5, file "g": a rename or copy with changes that are not shown: the text is cut off`},
		{"old lines in a new file", "diff --git a/f b/f\nnew file mode 100644\nindex 0000000..2222222\n--- /dev/null\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n", `line 6, file "f": a new file with old lines`},
		{"new lines in a deleted file", "diff --git a/f b/f\ndeleted file mode 100644\nindex 2222222..0000000\n--- a/f\n+++ /dev/null\n@@ -1 +1 @@\n-a\n+b\n", `line 6, file "f": a deleted file with new lines`},

		{"hunk cut off by the end", modified + "@@ -1,3 +1,3 @@\n a\n-b\n", `line 8, file "f": the hunk is cut off: 1 old and 2 new lines are missing`},
		{"hunk cut off by a file", modified + "@@ -1,3 +1,3 @@\n a\n-b\n" + modified, `line 8, file "f": the hunk is cut off: 1 old and 2 new lines are missing`},
		{"hunk cut off by a hunk", modified + "@@ -1,3 +1,3 @@\n a\n@@ -7 +7 @@\n", `line 7, file "f": want a row of the hunk, not "@@ -7 +7 @@": 2 old and 2 new lines are missing`},
		{"hunk cut off in a row", modified + "@@ -1 +1 @@\n-a\n+b", `line 7, file "f": the text ends in the middle of a line: it is cut off`},
		{"more rows than counted", modified + "@@ -1 +1 @@\n-a\n+b\n+c\n", `line 8, file "f": want a hunk header or the next file, not "+c"`},
		{"more rows on one side than counted", modified + "@@ -1,2 +1 @@\n-a\n+b\n+c\n", `line 8, file "f": the hunk has more lines on one side than its header counts`},
		{"more deleted rows than counted", modified + "@@ -1 +1,2 @@\n-a\n-b\n+c\n", `line 7, file "f": the hunk has more lines on one side than its header counts`},
		{"context where one side has no more lines", modified + "@@ -1 +1,2 @@\n-a\n b\n+c\n", `line 7, file "f": the hunk has more lines on one side than its header counts`},
		{"row without a mark", modified + "@@ -1 +1 @@\n-a\nb\n", `line 7, file "f": want a row of the hunk, not "b": 0 old and 1 new lines are missing`},
		{"row of a carriage return", modified + "@@ -1,2 +1,2 @@\n\r\n-a\n+b\n", `line 6, file "f": want a row of the hunk, not "\r": 2 old and 2 new lines are missing`},
		{"row that starts like a file", modified + "@@ -1 +1 @@\n-a\ndiff\n", `line 7, file "f": want a row of the hunk, not "diff": 0 old and 1 new lines are missing`},
		{"blank line behind the hunk", modified + "@@ -1 +1 @@\n-a\n+b\n\n", `line 8, file "f": want a hunk header or the next file, not ""`},
		{"mark of another kind", modified + "@@ -1 +1 @@\n-a\n+b\n\\ Kein Zeilenumbruch am Dateiende.\n", `line 8, file "f": want "\\ No newline at end of file", not "\\ Kein Zeilenumbruch am Dateiende."`},
		{"mark before any row", modified + "@@ -1 +1 @@\n\\ No newline at end of file\n-a\n+b\n", `line 6, file "f": a mark of the end of the file that does not stand behind its last line`},
		{"mark before the last line", modified + "@@ -1,2 +1 @@\n-a\n\\ No newline at end of file\n-b\n+b\n", `line 7, file "f": a mark of the end of the file that does not stand behind its last line`},
		{"mark behind a context line that is not last", modified + "@@ -1 +1,2 @@\n a\n\\ No newline at end of file\n+b\n", `line 7, file "f": a mark of the end of the file that does not stand behind its last line`},
		{"mark behind a new line that is not last", modified + "@@ -1 +1,2 @@\n-a\n+b\n\\ No newline at end of file\n+c\n", `line 8, file "f": a mark of the end of the file that does not stand behind its last line`},
		{"mark behind a context line below an added one", modified + "@@ -1,2 +1,2 @@\n+a\n b\n\\ No newline at end of file\n-c\n", `line 8, file "f": a mark of the end of the file that does not stand behind its last line`},
		{"mark behind a context line that is not last on the old side", modified + "@@ -1,2 +1 @@\n a\n\\ No newline at end of file\n-b\n", `line 7, file "f": a mark of the end of the file that does not stand behind its last line`},
		{"mark twice between rows", modified + "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n\\ No newline at end of file\n+b\n", `line 8, file "f": a mark of the end of the file that does not stand behind its last line`},
		{"mark of another kind between rows", modified + "@@ -1 +1 @@\n-a\n\\ No end\n+b\n", `line 7, file "f": want "\\ No newline at end of file", not "\\ No end"`},
		{"mark cut off", modified + "@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file", `line 8, file "f": the text ends in the middle of a line: it is cut off`},
		{"mark twice", modified + "@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file\n\\ No newline at end of file\n", `line 9, file "f": want a hunk header or the next file, not "\\ No newline at end of file"`},
		{"hunk behind the end of the file", modified + "@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file\n@@ -7 +7 @@\n-a\n+b\n", `line 9, file "f": a hunk behind the end of the file`},

		{"hunk of old lines behind the end of the new file", modified + "@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file\n@@ -7 +6,0 @@\n-a\n", `line 9, file "f": a hunk behind the end of the file`},
		{"hunk of new lines behind the end of the old file", modified + "@@ -1 +1,2 @@\n-a\n\\ No newline at end of file\n+b\n+c\n@@ -6,0 +8 @@\n+a\n", `line 10, file "f": a hunk behind the end of the file`},
		{"hunk behind the end of the old file", modified + "@@ -1 +1,2 @@\n-a\n\\ No newline at end of file\n+b\n+c\n@@ -7 +8 @@\n-a\n+b\n", `line 10, file "f": a hunk behind the end of the file`},

		{"binary of other files", plain + "Binary files a/f and b/g differ\n", `line 3, file "f": the line "Binary files a/f and b/g differ" does not name the files of this section`},
		{"binary from another file", plain + "Binary files a/g and b/f differ\n", `line 3, file "f": the line "Binary files a/g and b/f differ" does not name the files of this section`},
		{"binary files that are the same", plain + "Binary files a/f and b/f\n", `line 3, file "f": the line "Binary files a/f and b/f" does not name the files of this section`},
		{"binary files with text behind", plain + "Binary files a/f and b/fx differ\n", `line 3, file "f": the line "Binary files a/f and b/fx differ" does not name the files of this section`},
		{"binary of one file", plain + "Binary files a/f differ\n", `line 3, file "f": the line "Binary files a/f differ" does not name the files of this section`},
		{"new binary of an old file", plain + "Binary files /dev/null and b/f differ\n", `line 3, file "f": the line "Binary files /dev/null and b/f differ" does not name the files of this section`},
		{"binary cut off", plain + "Binary files a/f and b/f differ", `line 3, file "a/f b/f": the text ends in the middle of a line: it is cut off`},
		{"cut off behind a binary", plain + "Binary files a/f and b/f differ\ndiff", `line 4, file "f": the text ends in the middle of a line: it is cut off`},
		{"binary patch cut off in its size", binary + "literal 1", `line 4, file "f": the text ends in the middle of a line: it is cut off`},
		{"binary patch cut off in a line", binary + "literal 1\nIcmZ", `line 5, file "f": the text ends in the middle of a line: it is cut off`},
		{"binary patch with text behind its size", binary + "delta 1x\n", `line 4, file "f": want literal or delta and a size in a binary patch, not "delta 1x"`},
		{"binary that goes on", plain + "Binary files a/f and b/f differ\n@@ -1 +1 @@\n", `line 4, file "f": want the next file behind a binary file, not "@@ -1 +1 @@"`},
		{"binary patch without content", binary, `line 4, file "f": a binary patch without content: the text is cut off`},
		{"binary patch of an unknown kind", binary + "gzip 1\n", `line 4, file "f": want literal or delta and a size in a binary patch, not "gzip 1"`},
		{"binary patch without a size", binary + "literal x\n", `line 4, file "f": want literal or delta and a size in a binary patch, not "literal x"`},
		{"binary patch of an empty size", binary + "literal \n", `line 4, file "f": want literal or delta and a size in a binary patch, not "literal "`},
		{"binary patch of a size alone", binary + "17\n", `line 4, file "f": want literal or delta and a size in a binary patch, not "17"`},
		{"binary patch of no lines", binary + "literal 1\n\n", `line 5, file "f": a binary patch without content`},
		{"binary patch of a bad length", binary + "literal 1\nZcmZPo000310RR91\n", `line 5, file "f": want a line of base 85, not "ZcmZPo000310RR91"`},
		{"binary patch of bad digits", binary + "literal 1\nIcmZPo000310RR9,\n", `line 5, file "f": want a line of base 85, not "IcmZPo000310RR9,"`},
		{"binary patch cut off", binary + "literal 1\nIcmZPo000310RR91\n", `line 6, file "f": a binary patch without an empty line at its end: the text is cut off`},
		{"binary patch of one direction", binary + literal, `line 7, file "f": a binary patch without content: the text is cut off`},
		{"binary patch that goes on", binary + literal + literal + "literal 1\n", `line 10, file "f": want the next file behind a binary file, not "literal 1"`},

		{"same file twice", modified + "@@ -1 +1 @@\n-a\n+b\n" + modified + "@@ -1 +1 @@\n-a\n+b\n", `line 8, file "f": a second section of the same file`},
		{"same file twice, with one between", named("a") + named("b") + named("a"), `line 7, file "a": a second section of the same file`},
		{"same file twice, the set already made", named("b") + named("a") + named("c") + named("d") + named("c"), `line 13, file "c": a second section of the same file`},
		{"deleted file, and another with its name", deleted + named("f"), `line 8, file "f": a second section of the same file`},
		{"deleted twice", deleted + deleted, `line 8, file "f": a second section of the same file`},
		{"added before it is deleted", added + deleted, `line 8, file "f": a second section of the same file`},
		{"type change, and the file once more", deleted + added + added, `line 15, file "f": a second section of the same file`},
		{"no type change, and out of order", deleted + strings.ReplaceAll(added, "/f", "/e") + named("f"), `line 15, file "f": a second section of the same file`},
		{"type change with a file between", deleted + named("e") + added, `line 11, file "f": a second section of the same file`},
		{"same file twice, not in order", renamed + modified + "@@ -1 +1 @@\n-a\n+b\n" + renamed, `line 11, file "g": a second section of the same file`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d, err := diff.ParseString(c.text)
			if err == nil {
				t.Fatalf("no error, %d files", len(d.Files))
			}
			if d != nil {
				t.Error("a diff beside an error")
			}
			var syntax *diff.SyntaxError
			if !errors.As(err, &syntax) {
				t.Errorf("%T is not a syntax error", err)
			}
			if diff := cmp.Diff("reading diff: "+c.want, err.Error()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if _, err := diff.Parse(strings.NewReader(c.text)); err == nil || err.Error() != "reading diff: "+c.want {
				t.Errorf("Parse: %v", err)
			}
			if _, err := stream(iotest.OneByteReader(strings.NewReader(c.text))); err == nil || err.Error() != "reading diff: "+c.want {
				t.Errorf("Next: %v", err)
			}
		})
	}
}

// TestHeaderLines has what holds for every extended header line: without its value it is unknown, and it stands once.
func TestHeaderLines(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, value string }{
		{"index", "1111111..2222222"},
		{"old mode", "100644"},
		{"new mode", "100755"},
		{"new file mode", "100644"},
		{"deleted file mode", "100644"},
		{"similarity index", "90%"},
		{"dissimilarity index", "90%"},
		{"rename from", "f"},
		{"rename to", "f"},
		{"copy from", "f"},
		{"copy to", "f"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			const start = "diff --git a/f b/f\n"
			_, err := diff.ParseString(start + c.name + "\n")
			if want := fmt.Sprintf(`reading diff: line 2, file "f": unknown line %q`, c.name); err == nil || err.Error() != want {
				t.Errorf("without its value: %v, want %s", err, want)
			}
			line := c.name + " " + c.value + "\n"
			_, err = diff.ParseString(start + line + line)
			var syntax *diff.SyntaxError
			if !errors.As(err, &syntax) || syntax.Line != 3 || syntax.Msg != "a header line that stands twice" {
				t.Errorf("twice: %v", err)
			}
		})
	}
}

// TestNoFiles reads texts that are a diff of nothing.
func TestNoFiles(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "\n", " \t\r\n\n", "\u00a0\n"} {
		d, err := diff.ParseString(text)
		if err != nil || len(d.Files) != 0 {
			t.Errorf("ParseString(%q): %v, %v", text, d, err)
		}
		d, err = diff.Parse(iotest.OneByteReader(strings.NewReader(text)))
		if err != nil || len(d.Files) != 0 {
			t.Errorf("Parse(%q): %v, %v", text, d, err)
		}
		r := diff.NewReader(strings.NewReader(text))
		for range 2 {
			if f, err := r.Next(); f != nil || !errors.Is(err, io.EOF) {
				t.Errorf("Next(%q): %v, %v", text, f, err)
			}
		}
	}
}

// TestErrorOfReader passes the error of the source on, and keeps it.
func TestErrorOfReader(t *testing.T) {
	t.Parallel()
	broken := errors.New("connection reset")
	src := func() io.Reader { return io.MultiReader(strings.NewReader(twoFiles), iotest.ErrReader(broken)) }
	if _, err := diff.Parse(src()); !errors.Is(err, broken) {
		t.Errorf("Parse: %v", err)
	}
	r := diff.NewReader(src())
	if f, err := r.Next(); err != nil || f.Path() != "one.txt" {
		t.Errorf("the file that is whole: %v, %v", f, err)
	}
	for range 2 {
		if _, err := r.Next(); !errors.Is(err, broken) {
			t.Errorf("Next: %v", err)
		}
	}
}

// TestErrorStays refuses the whole text at its first error: the sections behind it are not read.
func TestErrorStays(t *testing.T) {
	t.Parallel()
	r := diff.NewReader(strings.NewReader(plain + twoFiles))
	_, first := r.Next()
	if first == nil {
		t.Fatal("no error")
	}
	if f, err := r.Next(); f != nil || !errors.Is(err, first) {
		t.Errorf("%v, %v, want %v", f, err, first)
	}
}

// TestLimits stops at a limit and not one byte before it, and does not read on.
func TestLimits(t *testing.T) {
	t.Parallel()
	longest := strings.Repeat("x", 100)
	text := modified + "@@ -1 +1 @@\n-a\n+" + longest + "\n"
	for _, c := range []struct {
		name    string
		options []diff.Option
		want    *diff.LimitError
	}{
		{"fits", []diff.Option{diff.MaxBytes(len(text)), diff.MaxLine(len(longest) + 1)}, nil},
		{"too many bytes", []diff.Option{diff.MaxBytes(len(text) - 1)}, &diff.LimitError{What: "diff", Limit: len(text) - 1}},
		{"line too long", []diff.Option{diff.MaxLine(len(longest))}, &diff.LimitError{Line: 7, What: "line", Limit: len(longest)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for name, parse := range map[string]func() error{
				"ParseString":     func() error { _, err := diff.ParseString(text, c.options...); return err },
				"Parse of memory": func() error { _, err := diff.Parse(strings.NewReader(text), c.options...); return err },
				"Parse of a pipe": func() error {
					_, err := diff.Parse(iotest.OneByteReader(strings.NewReader(text)), c.options...)
					return err
				},
				"Next of memory": func() error { _, err := stream(strings.NewReader(text), c.options...); return err },
				"Next of one byte": func() error {
					_, err := stream(iotest.OneByteReader(strings.NewReader(text)), c.options...)
					return err
				},
			} {
				err := parse()
				var got *diff.LimitError
				if errors.As(err, &got); !cmp.Equal(c.want, got) || (err != nil) != (c.want != nil) {
					t.Errorf("%s: %v, want %v", name, err, c.want)
				}
			}
		})
	}
	t.Run("endless", func(t *testing.T) {
		t.Parallel()
		for name, parse := range map[string]func(src io.Reader) error{
			"Parse": func(src io.Reader) error { _, err := diff.Parse(src, diff.MaxBytes(1<<20)); return err },
			"Next":  func(src io.Reader) error { _, err := stream(src, diff.MaxLine(1<<20)); return err },
		} {
			src := &endless{}
			var got *diff.LimitError
			if err := parse(src); !errors.As(err, &got) {
				t.Errorf("%s: %v", name, err)
			}
			if src.read > 2<<20 {
				t.Errorf("%s: read %d bytes with a limit of %d", name, src.read, 1<<20)
			}
			if name == "Parse" && src.read != 1<<20+1 {
				t.Errorf("%s: read %d bytes, the last one that fits is number %d", name, src.read, 1<<20)
			}
		}
	})
	t.Run("header", func(t *testing.T) {
		t.Parallel()
		text := named(longest)
		first := strings.IndexByte(text, '\n')
		if _, err := diff.ParseString(text, diff.MaxLine(first)); err != nil {
			t.Errorf("the longest line fits: %v", err)
		}
		_, err := diff.ParseString(text, diff.MaxLine(first-1))
		if want := fmt.Sprintf("reading diff: line 1: line is over the limit of %d bytes", first-1); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	})
	t.Run("default", func(t *testing.T) {
		t.Parallel()
		blank := strings.Repeat(" ", diff.DefaultMaxBytes+1)
		if _, err := diff.ParseString(blank[1:]); err != nil {
			t.Errorf("the longest text: %v", err)
		}
		_, err := diff.ParseString(blank)
		if want := "reading diff: diff is over the limit of 67108864 bytes"; err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
		row := func(n int) string { return modified + "@@ -1 +1 @@\n-a\n+" + blank[:n-1] + "\n" }
		if _, err := diff.ParseString(row(diff.DefaultMaxLine)); err != nil {
			t.Errorf("the longest line: %v", err)
		}
		_, err = diff.ParseString(row(diff.DefaultMaxLine + 1))
		if want := "reading diff: line 7: line is over the limit of 16777216 bytes"; err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	})
}

// TestLongSection reads a long section byte by byte, which is only feasible when no byte is looked at or moved every time.
func TestLongSection(t *testing.T) {
	t.Parallel()
	text := modified + "@@ -0,0 +1,100000 @@\n" + strings.Repeat("+row\n", 100_000)
	files, err := stream(iotest.OneByteReader(strings.NewReader(text)))
	if err != nil || len(files) != 1 || files[0].Raw != text {
		t.Errorf("%d files, %v", len(files), err)
	}
}

// TestOpenLine reads a line that never ends in pieces of every size. The piece that brings it over the limit is the last
// one that is read, and a line that is as long as the limit is not over it.
func TestOpenLine(t *testing.T) {
	t.Parallel()
	const limit = 60
	head := modified + "@@ -1 +1 @@\n-a\n"
	for size := 1; size <= len(head)+limit; size++ {
		fits := head + "+" + strings.Repeat("x", limit-1)
		if _, err := stream(&pieces{text: fits + "\n", size: size}, diff.MaxLine(limit)); err != nil {
			t.Errorf("pieces of %d: %v", size, err)
		}
		src := &pieces{text: fits + strings.Repeat("x", 1000), size: size}
		_, err := stream(src, diff.MaxLine(limit))
		var got *diff.LimitError
		if want := (&diff.LimitError{Line: 7, What: "line", Limit: limit}); !errors.As(err, &got) || *got != *want {
			t.Errorf("pieces of %d: %v, want %v", size, err, want)
		}
		if read := len(fits) + 1000 - len(src.text); read <= len(fits) || read > len(fits)+size {
			t.Errorf("pieces of %d: %d bytes read, %d fit", size, read, len(fits))
		}
	}
	_, err := stream(iotest.OneByteReader(strings.NewReader("\n\n"+strings.Repeat("x", limit+1))), diff.MaxLine(limit))
	if want := "reading diff: line 3: line is over the limit of 60 bytes"; err == nil || err.Error() != want {
		t.Errorf("behind blank lines: %v, want %s", err, want)
	}
}

// endless is one line without an end.
type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	e.read += len(p)
	return len(p), nil
}
