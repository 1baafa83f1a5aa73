// Command bench measures what a person waits for, beside its target, and the diff parser beside its peers, all in one run:
// process start to the first byte of a review, a whole review of a 100-file diff with instant judges, and the parsers'
// throughput over the corpus.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/prosecutor-bot/prosecutor/test/modeltest"
)

// The targets.
const (
	startTarget  = 100 * time.Millisecond
	reviewTarget = 300 * time.Millisecond
	runs         = 20
)

func main() {
	binary := flag.String("binary", "bin/prosecutor", "the program to measure")
	flag.Parse()
	if err := run(context.Background(), *binary, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, binary string, out io.Writer) error {
	binary, err := filepath.Abs(binary)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "prosecutor-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)

	repo := filepath.Join(dir, "repo")
	if err := makeRepository(ctx, repo); err != nil {
		return err
	}
	b := &bench{binary: binary, repo: repo, state: filepath.Join(dir, "state")}
	if err := b.start(ctx, out); err != nil {
		return err
	}
	if err := b.review(ctx, out, dir); err != nil {
		return err
	}
	return parsers(out)
}

type bench struct {
	binary, repo, state string
}

// start measures process start to the first byte of a review of a small change.
func (b *bench) start(ctx context.Context, out io.Writer) error {
	var first []time.Duration
	for range runs {
		d, _, err := b.time(ctx, "small")
		if err != nil {
			return err
		}
		first = append(first, d)
	}
	row(out, "process start to first byte of review", first, startTarget)
	return b.inits(ctx, out)
}

// review measures a whole review of a 100-file diff whose judges answer at once: the static rules, and models behind HTTP.
func (b *bench) review(ctx context.Context, out io.Writer, dir string) error {
	models := modeltest.Start()
	defer models.Close()
	models.Default(modeltest.Ship())
	config := filepath.Join(dir, "server.yml")
	text := fmt.Sprintf(`judges:
  - {name: one, adapter: openai, family: fern, model: fern-4, base_url: %q, api_key_env: BENCH_KEY}
`, models.OpenAI())
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return err
	}
	for _, c := range []struct {
		name string
		args []string
	}{
		{"review of 100 files, static rules (tests not run)", nil},
		{"review of 100 files, instant models over HTTP (tests not run)", []string{"--config", config}},
	} {
		var whole []time.Duration
		for range runs {
			_, d, err := b.time(ctx, "large", c.args...)
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			whole = append(whole, d)
		}
		row(out, c.name, whole, reviewTarget)
	}
	return nil
}

// time runs one review of a branch and returns the time to its first byte of output and to its end.
func (b *bench) time(ctx context.Context, branch string, args ...string) (first, whole time.Duration, err error) {
	cmd := exec.CommandContext(ctx, b.binary, append([]string{"review", "--no-hollow-test", "--repo", b.repo, "--head", branch}, args...)...)
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+b.state, "BENCH_KEY=bench-key-0123456789")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return 0, 0, err
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, 0, err
	}
	one := make([]byte, 1)
	if _, err := io.ReadFull(stdout, one); err != nil {
		_ = cmd.Wait()
		return 0, 0, fmt.Errorf("no output: %w: %s", err, stderr.String())
	}
	first = time.Since(begin)
	if _, err := io.Copy(io.Discard, stdout); err != nil {
		return 0, 0, err
	}
	err = cmd.Wait()
	whole = time.Since(begin)
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() == 1) {
		return 0, 0, fmt.Errorf("%w: %s", err, stderr.String())
	}
	return first, whole, nil
}

// inits lists the packages whose initialisation takes longest.
func (b *bench) inits(ctx context.Context, out io.Writer) error {
	cmd := exec.CommandContext(ctx, b.binary, "--version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	text, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("inittrace: %w", err)
	}
	type cost struct {
		pkg string
		ms  float64
	}
	var costs []cost
	var sum float64
	for _, line := range strings.Split(string(text), "\n") {
		var c cost
		var at float64
		if _, err := fmt.Sscanf(line, "init %s @%f ms, %f ms clock", &c.pkg, &at, &c.ms); err == nil {
			costs = append(costs, c)
			sum += c.ms
		}
	}
	slices.SortFunc(costs, func(a, b cost) int {
		if a.ms > b.ms {
			return -1
		}
		return 1
	})
	fmt.Fprintf(out, "%-52s %10.2f ms over %d packages; longest:", "package initialisation", sum, len(costs))
	for _, c := range costs[:min(5, len(costs))] {
		fmt.Fprintf(out, " %s %.2f", c.pkg, c.ms)
	}
	fmt.Fprintln(out)
	return nil
}

// row prints one measurement beside its target.
func row(out io.Writer, name string, d []time.Duration, target time.Duration) {
	slices.Sort(d)
	median := d[len(d)/2]
	verdict := "within"
	if median > target {
		verdict = "OVER"
	}
	fmt.Fprintf(out, "%-52s %10.1f ms median of %d (min %.1f, max %.1f)   target %d ms: %s\n",
		name, ms(median), len(d), ms(d[0]), ms(d[len(d)-1]), target.Milliseconds(), verdict)
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
