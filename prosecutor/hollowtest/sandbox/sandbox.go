// Package sandbox starts the processes of hollow-test in bubblewrap: without network, devices, privileges or the
// environment of this process, with a read-only system of which only what tool chains need is shown, and within limits of
// processes, memory, disk and time. What a repository's tests do in there stays in there.
package sandbox

import (
	"fmt"
	"time"
)

// Options are the limits of an executor.
type Options struct {
	// Scratch is the directory below which everything lies that commands may write to, absolute. Where this process is
	// root, what is written to is given to an account without rights, and nothing outside of Scratch ever is.
	Scratch string
	// Processes bounds the processes and threads of one command. 0 means 1024. A tool chain's build is not bounded where
	// this process is root.
	Processes int
	// Disk bounds, in bytes, each file, each temporary file system, and what one command leaves in the directories that
	// it may write to. 0 means 1 GiB.
	Disk int64
	// Network gives commands the network. It is for fetching dependencies, and for nothing else.
	Network bool
}

const (
	defaultProcesses = 1024
	defaultDisk      = 1 << 30
	// probeWithin is how long the sandbox may take to start a program that does nothing.
	probeWithin = 20 * time.Second
)

func (o Options) processes() int {
	if o.Processes > 0 {
		return o.Processes
	}
	return defaultProcesses
}

func (o Options) disk() int64 {
	if o.Disk > 0 {
		return o.Disk
	}
	return defaultDisk
}

// UnavailableError says why there is no sandbox on this machine. Nothing is run without one instead.
type UnavailableError struct{ Why string }

// Error implements error.
func (e *UnavailableError) Error() string { return fmt.Sprintf("no sandbox: %s", e.Why) }
