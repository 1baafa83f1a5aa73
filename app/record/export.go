package record

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// Format is the version of the lines of an export.
const Format = 1

// maxLine bounds a line of an export that is read. A record of the largest size is far below it.
const maxLine = 32 << 20

// The types of lines.
const (
	lineExport = "export"
	lineChain  = "chain"
	lineRecord = "record"
	lineHead   = "head"
	lineEnd    = "end"
)

// line is a line of an export. Which members it has depends on its type.
type line struct {
	Type       string          `json:"type"`
	Format     int             `json:"format,omitempty"`
	Software   *Software       `json:"software,omitempty"`
	At         *Time           `json:"at,omitempty"`
	Repository *Repository     `json:"repository,omitempty"`
	Checkpoint *Point          `json:"checkpoint,omitempty"`
	Previous   Hash            `json:"previous,omitempty"`
	Hash       Hash            `json:"hash,omitempty"`
	Record     json.RawMessage `json:"record,omitempty"`
	Head       *Point          `json:"head,omitempty"`
	Chains     *int            `json:"chains,omitempty"`
}

// Exporter writes chains as JSON lines. It is a Sink.
type Exporter struct {
	w       *bufio.Writer
	chains  int
	records int64
}

var _ Sink = (*Exporter)(nil)

// NewExporter begins an export.
func NewExporter(w io.Writer, by Software, at time.Time) (*Exporter, error) {
	x := &Exporter{w: bufio.NewWriter(w)}
	now := At(at)
	return x, x.line(line{Type: lineExport, Format: Format, Software: &by, At: &now})
}

// Begin implements Sink.
func (x *Exporter) Begin(repo Repository, checkpoint Point) error {
	x.chains++
	return x.line(line{Type: lineChain, Repository: &repo, Checkpoint: &checkpoint})
}

// Record implements Sink. A record that is damaged in the database is exported as it is, so that it is seen to be.
func (x *Exporter) Record(s Sealed) error {
	x.records++
	return x.write(`{"type":"record","previous":"` + shown([]byte(s.Previous)) + `","hash":"` + shown([]byte(s.Hash)) + `","record":` + shown(s.Text) + `}`)
}

// End implements Sink.
func (x *Exporter) End(head *Point) error {
	if head == nil {
		return nil
	}
	return x.line(line{Type: lineHead, Head: head})
}

// Close ends the export, without which it counts as cut off, and returns how many records of how many chains it has.
func (x *Exporter) Close() (records int64, chains int, err error) {
	_ = x.line(line{Type: lineEnd, Chains: &x.chains}) // a writer that has failed says so when it is flushed
	if err := x.w.Flush(); err != nil {
		return 0, 0, fmt.Errorf("writing the export: %w", err)
	}
	return x.records, x.chains, nil
}

func (x *Exporter) line(l line) error {
	return x.write(l.encode())
}

func (x *Exporter) write(text string) error {
	if _, err := x.w.WriteString(text + "\n"); err != nil {
		return fmt.Errorf("writing the export: %w", err)
	}
	return nil
}

// encode is the one form of a line. A record in it must be JSON.
func (l line) encode() string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(l) // nothing else in a line can fail
	return shown(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}

// ErrNoExport says that a file is no export, so that nothing can be told about it.
var ErrNoExport = errors.New("this is no export of evidence records")

// Read reads an export into a verifier. An error means that it could not be told what the file holds: it is no export, it is
// of a later version, or it cannot be read. What is wrong inside of an export is among the reports.
func Read(r io.Reader, v *Verifier) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	f := file{v: v}
	n := 0
	for lines.Scan() {
		n++
		l, wrong := decode(lines.Bytes())
		if n > 1 {
			f.take(n, l, wrong)
		} else if err := opening(l); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("reading line %d of the export: %w", n+1, err)
	}
	if n == 0 {
		return fmt.Errorf("%w: it is empty", ErrNoExport)
	}
	f.finish(n)
	return nil
}

// file is an export on its way.
type file struct {
	v      *Verifier
	inside bool // a chain has begun
	lost   bool // something outside of a chain was damaged, so that nothing is said until the next one begins
	ended  bool
	chains int
}

func (f *file) take(n int, l line, wrong error) {
	switch {
	case wrong != nil:
		f.damaged(n, wrong.Error())
	case f.ended:
		f.damaged(n, "follows the end of the export")
	case l.Type == lineChain && l.Repository != nil && l.Checkpoint != nil:
		f.close()
		f.inside, f.lost = true, false
		f.chains++
		f.v.begin(*l.Repository, *l.Checkpoint)
	case l.Type == lineRecord && f.inside:
		if text, ok := exported(l.Record); ok {
			f.v.record(Sealed{l.Previous, l.Hash, text})
		} else {
			f.damaged(n, "holds a record that is not as an export writes it")
		}
	case l.Type == lineHead && f.inside:
		f.inside = false
		f.v.end(l.Head)
	case l.Type == lineEnd && l.Chains != nil:
		f.close()
		f.ended = true
		if *l.Chains != f.chains {
			f.damaged(n, fmt.Sprintf("ends an export of %d chains, and there are %d", *l.Chains, f.chains))
		}
	default:
		f.damaged(n, "does not belong where it stands")
	}
}

// exported is the record of a line in its one encoding; it is not ok when an export would have written it in another way.
func exported(raw []byte) (text []byte, ok bool) {
	text, err := canonical(raw)
	return text, err == nil && shown(text) == string(raw)
}

func (f *file) damaged(n int, why string) {
	why = fmt.Sprintf("line %d %s", n, why)
	switch {
	case f.inside:
		f.v.Damaged(why)
	case !f.lost:
		f.v.Incomplete(why)
		f.lost = true
	}
}

// close ends a chain that has no head.
func (f *file) close() {
	if f.inside {
		f.inside = false
		f.v.end(nil)
	}
}

func (f *file) finish(lines int) {
	f.close()
	if !f.ended && !f.lost {
		f.v.Incomplete(fmt.Sprintf("the export stops with line %d, before its end: the rest is missing", lines))
	}
}

// opening looks at the first line, which is an empty one when it could not be read.
func opening(l line) error {
	if l.Type != lineExport {
		return ErrNoExport
	}
	if l.Format > Format {
		return fmt.Errorf("the export has format %d, and this program knows %d: use the later version of prosecutor that wrote it", l.Format, Format)
	}
	return nil
}

// decode reads a line, which must be exactly as an export writes it: another form of it could mean two things.
func decode(raw []byte) (line, error) {
	var l line
	if err := json.Unmarshal(raw, &l); err != nil {
		return line{}, errors.New("cannot be read: it is no JSON, or was cut off")
	}
	if l.encode() != string(raw) {
		return line{}, errors.New("is not as an export writes it")
	}
	return l, nil
}
