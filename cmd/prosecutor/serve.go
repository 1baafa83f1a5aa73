package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/prosecutor-bot/prosecutor/app"
	"github.com/prosecutor-bot/prosecutor/app/ghclient"
	"github.com/prosecutor-bot/prosecutor/app/manifest"
	"github.com/prosecutor-bot/prosecutor/app/queue"
	"github.com/prosecutor-bot/prosecutor/app/store"
	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest/runner"
	"github.com/prosecutor-bot/prosecutor/prosecutor/judge"
	"github.com/prosecutor-bot/prosecutor/prosecutor/judge/factory"
)

// serveOptions are the flags of serve.
type serveOptions struct {
	config string
	listen string
	debug  bool

	getenv func(string) string
	stderr io.Writer
	// listening is told the address once the server accepts connections; for tests.
	listening func(net.Addr)
}

func newServeCommand() *cobra.Command {
	o := serveOptions{getenv: os.Getenv}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the GitHub App: webhooks in, check runs and reviews out",
		Long: `Serve the GitHub App. It needs the App's id (APP_ID, or github.app_id in the server file), its private key
(PRIVATE_KEY, or github.private_key_file) and a webhook secret of 32 characters or more (WEBHOOK_SECRET).

Cases are kept in prosecutor.db, or in the PostgreSQL database that DATABASE_URL names. The webhook is
/api/github/hook; /healthz, /readyz and /metrics are for machines.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.stderr = cmd.ErrOrStderr()
			return serve(cmd.Context(), o)
		},
	}
	cmd.Flags().StringVar(&o.config, "config", "", "server file (default: PROSECUTOR_CONFIG, else ./"+serverFile+")")
	cmd.Flags().StringVar(&o.listen, "listen", "", "address to listen on (default: http.listen of the server file, :8080)")
	cmd.Flags().BoolVar(&o.debug, "debug", false, "log every request to GitHub, without bodies")
	return cmd
}

// credentials are what proves that this is the App.
type credentials struct {
	appID   int64
	key     []byte
	secrets [][]byte
}

// errNoCredentials is the whole answer to a first start.
var errNoCredentials = errors.New(`there is no GitHub App to serve yet. Three steps:
  1. register one: prosecutor setup --public-url https://WHERE.GITHUB.REACHES.YOU (or by hand, as app.yml says);
  2. set APP_ID, PRIVATE_KEY (or github.private_key_file in the server file) and WEBHOOK_SECRET: setup wrote them to a file;
  3. start prosecutor serve again, and install the App on your repositories`)

func readCredentials(g config.GitHubConfig, getenv func(string) string) (*credentials, error) {
	c := &credentials{appID: int64(g.AppID)}
	raw := getenv(g.PrivateKeyEnv)
	if g.PrivateKeyFile != "" {
		raw = g.PrivateKeyFile
	}
	id := getenv("APP_ID")
	if c.appID == 0 && id == "" && raw == "" {
		return nil, errNoCredentials
	}
	if c.appID == 0 {
		n, err := strconv.ParseInt(strings.TrimSpace(id), 10, 64)
		if err != nil || n <= 0 {
			return nil, errors.New("APP_ID is not the number of a GitHub App: it stands on the App's settings page")
		}
		c.appID = n
	}
	if raw == "" {
		return nil, fmt.Errorf("the private key of App %d is missing: set %s, or github.private_key_file in the server file", c.appID, g.PrivateKeyEnv)
	}
	key, err := ghclient.LoadKey(raw)
	if err != nil {
		return nil, fmt.Errorf("the private key of App %d: %w", c.appID, err)
	}
	c.key = key
	for _, name := range g.WebhookSecretEnv {
		if secret := getenv(name); secret != "" {
			c.secrets = append(c.secrets, []byte(secret))
		}
	}
	if len(c.secrets) == 0 {
		return nil, fmt.Errorf("there is no webhook secret: set %s to the secret of the App's webhook, 32 characters or more", strings.Join(g.WebhookSecretEnv, " or "))
	}
	return c, nil
}

func serve(ctx context.Context, o serveOptions) error {
	server, err := loadServer(o.config, o.getenv)
	if err != nil {
		return err
	}
	cred, err := readCredentials(server.GitHub, o.getenv)
	if err != nil {
		return err
	}
	judges, err := factory.New(server, o.getenv)
	if err != nil {
		return err
	}
	level := zerolog.InfoLevel
	if o.debug {
		level = zerolog.DebugLevel
	}
	log := zerolog.New(o.stderr).Level(level).With().Timestamp().Logger()
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))

	rest, graphql, html := hosts(server.GitHub)
	clients, err := ghclient.New(ghclient.Options{
		AppID: cred.appID, PrivateKey: cred.key, REST: rest, GraphQL: graphql, HTML: html,
		WriteRate: server.GitHub.WriteRate, Registry: registry, Logger: &log, UserAgent: "prosecutor/" + version(),
	})
	if err != nil {
		return err
	}
	defer clients.Close()
	database := o.getenv(server.Database.URLEnv)
	if database == "" {
		database = server.Database.File
	}
	st, err := store.Open(ctx, database)
	if err != nil {
		return err
	}
	defer func() {
		if err := st.Close(); err != nil {
			log.Error().Err(err).Msg("closing the database")
		}
	}()
	live, err := compareManifest(ctx, clients, log)
	if err != nil {
		return err
	}
	sweepTemp(os.TempDir(), time.Now(), log)
	gitDir, err := os.MkdirTemp("", "prosecutor-git-")
	if err != nil {
		return fmt.Errorf("a directory for clones: %w", err)
	}
	defer func() { _ = os.RemoveAll(gitDir) }() // temporary clones
	a, err := app.New(ctx, app.Options{
		Store: st, Clients: clients, Judges: judges, Limits: judge.LimitsOf(server), AppID: cred.appID, Slug: live.Slug,
		Secrets: cred.secrets, GitDir: filepath.Clean(gitDir), Version: version(), Logger: &log, Registry: registry, HollowTest: server.HollowTest,
		Queue: queue.Options{Judges: server.Workers, Grace: time.Duration(server.HTTP.Shutdown)},
	})
	if err != nil {
		return err
	}
	listen := server.HTTP.Listen
	if o.listen != "" {
		listen = o.listen
	}
	return listenAndWork(ctx, a, listen, time.Duration(server.HTTP.Shutdown), registry, log, o.listening)
}

// leftFor is how old temporary files are that a process which was killed has left. No measurement takes longer.
const leftFor = 24 * time.Hour

// sweepTemp removes the clones and trees of processes that had no time to do so.
func sweepTemp(dir string, now time.Time, log zerolog.Logger) {
	for _, pattern := range []string{"prosecutor-git-*", "prosecutor-hollow-*"} {
		left, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			continue // the pattern is right, so that this cannot be
		}
		for _, name := range left {
			if info, err := os.Lstat(name); err == nil && info.IsDir() && now.Sub(info.ModTime()) > leftFor {
				runner.RemoveAll(name)
				log.Info().Str("directory", name).Msg("removed what an earlier process left")
			}
		}
	}
}

// hosts are the three addresses of GitHub. Where only that of the REST API was changed, the others follow from it: their
// defaults are those of github.com, and a token of another GitHub must not be sent there.
func hosts(g config.GitHubConfig) (rest, graphql, html string) {
	def := config.DefaultServer().GitHub
	rest, graphql, html = g.RESTURL, g.GraphQLURL, g.HTMLURL
	if rest != def.RESTURL {
		if graphql == def.GraphQLURL {
			graphql = ""
		}
		if html == def.HTMLURL {
			html = ""
		}
	}
	return rest, graphql, html
}

// compareManifest says how the live App differs from app.yml.
func compareManifest(ctx context.Context, clients *ghclient.Clients, log zerolog.Logger) (manifest.Live, error) {
	live, err := manifest.Fetch(ctx, clients.App())
	if err != nil {
		return live, fmt.Errorf("asking GitHub about the App (is the id its, and the key?): %w", err)
	}
	differences := manifest.Compare(live)
	for _, d := range differences {
		e := log.Info()
		if d.Missing {
			e = log.Warn()
		}
		e.Str("kind", string(d.Kind)).Str("name", d.Name).Msg(d.String())
	}
	if len(differences) > 0 {
		log.Info().Msg(manifest.Advice(clients.HTMLURL().String(), live))
	}
	return live, nil
}

// listenAndWork serves HTTP and works until ctx ends: then it refuses new deliveries first, and finishes jobs or hands them
// back.
func listenAndWork(ctx context.Context, a *app.App, listen string, grace time.Duration, registry *prometheus.Registry, log zerolog.Logger, listening func(net.Addr)) error {
	mux := http.NewServeMux()
	mux.Handle("/", a.Handler())
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	srv := &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      60 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", listen)
	if err != nil {
		return fmt.Errorf("listening on %s: %w", listen, err)
	}
	log.Info().Str("address", l.Addr().String()).Msg("serving; the webhook is /api/github/hook")
	if listening != nil {
		listening(l.Addr())
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()

	work, stop := context.WithCancel(ctx)
	defer stop()
	worked := make(chan error, 1)
	go func() { worked <- a.Run(work, grace) }()

	select {
	case <-ctx.Done():
		log.Info().Msg("stopping: new deliveries are refused, running cases finish or are handed back")
		deadline, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
		defer cancel()
		err := srv.Shutdown(deadline)
		return errors.Join(err, <-worked)
	case err := <-served:
		stop()
		return errors.Join(fmt.Errorf("the HTTP server: %w", err), <-worked)
	case err := <-worked:
		return errors.Join(err, srv.Close())
	}
}
