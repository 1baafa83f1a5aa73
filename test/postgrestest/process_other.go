//go:build !linux

package postgrestest

import (
	"os/exec"
	"syscall"
)

func attributes(string) (*syscall.SysProcAttr, error) { return &syscall.SysProcAttr{}, nil }

func lend(string, *syscall.SysProcAttr) error { return nil }

// run starts a command, and closes the channel when it has ended.
func run(cmd *exec.Cmd) (<-chan struct{}, error) {
	exited := make(chan struct{})
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(exited)
		_ = cmd.Wait() // how it ended is in its log
	}()
	return exited, nil
}
