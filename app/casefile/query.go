package casefile

import "time"

// pullQuery reads everything about a pull request that one request can carry, so that pins, policy, spec, attribution and
// checks are of one moment. The policy is read at the tip of the base branch within the same answer that names that tip.
const pullQuery = `query Case($owner: String!, $name: String!, $pr: Int!, $policy: String!, $attributes: String!) {
  repository(owner: $owner, name: $name) {
    databaseId
    nameWithOwner
    pullRequest(number: $pr) {
      number
      state
      isDraft
      title
      body
      url
      updatedAt
      author { __typename login }
      headRefName
      headRefOid
      headRepository { databaseId nameWithOwner }
      isCrossRepository
      baseRefName
      baseRefOid
      changedFiles
      baseRef { target { __typename oid ... on Commit { policy: file(path: $policy) { ...entry } attributes: file(path: $attributes) { ...entry } } } }
      potentialMergeCommit { oid parents(first: 10) { nodes { oid } } }
      labels(first: 100) { nodes { name } }
      files(first: 100) { nodes { path changeType } }
      commits(first: 100) { totalCount pageInfo { hasNextPage endCursor } nodes { ...written } }
      tip: commits(last: 1) { nodes { commit { ...checked } } }
      closingIssuesReferences(first: 10) { totalCount nodes { number title body repository { nameWithOwner } } }
    }
  }
}
` + entryFragment + writtenFragment + checkedFragment

// moreCommitsQuery reads the commits after the first hundred.
const moreCommitsQuery = `query Commits($owner: String!, $name: String!, $pr: Int!, $after: String!) {
  repository(owner: $owner, name: $name) {
    pullRequest(number: $pr) {
      headRefOid
      commits(first: 100, after: $after) { totalCount pageInfo { hasNextPage endCursor } nodes { ...written } }
    }
  }
}
` + writtenFragment

// checksQuery reads what CI reports about one commit, page by page.
const checksQuery = `query Checks($owner: String!, $name: String!, $oid: GitObjectID!, $after: String, $suitesAfter: String) {
  repository(owner: $owner, name: $name) {
    object(oid: $oid) { ... on Commit {
      oid committedDate
      statusCheckRollup { contexts(first: 100, after: $after) { pageInfo { hasNextPage endCursor } nodes { ...context } } }
      checkSuites(first: 100, after: $suitesAfter) { pageInfo { hasNextPage endCursor } nodes { ...suite } }
    } }
  }
}
` + contextFragment

const entryFragment = `fragment entry on TreeEntry {
  type mode object { oid ... on Blob { byteSize isBinary isTruncated text } }
}
`

const writtenFragment = `fragment written on PullRequestCommit {
  commit { oid message author { name email user { login } } committer { name email user { login } } }
}
`

const checkedFragment = `fragment checked on Commit {
  oid committedDate
  statusCheckRollup { contexts(first: 100) { pageInfo { hasNextPage endCursor } nodes { ...context } } }
  checkSuites(first: 100) { pageInfo { hasNextPage endCursor } nodes { ...suite } }
}
` + contextFragment

const contextFragment = `fragment context on StatusCheckRollupContext {
  __typename
  ... on CheckRun { databaseId name status conclusion title url checkSuite { databaseId app { databaseId } } }
  ... on StatusContext { context state description targetUrl }
}
fragment suite on CheckSuite { databaseId status app { databaseId name } }
`

// pullAnswer is the answer to pullQuery. What GitHub may leave out is a pointer.
type pullAnswer struct {
	Repository *struct {
		DatabaseID    int64
		NameWithOwner string
		PullRequest   *pull
	}
}

// pull is a pull request as pullQuery reads it.
type pull struct {
	Number               int
	State                string
	IsDraft              bool
	Title, Body, URL     string
	UpdatedAt            time.Time
	Author               *actor
	HeadRefName          string
	HeadRefOid           string
	HeadRepository       *repoName
	IsCrossRepository    bool
	BaseRefName          string
	BaseRefOid           string
	ChangedFiles         int
	BaseRef              *struct{ Target *baseCommit }
	PotentialMergeCommit *struct {
		Oid     string
		Parents struct{ Nodes []struct{ Oid string } }
	}
	Labels                  struct{ Nodes []struct{ Name string } }
	Files                   struct{ Nodes []changedFile }
	Commits                 commitPage
	Tip                     struct{ Nodes []tipNode }
	ClosingIssuesReferences struct {
		TotalCount int
		Nodes      []*closing
	}

	checks string // what of the checks could not be read
}

type actor struct {
	Typename string `json:"__typename"`
	Login    string
}

type repoName struct {
	DatabaseID    int64
	NameWithOwner string
}

type pageInfo struct {
	HasNextPage bool
	EndCursor   string
}

type baseCommit struct {
	Typename           string `json:"__typename"`
	Oid                string
	Policy, Attributes *treeEntry
}

type treeEntry struct {
	Type   string // blob, tree or commit
	Mode   int    // git's mode as a decimal number
	Object *object
}

// object is a git object; all but the first two fields are of blobs.
type object struct {
	Typename    string `json:"__typename"`
	Oid         string
	ByteSize    int64
	IsBinary    *bool
	IsTruncated bool
	Text        *string
}

type changedFile struct{ Path, ChangeType string }

type commitPage struct {
	TotalCount int
	PageInfo   pageInfo
	Nodes      []commitNode
}

type commitNode struct{ Commit written }

type written struct {
	Oid, Message      string
	Author, Committer *gitActor
}

type gitActor struct {
	Name, Email string
	User        *struct{ Login string }
}

type tipNode struct{ Commit checked }

type checked struct {
	unread            string // why the reports are not all of them
	Oid               string
	CommittedDate     time.Time
	StatusCheckRollup *struct {
		Contexts struct {
			PageInfo pageInfo
			Nodes    []checkContext
		}
	}
	CheckSuites *struct {
		PageInfo pageInfo
		Nodes    []suiteNode
	}
}

// checkContext is a check run or a commit status.
type checkContext struct {
	Typename string `json:"__typename"`

	DatabaseID int64
	Name       string
	Status     string
	Conclusion string
	Title      string
	URL        string
	CheckSuite *suiteNode

	Context     string
	State       string
	Description string
	TargetURL   string
}

type suiteNode struct {
	DatabaseID int64
	Status     string
	App        *struct {
		DatabaseID int64
		Name       string
	}
}

type closing struct {
	Number      int
	Title, Body string
	Repository  *repoName
}
