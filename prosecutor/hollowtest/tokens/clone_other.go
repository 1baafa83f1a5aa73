//go:build !linux

package tokens

import (
	"errors"
	"os"
)

// clone is not known here.
func clone(_, _ *os.File) error { return errors.ErrUnsupported }
