package runner

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/evidence"
	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest"
	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest/process"
	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest/sandbox"
)

// Confinement says where tests may run.
type Confinement string

// The confinements.
const (
	Sandboxed Confinement = "sandbox" // in bubblewrap, or not at all
	Plain     Confinement = "none"    // with the rights of this process
)

// ConfinementOf is where the server's configuration has tests run. Whatever it does not name is the sandbox.
func ConfinementOf(c config.HollowTestServer) Confinement {
	if c.Sandbox == config.SandboxNone {
		return Plain
	}
	return Sandboxed
}

// Evidence measures a change and returns its evidence (semantics 5), with the report it comes from. Without a sandbox
// the evidence is unavailable and says why; nothing runs outside of one unless in says so. The report is nil when nothing
// was run. o.Exec and o.Fetch are not asked for: they follow from in. It never fails: what went wrong is in the evidence.
func Evidence(ctx context.Context, c Change, p config.HollowTest, in Confinement, o Options) (prosecutor.Evidence, *hollowtest.Report) {
	if p.Mode == config.HollowOff {
		return hollowtest.Decide(hollowtest.Run{}, p).Evidence, nil
	}
	if p.Where == config.WhereCI {
		return evidence.Unavailable(prosecutor.HollowTest, "the repository's own workflow measures it, on GitHub (hollow_test.where: ci)"), nil
	}
	r, err := measureIn(ctx, c, p, in, o)
	if err != nil {
		return evidence.Unavailable(prosecutor.HollowTest, err.Error()), nil
	}
	return hollowtest.Decide(r.Facts(), p).Evidence, r
}

func measureIn(ctx context.Context, c Change, p config.HollowTest, in Confinement, o Options) (*hollowtest.Report, error) {
	jobs, _, err := plan(c.Diff, p, Engines())
	if err != nil {
		return nil, err
	}
	scratch, clean, err := makeScratch(o.Scratch)
	if err != nil {
		return nil, err
	}
	defer clean()
	o.Scratch = scratch
	if len(jobs) == 0 {
		o.Exec = process.Plain{} // nothing will run
		return Measure(ctx, c, p, o)
	}
	if o.Exec, o.Fetch, err = Executors(ctx, scratch, in); err != nil {
		return nil, err
	}
	return Measure(ctx, c, p, o)
}

// Executors returns what runs tests, and what fetches dependencies. scratch is the directory below which everything is
// written; others may enter it afterwards. They end with ctx. The error is a sandbox.UnavailableError where a sandbox cannot be built.
func Executors(ctx context.Context, scratch string, in Confinement) (run, fetch hollowtest.Executor, err error) {
	switch in {
	case Plain:
		// Tests that start servers as another account have to get to their temporary directories.
		if err := os.Chmod(scratch, 0o711); err != nil { //nolint:gosec // see above
			return nil, nil, fmt.Errorf("the scratch directory: %w", err)
		}
		kept, err := process.Kept(ctx)
		return kept, kept, err
	case Sandboxed:
		if err := os.Chmod(scratch, 0o755); err != nil { //nolint:gosec // the tests run as another account where this process is root
			return nil, nil, fmt.Errorf("the sandbox's directory: %w", err)
		}
		run, err := sandbox.New(ctx, sandbox.Options{Scratch: filepath.Clean(scratch)})
		if err != nil {
			return nil, nil, err
		}
		fetch, err := sandbox.New(ctx, sandbox.Options{Scratch: filepath.Clean(scratch), Network: true})
		if err != nil {
			return nil, nil, err
		}
		return run, fetch, nil
	default:
		return nil, nil, fmt.Errorf("tests cannot run in %q: it is sandbox or none", in)
	}
}
