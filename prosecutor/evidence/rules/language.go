package rules

import (
	"path"
	"strings"
)

// lang is the language of a file, as far as the rules tell languages apart.
type lang int

const (
	other lang = iota
	golang
	python
	javascript // TypeScript, JSX and single-file components too
	java
	kotlin
	csharp
	rust
	ruby
	php
	c // C++ too
	shell
	yaml
	swift
	scala
	dockerfile
	makefile
)

type langs uint32

func of(list ...lang) langs {
	var set langs
	for _, l := range list {
		set |= 1 << l
	}
	return set
}

func (set langs) has(l lang) bool { return set&(1<<l) != 0 }

// programming is every language that is compiled or run.
var programming = of(golang, python, javascript, java, kotlin, csharp, rust, ruby, php, c, shell, swift, scala)

func langOf(name string) lang {
	base := path.Base(name)
	switch ext := strings.ToLower(path.Ext(base)); ext {
	case ".go":
		return golang
	case ".py", ".pyi", ".pyw":
		return python
	case ".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".mts", ".cts", ".vue", ".svelte":
		return javascript
	case ".java":
		return java
	case ".kt", ".kts":
		return kotlin
	case ".cs":
		return csharp
	case ".rs":
		return rust
	case ".rb", ".rake", ".gemspec":
		return ruby
	case ".php":
		return php
	case ".c", ".h", ".cc", ".cpp", ".cxx", ".hpp", ".hh", ".m", ".mm":
		return c
	case ".sh", ".bash", ".zsh", ".bats":
		return shell
	case ".yml", ".yaml":
		return yaml
	case ".swift":
		return swift
	case ".scala":
		return scala
	case ".mk":
		return makefile
	case ".dockerfile":
		return dockerfile
	}
	switch {
	case base == "Dockerfile" || strings.HasPrefix(base, "Dockerfile.") || base == "Containerfile":
		return dockerfile
	case base == "Makefile" || base == "GNUmakefile":
		return makefile
	case base == "Rakefile" || base == "Gemfile":
		return ruby
	}
	return other
}

// IsTest reports whether a path is test code, or lies in a folder that only tests use, by the conventions of the
// languages the rules know.
func IsTest(name string) bool {
	for _, template := range []string{".tmpl", ".tpl", ".in", ".erb"} {
		name = strings.TrimSuffix(name, template)
	}
	dir, base := path.Split(name)
	for _, part := range strings.Split(strings.ToLower(dir), "/") {
		switch part {
		case "test", "tests", "__tests__", "spec", "specs", "testdata", "__mocks__", "e2e", "testing", "testutil",
			"testutils", "test-utils", "__snapshots__", "androidtest", "cypress", "integration-tests", "integration_tests":
			return true
		}
		if strings.HasSuffix(part, ".tests") || strings.HasSuffix(part, "-tests") || strings.HasSuffix(part, "_tests") {
			return true
		}
		// Go's packages for tests of others: httptest, iotest.
		if stem, ok := strings.CutSuffix(part, "test"); ok && strings.HasSuffix(base, ".go") && stem != "la" && stem != "con" && stem != "at" && stem != "pro" {
			return true
		}
	}
	if isFixture(name) {
		return true
	}
	stem, ext := base, ""
	if i := strings.LastIndexByte(base, '.'); i > 0 {
		stem, ext = base[:i], base[i:]
	}
	switch ext {
	case ".go", ".py", ".rb", ".rs", ".c", ".cc", ".cpp":
		return strings.HasSuffix(stem, "_test") || strings.HasSuffix(stem, "_tests") || strings.HasPrefix(stem, "test_") ||
			strings.HasSuffix(stem, "_spec") || stem == "tests" || stem == "test" || stem == "conftest"
	case ".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".mts", ".cts":
		return strings.HasSuffix(stem, ".test") || strings.HasSuffix(stem, ".spec") || strings.HasSuffix(stem, ".cy") ||
			strings.HasSuffix(stem, ".e2e") || stem == "test" || stem == "tests"
	case ".java", ".kt", ".kts", ".scala", ".cs", ".php", ".swift":
		return strings.HasSuffix(stem, "Test") || strings.HasSuffix(stem, "Tests") || strings.HasSuffix(stem, "IT") ||
			strings.HasSuffix(stem, "Spec") || strings.HasSuffix(stem, "TestCase")
	case ".bats", ".snap", ".golden":
		return true
	}
	return false
}

// isFixture reports whether a path is data of tests or an example, where made-up values are the rule.
func isFixture(name string) bool {
	for _, part := range strings.Split(strings.ToLower(name), "/") {
		switch part {
		case "testdata", "fixtures", "fixture", "__fixtures__", "__snapshots__", "mocks", "__mocks__", "examples", "example",
			"samples", "sample", "corpus", "cassettes", "golden", "test-data", "test_data":
			return true
		}
	}
	base := strings.ToLower(path.Base(name))
	return strings.HasSuffix(base, ".snap") || strings.HasSuffix(base, ".golden") || strings.HasSuffix(base, ".example") ||
		strings.HasSuffix(base, ".sample") || strings.HasSuffix(base, ".template") || strings.Contains(base, "example.") ||
		strings.Contains(base, "sample.")
}

// isDoc reports whether a path is prose.
func isDoc(name string) bool {
	base := strings.ToLower(path.Base(name))
	switch path.Ext(base) {
	case ".md", ".mdx", ".markdown", ".rst", ".adoc", ".asciidoc", ".txt", ".rdoc", ".pod", ".1", ".tex", ".org":
		return base != "requirements.txt" && base != "cmakelists.txt" && base != "robots.txt"
	case "":
		switch base {
		case "license", "licence", "copying", "notice", "authors", "contributors", "changelog", "changes", "readme", "codeowners":
			return base != "codeowners"
		}
	}
	return false
}

// isDocAsset reports whether a path belongs to documentation without being prose: pictures, or anything below a
// documentation folder that is not a program.
func isDocAsset(name string) bool {
	lower := strings.ToLower(name)
	switch path.Ext(lower) {
	case ".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp", ".ico":
		return true
	}
	for _, part := range strings.Split(path.Dir(lower), "/") {
		if part == "docs" || part == "doc" || part == "documentation" || part == "website" {
			return true
		}
	}
	return false
}

// isLock reports whether a path is a lock or checksum file: full of long random-looking words, none of them secret.
func isLock(name string) bool {
	base := strings.ToLower(path.Base(name))
	switch base {
	case "go.sum", "package-lock.json", "yarn.lock", "pnpm-lock.yaml", "composer.lock", "poetry.lock", "gemfile.lock",
		"cargo.lock", "uv.lock", "pipfile.lock", "packages.lock.json", "podfile.lock", "flake.lock", "mix.lock", "bun.lock",
		"npm-shrinkwrap.json", "gradle.lockfile", "pubspec.lock":
		return true
	}
	return strings.HasSuffix(base, ".lock") || strings.HasSuffix(base, ".sum")
}

// isVendored reports whether a path lies in a folder of other people's code.
func isVendored(name string) bool {
	for _, part := range strings.Split(name, "/") {
		switch part {
		case "vendor", "node_modules", "third_party", "thirdparty", "deps", "external", "bower_components":
			return true
		}
	}
	return false
}

// isScript reports whether a path is a tool that people run by hand: its output is for them, and its input is theirs.
func isScript(name string) bool {
	for _, part := range strings.Split(strings.ToLower(path.Dir(name)), "/") {
		switch part {
		case "scripts", "script", "tools", "tool", "hack", "bin", "build", "ci", ".ci", ".github", "dev", "bench", "benchmarks", "contrib", "utils-dev":
			return true
		}
	}
	base := strings.ToLower(path.Base(name))
	return strings.Contains(base, "gulpfile") || strings.Contains(base, "webpack.config") || strings.Contains(base, "rollup.config") ||
		strings.Contains(base, "vite.config") || strings.HasPrefix(base, "setup.")
}

// isWorkflow reports whether a path is a GitHub workflow.
func isWorkflow(name string) bool {
	return strings.HasPrefix(name, ".github/workflows/") && (strings.HasSuffix(name, ".yml") || strings.HasSuffix(name, ".yaml"))
}

// isAction reports whether a path is the description of an action, or a workflow.
func isAction(name string) bool {
	base := path.Base(name)
	return isWorkflow(name) || base == "action.yml" || base == "action.yaml"
}

// isCI reports whether a path configures continuous integration.
func isCI(name string) bool {
	if isAction(name) || strings.HasPrefix(name, ".circleci/") || strings.HasPrefix(name, ".buildkite/") {
		return true
	}
	switch path.Base(name) {
	case ".gitlab-ci.yml", "Jenkinsfile", "azure-pipelines.yml", ".travis.yml", "bitbucket-pipelines.yml", ".drone.yml", "appveyor.yml":
		return true
	}
	return false
}
