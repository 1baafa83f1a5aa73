package hollowtest

import (
	"regexp"
	"strings"
)

// secretive finds credentials in the value of an environment variable: in a URL, or by their names in options.
var secretive = regexp.MustCompile(`(?i)://[^/@\s]+@|passw(?:or)?d|secret|token|api[-_]?key|credential`)

// Harmless reports whether an environment variable of the server, as NAME=value, may be shown to code that nobody has judged:
// its value holds no credential, and its name does not say that it is one. What tests see can get into the names of subtests, and
// so into a report.
func Harmless(variable string) bool {
	name, value, _ := strings.Cut(variable, "=")
	return name != "GOAUTH" && !secretive.MatchString(name) && !secretive.MatchString(value)
}
