// Package prosecutorbot is the root of the module. It holds the GitHub App's manifest, which by Probot's convention is
// app.yml in the root of the repository, where an embed directive of another package cannot reach it. Package
// app/manifest reads it.
package prosecutorbot

import _ "embed"

// AppManifest is app.yml as it was when the binary was built.
//
//go:embed app.yml
var AppManifest []byte
