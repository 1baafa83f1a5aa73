package githubtest

import (
	"crypto/rand"
	"fmt"
	"strings"
)

// account returns the account of that name, making it when there is none: a bot when the name ends in "[bot]", else a
// person. Owners of repositories are organizations (see AddRepo). The caller holds s.mu.
func (s *Server) account(login string) *account {
	key := strings.ToLower(login)
	if a := s.accounts[key]; a != nil {
		return a
	}
	a := &account{id: s.id(), login: login, kind: "User"}
	if strings.HasSuffix(login, "[bot]") {
		a.kind = "Bot"
	}
	s.accounts[key] = a
	return a
}

// AddUser makes an account of a kind ("User", "Bot" or "Organization"); people are made by being named anywhere else.
func (s *Server) AddUser(login, kind string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.account(login).kind = kind
}

// user is an account as others see it; the caller holds s.mu.
func (s *Server) user(login string) object {
	a := s.account(login)
	html := s.URL + "/" + a.login
	if slug, isBot := strings.CutSuffix(a.login, "[bot]"); isBot {
		html = s.URL + "/apps/" + slug
	}
	escaped := strings.NewReplacer("[", "%5B", "]", "%5D").Replace(a.login)
	api := s.REST + "users/" + escaped
	return object{
		"login": a.login, "id": a.id, "node_id": nodeID(a.kind[:1], a.id), "avatar_url": fmt.Sprintf("%s/avatars/%d", s.URL, a.id), "gravatar_id": "",
		"url": api, "html_url": html, "followers_url": api + "/followers", "following_url": api + "/following{/other_user}",
		"gists_url": api + "/gists{/gist_id}", "starred_url": api + "/starred{/owner}{/repo}", "subscriptions_url": api + "/subscriptions",
		"organizations_url": api + "/orgs", "repos_url": api + "/repos", "events_url": api + "/events{/privacy}",
		"received_events_url": api + "/received_events", "type": a.kind, "site_admin": false, "user_view_type": "public",
	}
}

// userOrNull is null for nobody.
func (s *Server) userOrNull(login string) any {
	if login == "" {
		return nil
	}
	return s.user(login)
}

func (s *Server) userList(logins []string) []any {
	out := []any{}
	for _, l := range logins {
		out = append(out, s.user(l))
	}
	return out
}

// publicUserJSON is an account's own page.
func (s *Server) publicUserJSON(login string) object {
	u := s.user(login)
	for _, k := range []string{"name", "company", "location", "email", "hireable", "bio", "blog"} {
		u[k] = nil
	}
	for _, k := range []string{"public_repos", "public_gists", "followers", "following"} {
		u[k] = 0
	}
	u["created_at"], u["updated_at"] = stamp(s.now()), stamp(s.now())
	return u
}

// nodeID is the GraphQL id of an object: opaque to clients, and readable for whoever debugs.
func nodeID(kind string, id int64) string { return fmt.Sprintf("%s_kwDO%d", kind, id) }

func randomText(n int) string {
	var b strings.Builder
	for b.Len() < n {
		b.WriteString(rand.Text())
	}
	return b.String()[:n]
}
