package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/prosecutor-bot/prosecutor/app"
	"github.com/prosecutor-bot/prosecutor/app/ghclient"
	"github.com/prosecutor-bot/prosecutor/app/queue"
	"github.com/prosecutor-bot/prosecutor/app/store"
	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest/sandbox"
	"github.com/prosecutor-bot/prosecutor/prosecutor/judge"
	"github.com/prosecutor-bot/prosecutor/prosecutor/judge/factory"
	"github.com/prosecutor-bot/prosecutor/prosecutor/review"
	"github.com/prosecutor-bot/prosecutor/test/githubtest"
)

// The people of the sample repository.
const (
	author     = "dev"
	maintainer = "maintainer"
)

// playground is an emulated GitHub with the App on it.
type playground struct {
	github *githubtest.Server
	repo   *githubtest.Repo
	app    *app.App
	store  *store.Store
	pulls  map[string]*githubtest.PullRequest // by branch
	judges string                             // in words
	tests  string                             // where they run, in words
	static bool
	stop   func() error
}

// start starts GitHub and the App. What was started is stopped again on an error.
func start(ctx context.Context, o options) (p *playground, err error) {
	dir, err := os.MkdirTemp("", "prosecutor-playground-")
	if err != nil {
		return nil, err
	}
	var closing []func() error
	stop := func() error {
		var errs []error
		for i := len(closing) - 1; i >= 0; i-- {
			errs = append(errs, closing[i]())
		}
		return errors.Join(append(errs, os.RemoveAll(dir))...)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, stop())
		}
	}()
	judges, limits, words, err := chooseJudges(o.config)
	if err != nil {
		return nil, err
	}
	for _, sub := range []string{"github", "clones"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o700); err != nil {
			return nil, err
		}
	}
	gh, err := githubtest.Start(githubtest.Options{Address: o.listen, Dir: filepath.Join(dir, "github")})
	if err != nil {
		return nil, fmt.Errorf("starting the emulator of GitHub: %w", err)
	}
	closing = append(closing, gh.Close)
	p = &playground{
		github: gh, pulls: map[string]*githubtest.PullRequest{}, judges: words, static: review.StaticOnly(judges), stop: stop,
	}
	registered := gh.App()
	clients, err := ghclient.New(ghclient.Options{
		AppID: registered.ID, PrivateKey: registered.PrivateKeyPEM, REST: gh.REST, GraphQL: gh.GraphQL, HTML: gh.URL,
		WriteRate: 1000, WriteBurst: 1000, // nobody's limits are at stake here
	})
	if err != nil {
		return nil, err
	}
	closing = append(closing, func() error { clients.Close(); return nil })
	if p.store, err = store.Open(ctx, filepath.Join(dir, "prosecutor.db")); err != nil {
		return nil, err
	}
	closing = append(closing, p.store.Close)
	hollow := config.DefaultServer().HollowTest
	hollow.Sandbox, p.tests = confinement(ctx, dir)
	p.app, err = app.New(ctx, app.Options{
		HollowTest: hollow,
		Store:      p.store, Clients: clients, Judges: judges, Limits: limits, AppID: registered.ID, Slug: registered.Slug,
		Secrets: [][]byte{[]byte(registered.WebhookSecret)}, GitDir: filepath.Join(dir, "clones"), Version: "playground",
		Queue: queue.Options{Poll: 50 * time.Millisecond, Grace: 2 * time.Second},
	})
	if err != nil {
		return nil, err
	}
	work, err := p.work(ctx)
	if err != nil {
		return nil, err
	}
	closing = append(closing, work)
	p.repo = gh.AddRepo("acme/pay", baseFiles())
	p.repo.Collaborator(maintainer, "write")
	p.pages()
	return p, nil
}

// confinement is how the tests of the sample run: in the sandbox where there is one. Where there is none they run as they are,
// for they are this program's own and nobody else's.
func confinement(ctx context.Context, dir string) (setting, words string) {
	if _, err := sandbox.New(ctx, sandbox.Options{Scratch: dir}); err != nil {
		return config.SandboxNone, "without a sandbox, as they are the sample's own (" + err.Error() + ")"
	}
	return config.SandboxBubblewrap, "in a bubblewrap sandbox"
}

// work serves the webhook and runs the App. It returns what stops both.
func (p *playground) work(ctx context.Context) (stop func() error, err error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	srv := &http.Server{Handler: p.app.Handler(), ReadHeaderTimeout: 5 * time.Second}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	p.github.SetWebhook("http://" + l.Addr().String() + "/api/github/hook")
	working, cancel := context.WithCancel(context.WithoutCancel(ctx))
	worked := make(chan error, 1)
	go func() { worked <- p.app.Run(working, 3*time.Second) }()
	return func() error {
		err := srv.Close()
		cancel()
		if serveErr := <-served; !errors.Is(serveErr, http.ErrServerClosed) {
			err = errors.Join(err, serveErr)
		}
		return errors.Join(err, <-worked)
	}, nil
}

// open pushes every branch and opens its pull request. A branch with more commits gets them while the first is judged.
func (p *playground) open(list []change) error {
	for _, c := range list {
		p.repo.Commit(c.branch, c.commits[0].message, c.commits[0].write)
		p.pulls[c.branch] = p.repo.OpenPR(githubtest.PR{Title: c.title, Body: c.commits[len(c.commits)-1].message, Head: c.branch, Author: author})
		for _, more := range c.commits[1:] {
			p.repo.Commit(c.branch, more.message, more.write)
		}
	}
	return nil
}

// chooseJudges takes the judges of a server file, else those whose key is in the environment, else the static rules.
func chooseJudges(file string) ([]judge.Judge, map[string]judge.Limits, string, error) {
	server := config.DefaultServer()
	if file != "" {
		var err error
		if server, err = config.LoadServer(file); err != nil {
			return nil, nil, "", err
		}
	} else {
		for variable, j := range map[string]config.JudgeConfig{
			"ANTHROPIC_API_KEY": {Name: "claude", Adapter: config.AdapterAnthropic, Family: "anthropic", Model: "claude-sonnet-4-5"},
			"OPENAI_API_KEY":    {Name: "gpt", Adapter: config.AdapterOpenAI, Family: "openai", Model: "gpt-5"},
		} {
			if j.APIKeyEnv = variable; os.Getenv(variable) != "" {
				server.Judges = append(server.Judges, j.WithDefaults())
			}
		}
	}
	judges, err := factory.New(server, os.Getenv)
	if err != nil {
		return nil, nil, "", err
	}
	words := "static rules (no key, no network)"
	if !review.StaticOnly(judges) {
		words = ""
		for i, j := range judges {
			if i > 0 {
				words += ", "
			}
			words += j.Info().ID
		}
	}
	return judges, judge.LimitsOf(server), words, nil
}
