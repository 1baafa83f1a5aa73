package config

import "strings"

// nearest returns the candidate that a person most likely meant by s, or "" if none is near: the same letters in another
// case or with other separators, or few single-letter edits away. Of equally near ones the first wins.
func nearest(s string, candidates []string) string {
	if len(s) > 64 {
		return ""
	}
	plain := strings.NewReplacer("-", "", "_", "", " ", "", ".", "")
	fold := func(s string) string { return strings.ToLower(plain.Replace(s)) }
	best, bestDistance := "", 0
	for _, c := range candidates {
		d := distance(fold(s), fold(c))
		// Two edits in a short word make any word of any other; a third of its length is still the same word.
		if d > max(1, len(c)/3) || d >= len(c) {
			continue
		}
		if best == "" || d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}

// distance is the number of insertions, deletions, replacements and swaps of neighbours that turn a into b (optimal
// string alignment).
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	before, last, row := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(x); i++ {
		row[0] = i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(y)]
}
