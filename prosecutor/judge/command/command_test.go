//go:build unix

package command_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/judge"
	"github.com/prosecutor-bot/prosecutor/prosecutor/judge/command"
)

// TestMain runs the program under judgement when the test binary is started as one: with "program" as first argument.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "program" {
		os.Exit(program(os.Args[2], os.Args[3:]))
	}
	goleak.VerifyTestMain(m)
}

// held keeps the FIFO from being closed by the garbage collector.
var held *os.File

// program is what the judge starts. A FIFO that it is given is held open as long as it lives, so that a test sees the end
// of it as the end of the file.
func program(mode string, args []string) int {
	hold := func(path string) {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(9)
		}
		fmt.Fprintln(f, "ready")
		held = f
	}
	switch mode {
	case "echo":
		io.Copy(os.Stdout, os.Stdin)
	case "answer":
		io.Copy(io.Discard, os.Stdin)
		os.Stdout.WriteString(args[0])
	case "deaf":
		os.Stdout.WriteString("did not listen")
	case "env":
		env := os.Environ()
		slices.Sort(env)
		fmt.Println(strings.Join(env, "\n"))
	case "directory":
		directory()
	case "exit":
		code, _ := strconv.Atoi(args[0])
		os.Stdout.WriteString("a part of an answer")
		os.Stderr.WriteString(args[1])
		return code
	case "kill":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	case "flood":
		chunk := []byte(strings.Repeat("x", 1<<16))
		for {
			if _, err := os.Stdout.Write(chunk); err != nil {
				return 0
			}
		}
	case "exactly":
		n, _ := strconv.Atoi(args[0])
		os.Stdout.WriteString(strings.Repeat("x", n))
	case "noise":
		os.Stderr.WriteString(strings.Repeat("noise ", 1<<20))
		os.Stderr.WriteString("the reason")
		return 3
	case "wait":
		select {}
	case "hang":
		hold(args[0])
		select {}
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
		hold(args[0])
		select {}
	case "child":
		signal.Ignore(syscall.SIGTERM)
		hold(args[0])
		os.NewFile(3, "up").Close()
		select {}
	case "parent": // of a stubborn child that shares the output; once it is up, does as the rest of the arguments say
		up, w, err := os.Pipe()
		if err != nil {
			return 9
		}
		child := exec.Command(os.Args[0], "program", "child", args[0])
		child.Stdout, child.Stderr, child.ExtraFiles = os.Stdout, os.Stderr, []*os.File{w}
		if err := child.Start(); err != nil {
			return 9
		}
		w.Close()
		io.ReadAll(up)
		return program(args[1], args[2:])
	}
	return 0
}

// directory prints what the working directory is like, and tries to leave something behind in it.
func directory() {
	info, err := os.Stat(".")
	if err != nil {
		fmt.Println(err)
		return
	}
	entries, err := os.ReadDir(".")
	home, _ := os.Stat(os.Getenv("HOME"))
	fmt.Println(info.Mode(), len(entries), err, os.SameFile(info, home))
	// Root writes whatever the mode says; others must fail.
	err = os.MkdirAll("a/b", 0o700)
	if err == nil {
		_ = os.WriteFile("a/b/c", []byte("left behind"), 0o600)
		_ = os.Chmod("a/b", 0)
	}
	fmt.Println(err == nil && os.Geteuid() != 0)
}

func run(mode string, args ...string) []string {
	exe, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return append([]string{exe, "program", mode}, args...)
}

func environment(set map[string]string) func(string) string {
	return func(name string) string { return set[name] }
}

func newJudge(t *testing.T, o command.Options) *command.Judge {
	t.Helper()
	o.Info.ID, o.Info.Family, o.Info.Provider = "moss-cli", "moss", "harbour"
	if o.Getenv == nil {
		o.Getenv = environment(map[string]string{"PATH": "/usr/bin:/bin"})
	}
	j, err := command.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// scratch makes the directories of calls appear in a place of the test's own, and fails when one is left there.
func scratch(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	t.Cleanup(func() {
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) != 0 {
			t.Errorf("left behind: %v, %v", entries, err)
		}
	})
}

func ask(text string) judge.Request {
	return judge.Request{System: "You judge.", Messages: []judge.Message{{Role: judge.User, Text: text}}}
}

func failure(t *testing.T, err error) *judge.Error {
	t.Helper()
	var e *judge.Error
	if !errors.As(err, &e) {
		t.Fatalf("error %v (%T), want a *judge.Error", err, err)
	}
	if e.Provider != "harbour" {
		t.Errorf("provider %q", e.Provider)
	}
	if text := err.Error(); strings.ContainsAny(text, "\n\x1b") || len(text) > 1000 {
		t.Errorf("the error is not fit to show: %q", text)
	}
	return e
}

func TestPromptArrivesAndAnswerComesBackAsItIs(t *testing.T) {
	scratch(t)
	big := strings.Repeat("a line of a diff with \x00 and \xff in it\n", 20_000)
	j := newJudge(t, command.Options{Command: run("echo")})
	reply, err := j.Ask(t.Context(), ask(big))
	if err != nil {
		t.Fatal(err)
	}
	if want := "You judge.\n\n" + big; reply.Text != want {
		t.Errorf("%d bytes came back, want %d", len(reply.Text), len(want))
	}
	answer := " \x1b[1m{\"verdict\":\"ship\"}\x1b[0m\r\n\n"
	reply, err = newJudge(t, command.Options{Command: run("answer", answer)}).Ask(t.Context(), ask("x"))
	if err != nil || reply.Text != answer || reply.Requests != 1 {
		t.Errorf("%+v, %v", reply, err)
	}
	reply, err = newJudge(t, command.Options{Command: run("deaf")}).Ask(t.Context(), ask(big))
	if err != nil || reply.Text != "did not listen" {
		t.Errorf("a program that does not read: %+v, %v", reply, err)
	}
}

func TestEnvironmentIsScrubbed(t *testing.T) {
	scratch(t)
	t.Setenv("SOME_SECRET", "of the server")
	outside := map[string]string{
		"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": "/home/operator", "MODEL_TOKEN": "token-0123456789", "GITHUB_TOKEN": "ghs_secret",
		"LD_PRELOAD": "/tmp/evil.so", "EMPTY": "",
	}
	reply, err := newJudge(t, command.Options{
		Command: run("env"), Env: []string{"MODEL_TOKEN", "EMPTY", "ABSENT", "PATH"}, Getenv: environment(outside),
	}).Ask(t.Context(), ask("x"))
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Fields(reply.Text)
	home := slices.IndexFunc(got, func(s string) bool { return strings.HasPrefix(s, "HOME=") })
	if home < 0 || !strings.Contains(got[home], "prosecutor-judge-") {
		t.Fatalf("HOME is not the scratch directory: %v", got)
	}
	got = slices.Delete(got, home, home+1)
	got = slices.DeleteFunc(got, func(s string) bool { return strings.HasPrefix(s, "PWD=") }) // os/exec says where it starts it
	if want := []string{"LANG=C.UTF-8", "MODEL_TOKEN=token-0123456789", "PATH=/usr/bin:/bin"}; !slices.Equal(got, want) {
		t.Errorf("the program sees %v, want %v", got, want)
	}

	reply, err = newJudge(t, command.Options{Command: run("env"), Env: []string{"HOME"}, Getenv: environment(outside)}).Ask(t.Context(), ask("x"))
	if err != nil || !strings.Contains(reply.Text, "HOME=/home/operator\n") {
		t.Errorf("HOME that is listed: %q, %v", reply.Text, err)
	}
}

func TestScratchDirectory(t *testing.T) {
	scratch(t)
	reply, err := newJudge(t, command.Options{Command: run("directory")}).Ask(t.Context(), ask("x"))
	if err != nil {
		t.Fatal(err)
	}
	if want := "dr-x------ 0 <nil> true\nfalse\n"; reply.Text != want {
		t.Errorf("the directory is %q, want %q", reply.Text, want)
	}
}

func TestExitCodes(t *testing.T) {
	scratch(t)
	const token = "tok-0123456789"
	table := judge.ErrorTable{Quota: []judge.ErrorRow{{Status: 75}}, Auth: []judge.ErrorRow{{Status: 77}}}
	tests := []struct {
		name   string
		argv   []string
		kind   prosecutor.ErrorKind
		status int
		says   string
	}{
		{"code", run("exit", "3", "it broke"), prosecutor.Transport, 3, `exit code 3; it says "it broke"`},
		{"silent", run("exit", "1", ""), prosecutor.Transport, 1, "exit code 1"},
		{"cannot execute", run("exit", "126", ""), prosecutor.Transport, 126, "may not execute"},
		{"not found", run("exit", "127", ""), prosecutor.Transport, 127, "did not find a program"},
		{"the table's quota", run("exit", "75", ""), prosecutor.Quota, 75, ""},
		{"the table's auth", run("exit", "77", ""), prosecutor.Auth, 77, ""},
		{"words are not a code", run("exit", "1", "usage limit reached, insufficient_quota, 401"), prosecutor.Transport, 1, "usage limit reached"},
		{"signal", run("kill"), prosecutor.Transport, 128 + 9, "signal 9"},
		{"secret of the environment", run("exit", "1", "\x1b[31mtoken "+token+" rejected\n"), prosecutor.Transport, 1, `"token *** rejected"`},
		{"secret of another", run("exit", "1", "key sk-ant-0123456789 rejected"), prosecutor.Transport, 1, `"key *** rejected"`},
		{"much noise", run("noise"), prosecutor.Transport, 3, "the reason"},
		{"no answer", run("answer", ""), prosecutor.Transport, 0, "without an answer"},
		{"blank answer", run("answer", " \n"), prosecutor.Transport, 0, "without an answer"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			j := newJudge(t, command.Options{
				Command: test.argv, Errors: table, Env: []string{"TOKEN"},
				Getenv: environment(map[string]string{"PATH": "/usr/bin:/bin", "TOKEN": token}),
			})
			reply, err := j.Ask(t.Context(), ask("x"))
			e := failure(t, err)
			if e.Kind != test.kind || e.Status != test.status || !strings.Contains(err.Error(), test.says) {
				t.Errorf("%v, want %s with status %d and %q", err, test.kind, test.status, test.says)
			}
			if strings.Contains(err.Error(), token) || reply.Text != "" {
				t.Errorf("secret or answer shown: %v, %q", err, reply.Text)
			}
		})
	}
}

func TestOutputLimit(t *testing.T) {
	scratch(t)
	_, err := newJudge(t, command.Options{Command: run("flood")}).Ask(t.Context(), ask("x"))
	if e := failure(t, err); e.Kind != prosecutor.Transport || !strings.Contains(err.Error(), "output over the limit of 4 MiB") {
		t.Error(err)
	}
	_, err = newJudge(t, command.Options{Command: run("exactly", strconv.Itoa(command.MaxOutput+1))}).Ask(t.Context(), ask("x"))
	if e := failure(t, err); e.Kind != prosecutor.Transport || !strings.Contains(err.Error(), "over the limit") {
		t.Error(err)
	}
	reply, err := newJudge(t, command.Options{Command: run("exactly", strconv.Itoa(command.MaxOutput))}).Ask(t.Context(), ask("x"))
	if err != nil || len(reply.Text) != command.MaxOutput {
		t.Errorf("%d bytes, %v", len(reply.Text), err)
	}
}

// life is a FIFO that a program holds as long as it lives.
type life struct {
	path string
	file *bufio.Reader
}

func newLife(t *testing.T) *life {
	t.Helper()
	l := &life{path: filepath.Join(t.TempDir(), "life")}
	if err := syscall.Mkfifo(l.path, 0o600); err != nil {
		t.Fatal(err)
	}
	return l
}

// begun waits until the program is up.
func (l *life) begun(t *testing.T) {
	t.Helper()
	f, err := os.Open(l.path)
	if err != nil {
		t.Error(err)
		return
	}
	t.Cleanup(func() { f.Close() })
	l.file = bufio.NewReader(f)
	if line, err := l.file.ReadString('\n'); line != "ready\n" {
		t.Errorf("the program said %q, %v", line, err)
	}
}

// ended waits until nobody holds the FIFO: until every process of the program is gone.
func (l *life) ended(t *testing.T) {
	t.Helper()
	if rest, err := io.ReadAll(l.file); err != nil || len(rest) != 0 {
		t.Errorf("%q, %v", rest, err)
	}
}

// askWhile asks in the background, calls f once the program is up, and returns the answer after the program has ended.
func askWhile(t *testing.T, ctx context.Context, j *command.Judge, l *life, f func()) (judge.Reply, error) {
	t.Helper()
	type result struct {
		reply judge.Reply
		err   error
	}
	done := make(chan result)
	go func() {
		reply, err := j.Ask(ctx, ask("x"))
		done <- result{reply, err}
	}()
	l.begun(t)
	f()
	r := <-done
	l.ended(t)
	return r.reply, r.err
}

func TestNothingOutlivesACall(t *testing.T) {
	ends := []struct {
		name string
		argv func(fifo string) []string
	}{
		{"hangs", func(f string) []string { return run("hang", f) }},
		{"ignores SIGTERM", func(f string) []string { return run("stubborn", f) }},
	}
	for _, end := range ends {
		t.Run(end.name, func(t *testing.T) {
			scratch(t)
			l := newLife(t)
			j := newJudge(t, command.Options{Command: end.argv(l.path), Grace: 50 * time.Millisecond})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			_, err := askWhile(t, ctx, j, l, cancel)
			if e := failure(t, err); e.Kind != prosecutor.Canceled || !errors.Is(err, context.Canceled) {
				t.Error(err)
			}

			l = newLife(t)
			j = newJudge(t, command.Options{Command: end.argv(l.path), Grace: 50 * time.Millisecond})
			deadline := &manual{Context: t.Context(), done: make(chan struct{})}
			_, err = askWhile(t, deadline, j, l, func() { close(deadline.done) })
			if e := failure(t, err); e.Kind != prosecutor.Timeout || !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
		})
	}
}

// manual is a context whose deadline passes when a test says so.
type manual struct {
	context.Context
	done chan struct{}
}

func (m *manual) Done() <-chan struct{} { return m.done }

func (m *manual) Err() error {
	select {
	case <-m.done:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

func TestOwnTimeout(t *testing.T) {
	scratch(t)
	_, err := newJudge(t, command.Options{Command: run("wait"), Timeout: 20 * time.Millisecond}).Ask(t.Context(), ask("x"))
	if e := failure(t, err); e.Kind != prosecutor.Timeout || !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

// A child that holds the output neither holds up the call nor lives on, and the answer of its parent counts.
func TestChildrenThatHoldTheOutput(t *testing.T) {
	scratch(t)
	l := newLife(t)
	j := newJudge(t, command.Options{Command: run("parent", l.path, "answer", "the answer"), Grace: time.Second})
	reply, err := askWhile(t, t.Context(), j, l, func() {})
	if err != nil || reply.Text != "the answer" {
		t.Errorf("%q, %v", reply.Text, err)
	}

	l = newLife(t)
	j = newJudge(t, command.Options{Command: run("parent", l.path, "exit", "4", "gave up"), Grace: time.Second})
	_, err = askWhile(t, t.Context(), j, l, func() {})
	if e := failure(t, err); e.Kind != prosecutor.Transport || e.Status != 4 {
		t.Error(err)
	}

	l = newLife(t)
	j = newJudge(t, command.Options{Command: run("parent", l.path, "flood"), Grace: 50 * time.Millisecond})
	_, err = askWhile(t, t.Context(), j, l, func() {})
	if e := failure(t, err); e.Kind != prosecutor.Transport || !strings.Contains(err.Error(), "over the limit") {
		t.Error(err)
	}
}

func TestCanceledBeforeTheStart(t *testing.T) {
	scratch(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := newJudge(t, command.Options{Command: run("echo")}).Ask(ctx, ask("x"))
	if e := failure(t, err); e.Kind != prosecutor.Canceled {
		t.Error(err)
	}
}

// A program that is gone by the time of the call is a failure that says so.
func TestProgramThatIsGone(t *testing.T) {
	scratch(t)
	dir := t.TempDir()
	program := filepath.Join(dir, "agent")
	if err := os.WriteFile(program, []byte("no program at all"), 0o700); err != nil {
		t.Fatal(err)
	}
	j := newJudge(t, command.Options{Command: []string{"agent", "-p"}, Getenv: environment(map[string]string{"PATH": "relative:" + dir})})
	_, err := j.Ask(t.Context(), ask("x"))
	if e := failure(t, err); e.Kind != prosecutor.Transport || !strings.Contains(err.Error(), "starting agent: exec format error") {
		t.Error(err)
	}
	if err := os.Remove(program); err != nil {
		t.Fatal(err)
	}
	_, err = j.Ask(t.Context(), ask("x"))
	if e := failure(t, err); e.Kind != prosecutor.Transport || !strings.Contains(err.Error(), "starting agent: no such file or directory") {
		t.Error(err)
	}
}

func TestNewNamesEveryProblem(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		argv []string
		env  []string
		says []string
	}{
		{"nothing", nil, nil, []string{"command is missing"}},
		{"empty name", []string{""}, nil, []string{"command is missing"}},
		{"not in PATH", []string{"no-such-agent", "-p"}, nil, []string{`"no-such-agent" was not found in PATH`}},
		{"relative", []string{"./agent"}, nil, []string{"relative path"}},
		{"absent", []string{filepath.Join(dir, "absent")}, nil, []string{"no such file"}},
		{"directory", []string{dir}, nil, []string{"is a directory"}},
		{"not executable", []string{plain}, nil, []string{"not executable"}},
		{"not executable in PATH", []string{"plain"}, nil, []string{"was not found in PATH"}},
		{"values in env", []string{"no-such-agent"}, []string{"TOKEN=secret", ""}, []string{"was not found", `"TOKEN" is none`, `"" is none`}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := command.New(command.Options{Command: test.argv, Env: test.env, Getenv: environment(map[string]string{"PATH": dir})})
			if err == nil {
				t.Fatal("taken")
			}
			for _, says := range test.says {
				if !strings.Contains(err.Error(), says) {
					t.Errorf("the error does not say %q: %v", says, err)
				}
			}
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("the error shows a value: %v", err)
			}
		})
	}
	if _, err := command.New(command.Options{Command: run("echo")}); err == nil {
		t.Error("no environment was taken")
	}
}

func TestShowsNothingOfTheEnvironment(t *testing.T) {
	j := newJudge(t, command.Options{
		Command: run("echo"), Env: []string{"TOKEN"}, Getenv: environment(map[string]string{"TOKEN": "token-0123456789"}),
	})
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%d"} {
		if shown := fmt.Sprintf(verb, j); strings.Contains(shown, "0123456789") || !strings.Contains(shown, "moss-cli") {
			t.Errorf("%s shows %s", verb, shown)
		}
	}
}

func TestProviderIsTheProgramWhereNoneIsNamed(t *testing.T) {
	j, err := command.New(command.Options{Command: run("echo"), Getenv: environment(nil)})
	if err != nil || j.Info().Provider != filepath.Base(os.Args[0]) {
		t.Errorf("%+v, %v", j.Info(), err)
	}
}
