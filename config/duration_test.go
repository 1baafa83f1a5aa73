package config

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestParseDuration(t *testing.T) {
	for _, c := range []struct {
		text string
		want time.Duration
		ok   bool
	}{
		{"90s", 90 * time.Second, true},
		{"30m", 30 * time.Minute, true},
		{"1h30m", 90 * time.Minute, true},
		{"1.5h", 90 * time.Minute, true},
		{"180d", 180 * 24 * time.Hour, true},
		{"1d12h", 36 * time.Hour, true},
		{"0s", 0, true},
		{"-5m", -5 * time.Minute, true},
		{"106751d", 106751 * 24 * time.Hour, true},
		{"", 0, false},
		{"30", 0, false},
		{"d", 0, false},
		{"1.5d", 0, false},
		{"-1d", 0, false},
		{"1d-1h", 0, false},
		{"1d 1h", 0, false},
		{"1h1d", 0, false},
		{"1d1d", 0, false},
		{"2 h", 0, false},
		{"1y", 0, false},
		{"106752d", 0, false},
		{"106751d24h", 0, false},
		{"99999999999999999999d", 0, false},
	} {
		got, err := ParseDuration(c.text)
		if (err == nil) != c.ok || time.Duration(got) != c.want {
			t.Errorf("%q: got %v, %v; want %v, ok %v", c.text, time.Duration(got), err, c.want, c.ok)
		}
	}
}

func TestDurationIsWrittenShort(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 2 * time.Hour: "2h", 90 * time.Minute: "1h30m", 90 * time.Second: "1m30s", 24 * time.Hour: "1d", 180 * 24 * time.Hour: "180d",
		36 * time.Hour: "36h", 10 * time.Minute: "10m", 10 * time.Second: "10s", time.Hour + 30*time.Second: "1h0m30s", -time.Hour: "-1h",
	} {
		if got := Duration(d).String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestDurationIsReadBackAsWritten(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		want := Duration(rapid.Int64Range(0, math.MaxInt64).Draw(rt, "duration"))
		data, err := json.Marshal(want)
		if err != nil {
			rt.Fatal(err)
		}
		var got Duration
		if err := json.Unmarshal(data, &got); err != nil || got != want {
			rt.Fatalf("%s: got %v, %v", data, got, err)
		}
	})
}
