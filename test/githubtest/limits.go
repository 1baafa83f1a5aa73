package githubtest

import (
	"fmt"
	"net/http"
	"strconv"
	"time"
)

const rateLimitDocs = "https://docs.github.com/rest/overview/rate-limits-for-the-rest-api"

// limited refuses a request when the caller has used up the hour; the caller holds s.mu. It runs after authentication and before
// the handler. Asking for the limit is free.
func (s *Server) limited(c *call) (reply, bool) {
	b := s.budget(c.who)
	if b.used <= hourlyLimit || c.match.Template == "/rate_limit" {
		return reply{}, false
	}
	return s.primaryLimit(c.who, http.StatusForbidden, b.reset), true
}

// primaryLimit is the refusal of a caller who has used up the hour.
func (s *Server) primaryLimit(who identity, status int, reset time.Time) reply {
	rep := failure(status, exceeded(who))
	rep.body.(object)["documentation_url"] = rateLimitDocs
	rep.header = http.Header{}
	for name, value := range map[string]string{
		"Limit": strconv.Itoa(hourlyLimit), "Remaining": "0", "Used": strconv.Itoa(hourlyLimit), "Reset": strconv.FormatInt(reset.Unix(), 10), "Resource": "core",
	} {
		rep.header.Set("X-RateLimit-"+name, value)
	}
	return rep
}

// exceeded is the message of a used-up hour.
func exceeded(who identity) string {
	switch {
	case who.installation != nil:
		return fmt.Sprintf("API rate limit exceeded for installation ID %d.", who.installation.id)
	case who.login != "":
		return fmt.Sprintf("API rate limit exceeded for user %s.", who.login)
	}
	return "API rate limit exceeded."
}

// Exhaust uses up what the App's installation on an account may ask for in this hour, of REST and of GraphQL.
func (s *Server) Exhaust(account string) { s.Spend(account, hourlyLimit) }

// Spend uses up that many requests of the hour of the App's installation on an account, and as many points of GraphQL.
func (s *Server) Spend(account string, requests int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in := s.installationOn(account)
	if in == nil {
		panic(fmt.Sprintf("githubtest: the App is not installed on %q", account))
	}
	who := identity{installation: in}
	for _, b := range []*budget{s.budget(who), s.graphBudget(who)} {
		b.used = min(b.used+requests, hourlyLimit)
	}
}

// Revoke takes a permission from the App's installation on an account, and from all of its tokens.
func (s *Server) Revoke(account, permission string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in := s.installationOn(account)
	if in == nil {
		return
	}
	delete(in.permissions, permission)
	for _, t := range s.tokens {
		if t.installation == in.id {
			delete(t.permissions, permission)
		}
	}
}
