// Command playground shows the whole product on a sample repository that it makes itself: changes of every kind, each
// prosecuted by the built-in static rules, with the decision it is documented to get. It needs git and nothing else: no
// key, no network, no configuration.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run plays and returns the exit code: 0 when every change got the decision it is documented to get.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("playground", flag.ContinueOnError)
	flags.SetOutput(stderr)
	keep := flags.String("keep", "", "make the sample repository in this directory, and leave it there to try prosecutor review on")
	flags.Bool("once", true, "run every change to its end and exit")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 1
	case flags.NArg() > 0:
		fmt.Fprintf(stderr, "playground: unexpected argument %q\n", flags.Arg(0))
		return 1
	}
	err := play(ctx, *keep, stdout)
	if err != nil {
		fmt.Fprintln(stderr, "playground:", err)
		return 1
	}
	return 0
}

// play makes the repository, prosecutes every change and prints the table.
func play(ctx context.Context, keep string, stdout io.Writer) error {
	if _, err := exec.LookPath("git"); err != nil {
		return errors.New("the git program was not found: install git and make sure that it is in PATH")
	}
	dir, err := workplace(keep)
	if err != nil {
		return err
	}
	if keep == "" {
		defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory that stays behind harms nobody
	}
	list := changes()
	fmt.Fprintf(stdout, "A sample repository with %d changes, judged by static rules (no key, no network).\n\n", len(list))
	sample, err := makeSample(ctx, dir, list)
	if err != nil {
		return err
	}
	wrong, err := judgeAll(ctx, sample, list, stdout)
	if err != nil {
		return err
	}
	fmt.Fprintln(stdout)
	if keep != "" {
		fmt.Fprintf(stdout, "The repository is in %s. Try, in it: prosecutor review --base main --head leaked-secret --explain\n", dir)
	}
	if wrong > 0 {
		return fmt.Errorf("%d of %d changes did not get the decision they are documented to get", wrong, len(list))
	}
	fmt.Fprintf(stdout, "All %d changes got the decision they are documented to get.\n", len(list))
	return nil
}

// workplace is the directory for the repository: a new temporary one, or the one to keep, which has to be empty.
func workplace(keep string) (string, error) {
	if keep == "" {
		return os.MkdirTemp("", "prosecutor-playground-")
	}
	dir, err := filepath.Abs(keep)
	if err != nil {
		return "", err
	}
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return "", fmt.Errorf("--keep %s: the directory is not empty; name a new one", keep)
	}
	return dir, os.MkdirAll(dir, 0o750)
}
