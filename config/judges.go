package config

import "strings"

// checkServer is filled in with the rules of each adapter.
func checkServer(s *Server, d *decoder) {}

// secretLike reports whether a text may be a credential.
func secretLike(s string) bool {
	return strings.HasPrefix(s, "sk-") || len(s) > 40
}
