//go:build go1.21

// Package switches is compiled into the test binaries of mutated packages. It knows which mutant is on, from the name of
// the executable's file, and writes down which mutants the tests reach when it is asked to.
//
// The name and not the environment decides, for tests start themselves again with an environment of their own:
// x.test.zz-12-40000-9000000 is mutant 12, whose code may be evaluated 40000 times and let loops turn 9000000 times;
// x.test.zz-record records; any other name is the original program.
package switches

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// Exit is the exit code of a process whose mutant was evaluated too often.
const Exit = 97

// none is the active mutant of the original program. Number 0 stands for a mutant that was left out.
const none = -1

var (
	active    int32 = none
	recording bool
	hitLimit  int64
	tickLimit int64
	hits      atomic.Int64
	ticks     atomic.Int64

	self    string
	current atomic.Int32              // the test that runs, 0 before the first
	last    [mutants + 1]atomic.Int32 // the test that reached a mutant last, plus one
	changed [mutants + 1]atomic.Int32 // the test that it changed something for last, plus one
	counts  [mutants + 1]atomic.Int64

	mu      sync.Mutex
	tests   = map[string]int32{}
	entered int32 // the number of the last test
	seen    = map[[3]int32]bool{}
	log     *os.File
)

// ErrMutant is returned in the place of nil.
var ErrMutant = errors.New("mutant")

func init() {
	exe, err := os.Executable()
	if err != nil {
		return
	}
	self = exe
	i := strings.LastIndex(exe, ".zz-")
	if i < 0 {
		return
	}
	name := exe[i+len(".zz-"):]
	if name == "record" {
		recording = true
		return
	}
	parts := strings.Split(name, "-")
	if len(parts) != 3 {
		return
	}
	id, err := strconv.ParseInt(parts[0], 10, 32)
	if err != nil || id <= 0 {
		return
	}
	hitLimit, _ = strconv.ParseInt(parts[1], 10, 64)
	tickLimit, _ = strconv.ParseInt(parts[2], 10, 64)
	active = int32(id)
}

// hit counts an evaluation of the active mutant.
func hit() bool {
	if hits.Add(1) > hitLimit {
		stop("evaluations")
	}
	return true
}

func stop(what string) {
	_, _ = os.Stderr.WriteString("\nhollow-test: the mutant passed its limit of " + what + "\n")
	os.Exit(Exit)
}

// Tick counts a turn of a loop.
func Tick() {
	if active > 0 {
		if hits.Load() > 0 && ticks.Add(1) > tickLimit {
			stop("turns of loops")
		}
		return
	}
	if recording {
		if n := ticks.Add(1); n >= 1<<12 && n&(n-1) == 0 {
			write("k " + strconv.FormatInt(n, 10) + "\n")
		}
	}
}

// Enter says which test runs.
func Enter(name string) {
	if !recording {
		return
	}
	if i := strings.IndexByte(name, '/'); i >= 0 {
		name = name[:i]
	}
	mu.Lock()
	n := tests[name]
	fresh := n == 0
	if fresh {
		entered++
		n = entered
		tests[name] = n
	}
	mu.Unlock()
	if fresh {
		write("t " + strconv.Itoa(os.Getpid()) + " " + strconv.Itoa(int(n)) + " " + name + "\n")
	}
	current.Store(n)
}

// reach writes down that the running test reaches a mutant.
func reach(id int32) {
	if n := counts[id].Add(1); n&(n-1) == 0 && n >= 1<<9 {
		write("h " + strconv.Itoa(int(id)) + " " + strconv.FormatInt(n, 10) + "\n")
	}
	test := current.Load()
	if last[id].Load() != test+1 {
		last[id].Store(test + 1)
		once("r", id, test, 0)
	}
}

// note writes down that a mutant is reached, and whether it changes something.
func note(id int32, differs bool) {
	if id == 0 {
		return
	}
	reach(id)
	if !differs {
		return
	}
	if test := current.Load(); changed[id].Load() != test+1 {
		changed[id].Store(test + 1)
		once("i", id, test, 1)
	}
}

func once(kind string, id, test, which int32) {
	key := [3]int32{id, test, which}
	mu.Lock()
	known := seen[key]
	seen[key] = true
	mu.Unlock()
	if !known {
		write(kind + " " + strconv.Itoa(os.Getpid()) + " " + strconv.Itoa(int(test)) + " " + strconv.Itoa(int(id)) + "\n")
	}
}

func write(line string) {
	mu.Lock()
	defer mu.Unlock()
	if log == nil {
		f, err := os.OpenFile(self+".log", os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
		if err != nil {
			stop("a log that cannot be opened")
		}
		log = f
	}
	if _, err := log.WriteString(line); err != nil {
		stop("a log that cannot be written")
	}
}

// On reports whether the mutant is on.
func On(id int32) bool {
	if active == id {
		return hit()
	}
	if recording && id != 0 {
		reach(id)
	}
	return false
}
