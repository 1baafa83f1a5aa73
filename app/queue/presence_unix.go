//go:build unix

package queue

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// presence is a lock on a file that every process that works on a SQLite queue holds, and that ends with the process however
// that ends.
type presence struct{ f *os.File }

// appear takes the lock. alone says that nobody else holds it; then it is held exclusively until share.
func appear(path string) (p *presence, alone bool, err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // the operator names the database beside which it is
	if err != nil {
		return nil, false, fmt.Errorf("opening the lock of the queue: %w", err)
	}
	p = &presence{f: f}
	err = p.flock(unix.LOCK_EX | unix.LOCK_NB)
	if err == nil {
		return p, true, nil
	}
	if !errors.Is(err, unix.EWOULDBLOCK) {
		return nil, false, errors.Join(fmt.Errorf("locking %s: %w", path, err), f.Close())
	}
	return p, false, nil
}

// share lets others appear. It waits for one that is just taking itself to be alone, which takes milliseconds.
func (p *presence) share() error {
	if err := p.flock(unix.LOCK_SH); err != nil {
		return fmt.Errorf("sharing the lock of the queue: %w", err)
	}
	return nil
}

func (p *presence) flock(how int) error {
	for {
		if err := unix.Flock(int(p.f.Fd()), how); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

func (p *presence) close() error { return p.f.Close() }
