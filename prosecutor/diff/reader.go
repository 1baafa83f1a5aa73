package diff

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Defaults of the limits, in bytes. They bound the memory a hostile or runaway diff can take: the text is held once, and
// files and hunks take four times as much again when it is nothing but the smallest ones, twice that while they are read.
const (
	// DefaultMaxBytes is far above what GitHub serves (it refuses a diff of more than 20,000 lines) and what a judge may
	// be given; a diff from local git can be longer.
	DefaultMaxBytes = 64 << 20
	// DefaultMaxLine leaves room for generated files that are one line.
	DefaultMaxLine = 16 << 20
)

// Option changes a limit.
type Option func(*limits)

type limits struct {
	bytes, line int
}

// MaxBytes limits the whole text to n bytes.
func MaxBytes(n int) Option { return func(l *limits) { l.bytes = n } }

// MaxLine limits each line of the text to n bytes, its line feed not counted.
func MaxLine(n int) Option { return func(l *limits) { l.line = n } }

func newLimits(options []Option) limits {
	l := limits{bytes: DefaultMaxBytes, line: DefaultMaxLine}
	for _, o := range options {
		o(&l)
	}
	return l
}

// Parse reads a whole diff. The result holds the text once, and its files share it.
//
// It fails with a *SyntaxError when the text is not a git diff, with a *LimitError when it is too large, and with the
// error of r. Text that is empty or white space only is a diff without files.
func Parse(r io.Reader, options ...Option) (*Diff, error) {
	l := newLimits(options)
	text, err := readAll(r, l.bytes)
	if err != nil {
		return nil, err
	}
	return parse(text, l)
}

// readAll reads up to limit bytes.
func readAll(r io.Reader, limit int) (string, error) {
	var b strings.Builder
	switch r.(type) {
	case *strings.Reader, *bytes.Reader, *bytes.Buffer:
		// The size is known and the text is in memory: one copy, without a buffer in between.
		size := r.(interface{ Len() int }).Len()
		if size > limit {
			return "", &LimitError{What: "diff", Limit: limit}
		}
		b.Grow(size)
	default:
		r = io.LimitReader(r, int64(limit)+1)
	}
	if _, err := io.Copy(&b, r); err != nil {
		return "", fmt.Errorf("reading diff: %w", err)
	}
	if b.Len() > limit {
		return "", &LimitError{What: "diff", Limit: limit}
	}
	return b.String(), nil
}

// ParseString is Parse for text in memory. The result shares the text and copies none of it but quoted names.
func ParseString(s string, options ...Option) (*Diff, error) {
	l := newLimits(options)
	if len(s) > l.bytes {
		return nil, &LimitError{What: "diff", Limit: l.bytes}
	}
	return parse(s, l)
}

func parse(text string, l limits) (*Diff, error) {
	d := &Diff{}
	if strings.TrimSpace(text) == "" {
		return d, nil
	}
	var (
		s     = section{maxLine: l.line}
		store store
		line  = 1
		names names
	)
	for text != "" {
		f := store.file()
		if err := s.read(f, text, line); err != nil {
			return nil, err
		}
		f.Hunks = store.keep(&s)
		if !names.add(f, d.Files) {
			return nil, twice(f)
		}
		d.Files = append(d.Files, f)
		text, line = text[s.pos:], s.line
	}
	return d, nil
}

// store hands out files and hunks from larger pieces, since most diffs have many small ones.
type store struct {
	files []File // handed out
	hunks []Hunk // not yet handed out
	size  int    // of the piece of files
}

const (
	firstPiece = 4
	maxPiece   = 256
)

func (s *store) file() *File {
	if len(s.files) == cap(s.files) {
		s.size = min(max(firstPiece, 2*s.size), maxPiece)
		s.files = slices.Grow([]File(nil), s.size)
	}
	s.files = append(s.files, File{})
	return &s.files[len(s.files)-1]
}

// keep takes the hunks of a section: few are copied out of its buffer, many are the buffer.
func (s *store) keep(from *section) []Hunk {
	hunks := from.hunks
	if len(hunks) == 0 {
		return nil
	}
	if len(hunks) >= maxPiece {
		from.hunks = nil
		return slices.Clip(hunks)
	}
	n := len(hunks)
	if len(s.hunks) < n {
		s.hunks = make([]Hunk, max(n, s.size))
	}
	kept := s.hunks[:n:n]
	s.hunks = s.hunks[n:]
	copy(kept, hunks)
	return kept
}

// names finds a second section of one path: Find and Locate could not tell which one is meant. Git sorts by path, so
// that a set is only needed where someone changed the order.
type names struct {
	last    string
	deleted bool // the last one, which may come back as the other half of a type change
	set     map[string]bool
}

// add reports whether the file is the only one of its path among those before it.
func (n *names) add(f *File, before []*File) bool {
	path := f.Path()
	half := n.deleted && f.Status == Added && path == n.last
	ordered := n.set == nil && (path > n.last || half)
	n.deleted = f.Status == Deleted
	n.last = path
	if ordered {
		return true
	}
	if n.set == nil {
		n.set = make(map[string]bool, len(before)+1)
		for _, b := range before {
			n.set[b.Path()] = true
		}
	}
	if n.set[path] && !half {
		return false
	}
	n.set[path] = true
	return true
}

func twice(f *File) error {
	return &SyntaxError{Line: f.Line, File: f.Path(), Msg: "a second section of the same file"}
}

// Reader reads the files of a diff one by one. It holds the text of one section at a time, and the names of the files it
// has read. It is not safe for concurrent use.
type Reader struct {
	src     io.Reader
	limits  limits
	section section
	names   names
	buf     []byte
	start   int // of the next section in buf
	seen    int // no other section starts in buf before it
	open    int // bytes of the last line in buf, as long as it has no line feed
	total   int
	line    int // number of the line at start
	eof     bool
	err     error
}

// NewReader returns a reader of the diff in r.
func NewReader(r io.Reader, options ...Option) *Reader {
	l := newLimits(options)
	return &Reader{
		src: r, limits: l, line: 1,
		section: section{maxLine: l.line},
		names:   names{set: map[string]bool{}},
	}
}

// Next returns the next file, and io.EOF behind the last one. The other errors are those of Parse. After an error, every
// call returns the same one.
func (r *Reader) Next() (*File, error) {
	if r.err != nil {
		return nil, r.err
	}
	f, err := r.next()
	if err != nil {
		r.err = err
		return nil, err
	}
	return f, nil
}

func (r *Reader) next() (*File, error) {
	text, err := r.cut()
	if err != nil {
		return nil, err
	}
	// Behind the first section only the end of the text is white space: there every part starts with a section.
	if r.start == len(r.buf) && strings.TrimSpace(text) == "" {
		return nil, io.EOF
	}
	f := new(File)
	if err := r.section.read(f, text, r.line); err != nil {
		return nil, err
	}
	if len(r.section.hunks) > 0 {
		f.Hunks = slices.Clone(r.section.hunks)
	}
	if !r.names.add(f, nil) {
		return nil, twice(f)
	}
	r.line = r.section.line
	return f, nil
}

// cut takes the text up to the start of the next section, which no row of a section can look like.
func (r *Reader) cut() (string, error) {
	for {
		if i := bytes.Index(r.buf[r.seen:], nextSection); i >= 0 {
			return r.take(r.seen + i + 1), nil
		}
		if r.eof {
			return r.take(len(r.buf)), nil
		}
		r.seen = max(r.start, len(r.buf)-len(nextSection)+1)
		if err := r.fill(); err != nil {
			return "", err
		}
	}
}

var nextSection = []byte("\n" + gitLine)

func (r *Reader) take(end int) string {
	text := string(r.buf[r.start:end])
	r.start, r.seen = end, end
	return text
}

// readSize is how much is read at once.
const readSize = 32 << 10

// fill reads more text.
func (r *Reader) fill() error {
	if cap(r.buf)-len(r.buf) < readSize {
		r.makeRoom()
	}
	n, err := r.src.Read(r.buf[len(r.buf):cap(r.buf)])
	fresh := r.buf[len(r.buf) : len(r.buf)+n]
	r.buf = r.buf[:len(r.buf)+n]
	r.total += n
	if r.total > r.limits.bytes {
		return &LimitError{What: "diff", Limit: r.limits.bytes}
	}
	if i := bytes.LastIndexByte(fresh, '\n'); i >= 0 {
		r.open = n - i - 1
	} else {
		r.open += n
	}
	if r.open > r.limits.line {
		return &LimitError{Line: r.line + bytes.Count(r.buf[r.start:], []byte{'\n'}), What: "line", Limit: r.limits.line}
	}
	if errors.Is(err, io.EOF) {
		r.eof = true
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading diff: %w", err)
	}
	return nil
}

// makeRoom moves the unread text to the start of the buffer, or of a larger one.
func (r *Reader) makeRoom() {
	unread := r.buf[r.start:]
	if need := 2 * (len(unread) + readSize); cap(r.buf) < need {
		r.buf = make([]byte, need)
	}
	r.buf = append(r.buf[:0], unread...)
	r.seen -= r.start
	r.start = 0
}
