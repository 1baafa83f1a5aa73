package githubtest

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// identity is who makes a request: the App by its JWT, an installation, a person, or nobody.
type identity struct {
	app          *app
	token        *token
	installation *installation
	login        string // of the person, or of the App's bot
	who          string
}

func (i identity) key() string { return i.who }

func (i identity) installationID() int64 {
	if i.installation == nil {
		return 0
	}
	return i.installation.id
}

// sees tells whether the identity may know that the repository exists; the caller holds s.mu.
func (i identity) sees(r *Repo) bool {
	if !r.private {
		return true
	}
	if i.token != nil {
		return i.token.covers(i.installation, r)
	}
	return i.login != "" && r.role(i.login) != ""
}

func (t *token) covers(in *installation, r *Repo) bool {
	return strings.EqualFold(in.account, r.owner) && (in.repos == nil || in.repos[r.id]) && (t.repos == nil || t.repos[r.id])
}

var levels = []string{"", "read", "write", "admin"}

// may tells whether the identity has a permission at a level on a repository; the caller holds s.mu.
func (i identity) may(r *Repo, permission, level string) bool {
	if i.token != nil {
		if r != nil && !i.token.covers(i.installation, r) {
			return !r.private && level == "read" && permission != "security_events"
		}
		// Whoever may see a repository may see its metadata. A pull request is an issue too: either permission comments on it.
		has := i.token.permissions[permission]
		if permission == "issues_or_pulls" {
			has = i.token.permissions["issues"]
			if other := i.token.permissions["pull_requests"]; slices.Index(levels, other) > slices.Index(levels, has) {
				has = other
			}
		}
		if permission == "metadata" {
			has = "read"
		}
		return slices.Index(levels, has) >= slices.Index(levels, level) && has != ""
	}
	if r == nil {
		return i.login != ""
	}
	role := r.role(i.login)
	if permission == "checks" && level == "write" {
		return false // Apps only
	}
	if level == "read" || permission == "issues_or_pulls" || permission == "pull_requests" {
		return role != "" || !r.private
	}
	return role == "write" || role == "maintain" || role == "admin"
}

// authenticate reads the Authorization header. A refusal is GitHub's 401.
func (s *Server) authenticate(r *http.Request) (identity, *reply) {
	header := r.Header.Get("Authorization")
	scheme, credential, _ := strings.Cut(header, " ")
	credential = strings.TrimSpace(credential)
	switch {
	case header == "":
		return identity{who: "anonymous"}, nil
	case strings.EqualFold(scheme, "Basic"):
		_, password, ok := r.BasicAuth()
		if !ok {
			return bad("Bad credentials")
		}
		credential = password
	case !strings.EqualFold(scheme, "Bearer") && !strings.EqualFold(scheme, "token"):
		return bad("Bad credentials")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.tokens[credential]; t != nil {
		in := s.installations[t.installation]
		if in == nil || !s.now().Before(t.expires) {
			return bad("Bad credentials")
		}
		if !in.suspendedAt.IsZero() {
			rep := failure(http.StatusForbidden, "This installation has been suspended")
			return identity{who: "suspended"}, &rep
		}
		return identity{token: t, installation: in, login: s.app.BotLogin(), who: "token " + t.value}, nil
	}
	if login, known := s.users[credential]; known {
		return identity{login: login, who: "user " + login}, nil
	}
	if strings.Count(credential, ".") == 2 && !strings.HasPrefix(credential, "ghs_") {
		return s.authenticateApp(credential)
	}
	return bad("Bad credentials")
}

func bad(message string) (identity, *reply) {
	rep := failure(http.StatusUnauthorized, message)
	return identity{who: "refused"}, &rep
}

// The messages by which GitHub refuses a JWT.
const (
	undecodable = "A JSON web token could not be decoded"
	badExpiry   = "'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires"
	farExpiry   = "'Expiration time' claim ('exp') is too far in the future"
	badIssuedAt = "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued"
	badIssuer   = "'Issuer' claim ('iss') must be an Integer"
	noIntegrat  = "Integration not found"
	maxLifetime = 10 * time.Minute
)

// authenticateApp checks a JWT: RS256, issued in the past, expiring within ten minutes.
func (s *Server) authenticateApp(jwt string) (identity, *reply) {
	parts := strings.Split(jwt, ".")
	var raw [3][]byte
	for i, p := range parts {
		b, err := base64.RawURLEncoding.DecodeString(p)
		if err != nil {
			return bad(undecodable)
		}
		raw[i] = b
	}
	var head struct{ Alg string }
	var claims struct {
		Iss json.RawMessage `json:"iss"`
		Iat json.Number     `json:"iat"`
		Exp json.Number     `json:"exp"`
	}
	if json.Unmarshal(raw[0], &head) != nil || json.Unmarshal(raw[1], &claims) != nil || head.Alg != "RS256" {
		return bad(undecodable)
	}
	issuer := strings.Trim(string(claims.Iss), `"`)
	if issuer == "" {
		return bad(badIssuer)
	}
	var a *app
	for _, candidate := range s.apps {
		if candidate.key != nil && (issuer == strconv.FormatInt(candidate.id, 10) || issuer == candidate.clientID) {
			a = candidate
		}
	}
	if a == nil {
		return notIntegrated()
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if rsa.VerifyPKCS1v15(&a.key.PublicKey, crypto.SHA256, sum[:], raw[2]) != nil {
		return bad(undecodable)
	}
	now := s.opt.Now()
	iat, err := claims.Iat.Int64()
	if err != nil || time.Unix(iat, 0).After(now) {
		return bad(badIssuedAt)
	}
	exp, err := claims.Exp.Int64()
	if err != nil || !time.Unix(exp, 0).After(now) {
		return bad(badExpiry)
	}
	if time.Unix(exp, 0).Sub(now) > maxLifetime {
		return bad(farExpiry)
	}
	return identity{app: a, who: "app " + issuer}, nil
}

func notIntegrated() (identity, *reply) {
	rep := failure(http.StatusNotFound, noIntegrat)
	return identity{who: "refused"}, &rep
}

// budget counts the requests of one installation or person in an hour.
type budget struct {
	used  int
	reset time.Time
}

func (i identity) payer() string {
	switch {
	case i.installation != nil:
		return "installation " + strconv.FormatInt(i.installation.id, 10)
	case i.who == "":
		return "anonymous"
	}
	return i.who
}

// spend counts a request; the caller holds s.mu.
func (s *Server) spend(who identity) *budget {
	b := s.budget(who)
	b.used++
	return b
}

// budget returns the counter of the running hour; the caller holds s.mu.
func (s *Server) budget(who identity) *budget {
	b := s.spent[who.payer()]
	if now := s.now(); b == nil || !now.Before(b.reset) {
		b = &budget{reset: now.Add(time.Hour)}
		s.spent[who.payer()] = b
	}
	return b
}

func (s *Server) refund(who identity) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.budget(who).used--
}

func (s *Server) rateHeaders(h http.Header, who identity) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.budget(who)
	if h.Get("X-RateLimit-Limit") != "" {
		return // a refusal brought its own
	}
	h.Set("X-RateLimit-Limit", strconv.Itoa(s.hourly(who)))
	h.Set("X-RateLimit-Remaining", strconv.Itoa(max(0, s.hourly(who)-b.used)))
	h.Set("X-RateLimit-Used", strconv.Itoa(b.used))
	h.Set("X-RateLimit-Reset", strconv.FormatInt(b.reset.Unix(), 10))
	h.Set("X-RateLimit-Resource", "core")
}

// UserToken returns a personal access token with which a person calls the API.
func (s *Server) UserToken(login string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for t, l := range s.users {
		if l == login {
			return t
		}
	}
	t := fmt.Sprintf("ghp_%036d", s.id())
	s.users[t] = login
	s.user(login)
	return t
}
