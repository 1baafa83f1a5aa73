package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/prosecutor-bot/prosecutor/config"
)

// serverFile is the name of the server file in the current directory.
const serverFile = "prosecutor-server.yml"

// loadServer reads the server file: the one named by the flag, else by PROSECUTOR_CONFIG, else ./prosecutor-server.yml
// if it exists. Without a file the defaults hold, and the built-in static rules judge.
func loadServer(flag string, getenv func(string) string) (*config.Server, error) {
	path, named := flag, flag != ""
	if path == "" {
		path = getenv("PROSECUTOR_CONFIG")
		named = path != ""
	}
	if path == "" {
		path = serverFile
	}
	data, err := config.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) && !named {
		return config.ParseServer("(defaults)", nil)
	}
	if err != nil {
		return nil, fmt.Errorf("server file: %w", err)
	}
	return config.ParseServer(path, data)
}

// stateFile is where the ledger is kept: $XDG_STATE_HOME/prosecutor/ledger.db, or ~/.local/state/prosecutor/ledger.db.
func stateFile(getenv func(string) string) (string, error) {
	dir := getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(dir) { // the XDG specification says to ignore a relative path
		home := getenv("HOME")
		if home == "" {
			return "", errors.New("the ledger has no place: set HOME or XDG_STATE_HOME, or use --no-ledger")
		}
		dir = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(dir, "prosecutor", "ledger.db"), nil
}

// maxSpec bounds the text of a spec that is read from a file or standard input.
const maxSpec = 1 << 20

// readSpec reads the spec from a file, or from standard input for "-".
func readSpec(name string, stdin io.Reader) (string, error) {
	r := stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return "", fmt.Errorf("--spec: %w", err)
		}
		defer f.Close()
		r = f
	}
	data, err := io.ReadAll(io.LimitReader(r, maxSpec+1))
	if err != nil {
		return "", fmt.Errorf("--spec %s: %w", name, err)
	}
	if len(data) > maxSpec {
		return "", fmt.Errorf("--spec %s is over %d KiB: give the part that states what the change should do", name, maxSpec>>10)
	}
	return string(data), nil
}
