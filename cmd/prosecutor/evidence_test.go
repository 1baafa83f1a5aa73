package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/prosecutor-bot/prosecutor/app/record"
	"github.com/prosecutor-bot/prosecutor/app/store"
	"github.com/prosecutor-bot/prosecutor/test/apptest"
	"github.com/prosecutor-bot/prosecutor/test/githubtest"
	"github.com/prosecutor-bot/prosecutor/test/postgrestest"
)

// told is what a run of evidence came to.
type told struct {
	code           int
	stdout, stderr string
}

func runEvidence(stdin string, args ...string) told {
	var stdout, stderr bytes.Buffer
	root := newRootCommand()
	root.SetArgs(append([]string{"evidence"}, args...))
	root.SetIn(strings.NewReader(stdin))
	root.SetOut(&stdout)
	root.SetErr(&stderr)
	code := execute(context.Background(), root)
	return told{code, stdout.String(), stderr.String()}
}

// want fails unless a run came to an exit code and said this.
func (o told) want(t *testing.T, code int, stdout, stderr string) {
	t.Helper()
	if o.code != code || !strings.Contains(o.stdout, stdout) || !strings.Contains(o.stderr, stderr) || stderr == "" && o.stderr != "" {
		t.Errorf("exit code %d, want %d; stdout %q, want %q; stderr %q, want %q", o.code, code, o.stdout, stdout, o.stderr, stderr)
	}
}

// records makes a database with two chains, and returns how to open it.
func records(t *testing.T, database string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	err = s.InTx(t.Context(), func(tx *store.Tx) error {
		for i := range 5 {
			repo := int64(7 + i%2) // three in the first chain, two in the second
			_, err := tx.AppendRecord(t.Context(), record.Record{
				Kind: record.Decision, Repository: record.Repository{ID: repo}, Decision: "ADVANCE", Detail: "\x1b[2J", KeepDays: 1,
			})
			if err != nil {
				return err
			}
		}
		return tx.SeeRepository(t.Context(), store.Repository{ID: 7, Owner: "acme", Name: "pay\x1b[2J"})
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var headLine = regexp.MustCompile(`(?m)^  head (\d+:\d+:[0-9a-f]{64})$`)

// heads are the heads that verify has printed.
func heads(t *testing.T, stdout string) []string {
	t.Helper()
	var out []string
	for _, m := range headLine.FindAllStringSubmatch(stdout, -1) {
		out = append(out, m[1])
	}
	return out
}

func TestEvidenceIsExportedAndVerified(t *testing.T) {
	dir := t.TempDir()
	database := filepath.Join(dir, "prosecutor.db")
	s := records(t, database)
	file := filepath.Join(dir, "evidence.jsonl")
	runEvidence("", "export", "--database", database, "--output", file).want(t, 0, "", "records: 5, repositories: 2\n")
	whole := runEvidence("", "verify", file)
	whole.want(t, 0, "repository 7 (acme/pay\\x1b[2J): intact, records 1 to 3\n  head 7:3:", "")
	whole.want(t, 0, "repository 8: intact, records 1 to 2\n  head 8:2:", "")
	if again := runEvidence("", "verify", "--database", database); again != whole {
		t.Errorf("%+v of the database, %+v of its export", again, whole)
	}
	known := heads(t, whole.stdout)
	if len(known) != 2 {
		t.Fatalf("%q", known)
	}
	text, err := os.ReadFile(file)
	if err != nil || bytes.ContainsRune(text, '\x1b') {
		t.Errorf("%v: an escape sequence is in the export", err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	runEvidence(string(text), "verify", "-").want(t, 0, known[0], "")

	// One repository, by its number and by its name.
	runEvidence("", "verify", "--database", database, "--repository", "8").want(t, 0, "repository 8: intact", "")
	if one := runEvidence("", "export", "--database", database, "--repository", "acme/pay\x1b[2J"); strings.Count(one.stdout, "\n") != 7 || !strings.Contains(one.stdout, `"repository":{"id":7`) {
		t.Errorf("%+v", one)
	}
	runEvidence("", "verify", "--database", database, "--repository", "acme/other").want(t, 1, "", "knows no repository acme/other")
	for _, name := range []string{"acme", "/pay", "acme/", "acme/pay/x", "-7", "0"} {
		runEvidence("", "verify", "--database", database, "--repository="+name).want(t, 1, "", "neither OWNER/NAME nor the number")
	}
	runEvidence("", "verify", "--database", database, "--repository", "9").want(t, 1, "", "there are no records to verify")

	// Known heads.
	runEvidence("", "verify", file, "--head", known[0], "--head", known[1]).want(t, 0, "intact", "")
	later := strings.Replace(known[0], "7:3:", "7:4:", 1)
	runEvidence("", "verify", "--database", database, "--head", later).want(t, 2, "repository 7 (acme/pay\\x1b[2J): broken at record 4: it is missing", "prosecutor: the records are broken\n")
	runEvidence("", "verify", file, "--head", "9:1:"+strings.Repeat("0", 64)).want(t, 2, "repository 9: broken at record 1", "the records are broken")
	runEvidence("", "verify", file, "--head", "3").want(t, 1, "", `--head: "3" is no place in a chain`)

	// Pruned away behind a checkpoint.
	if _, err := s.PruneRecords(t.Context(), s.Now().AddDate(0, 0, 2)); err != nil {
		t.Fatal(err)
	}
	runEvidence("", "verify", "--database", database).want(t, 0, "repository 8: intact, no record, behind checkpoint 2\n  head "+known[1]+"\n", "")
	early := strings.Replace(known[0], "7:3:", "7:2:", 1)
	runEvidence("", "verify", "--database", database, "--head", early).want(t, 1, "could not be told: record 2, which is known, was pruned", "it could not be told whether all records are intact")
	runEvidence("", "verify", "--database", database, "--head", early, "--head", "9:1:"+known[0][4:]).want(t, 2, "could not be told", "the records are broken")

	// Broken, as a file and as a database.
	damaged := strings.Replace(string(text), "ADVANCE", "ESCALATE", 1)
	runEvidence(damaged, "verify", "-").want(t, 2, "broken at record 1: the record was altered", "prosecutor: the records are broken\n")
	runEvidence(string(text[:len(text)-2]), "verify", "-").want(t, 2, "the export: broken: line 11 cannot be read", "broken")
	for _, q := range []string{`DROP TRIGGER records_are_not_deleted`, `UPDATE record_chains SET sequence = 1 WHERE repo_id = 7`} {
		if _, err := s.DB().ExecContext(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	runEvidence("", "verify", "--database", database).want(t, 2, "broken at record 2: the head is record 1", "prosecutor: the records are broken\n")
}

func TestEvidenceThatCannotBeTold(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("DATABASE_URL", "")
	t.Setenv("PROSECUTOR_CONFIG", "")
	runEvidence("", "verify").want(t, 1, "", filepath.Join(dir, "prosecutor.db"))
	runEvidence("", "export").want(t, 1, "", "there is no file")
	runEvidence("", "verify", "gone.jsonl").want(t, 1, "", "the export: open gone.jsonl")
	runEvidence("# Readme\n", "verify", "-").want(t, 1, "", "-: this is no export of evidence records")
	runEvidence("", "verify", "a", "b").want(t, 1, "", "accepts at most 1 arg")
	runEvidence("", "export", "a").want(t, 1, "", "unknown command")
	for _, flag := range []string{"--database=x.db", "--config=x.yml", "--repository=7"} {
		runEvidence("", "verify", "x.jsonl", flag).want(t, 1, "", "either a file is verified, whole, or the database")
	}
	if err := os.WriteFile("server.yml", []byte("database:\n  file: named.db\n  url_env: MY_DATABASE\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	runEvidence("", "verify", "--config", "server.yml").want(t, 1, "", "named.db")
	runEvidence("", "verify", "--config", "gone.yml").want(t, 1, "", "gone.yml")
	records(t, "named.db")
	runEvidence("", "verify", "--config", "server.yml").want(t, 0, "repository 8: intact", "")
	t.Setenv("MY_DATABASE", "postgres://prosecutor:hunter2@127.0.0.1:1/x?connect_timeout=1")
	if o := runEvidence("", "verify", "--config", "server.yml"); o.code != 1 || !strings.Contains(o.stderr, "PostgreSQL does not answer") || strings.Contains(o.stderr, "hunter2") {
		t.Errorf("%+v", o)
	}
	runEvidence("", "export", "--database", "named.db", "--output", dir).want(t, 1, "", "--output: open ")
	runEvidence("").want(t, 0, "Available Commands", "")
}

// What the App has written verifies, while it goes on working, over either database.
func TestEvidenceOfTheApp(t *testing.T) {
	for name, database := range map[string]func(t *testing.T) string{
		"sqlite":   func(t *testing.T) string { return filepath.Join(t.TempDir(), "prosecutor.db") },
		"postgres": func(t *testing.T) string { return postgrestest.Start(t).Database(t) },
	} {
		t.Run(name, func(t *testing.T) {
			url := database(t)
			w := apptest.New(t, apptest.Options{Database: url})
			repo := w.GitHub.AddRepo("acme/pay", map[string]string{"README.md": "# pay\n"})
			repo.Commit("docs", "Say more", map[string]string{"README.md": "# pay\n\nRefunds.\n"})
			w.Settle()
			repo.OpenPR(githubtest.PR{Title: "Say more", Head: "docs"})
			w.Settle()
			t.Setenv("DATABASE_URL", url)
			o := runEvidence("", "export", "--repository", "acme/pay")
			o.want(t, 0, `"decision":"ADVANCE"`, "")
			runEvidence(o.stdout, "verify", "-").want(t, 0, fmt.Sprintf("repository %d (acme/pay): intact, records 1 to 1\n", repo.ID()), "")
			first := heads(t, runEvidence("", "verify").stdout)
			if len(first) != 1 {
				t.Fatalf("%q", first)
			}
			repo.Commit("docs", "Say it better", map[string]string{"README.md": "# pay\n\nRefunds, mostly.\n"})
			w.Settle()
			runEvidence("", "verify", "--head", first[0]).want(t, 0, "intact, records 1 to 2", "")
		})
	}
}
