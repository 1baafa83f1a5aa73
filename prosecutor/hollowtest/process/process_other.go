//go:build !linux

package process

import (
	"os"
	"syscall"
)

func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// waitExit does nothing: the group is killed a moment later, by a number that is not used again so soon.
func waitExit(int) {}

func peak(*os.ProcessState) int64 { return 0 }

// resident is not known here: no limit of memory is kept.
func resident(int) int64 { return 0 }
