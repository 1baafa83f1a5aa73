package setup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
)

// The names of what is written.
const (
	KeyFile = "prosecutor.pem"
	EnvFile = "prosecutor-app.env"
)

// files are the absolute paths of the credentials, and the names that prosecutor serve knows them by.
type files struct {
	key, env                    string
	keyVariable, secretVariable string
}

// plainPath has only characters that mean themselves to a shell, to systemd and to docker alike, whose files of variables have
// different rules about quotes.
var plainPath = regexp.MustCompile(`^[A-Za-z0-9/._+@,:-]+$`)

// newFiles makes the directory and proves that files can be made in it, before there is a key that would be lost.
func newFiles(dir string) (files, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return files{}, fmt.Errorf("the directory for the credentials: %w", err)
	}
	if !plainPath.MatchString(abs) {
		return files{}, fmt.Errorf("the directory %q cannot be written into a file of variables: choose one of letters, digits and . _ - only", abs)
	}
	f := files{key: filepath.Join(abs, KeyFile), env: filepath.Join(abs, EnvFile)}
	if err := f.absent(); err != nil {
		return files{}, err
	}
	if err := os.MkdirAll(abs, 0o700); err != nil {
		return files{}, fmt.Errorf("making the directory for the credentials: %w", err)
	}
	probe, err := os.CreateTemp(abs, ".prosecutor-setup-")
	if err != nil {
		return files{}, fmt.Errorf("the credentials cannot be kept there: %w", err)
	}
	return f, errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// absent refuses when there are credentials already: they may be the only copy of a key.
func (f files) absent() error {
	for _, path := range []string{f.key, f.env} {
		_, err := os.Lstat(path)
		if err == nil {
			return fmt.Errorf("%s exists: an App was set up here already. Move its files away if another one is to be registered", path)
		}
		if !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("looking for earlier credentials: %w", err)
		}
	}
	return nil
}

func (f files) writeKey(key []byte) error { return writeNew(f.key, key) }

// writeEnv writes the variables that prosecutor serve reads. Without a secret its line is left out.
func (f files) writeEnv(id int64, webhookSecret string) error {
	text := fmt.Sprintf("APP_ID=%d\n%s=%s\n", id, f.keyVariable, f.key)
	if webhookSecret != "" {
		text += f.secretVariable + "=" + webhookSecret + "\n"
	}
	return writeNew(f.env, []byte(text))
}

// writeNew writes a file that only its owner may read, and never over another one or through a link. What cannot be written
// whole is removed.
func writeNew(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("writing credentials: %w", err)
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Sync(), f.Close())
	if err != nil {
		return errors.Join(fmt.Errorf("writing credentials: %w", err), os.Remove(path))
	}
	return nil
}
