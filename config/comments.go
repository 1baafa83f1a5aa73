package config

import (
	"embed"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"sync"
)

// The comments of the types are their only description. They are read from the sources when a schema is asked for, and
// not before.
//
//go:embed policy.go server.go
var sources embed.FS

// commentsOf holds comments by type, and by type and field as in Policy.Enabled.
type commentsOf struct {
	types, fields map[string]string
}

var comments = sync.OnceValue(func() commentsOf {
	c := commentsOf{types: map[string]string{}, fields: map[string]string{}}
	for _, name := range []string{"policy.go", "server.go"} {
		source, err := sources.ReadFile(name)
		if err != nil {
			panic("config: " + err.Error()) // the file is part of the program
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, source, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			panic("config: " + err.Error()) // the file has been compiled
		}
		c.read(file)
	}
	return c
})

func (c commentsOf) read(file *ast.File) {
	for _, decl := range file.Decls {
		general, ok := decl.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range general.Specs {
			t, ok := spec.(*ast.TypeSpec)
			if !ok {
				continue
			}
			c.types[t.Name.Name] = comment(general.Doc)
			s, ok := t.Type.(*ast.StructType)
			if !ok {
				continue
			}
			for _, f := range s.Fields.List {
				for _, name := range f.Names {
					c.fields[t.Name.Name+"."+name.Name] = comment(f.Doc)
				}
			}
		}
	}
}

// comment returns a comment on one line.
func comment(group *ast.CommentGroup) string { return strings.Join(strings.Fields(group.Text()), " ") }
