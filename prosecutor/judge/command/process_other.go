//go:build !unix

package command

import (
	"context"
	"errors"
)

var errUnsupported = errors.New("the command adapter needs a Unix system: it ends programs by their process group")

func supported() error { return errUnsupported }

func lookPath(string, string) (string, error) { return "", errUnsupported }

func (j *Judge) run(context.Context, string) (string, error) { return "", errUnsupported }
