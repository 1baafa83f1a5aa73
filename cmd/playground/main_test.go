package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestEveryChangeGetsItsDecision(t *testing.T) {
	var out, errs bytes.Buffer
	if code := run(context.Background(), nil, &out, &errs); code != 0 {
		t.Fatalf("exit %d\n%s%s", code, out.String(), errs.String())
	}
	for _, c := range changes() {
		if !strings.Contains(out.String(), c.branch) {
			t.Errorf("%s is not in the table:\n%s", c.branch, out.String())
		}
	}
}

// A decision that is not the documented one is seen: the table says so and the run fails.
func TestAWrongDecisionIsSeen(t *testing.T) {
	list := changes()
	for i := range list {
		if list[i].branch == "honest-fix" { // break one rule on purpose: the fix now comes with a conflict
			list[i].commits[0].write["refund/refund.go"] += "<<<<<<< HEAD\n=======\n>>>>>>> other\n"
		}
	}
	sample, err := makeSample(context.Background(), t.TempDir(), list)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	wrong, err := judgeAll(context.Background(), sample, list, &out)
	if err != nil || wrong != 1 || !strings.Contains(out.String(), "expected ADVANCE (unanimous)") {
		t.Errorf("wrong = %d, %v\n%s", wrong, err, out.String())
	}
}

func TestKeepRefusesAFullDirectory(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mine"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	var errs bytes.Buffer
	if code := run(context.Background(), []string{"-keep", dir}, io.Discard, &errs); code == 0 || !strings.Contains(errs.String(), "not empty") {
		t.Errorf("exit %d: %s", code, errs.String())
	}
}

func TestInterruptedRunEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if code := run(ctx, nil, io.Discard, io.Discard); code == 0 {
		t.Error("an interrupted run says that all is well")
	}
}
