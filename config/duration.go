package config

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
)

// Duration is a time.Duration written as Go writes it, with d for days of 24 hours: 90s, 30m, 2h, 1h30m, 180d.
type Duration time.Duration

const day = 24 * time.Hour

// ParseDuration reads a duration as Go writes it, with d for days of 24 hours as an additional unit. A number without a
// unit is an error.
func ParseDuration(s string) (Duration, error) {
	if s == "" {
		return 0, errors.New("the duration is empty")
	}
	rest, days := s, time.Duration(0)
	if before, after, found := strings.Cut(s, "d"); found {
		n, ok := digits(before)
		if !ok || n > int64(math.MaxInt64/day) {
			return 0, fmt.Errorf("%q is no duration", s)
		}
		days, rest = time.Duration(n)*day, after
		if rest == "" {
			return Duration(days), nil
		}
		if (rest[0] < '0' || rest[0] > '9') && rest[0] != '.' { // no sign in the middle
			return 0, fmt.Errorf("%q is no duration", s)
		}
	}
	d, err := time.ParseDuration(rest)
	if err != nil {
		return 0, fmt.Errorf("%q is no duration", s)
	}
	if d > 0 && days > math.MaxInt64-d {
		return 0, fmt.Errorf("%q is too long", s)
	}
	return Duration(days + d), nil
}

// digits reads a plain decimal number of at most 18 digits.
func digits(s string) (int64, bool) {
	if s == "" || len(s) > 18 {
		return 0, false
	}
	var n int64
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}

// String writes the duration as short as it can be read back: 2h, not 2h0m0s, and 180d for whole days.
func (d Duration) String() string {
	t := time.Duration(d)
	if t >= day && t%day == 0 {
		return fmt.Sprintf("%dd", t/day)
	}
	s := t.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// MarshalText implements encoding.TextMarshaler with String.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler with ParseDuration.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := ParseDuration(string(text))
	if err != nil {
		return err
	}
	*d = v
	return nil
}
