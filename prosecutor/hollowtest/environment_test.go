package hollowtest_test

import (
	"testing"

	"github.com/prosecutor-bot/prosecutor/prosecutor/hollowtest"
)

func TestHarmless(t *testing.T) {
	for variable, want := range map[string]bool{
		"PATH=/usr/bin:/bin":                        true,
		"GOPROXY=https://proxy.example.com,direct":  true,
		"GOPROXY=https://me:hush@proxy.example.com": false,
		"https_proxy=http://user@10.0.0.1:3128":     false,
		"GOAUTH=netrc":                              false,
		"MAVEN_OPTS=-Xmx1g":                         true,
		"MAVEN_OPTS=-Dhttp.proxyPassword=hush":      false,
		"NPM_TOKEN=x":                               false,
		"GOFLAGS=-tags=a@b":                         true,
		"EMPTY":                                     true,
	} {
		if got := hollowtest.Harmless(variable); got != want {
			t.Errorf("%s: %v", variable, got)
		}
	}
}
