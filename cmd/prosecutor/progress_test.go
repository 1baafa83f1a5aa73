package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/judge"
	"github.com/prosecutor-bot/prosecutor/prosecutor/panel"
)

func TestProgressKeepsOneLinePerLens(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(terminal{isTerminal: true, width: 80}, &out)
	hostile := judge.Info{ID: "judge\x1b[31m\nx"}
	p.Observe(panel.Event{Kind: panel.Waiting, Lens: prosecutor.Spec})
	p.Observe(panel.Event{Kind: panel.Started, Lens: prosecutor.Correctness, Judge: hostile})
	p.Observe(panel.Event{Kind: panel.Finished, Lens: prosecutor.Correctness, Judge: hostile, Verdict: prosecutor.Ship})
	frames := strings.Split(out.String(), "\x1b[2A")
	if last := frames[len(frames)-1]; !strings.Contains(last, "correctness") || strings.Index(last, "correctness") > strings.Index(last, "spec") {
		t.Errorf("last frame: %q", last)
	}
	if strings.Contains(out.String(), "\x1b[31m") {
		t.Errorf("an escape of a name reached the terminal: %q", out.String())
	}
	p.clear()
	if !strings.HasSuffix(out.String(), "\x1b[2A\x1b[J") {
		t.Errorf("the lines are not taken away: %q", out.String())
	}
}

func TestNoProgressInPipes(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(terminalOf(&out, func(string) string { return "" }), &out)
	p.Observe(panel.Event{Kind: panel.Started, Lens: prosecutor.Correctness})
	p.clear()
	if out.Len() > 0 {
		t.Errorf("wrote %q", out.String())
	}
}
