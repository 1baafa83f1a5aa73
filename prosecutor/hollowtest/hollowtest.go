// Package hollowtest is diff-scoped mutation testing: it changes the code of the changed lines a little and asks whether
// the tests notice. Tests that do not notice are hollow.
//
// This file's neighbours hold the pure decisions (semantics 5): which files are mutated (Targets), which lines
// (ChangedLines), what one trial shows (Trial.Status), and which evidence a whole run becomes (Decide). They do no I/O.
package hollowtest
