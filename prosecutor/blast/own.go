package blast

import (
	"strings"

	"github.com/prosecutor-bot/prosecutor/prosecutor/blast/glob"
)

// Gate says in what way a path belongs to the gate itself, whatever a policy lists (semantics 4 and 9).
type Gate string

// The ways in which a path belongs to the gate.
const (
	NotGate    Gate = ""
	GatePolicy Gate = "policy"     // the policy file that judges the next case
	GateCI     Gate = "ci"         // configuration of what produces evidence
	GateOwners Gate = "codeowners" // who must approve, and who is asked on an escalation
)

// Owns says in what way path belongs to the gate. policyPath is the gate's own policy file in that repository.
func Owns(path, policyPath string) Gate { return owns(path, policyPath, false) }

// owns also asks what is below path, for a link or a submodule: one at .github replaces policy and workflows.
func owns(path, policyPath string, tree bool) Gate {
	find := glob.Set.Match
	if tree {
		find = glob.Set.Covers
	}
	if path == policyPath || tree && strings.HasPrefix(policyPath, path+"/") {
		return GatePolicy
	}
	if _, ok := find(owners, path); ok {
		return GateOwners
	}
	if _, ok := find(ci, path); ok {
		return GateCI
	}
	return NotGate
}

// owners are the places that GitHub's documentation "About code owners" names, and GitLab's own.
var owners = glob.Must("CODEOWNERS", ".github/CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS")

// ci are the files from which the common services take what they run on a change, at the places that their
// documentation names. A path that only looks alike elsewhere, such as docs/workflows/ci.yml, is not in it: no service
// reads it. The exceptions are names that a service lets a repository put anywhere and that hardly mean anything else
// (Jenkinsfile, action.yml, azure-pipelines.yml).
var ci = glob.Must(
	// GitHub: workflows, local actions and the configuration of code scanning.
	".github/workflows/**", ".github/actions/**", "**/action.{yml,yaml}",
	".github/codeql/**", ".github/codeql-config.{yml,yaml}", "codeql-config.{yml,yaml}",
	// Forgejo and Gitea.
	".forgejo/workflows/**", ".forgejo/actions/**", ".gitea/workflows/**", ".gitea/actions/**",
	// GitLab: the file, which the suffix that it is split into by convention matches too, and the directories.
	"*.gitlab-ci.{yml,yaml}", ".gitlab/ci/**", ".gitlab-ci/**",
	".circleci/**",
	".buildkite/**", "buildkite.{yml,yaml,json}", ".buildkite.{yml,yaml,json}",
	"**/Jenkinsfile", "**/Jenkinsfile.*", "**/*.Jenkinsfile", "**/*.jenkinsfile",
	"**/azure-pipelines.{yml,yaml}", "azure-pipelines*.{yml,yaml}", ".azure-pipelines.{yml,yaml}",
	".azure-pipelines/**", "azure-pipelines/**", ".azure/pipelines/**", ".azuredevops/pipelines/**", ".pipelines/**",
	".vsts-ci.yml",
	".travis.{yml,yaml}", ".travis/**",
	"bitbucket-pipelines.{yml,yaml}",
	".drone.{yml,yaml,jsonnet,star}",
	".woodpecker.{yml,yaml}", ".woodpecker/**",
	"appveyor.{yml,yaml}", ".appveyor.{yml,yaml}",
	"cloudbuild*.{yml,yaml,json}", ".cloudbuild/**",
	".tekton/**",
	".cirrus.{yml,yaml,star}",
	".semaphore/**",
	"buildspec.{yml,yaml}", ".codebuild/**",
	".teamcity/**", ".teamcity.settings.kts",
	"codefresh.{yml,yaml}", ".codefresh/**",
	".harness/**",
	".build.{yml,yaml}", ".builds/**",
	".prow.{yml,yaml}", ".prow/**",
	"zuul.yaml", ".zuul.yaml", "zuul.d/**", ".zuul.d/**",
	".onedev-buildspec.yml", "screwdriver.yaml", "wercker.yml", ".scrutinizer.yml", ".shippable.yml", "shippable.yml",
	"bitrise.{yml,yaml}", ".bitrise.{yml,yaml}", "codemagic.yaml", ".packit.{yml,yaml}", "packit.{yml,yaml}",
)
