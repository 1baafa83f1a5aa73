package ghclient

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// refusal is what GitHub says in the body of an error.
type refusal struct {
	Message       string `json:"message"`
	Documentation string `json:"documentation_url"`
	// Errors are the details of a 422: objects, or plain strings.
	Errors json.RawMessage `json:"errors"`
}

// maxMessage bounds what errors repeat of GitHub's text, in bytes.
const maxMessage = 300

// readRefusal reads the body of an error. A body that is no JSON (a proxy's page) is taken as text.
func readRefusal(body []byte) refusal {
	var r refusal
	if json.Unmarshal(body, &r) != nil {
		r = refusal{Message: string(body[:min(len(body), 4096)])}
	}
	return r
}

// text is the message as errors repeat it: one line, short, without secrets.
func (r refusal) text() string {
	text := strings.Join(strings.Fields(Redact(strings.ToValidUTF8(r.Message, "�"))), " ")
	if len(text) > maxMessage {
		cut := maxMessage
		for cut > 0 && !utf8.RuneStart(text[cut]) {
			cut--
		}
		text = text[:cut] + "…"
	}
	return text
}

// tooQuickly is in the wording of the guard at the creation of content.
const tooQuickly = "submitted too quickly"

// limitOf tells which limit a refusal speaks of, if any. GitHub answers limits with 403 or 429, and says which by headers,
// by wording, by both, or by wording alone (Rate limits for the REST API; hub4j/github-api#2009); GHES has the older
// wording about abuse. A 422 that speaks of haste is the same guard at the creation of content.
func limitOf(status int, h http.Header, r refusal) (Kind, bool) {
	message, doc := strings.ToLower(r.Message), strings.ToLower(r.Documentation)
	if status == http.StatusUnprocessableEntity {
		return Secondary, strings.Contains(message, tooQuickly) || strings.Contains(string(r.Errors), tooQuickly)
	}
	if status != http.StatusForbidden && status != http.StatusTooManyRequests {
		return "", false
	}
	switch {
	case strings.Contains(message, "abuse detection"), strings.HasSuffix(doc, "#abuse-rate-limits"):
		return Abuse, true
	case strings.Contains(message, "secondary rate limit"), strings.HasSuffix(doc, "secondary-rate-limits"):
		return Secondary, true
	case strings.Contains(message, "rate limit"):
		// "API rate limit exceeded for installation ID 1." and its like.
		return Primary, true
	case plainRefusal(h, message):
		// It may have used up the last request of the hour and still be a question of permission.
		return "", false
	case h.Get("Retry-After") != "":
		return Secondary, true
	case h.Get("X-RateLimit-Remaining") == "0":
		return Primary, true
	case status == http.StatusTooManyRequests:
		return Secondary, true
	}
	return "", false
}

// plainRefusal knows refusals that no waiting will change.
func plainRefusal(h http.Header, message string) bool {
	return h.Get("X-GitHub-SSO") != "" ||
		strings.Contains(message, "saml") ||
		strings.Contains(message, "not accessible") ||
		strings.Contains(message, "suspended") ||
		strings.Contains(message, "must have")
}

// retryAfter reads a Retry-After header: seconds, or a date by the server's clock.
func retryAfter(h http.Header, serverTime time.Time) (time.Duration, bool) {
	v := strings.TrimSpace(h.Get("Retry-After"))
	if v == "" {
		return 0, false
	}
	if seconds, err := strconv.ParseInt(v, 10, 64); err == nil {
		if seconds < 0 {
			return 0, false
		}
		return time.Duration(min(seconds, int64(maxPause/time.Second))) * time.Second, true
	}
	at, err := http.ParseTime(v)
	if err != nil || serverTime.IsZero() {
		return 0, false
	}
	return max(at.Sub(serverTime), 0), true
}

// rate is what the headers of an answer say about the hourly budget.
type rate struct {
	resource         string
	limit, remaining int
	reset            time.Time // by this host's clock
}

// readRate reads the budget of an answer. The reset is moved to this host's clock by the Date of the same answer, so that
// a wrong clock here does not shorten or prolong a wait. Servers without limits send no such headers.
func readRate(h http.Header, serverTime, now time.Time) (rate, bool) {
	limit, err1 := strconv.Atoi(h.Get("X-RateLimit-Limit"))
	remaining, err2 := strconv.Atoi(h.Get("X-RateLimit-Remaining"))
	reset, err3 := strconv.ParseInt(h.Get("X-RateLimit-Reset"), 10, 64)
	if err1 != nil || err2 != nil || err3 != nil || limit <= 0 {
		return rate{}, false
	}
	if serverTime.IsZero() {
		serverTime = now
	}
	wait := time.Unix(reset, 0).Sub(serverTime)
	wait = min(max(wait, 0), maxPause)
	return rate{resource: h.Get("X-RateLimit-Resource"), limit: limit, remaining: remaining, reset: now.Add(wait)}, true
}

// serverTime reads the Date header, or returns the zero time.
func serverTime(h http.Header) time.Time {
	t, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		return time.Time{}
	}
	return t
}
