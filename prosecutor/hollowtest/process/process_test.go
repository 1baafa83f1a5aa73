package process_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest"
	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest/process"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func shell(t *testing.T, script string) hollowtest.Command {
	t.Helper()
	return hollowtest.Command{Kind: hollowtest.TestCommand, Argv: []string{"sh", "-c", script}, Dir: t.TempDir(), Env: []string{"PATH=" + os.Getenv("PATH"), "GIVEN=yes"}}
}

func run(t *testing.T, c hollowtest.Command) hollowtest.ExecResult {
	t.Helper()
	res, err := process.Plain{}.Run(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func TestExitAndOutput(t *testing.T) {
	t.Setenv("OWN", "hush")
	res := run(t, shell(t, `echo "$GIVEN$OWN"; pwd; echo err >&2; exit 3`))
	if res.Exit == nil || *res.Exit != 3 || res.Signal != "" || res.TimedOut || res.OutMemory {
		t.Errorf("%+v", res)
	}
	if lines := strings.Split(string(res.Output), "\n"); len(lines) != 4 || lines[0] != "yes" || lines[2] != "err" {
		t.Errorf("output %q", res.Output)
	}
	if res.PeakRSS <= 0 && runtime.GOOS == "linux" {
		t.Errorf("peak %d", res.PeakRSS)
	}
}

func TestSignals(t *testing.T) {
	for name, number := range map[string]string{"SIGSEGV": "11", "SIGKILL": "9", "SIGTERM": "15"} {
		if res := run(t, shell(t, "kill -"+number+" $$")); res.Signal != name || res.Exit != nil {
			t.Errorf("%s: %+v", name, res)
		}
	}
}

func TestNotStarted(t *testing.T) {
	for _, argv := range [][]string{nil, {"/does/not/exist"}, {t.TempDir()}} {
		if res, err := (process.Plain{}).Run(context.Background(), hollowtest.Command{Argv: argv, Dir: t.TempDir()}); err == nil {
			t.Errorf("%v: %+v", argv, res)
		}
	}
}

func TestWallLimitEndsTheWholeGroup(t *testing.T) {
	c := shell(t, "sleep 61 & echo $!; exec sleep 60")
	c.Wall = 100 * time.Millisecond
	res := run(t, c)
	if !res.TimedOut || res.Signal != "SIGKILL" {
		t.Errorf("%+v", res)
	}
	gone(t, string(res.Output))
}

func TestChildrenLeftBehindAreEnded(t *testing.T) {
	res := run(t, shell(t, "sleep 61 & echo $!"))
	if res.Exit == nil || *res.Exit != 0 {
		t.Errorf("%+v", res)
	}
	gone(t, string(res.Output))
}

// gone waits for the end of a process whose number was printed: it was killed, and init may take a moment to bury it.
func gone(t *testing.T, output string) {
	t.Helper()
	pid, err := strconv.Atoi(strings.TrimSpace(output))
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); runtime.Gosched() {
		if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			return
		}
		if stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat")); err == nil && strings.Contains(string(stat), ") Z ") {
			return
		}
	}
	t.Errorf("process %d is left", pid)
}

func TestMemoryLimit(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("memory is not known here")
	}
	// A child counts too.
	c := shell(t, `sh -c 'x=0123456789abcdef; while true; do x=$x$x; done'; sleep 60`)
	c.Memory, c.Wall = 64<<20, time.Minute
	if res := run(t, c); !res.OutMemory || res.TimedOut || res.Signal != "SIGKILL" {
		t.Errorf("%+v", res)
	}
}

func TestContextEnds(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	if _, err := (process.Plain{}).Run(ctx, shell(t, "exec sleep 60")); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if _, err := (process.Plain{}).Run(ctx, shell(t, "true")); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

func TestLongOutputKeepsBothEnds(t *testing.T) {
	c := shell(t, "echo first; i=0; while [ $i -lt 3000 ]; do echo 0123456789012345678901234567890123456789; i=$((i+1)); done; echo last")
	c.Output = 1000
	res := run(t, c)
	out := string(res.Output)
	if !strings.HasPrefix(out, "first\n") || !strings.HasSuffix(out, "\nlast\n") || !strings.Contains(out, "[output left out]") || len(out) > 1100 {
		t.Errorf("%d bytes: %q", len(out), out)
	}
}

// What a test has started ends with us, also when nobody had the time to end it.
func TestNothingOutlivesItsKeeper(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	kept, err := process.Kept(ctx)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "pid")
	done := make(chan struct{})
	go func() {
		defer close(done)
		kept.Run(context.Background(), shell(t, "sleep 600 & echo $! >"+file+".new; mv "+file+".new "+file+"; wait"))
	}()
	var pid int
	until(t, "the child says its number", func() bool {
		data, err := os.ReadFile(file)
		if err != nil {
			return false
		}
		if pid, err = strconv.Atoi(strings.TrimSpace(string(data))); err != nil {
			t.Fatal(err)
		}
		return true
	})
	stop() // as the end of this process would
	<-done
	until(t, "the child is gone", func() bool {
		if syscall.Kill(pid, 0) != nil {
			return true
		}
		data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		return err == nil && strings.Contains(string(data), ") Z ") // dead, and nobody has waited for it
	})
}

// until asks again and again, because processes announce nothing to others.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for range 3000 {
		if ok() {
			return
		}
		<-time.After(10 * time.Millisecond)
	}
	t.Fatalf("it never happened that %s", what)
}
