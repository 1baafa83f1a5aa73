package schemata_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest/sandbox"
)

// TestInTheSandbox holds the engine to the same verdicts in bubblewrap as without.
func TestInTheSandbox(t *testing.T) {
	scratch, err := os.MkdirTemp("", "hollow-sandbox-")
	if err != nil {
		t.Fatal(err)
	}
	if scratch, err = filepath.EvalSymlinks(scratch); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(scratch); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(scratch, 0o755); err != nil {
		t.Fatal(err)
	}
	box, err := sandbox.New(context.Background(), sandbox.Options{Scratch: scratch})
	var none *sandbox.UnavailableError
	if errors.As(err, &none) && os.Getenv("PROSECUTOR_TEST_NO_SANDBOX") == "1" {
		t.Skipf("not checked: that the engine works in the sandbox: %v", err)
	}
	if err != nil {
		t.Fatalf("%v (PROSECUTOR_TEST_NO_SANDBOX=1 leaves this out)", err)
	}
	tree := filepath.Join(scratch, "tree")
	if err := os.CopyFS(tree, os.DirFS(filepath.Join("..", "..", "..", "test", "hollow", "p"))); err != nil {
		t.Fatal(err)
	}
	req := request(tree, allLines(t, tree, "p.go"))
	req.Exec, req.Scratch = box, filepath.Join(scratch, "work")
	if err := os.Mkdir(req.Scratch, 0o755); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(verdicts(t, fixtureReport(t, "p")), verdicts(t, measure(t, req))); d != "" {
		t.Error(d)
	}
}
