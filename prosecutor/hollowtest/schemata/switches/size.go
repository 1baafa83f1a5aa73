//go:build go1.21

package switches

// mutants is the highest number of a mutant. Each build has its own.
const mutants = 1 << 10
