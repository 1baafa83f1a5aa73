package ghclient

import (
	"net/url"
	"strings"
)

// routes are the endpoints that the App uses, the labels of its metrics: {} is any one segment, ** the rest of the path.
// What fits none is "other", so that no path, which is made of names that strangers choose, becomes a label. The first
// that fits counts.
var routes = splitRoutes(
	"app",
	"app/hook/config",
	"app/hook/deliveries",
	"app/hook/deliveries/{}",
	"app/hook/deliveries/{}/attempts",
	"app/installations",
	"app/installations/{}",
	"app/installations/{}/access_tokens",
	"app-manifests/{}/conversions",
	"installation/repositories",
	"installation/token",
	"rate_limit",
	"meta",
	"orgs/{}/members/{}",
	"orgs/{}/installation",
	"orgs/{}/teams/{}/members",
	"orgs/{}/teams/{}/memberships/{}",
	"users/{}",
	"repos/{}/{}",
	"repos/{}/{}/branches/{}",
	"repos/{}/{}/branches/{}/protection",
	"repos/{}/{}/check-runs",
	"repos/{}/{}/check-runs/{}",
	"repos/{}/{}/check-runs/{}/annotations",
	"repos/{}/{}/check-suites/{}",
	"repos/{}/{}/check-suites/{}/check-runs",
	"repos/{}/{}/code-scanning/alerts",
	"repos/{}/{}/code-scanning/alerts/{}",
	"repos/{}/{}/code-scanning/alerts/{}/instances",
	"repos/{}/{}/code-scanning/analyses",
	"repos/{}/{}/code-scanning/default-setup",
	"repos/{}/{}/collaborators/{}",
	"repos/{}/{}/collaborators/{}/permission",
	"repos/{}/{}/commits",
	"repos/{}/{}/commits/{}",
	"repos/{}/{}/commits/{}/check-runs",
	"repos/{}/{}/commits/{}/check-suites",
	"repos/{}/{}/commits/{}/pulls",
	"repos/{}/{}/commits/{}/status",
	"repos/{}/{}/commits/{}/statuses",
	"repos/{}/{}/compare/**",
	"repos/{}/{}/contents/**",
	"repos/{}/{}/git/blobs/{}",
	"repos/{}/{}/git/commits/{}",
	"repos/{}/{}/git/ref/**",
	"repos/{}/{}/git/refs/**",
	"repos/{}/{}/git/trees/**",
	"repos/{}/{}/issues/comments/{}",
	"repos/{}/{}/issues/comments/{}/reactions",
	"repos/{}/{}/issues/comments/{}/reactions/{}",
	"repos/{}/{}/issues/{}",
	"repos/{}/{}/issues/{}/comments",
	"repos/{}/{}/issues/{}/labels",
	"repos/{}/{}/issues/{}/labels/{}",
	"repos/{}/{}/installation",
	"repos/{}/{}/labels",
	"repos/{}/{}/pulls",
	"repos/{}/{}/pulls/comments/{}",
	"repos/{}/{}/pulls/comments/{}/reactions",
	"repos/{}/{}/pulls/comments/{}/reactions/{}",
	"repos/{}/{}/pulls/{}",
	"repos/{}/{}/pulls/{}/comments",
	"repos/{}/{}/pulls/{}/comments/{}/replies",
	"repos/{}/{}/pulls/{}/commits",
	"repos/{}/{}/pulls/{}/files",
	"repos/{}/{}/pulls/{}/requested_reviewers",
	"repos/{}/{}/pulls/{}/reviews",
	"repos/{}/{}/pulls/{}/reviews/{}",
	"repos/{}/{}/pulls/{}/reviews/{}/comments",
	"repos/{}/{}/pulls/{}/reviews/{}/dismissals",
	"repos/{}/{}/rules/branches/{}",
	"repos/{}/{}/statuses/{}",
	"repositories/{}",
	"repositories/{}/**",
)

type route struct {
	label    string
	segments []string
}

func splitRoutes(labels ...string) []route {
	out := make([]route, len(labels))
	for i, label := range labels {
		out[i] = route{label: label, segments: strings.Split(label, "/")}
	}
	return out
}

// routeOf returns the label of a URL: one of a fixed set.
func (c *Clients) routeOf(u *url.URL) string {
	if u.Path == c.graphql.Path && origin(u) == origin(c.graphql) {
		return graphQLResource
	}
	segments := strings.Split(c.apiPath(u), "/")
	for _, r := range routes {
		if r.matches(segments) {
			return r.label
		}
	}
	return "other"
}

func (r route) matches(segments []string) bool {
	for i, want := range r.segments {
		if want == "**" {
			return len(segments) > i
		}
		if i >= len(segments) || want != "{}" && want != segments[i] {
			return false
		}
	}
	return len(segments) == len(r.segments)
}
