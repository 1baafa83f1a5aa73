package blast_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/blast"
	"github.com/prosecutor-bot/prosecutor/prosecutor/diff"
)

func modified(path string, lines int) *diff.File {
	return &diff.File{OldPath: path, NewPath: path, Status: diff.Modified, Added: lines}
}

func of(files ...*diff.File) *diff.Diff { return &diff.Diff{Files: files} }

func policy(change func(*config.Policy)) *config.Policy {
	p := config.DefaultPolicy()
	change(p)
	return p
}

func TestCopiesDoNotChangeTheirSource(t *testing.T) {
	p := policy(func(p *config.Policy) { p.BlastRadius.Critical = []string{"internal/auth/**"} })
	d := of(&diff.File{OldPath: "internal/auth/token.go", NewPath: "docs/token.txt", Status: diff.Copied})
	r := blast.Measure(d, blast.Input{Policy: p})
	if r.Level != prosecutor.RadiusLow || !slices.Equal(r.ChangedPaths, []string{"docs/token.txt"}) {
		t.Errorf("copy out of a critical directory: %s, paths %q", r.Level, r.ChangedPaths)
	}
	d = of(&diff.File{OldPath: "docs/token.txt", NewPath: "internal/auth/token.go", Status: diff.Copied})
	if r := blast.Measure(d, blast.Input{Policy: p}); r.Level != prosecutor.RadiusHigh {
		t.Errorf("copy into a critical directory: %s", r.Level)
	}
}

func TestRenameCountsLinesUnderEitherName(t *testing.T) {
	p := policy(func(p *config.Policy) { p.BlastRadius.Source = []string{"src/**"} })
	d := of(&diff.File{OldPath: "src/a.go", NewPath: "old/a.go", Status: diff.Renamed, Added: 201})
	if r := blast.Measure(d, blast.Input{Policy: p}); r.SourceLines != 201 || r.Level != prosecutor.RadiusMedium {
		t.Errorf("%d lines, %s", r.SourceLines, r.Level)
	}
}

func TestGeneratedFileThatLeavesCriticalCodeCounts(t *testing.T) {
	p := policy(func(p *config.Policy) { p.BlastRadius.Critical = []string{"internal/auth/**"} })
	d := of(&diff.File{OldPath: "internal/auth/token.go", NewPath: "gen/token.go", Status: diff.Renamed, Added: 3})
	r := blast.Measure(d, blast.Input{Policy: p, Generated: map[string]string{"gen/token.go": "generated"}})
	if r.SourceLines != 3 {
		t.Errorf("%d lines", r.SourceLines)
	}
}

// Git splits a file that was rewritten this way: the old name is changed, and also the source of a rename.
func TestBothNamesOfARenameCountWhenTheFirstIsKnown(t *testing.T) {
	p := policy(func(p *config.Policy) { p.BlastRadius.Critical = []string{"internal/auth/**"} })
	d := of(modified("token.go", 1), &diff.File{OldPath: "token.go", NewPath: "internal/auth/token.go", Status: diff.Renamed})
	r := blast.Measure(d, blast.Input{Policy: p})
	if r.Level != prosecutor.RadiusHigh || !slices.Equal(r.ChangedPaths, []string{"token.go", "internal/auth/token.go"}) {
		t.Errorf("%s, paths %q", r.Level, r.ChangedPaths)
	}
}

// What a link stands for is code that it names, not lines that it adds.
func TestLinkAboveSourceAddsNoSourceLines(t *testing.T) {
	p := policy(func(p *config.Policy) { p.BlastRadius.Source = []string{"src/**"} })
	d := of(&diff.File{NewPath: "src", Status: diff.Added, NewMode: diff.ModeSymlink, Added: 1})
	if r := blast.Measure(d, blast.Input{Policy: p}); r.SourceLines != 0 || r.ChangedLines != 1 {
		t.Errorf("%d source lines of %d", r.SourceLines, r.ChangedLines)
	}
}

func TestTypeChangeIsOneFile(t *testing.T) {
	d := of(
		&diff.File{OldPath: "a", Status: diff.Deleted, OldMode: diff.ModeRegular, Deleted: 3},
		&diff.File{NewPath: "a", Status: diff.Added, NewMode: diff.ModeSymlink, Added: 1},
	)
	r := blast.Measure(d, blast.Input{})
	if r.Files != 1 || r.ChangedLines != 4 || !slices.Equal(r.ChangedPaths, []string{"a"}) {
		t.Errorf("%d files, %d lines, paths %q", r.Files, r.ChangedLines, r.ChangedPaths)
	}
}

func TestLinksAndSubmodulesStandForWhatIsBelow(t *testing.T) {
	p := policy(func(p *config.Policy) {
		p.BlastRadius.Critical = []string{"internal/auth/**"}
		p.SelfModification = []string{"deploy/gate/*.yaml"}
	})
	for path, want := range map[string][2]bool{ // high, self-modifying
		"internal/auth": {true, false}, "internal": {true, false}, "internal/pay": {false, false},
		"deploy/gate": {true, true}, ".github": {true, true}, ".github/workflows": {true, true}, "docs": {true, true}, "doc": {false, false},
		".circleci": {true, true},
	} {
		for _, mode := range []diff.Mode{diff.ModeSymlink, diff.ModeSubmodule} {
			d := of(&diff.File{NewPath: path, Status: diff.Added, NewMode: mode, Added: 1})
			r := blast.Measure(d, blast.Input{Policy: p})
			if r.Level == prosecutor.RadiusHigh != want[0] || r.SelfModifying != want[1] {
				t.Errorf("%s at %s: %s, self-modifying %v, want %v", mode, path, r.Level, r.SelfModifying, want)
			}
		}
		d := of(&diff.File{NewPath: path, Status: diff.Added, NewMode: diff.ModeRegular, Added: 1})
		if r := blast.Measure(d, blast.Input{Policy: p}); r.Level != prosecutor.RadiusLow {
			t.Errorf("a plain file at %s: %s", path, r.Level)
		}
	}
}

func TestWhy(t *testing.T) {
	many := make([]*diff.File, 0, 8)
	for i := range 8 {
		many = append(many, modified(fmt.Sprintf("internal/auth/f%d.go", i), 1))
	}
	critical := policy(func(p *config.Policy) { p.BlastRadius.Critical = []string{"internal/auth/**"} })
	link := func(path string) *diff.File {
		return &diff.File{NewPath: path, Status: diff.Added, NewMode: diff.ModeSymlink, Added: 1}
	}
	for _, c := range []struct {
		name string
		d    *diff.Diff
		in   blast.Input
		want []string
	}{
		{"critical", of(modified("internal/auth/token.go", 1)), blast.Input{Policy: critical}, []string{
			"internal/auth/token.go matches critical glob internal/auth/**"}},
		{"many", of(many...), blast.Input{Policy: critical}, []string{
			"internal/auth/f0.go matches critical glob internal/auth/**",
			"internal/auth/f1.go matches critical glob internal/auth/**",
			"internal/auth/f2.go matches critical glob internal/auth/**",
			"internal/auth/f3.go matches critical glob internal/auth/**",
			"internal/auth/f4.go matches critical glob internal/auth/**",
			"and 3 more under critical globs"}},
		{"the gate", of(modified(".github/prosecutor.yml", 1), modified(".github/workflows/ci.yml", 1), modified("docs/CODEOWNERS", 1)),
			blast.Input{}, []string{
				".github/prosecutor.yml is the gate's own policy",
				".github/workflows/ci.yml is CI configuration, which produces evidence",
				"docs/CODEOWNERS says who must approve"}},
		{"medium", of(modified("a.go", 201)), blast.Input{}, []string{"201 changed lines under source globs, more than 200"}},
		{"low", of(modified("a.go", 1)), blast.Input{}, []string{"no critical path, and 1 changed line under source globs, not more than 200"}},
		{"raised", of(), blast.Input{Policy: policy(func(p *config.Policy) { p.BlastRadius.Lenses[prosecutor.RadiusLow] = 2 })}, []string{
			"no critical path, and 0 changed lines under source globs, not more than 200",
			"the policy raises the lenses of low from 1 to 2"}},
		{"hostile name", of(modified("internal/auth/x\n\x1b[31m", 1)), blast.Input{Policy: critical}, []string{
			`"internal/auth/x\n\x1b[31m" matches critical glob internal/auth/**`}},
		{"link above critical code", of(link("internal")), blast.Input{Policy: critical}, []string{
			"internal stands in the place of critical glob internal/auth/**"}},
		{"link above policy, owners and workflows", of(link(".github")), blast.Input{}, []string{
			".github is the gate's own policy"}},
	} {
		if diff := cmp.Diff(c.want, blast.Measure(c.d, c.in).Why); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// Of each kind of reason five paths are named and the others counted.
func TestWhyCountsWhatItDoesNotName(t *testing.T) {
	files := func(pattern string) []*diff.File {
		list := make([]*diff.File, 6)
		for i := range list {
			list[i] = modified(fmt.Sprintf(pattern, i), 1)
		}
		return list
	}
	links := func(paths ...string) []*diff.File {
		list := make([]*diff.File, len(paths))
		for i, path := range paths {
			list[i] = &diff.File{NewPath: path, Status: diff.Added, NewMode: diff.ModeSymlink, Added: 1}
		}
		return list
	}
	in := blast.Input{PolicyPath: "a/b/c/d/e/f/gate.yml", Policy: policy(func(p *config.Policy) {
		p.BlastRadius.Critical = []string{"auth/*"}
		p.SelfModification = []string{"deploy/*"}
	})}
	for _, c := range []struct {
		files []*diff.File
		want  string
	}{
		{files("auth/%d.go"), "and 1 more under critical globs"},
		{links("a", "a/b", "a/b/c", "a/b/c/d", "a/b/c/d/e", "a/b/c/d/e/f"), "and 1 more of the gate's policy"},
		{files(".circleci/%d.yml"), "and 1 more of CI configuration"},
		{links("CODEOWNERS", ".github/CODEOWNERS", "docs", "docs/CODEOWNERS", ".gitlab", ".gitlab/CODEOWNERS"), "and 1 more that say who must approve"},
		{files("deploy/%d.yml"), "and 1 more under self_modification globs"},
	} {
		why := blast.Measure(of(c.files...), in).Why
		if len(why) != 6 || why[5] != c.want {
			t.Errorf("%q, want five paths and %q", why, c.want)
		}
		if why := blast.Measure(of(c.files[:5]...), in).Why; len(why) != 5 {
			t.Errorf("%q, want five paths", why)
		}
	}
}

func TestOwns(t *testing.T) {
	for path, want := range map[string]blast.Gate{
		".github/gate.yml": blast.GatePolicy, ".github/CODEOWNERS": blast.GateOwners, ".github/workflows/a.yml": blast.GateCI,
		".github": blast.NotGate, "src/a.go": blast.NotGate,
	} {
		if got := blast.Owns(path, ".github/gate.yml"); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

// The places are those of the services' documentation.
func TestOwnsWhatCIServicesRead(t *testing.T) {
	for _, path := range []string{
		".github/workflows/ci.yml", ".github/actions/setup/main.js", "action.yml", "tools/setup/action.yaml",
		".github/codeql/queries.ql", ".github/codeql-config.yml", "codeql-config.yaml",
		".forgejo/workflows/ci.yml", ".forgejo/actions/setup/main.js", ".gitea/workflows/ci.yml", ".gitea/actions/setup/main.js",
		".gitlab-ci.yml", ".gitlab-ci.yaml", "build.gitlab-ci.yml", ".gitlab/ci/build.yml", ".gitlab-ci/build.yml",
		".circleci/config.yml",
		".buildkite/pipeline.sh", "buildkite.yml", "buildkite.json", ".buildkite.yaml",
		"Jenkinsfile", "services/pay/Jenkinsfile", "Jenkinsfile.release", "ci/pay.Jenkinsfile", "ci/pay.jenkinsfile",
		"services/pay/azure-pipelines.yml", "azure-pipelines-release.yml", ".azure-pipelines.yml",
		".azure-pipelines/a.yml", "azure-pipelines/a.yml", ".azure/pipelines/a.yml", ".azuredevops/pipelines/a.yml", ".pipelines/a.yml",
		".vsts-ci.yml",
		".travis.yml", ".travis/deploy.sh",
		"bitbucket-pipelines.yml",
		".drone.yml", ".drone.star",
		".woodpecker.yml", ".woodpecker/build.yaml",
		"appveyor.yml", ".appveyor.yml",
		"cloudbuild.yaml", "cloudbuild-release.json", ".cloudbuild/release.yaml",
		".tekton/pull.yaml",
		".cirrus.yml", ".cirrus.star",
		".semaphore/semaphore.yml",
		"buildspec.yml", ".codebuild/release.yml",
		".teamcity/settings.kts", ".teamcity.settings.kts",
		"codefresh.yml", ".codefresh/release.yml",
		".harness/pipeline.yaml",
		".build.yml", ".builds/alpine.yml",
		".prow.yaml", ".prow/presubmits.yaml",
		"zuul.yaml", ".zuul.yaml", "zuul.d/jobs.yaml", ".zuul.d/jobs.yaml",
		".onedev-buildspec.yml", "screwdriver.yaml", "wercker.yml", ".scrutinizer.yml", ".shippable.yml", "shippable.yml",
		"bitrise.yml", ".bitrise.yml", "codemagic.yaml", ".packit.yaml", "packit.yml",
	} {
		if got := blast.Owns(path, ".github/prosecutor.yml"); got != blast.GateCI {
			t.Errorf("%s: %q, want %q", path, got, blast.GateCI)
		}
	}
}

func TestOwnsEveryPlaceOfCODEOWNERS(t *testing.T) {
	for _, path := range []string{"CODEOWNERS", ".github/CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS"} {
		if got := blast.Owns(path, ".github/prosecutor.yml"); got != blast.GateOwners {
			t.Errorf("%s: %q, want %q", path, got, blast.GateOwners)
		}
	}
}

func TestTheZeroGateIsNone(t *testing.T) {
	var zero blast.Gate
	if zero != blast.NotGate {
		t.Errorf("%q is the zero Gate", blast.NotGate)
	}
}

func TestSelfModification(t *testing.T) {
	p := policy(func(p *config.Policy) {
		p.SelfModification = []string{"deploy/gate*.yaml"}
		p.BlastRadius.Critical = []string{"internal/auth/**"}
	})
	for path, want := range map[string]bool{
		"deploy/gate-eu.yaml":               true,
		".github/prosecutor.yml":            false, // the policy is elsewhere in this repository
		".github/gate.yml":                  true,
		".github/workflows/ci.yml":          true,
		".github/workflows/deep/x.sh":       true,
		".github/actions/setup/main.js":     true,
		"tools/setup/action.yml":            true,
		"action.yaml":                       true,
		".github/codeql/codeql-config.yml":  true,
		".github/dependabot.yml":            false,
		".github/ISSUE_TEMPLATE/bug.yml":    false,
		".circleci/config.yml":              true,
		".gitlab-ci.yml":                    true,
		".gitlab/ci/build.yml":              true,
		".gitlab/issue_templates/a.md":      false,
		".buildkite/pipeline.sh":            true,
		"Jenkinsfile":                       true,
		"services/pay/Jenkinsfile":          true,
		"Jenkinsfile.release":               true,
		"docs/Jenkinsfiles.md":              false,
		"azure-pipelines.yml":               true,
		"azure-pipelines-release.yml":       true,
		".travis.yml":                       true,
		"bitbucket-pipelines.yml":           true,
		".drone.yml":                        true,
		".woodpecker.yml":                   true,
		".woodpecker/build.yaml":            true,
		"appveyor.yml":                      true,
		"cloudbuild.yaml":                   true,
		".tekton/pull.yaml":                 true,
		"CODEOWNERS":                        true,
		".github/CODEOWNERS":                true,
		"docs/CODEOWNERS":                   true,
		"src/CODEOWNERS":                    false,
		"codeowners":                        false,
		"docs/workflows/ci.yml":             false,
		"vendor/x/.github/workflows/ci.yml": false,
		"internal/auth/token.go":            false, // critical, but not the gate
	} {
		r := blast.Measure(of(modified(path, 1)), blast.Input{Policy: p, PolicyPath: ".github/gate.yml"})
		if r.SelfModifying != want {
			t.Errorf("%s: self-modifying %v, want %v", path, r.SelfModifying, want)
		}
		if r.SelfModifying && r.Level != prosecutor.RadiusHigh {
			t.Errorf("%s: self-modifying and %s", path, r.Level)
		}
	}
}

func TestGeneratedFilesOfTheGateStayHigh(t *testing.T) {
	path := ".github/workflows/agent.lock.yml"
	r := blast.Measure(of(modified(path, 9000)), blast.Input{Generated: map[string]string{path: "generated (.gitattributes)"}})
	if r.Level != prosecutor.RadiusHigh || !r.SelfModifying {
		t.Errorf("%s, self-modifying %v", r.Level, r.SelfModifying)
	}
}

func TestMalformedGlobMatchesEverything(t *testing.T) {
	for name, change := range map[string]func(*config.Policy){
		"critical":          func(p *config.Policy) { p.BlastRadius.Critical = []string{"a["} },
		"self_modification": func(p *config.Policy) { p.SelfModification = []string{"a["} },
	} {
		r := blast.Measure(of(modified("docs/a.md", 1)), blast.Input{Policy: policy(change)})
		if r.Level != prosecutor.RadiusHigh || !strings.Contains(r.Why[0], "malformed "+name+" glob") {
			t.Errorf("%s: %s, %q", name, r.Level, r.Why)
		}
	}
	r := blast.Measure(of(modified("docs/a.md", 201)), blast.Input{Policy: policy(func(p *config.Policy) { p.BlastRadius.Source = []string{"a["} })})
	if r.Level != prosecutor.RadiusMedium {
		t.Errorf("source: %s", r.Level)
	}
}

func TestLensesAreNeverBelowTheTableNorAboveThree(t *testing.T) {
	p := policy(func(p *config.Policy) {
		p.BlastRadius.Lenses = map[prosecutor.Radius]int{prosecutor.RadiusHigh: 1, prosecutor.RadiusLow: 9}
	})
	if r := blast.Measure(of(modified("CODEOWNERS", 1)), blast.Input{Policy: p}); len(r.Lenses) != 3 {
		t.Errorf("high has %d lenses", len(r.Lenses))
	}
	if r := blast.Measure(of(), blast.Input{Policy: p}); !slices.Equal(r.Lenses, prosecutor.Lenses()) {
		t.Errorf("lenses %v", r.Lenses)
	}
}

// More change never makes the radius smaller.
func TestRadiusIsMonotonous(t *testing.T) {
	p := policy(func(p *config.Policy) {
		p.BlastRadius.Critical = []string{"internal/auth/**", "**/*.sql"}
		p.BlastRadius.Source = []string{"src/**", "internal/**"}
		p.SelfModification = []string{"deploy/*"}
	})
	file := rapid.Custom(func(t *rapid.T) *diff.File {
		path := rapid.SampledFrom([]string{"src/a.go", "src/b.go", "docs/x.md", "internal/auth/t.go", "internal/b.go", "db/1.sql", ".github/workflows/a.yml", "deploy/x"}).Draw(t, "path")
		return modified(path, rapid.IntRange(0, 150).Draw(t, "lines"))
	})
	rapid.Check(t, func(t *rapid.T) {
		files := rapid.SliceOfN(file, 0, 6).Draw(t, "files")
		more := append(slices.Clone(files), file.Draw(t, "more"))
		a, b := blast.Measure(of(files...), blast.Input{Policy: p}), blast.Measure(of(more...), blast.Input{Policy: p})
		if slices.Index(prosecutor.Radii(), b.Level) < slices.Index(prosecutor.Radii(), a.Level) || len(b.Lenses) < len(a.Lenses) ||
			b.SourceLines < a.SourceLines || a.SelfModifying && !b.SelfModifying {
			t.Fatalf("from %+v to %+v", a, b)
		}
		slices.Reverse(more)
		if c := blast.Measure(of(more...), blast.Input{Policy: p}); c.Level != b.Level || c.SourceLines != b.SourceLines {
			t.Fatalf("the order of files matters: %+v and %+v", b, c)
		}
	})
}

func BenchmarkMeasure(b *testing.B) {
	files := make([]*diff.File, 3000)
	for i := range files {
		files[i] = modified(fmt.Sprintf("services/area%d/internal/module%d/file_%d.go", i%7, i%31, i), 3)
	}
	p := policy(func(p *config.Policy) {
		for i := range 50 {
			p.BlastRadius.Critical = append(p.BlastRadius.Critical, fmt.Sprintf("services/*/internal/secret%d/**", i))
		}
	})
	d := of(files...)
	for b.Loop() {
		blast.Measure(d, blast.Input{Policy: p})
	}
}
