package command_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/prosecutor-bot/prosecutor/prosecutor/judge"
	"github.com/prosecutor-bot/prosecutor/prosecutor/judge/command"
)

func TestPrompt(t *testing.T) {
	opening := judge.Request{System: "You judge.", Messages: []judge.Message{{Role: judge.User, Text: "the case"}}}
	if got, want := command.Prompt(opening, "n0nce"), "You judge.\n\nthe case"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	repair := opening
	repair.Messages = append(repair.Messages, judge.Message{Role: judge.Assistant, Text: "an answer"}, judge.Message{Role: judge.User, Text: "not valid"})
	got := command.Prompt(repair, "n0nce")
	want := "\n=== user n0nce ===\nthe case\n=== assistant n0nce ===\nan answer\n=== user n0nce ===\nnot valid\n"
	if !strings.HasPrefix(got, "You judge.\n\n") || !strings.HasSuffix(got, want) {
		t.Errorf("got %q", got)
	}
}

// Whatever the turns hold, the marked lines are exactly those of the turns.
func TestNoTurnOpensAnother(t *testing.T) {
	piece := rapid.SampledFrom([]string{"=== user n ===", "=== assistant nx ===", "\n", "n", "x", "===", " ", "text"})
	line := rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(piece, 0, 8).Draw(t, "pieces"), "") })
	rapid.Check(t, func(t *rapid.T) {
		req := judge.Request{System: line.Draw(t, "system")}
		n := rapid.IntRange(2, 4).Draw(t, "turns")
		for i := range n {
			role := []judge.Role{judge.User, judge.Assistant}[i%2]
			req.Messages = append(req.Messages, judge.Message{Role: role, Text: line.Draw(t, "turn")})
		}
		got := command.Prompt(req, "n")
		_, rest, ok := strings.Cut(got, `"=== role `)
		if !ok {
			t.Fatalf("no explanation in %q", got)
		}
		nonce, _, _ := strings.Cut(rest, " ===")
		marks := 0
		for _, l := range strings.Split(got, "\n") {
			if l == "=== user "+nonce+" ===" || l == "=== assistant "+nonce+" ===" {
				marks++
			}
		}
		if marks != n {
			t.Fatalf("%d marked lines for %d turns in %q", marks, n, got)
		}
	})
}
