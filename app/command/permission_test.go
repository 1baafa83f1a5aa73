package command

import (
	"testing"

	"github.com/prosecutor-bot/prosecutor/convergence"
	"github.com/prosecutor-bot/prosecutor/prosecutor"
)

func TestDecide(t *testing.T) {
	const (
		allowed = "allowed"
		told    = "refused with a reply"
		refused = "refused"
		ignored = "ignored"
	)
	word := func(v Verdict) string {
		switch {
		case v.Ignored:
			return ignored
		case v.Allowed:
			return allowed
		case v.Why != "":
			return told
		default:
			return refused
		}
	}
	write, read := Facts{Permission: convergence.PermissionWrite}, Facts{Permission: convergence.PermissionRead}
	author := Facts{Permission: convergence.PermissionRead, IsAuthor: true}
	writer := Facts{Permission: convergence.PermissionWrite, IsAuthor: true}
	with := func(f Facts, change func(*Facts)) Facts { change(&f); return f }
	run, lens, dry := Command{Kind: Run}, Command{Kind: Run, Lens: prosecutor.Security}, Command{Kind: Run, Dry: 2}
	dismiss, override := Command{Kind: Dismiss}, Command{Kind: Override}
	tests := []struct {
		name string
		c    Command
		f    Facts
		want string
	}{
		{"write runs", run, write, allowed},
		{"admin runs", run, Facts{Permission: convergence.PermissionAdmin}, allowed},
		{"maintain runs", lens, Facts{Permission: convergence.PermissionMaintain}, allowed},
		{"triage does not run", run, Facts{Permission: convergence.PermissionTriage}, refused},
		{"a stranger does not run", run, read, refused},
		{"nobody knows", run, Facts{}, refused},
		{"write runs a lens", lens, write, allowed},
		{"write asks for more", dry, write, allowed},
		{"the author runs", run, author, allowed},
		{"the author runs a third time", run, with(author, func(f *Facts) { f.PlainRuns = 2 }), allowed},
		{"and not a fourth", run, with(author, func(f *Facts) { f.PlainRuns = 3 }), told},
		{"with write access there is no cap", run, with(writer, func(f *Facts) { f.PlainRuns = 9 }), allowed},
		{"the author gets no options", lens, author, told},
		{"nor more passes", dry, author, told},
		{"a bot is ignored", run, with(write, func(f *Facts) { f.IsBot = true }), ignored},
		{"write dismisses", dismiss, write, allowed},
		{"read does not dismiss", dismiss, read, refused},
		{"the author does not dismiss", dismiss, writer, told},
		{"unless the policy says so", dismiss, with(writer, func(f *Facts) { f.DismissAuthor = true }), allowed},
		{"which still needs write access", dismiss, with(author, func(f *Facts) { f.DismissAuthor = true }), told},
		{"write overrides", override, write, allowed},
		{"the author never does", override, with(writer, func(f *Facts) { f.DismissAuthor = true }), told},
		{"read does not override", override, read, refused},
		{"help for the author", Command{Kind: Help}, author, allowed},
		{"no help for strangers", Command{Kind: Help}, read, refused},
		{"explain for write", Command{Kind: Explain}, write, allowed},
		{"an unknown kind", Command{Kind: "merge"}, Facts{Permission: convergence.PermissionAdmin}, refused},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := word(Decide(tt.c, tt.f)); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestPermissionOf(t *testing.T) {
	for _, tt := range []struct {
		permission, role string
		want             convergence.Permission
	}{
		{"admin", "admin", convergence.PermissionAdmin},
		{"write", "maintain", convergence.PermissionMaintain},
		{"write", "write", convergence.PermissionWrite},
		{"write", "release-captain", convergence.PermissionWrite},
		{"read", "triage", convergence.PermissionTriage},
		{"read", "admin", convergence.PermissionRead}, // a custom role may have any name
		{"read", "write", convergence.PermissionRead},
		{"none", "", convergence.PermissionNone},
		{"", "admin", convergence.PermissionNone},
		{"owner", "owner", convergence.PermissionNone},
	} {
		if got := PermissionOf(tt.permission, tt.role); got != tt.want {
			t.Errorf("PermissionOf(%q, %q) = %s, want %s", tt.permission, tt.role, got, tt.want)
		}
	}
}

// What a request says to the gate: write access reopens, an author's own re-run judges again and reopens nothing.
func TestRequestForTheGate(t *testing.T) {
	writer := Request{Command: Command{Kind: Run}, By: "ann", Permission: convergence.PermissionMaintain}
	if writer.Event() != convergence.EventProsecute || !writer.Sender().MayReopen() {
		t.Errorf("a writer: %s by %+v", writer.Event(), writer.Sender())
	}
	author := Request{Command: Command{Kind: Run}, By: "bob", Permission: convergence.PermissionRead, IsAuthor: true}
	if author.Event() != convergence.EventRerun || author.Sender().MayReopen() || author.Sender().Permission != "" {
		t.Errorf("an author: %s by %+v", author.Event(), author.Sender())
	}
	if got := (Request{Command: Command{Kind: Dismiss}, Permission: convergence.PermissionWrite}).Event(); got != convergence.EventDismiss {
		t.Errorf("a dismissal: %s", got)
	}
}
