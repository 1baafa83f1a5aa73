package record

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// domain keeps the hashes of records apart from those of anything else.
const domain = "prosecutor evidence record 1\x00"

// Hash is the hash of a record, in lower-case hexadecimal.
type Hash string

// Genesis stands where the hash of the record before the first one would: 64 zeros.
const Genesis Hash = "0000000000000000000000000000000000000000000000000000000000000000"

func (h Hash) valid() bool {
	raw, err := hex.DecodeString(string(h))
	return err == nil && len(raw) == sha256.Size && string(h) == strings.ToLower(string(h))
}

// Point is a place in a chain: a record's number and hash. Before the first record it is 0 and Genesis.
type Point struct {
	Sequence int64 `json:"sequence"`
	Hash     Hash  `json:"hash"`
}

// Start is the point before the first record.
func Start() Point { return Point{Hash: Genesis} }

// String is SEQUENCE:HASH.
func (p Point) String() string { return fmt.Sprintf("%d:%s", p.Sequence, p.Hash) }

// Known is a place in the chain of a repository that is known from elsewhere.
type Known struct {
	Repository int64
	Point
}

// String is REPOSITORY:SEQUENCE:HASH.
func (k Known) String() string { return fmt.Sprintf("%d:%s", k.Repository, k.Point) }

// ParseKnown reads what String writes.
func ParseKnown(s string) (Known, error) {
	parts := strings.Split(s, ":")
	if len(parts) == 3 {
		repo, err := strconv.ParseInt(parts[0], 10, 64)
		sequence, err2 := strconv.ParseInt(parts[1], 10, 64)
		k := Known{repo, Point{sequence, Hash(parts[2])}}
		if err == nil && err2 == nil && repo > 0 && sequence > 0 && k.Hash.valid() {
			return k, nil
		}
	}
	return Known{}, fmt.Errorf("%q is no place in a chain: it looks like REPOSITORY:SEQUENCE:HASH, as verify prints it", s)
}

// Sealed is a record in its chain.
type Sealed struct {
	Previous Hash
	Hash     Hash
	Text     []byte // the record in its one encoding
}

// Seal gives a record its place behind another one, and encodes it.
func Seal(previous Point, r Record) (Sealed, error) {
	r.Version = Version
	r.Sequence = previous.Sequence + 1
	raw, failed := json.Marshal(r)
	text, err := canonical(raw)
	if err = errors.Join(failed, err); err != nil {
		return Sealed{}, fmt.Errorf("encoding a record: %w", err)
	}
	return Sealed{Previous: previous.Hash, Hash: sum(previous.Hash, text), Text: text}, nil
}

// sum is the hash of a record: SHA-256 of the domain, the hash of the record before it as it is written, a zero byte, and
// the record in its one encoding.
func sum(previous Hash, text []byte) Hash {
	h := sha256.New()
	h.Write([]byte(domain))
	h.Write([]byte(previous))
	h.Write([]byte{0})
	h.Write(text)
	return Hash(hex.EncodeToString(h.Sum(nil)))
}
