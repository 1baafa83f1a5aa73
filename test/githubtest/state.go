package githubtest

import (
	"crypto/rsa"
	"time"
)

// App is the GitHub App that the emulator knows: what a program needs to act as it.
type App struct {
	ID            int64
	Slug          string
	ClientID      string
	PrivateKeyPEM []byte // PKCS1, as GitHub hands it out
	WebhookSecret string
}

// BotLogin is the login under which the App writes, as in "prosecutor[bot]".
func (a App) BotLogin() string { return a.Slug + "[bot]" }

// app is an App that owns check runs and comments: the one under test, and those of others (CI, scanners).
type app struct {
	id          int64
	slug, name  string
	clientID    string
	owner       string
	key         *rsa.PrivateKey   // nil for the apps of others
	permissions map[string]string // what the registration asks for
	events      []string
	created     time.Time
}

// installation is the App installed on one account.
type installation struct {
	id          int64
	account     string
	permissions map[string]string // what the account's owner has approved; may lag behind the registration
	events      []string
	repos       map[int64]bool // nil: all repositories of the account
	suspendedAt time.Time
	created     time.Time
}

// token is an installation's access token.
type token struct {
	value        string
	installation int64
	permissions  map[string]string
	repos        map[int64]bool // nil: whatever the installation covers
	expires      time.Time
}

// account is a user, a bot or an organization.
type account struct {
	id    int64
	login string
	kind  string // User, Bot, Organization
}

// Repo is a repository of the emulator, with a bare git repository behind it. Its methods are safe for concurrent use
// and fail the test (or panic, outside of one) when git refuses what they ask.
type Repo struct {
	s             *Server
	id            int64
	owner, name   string
	defaultBranch string
	private       bool
	archived      bool
	fork          *Repo // what this one was forked from
	dir           string
	created       time.Time
	pushed        time.Time

	nextNumber    int
	pulls         map[int]*PullRequest
	issues        map[int]*issue
	collaborators map[string]string // login -> role: read, triage, write, maintain, admin
	suites        []*checkSuite
	runs          []*checkRun
	statuses      []*status
	workflows     []*workflowRun
	comments      map[int64]*issueComment
	reviewNotes   map[int64]*reviewComment
	labels        map[string]*label
	alerts        []*alert
	analyses      []*analysis
	groups        []*mergeGroup
	memos         map[string]any // computed from immutable git objects
}

// issue is what pull requests and issues share, and all there is of an issue.
type issue struct {
	id      int64
	number  int
	title   string
	body    string
	author  string
	state   string // open or closed
	labels  []string
	created time.Time
	updated time.Time
	closed  time.Time
}

// PullRequest is a pull request of a Repo.
type PullRequest struct {
	repo *Repo
	issue
	draft      bool
	merged     bool
	mergedAt   time.Time
	mergedBy   string
	mergeSHA   string // the test merge until merged, then the commit on the base
	headRepo   *Repo
	headRef    string
	headSHA    string
	baseRef    string
	baseSHA    string
	mergeable  mergeability
	reviews    []*review
	threads    []*thread
	reviewers  []string // requested
	teams      []string // requested
	bodyEdited time.Time
}

// mergeability is what GitHub knows of a merge: nothing until someone asked and the work is done.
type mergeability int

const (
	mergeUnknown mergeability = iota
	mergeClean
	mergeConflict
)

// checkSuite holds the check runs of one App on one commit.
type checkSuite struct {
	id         int64
	app        *app
	headSHA    string
	headBranch string
	before     string
	status     string
	conclusion string
	created    time.Time
	updated    time.Time
}

type checkRun struct {
	id          int64
	suite       *checkSuite
	app         *app
	name        string
	headSHA     string
	externalID  string
	detailsURL  string
	status      string
	conclusion  string
	started     time.Time
	completed   time.Time
	title       string
	summary     string
	text        string
	hasOutput   bool
	annotations []Annotation
	actions     []Action
}

type status struct {
	id          int64
	sha         string
	state       string
	context     string
	description string
	target      string
	creator     string
	created     time.Time
}

type review struct {
	id        int64
	author    string
	state     string // APPROVED, CHANGES_REQUESTED, COMMENTED, DISMISSED, PENDING
	body      string
	commit    string
	submitted time.Time
	message   string // why it was dismissed
}

// thread is a conversation on a line, under the comment that opened it.
type thread struct {
	id         int64
	comments   []*reviewComment
	resolved   bool
	resolvedBy string
}

type reviewComment struct {
	id               int64
	pull             *PullRequest
	review           *review // nil for a comment made without one
	replyTo          int64
	author           string
	body             string
	path             string
	hunk             string
	side             string
	startSide        string
	line             int // in the current diff; 0 once outdated
	startLine        int
	originalLine     int
	originalStart    int
	position         int // lines below the first hunk's header; 0 once outdated
	originalPosition int
	commit           string
	originalCommit   string
	subject          string // line or file
	created          time.Time
	updated          time.Time
	reactions        []Reaction
}

type issueComment struct {
	id        int64
	number    int // of the issue or pull request
	author    string
	app       *app // that wrote it, if one did
	body      string
	created   time.Time
	updated   time.Time
	minimized string // the reason, if it is minimized
	reactions []Reaction
}

type label struct {
	id    int64
	name  string
	color string
}

type alert struct {
	number   int
	Alert    Alert
	created  time.Time
	updated  time.Time
	fixed    time.Time
	refs     []string // where it is seen
	state    string
	toolName string
}

type analysis struct {
	id       int64
	Analysis Analysis
	created  time.Time
}

type mergeGroup struct {
	headSHA string
	headRef string
	baseSHA string
	baseRef string
	pulls   []*PullRequest
}

// CheckRun is what a reader of the checks tab sees.
type CheckRun struct {
	ID, SuiteID            int64
	App                    string // slug
	Name, HeadSHA          string
	Status, Conclusion     string
	ExternalID, DetailsURL string
	Title, Summary, Text   string
	StartedAt, CompletedAt time.Time
	Annotations            []Annotation
	Actions                []Action
}

// Annotation marks lines of a file in a check run. Columns are zero when unset.
type Annotation struct {
	Path                   string
	StartLine, EndLine     int
	StartColumn, EndColumn int
	Level                  string // notice, warning, failure
	Title, Message, Raw    string
}

// Action is a button of a check run.
type Action struct{ Label, Description, Identifier string }

// Review is one submitted review with its own comments.
type Review struct {
	ID                            int64
	Author, State, Body, CommitID string
	DismissedWith                 string
	SubmittedAt                   time.Time
	Comments                      []ReviewComment
}

// ReviewComment is one comment on the diff. Line is zero once the comment is outdated.
type ReviewComment struct {
	ID, ReviewID, ReplyTo      int64
	Author, Body, Path         string
	Side, StartSide            string
	Line, StartLine            int
	OriginalLine               int
	CommitID, OriginalCommitID string
	DiffHunk                   string
	Reactions                  []Reaction
	CreatedAt                  time.Time
}

// Thread is a conversation on the diff.
type Thread struct {
	ID         string // GraphQL node id
	Path       string
	Line       int
	Resolved   bool
	ResolvedBy string
	Outdated   bool
	Comments   []ReviewComment
}

// IssueComment is one comment in the conversation of a pull request or issue.
type IssueComment struct {
	ID                   int64
	Author, Body         string
	Minimized            string
	CreatedAt, UpdatedAt time.Time
	Reactions            []Reaction
}

// Reaction is one emoji of one person: "+1", "eyes", "rocket", ...
type Reaction struct {
	ID      int64
	User    string
	Content string
}

// Alert is a code scanning alert. Number, State and Tool default to the next number, open and CodeQL; Ref to the
// default branch. For a pull request, give its merge or head ref ("refs/pull/1/merge").
type Alert struct {
	Number                 int
	Ref                    string
	CommitSHA              string
	State                  string // open, dismissed, fixed
	Tool, Rule, Category   string
	Severity               string // error, warning, note
	SecuritySeverity       string // critical, high, medium, low or empty
	Description, Message   string
	Path                   string
	StartLine, EndLine     int
	StartColumn, EndColumn int
	DismissedReason        string
}

// Analysis is one upload of results of a code scanning tool. Tool defaults to CodeQL.
type Analysis struct {
	Ref, CommitSHA, Tool, Category string
	Results                        int
	Error, Warning                 string
}

// Request is one request that the emulator answered.
type Request struct {
	Method, Path string // the path below the REST base, with its query
	Route        string // the contract's template, as in "/repos/{owner}/{repo}/pulls/{pull_number}"
	Status       int
	Installation int64 // zero for requests as the App itself, as a person or without credentials
	At           time.Time
	Duration     time.Duration
}
