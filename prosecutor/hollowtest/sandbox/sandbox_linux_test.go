package sandbox

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest"
)

// noSandbox is the variable that lets the tests of the sandbox pass where none can be built.
const noSandbox = "PROSECUTOR_TEST_NO_SANDBOX"

// scratch returns a directory that others can enter, as the account of the tests may be another one.
func scratch(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// build returns an executor and the directory that commands start in. Without a sandbox the test fails, unless somebody
// said that there is none.
func build(t *testing.T, o Options) (*Executor, string) {
	t.Helper()
	o.Scratch = scratch(t)
	e, err := New(t.Context(), o)
	if err != nil {
		if os.Getenv(noSandbox) == "1" {
			fmt.Fprintf(os.Stderr, "NOT CHECKED: %s: %v\n", t.Name(), err)
			t.SkipNow()
		}
		t.Fatalf("%v\nSet %s=1 to go on without what this test checks.", err, noSandbox)
	}
	tree := filepath.Join(o.Scratch, "tree")
	if err := os.Mkdir(tree, 0o755); err != nil {
		t.Fatal(err)
	}
	return e, tree
}

func command(dir, script string) hollowtest.Command {
	return hollowtest.Command{
		Kind: hollowtest.TestCommand, Argv: []string{"sh", "-c", script}, Dir: dir,
		Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin"}, Wall: 30 * time.Second,
	}
}

func shell(t *testing.T, e *Executor, c hollowtest.Command) (hollowtest.ExecResult, string) {
	t.Helper()
	res, err := e.Run(t.Context(), c)
	if err != nil {
		t.Fatalf("%v: %v", c.Argv, err)
	}
	return res, string(res.Output)
}

func exited(t *testing.T, res hollowtest.ExecResult, code int) {
	t.Helper()
	switch {
	case res.Exit == nil:
		t.Errorf("ended by %q, want exit code %d; output:\n%s", res.Signal, code, res.Output)
	case *res.Exit != code:
		t.Errorf("exit code %d, want %d; output:\n%s", *res.Exit, code, res.Output)
	}
}

func TestCommandSeesItsTreeAndNothingElse(t *testing.T) {
	e, tree := build(t, Options{})
	secret := filepath.Join(e.o.Scratch, "secret")
	if err := os.WriteFile(secret, []byte("s3cret"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(tree, "f"), []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	res, out := shell(t, e, command(tree, `cat "$PWD/f" && printf new >f && cat f && rm f && mkdir f && echo x >f/g && touch /tmp/t && ls /etc/passwd && ls `+secret))
	if !strings.HasPrefix(out, "oldnew/etc/passwd\n") || strings.Contains(out, "s3cret") || res.Exit == nil || *res.Exit == 0 {
		t.Errorf("exit %v, output:\n%s", res.Exit, out)
	}
	// Only where the kernel has no overlays is the tree itself written to.
	if got, err := os.ReadFile(filepath.Join(tree, "f")); e.overlay && (err != nil || string(got) != "old") {
		t.Errorf("the tree holds %q, %v", got, err)
	}
	_, out = shell(t, e, command(tree, "ls /home /root /sys /run /mnt 2>/dev/null; touch /usr/x /x /etc/x /dev/x 2>/dev/null && echo written; ls /tmp | grep -v '^"+strings.Split(strings.TrimPrefix(e.o.Scratch, "/tmp/"), "/")[0]+"$'"))
	if out != "" {
		t.Errorf("seen or written:\n%s", out)
	}
}

func TestWhatIsWrittenToWriteStays(t *testing.T) {
	e, tree := build(t, Options{})
	logs, sub := filepath.Join(e.o.Scratch, "logs"), filepath.Join(tree, "pkg")
	for _, d := range []string{logs, sub} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	c := command(sub, `echo hello >"$LOGS/l" && ls ..`)
	c.Env = append(c.Env, "LOGS="+logs)
	c.Write, c.Read = []string{logs}, []string{tree}
	res, _ := shell(t, e, c)
	exited(t, res, 0)
	if got, err := os.ReadFile(filepath.Join(logs, "l")); err != nil || string(got) != "hello\n" {
		t.Errorf("%q, %v", got, err)
	}
	inner := filepath.Join(tree, "out")
	if err := os.Mkdir(inner, 0o700); err != nil {
		t.Fatal(err)
	}
	c = command(tree, "echo x >out/kept && echo x >lost")
	c.Write = []string{inner}
	res, _ = shell(t, e, c)
	exited(t, res, 0)
	if _, err := os.Stat(filepath.Join(inner, "kept")); err != nil {
		t.Error(err)
	}
	c = command(sub, "echo x >made")
	c.Write = []string{tree}
	res, _ = shell(t, e, c)
	exited(t, res, 0)
	if _, err := os.Stat(filepath.Join(sub, "made")); err != nil {
		t.Error(err)
	}
}

func TestExitCodesAndSignals(t *testing.T) {
	e, tree := build(t, Options{})
	for _, c := range []struct {
		script, signal string
		exit           int
	}{
		{"exit 0", "", 0}, {"exit 1", "", 1}, {"exit 97", "", 97}, {"exit 127", "", 127}, {"kill -SEGV $$", "SIGSEGV", 0}, {"kill -ABRT $$", "SIGABRT", 0},
		{"kill -KILL $$", "SIGKILL", 0},
	} {
		res, _ := shell(t, e, command(tree, c.script))
		if res.Signal != c.signal || (c.signal == "") != (res.Exit != nil) || res.Exit != nil && *res.Exit != c.exit {
			t.Errorf("%s: exit %v signal %q", c.script, res.Exit, res.Signal)
		}
	}
	c := command(tree, "")
	c.Argv = []string{"/nowhere/to/be/found"}
	if res, err := e.Run(t.Context(), c); err == nil && (res.Exit == nil || *res.Exit != 127) {
		t.Errorf("a missing program: exit %v signal %q: %s", res.Exit, res.Signal, res.Output)
	}
}

func TestSandboxThatCannotBeBuiltIsNoResultOfTests(t *testing.T) {
	e, tree := build(t, Options{})
	c := command(tree, "exit 0")
	c.Write = []string{filepath.Join(e.o.Scratch, "missing")}
	if res, err := e.Run(t.Context(), c); err == nil {
		t.Errorf("no error: %+v", res)
	}
}

func TestForkBombIsContained(t *testing.T) {
	e, tree := build(t, Options{Processes: 64})
	sleeper := fmt.Sprintf("sleep 100.%d", os.Getpid()) // nobody else's on this machine
	c := command(tree, `b() { b | b & }; b; i=0; while [ $i -lt 200 ]; do `+sleeper+` & i=$((i+1)); done; wait`)
	c.Wall = 2 * time.Second
	before := processes(t)
	most := 0
	done := make(chan struct{})
	counted := make(chan struct{})
	go func() {
		defer close(counted)
		for {
			select {
			case <-done:
				return
			case <-time.After(20 * time.Millisecond):
				most = max(most, len(processes(t)))
			}
		}
	}()
	res, out := shell(t, e, c)
	close(done)
	<-counted
	if !res.TimedOut && !strings.Contains(out, "fork") {
		t.Errorf("neither time nor processes ran out: %+v\n%s", res, out)
	}
	if most > len(before)+300 {
		t.Errorf("%d processes at once, %d before", most, len(before))
	}
	gone(t, sleeper)
	// The next command is not short of processes.
	res, _ = shell(t, e, command(tree, "true & true & wait"))
	exited(t, res, 0)
}

func processes(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Error(err)
	}
	return all
}

// gone checks that no process with such a command line is left. The kernel ends a sandbox's processes a moment after the
// sandbox.
func gone(t *testing.T, line string) {
	t.Helper()
	var left []string
	for range 100 {
		left = nil
		for _, p := range processes(t) {
			b, err := os.ReadFile(filepath.Join(p, "cmdline"))
			if err == nil && strings.TrimRight(strings.ReplaceAll(string(b), "\x00", " "), " ") == line {
				left = append(left, p)
			}
		}
		if len(left) == 0 {
			return
		}
		<-time.After(20 * time.Millisecond)
	}
	t.Errorf("left behind: %v", left)
}

func TestDiskFillerIsContained(t *testing.T) {
	const limit = 16 << 20
	e, tree := build(t, Options{Disk: limit})
	logs := filepath.Join(e.o.Scratch, "logs")
	if err := os.Mkdir(logs, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"/tmp", "/dev/shm", ".", "/var/tmp"} {
		_, out := shell(t, e, command(tree, `trap '' XFSZ; for i in 1 2 3 4; do head -c 10000000 /dev/zero >`+dir+`/f$i 2>/dev/null || echo full; done; du -c `+dir+`/f* | tail -n 1`))
		if !strings.Contains(out, "full") {
			t.Errorf("%s was not full:\n%s", dir, out)
		}
	}
	// What stays on the machine's disk is bounded by looking at it.
	c := command(tree, `i=0; while :; do head -c 1000000 /dev/zero >`+logs+`/f$i; i=$((i+1)); done`)
	c.Write = []string{logs}
	res, _ := shell(t, e, c)
	if !res.OutMemory {
		t.Errorf("it was not ended for the disk: %+v", res)
	}
}

func TestWithoutOverlaysTheTreeIsWrittenTo(t *testing.T) {
	e, tree := build(t, Options{Disk: 16 << 20})
	e.overlay = false
	res, _ := shell(t, e, command(tree, "echo x >f"))
	exited(t, res, 0)
	if _, err := os.Stat(filepath.Join(tree, "f")); err != nil {
		t.Error(err)
	}
	if res, _ = shell(t, e, command(tree, `i=0; while :; do head -c 1000000 /dev/zero >f$i; i=$((i+1)); done`)); !res.OutMemory {
		t.Errorf("it was not ended for the disk: %+v", res)
	}
}

func TestMemoryIsBounded(t *testing.T) {
	e, tree := build(t, Options{})
	c := command(tree, `x=0123456789abcdef; while :; do x=$x$x; done`)
	c.Memory = 64 << 20
	if res, _ := shell(t, e, c); !res.OutMemory {
		t.Errorf("%+v", res)
	}
}

func TestSocketsReachNobody(t *testing.T) {
	e, tree := build(t, Options{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	abstract, err := net.Listen("unix", "@prosecutor-test-"+filepath.Base(filepath.Dir(e.o.Scratch)))
	if err != nil {
		t.Fatal(err)
	}
	defer abstract.Close()
	connected := make(chan string, 2)
	for _, l := range []net.Listener{l, abstract} {
		go func() {
			if c, err := l.Accept(); err == nil {
				connected <- l.Addr().String()
				c.Close()
			}
		}()
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c := command(tree, `ls /sys/class/net 2>/dev/null; cat /proc/net/dev | grep -c :; exec 3<>/dev/tcp/127.0.0.1/`+port+` && echo connected`)
	c.Argv[0] = "bash"
	res, out := shell(t, e, c)
	if res.Exit == nil || *res.Exit == 0 || strings.Contains(out, "connected") || !strings.HasPrefix(out, "1\n") {
		t.Errorf("exit %v, output:\n%s", res.Exit, out)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c = command(tree, "")
	c.Argv, c.Read = []string{exe, "-test.run=^TestDialer$", "-test.v"}, []string{filepath.Dir(exe)}
	c.Env = append(c.Env, "PROSECUTOR_DIAL="+abstract.Addr().String())
	if res, _ = shell(t, e, c); !strings.Contains(string(res.Output), "refused") {
		t.Errorf("the abstract socket: %s", res.Output)
	}
	select {
	case name := <-connected:
		t.Errorf("somebody connected to %s", name)
	default:
	}
}

// TestDialer is the program inside of TestSocketsReachNobody.
func TestDialer(t *testing.T) {
	addr := os.Getenv("PROSECUTOR_DIAL")
	if addr == "" {
		return
	}
	_, err := net.Dial("unix", addr)
	t.Log(err)
}

func TestSecretsAreNotReadable(t *testing.T) {
	e, tree := build(t, Options{})
	t.Setenv("PROSECUTOR_SECRET", "s3cret")
	given := command(tree, `env; tr '\0' '\n' </proc/self/environ`)
	given.Env = append(given.Env, "GOPROXY=https://me:hush@proxy.example.com", "GOSUMDB=off")
	if _, out := shell(t, e, given); strings.Contains(out, "hush") || !strings.Contains(out, "GOSUMDB=off") {
		t.Errorf("seen:\n%s", out)
	}
	_, out := shell(t, e, command(tree, `cat /etc/shadow /etc/gshadow /etc/sudoers 2>/dev/null; env; for p in /proc/[0-9]*; do tr '\0' '\n' <$p/environ; done 2>/dev/null; ls -d /proc/[0-9]* | wc -l`))
	if strings.Contains(out, "root:") || strings.Contains(out, "s3cret") {
		t.Errorf("seen:\n%s", out)
	}
	_, out = shell(t, e, command(tree, `cat /proc/`+fmt.Sprint(os.Getpid())+`/environ 2>/dev/null; grep -E '^Cap(Eff|Prm|Inh|Amb)' /proc/self/status | grep -v 0000000000000000; unshare -U true 2>/dev/null && echo unshared; mount -t tmpfs x /tmp 2>/dev/null && echo mounted; cat /dev/vda /dev/sda /dev/mem /dev/kmsg 2>/dev/null | head -c 1 | wc -c`))
	if strings.TrimSpace(out) != "0" {
		t.Errorf("seen:\n%s", out)
	}
}

func TestEndOfContextEndsTheSandbox(t *testing.T) {
	e, tree := build(t, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	logs := filepath.Join(e.o.Scratch, "logs")
	if err := os.Mkdir(logs, 0o700); err != nil {
		t.Fatal(err)
	}
	go func() {
		for range 500 {
			if _, err := os.Stat(filepath.Join(logs, "up")); err == nil {
				break
			}
			<-time.After(10 * time.Millisecond)
		}
		cancel()
	}()
	c := command(tree, "(setsid sleep 4321 &) ; echo x >"+logs+"/up; sleep 4322")
	c.Write = []string{logs}
	if _, err := e.Run(ctx, c); err == nil {
		t.Error("no error")
	}
	gone(t, "sleep 4321")
	gone(t, "sleep 4322")
}

func TestNothingOutsideOfScratchIsGivenAway(t *testing.T) {
	if os.Getuid() != 0 || runtime.GOOS != "linux" {
		return // only root gives anything away
	}
	e, tree := build(t, Options{})
	other := scratch(t)
	if err := os.WriteFile(filepath.Join(other, "f"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(other, "f"), filepath.Join(tree, "link")); err != nil {
		t.Fatal(err)
	}
	c := command(tree, "true")
	c.Write = []string{other, tree}
	shell(t, e, c)
	for _, p := range []string{other, filepath.Join(other, "f")} {
		if owner(t, p) != 0 {
			t.Errorf("%s belongs to %d", p, owner(t, p))
		}
	}
	if owner(t, tree) != nobody {
		t.Errorf("%s belongs to %d", tree, owner(t, tree))
	}
}

func owner(t *testing.T, p string) uint32 {
	t.Helper()
	info, err := os.Lstat(p)
	if err != nil {
		t.Fatal(err)
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		t.Fatal("no owner known")
	}
	return s.Uid
}
