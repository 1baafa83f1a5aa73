package record_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/prosecutor-bot/prosecutor/app/record"
)

var moment = time.Date(2026, 3, 1, 12, 0, 0, 123_456_789, time.FixedZone("", 2*60*60))

func sample(repo int64) record.Record {
	return record.Record{
		At: record.At(moment), Kind: record.Decision, Software: record.Software{Name: "prosecutor", Version: "v1"},
		Repository: record.Repository{ID: repo, Name: "acme/pay"}, PullRequest: 7,
		Case:     record.Case{Base: "b", Head: "h", PolicyHash: "p", SpecHash: "s"},
		Decision: "ADVANCE", KeepDays: 180,
	}
}

// The encoding and the hash are a promise to those who verify with programs of their own, so they are spelt out here.
func TestTheEncodingAndTheHashOfARecord(t *testing.T) {
	r := sample(5)
	r.Detail = "<b> \"q\" \\ \b\t\n\f\r\x01\x7f\u0085\u202e é 😀"
	s, err := record.Seal(record.Start(), r)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"at":"2026-03-01T10:00:00.123Z","case":{"base":"b","head":"h","policy_hash":"p","spec_hash":"s"},"decision":"ADVANCE",` +
		`"detail":"<b> \"q\" \\ \b\t\n\f\r\u0001` + "\x7f\u0085\u202e é 😀" + `","keep_days":180,"kind":"decision","pull_request":7,` +
		`"repository":{"id":5,"name":"acme/pay"},"sequence":1,"software":{"name":"prosecutor","version":"v1"},"version":1}`
	if string(s.Text) != want {
		t.Errorf("got  %s\nwant %s", s.Text, want)
	}
	zeros := strings.Repeat("0", 64)
	sum := sha256.Sum256([]byte("prosecutor evidence record 1\x00" + zeros + "\x00" + want))
	if s.Previous != record.Hash(zeros) || s.Hash != record.Hash(hex.EncodeToString(sum[:])) {
		t.Errorf("%s behind %s", s.Hash, s.Previous)
	}
	next, err := record.Seal(record.Point{Sequence: 1, Hash: s.Hash}, r)
	if err != nil || next.Previous != s.Hash || next.Hash == s.Hash || !strings.Contains(string(next.Text), `"sequence":2,`) {
		t.Errorf("%s behind %s, %v", next.Hash, next.Previous, err)
	}
}

func TestNumbersThatNotEveryReaderHasAreRefused(t *testing.T) {
	r := sample(5)
	r.Lenses = []record.Lens{{Attempts: []record.Attempt{{Passes: []record.Pass{{Call: record.Call{CostMicroUSD: 1<<53 - 1}}}}}}}
	if _, err := record.Seal(record.Start(), r); err != nil {
		t.Error(err)
	}
	for _, n := range []int64{1 << 53, -1 << 53} {
		r.Lenses[0].Attempts[0].Passes[0].CostMicroUSD = n
		if _, err := record.Seal(record.Start(), r); err == nil || !strings.Contains(err.Error(), "whole") {
			t.Errorf("%d: %v", n, err)
		}
	}
}

// Whatever the texts are: the encoding is valid JSON, says the same, and is the same when it is made again.
func TestEncodingKeepsWhatItIsGiven(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := sample(5)
		r.Detail = rapid.String().Draw(t, "detail")
		r.Findings = []record.Finding{{ID: rapid.String().Draw(t, "id"), StartLine: rapid.IntRange(-9, 1<<40).Draw(t, "line")}}
		s, err := record.Seal(record.Start(), r)
		if err != nil {
			t.Fatal(err)
		}
		var back record.Record
		if err := json.Unmarshal(s.Text, &back); err != nil {
			t.Fatalf("%v: %q", err, s.Text)
		}
		if back.Detail != r.Detail || back.Findings[0] != r.Findings[0] || !back.At.Equal(r.At.Time) {
			t.Fatalf("%+v", back)
		}
		again, err := record.Seal(record.Start(), back)
		if err != nil || again.Hash != s.Hash {
			t.Fatalf("%s, %v", again.Text, err)
		}
	})
}

func TestTextIsBounded(t *testing.T) {
	for _, c := range []struct {
		in   string
		most int
		want string
	}{
		{"", 3, ""},
		{"abc", 3, "abc"},
		{"abcd", 3, "abc…"},
		{"aé", 2, "a…"},
		{"aéb", 3, "aé…"},
		{"a\xff\xfeb", 10, "a\ufffdb"},
		{"a\xffbc", 3, "a\ufffdb…"},
		{"é", 1, "…"},
		{"\xa9\xa9\xa9", 2, "…"},
	} {
		if got := record.Text(c.in, c.most); got != c.want || !utf8.ValidString(got) {
			t.Errorf("Text(%q, %d) = %q, want %q", c.in, c.most, got, c.want)
		}
	}
}

func TestTimesThatAreNoneAreRefused(t *testing.T) {
	var at record.Time
	if err := json.Unmarshal([]byte(`"2026-03-01T10:00:00Z"`), &at); err == nil {
		t.Error("a time without milliseconds was read")
	}
}

func TestPlaces(t *testing.T) {
	hash := strings.Repeat("0a", 32)
	known := record.Known{Repository: 123, Point: record.Point{Sequence: 42, Hash: record.Hash(hash)}}
	text := "123:42:" + hash
	if known.String() != text {
		t.Error(known)
	}
	if back, err := record.ParseKnown(text); err != nil || back != known {
		t.Errorf("%v, %v", back, err)
	}
	for _, s := range []string{
		"", "42:" + hash, "0:42:" + hash, "123:0:" + hash, "-1:42:" + hash, "123:-1:" + hash, "x:42:" + hash, "123:x:" + hash, "123:42:" + hash[1:],
		"123:42:" + strings.ToUpper(hash), "123:42:" + hash + "00", "123:42:" + strings.Repeat("x", 64), text + ":",
		"123:42:" + hash + "0", "123:42:" + hash + "x", "99999999999999999999:42:" + hash, "123:99999999999999999999:" + hash,
	} {
		if k, err := record.ParseKnown(s); err == nil || !strings.Contains(err.Error(), "REPOSITORY:SEQUENCE:HASH") {
			t.Errorf("%q: %v, %v", s, k, err)
		}
	}
	if got := fmt.Sprint(record.Start()); got != "0:"+strings.Repeat("0", 64) {
		t.Error(got)
	}
}
