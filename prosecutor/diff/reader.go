package diff

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// Defaults of the limits of a reader, in bytes.
const (
	// DefaultMaxBytes is far above what GitHub serves (it refuses more than 20,000 lines) and what a prosecutor may be
	// given; it bounds the memory for a diff from local git.
	DefaultMaxBytes = 64 << 20
	// DefaultMaxLine leaves room for the longest generated lines.
	DefaultMaxLine = 16 << 20
)

// Option changes a limit of a reader.
type Option func(*limits)

type limits struct {
	bytes, line int
}

// MaxBytes limits the whole text, in bytes.
func MaxBytes(n int) Option { return func(l *limits) { l.bytes = n } }

// MaxLine limits one line, in bytes and without its line feed.
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
	var b strings.Builder
	if sized, ok := r.(interface{ Len() int }); ok {
		b.Grow(min(sized.Len(), l.bytes) + 1)
	}
	n, err := io.Copy(&b, io.LimitReader(r, int64(l.bytes)+1))
	if err != nil {
		return nil, fmt.Errorf("reading diff: %w", err)
	}
	if n > int64(l.bytes) {
		return nil, &LimitError{What: "diff", Limit: l.bytes}
	}
	return parse(b.String(), l)
}

// ParseString is Parse for text in memory. The result shares the text and copies none of it.
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
	line := 1
	for text != "" {
		f := new(File)
		s := section{file: f, text: text, line: line, maxLine: l.line}
		if err := s.read(); err != nil {
			return nil, err
		}
		f.Hunks = s.hunks
		d.Files = append(d.Files, f)
		text, line = text[s.pos:], s.line
	}
	return d, nil
}

// Reader reads the files of a diff one by one. It holds one section at a time. It is not safe for concurrent use.
type Reader struct {
	src    io.Reader
	limits limits
	buf    []byte // what was read and not yet yielded
	seen   int    // bytes of buf that hold no start of a section
	total  int
	line   int
	eof    bool
	err    error
}

// NewReader returns a reader of the diff in r.
func NewReader(r io.Reader, options ...Option) *Reader {
	return &Reader{src: r, limits: newLimits(options), line: 1}
}

// Next returns the next file, and io.EOF behind the last one. The errors are those of Parse; after an error every call
// returns it again.
func (r *Reader) Next() (*File, error) {
	if r.err != nil {
		return nil, r.err
	}
	f, err := r.next()
	if err != nil {
		r.err = err
	}
	return f, err
}

func (r *Reader) next() (*File, error) {
	text, err := r.section()
	if err != nil {
		return nil, err
	}
	if text == "" || r.line == 1 && r.eof && len(r.buf) == 0 && strings.TrimSpace(text) == "" {
		return nil, io.EOF
	}
	f := new(File)
	s := section{file: f, text: text, line: r.line, maxLine: r.limits.line}
	if err := s.read(); err != nil {
		return nil, err
	}
	f.Hunks = s.hunks
	r.line = s.line
	return f, nil
}

// section cuts the text up to the start of the next section off the input. No row inside a section can look like it.
func (r *Reader) section() (string, error) {
	const mark = "\n" + gitLine
	for {
		if i := strings.Index(string(r.buf[r.seen:]), mark); i >= 0 {
			return r.cut(r.seen + i + 1), nil
		}
		if r.eof {
			return r.cut(len(r.buf)), nil
		}
		r.seen = max(0, len(r.buf)-len(mark)+1)
		if err := r.fill(); err != nil {
			return "", err
		}
	}
}

func (r *Reader) cut(n int) string {
	text := string(r.buf[:n])
	r.buf = append(r.buf[:0], r.buf[n:]...)
	r.seen = 0
	return text
}

func (r *Reader) fill() error {
	chunk := make([]byte, 64<<10)
	n, err := r.src.Read(chunk)
	r.buf = append(r.buf, chunk[:n]...)
	r.total += n
	if r.total > r.limits.bytes {
		return &LimitError{What: "diff", Limit: r.limits.bytes}
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
