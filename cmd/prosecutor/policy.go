package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/prosecutor-bot/prosecutor/config"
)

// newPolicyCommand is `prosecutor policy`: everything about the two files people write that needs no repository.
func newPolicyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "policy",
		Short: "Check a policy or server file, or print its JSON schema",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newPolicySchemaCommand(), newPolicyCheckCommand())
	return cmd
}

func newPolicySchemaCommand() *cobra.Command {
	var server bool
	cmd := &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON schema of the policy file",
		Long: `Print the JSON schema (draft 2020-12) of the policy file, or of the server file with --server.
Editors complete and check a file with it.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			schema := config.PolicySchema()
			if server {
				schema = config.ServerSchema()
			}
			if _, err := cmd.OutOrStdout().Write(schema); err != nil {
				return fmt.Errorf("writing the schema: %w", err)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&server, "server", false, "the schema of the server file")
	return cmd
}

func newPolicyCheckCommand() *cobra.Command {
	var server bool
	cmd := &cobra.Command{
		Use:   "check [FILE...]",
		Short: "Check policy files and report every problem with its line",
		Long: `Check policy files, or server files with --server. "-" is standard input. Without a file,
` + config.PolicyPath + ` is checked. Each valid file is named on standard output with the hash of its effective policy;
every problem is a line on standard error, and the exit code is 1 if there is any.`,
		RunE: func(cmd *cobra.Command, files []string) error {
			if len(files) == 0 {
				if server {
					return errors.New("name the server file to check")
				}
				files = []string{config.PolicyPath}
			}
			return checkFiles(cmd, files, server)
		},
	}
	cmd.Flags().BoolVar(&server, "server", false, "the files are server files")
	return cmd
}

// checkFiles checks every file, also after one that is wrong.
func checkFiles(cmd *cobra.Command, files []string, server bool) error {
	wrong := 0
	for _, file := range files {
		name, result, err := checkFile(cmd.InOrStdin(), file, server)
		if err != nil {
			wrong++
			fmt.Fprintln(cmd.ErrOrStderr(), err)
			continue
		}
		if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s: ok (%s)\n", name, result); err != nil {
			return fmt.Errorf("writing the result: %w", err)
		}
	}
	switch {
	case wrong == 0:
		return nil
	case len(files) == 1:
		return errors.New("the file is not valid")
	default:
		return fmt.Errorf("%d of %d files are not valid", wrong, len(files))
	}
}

// checkFile says what a valid file holds in short, or returns what is wrong with it.
func checkFile(stdin io.Reader, file string, server bool) (name, result string, err error) {
	name = file
	var data []byte
	if file == "-" {
		name = "(standard input)"
		data, err = io.ReadAll(io.LimitReader(stdin, config.MaxFileSize+1))
	} else {
		data, err = config.ReadFile(file)
	}
	if err != nil {
		return name, "", fmt.Errorf("reading %s: %w", name, err)
	}
	if server {
		parsed, err := config.ParseServer(name, data)
		if err != nil {
			return name, "", err
		}
		return name, serverSummary(len(parsed.Judges)), nil
	}
	policy, err := config.ParsePolicy(name, data)
	if err != nil {
		return name, "", err
	}
	return name, "hash " + policy.Hash(), nil
}

func serverSummary(judges int) string {
	switch judges {
	case 0:
		return "no judge, static rules only"
	case 1:
		return "1 judge"
	default:
		return fmt.Sprintf("%d judges", judges)
	}
}
