package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/prosecutor-bot/prosecutor/app/record"
	"github.com/prosecutor-bot/prosecutor/app/store"
	"github.com/prosecutor-bot/prosecutor/prosecutor/report"
)

// newEvidenceCommand is `prosecutor evidence`: the records of what the gate decided, and on what grounds.
func newEvidenceCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "evidence",
		Short: "Export the records of gate evidence, or verify that nobody changed them",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newEvidenceExportCommand(), newEvidenceVerifyCommand())
	return cmd
}

// recordsOf are the flags that name the records.
type recordsOf struct {
	config     string
	database   string
	repository string
	getenv     func(string) string
}

func (o *recordsOf) flags(cmd *cobra.Command) {
	o.getenv = os.Getenv
	cmd.Flags().StringVar(&o.config, "config", "", "server file that names the database (default: PROSECUTOR_CONFIG, else ./"+serverFile+")")
	cmd.Flags().StringVar(&o.database, "database", "", "SQLite file, or URL of PostgreSQL (default: that of prosecutor serve)")
	cmd.Flags().StringVar(&o.repository, "repository", "", "OWNER/NAME or number of one repository (default: all)")
}

// read gives the chains to a sink.
func (o *recordsOf) read(ctx context.Context, sink record.Sink) error {
	database := o.database
	if database == "" {
		server, err := loadServer(o.config, o.getenv)
		if err != nil {
			return err
		}
		if database = o.getenv(server.Database.URLEnv); database == "" {
			database = server.Database.File
		}
	}
	records, err := store.OpenRecords(ctx, database)
	if err != nil {
		return err
	}
	defer records.Close() //nolint:errcheck // it has written nothing
	repo, err := o.number(ctx, records)
	if err != nil {
		return err
	}
	return records.Read(ctx, repo, sink)
}

// number is the number of the repository, 0 for all.
func (o *recordsOf) number(ctx context.Context, records *store.Records) (int64, error) {
	if o.repository == "" {
		return 0, nil
	}
	if n, err := strconv.ParseInt(o.repository, 10, 64); err == nil && n > 0 {
		return n, nil
	}
	owner, name, ok := strings.Cut(o.repository, "/")
	if !ok || owner == "" || name == "" || strings.Contains(name, "/") {
		return 0, fmt.Errorf("--repository %q is neither OWNER/NAME nor the number of a repository", o.repository)
	}
	id, err := records.Repository(ctx, owner, name)
	if errors.Is(err, store.ErrNotFound) {
		return 0, fmt.Errorf("the database knows no repository %s: name it as GitHub does now, or by its number", o.repository)
	}
	return id, err
}

func newEvidenceExportCommand() *cobra.Command {
	var of recordsOf
	var output string
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write the records as JSON lines, which anybody can verify",
		Long: `Write the records of gate evidence as JSON lines: for each repository the checkpoint where its chain begins, its
records, and its head. Whoever has the file can verify it with prosecutor evidence verify FILE, without the database.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return exportRecords(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), output, &of)
		},
	}
	of.flags(cmd)
	cmd.Flags().StringVar(&output, "output", "", "file to write, with mode 0600 when it is made (default: standard output)")
	return cmd
}

func exportRecords(ctx context.Context, stdout, stderr io.Writer, output string, of *recordsOf) (err error) {
	w := stdout
	if output != "" {
		f, err := os.OpenFile(output, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
		if err != nil {
			return fmt.Errorf("--output: %w", err)
		}
		defer func() {
			if closing := f.Close(); closing != nil && err == nil {
				err = fmt.Errorf("--output: %w", closing)
			}
		}()
		w = f
	}
	x, err := record.NewExporter(w, record.Software{Name: "prosecutor", Version: version()}, time.Now())
	if err != nil {
		return err
	}
	if err := of.read(ctx, x); err != nil {
		return err
	}
	records, chains, err := x.Close()
	if err != nil {
		return err
	}
	if output != "" {
		fmt.Fprintf(stderr, "records: %d, repositories: %d\n", records, chains)
	}
	return nil
}

func newEvidenceVerifyCommand() *cobra.Command {
	var of recordsOf
	var heads []string
	cmd := &cobra.Command{
		Use:   "verify [FILE]",
		Short: "Tell whether records were changed, removed, moved or added",
		Long: `Verify the chains of an export, of standard input with "-", or, without a file, of the database. Each chain is a line
on standard output, and so is its head. Keep heads where the owner of the database cannot change them, and name
them with --head the next time: then it is found as well when a whole chain was written anew, or its end cut off.

The exit code is 0 when all is intact, 2 when a chain is broken, and 1 when it could not be told.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, files []string) error {
			known := make([]record.Known, len(heads))
			for i, h := range heads {
				var err error
				if known[i], err = record.ParseKnown(h); err != nil {
					return fmt.Errorf("--head: %w", err)
				}
			}
			v := record.NewVerifier(known)
			if len(files) == 0 {
				if err := of.read(cmd.Context(), v); err != nil {
					return err
				}
				return verified(cmd.OutOrStdout(), v.Reports())
			}
			if of.database != "" || of.config != "" || of.repository != "" {
				return errors.New("either a file is verified, whole, or the database: --database, --config and --repository are for the latter")
			}
			if err := verifyFile(files[0], cmd.InOrStdin(), v); err != nil {
				return err
			}
			return verified(cmd.OutOrStdout(), v.Reports())
		},
	}
	of.flags(cmd)
	cmd.Flags().StringArrayVar(&heads, "head", nil, "a head that is known, as an earlier verify printed it; may be repeated")
	return cmd
}

func verifyFile(name string, stdin io.Reader, v *record.Verifier) error {
	r := stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return fmt.Errorf("the export: %w", err)
		}
		defer f.Close()
		r = f
	}
	if err := record.Read(r, v); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// verified prints what was found of each chain, and says by its error what all of them come to.
func verified(w io.Writer, reports []record.Report) error {
	if len(reports) == 0 {
		return errors.New("there are no records to verify")
	}
	worst := record.Intact
	for _, r := range reports {
		worst = max(worst, r.Status)
		if _, err := fmt.Fprint(w, verdict(r)); err != nil {
			return fmt.Errorf("writing the result: %w", err)
		}
	}
	switch worst {
	case record.Broken:
		return &exitError{exitBlocked, errors.New("the records are broken")}
	case record.Unknown:
		return errors.New("it could not be told whether all records are intact")
	default:
		return nil
	}
}

// verdict is what was found of a chain, for a person.
func verdict(r record.Report) string {
	name := "the export"
	if r.Repository.ID != 0 {
		name = "repository " + strconv.FormatInt(r.Repository.ID, 10)
	}
	if r.Repository.Name != "" {
		name += " (" + report.OneLine(r.Repository.Name, 0) + ")"
	}
	problem := report.OneLine(r.Problem, 1000)
	switch {
	case r.Status == record.Broken && r.Sequence > 0:
		return fmt.Sprintf("%s: broken at record %d: %s\n", name, r.Sequence, problem)
	case r.Status == record.Broken:
		return fmt.Sprintf("%s: broken: %s\n", name, problem)
	case r.Status == record.Unknown:
		return fmt.Sprintf("%s: could not be told: %s\n", name, problem)
	}
	which := "no record"
	if r.Head.Sequence > r.Checkpoint.Sequence {
		which = fmt.Sprintf("records %d to %d", r.Checkpoint.Sequence+1, r.Head.Sequence)
	}
	if r.Checkpoint.Sequence > 0 {
		which += fmt.Sprintf(", behind checkpoint %d", r.Checkpoint.Sequence)
	}
	out := fmt.Sprintf("%s: intact, %s\n", name, which)
	if r.Head.Sequence > 0 {
		out += "  head " + record.Known{Repository: r.Repository.ID, Point: r.Head}.String() + "\n"
	}
	return out
}
