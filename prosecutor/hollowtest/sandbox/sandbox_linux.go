package sandbox

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest"
	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest/process"
)

// Executor starts processes in a sandbox. It is safe for concurrent use.
type Executor struct {
	o       Options
	bin     map[string]string // the programs that build the sandbox, by name
	root    bool              // this process is root: tests run as the account nobody
	overlay bool              // the directory of a command can be made writable without being written to
	etc     []string          // what of /etc is shown

	mu   sync.Mutex
	owns map[string]bool // directories that were given to nobody
}

var _ hollowtest.Executor = (*Executor)(nil)

const (
	// nobody is the account and group of tests where this process is root. It owns nothing by convention.
	nobody = 65534
	// inside holds what the sandbox needs for itself.
	inside = "/.prosecutor"
	// pollDisk is how often the size of directories on the machine's own disk is looked at.
	pollDisk = 100 * time.Millisecond
)

// New checks that this machine lets a sandbox be built, by building one. Its error is an UnavailableError when it does
// not, unless ctx ended.
func New(ctx context.Context, o Options) (*Executor, error) {
	e := &Executor{o: o, bin: map[string]string{}, root: os.Getuid() == 0, owns: map[string]bool{}}
	if !filepath.IsAbs(o.Scratch) {
		return nil, fmt.Errorf("sandbox: the scratch directory %q is not absolute", o.Scratch)
	}
	var missing []string
	for _, name := range []string{"bwrap", "sh", "mount", "umount", "setpriv", "unshare", "prlimit", "true"} {
		p, err := exec.LookPath(name)
		if err != nil {
			missing = append(missing, name)
			continue
		}
		e.bin[name] = p
	}
	if len(missing) > 0 {
		return nil, &UnavailableError{Why: "not found in PATH: " + strings.Join(missing, ", ") + " (packages bubblewrap and util-linux)"}
	}
	e.etc = shownEtc(o.Network)
	dir, err := os.MkdirTemp(o.Scratch, "probe-")
	if err != nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // an empty directory below Scratch, which goes as a whole
	var why string
	for _, e.overlay = range []bool{true, false} {
		res, err := e.Run(ctx, hollowtest.Command{Kind: hollowtest.TestCommand, Argv: []string{e.bin["true"]}, Dir: dir, Env: []string{"PATH=/usr/bin:/bin"}, Wall: probeWithin})
		if err == nil && res.Exit != nil && *res.Exit == 0 {
			return e, nil
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("sandbox: %w", ctx.Err())
		}
		if err != nil {
			why = err.Error()
		} else {
			why = fmt.Sprintf("a program that does nothing fails in it: %s", firstLine(res.Output))
		}
	}
	return nil, &UnavailableError{Why: why + " (user namespaces may be refused on this machine)"}
}

// Run implements hollowtest.Executor. Its directory is writable: what is written there is gone afterwards, where the
// kernel can do that, and unless c.Write covers the directory. A disk that is over its limit counts as memory.
func (e *Executor) Run(ctx context.Context, c hollowtest.Command) (hollowtest.ExecResult, error) {
	if len(c.Argv) == 0 {
		return hollowtest.ExecResult{}, errors.New("starting a process: no command given")
	}
	if !filepath.IsAbs(c.Dir) {
		return hollowtest.ExecResult{}, fmt.Errorf("starting %s: the directory %q is not absolute", c.Argv[0], c.Dir)
	}
	drop := e.root && c.Kind == hollowtest.TestCommand
	if drop {
		for _, dir := range append([]string{c.Dir}, c.Write...) {
			if err := e.give(dir, dir != c.Dir); err != nil {
				return hollowtest.ExecResult{}, fmt.Errorf("preparing the sandbox: %w", err)
			}
		}
	}
	ready := rand.Text() + "\n"
	wrapped := c
	wrapped.Argv, wrapped.Dir = e.command(c, ready, drop), "/"
	if !e.o.Network {
		// Fetching dependencies may take a proxy's password, and runs nothing that could tell it to anybody.
		wrapped.Env = []string{}
		for _, kv := range c.Env {
			if hollowtest.Harmless(kv) {
				wrapped.Env = append(wrapped.Env, kv)
			}
		}
	}
	if wrapped.Output <= 0 {
		wrapped.Output = 64 << 10
	}
	wrapped.Output += 2 * len(ready)
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var watching sync.WaitGroup
	if paths := e.onDisk(c); len(paths) > 0 {
		watching.Go(func() { e.watchDisk(inner, paths, cancel) })
	}
	res, err := process.Plain{Attributes: e.attributes}.Run(inner, wrapped)
	full := errors.Is(context.Cause(inner), errDiskFull)
	cancel(nil)
	watching.Wait()
	started := bytes.HasPrefix(res.Output, []byte(ready))
	res.Output = bytes.TrimPrefix(res.Output, []byte(ready))
	switch {
	case full:
		res.OutMemory = true
		res.Output = append(res.Output, "\n[the sandbox's limit of disk space was reached]\n"...)
		return res, nil
	case err != nil:
		return res, err
	case !started && !res.TimedOut && !res.OutMemory:
		return res, fmt.Errorf("the sandbox could not be built: %s", firstLine(res.Output))
	}
	e.signal(&res)
	return res, nil
}

// signal tells a signal from an exit code: bubblewrap exits with 128 and the signal's number when its program was killed.
func (e *Executor) signal(res *hollowtest.ExecResult) {
	if res.Exit == nil || *res.Exit <= 128 {
		return
	}
	if name := unix.SignalName(syscall.Signal(*res.Exit - 128)); name != "" {
		res.Exit, res.Signal = nil, name
	}
}

// attributes gives bubblewrap a user namespace where this process is root. Root's limits of processes do not hold, not
// even in a namespace, so another account is needed, and only the parent can map two.
func (e *Executor) attributes(a *syscall.SysProcAttr) {
	if !e.root {
		return
	}
	ids := []syscall.SysProcIDMap{{ContainerID: 0, HostID: 0, Size: 1}, {ContainerID: nobody, HostID: nobody, Size: 1}}
	a.Cloneflags |= syscall.CLONE_NEWUSER
	a.UidMappings, a.GidMappings, a.GidMappingsEnableSetgroups = ids, ids, true
}

// script finishes the sandbox from within, gives up all rights, and becomes the command. It prints its first argument
// when everything is in place, so that a sandbox that fails is never taken for a command that does.
const script = `set -eu
ready=$1 dir=$2 mount=$3 umount=$4 users=$5 below=$6
shift 6
umask 077
if [ -n "$dir" ]; then
	mkdir ` + inside + `/top/upper ` + inside + `/top/work
	chmod --reference="$dir" ` + inside + `/top/upper
	chown --reference="$dir" ` + inside + `/top/upper 2>/dev/null || true
	o=lowerdir=` + inside + `/lower,upperdir=` + inside + `/top/upper,workdir=` + inside + `/top/work
	"$mount" -t overlay overlay -o "$o,userxattr" "$dir" 2>/dev/null || "$mount" -t overlay overlay -o "$o" "$dir"
	i=0
	while [ "$i" -lt "$below" ]; do
		"$mount" --bind "` + inside + `/below$i" "$1"
		shift
		i=$((i + 1))
	done
	cd "$dir"
fi
"$umount" /proc/sys 2>/dev/null || true
echo "$users" 2>/dev/null >/proc/sys/user/max_user_namespaces || true
"$mount" -o bind,ro /proc/sys /proc/sys 2>/dev/null || true
umask 022
printf '%s' "$ready"
exec "$@"
`

// command is the argument list of bubblewrap.
func (e *Executor) command(c hollowtest.Command, ready string, drop bool) []string {
	disk := strconv.FormatInt(e.o.disk(), 10)
	a := []string{e.bin["bwrap"], "--die-with-parent", "--new-session", "--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try", "--cap-add", "ALL"}
	users := "0"
	if !e.root {
		// Only root can mount within, and only another namespace makes it somebody else again.
		a = append(a, "--unshare-user", "--uid", "0", "--gid", "0")
		users = "1"
	}
	if !e.o.Network {
		a = append(a, "--unshare-net")
	}
	a = append(a, "--ro-bind", "/usr", "/usr", "--perms", "0755", "--dir", "/etc")
	for _, dir := range []string{"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"} {
		if target, err := os.Readlink(dir); err == nil {
			a = append(a, "--symlink", target, dir)
		} else {
			a = append(a, "--ro-bind-try", dir, dir)
		}
	}
	for _, name := range e.etc {
		a = append(a, "--perms", "0755", "--dir", filepath.Dir(name), "--ro-bind-try", name, name)
	}
	a = append(a, "--proc", "/proc", "--dev", "/dev", "--perms", "1777", "--size", disk, "--tmpfs", "/dev/shm", "--remount-ro", "/dev",
		"--perms", "1777", "--size", disk, "--tmpfs", "/tmp", "--dir", "/var", "--symlink", "/tmp", "/var/tmp")
	covered := false
	for _, w := range c.Write {
		covered = covered || below(c.Dir, w)
	}
	for _, m := range mounts(c, !covered && !e.overlay) {
		a = append(a, m...)
	}
	dir := ""
	var hidden []string // directories to write to that the overlay would hide
	if !covered && e.overlay {
		dir = c.Dir
		a = append(a, "--dir", inside)
		for _, w := range c.Write {
			if below(w, c.Dir) {
				a = append(a, "--bind", w, inside+"/below"+strconv.Itoa(len(hidden)))
				hidden = append(hidden, w)
			}
		}
		a = append(a, "--ro-bind", c.Dir, inside+"/lower", "--perms", "0711", "--size", disk, "--tmpfs", inside+"/top")
	}
	a = append(a, "--remount-ro", "/", "--chdir", c.Dir, "--", e.bin["sh"], "-c", script, "sh", ready, dir, e.bin["mount"], e.bin["umount"], users, strconv.Itoa(len(hidden)))
	a = append(a, hidden...)
	rights := []string{e.bin["setpriv"], "--inh-caps=-all", "--ambient-caps=-all", "--bounding-set=-all", "--no-new-privs"}
	switch {
	case !e.root:
		a = append(a, e.bin["unshare"], "--user", "--map-user="+strconv.Itoa(os.Getuid()), "--map-group="+strconv.Itoa(os.Getgid()), "--")
	case drop:
		a = append(a, append(rights, "--reuid", strconv.Itoa(nobody), "--regid", strconv.Itoa(nobody), "--clear-groups", "--")...)
	default:
		a = append(a, append(rights, "--")...)
	}
	n := strconv.Itoa(e.o.processes())
	a = append(a, e.bin["prlimit"], "--nproc="+n+":"+n, "--fsize="+disk+":"+disk, "--core=0:0", "--")
	return append(a, c.Argv...)
}

// mounts shows the directories of a command, outer ones first. The directory of the command itself is shown too.
func mounts(c hollowtest.Command, writable bool) [][]string {
	kinds := map[string]string{filepath.Clean(c.Dir): "--ro-bind"}
	if writable {
		kinds[filepath.Clean(c.Dir)] = "--bind"
	}
	for _, p := range c.Read {
		if _, ok := kinds[filepath.Clean(p)]; !ok {
			kinds[filepath.Clean(p)] = "--ro-bind-try"
		}
	}
	for _, p := range c.Write {
		if below(c.Dir, p) {
			delete(kinds, filepath.Clean(c.Dir)) // it is shown with what it lies in
		}
	}
	for _, p := range c.Write {
		kinds[filepath.Clean(p)] = "--bind"
	}
	paths := make([]string, 0, len(kinds))
	for p := range kinds {
		paths = append(paths, p)
	}
	slices.Sort(paths) // a directory sorts before what is below it
	var all [][]string
	made := []string{"/usr", "/tmp", "/dev", "/proc", "/etc", "/var"}
	for _, p := range paths {
		// What is below a directory of the system is there already.
		if kinds[p] != "--bind" && below(p, "/usr") {
			continue
		}
		// bubblewrap would make the directories above for the owner alone.
		for i := 1; i < len(p); i++ {
			if parent := p[:i]; p[i] == '/' && !slices.Contains(made, parent) {
				made = append(made, parent)
				all = append(all, []string{"--perms", "0755", "--dir", parent})
			}
		}
		all = append(all, []string{kinds[p], p, p})
	}
	return all
}

func below(p, dir string) bool {
	rel, err := filepath.Rel(dir, p)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
}

// shownEtc lists what programs need of /etc. No file with a secret is among it.
func shownEtc(network bool) []string {
	names := []string{
		"alternatives", "bash.bashrc", "ca-certificates", "ca-certificates.conf", "crypto-policies", "debian_version", "fonts", "group",
		"host.conf", "hostname", "hosts", "java", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "locale.alias", "localtime", "magic", "mime.types",
		"nsswitch.conf", "os-release", "passwd", "pki/ca-trust", "pki/tls/certs", "protocols", "services", "shells", "ssl/certs", "ssl/openssl.cnf", "timezone",
	}
	if network {
		names = append(names, "resolv.conf", "gai.conf")
	}
	for i, n := range names {
		names[i] = "/etc/" + n
	}
	more, err := filepath.Glob("/etc/java-*")
	if err != nil {
		return names
	}
	return append(names, more...)
}

// give makes a directory and what is in it the account nobody's, if it is below the scratch directory. again says that
// other files may have come since the last time.
func (e *Executor) give(dir string, again bool) error {
	if !below(dir, e.o.Scratch) {
		return nil
	}
	e.mu.Lock()
	known := e.owns[dir]
	e.owns[dir] = true
	e.mu.Unlock()
	if known && !again {
		return nil
	}
	// Other commands may be at work in there, as nobody: a link in the place of a directory must not lead this process out.
	root, err := os.OpenRoot(e.o.Scratch)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // nothing was written through it
	rel, err := filepath.Rel(e.o.Scratch, dir)
	if err != nil {
		return err
	}
	return fs.WalkDir(root.FS(), filepath.ToSlash(rel), func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return nil // another command of the same directory removed it
			}
			return err
		}
		if info, err := d.Info(); err == nil {
			if s, ok := info.Sys().(*syscall.Stat_t); ok && s.Uid == nobody {
				return nil
			}
		}
		if err := root.Lchown(p, nobody, nobody); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
}

// onDisk lists what a command may fill of the machine's own disk.
func (e *Executor) onDisk(c hollowtest.Command) []string {
	var paths []string
	for _, p := range c.Write {
		if below(p, e.o.Scratch) {
			paths = append(paths, p)
		}
	}
	if !e.overlay {
		paths = append(paths, c.Dir)
	}
	return paths
}

var errDiskFull = errors.New("the limit of disk space was reached")

// watchDisk ends a command that has filled the disk by more than its limit. Looking takes a twentieth of the time at most.
func (e *Executor) watchDisk(ctx context.Context, paths []string, cancel context.CancelCauseFunc) {
	before := int64(-1)
	for {
		start := time.Now()
		var used int64
		for _, p := range paths {
			used += usage(ctx, p)
		}
		if before < 0 {
			before = used
		}
		if used-before > e.o.disk() {
			cancel(errDiskFull)
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(max(pollDisk, 20*time.Since(start))):
		}
	}
}

// usage is what the files below a directory take of the disk, in bytes.
func usage(ctx context.Context, dir string) int64 {
	var sum int64
	//nolint:errcheck // files come and go while they are counted, and what cannot be read counts nothing
	filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return fs.SkipAll
		}
		if err != nil {
			return nil //nolint:nilerr // see above
		}
		if info, err := d.Info(); err == nil {
			if s, ok := info.Sys().(*syscall.Stat_t); ok {
				sum += s.Blocks * 512
			}
		}
		return nil
	})
	return sum
}

func firstLine(b []byte) string {
	s, _, _ := strings.Cut(strings.TrimSpace(string(b)), "\n")
	if s == "" {
		return "it said nothing"
	}
	return s
}
