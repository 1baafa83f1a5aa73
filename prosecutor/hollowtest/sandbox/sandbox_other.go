//go:build !linux

package sandbox

import (
	"context"
	"runtime"

	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest"
)

// Executor starts processes in a sandbox. There is none on this system.
type Executor struct{}

// New returns an UnavailableError: bubblewrap needs Linux.
func New(context.Context, Options) (*Executor, error) {
	return nil, &UnavailableError{Why: "bubblewrap needs Linux, this is " + runtime.GOOS}
}

// Run implements hollowtest.Executor.
func (*Executor) Run(context.Context, hollowtest.Command) (hollowtest.ExecResult, error) {
	return hollowtest.ExecResult{}, &UnavailableError{Why: "bubblewrap needs Linux, this is " + runtime.GOOS}
}
