package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/prosecutor-bot/prosecutor/app/manifest"
	"github.com/prosecutor-bot/prosecutor/app/setup"
	"github.com/prosecutor-bot/prosecutor/config"
)

// setupOptions are the flags of setup.
type setupOptions struct {
	config    string
	org       string
	out       string
	listen    string
	publicURL string
	pageURL   string

	getenv func(string) string
	stdout io.Writer
	stderr io.Writer
}

func newSetupCommand() *cobra.Command {
	o := setupOptions{getenv: os.Getenv}
	cmd := &cobra.Command{
		Use:   "setup --public-url URL",
		Short: "Register the GitHub App and keep its credentials",
		Long: `Register the GitHub App from the built-in manifest. Setup prints a link; the page behind it sends the manifest to
GitHub, where the App is confirmed, and takes the App's id, key and webhook secret from GitHub's answer. They are
written into ` + setup.KeyFile + ` and ` + setup.EnvFile + `, which only their owner can read, and never over
existing ones.

The link works once, in one browser, and setup ends after an hour. The page listens on this machine alone unless
--listen says otherwise; from elsewhere use a tunnel with the same port at both ends (ssh -L 8080:127.0.0.1:8080,
--listen 127.0.0.1:8080), or a proxy and --page-url.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.stdout, o.stderr = cmd.OutOrStdout(), cmd.ErrOrStderr()
			return runSetup(cmd.Context(), o)
		},
	}
	cmd.Flags().StringVar(&o.config, "config", "", "server file, for GitHub's URLs (default: PROSECUTOR_CONFIG, else ./"+serverFile+")")
	cmd.Flags().StringVar(&o.org, "org", "", "organization that is to own the App (default: whoever registers it)")
	cmd.Flags().StringVar(&o.out, "out", ".", "directory for the credentials")
	cmd.Flags().StringVar(&o.listen, "listen", "127.0.0.1:0", "address of the setup page")
	cmd.Flags().StringVar(&o.publicURL, "public-url", "", "URL at which GitHub reaches prosecutor serve, without /api/github/hook (required)")
	cmd.Flags().StringVar(&o.pageURL, "page-url", "", "URL at which your browser reaches the setup page, behind a proxy (default: the address of --listen on this machine, else --public-url)")
	return cmd
}

func runSetup(ctx context.Context, o setupOptions) error {
	server, err := loadServer(o.config, o.getenv)
	if err != nil {
		return err
	}
	if err := refuseCredentials(server.GitHub, o.getenv); err != nil {
		return err
	}
	m, err := manifest.Embedded()
	if err != nil {
		return err
	}
	s, err := setup.New(setup.Options{
		Manifest: m, Org: o.org, REST: server.GitHub.RESTURL, HTML: server.GitHub.HTMLURL,
		PublicURL: o.publicURL, PageURL: o.pageURL, Dir: o.out,
		KeyVariable: server.GitHub.PrivateKeyEnv, SecretVariable: server.GitHub.WebhookSecretEnv[0],
	})
	if err != nil {
		return err
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", o.listen)
	if err != nil {
		return fmt.Errorf("listening on %s: %w", o.listen, err)
	}
	done, err := s.Run(ctx, l, func(link string) {
		fmt.Fprintf(o.stderr, "Open this link within an hour. It works once, in one browser:\n\n  %s\n\n", link)
	})
	if done != nil {
		fmt.Fprint(o.stdout, nextSteps(done, server.GitHub))
	}
	if errors.Is(err, context.Canceled) {
		// Not wrapped: the program's words for an interruption are about a decision.
		return errors.New("interrupted: no App was set up, and nothing was written")
	}
	return err
}

// refuseCredentials refuses when this machine is some App's already: serve would go on with that one.
func refuseCredentials(g config.GitHubConfig, getenv func(string) string) error {
	var found []string
	if g.AppID != 0 {
		found = append(found, "github.app_id in the server file")
	}
	if g.PrivateKeyFile != "" {
		found = append(found, "github.private_key_file in the server file")
	}
	for _, name := range []string{"APP_ID", g.PrivateKeyEnv} {
		if getenv(name) != "" {
			found = append(found, name+" in the environment")
		}
	}
	if len(found) > 0 {
		return fmt.Errorf("there is a GitHub App already: %s. Remove that first if another one is to be registered", strings.Join(found, ", "))
	}
	return nil
}

// nextSteps tells what is left to do. It names files, and shows nothing that is in them.
func nextSteps(done *setup.Registered, g config.GitHubConfig) string {
	secretName := g.WebhookSecretEnv[0] // never empty, the server file is refused otherwise
	var b strings.Builder
	fmt.Fprintf(&b, `App %d (%s) is registered.

1. Its credentials, readable by you alone:
     %s   the private key
     %s   APP_ID, %s (the path of the key) and %s
2. Start the server with these variables:
     set -a; . %s; set +a; prosecutor serve
   or put this into %s, and leave only %s to the environment:

`, done.AppID, done.Slug, done.KeyFile, done.EnvFile, g.PrivateKeyEnv, secretName, done.EnvFile, serverFile, secretName)
	fmt.Fprintf(&b, "github:\n  app_id: %d\n  private_key_file: %s\n", done.AppID, done.KeyFile)
	fmt.Fprintf(&b, "  webhook_secret_env: [%s]\n", strings.Join(g.WebhookSecretEnv, ", "))
	if g.RESTURL != "https://api.github.com/" || g.GraphQLURL != "https://api.github.com/graphql" || g.HTMLURL != "https://github.com" {
		fmt.Fprintf(&b, "  rest_url: %s\n  graphql_url: %s\n  html_url: %s\n", g.RESTURL, g.GraphQLURL, g.HTMLURL)
	}
	fmt.Fprintf(&b, `
3. Install the App on your repositories:
     %s

The App's settings are at %s
`, done.InstallURL, done.SettingsURL)
	return b.String()
}
