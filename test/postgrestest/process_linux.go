package postgrestest

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"runtime"
	"strconv"
	"syscall"
)

// attributes says as whom the programs run. PostgreSQL refuses to run as root, so root lends the directory to another user.
// The server is told to end when the test process does, also when that is killed.
func attributes(dir string) (*syscall.SysProcAttr, error) {
	attr := &syscall.SysProcAttr{Pdeathsig: syscall.SIGQUIT}
	if os.Getuid() != 0 {
		return attr, nil
	}
	var u *user.User
	var err error
	for _, name := range []string{"postgres", "nobody"} {
		if u, err = user.Lookup(name); err == nil {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("looking for a user to run it as, because root may not: %w", err)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	attr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return attr, lend(dir, attr)
}

// lend gives a file to the user that the programs run as.
func lend(path string, attr *syscall.SysProcAttr) error {
	if attr.Credential == nil {
		return nil
	}
	return os.Chown(path, int(attr.Credential.Uid), int(attr.Credential.Gid))
}

// run starts a command, and closes the channel when it has ended.
func run(cmd *exec.Cmd) (<-chan struct{}, error) {
	started, exited := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(exited)
		// Linux sends the parent-death signal when the thread that started the process ends, so that thread has to stay.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // how it ended is in its log
		}
	}()
	return exited, <-started
}
