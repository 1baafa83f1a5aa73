// Package process starts the processes of hollow-test without a sandbox: each in a process group of its own, within
// limits of wall time and memory, and with nothing left behind.
package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest"
)

const (
	// defaultOutput is what is kept of a process's output.
	defaultOutput = 64 << 10
	// pollEvery is how often the memory of a process is looked at. A Go program can allocate some 50 MB in it.
	pollEvery = 20 * time.Millisecond
	// drainFor is how long output is waited for when the process is gone and somebody outside of its group still holds
	// the pipe.
	drainFor = 500 * time.Millisecond
)

// Plain starts processes with the rights of this one. It keeps nothing from them but the environment.
type Plain struct {
	// Attributes may change how a process is started, such as the namespaces it gets. It may be nil.
	Attributes func(*syscall.SysProcAttr)

	keeper *keeper
}

var _ hollowtest.Executor = Plain{}

// Run implements hollowtest.Executor.
func (p Plain) Run(ctx context.Context, c hollowtest.Command) (hollowtest.ExecResult, error) {
	if err := ctx.Err(); err != nil {
		return hollowtest.ExecResult{}, err
	}
	if len(c.Argv) == 0 {
		return hollowtest.ExecResult{}, errors.New("starting a process: no command given")
	}
	r, w, err := os.Pipe()
	if err != nil {
		return hollowtest.ExecResult{}, fmt.Errorf("starting %s: %w", c.Argv[0], err)
	}
	defer r.Close()
	cmd := exec.Command(c.Argv[0], c.Argv[1:]...) //nolint:noctx // the whole group is killed below, not only the process
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = c.Dir, c.Env, w, w
	if cmd.Env == nil {
		cmd.Env = []string{}
	}
	cmd.SysProcAttr = attributes()
	if p.Attributes != nil {
		p.Attributes(cmd.SysProcAttr)
	}
	start := time.Now()
	err = cmd.Start()
	w.Close()
	if err != nil {
		return hollowtest.ExecResult{}, fmt.Errorf("starting %s: %w", c.Argv[0], err)
	}
	p.keeper.began(cmd.Process.Pid)
	out := newTail(c.Output)
	read := make(chan struct{})
	go func() {
		defer close(read)
		out.readFrom(r)
	}()
	ended := make(chan error, 1)
	go func() {
		waitExit(cmd.Process.Pid)
		killGroup(cmd.Process.Pid)
		p.keeper.ended(cmd.Process.Pid)
		ended <- cmd.Wait()
	}()
	res, err := watch(ctx, c, cmd.Process.Pid, ended)
	res.Wall = time.Since(start)
	// Whatever left the group and keeps the pipe is not waited for.
	if e := r.SetReadDeadline(time.Now().Add(drainFor)); e != nil {
		r.Close()
	}
	<-read
	res.Output = out.bytes()
	state := cmd.ProcessState
	if state == nil {
		return res, err
	}
	res.CPU = state.UserTime() + state.SystemTime()
	res.PeakRSS = max(res.PeakRSS, peak(state))
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		res.Signal = signalName(status.Signal())
	} else {
		code := state.ExitCode()
		res.Exit = &code
	}
	return res, err
}

// watch waits for the process, and kills its group when a limit is reached or ctx ends.
func watch(ctx context.Context, c hollowtest.Command, pid int, ended <-chan error) (hollowtest.ExecResult, error) {
	var res hollowtest.ExecResult
	var wall <-chan time.Time
	if c.Wall > 0 {
		t := time.NewTimer(c.Wall)
		defer t.Stop()
		wall = t.C
	}
	var poll <-chan time.Time
	if c.Memory > 0 {
		t := time.NewTicker(pollEvery)
		defer t.Stop()
		poll = t.C
	}
	for {
		select {
		case err := <-ended:
			var exit *exec.ExitError
			if err != nil && !errors.As(err, &exit) {
				return res, fmt.Errorf("waiting for %s: %w", c.Argv[0], err)
			}
			return res, nil
		case <-ctx.Done():
			killGroup(pid)
			<-ended //nolint:errcheck // however it ended, it was not by itself
			return res, ctx.Err()
		case <-wall:
			res.TimedOut = true
			killGroup(pid)
			wall = nil
		case <-poll:
			if rss := resident(pid); rss > c.Memory {
				res.OutMemory = true
				res.PeakRSS = rss
				killGroup(pid)
				poll = nil
			}
		}
	}
}

// tail keeps the beginning and the end of what is written.
type tail struct {
	mu         sync.Mutex
	limit      int
	head, rest []byte
	cut        bool
}

func newTail(limit int) *tail {
	if limit <= 0 {
		limit = defaultOutput
	}
	return &tail{limit: limit / 2}
}

func (t *tail) readFrom(r *os.File) {
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		t.write(buf[:n])
		if err != nil {
			return
		}
	}
}

func (t *tail) write(p []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if room := t.limit - len(t.head); room > 0 {
		n := min(room, len(p))
		t.head = append(t.head, p[:n]...)
		p = p[n:]
	}
	t.rest = append(t.rest, p...)
	if len(t.rest) > 2*t.limit {
		t.rest = append(t.rest[:0], t.rest[len(t.rest)-t.limit:]...)
		t.cut = true
	}
}

func (t *tail) bytes() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	rest := t.rest
	if len(rest) > t.limit {
		rest, t.cut = rest[len(rest)-t.limit:], true
	}
	if !t.cut {
		return append(bytes.Clone(t.head), rest...)
	}
	return append(append(bytes.Clone(t.head), "\n[output left out]\n"...), rest...)
}
