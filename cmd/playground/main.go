// Command playground shows the whole product on one machine: an emulator of GitHub with a sample repository and a pull
// request of every kind, the App that judges them with the built-in static rules, and pages that show what it posted. It
// needs git and the go command, and nothing else: no key, no network, no configuration.
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
	"syscall"
)

// options are the flags.
type options struct {
	once   bool
	listen string
	config string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run plays and returns the exit code: 0 when every change got the decision it is documented to get.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var o options
	flags := flag.NewFlagSet("playground", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.BoolVar(&o.once, "once", false, "judge every pull request to its end, print the table and exit")
	flags.StringVar(&o.listen, "listen", "127.0.0.1:0", "address of the pages")
	flags.StringVar(&o.config, "config", "", "server file with judges to use instead of the static rules")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 1
	case flags.NArg() > 0:
		fmt.Fprintf(stderr, "playground: unexpected argument %q\n", flags.Arg(0))
		return 1
	}
	if _, err := exec.LookPath("git"); err != nil {
		fmt.Fprintln(stderr, "playground: the git program was not found: install git and make sure that it is in PATH")
		return 1
	}
	if err := play(ctx, o, changes(), stdout); err != nil {
		fmt.Fprintln(stderr, "playground:", err)
		return 1
	}
	return 0
}

// play starts everything, has every change judged and prints the table. Without once it then serves the pages until ctx
// ends.
func play(ctx context.Context, o options, list []change, stdout io.Writer) (err error) {
	p, err := start(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	fmt.Fprintf(stdout, "%d pull requests in acme/pay, judged by %s.\nTheir tests run against mutants of each change %s.\n", len(list), p.judges, p.tests)
	if !o.once {
		fmt.Fprintf(stdout, "Pages: %s/acme/pay/pulls\n", p.github.URL)
	}
	fmt.Fprintln(stdout)
	if err := p.open(list); err != nil {
		return err
	}
	rows, err := p.follow(ctx, list, stdout)
	if err != nil {
		return err
	}
	wrong := 0
	for _, r := range rows {
		if r.decision != r.want {
			wrong++
			fmt.Fprintf(stdout, "%s: got %s (%s), documented is %s\n", r.branch, r.decision, r.title, r.want)
		}
	}
	switch {
	case wrong > 0 && p.static:
		return fmt.Errorf("%d of %d pull requests did not get the decision they are documented to get", wrong, len(list))
	case wrong > 0:
		fmt.Fprintf(stdout, "\n%d of %d decisions differ from those of the static rules: other judges, other judgements.\n", wrong, len(list))
	default:
		fmt.Fprintf(stdout, "\nAll %d pull requests got the decision they are documented to get.\n", len(list))
	}
	if o.once {
		return nil
	}
	fmt.Fprintf(stdout, "Look at them at %s/acme/pay/pulls, and write /prosecute help into a comment. Ctrl-C ends it.\n", p.github.URL)
	<-ctx.Done()
	return nil
}
