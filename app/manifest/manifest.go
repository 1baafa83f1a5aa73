// Package manifest reads the manifest of the GitHub App (app.yml) and compares it with the App as it is registered.
//
// A manifest only seeds a new registration. An App that lacks a permission or an event gets no error, it just never hears
// of some things: merge queues have waited an hour for a check whose App was never told (dcoapp/app#306). So the live App
// is compared at start, and what is missing is said, with what it breaks.
package manifest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/google/go-github/v62/github"

	prosecutorbot "github.com/prosecutor-bot/prosecutor"
)

// Manifest is app.yml in Probot's convention. Field names are GitHub's.
type Manifest struct {
	Name        string `yaml:"name" json:"name"`
	Description string `yaml:"description,omitempty" json:"description,omitempty"`
	// URL is the App's home page.
	URL string `yaml:"url" json:"url"`
	// Public lets others than the owner install the App.
	Public bool `yaml:"public" json:"public"`
	// DefaultEvents are the webhook events to subscribe to.
	DefaultEvents []string `yaml:"default_events" json:"default_events"`
	// DefaultPermissions maps GitHub's names of permissions to "read" or "write".
	DefaultPermissions map[string]string `yaml:"default_permissions" json:"default_permissions"`
}

// automatic are the events that GitHub sends to every App: a manifest that names one is refused ("Default events
// unsupported").
var automatic = map[string]bool{
	"installation": true, "installation_repositories": true, "installation_target": true, "github_app_authorization": true,
}

// needs maps an event to the permissions of which one has to be granted for GitHub to offer it (Webhook events and
// payloads). An event that is not listed here is not known to this program, and is no part of its manifest.
var needs = map[string][]string{
	"check_run":                   {"checks"},
	"check_suite":                 {"checks"},
	"code_scanning_alert":         {"security_events"},
	"issue_comment":               {"issues", "pull_requests"},
	"merge_group":                 {"merge_queues"},
	"pull_request":                {"pull_requests"},
	"pull_request_review_comment": {"pull_requests"},
	"push":                        {"contents"},
	"status":                      {"statuses"},
}

// broken says what does not work without a permission or an event.
var broken = map[string]string{
	"actions":                     "conclusions of GitHub Actions are not read as evidence",
	"check_run":                   "Re-run and the buttons of the check do nothing, and evidence of other checks is noticed late",
	"check_suite":                 "Re-run all checks does nothing",
	"checks":                      "no verdict can be published",
	"code_scanning_alert":         "changed code scanning alerts are noticed late",
	"contents":                    "neither the policy nor the code can be read",
	"issue_comment":               "/prosecute is not heard",
	"issues":                      "no comment, reaction or label can be written",
	"members":                     "teams cannot be asked to review",
	"merge_group":                 "a merge queue that requires the check waits until it gives up",
	"merge_queues":                "a merge queue that requires the check waits until it gives up",
	"metadata":                    "nothing works",
	"pull_request":                "pull requests are not noticed",
	"pull_request_review_comment": "a finding cannot be dismissed by a reply to it",
	"pull_requests":               "no review can be written",
	"push":                        "a changed policy or base is noticed late",
	"security_events":             "code scanning is no evidence, and cases that ask for it cannot advance",
	"status":                      "evidence by commit statuses is noticed late",
	"statuses":                    "commit statuses are not read as evidence",
}

// Embedded returns the manifest that was built into the binary.
func Embedded() (*Manifest, error) {
	m, err := Parse(prosecutorbot.AppManifest)
	if err != nil {
		return nil, fmt.Errorf("the built-in app.yml: %w", err)
	}
	return m, nil
}

// Parse reads a manifest strictly, and checks that GitHub would take it: each event has its permission, and none is one
// that cannot be subscribed to.
func Parse(data []byte) (*Manifest, error) {
	var m Manifest
	if err := yaml.UnmarshalWithOptions(data, &m, yaml.Strict()); err != nil {
		return nil, fmt.Errorf("reading a manifest: %w", err)
	}
	return &m, m.validate()
}

func (m *Manifest) validate() error {
	var problems []error
	bad := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if m.Name == "" || len(m.Name) > 34 {
		bad("name is %q: GitHub takes 1 to 34 characters", m.Name)
	}
	if u, err := url.Parse(m.URL); err != nil || u.Scheme != "https" || u.Host == "" {
		bad("url is %q: it must be an https URL", m.URL)
	}
	if len(m.DefaultPermissions) == 0 || len(m.DefaultEvents) == 0 {
		bad("default_permissions and default_events must not be empty")
	}
	for _, name := range slices.Sorted(maps.Keys(m.DefaultPermissions)) {
		if level := m.DefaultPermissions[name]; rank(level) == 0 {
			bad("default_permissions.%s is %q: it must be read or write", name, level)
		}
	}
	seen := map[string]bool{}
	for _, event := range m.DefaultEvents {
		if seen[event] {
			bad("default_events has %s twice", event)
		}
		seen[event] = true
		permissions, known := needs[event]
		switch {
		case automatic[event]:
			bad("default_events has %s, which GitHub sends to every App and refuses in a manifest", event)
		case !known:
			bad("default_events has %s, which this program does not handle", event)
		case !slices.ContainsFunc(permissions, func(p string) bool { return m.DefaultPermissions[p] != "" }):
			bad("default_events has %s, which needs the permission %s", event, strings.Join(permissions, " or "))
		}
	}
	return errors.Join(problems...)
}

func rank(level string) int {
	return map[string]int{"read": 1, "write": 2, "admin": 3}[level]
}

// Live is an App, or one of its installations, as GitHub has it.
type Live struct {
	Slug string `json:"slug"`
	// Owner is who may change the App.
	Owner struct {
		Login string `json:"login"`
		Type  string `json:"type"`
	} `json:"owner"`
	Permissions map[string]string `json:"permissions"`
	Events      []string          `json:"events"`
}

// Fetch reads the live App with a client that speaks as the App. go-github's own type of it has no field for newer
// permissions.
func Fetch(ctx context.Context, app *github.Client) (Live, error) {
	var live Live
	req, err := app.NewRequest(http.MethodGet, "app", nil)
	if err != nil {
		return live, fmt.Errorf("asking for the live App: %w", err)
	}
	if _, err := app.Do(ctx, req, &live); err != nil {
		return live, fmt.Errorf("asking for the live App: %w", err)
	}
	return live, nil
}

// Kind tells what differs.
type Kind string

// The kinds of differences.
const (
	Permission Kind = "permission"
	Event      Kind = "event"
)

// Difference is one point in which the live App is not what the manifest says.
type Difference struct {
	Kind Kind
	Name string
	// Want and Have are levels of a permission, or "subscribed"; empty for none.
	Want, Have string
	// Missing is true when something does not work; false when the App has more than it needs.
	Missing bool
	// Effect says what does not work.
	Effect string
}

func (d Difference) String() string {
	have := d.Have
	if have == "" {
		have = "not granted"
		if d.Kind == Event {
			have = "not subscribed"
		}
	}
	if !d.Missing {
		want := d.Want
		if want == "" {
			want = "not needed"
		}
		return fmt.Sprintf("%s %s: the live App has more than app.yml (%s instead of %s)", d.Kind, d.Name, have, want)
	}
	return fmt.Sprintf("%s %s: %s, app.yml says %s; %s", d.Kind, d.Name, have, d.Want, d.Effect)
}

// subscribed is the level of an event.
const subscribed = "subscribed"

// Compare compares the live App with the built-in manifest. It returns nothing when they agree. It panics when the binary
// was built with an app.yml that [Parse] refuses, which the tests of this package prevent.
func Compare(live Live) []Difference {
	m, err := Embedded()
	if err != nil {
		panic(err)
	}
	return m.Compare(live)
}

// Compare lists the differences, what is missing first, each group by kind and name. Names that only the live App has are
// listed as well: a token can do no less than the App.
func (m *Manifest) Compare(live Live) []Difference {
	out := differences(Permission, m.DefaultPermissions, live.Permissions)
	out = append(out, differences(Event, levels(m.DefaultEvents), levels(live.Events))...)
	slices.SortStableFunc(out, func(a, b Difference) int {
		if a.Missing == b.Missing {
			return 0
		}
		if a.Missing {
			return -1
		}
		return 1
	})
	return out
}

func differences(kind Kind, want, have map[string]string) []Difference {
	names := map[string]bool{}
	for name := range want {
		names[name] = true
	}
	for name := range have {
		names[name] = true
	}
	var out []Difference
	for _, name := range slices.Sorted(maps.Keys(names)) {
		w, h := want[name], have[name]
		if w == h || kind == Event && automatic[name] {
			continue
		}
		d := Difference{Kind: kind, Name: name, Want: w, Have: h, Missing: w != "" && level(h) < level(w)}
		if d.Missing {
			d.Effect = broken[name]
		}
		out = append(out, d)
	}
	return out
}

// level orders what can be had. A level that is not known is less than any that is needed.
func level(s string) int {
	if s == subscribed {
		return 1
	}
	return rank(s)
}

func levels(events []string) map[string]string {
	out := make(map[string]string, len(events))
	for _, e := range events {
		out[e] = subscribed
	}
	return out
}

// Advice says where the differences are cured: on the App's settings page, and then on each installation, whose owner has
// to approve new permissions.
func Advice(html string, live Live) string {
	base := strings.TrimSuffix(html, "/")
	page := base + "/settings/apps/" + url.PathEscape(live.Slug)
	if live.Owner.Type == "Organization" {
		page = base + "/organizations/" + url.PathEscape(live.Owner.Login) + "/settings/apps/" + url.PathEscape(live.Slug)
	}
	return fmt.Sprintf("set permissions and then events on %s/permissions; installations must approve new permissions before they count", page)
}
