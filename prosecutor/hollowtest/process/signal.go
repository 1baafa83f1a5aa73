package process

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// killGroup ends a process group. A group that is gone already is fine.
func killGroup(pid int) {
	if err := syscall.Kill(-pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		// The group may not exist yet; the process does.
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			return
		}
	}
}

func signalName(s syscall.Signal) string {
	if name := unix.SignalName(s); name != "" {
		return name
	}
	return s.String()
}
