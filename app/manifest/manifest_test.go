package manifest_test

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-github/v62/github"

	"github.com/prosecutor-bot/prosecutor/app/ghclient"
	"github.com/prosecutor-bot/prosecutor/app/manifest"
	"github.com/prosecutor-bot/prosecutor/test/githubtest"
)

func embedded(t *testing.T) *manifest.Manifest {
	t.Helper()
	m, err := manifest.Embedded()
	if err != nil {
		t.Fatalf("app.yml: %v", err)
	}
	return m
}

func TestTheBuiltInManifestAsksForWhatTheAppUses(t *testing.T) {
	m := embedded(t)
	want := map[string]string{
		"checks": "write", "contents": "read", "pull_requests": "write", "issues": "write", "metadata": "read", "security_events": "read",
		"merge_queues": "read", "actions": "read", "statuses": "read", "members": "read",
	}
	if diff := cmp.Diff(want, m.DefaultPermissions); diff != "" {
		t.Errorf("permissions (-want +got):\n%s", diff)
	}
	events := []string{
		"check_run", "check_suite", "code_scanning_alert", "issue_comment", "merge_group", "pull_request", "pull_request_review_comment", "push", "status",
	}
	if diff := cmp.Diff(events, slices.Sorted(slices.Values(m.DefaultEvents))); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if m.Public || m.Name == "" || m.URL == "" {
		t.Errorf("name %q, url %q, public %t", m.Name, m.URL, m.Public)
	}
}

func TestParseRefusesWhatGitHubWouldRefuse(t *testing.T) {
	const head = "name: x\nurl: https://example.com\npublic: false\n"
	tests := map[string]struct{ text, want string }{
		"an automatic event":             {head + "default_events: [installation]\ndefault_permissions: {checks: write}\n", "sends to every App"},
		"an event without permission":    {head + "default_events: [merge_group]\ndefault_permissions: {checks: write}\n", "needs the permission merge_queues"},
		"an event that nobody handles":   {head + "default_events: [watch]\ndefault_permissions: {checks: write}\n", "does not handle"},
		"an event twice":                 {head + "default_events: [push, push]\ndefault_permissions: {contents: read}\n", "twice"},
		"a level that does not exist":    {head + "default_events: [push]\ndefault_permissions: {contents: rw}\n", `"rw"`},
		"an unknown key":                 {head + "webhook: x\n", "webhook"},
		"a key twice":                    {head + "name: y\n", "name"},
		"no permissions":                 {head + "default_events: []\ndefault_permissions: {}\n", "must not be empty"},
		"a name that is too long":        {strings.Replace(head, "x", strings.Repeat("x", 35), 1) + "default_events: [push]\ndefault_permissions: {contents: read}\n", "34"},
		"a home page that is no https":   {strings.Replace(head, "https", "ftp", 1) + "default_events: [push]\ndefault_permissions: {contents: read}\n", "https URL"},
		"comment events need one of two": {head + "default_events: [issue_comment]\ndefault_permissions: {checks: write}\n", "issues or pull_requests"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := manifest.Parse([]byte(tt.text))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error about %q", err, tt.want)
			}
		})
	}
}

func liveAs(m *manifest.Manifest) manifest.Live {
	return manifest.Live{Slug: "prosecutor", Permissions: maps.Clone(m.DefaultPermissions), Events: slices.Clone(m.DefaultEvents)}
}

func TestCompareFindsNothingWhenTheLiveAppAgrees(t *testing.T) {
	live := liveAs(embedded(t))
	slices.Reverse(live.Events)
	live.Events = append(live.Events, "installation") // some servers list it
	if got := manifest.Compare(live); len(got) != 0 {
		t.Errorf("got %v", got)
	}
}

// The live App of dcoapp/app lacked the Merge queues permission and was subscribed to another event.
func TestCompareNamesAMissingPermissionAndEventWithTheirEffect(t *testing.T) {
	live := liveAs(embedded(t))
	delete(live.Permissions, "merge_queues")
	live.Permissions["checks"] = "read"
	live.Permissions["administration"] = "write"
	live.Permissions["contents"] = "write"
	live.Events = slices.DeleteFunc(live.Events, func(e string) bool { return e == "merge_group" })
	live.Events = append(live.Events, "merge_queue_entry")
	var got []string
	for _, d := range manifest.Compare(live) {
		if d.Missing != (d.Effect != "") {
			t.Errorf("%v: missing %t with effect %q", d, d.Missing, d.Effect)
		}
		got = append(got, d.String())
	}
	want := []string{
		"permission checks: read, app.yml says write; no verdict can be published",
		"permission merge_queues: not granted, app.yml says read; a merge queue that requires the check waits until it gives up",
		"event merge_group: not subscribed, app.yml says subscribed; a merge queue that requires the check waits until it gives up",
		"permission administration: the live App has more than app.yml (write instead of not needed)",
		"permission contents: the live App has more than app.yml (write instead of read)",
		"event merge_queue_entry: the live App has more than app.yml (subscribed instead of not needed)",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("differences (-want +got):\n%s", diff)
	}
}

func TestEveryNeedOfTheManifestHasAnEffect(t *testing.T) {
	for _, d := range manifest.Compare(manifest.Live{}) {
		if !d.Missing || d.Effect == "" {
			t.Errorf("%s %s: missing %t, effect %q", d.Kind, d.Name, d.Missing, d.Effect)
		}
	}
}

func TestALevelThatIsNotKnownDoesNotCountAsGranted(t *testing.T) {
	live := liveAs(embedded(t))
	live.Permissions["checks"] = "maintain"
	got := manifest.Compare(live)
	if len(got) != 1 || !got[0].Missing {
		t.Errorf("got %v", got)
	}
}

func TestFetchReadsPermissionsThatGoGitHubHasNoFieldFor(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/app" {
			t.Errorf("asked for %s", r.URL.Path)
		}
		_, _ = w.Write([]byte(`{"slug":"pro","owner":{"login":"acme","type":"Organization"},"permissions":{"merge_queues":"read"},"events":["merge_group"]}`))
	}))
	defer srv.Close()
	client := github.NewClient(srv.Client())
	client.BaseURL, _ = url.Parse(srv.URL + "/")
	live, err := manifest.Fetch(t.Context(), client)
	if err != nil {
		t.Fatal(err)
	}
	if live.Permissions["merge_queues"] != "read" || live.Slug != "pro" || !slices.Equal(live.Events, []string{"merge_group"}) {
		t.Errorf("got %+v", live)
	}
	if got, want := manifest.Advice("https://ghe.example/", live), "https://ghe.example/organizations/acme/settings/apps/pro/permissions"; !strings.Contains(got, want) {
		t.Errorf("advice %q lacks %s", got, want)
	}
}

func TestFetchSaysWhatItWasDoingWhenItFails(t *testing.T) {
	srv := httptest.NewServer(http.NotFoundHandler())
	defer srv.Close()
	client := github.NewClient(srv.Client())
	client.BaseURL, _ = url.Parse(srv.URL + "/")
	if _, err := manifest.Fetch(t.Context(), client); err == nil || !strings.Contains(err.Error(), "live App") {
		t.Errorf("got %v", err)
	}
}

func TestTheManifestAgainstAnApp(t *testing.T) {
	m := embedded(t)
	s := githubtest.New(t)
	app := s.App()
	clients, err := ghclient.New(ghclient.Options{AppID: app.ID, PrivateKey: app.PrivateKeyPEM, REST: s.REST, GraphQL: s.GraphQL, HTML: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer clients.Close()
	s.SetPermissions(m.DefaultPermissions, m.DefaultEvents)
	live, err := manifest.Fetch(t.Context(), clients.App())
	if err != nil {
		t.Fatal(err)
	}
	if got := manifest.Compare(live); len(got) != 0 {
		t.Errorf("an App registered from the manifest differs from it: %v", got)
	}
	permissions := maps.Clone(m.DefaultPermissions)
	delete(permissions, "merge_queues")
	s.SetPermissions(permissions, m.DefaultEvents)
	live, err = manifest.Fetch(t.Context(), clients.App())
	if err != nil {
		t.Fatal(err)
	}
	if got := manifest.Compare(live); len(got) == 0 || got[0].Name != "merge_queues" || !got[0].Missing {
		t.Errorf("got %v, want the missing permission", got)
	}
}
