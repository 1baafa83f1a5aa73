package githubtest

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

const rateLimitDocs = "https://docs.github.com/rest/overview/rate-limits-for-the-rest-api"

// What an installation may ask for in an hour grows with its repositories: fifty for each above twenty, up to a cap (Rate limits
// for the REST API; growth with users is not emulated).
const (
	freeRepos   = 20
	perRepo     = 50
	hourlyLimit = 5000
	hourlyCap   = 12_500
)

// hourly is how many requests the caller may make in an hour; the caller of it holds s.mu.
func (s *Server) hourly(who identity) int {
	if who.installation == nil {
		return hourlyLimit
	}
	n := 0
	for _, r := range s.repos {
		if s.installed(r) == who.installation {
			n++
		}
	}
	return min(hourlyCap, hourlyLimit+perRepo*max(0, n-freeRepos))
}

// limited refuses a request when the caller has used up the hour or, if that is enforced, was too hasty; the caller holds s.mu.
// It runs after authentication and before the handler. Asking for the limit is free.
func (s *Server) limited(c *call) (reply, bool) {
	if c.match.Template == "/rate_limit" {
		return reply{}, false
	}
	if b := s.budget(c.who); b.used > s.hourly(c.who) {
		return s.primaryLimit(c.who, http.StatusForbidden, b.reset), true
	}
	write := c.r.Method != http.MethodGet && c.r.Method != http.MethodHead
	return s.hasty(c.who, "rest", maxRESTPoints, write)
}

// primaryLimit is the refusal of a caller who has used up the hour.
func (s *Server) primaryLimit(who identity, status int, reset time.Time) reply {
	limit := strconv.Itoa(s.hourly(who))
	rep := failure(status, exceeded(who))
	rep.body.(object)["documentation_url"] = rateLimitDocs
	rep.header = http.Header{}
	for name, value := range map[string]string{"Limit": limit, "Remaining": "0", "Used": limit, "Reset": strconv.FormatInt(reset.Unix(), 10), "Resource": "core"} {
		rep.header.Set("X-RateLimit-"+name, value)
	}
	return rep
}

// Secondary limits (Rate limits for the REST API, About secondary rate limits): points a minute, where a read counts one and a
// write five, and content that is made a minute and an hour. The latter two GitHub gives as what holds "in general".
const (
	maxRESTPoints    = 900
	maxGraphPoints   = 2000
	writePoints      = 5
	maxWritesAMinute = 80
	maxWritesAnHour  = 500
	maxConcurrent    = 100 // of REST and GraphQL together
)

// haste is what one caller did in the last hour, and is doing now.
type haste struct {
	list    []use
	running int
}

type use struct {
	at     time.Time
	api    string
	points int
	write  bool
}

// EnforceSecondaryLimits makes the server refuse who asks too quickly, by the server's clock. It starts without, since tests are
// quicker than GitHub's clients may be.
func (s *Server) EnforceSecondaryLimits(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hurries = nil
	if on {
		s.hurries = map[string]*haste{}
	}
}

// hurry is what is known of a caller's haste; the caller of it holds s.mu, and s.hurries is not nil.
func (s *Server) hurry(who identity) *haste {
	h := s.hurries[who.payer()]
	if h == nil {
		h = &haste{}
		s.hurries[who.payer()] = h
	}
	return h
}

// enter counts a request as running until leave; crowded tells that too many of its caller's are.
func (s *Server) enter(r *http.Request) (leave func(), crowded bool) {
	s.mu.Lock()
	enforced := s.hurries != nil && strings.HasPrefix(r.URL.Path, "/api/")
	s.mu.Unlock()
	if !enforced {
		return func() {}, false
	}
	who, refused := s.authenticate(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hurries == nil || refused != nil {
		return func() {}, false
	}
	h := s.hurry(who)
	h.running++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		h.running--
	}, h.running > maxConcurrent
}

// hasty counts a request and refuses it when it breaks a secondary limit; the caller holds s.mu. Refused requests count too.
func (s *Server) hasty(who identity, api string, limit int, write bool) (reply, bool) {
	if s.hurries == nil {
		return reply{}, false
	}
	h := s.hurry(who)
	now := s.now()
	u := use{at: now, api: api, points: 1, write: write}
	if write {
		u.points = writePoints
	}
	h.list = append(slices.DeleteFunc(h.list, func(o use) bool { return now.Sub(o.at) >= time.Hour }), u)
	points, minute, hour := 0, 0, 0
	for _, o := range h.list {
		recent := now.Sub(o.at) < time.Minute
		if recent && o.api == api {
			points += o.points
		}
		if o.write {
			hour++
			if recent {
				minute++
			}
		}
	}
	if points <= limit && minute <= maxWritesAMinute && hour <= maxWritesAnHour {
		return reply{}, false
	}
	return slowDown(failure(http.StatusForbidden, s.secondaryText("")), secondaryDocs, time.Minute), true
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
func (s *Server) Exhaust(account string) { s.Spend(account, hourlyCap) }

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
		b.used = min(b.used+requests, s.hourly(who))
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
