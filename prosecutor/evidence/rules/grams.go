package rules

import "strings"

// grams says which sequences of three bytes may occur in a text: a Bloom filter of one hash. Most of what the rules look
// for is not in most files, and is ruled out here after one pass over the text, not after one pass for each needle.
type grams [1024]uint64

func gram(a, b, c byte) uint32 {
	return (uint32(a) | uint32(b)<<8 | uint32(c)<<16) * 0x9E3779B1 >> 16
}

func (g *grams) add(s string) {
	for i := 2; i < len(s); i++ {
		h := gram(s[i-2], s[i-1], s[i])
		g[h>>6] |= 1 << (h & 63)
	}
}

// may reports whether s may occur. Shorter than three bytes, it always may.
func (g *grams) may(s string) bool {
	for i := 2; i < len(s); i++ {
		h := gram(s[i-2], s[i-1], s[i])
		if g[h>>6]&(1<<(h&63)) == 0 {
			return false
		}
	}
	return true
}

// contains reports whether the file's section holds a needle.
func (f *file) contains(needle string) bool {
	if f.grams == nil {
		f.grams = new(grams)
		f.grams.add(f.Raw)
	}
	return f.grams.may(needle) && strings.Contains(f.Raw, needle)
}

func (f *file) containsAny(needles []string) bool {
	for _, n := range needles {
		if f.contains(n) {
			return true
		}
	}
	return false
}

// present returns the needles that the file's section holds.
func (f *file) present(needles []string) []string {
	var out []string
	for _, n := range needles {
		if f.contains(n) {
			out = append(out, n)
		}
	}
	return out
}
