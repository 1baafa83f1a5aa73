package judge

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// MaxReset bounds how far in the future a provider's reset time is believed. Quotas are renewed monthly at the latest;
// a larger value is a mistake of the provider and must not keep a breaker open for years.
const MaxReset = 32 * 24 * time.Hour

// RetryAfter reads Retry-After-Ms and Retry-After (seconds or an HTTP date, RFC 9110 10.2.3) and returns the wait from
// now on: 0 for a date that has passed, at most MaxReset. ok is false when neither header is there or legible.
func RetryAfter(h http.Header, now time.Time) (wait time.Duration, ok bool) {
	if ms, err := strconv.ParseFloat(strings.TrimSpace(h.Get("Retry-After-Ms")), 64); err == nil {
		return bounded(ms, time.Millisecond)
	}
	v := strings.TrimSpace(h.Get("Retry-After"))
	if v == "" {
		return 0, false
	}
	if s, err := strconv.ParseFloat(v, 64); err == nil {
		return bounded(s, time.Second)
	}
	if t, err := http.ParseTime(v); err == nil {
		return min(max(t.Sub(now), 0), MaxReset), true
	}
	return 0, false
}

func bounded(n float64, unit time.Duration) (time.Duration, bool) {
	if math.IsNaN(n) || n < 0 {
		return 0, false
	}
	if n*float64(unit) > float64(MaxReset) {
		return MaxReset, true
	}
	return time.Duration(n * float64(unit)), true
}

// ResetTime reads from the headers of an error response when the provider serves again. Retry-After decides where it is
// given. Otherwise the reset headers of OpenAI (x-ratelimit-reset-*: a duration, a number of seconds or a Unix time) and
// Anthropic (anthropic-ratelimit-*-reset: RFC 3339) are read: the latest reset of the limits that have nothing left, or
// of all limits when none admits to that. Zero when no header says, or the time has passed.
func ResetTime(h http.Header, now time.Time) time.Time {
	if wait, ok := RetryAfter(h, now); ok {
		return now.Add(wait)
	}
	var all, exhausted time.Time
	for name, values := range h {
		remaining, ok := remainingHeader(strings.ToLower(name))
		if !ok || len(values) == 0 {
			continue
		}
		at := resetValue(strings.TrimSpace(values[0]), now)
		if at.After(all) {
			all = at
		}
		if strings.TrimSpace(h.Get(remaining)) == "0" && at.After(exhausted) {
			exhausted = at
		}
	}
	at := all
	if !exhausted.IsZero() {
		at = exhausted
	}
	if !at.After(now) {
		return time.Time{}
	}
	if latest := now.Add(MaxReset); at.After(latest) {
		return latest
	}
	return at
}

// remainingHeader tells whether a header names a reset time, and which header counts what is left of that limit.
func remainingHeader(name string) (remaining string, ok bool) {
	switch {
	case strings.HasPrefix(name, "x-ratelimit-reset"):
		return "x-ratelimit-remaining" + strings.TrimPrefix(name, "x-ratelimit-reset"), true
	case strings.HasPrefix(name, "anthropic-ratelimit-") && strings.HasSuffix(name, "-reset"):
		return strings.TrimSuffix(name, "-reset") + "-remaining", true
	default:
		return "", false
	}
}

// resetValue reads one reset header. A number is a Unix time in milliseconds or seconds when it is large enough to be
// one, and a number of seconds from now otherwise.
func resetValue(v string, now time.Time) time.Time {
	if t, err := time.Parse(time.RFC3339, v); err == nil {
		return t
	}
	if n, err := strconv.ParseFloat(v, 64); err == nil {
		switch {
		case math.IsNaN(n) || n < 0 || n > 1e15:
			return time.Time{}
		case n >= 1e11:
			return time.UnixMilli(int64(n))
		case n >= 1e8:
			return time.Unix(int64(n), 0)
		default:
			return now.Add(time.Duration(n * float64(time.Second)))
		}
	}
	if d, err := time.ParseDuration(v); err == nil && d >= 0 {
		return now.Add(d)
	}
	return time.Time{}
}
