package setup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"unicode"

	"github.com/google/go-github/v62/github"

	"github.com/prosecutor-bot/prosecutor/app/ghclient"
)

// maxAnswer bounds GitHub's answer, in bytes; it is a few kilobytes.
const maxAnswer = 1 << 20

// conversion is what is read of the answer. The client's secret is for signing people in, which this App does not.
type conversion struct {
	ID            int64  `json:"id"`
	Slug          string `json:"slug"`
	HTMLURL       string `json:"html_url"`
	WebhookSecret string `json:"webhook_secret"`
	PEM           string `json:"pem"`
	Owner         struct {
		Login string `json:"login"`
		Type  string `json:"type"`
	} `json:"owner"`
}

// unreachedError is a failure that the same code may survive.
type unreachedError struct{ why string }

func (e *unreachedError) Error() string { return e.why }

// refusedError is an answer that makes an end of the code.
type refusedError struct{ why string }

func (e *refusedError) Error() string { return e.why }

// plausibleCode keeps out what cannot be a code, or would not stay one path segment: dots are not escaped.
func plausibleCode(code string) bool {
	return code != "" && code != "." && code != ".." && len(code) <= 512 && !strings.ContainsFunc(code, unicode.IsControl)
}

// exchange trades a code for the App's credentials. No error of it repeats the code or what GitHub answered.
func (s *Setup) exchange(ctx context.Context, code string) (*conversion, error) {
	// go-github's CompleteAppManifest puts the code into the path as it is.
	//nolint:gosec // the host is the operator's, and the escaped code cannot leave its place in the path
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.rest.String()+"/app-manifests/"+url.PathEscape(code)+"/conversions", http.NoBody)
	if err != nil {
		return nil, &refusedError{"the code is none that GitHub could be asked about"}
	}
	req.Header.Set("Accept", "application/vnd.github+json")
	req.Header.Set("User-Agent", "prosecutor")
	resp, err := s.client.Do(req) //nolint:gosec // as above
	if err != nil {
		var of *url.Error // its text has the URL, and so the code
		if errors.As(err, &of) {
			err = of.Err
		}
		return nil, &unreachedError{strings.ReplaceAll(err.Error(), code, "CODE")}
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusNotFound:
		return nil, &refusedError{"GitHub does not know the code (any more): a code is good once, for an hour"}
	case resp.StatusCode == http.StatusForbidden, resp.StatusCode == http.StatusTooManyRequests, resp.StatusCode >= 500:
		return nil, &unreachedError{fmt.Sprintf("GitHub answered %d", resp.StatusCode)}
	case resp.StatusCode != http.StatusCreated:
		return nil, &refusedError{fmt.Sprintf("GitHub answered %d to the code", resp.StatusCode)}
	}
	var c conversion
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(&c); err != nil {
		return nil, &refusedError{"GitHub's answer to the code cannot be read"}
	}
	if c.ID <= 0 || !slug.MatchString(c.Slug) {
		return nil, &refusedError{"GitHub's answer to the code names no App"}
	}
	return &c, nil
}

var (
	slug = regexp.MustCompile(`^[A-Za-z0-9](?:[A-Za-z0-9_-]{0,98}[A-Za-z0-9])?$`)
	// strong is a webhook secret that prosecutor serve takes, and that needs no quotes in any file of variables.
	strong = regexp.MustCompile(`^[A-Za-z0-9_-]{32,256}$`)
)

// register exchanges the code and keeps what it brings. After the exchange each error names the App, for it exists.
func (s *Setup) register(ctx context.Context, code string) (*Registered, error) {
	c, err := s.exchange(ctx, code)
	if err != nil {
		return nil, err
	}
	app := &Registered{
		AppID: c.ID, Slug: c.Slug, SettingsURL: s.settingsURL(c), InstallURL: s.appURL(c) + "/installations/new",
		KeyFile: s.files.key, EnvFile: s.files.env,
	}
	key, err := ghclient.LoadKey(c.PEM)
	if err != nil {
		return nil, fmt.Errorf("the App %d is registered, but the key that GitHub sent with it is of no use (%w): generate one at %s, or delete the App there", app.AppID, err, app.SettingsURL)
	}
	if err := s.files.writeKey(key); err != nil {
		return nil, fmt.Errorf("the App %d is registered, but its key could not be kept: generate another one at %s, or delete the App there: %w", app.AppID, app.SettingsURL, err)
	}
	webhookSecret := c.WebhookSecret
	var unset error
	if !strong.MatchString(webhookSecret) {
		// GitHub may answer without a secret, and an old server with a short one.
		webhookSecret = secret()
		if unset = s.setSecret(ctx, app.AppID, key, webhookSecret); unset != nil {
			webhookSecret = ""
		}
	}
	if err := s.files.writeEnv(app.AppID, webhookSecret); err != nil {
		return nil, fmt.Errorf("the App %d is registered and its key is in %s, but its variables could not be kept: set a new webhook secret at %s: %w", app.AppID, app.KeyFile, app.SettingsURL, err)
	}
	if unset != nil {
		return nil, fmt.Errorf("the App %d is registered and its key is in %s, but it has no webhook secret: set one of 32 characters or more at %s, and as %s in %s: %w",
			app.AppID, app.KeyFile, app.SettingsURL, s.files.secretVariable, app.EnvFile, unset)
	}
	return app, nil
}

// setSecret gives the App's webhook a secret.
func (s *Setup) setSecret(ctx context.Context, id int64, key []byte, value string) error {
	// The client asks for a GraphQL endpoint where none follows from REST; nothing is sent to it.
	clients, err := ghclient.New(ghclient.Options{AppID: id, PrivateKey: key, REST: s.rest.String() + "/", GraphQL: s.rest.String() + "/graphql", HTML: s.html.String()})
	if err != nil {
		return fmt.Errorf("a client of the new App: %w", err)
	}
	defer clients.Close()
	if _, _, err := clients.App().Apps.UpdateHookConfig(ctx, &github.HookConfig{Secret: &value}); err != nil {
		return fmt.Errorf("setting the secret of the App's webhook: %w", err)
	}
	return nil
}

// appURL is the App's public page. Its path differs between GitHub's products, so GitHub's word is taken, if it is about the
// host that was asked.
func (s *Setup) appURL(c *conversion) string {
	if u, err := url.Parse(c.HTMLURL); err == nil && u.Scheme == s.html.Scheme && strings.EqualFold(u.Host, s.html.Host) && u.User == nil &&
		strings.HasSuffix(u.Path, "/"+c.Slug) && u.RawQuery == "" && u.Fragment == "" {
		return u.String()
	}
	return s.html.String() + "/apps/" + url.PathEscape(c.Slug)
}

func (s *Setup) settingsURL(c *conversion) string {
	path := "/settings/apps/" + url.PathEscape(c.Slug)
	if c.Owner.Type == "Organization" {
		path = "/organizations/" + url.PathEscape(c.Owner.Login) + path
	}
	return s.html.String() + path
}
