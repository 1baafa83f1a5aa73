package githubtest

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// tokenLife is how long an installation's token lives.
const tokenLife = time.Hour

func appRoutes() map[string]route {
	return map[string]route{
		"GET /app": {appOnly: true, handle: func(c *call) reply { return ok(c.s.appJSON(c.who.app)) }},
		"GET /app/installations": {appOnly: true, handle: func(c *call) reply {
			return list(c, c.s.sortedInstallations(), func(in *installation) any { return c.s.installationJSON(in) })
		}},
		"GET /app/installations/{installation_id}": {appOnly: true, handle: func(c *call) reply {
			in := c.s.installations[c.number("installation_id")]
			if in == nil {
				return notFound()
			}
			return ok(c.s.installationJSON(in))
		}},
		"POST /app/installations/{installation_id}/access_tokens": {appOnly: true, handle: createToken},
		"POST /app-manifests/{code}/conversions":                  {need: "public", handle: convertManifest},
		"GET /app/hook/config":                                    {appOnly: true, handle: func(c *call) reply { return ok(c.s.hookJSON()) }},
		"PATCH /app/hook/config": {appOnly: true, handle: func(c *call) reply {
			var in struct{ URL, Secret *string }
			c.decode(&in)
			if in.URL != nil {
				c.s.hook.url = *in.URL
			}
			if in.Secret != nil {
				c.s.hook.secret = *in.Secret
			}
			return ok(c.s.hookJSON())
		}},
		"GET /repos/{owner}/{repo}/installation": {handle: func(c *call) reply {
			in := c.s.installed(c.repo)
			if in == nil {
				return notFound()
			}
			return ok(c.s.installationJSON(in))
		}},
		"DELETE /installation/token": {handle: func(c *call) reply {
			if c.who.token == nil {
				return failure(http.StatusForbidden, inaccessible)
			}
			delete(c.s.tokens, c.who.token.value)
			return noContent()
		}},
		"GET /installation/repositories": {handle: func(c *call) reply {
			if c.who.token == nil {
				return failure(http.StatusForbidden, inaccessible)
			}
			var seen []*Repo
			for _, r := range c.s.sortedRepos() {
				if c.who.token.covers(c.who.installation, r) {
					seen = append(seen, r)
				}
			}
			return listIn(c, "repositories", seen, func(r *Repo) any { return c.s.repoJSON(r) })
		}},
		"GET /rate_limit": {handle: func(c *call) reply {
			b := c.s.budget(c.who)
			b.used-- // asking is free
			rate := func(limit, used int) object {
				return object{"limit": limit, "used": used, "remaining": max(0, limit-used), "reset": b.reset.Unix()}
			}
			core := rate(c.s.hourly(c.who), b.used)
			return ok(object{"resources": object{"core": core, "search": rate(30, 0), "graphql": rate(c.s.hourly(c.who), c.s.graphBudget(c.who).used), "integration_manifest": rate(hourlyLimit, 0)}, "rate": core})
		}},
		"GET /user": {handle: func(c *call) reply {
			if c.who.login == "" || c.who.token != nil {
				return failure(http.StatusForbidden, inaccessible)
			}
			return ok(c.s.publicUserJSON(c.who.login))
		}},
		"GET /users/{username}": {need: "public", handle: func(c *call) reply {
			if c.s.accounts[strings.ToLower(c.param("username"))] == nil {
				return notFound()
			}
			return ok(c.s.publicUserJSON(c.param("username")))
		}},
	}
}

func createToken(c *call) reply {
	in := c.s.installations[c.number("installation_id")]
	if in == nil {
		return notFound()
	}
	if !in.suspendedAt.IsZero() {
		return failure(http.StatusForbidden, "This installation has been suspended")
	}
	var ask struct {
		Repositories  []string          `json:"repositories"`
		RepositoryIDs []int64           `json:"repository_ids"`
		Permissions   map[string]string `json:"permissions"`
	}
	c.decode(&ask)
	if len(ask.Repositories)+len(ask.RepositoryIDs) > 500 {
		return refuse("Too many repositories were specified. The maximum is 500.")
	}
	t := &token{installation: in.id, permissions: maps.Clone(in.permissions), expires: c.s.now().Add(tokenLife)}
	var named []*Repo
	for _, id := range ask.RepositoryIDs {
		named = append(named, c.s.repos[id])
	}
	for _, name := range ask.Repositories {
		r, _ := c.s.find(in.account, name)
		named = append(named, r)
	}
	for _, r := range named {
		if r == nil || !t.covers(in, r) {
			return refuse("There is at least one repository that does not exist or is not accessible to the parent installation.")
		}
	}
	if len(named) > 0 {
		t.repos = map[int64]bool{}
		for _, r := range named {
			t.repos[r.id] = true
		}
	}
	if len(ask.Permissions) > 0 {
		for name, level := range ask.Permissions {
			if slices.Index(levels, in.permissions[name]) < slices.Index(levels, level) {
				return refuse("The permissions requested are not granted to this installation.")
			}
		}
		t.permissions = maps.Clone(ask.Permissions)
		t.permissions["metadata"] = "read"
	}
	// The form that is being rolled out since April 2026: long, with dots, of no fixed length.
	t.value = fmt.Sprintf("ghs_%d_%s.%s.%s", c.s.app.ID, "eyJhbGciOiJFUzI1NiJ9", randomText(64), randomText(86))
	c.s.tokens[t.value] = t
	body := object{"token": t.value, "expires_at": stamp(t.expires), "permissions": t.permissions, "repository_selection": in.selection()}
	if len(named) > 0 {
		body["repository_selection"] = "selected"
		var repos []any
		for _, r := range named {
			repos = append(repos, c.s.repoJSON(r))
		}
		body["repositories"] = repos
	}
	return created(body)
}

func (in *installation) selection() string {
	if in.repos == nil {
		return "all"
	}
	return "selected"
}

// installed returns the installation that covers a repository; the caller holds s.mu.
func (s *Server) installed(r *Repo) *installation {
	for _, in := range s.installations {
		if strings.EqualFold(in.account, r.owner) && (in.repos == nil || in.repos[r.id]) {
			return in
		}
	}
	return nil
}

// install installs the App on an account, on all of its repositories; the caller holds s.mu.
func (s *Server) install(account string) *installation {
	for _, in := range s.installations {
		if strings.EqualFold(in.account, account) {
			return in
		}
	}
	a := s.apps[s.app.Slug]
	in := &installation{id: s.id(), account: account, permissions: maps.Clone(a.permissions), events: slices.Clone(a.events), created: s.now()}
	s.installations[in.id] = in
	return in
}

// InstallationID returns the id of the App's installation on an account, zero when it is not installed there.
func (s *Server) InstallationID(account string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, in := range s.installations {
		if strings.EqualFold(in.account, account) {
			return in.id
		}
	}
	return 0
}

// Install installs the App on an account (again) and returns the installation's id. AddRepo does so by itself.
func (s *Server) Install(account string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	in := s.install(account)
	s.emit(event{name: "installation", action: "created", account: account, sender: s.admin(account)})
	return in.id
}

// Suspend suspends the App's installation on an account: its tokens stop working with a 403. Unsuspend ends that.
func (s *Server) Suspend(account string) { s.setSuspended(account, true) }

// Unsuspend is described with Suspend.
func (s *Server) Unsuspend(account string) { s.setSuspended(account, false) }

func (s *Server) setSuspended(account string, suspended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in := s.install(account)
	action := "unsuspend"
	in.suspendedAt = time.Time{}
	if suspended {
		action, in.suspendedAt = "suspend", s.now()
	}
	s.emit(event{name: "installation", action: action, account: account, sender: s.admin(account)})
}

// Uninstall removes the App from an account: its tokens are void and its installation is gone (404).
func (s *Server) Uninstall(account string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, in := range s.installations {
		if !strings.EqualFold(in.account, account) {
			continue
		}
		s.emit(event{name: "installation", action: "deleted", account: account, sender: s.admin(account)})
		delete(s.installations, id)
		for value, t := range s.tokens {
			if t.installation == id {
				delete(s.tokens, value)
			}
		}
	}
}

// SelectRepos limits the App's installation on an account to the named repositories ("pay", not "acme/pay").
func (s *Server) SelectRepos(account string, names ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in := s.install(account)
	before := in.repos
	in.repos = map[int64]bool{}
	for _, name := range names {
		if r, _ := s.find(account, name); r != nil {
			in.repos[r.id] = true
		}
	}
	var added, removed []*Repo
	for _, r := range s.sortedRepos() {
		if !strings.EqualFold(r.owner, account) {
			continue
		}
		had, has := before == nil || before[r.id], in.repos[r.id]
		switch {
		case had && !has:
			removed = append(removed, r)
		case has && !had:
			added = append(added, r)
		}
	}
	if len(added) > 0 {
		s.emit(event{name: "installation_repositories", action: "added", account: account, sender: s.admin(account), added: added})
	}
	if len(removed) > 0 {
		s.emit(event{name: "installation_repositories", action: "removed", account: account, sender: s.admin(account), removed: removed})
	}
}

// SetPermissions changes what the App's registration asks for; installations keep what they approved, as on GitHub,
// until Approve.
func (s *Server) SetPermissions(permissions map[string]string, events []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.apps[s.app.Slug]
	a.permissions, a.events = maps.Clone(permissions), slices.Clone(events)
}

// Approve gives an account's installation what the registration asks for.
func (s *Server) Approve(account string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in, a := s.install(account), s.apps[s.app.Slug]
	in.permissions, in.events = maps.Clone(a.permissions), slices.Clone(a.events)
	s.emit(event{name: "installation", action: "new_permissions_accepted", account: account, sender: s.admin(account)})
}

// ExpireTokens makes all installation tokens that were handed out invalid, as an hour would.
func (s *Server) ExpireTokens() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens = map[string]*token{}
}

// admin is the person who administers an account.
func (s *Server) admin(account string) string { return strings.ToLower(account) + "-admin" }

func (s *Server) sortedInstallations() []*installation {
	return slices.SortedFunc(maps.Values(s.installations), func(a, b *installation) int { return int(a.id - b.id) })
}

func (s *Server) sortedRepos() []*Repo {
	return slices.SortedFunc(maps.Values(s.repos), func(a, b *Repo) int { return int(a.id - b.id) })
}

func (s *Server) hookJSON() object {
	return object{"url": s.hook.url, "content_type": "json", "insecure_ssl": "0", "secret": "********"}
}

func (s *Server) appJSON(a *app) any {
	if a == nil {
		return nil
	}
	return object{
		"id": a.id, "slug": a.slug, "client_id": a.clientID, "node_id": nodeID("A", a.id), "name": a.name, "description": "",
		"owner": s.user(a.owner), "external_url": "https://example.com/" + a.slug, "html_url": s.URL + "/apps/" + a.slug,
		"created_at": stamp(a.created), "updated_at": stamp(a.created), "permissions": a.permissions, "events": a.events,
		"installations_count": len(s.installations),
	}
}

func (s *Server) installationJSON(in *installation) object {
	u := s.user(in.account)
	html := s.URL + "/organizations/" + in.account + "/settings/installations/" + strconv.FormatInt(in.id, 10)
	if u["type"] == "User" {
		html = s.URL + "/settings/installations/" + strconv.FormatInt(in.id, 10)
	}
	api := s.REST + "app/installations/" + strconv.FormatInt(in.id, 10)
	body := object{
		"id": in.id, "client_id": s.app.ClientID, "account": u, "access_tokens_url": api + "/access_tokens",
		"repositories_url": s.REST + "installation/repositories", "html_url": html, "app_id": s.app.ID, "target_id": u["id"], "target_type": u["type"],
		"permissions": in.permissions, "events": in.events, "single_file_name": nil, "has_multiple_single_files": false, "single_file_paths": []string{},
		"repository_selection": in.selection(), "created_at": stamp(in.created), "updated_at": stamp(in.created), "app_slug": s.app.Slug,
		"suspended_at": stamp(in.suspendedAt), "suspended_by": nil,
	}
	if !in.suspendedAt.IsZero() {
		body["suspended_by"] = s.user(s.admin(in.account))
	}
	return body
}
