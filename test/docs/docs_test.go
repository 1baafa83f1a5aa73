// Package docs_test holds the documents to what they speak of: files, headings, metrics, and what the image is built from.
package docs_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/prosecutor-bot/prosecutor/app"
	"github.com/prosecutor-bot/prosecutor/app/ghclient"
	"github.com/prosecutor-bot/prosecutor/app/store"
	"github.com/prosecutor-bot/prosecutor/prosecutor/judge"
	"github.com/prosecutor-bot/prosecutor/prosecutor/judge/static"
)

// root is the repository.
const root = "../.."

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// documents are the README and the documents in docs.
func documents(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil || len(found) == 0 {
		t.Fatalf("no documents: %v", err)
	}
	names := []string{"README.md"}
	for _, f := range found {
		names = append(names, "docs/"+filepath.Base(f))
	}
	return names
}

var (
	fenced = regexp.MustCompile("(?ms)^ *(`{3,}|~{3,}).*?^ *(`{3,}|~{3,})[ \t]*$")

	link = regexp.MustCompile(`\]\(([^()\s]+)\)`)
)

// anchors are the fragments that GitHub makes of headings.
func anchors(text string) map[string]bool {
	out := map[string]bool{}
	for line := range strings.Lines(fenced.ReplaceAllString(text, "")) {
		heading, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " ")
		if !ok || !strings.HasPrefix(line, "#") {
			continue
		}
		out[strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, strings.TrimSpace(heading))] = true
	}
	return out
}

func TestLinksLeadSomewhere(t *testing.T) {
	links := 0
	for _, name := range documents(t) {
		text := read(t, name)
		// The text of a link may be code; its target is not.
		for _, m := range link.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
			u, err := url.Parse(m[1])
			if err != nil {
				t.Errorf("%s: %q is no link: %v", name, m[1], err)
				continue
			}
			if u.IsAbs() {
				continue
			}
			links++
			target := name
			if u.Path != "" {
				target = path.Join(path.Dir(name), u.Path)
			}
			if _, err := os.Stat(filepath.Join(root, target)); err != nil {
				t.Errorf("%s links to %s, which is not there", name, m[1])
				continue
			}
			if u.Fragment != "" && strings.HasSuffix(target, ".md") && !anchors(read(t, target))[u.Fragment] {
				t.Errorf("%s links to %s, and %s has no such heading", name, m[1], target)
			}
		}
	}
	if links == 0 {
		t.Error("no link was found")
	}
}

// Paths of a machine mean nothing to a reader.
func TestDocumentsNameNoPathOfAMachine(t *testing.T) {
	here, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range documents(t) {
		text := read(t, name)
		for _, word := range []string{here + "/", "/home/", "/root/", "/Users/", "/tmp/", "/work/"} {
			for at := range strings.SplitSeq(text, "\n") {
				i := strings.Index(at, word)
				// Part of a longer path or of a URL it is nobody's.
				if i >= 0 && (i == 0 || !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789*._-/", rune(at[i-1]))) {
					t.Errorf("%s names %s: %s", name, word, at)
				}
			}
		}
	}
}

// names is a registry that takes down what is registered, with or without values.
type names struct {
	mu   sync.Mutex
	list map[string]bool
}

var described = regexp.MustCompile(`fqName: "([^"]+)"`)

// Register implements prometheus.Registerer.
func (n *names) Register(c prometheus.Collector) error {
	ch := make(chan *prometheus.Desc)
	go func() {
		defer close(ch)
		c.Describe(ch)
	}()
	n.mu.Lock()
	defer n.mu.Unlock()
	for d := range ch {
		m := described.FindStringSubmatch(d.String())
		if m == nil {
			return errors.New("a metric without a name: " + d.String())
		}
		n.list[m[1]] = true
	}
	return nil
}

// MustRegister implements prometheus.Registerer.
func (n *names) MustRegister(cs ...prometheus.Collector) {
	for _, c := range cs {
		if err := n.Register(c); err != nil {
			panic(err)
		}
	}
}

// Unregister implements prometheus.Registerer.
func (n *names) Unregister(prometheus.Collector) bool { return false }

// exported are the names of the metrics that an App registers.
func exported(t *testing.T) map[string]bool {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	registry := &names{list: map[string]bool{}}
	clients, err := ghclient.New(ghclient.Options{
		AppID: 1, Registry: registry,
		PrivateKey: pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(clients.Close)
	st, err := store.Open(context.Background(), filepath.Join(t.TempDir(), "prosecutor.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	_, err = app.New(context.Background(), app.Options{
		Store: st, Clients: clients, Judges: []judge.Judge{static.New()}, AppID: 1, Slug: "prosecutor",
		Secrets: [][]byte{bytes.Repeat([]byte("s"), 32)}, Registry: registry,
	})
	if err != nil {
		t.Fatal(err)
	}
	return registry.list
}

var metric = regexp.MustCompile(`\bprosecutor_[a-z][a-z0-9_]*`)

func TestTheMetricsOfTheDocumentsAreThoseOfTheApp(t *testing.T) {
	want := exported(t)
	// What is named in the code is meant to be exported, wherever it is registered.
	for _, dir := range []string{"app", "cmd/prosecutor", "prosecutor", "convergence"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(file string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
				return err
			}
			data, err := os.ReadFile(file)
			for _, m := range regexp.MustCompile(`Name: *"(prosecutor_[a-z0-9_]+)"|NewDesc\("(prosecutor_[a-z0-9_]+)"`).FindAllSubmatch(data, -1) {
				want[string(m[1])+string(m[2])] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(want) < 10 {
		t.Fatalf("the App registers only %v", slices.Sorted(maps.Keys(want)))
	}
	got := map[string]bool{}
	for _, name := range metric.FindAllString(read(t, "docs/operations.md"), -1) {
		got[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if !got[name] {
			t.Errorf("docs/operations.md does not explain %s", name)
		}
	}
	for _, name := range documents(t) {
		for _, m := range metric.FindAllString(read(t, name), -1) {
			if strings.HasSuffix(m, "_db") {
				continue
			}
			if !want[m] {
				t.Errorf("%s names %s, which nothing exports", name, m)
			}
		}
	}
}

// The image is built from what the Dockerfile copies, and .dockerignore lets through.
func TestTheImageHasItsSources(t *testing.T) {
	let := map[string]bool{}
	for line := range strings.Lines(read(t, ".dockerignore")) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "!"); ok {
			let[name] = true
		}
	}
	copied := 0
	lines := bufio.NewScanner(strings.NewReader(read(t, "Dockerfile")))
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 3 || fields[0] != "COPY" || strings.HasPrefix(fields[1], "--from=") {
			continue
		}
		for _, source := range fields[1 : len(fields)-1] {
			copied++
			if _, err := os.Stat(filepath.Join(root, source)); err != nil {
				t.Errorf("the Dockerfile copies %s, which is not there", source)
			}
			if !let[strings.SplitN(source, "/", 2)[0]] {
				t.Errorf("the Dockerfile copies %s, which .dockerignore keeps back", source)
			}
		}
	}
	if copied == 0 {
		t.Error("the Dockerfile copies nothing")
	}
	const module = "github.com/prosecutor-bot/prosecutor/"
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", module+"cmd/prosecutor").Output()
	if err != nil {
		t.Fatalf("listing what the program is made of: %v", err)
	}
	for pkg := range strings.FieldsSeq(string(out)) {
		if rest, ok := strings.CutPrefix(pkg, module); ok && !let[strings.SplitN(rest, "/", 2)[0]] {
			t.Errorf("the program needs %s, which is not in the image's sources", rest)
		}
	}
}
