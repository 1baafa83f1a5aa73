package config

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	referenceBegin = "<!-- reference: begin; written by go test ./config -update -->\n"
	referenceEnd   = "<!-- reference: end -->\n"
)

func readDoc(t *testing.T, name string) (path, text string) {
	t.Helper()
	path = filepath.Join("..", "docs", name)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return path, string(data)
}

func TestReferencesAreThoseOfTheTypes(t *testing.T) {
	for name, root := range map[string]*shape{"policy.md": policyShape(), "server-config.md": serverShape()} {
		path, text := readDoc(t, name)
		before, rest, ok := strings.Cut(text, referenceBegin)
		_, after, ok2 := strings.Cut(rest, referenceEnd)
		if !ok || !ok2 {
			t.Fatalf("%s has no place for the reference", name)
		}
		want := before + referenceBegin + reference(root) + referenceEnd + after
		if *update {
			if err := os.WriteFile(path, []byte(want), 0o600); err != nil {
				t.Fatal(err)
			}
		} else if text != want {
			t.Errorf("%s does not hold the reference of the types; run go test ./config -update", name)
		}
	}
}

// reference describes every key of a file: one table for the top level, and one for each section.
func reference(root *shape) string {
	var b strings.Builder
	tables(&b, root, "")
	if root == policyShape() {
		b.WriteString("\n### Default of blast_radius.source\n\nFiles with these extensions, anywhere:\n\n")
		var extensions []string
		for _, glob := range DefaultPolicy().BlastRadius.Source {
			extensions = append(extensions, "`"+strings.TrimPrefix(glob, "**/*.")+"`")
		}
		for line := range slices.Chunk(extensions, 12) {
			b.WriteString(strings.Join(line, " ") + "\n")
		}
		b.WriteString("\nProse, data and configuration are not among them: the size of such a change says little about what it can break.\n")
	}
	b.WriteString("\n")
	return b.String()
}

// tables writes the table of a section and those of the sections in it.
func tables(b *strings.Builder, s *shape, path string) {
	title := "Top level"
	if path != "" {
		title = path
	}
	fmt.Fprintf(b, "\n### %s\n\n| key | default | allowed | meaning |\n|---|---|---|---|\n", title)
	type nested struct {
		path  string
		shape *shape
	}
	var sections []nested
	for _, f := range s.fields {
		meaning, fallback := splitComment(comments().fields[f.owner+"."+f.goName])
		full, allowed := join(path, f.name), f.shape.allowed()
		if path != "" && strings.HasSuffix(path, "[]") {
			full = path + "." + f.name
		}
		switch {
		case f.shape.kind == kindSection:
			allowed, fallback = "keys, see below", orNone(fallback)
			sections = append(sections, nested{full, f.shape})
		case f.shape.kind == kindList && f.shape.elem.kind == kindSection:
			allowed = "a list, see below"
			sections = append(sections, nested{full + "[]", f.shape.elem})
		case f.shape.kind == kindChoice:
			var keys []string
			for _, key := range f.shape.fields {
				keys = append(keys, key.name+": "+key.shape.allowed())
			}
			allowed = strings.Join(keys, "; ")
		}
		allowed, _, _ = strings.Cut(allowed, ", as in ") // explained above the tables
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", full, cell(fallback), cell(allowed), cell(meaning))
	}
	for _, section := range sections {
		tables(b, section.shape, section.path)
	}
}

var lastSentence = regexp.MustCompile(`^(.*?) ?(?:Default:? ([^;]*?)|(Required)); ?.*\.$|^(.*?) ?(?:Default:? (.*)|(Required))\.$`)

// splitComment takes what a comment says about the default from its end. The bounds are in the shape.
func splitComment(comment string) (meaning, fallback string) {
	m := lastSentence.FindStringSubmatch(comment)
	if m == nil {
		return comment, ""
	}
	return m[1] + m[4], strings.ToLower(m[3]+m[6]) + m[2] + m[5]
}

func orNone(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// cell escapes a text for a table.
func cell(s string) string {
	return strings.NewReplacer("|", `\|`, "*", `\*`, "<", "&lt;").Replace(s)
}

var fence = regexp.MustCompile("(?ms)^```([a-z ]+)\n(.*?)^```$")

func TestExamplesInTheDocsHold(t *testing.T) {
	for name, check := range map[string]func(text string) error{
		"policy.md":        func(text string) error { _, err := ParsePolicy(PolicyPath, []byte(text)); return err },
		"server-config.md": func(text string) error { _, err := ParseServer("prosecutor-server.yml", []byte(text)); return err },
	} {
		_, text := readDoc(t, name)
		valid := 0
		reported := ""
		for _, block := range fence.FindAllStringSubmatch(text, -1) {
			switch err := check(block[2]); block[1] {
			case "yaml":
				if err != nil {
					t.Errorf("%s: an example is not valid: %v", name, err)
				}
				valid++
			case "yaml wrong":
				if err == nil {
					t.Errorf("%s: an example of a wrong file is valid:\n%s", name, block[2])
					continue
				}
				reported = err.Error() + "\n"
			case "text":
				if block[2] != reported {
					t.Errorf("%s: the wrong example is reported as\n%s", name, reported)
				}
			}
		}
		if valid == 0 {
			t.Errorf("%s has no example", name)
		}
	}
}

func TestTheHashInTheDocsIsThatOfTheDefaults(t *testing.T) {
	if _, text := readDoc(t, "policy.md"); !strings.Contains(text, "ok (hash "+DefaultPolicy().Hash()+")") {
		t.Errorf("docs/policy.md shows another hash than %s", DefaultPolicy().Hash())
	}
}

// TestTheFullExamplesHaveEveryKey looks for each key at the start of a line, or after a brace or comma.
func TestTheFullExamplesHaveEveryKey(t *testing.T) {
	for name, root := range map[string]*shape{"policy.md": policyShape(), "server-config.md": serverShape()} {
		_, text := readDoc(t, name)
		longest := ""
		for _, block := range fence.FindAllStringSubmatch(text, -1) {
			if block[1] == "yaml" && len(block[2]) > len(longest) {
				longest = block[2]
			}
		}
		var walk func(s *shape)
		walk = func(s *shape) {
			for _, f := range s.fields {
				if !regexp.MustCompile(`(?m)(^[ -]*|[{,] ?)` + f.name + `:`).MatchString(longest) {
					t.Errorf("%s: the full example has no %s", name, f.name)
				}
				walk(f.shape)
				if f.shape.elem != nil {
					walk(f.shape.elem)
				}
			}
		}
		walk(root)
	}
}

// TestTheAdapterTableOfTheDocs compares docs/server-config.md with what is checked.
func TestTheAdapterTableOfTheDocs(t *testing.T) {
	_, text := readDoc(t, "server-config.md")
	for adapter, keys := range adapterKeys {
		i := strings.Index(text, "| `"+adapter+"` |")
		if i < 0 {
			t.Errorf("the adapter %s is not in the table", adapter)
			continue
		}
		row, _, _ := strings.Cut(text[i:], "\n")
		for _, key := range slices.Concat(keys.needs, keys.refuses) {
			if adapter != AdapterStatic && !strings.Contains(row, "`"+key+"`") {
				t.Errorf("the row of %s does not name %s", adapter, key)
			}
		}
	}
	if refused := len(adapterKeys[AdapterStatic].refuses); refused != len(serverShape().field("judges").shape.elem.fields)-2 {
		t.Errorf("static refuses %d keys, which is not all but name and adapter", refused)
	}
}
