// Command prosecutor prosecutes changes: it decides whether a change may advance, has to go back, or needs humans.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

// Exit codes of every subcommand.
const (
	exitOK      = 0 // ADVANCE, or done
	exitFailure = 1 // not decided: wrong use, our own error, a judge that failed, waiting
	exitBlocked = 2 // decided: LOOP_BACK or ESCALATE; records that are broken
)

// exitError carries an exit code. Its message is printed unless it is empty.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := execute(ctx, newRootCommand())
	stop()
	os.Exit(code)
}

// execute runs the command and turns its error into one message and an exit code.
func execute(ctx context.Context, root *cobra.Command) int {
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	code := exitFailure
	var exit *exitError
	if errors.As(err, &exit) {
		code = exit.code
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = errors.New("interrupted: nothing was decided and the ledger was not changed")
	}
	if msg := err.Error(); msg != "" {
		fmt.Fprintln(root.ErrOrStderr(), "prosecutor: "+msg)
	}
	return code
}

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "prosecutor",
		Short: "A pull-request gate that fails closed",
		Long: `Prosecutor decides whether a change may advance. It measures how far the change reaches, reads
deterministic evidence, and only when that is green lets judges try to refute the change.`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       version(),
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(newReviewCommand(), newHollowTestCommand(), newPolicyCommand(), newServeCommand(), newSetupCommand(), newEvidenceCommand())
	return root
}
