package process

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// attributes puts the process into a group of its own. It ends when this process does.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// waitExit waits until the process is gone, and leaves its number in use: its group can be killed safely then.
func waitExit(pid int) {
	for {
		if err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil); err != unix.EINTR {
			return
		}
	}
}

func peak(state *os.ProcessState) int64 {
	if u, ok := state.SysUsage().(*syscall.Rusage); ok {
		return u.Maxrss * 1024
	}
	return 0
}

// resident sums the resident memory of a process and its descendants, in bytes.
func resident(pid int) int64 {
	var sum int64
	todo := []int{pid}
	for len(todo) > 0 {
		p := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if data, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p)); err == nil {
			if f := bytes.Fields(data); len(f) > 1 {
				if n, err := strconv.ParseInt(string(f[1]), 10, 64); err == nil {
					sum += n * int64(os.Getpagesize())
				}
			}
		}
		// Children hang below the thread that started them.
		tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", p))
		if err != nil {
			continue
		}
		for _, t := range tasks {
			data, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", p, t.Name()))
			if err != nil {
				continue
			}
			for _, f := range bytes.Fields(data) {
				if n, err := strconv.Atoi(string(f)); err == nil {
					todo = append(todo, n)
				}
			}
		}
	}
	return sum
}
