package main

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
)

func TestEveryPullRequestGetsItsDecision(t *testing.T) {
	var out, errs bytes.Buffer
	if code := run(context.Background(), []string{"--once"}, &out, &errs); code != 0 {
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
	var out bytes.Buffer
	err := play(context.Background(), options{once: true, listen: "127.0.0.1:0"}, list, &out)
	if err == nil || !strings.Contains(err.Error(), "1 of 8") || !strings.Contains(out.String(), "honest-fix: got LOOP_BACK") {
		t.Errorf("play = %v\n%s", err, out.String())
	}
}

func TestInterruptedRunEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if code := run(ctx, []string{"--once"}, io.Discard, io.Discard); code == 0 {
		t.Error("an interrupted run says that all is well")
	}
}

func TestFlagsThatMeanNothing(t *testing.T) {
	for _, args := range [][]string{{"--nope"}, {"extra"}, {"--config", "gone.yml"}} {
		if code := run(context.Background(), args, io.Discard, io.Discard); code == 0 {
			t.Errorf("%v is accepted", args)
		}
	}
}
