package tokens

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// inherited lists the variables that a test command may need of this process's environment. Nothing else is passed on.
var inherited = regexp.MustCompile(`^(?:PATH|LANG|LC_[A-Z]+|TZ|JAVA_HOME|GRADLE_OPTS|MAVEN_OPTS|NODE_PATH|PYENV_VERSION|RBENV_VERSION|LD_LIBRARY_PATH|NIX_[A-Z_]+|SSL_CERT_(?:FILE|DIR)|SYSTEMROOT)$`)

// homes are the tool chains that look for themselves below the home directory, which tests do not get.
var homes = []struct{ variable, dir string }{
	{"PYENV_ROOT", ".pyenv"}, {"RUSTUP_HOME", ".rustup"}, {"CARGO_HOME", ".cargo"}, {"RBENV_ROOT", ".rbenv"}, {"NVM_DIR", ".nvm"}, {"VOLTA_HOME", ".volta"},
	{"ASDF_DATA_DIR", ".asdf"}, {"SDKMAN_DIR", ".sdkman"},
}

// Environment returns the environment of a command that runs a repository's code, with a home and a temporary directory
// of its own below scratch, and the directories of tool chains that a sandbox has to show for it. What extra holds wins.
func Environment(scratch string, extra []string) (env, read []string, err error) {
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); inherited.MatchString(name) {
			env = append(env, kv)
		}
	}
	home, tmp := filepath.Join(scratch, "home"), filepath.Join(scratch, "tmp")
	for _, dir := range []string{home, tmp} {
		if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // the tests may run as another account
			return nil, nil, fmt.Errorf("preparing a run: %w", err)
		}
	}
	// A compiled copy of a module would be taken for a mutant of the same size and second.
	env = append(env, "HOME="+home, "TMPDIR="+tmp, "CI=true", "NO_COLOR=1", "PYTHONDONTWRITEBYTECODE=1", "PYTHONHASHSEED=0")
	user, err := os.UserHomeDir()
	if err != nil {
		user = "" // without a home there are no tool chains in it
	}
	for _, h := range homes {
		dir := os.Getenv(h.variable)
		if dir == "" && user != "" {
			dir = filepath.Join(user, h.dir)
		}
		if !isDir(dir) {
			continue
		}
		env = append(env, h.variable+"="+dir)
		if h.variable == "CARGO_HOME" {
			// Its own directory also holds the credentials of registries.
			read = append(read, filepath.Join(dir, "bin"), filepath.Join(dir, "registry"), filepath.Join(dir, "git"), filepath.Join(dir, "env"))
			continue
		}
		read = append(read, dir)
	}
	env = append(env, extra...)
	search := ""
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, "PATH="); ok {
			search = v
		}
		if v, ok := strings.CutPrefix(kv, "JAVA_HOME="); ok {
			read = append(read, v)
		}
	}
	for _, dir := range filepath.SplitList(search) {
		read = append(read, toolDirs(dir, user)...)
	}
	slices.Sort(read)
	return unique(env), slices.Compact(read), nil
}

// toolDirs lists what belongs to a directory of PATH: itself, and the installation around a directory called bin. The
// directories right below a home hold more than programs.
func toolDirs(dir, home string) []string {
	if !filepath.IsAbs(dir) || strings.HasPrefix(dir, "/usr/") || dir == "/bin" || dir == "/sbin" {
		return nil
	}
	if !isDir(dir) {
		return nil
	}
	dirs := []string{dir}
	prefix := filepath.Dir(dir)
	if filepath.Base(dir) == "bin" && prefix != "/" && prefix != home && filepath.Dir(prefix) != home {
		if isDir(filepath.Join(prefix, "lib")) {
			dirs = append(dirs, prefix)
		}
	}
	return dirs
}

// isDir reports whether a directory that the user's own environment names is there.
func isDir(name string) bool {
	info, err := os.Stat(name) //nolint:gosec // the environment is the user's
	return err == nil && name != "" && info.IsDir()
}

// unique keeps the last value of each variable.
func unique(env []string) []string {
	last := make(map[string]int)
	for i, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		last[name] = i
	}
	var kept []string
	for i, kv := range env {
		if name, _, _ := strings.Cut(kv, "="); last[name] == i {
			kept = append(kept, kv)
		}
	}
	return kept
}
