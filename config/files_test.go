package config

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

var update = flag.Bool("update", false, "write what is reported now into testdata and docs; read the difference before it is committed")

// compiled returns a schema as a validator.
func compiled(t testing.TB, schema []byte) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := compiler.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// schemaVerdict is what a schema says about a file: accepts, rejects, or nothing, where it is no plain YAML document.
func schemaVerdict(s *jsonschema.Schema, data []byte) string {
	var doc any
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return "nothing"
	}
	if s.Validate(doc) != nil {
		return "rejects"
	}
	return "accepts"
}

// archived is one file of a testdata archive, where each begins with a line "-- NAME --".
type archived struct{ name, text string }

func readArchive(t testing.TB, path string) (about string, files []archived) {
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		name, begins := strings.CutPrefix(line, "-- ")
		name, ends := strings.CutSuffix(name, " --\n")
		switch {
		case begins && ends:
			files = append(files, archived{name: name})
		case files == nil:
			about += line
		default:
			files[len(files)-1].text += line
		}
	}
	return about, files
}

// runFiles parses every file of a testdata archive and compares what is reported with the archive.
func runFiles(t *testing.T, archive string, schema []byte, parse func(name string, data []byte) error) {
	path := filepath.Join("testdata", archive)
	about, files := readArchive(t, path)
	validator := compiled(t, schema)
	for i := 0; i+1 < len(files); i += 2 {
		file, want := files[i], &files[i+1]
		name := strings.TrimSuffix(file.name, ".yml")
		if want.name != name+".want" {
			t.Fatalf("%s: %s is not followed by its want", path, file.name)
		}
		t.Run(name, func(t *testing.T) {
			verdict := schemaVerdict(validator, []byte(file.text))
			lines := []string{"schema: " + verdict, "ok"}
			if err := parse(file.name, []byte(file.text)); err != nil {
				var problems Problems
				if !errors.As(err, &problems) || len(problems) == 0 {
					t.Fatalf("the error is %T, not Problems: %v", err, err)
				}
				lines = append(lines[:1], strings.Split(err.Error(), "\n")...)
			} else if verdict != "accepts" {
				t.Errorf("the parser accepts the file and the schema says: %s", verdict)
			}
			got := strings.Join(lines, "\n") + "\n"
			if *update {
				want.text = got
			}
			if diff := cmp.Diff(want.text, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	if *update {
		var b strings.Builder
		b.WriteString(about)
		for _, f := range files {
			b.WriteString("-- " + f.name + " --\n" + f.text)
		}
		if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestPolicyFiles(t *testing.T) {
	runFiles(t, "policies.txtar", PolicySchema(), func(name string, data []byte) error {
		p, err := ParsePolicy(name, data)
		if (p == nil) != (err != nil) {
			t.Errorf("%s: policy %v beside error %v", name, p, err)
		}
		return err
	})
}

func TestServerFiles(t *testing.T) {
	runFiles(t, "servers.txtar", ServerSchema(), func(name string, data []byte) error {
		s, err := ParseServer(name, data)
		if (s == nil) != (err != nil) {
			t.Errorf("%s: server file %v beside error %v", name, s, err)
		}
		return err
	})
}
