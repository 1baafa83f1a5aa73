package casefile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prosecutor-bot/prosecutor/app/ghclient"
)

// RetryableError says that the case could not be read now and probably can be soon: an answer from before the event, a
// failure of GitHub's, a broken connection. The worker waits for After, or its own back-off when that is zero, and gives up
// after a number of attempts of its own.
type RetryableError struct {
	What  string // what was wrong, in words for people
	Stale bool   // the answer was older than the event
	After time.Duration
	Err   error // may be nil
}

// Error implements error.
func (e *RetryableError) Error() string {
	if e.Err == nil {
		return e.What
	}
	return fmt.Sprintf("%s: %v", e.What, e.Err)
}

// Unwrap returns the cause.
func (e *RetryableError) Unwrap() error { return e.Err }

// Gone names what is gone.
type Gone string

// What can be gone.
const (
	GoneInstallation Gone = "installation" // removed, suspended, or without the repository
	GoneRepository   Gone = "repository"
	GonePull         Gone = "pull request"
	GoneBase         Gone = "base branch"
)

// GoneError says that there is nothing left to judge. Retrying does not help.
type GoneError struct {
	What Gone
	Name string
	Err  error // may be nil
}

// Error implements error.
func (e *GoneError) Error() string {
	s := fmt.Sprintf("the %s %s is gone, or out of the App's reach", e.What, e.Name)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *GoneError) Unwrap() error { return e.Err }

// failed classifies the failure of a read that a case cannot do without. What is not found although an answer has just
// named it is not found yet.
func failed(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	what := fmt.Sprintf(format, args...)
	var gone *GoneError
	var retry *RetryableError
	if errors.As(err, &gone) || errors.As(err, &retry) || errors.Is(err, context.Canceled) {
		return fmt.Errorf("%s: %w", what, err)
	}
	switch ghclient.ClassOf(err) {
	case ghclient.ClassInstallationGone, ghclient.ClassSuspended:
		return &GoneError{What: GoneInstallation, Name: what, Err: err}
	case ghclient.ClassUnavailable, ghclient.ClassNotFound, ghclient.ClassConflict, ghclient.ClassMoved:
		return &RetryableError{What: what, Err: err}
	default:
		return fmt.Errorf("%s: %w", what, err)
	}
}

// errorAs is errors.As for a type that is known.
func errorAs[T error](err error) (T, bool) {
	var target T
	ok := errors.As(err, &target)
	return target, ok
}
