package record

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Sink takes chains, one after the other: Begin, its records in their order, End. An error ends the reading.
type Sink interface {
	// Begin begins the chain of a repository, whose records up to the checkpoint were pruned.
	Begin(repo Repository, checkpoint Point) error
	// Record takes the next record.
	Record(s Sealed) error
	// End ends the chain. head is what is known of its last record; nil when nothing is.
	End(head *Point) error
}

// Status is what verifying came to.
type Status int

// The statuses, best first.
const (
	Intact  Status = iota
	Unknown        // it could not be told
	Broken
)

// Report is what verifying a chain came to.
type Report struct {
	Repository Repository
	Status     Status
	Checkpoint Point
	Head       Point // the last record that was found to be in its place
	// Sequence is where the chain is broken first; 0 when it is not.
	Sequence int64
	Problem  string // of a chain that is not intact

	lost bool // what follows cannot be told
}

// Verifier verifies chains. It is a Sink, and reads no more than it is given: it holds one record at a time.
type Verifier struct {
	known   []Known
	reports []Report
	seen    map[int64]bool // repositories
}

var _ Sink = (*Verifier)(nil)

// NewVerifier returns a verifier that wants the places which are known to be in their chains.
func NewVerifier(known []Known) *Verifier {
	return &Verifier{known: known, seen: map[int64]bool{}}
}

func (v *Verifier) current() *Report { return &v.reports[len(v.reports)-1] }

// Begin implements Sink.
func (v *Verifier) Begin(repo Repository, checkpoint Point) error {
	v.begin(repo, checkpoint)
	return nil
}

// Record implements Sink.
func (v *Verifier) Record(s Sealed) error {
	v.record(s)
	return nil
}

// End implements Sink.
func (v *Verifier) End(head *Point) error {
	v.end(head)
	return nil
}

func (v *Verifier) begin(repo Repository, checkpoint Point) {
	v.reports = append(v.reports, Report{Repository: repo, Checkpoint: checkpoint, Head: checkpoint})
	r := v.current()
	switch {
	case v.seen[repo.ID]:
		r.broken(1, "the chain of this repository comes twice")
	case checkpoint.Sequence < 0 || !checkpoint.Hash.valid() || checkpoint.Sequence == 0 && checkpoint.Hash != Genesis:
		r.broken(1, "the checkpoint is none")
	}
	v.seen[repo.ID] = true
	v.expect(r, checkpoint)
}

// expect compares a place of the chain with what is known of it.
func (v *Verifier) expect(r *Report, p Point) {
	for _, k := range v.known {
		if k.Repository == r.Repository.ID && k.Sequence == p.Sequence && k.Hash != p.Hash {
			r.broken(p.Sequence, "it is another record than the one that is known: its hash is "+string(p.Hash)+", and that of the known one "+string(k.Hash))
		}
	}
}

func (v *Verifier) record(s Sealed) {
	r := v.current()
	if r.lost || r.Status == Broken {
		return // what follows a break proves nothing
	}
	want := r.Head.Sequence + 1
	is, why := identify(s.Text)
	switch {
	case why != "":
		r.broken(want, why)
	case is.Version > Version:
		r.unknown(fmt.Sprintf("record %d was written by a later version of prosecutor: use that one", want))
		r.lost = true
	case sum(s.Previous, s.Text) != s.Hash:
		r.broken(want, "the record was altered, or its hash was: they do not belong to each other")
	case is.Repository.ID != r.Repository.ID:
		r.broken(want, fmt.Sprintf("the record belongs to repository %d", is.Repository.ID))
	case is.Sequence > want:
		r.broken(want, fmt.Sprintf("it is missing: record %d stands in its place", is.Sequence))
	case is.Sequence < want:
		r.broken(want, fmt.Sprintf("record %d stands in its place: records were inserted, repeated or moved", is.Sequence))
	case s.Previous != r.Head.Hash && r.Head == r.Checkpoint:
		r.broken(want, "the record does not follow the checkpoint "+r.Checkpoint.String())
	case s.Previous != r.Head.Hash:
		r.broken(want, "the record does not follow the one before it: one of the two was replaced")
	default:
		r.Head = Point{want, s.Hash}
		v.expect(r, r.Head)
	}
}

// identity is what a record says of itself.
type identity struct {
	Version    int
	Sequence   int64
	Repository struct{ ID int64 }
}

// identify reads what a record says of itself, or says why it is none.
func identify(text []byte) (is identity, why string) {
	again, err := canonical(text)
	if err != nil {
		return identity{}, "the record cannot be read: " + err.Error()
	}
	if string(again) != string(text) {
		return identity{}, "the record is not in the one encoding that records have"
	}
	if err := json.Unmarshal(text, &is); err != nil {
		return identity{}, "this is no record"
	}
	return is, ""
}

// Damaged says that the rest of the chain that has begun cannot be read.
func (v *Verifier) Damaged(why string) {
	r := v.current()
	r.broken(r.Head.Sequence+1, why)
}

// Incomplete says that something is missing, or cannot be read, outside of the chains.
func (v *Verifier) Incomplete(why string) {
	v.reports = append(v.reports, Report{Status: Broken, Problem: why})
}

func (v *Verifier) end(head *Point) {
	r := v.current()
	switch {
	case r.lost:
		return
	case head == nil:
		r.broken(r.Head.Sequence+1, "the chain has no head, so that its end may be missing")
	case head.Sequence > r.Head.Sequence:
		r.broken(r.Head.Sequence+1, fmt.Sprintf("it is missing, with all that follow: the head is record %d", head.Sequence))
	case head.Sequence < r.Head.Sequence:
		r.broken(head.Sequence+1, fmt.Sprintf("the head is record %d, and records follow it", head.Sequence))
	case head.Hash != r.Head.Hash:
		r.broken(head.Sequence, "the head has another hash than the last record")
	}
	for _, k := range v.known {
		switch {
		case k.Repository != r.Repository.ID:
		case k.Sequence > r.Head.Sequence:
			r.broken(r.Head.Sequence+1, fmt.Sprintf("it is missing, with all that follow: record %d is known", k.Sequence))
		case k.Sequence < r.Checkpoint.Sequence:
			r.unknown(fmt.Sprintf("record %d, which is known, was pruned: the chain begins behind its checkpoint %d", k.Sequence, r.Checkpoint.Sequence))
		}
	}
}

// Reports returns what was found of each chain, in their order, and what is missing altogether.
func (v *Verifier) Reports() []Report {
	out := slices.Clone(v.reports)
	for _, k := range v.known {
		if !v.seen[k.Repository] {
			out = append(out, Report{
				Repository: Repository{ID: k.Repository}, Status: Broken, Sequence: 1,
				Problem: fmt.Sprintf("it is missing, with the whole chain: record %d is known", k.Sequence),
			})
		}
	}
	return out
}

// broken says where a chain is broken, unless it is known already.
func (r *Report) broken(sequence int64, problem string) {
	if r.Status != Broken {
		r.Status, r.Sequence, r.Problem = Broken, sequence, problem
	}
}

func (r *Report) unknown(problem string) {
	if r.Status == Intact {
		r.Status, r.Problem = Unknown, problem
	}
}
