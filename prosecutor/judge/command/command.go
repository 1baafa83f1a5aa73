// Package command is the judge adapter for agent command lines: a program that reads a prompt on its standard input and
// writes the answer to its standard output, such as "claude -p" or "ollama run".
//
// The program is started from an argument list, never by a shell. It runs in an empty, read-only directory of its own,
// with PATH, the locale and the configured variables as its whole environment, in a process group that is killed with
// everything in it when the call ends, however it ends. That keeps honest programs honest; it is no sandbox: the program
// has the rights of the user it runs as, and a child that makes a session of its own leaves the group. Prosecutor gives
// it no token and no tool; a program that has tools of its own must be told not to use them.
package command

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/prosecutor-bot/prosecutor/prosecutor/judge"
)

const (
	// DefaultTimeout bounds one call (semantics 2: 8 minutes a pass).
	DefaultTimeout = 8 * time.Minute
	// DefaultGrace is the time between asking the program to end and ending it. It is also how long a child that still
	// holds the output is waited for after the program has ended.
	DefaultGrace = 3 * time.Second
	// MaxOutput bounds the answer, in bytes.
	MaxOutput = 4 << 20
	// maxStderr is how much of the end of standard error is kept.
	maxStderr = 4 << 10
)

// Options configure a judge.
type Options struct {
	Info judge.Info
	// Command is the program and its arguments. The program is an absolute path, or a name that is looked up in PATH; a
	// relative path would mean something else in the scratch directory.
	Command []string
	// Env names the variables that the program may see, besides PATH, LANG, LC_ALL, LC_CTYPE and TZ. Programs that keep
	// their credentials in the home directory need HOME here; without it HOME is the scratch directory.
	Env     []string
	Getenv  func(string) string // the environment that Env is read from; required
	Timeout time.Duration       // of one call; DefaultTimeout when 0
	Grace   time.Duration       // DefaultGrace when 0
	// Errors classifies exit codes, as ErrorRow.Status. Without it every failure is Transport: an exit code has no common
	// meaning, and what a program prints is prose.
	Errors judge.ErrorTable

	Nonce func() string    // marks the turns in the prompt; nil means a random word
	Now   func() time.Time // nil means time.Now
}

// Judge runs one program for each call. It is safe for concurrent use.
type Judge struct {
	info    judge.Info
	path    string // resolved program
	argv    []string
	env     []string
	secrets []string
	timeout time.Duration
	grace   time.Duration
	errors  judge.ErrorTable
	nonce   func() string
	now     func() time.Time
}

// alwaysSeen are the variables that every program sees: where programs are, and how text and time are written.
var alwaysSeen = []string{"PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ"}

// notSecret are listed variables whose values are no credentials and may be shown in error texts.
var notSecret = append([]string{"HOME", "USER", "LOGNAME", "SHELL", "TERM", "TMPDIR"}, alwaysSeen...)

// New returns the judge, or an error that says which option is wrong. The program has to exist, but is not started.
func New(o Options) (*Judge, error) {
	if err := supported(); err != nil {
		return nil, err
	}
	if o.Getenv == nil {
		return nil, errors.New("no environment was given")
	}
	var problems []error
	var path string
	if len(o.Command) == 0 || o.Command[0] == "" {
		problems = append(problems, errors.New(`command is missing: write the program and its arguments as a list, such as ["claude", "-p"]`))
	} else {
		var err error
		if path, err = lookPath(o.Command[0], o.Getenv("PATH")); err != nil {
			problems = append(problems, err)
		}
	}
	for _, name := range o.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			problems = append(problems, fmt.Errorf("env lists names of variables, without values: %q is none", strings.SplitN(name, "=", 2)[0]))
		}
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	if o.Info.Provider == "" {
		o.Info.Provider = filepath.Base(o.Command[0])
	}
	j := &Judge{
		info: o.Info, path: path, argv: slices.Clone(o.Command),
		timeout: o.Timeout, grace: o.Grace, errors: o.Errors, nonce: o.Nonce, now: o.Now,
	}
	if j.timeout <= 0 {
		j.timeout = DefaultTimeout
	}
	if j.grace <= 0 {
		j.grace = DefaultGrace
	}
	if j.nonce == nil {
		j.nonce = randomNonce
	}
	if j.now == nil {
		j.now = time.Now
	}
	seen := map[string]bool{}
	for _, name := range append(slices.Clone(alwaysSeen), o.Env...) {
		v := o.Getenv(name)
		if v == "" || seen[name] {
			continue
		}
		seen[name] = true
		j.env = append(j.env, name+"="+v)
		if !slices.Contains(notSecret, name) {
			j.secrets = append(j.secrets, v)
		}
	}
	return j, nil
}

// Info describes the judge.
func (j *Judge) Info() judge.Info { return j.info }

// String names the judge, and nothing of its environment.
func (j *Judge) String() string {
	return fmt.Sprintf("judge %s (command %s)", j.info.ID, filepath.Base(j.path))
}

// Format prints String for every verb, so that no verb reaches the environment.
func (j *Judge) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(j.String())) }

// Ask runs the program once and returns what it wrote to standard output, as it came: escape sequences and line ends
// included. Tokens and cost are not known and stay 0. Failures are *judge.Error values; Status is the exit code, or 128
// plus the signal that ended the program.
func (j *Judge) Ask(ctx context.Context, req judge.Request) (judge.Reply, error) {
	start := j.now()
	reply := judge.Reply{Model: j.info.Model, Requests: 1}
	text, err := j.run(ctx, Prompt(req, j.nonce()))
	reply.Latency = j.now().Sub(start)
	if err != nil {
		return reply, err
	}
	reply.Text = text
	return reply, nil
}

var _ judge.Judge = (*Judge)(nil)
