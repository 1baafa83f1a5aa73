package schemata

import (
	"bytes"
	"fmt"
	"go/scanner"
	"go/token"
	"sort"
	"strconv"
	"strings"
)

// site is a range of a source file that is rewritten. Sites nest and never overlap otherwise.
type site struct {
	lo, hi   int
	depth    int // of the syntax tree; of sites with the same range the shallower one is outside
	mutants  []*mutant
	render   func(inner func(lo, hi int) string) string
	children []*site
}

// nest makes a forest of sites, and returns its roots.
func nest(sites []*site) []*site {
	sort.SliceStable(sites, func(i, j int) bool {
		a, b := sites[i], sites[j]
		if a.lo != b.lo {
			return a.lo < b.lo
		}
		if a.hi != b.hi {
			return a.hi > b.hi
		}
		return a.depth < b.depth
	})
	var roots, stack []*site
	for _, s := range sites {
		s.children = nil
		for len(stack) > 0 && !within(stack[len(stack)-1], s) {
			stack = stack[:len(stack)-1]
		}
		if len(stack) == 0 {
			roots = append(roots, s)
		} else {
			top := stack[len(stack)-1]
			top.children = append(top.children, s)
		}
		if s.lo < s.hi {
			stack = append(stack, s)
		}
	}
	return roots
}

func within(outer, s *site) bool { return outer.lo <= s.lo && s.hi <= outer.hi }

// splice returns src[lo:hi] with the sites in it rendered.
func splice(src []byte, lo, hi int, sites []*site) string {
	var b strings.Builder
	at := lo
	for _, s := range sites {
		if s.lo < at || s.hi > hi {
			continue
		}
		b.Write(src[at:s.lo])
		b.WriteString(s.render(func(lo, hi int) string { return splice(src, lo, hi, s.children) }))
		at = s.hi
	}
	b.Write(src[at:hi])
	return b.String()
}

// newlines keeps the lines of a piece of source that is left out.
func newlines(src []byte) string { return strings.Repeat("\n", bytes.Count(src, []byte{'\n'})) }

// flatten writes Go source on one line. It returns false for what does not scan.
func flatten(src string) (string, bool) {
	fset := token.NewFileSet()
	f := fset.AddFile("", fset.Base(), len(src))
	var s scanner.Scanner
	bad := false
	s.Init(f, []byte(src), func(token.Position, string) { bad = true }, 0)
	var b strings.Builder
	for {
		_, tok, lit := s.Scan()
		if tok == token.EOF {
			break
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		switch {
		case tok == token.SEMICOLON:
			b.WriteByte(';')
		case tok == token.STRING && strings.Contains(lit, "\n"):
			text, err := strconv.Unquote(lit)
			if err != nil {
				return "", false
			}
			b.WriteString(strconv.Quote(text))
		case lit != "":
			b.WriteString(lit)
		default:
			b.WriteString(tok.String())
		}
	}
	return strings.TrimSuffix(strings.TrimSuffix(b.String(), ";"), " "), !bad
}

// runtimeName is how instrumented files call package switches.
const runtimeName = "zzhollow"

// header makes a rendered file of a package import the runtime and speak a version of the language with generics, without
// moving a line.
func header(f *file, body string, importPath string) string {
	src := f.src
	end := f.pkg.fset.Position(f.ast.Name.End()).Offset
	// The package clause stands before the first site, so its offset holds in the rendered text too.
	body = body[:end] + fmt.Sprintf("; import %s %s", runtimeName, strconv.Quote(importPath)) + body[end:]
	body += fmt.Sprintf("\nvar _ = %s.On\n", runtimeName)
	if !needsVersion(f.pkg.mod.version) || f.ast.GoVersion != "" && !needsVersion(strings.TrimPrefix(f.ast.GoVersion, "go")) {
		return body
	}
	if lo, hi, expr, ok := constraint(src); ok {
		return body[:lo] + "//go:build (" + expr + ") && go1.21" + body[hi:]
	}
	return "//go:build go1.21\n\n//line " + f.abs + ":1\n" + body
}

// constraint finds the //go:build line above the package clause.
func constraint(src []byte) (lo, hi int, expr string, ok bool) {
	for lo < len(src) {
		hi = lo + bytes.IndexByte(src[lo:], '\n')
		if hi < lo {
			hi = len(src)
		}
		line := strings.TrimRight(string(src[lo:hi]), "\r ")
		if strings.HasPrefix(line, "package ") {
			return 0, 0, "", false
		}
		if rest, found := strings.CutPrefix(line, "//go:build "); found {
			return lo, hi, strings.TrimSpace(rest), true
		}
		lo = hi + 1
	}
	return 0, 0, "", false
}

// needsVersion reports whether a language version is too old for the generic functions of package switches.
func needsVersion(v string) bool {
	if v == "" {
		return true // modules without a version speak go1.16
	}
	parts := strings.SplitN(v, ".", 3)
	if len(parts) < 2 || parts[0] != "1" {
		return false
	}
	minor, err := strconv.Atoi(parts[1])
	return err == nil && minor < 21
}
