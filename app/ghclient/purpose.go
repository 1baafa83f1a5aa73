package ghclient

import "context"

// Purpose says what a request is for, and so how much of an installation's hourly budget it may use.
type Purpose int

// The purposes, the first to yield first.
const (
	// Background is work that nobody waits for: reconciling, sweeping, statistics. It stops at three times the reserve.
	Background Purpose = iota - 1
	// Collecting reads a case. It is what a request is for when nothing else is said, and stops at the reserve.
	Collecting
	// Publishing posts a verdict that was paid for. It may use the budget to its end.
	Publishing
)

func (p Purpose) String() string {
	switch p {
	case Background:
		return "background"
	case Publishing:
		return "publishing"
	default:
		return "collecting"
	}
}

// share is the part of the hourly limit below which a request is not sent.
func (p Purpose) share(reserve float64) float64 {
	switch p {
	case Publishing:
		return 0
	case Background:
		return min(3*reserve, 1)
	default:
		return reserve
	}
}

type contextKey int

const (
	purposeKey contextKey = iota
	maxBodyKey
	operationKey
)

// WithPurpose says what the requests made with the context are for.
func WithPurpose(ctx context.Context, p Purpose) context.Context {
	return context.WithValue(ctx, purposeKey, p)
}

// PurposeOf returns the purpose of a context, Collecting by default.
func PurposeOf(ctx context.Context) Purpose {
	p, _ := ctx.Value(purposeKey).(Purpose)
	return p
}

// WithMaxBody sets the bound of the answers to requests made with the context, in bytes. A larger answer is a
// [TooLargeError].
func WithMaxBody(ctx context.Context, n int64) context.Context {
	return context.WithValue(ctx, maxBodyKey, n)
}

// withOperation marks a GraphQL request as a query or a mutation, which its method does not tell.
func withOperation(ctx context.Context, mutation bool) context.Context {
	return context.WithValue(ctx, operationKey, mutation)
}
