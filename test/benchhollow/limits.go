package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest"
	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest/process"
	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest/schemata"
)

// limitSource has loops that a mutant turns endless: one only turns, the others allocate as well.
const limitSource = `package limits

func Count(n int) int {
	c := 0
	for i := 0; i < n; i++ {
		c++
	}
	return c
}

func Grow(n int) []int {
	var s []int
	for i := 0; i < n; i++ {
		s = append(s, i)
	}
	return s
}

func Join(n int) string {
	s := ""
	for i := 0; i < n; i++ {
		s += "x"
	}
	return s
}
`

const limitTest = `package limits

import "testing"

func TestLimits(t *testing.T) {
	if Count(100) != 100 || len(Grow(100)) != 100 || len(Join(100)) != 100 {
		t.Fatal()
	}
}
`

// watched notes the peak memory of test processes.
type watched struct {
	process.Plain
	mu   sync.Mutex
	peak map[string]int64 // by the executable's name
}

// Run implements hollowtest.Executor.
func (w *watched) Run(ctx context.Context, c hollowtest.Command) (hollowtest.ExecResult, error) {
	res, err := w.Plain.Run(ctx, c)
	if c.Kind == hollowtest.TestCommand {
		w.mu.Lock()
		defer w.mu.Unlock()
		name := filepath.Base(c.Argv[0])
		w.peak[name] = max(w.peak[name], res.PeakRSS)
	}
	return res, err
}

// limits measures how soon mutants without end are caught, and what they take of memory until then.
func limits() (missed int, err error) {
	root, err := os.MkdirTemp("", "benchhollow-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(root)
	for name, text := range map[string]string{"go.mod": "module example.com/limits\n\ngo 1.24\n", "limits.go": limitSource, "limits_test.go": limitTest} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			return 0, err
		}
	}
	var lines []int
	for i := range strings.Count(limitSource, "\n") {
		lines = append(lines, i+1)
	}
	w := &watched{peak: map[string]int64{}}
	r, err := (&schemata.Engine{}).Measure(context.Background(), hollowtest.Request{Dir: root, Lines: map[string][]int{"limits.go": lines}, Budget: time.Hour, Exec: w})
	if err != nil {
		return 0, err
	}
	var slowest int64
	endless := 0
	for _, m := range r.Mutants {
		if m.Status == hollowtest.TimedOut {
			endless++
			slowest = max(slowest, m.DurationMS)
		}
	}
	var base, worst int64
	for name, peak := range w.peak {
		if strings.Contains(name, ".zz-") {
			worst = max(worst, peak)
		} else {
			base = max(base, peak)
		}
	}
	fmt.Println("== mutants without end")
	for _, t := range []struct {
		ok   bool
		text string
	}{
		{endless > 0 && slowest < 100, fmt.Sprintf("%d endless mutants, the slowest caught after %dms, at most 100ms", endless, slowest)},
		{base > 0 && worst <= 2*base, fmt.Sprintf("peak memory of a mutant's process %.1f MB, at most twice the %.1f MB of the tests without one", float64(worst)/1e6, float64(base)/1e6)},
	} {
		mark := "ok    "
		if !t.ok {
			mark = "MISSED"
			missed++
		}
		fmt.Printf("   %s %s\n", mark, t.text)
	}
	return missed, nil
}
