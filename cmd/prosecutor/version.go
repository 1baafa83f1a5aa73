package main

import "runtime/debug"

// release is set by the linker for a released binary.
var release = ""

// version is the release, or what the Go tool recorded about the build.
func version() string {
	if release != "" {
		return release
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "devel"
	}
	v := info.Main.Version
	if v == "" || v == "(devel)" {
		v = "devel"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 && v == "devel" {
			return v + "-" + s.Value[:12]
		}
	}
	return v
}
