package githubtest

// The core calls these at fixed points; webhooks, GraphQL, faults and limits live in files of their own.

// event is something that happened on the emulator and that GitHub would tell webhooks about. It is raised while s.mu
// is held, so its payload is built from the state at that moment; delivering it is for later.
type event struct {
	name, action string
	repo         *Repo
	account      string // the account concerned, for installation events
	sender       string // login
	pull         *PullRequest
	run          *checkRun
	suite        *checkSuite
	actionID     string // requested_action
	status       *status
	comment      *issueComment
	issue        *issue // the issue (or the pull's issue part) that a comment is on
	note         *reviewComment
	review       *review
	thread       *thread
	alert        *alert
	group        *mergeGroup
	label        *label
	reviewer     string
	ref          string         // push: full ref
	before       string         // push, synchronize
	after        string         // push, synchronize
	forced       bool           // push
	changes      map[string]any // edited: as in the payload
	reason       string         // merge_group destroyed
	added        []*Repo        // installation_repositories
	removed      []*Repo
}

// seams is the state of the parts that the core only calls.
type seams struct {
	hooks       *hooks
	faults      faults
	deliveries  []Delivery              // guarded by Server.mu
	formerHeads map[*PullRequest]string // from before the last push; guarded by Server.mu
	hurries     map[string]*haste       // of each payer, nil while secondary limits are not enforced; guarded by Server.mu
}

// startSeams runs before the first request, stopSeams before the server goes down: what sends webhooks starts and stops here.
func (s *Server) startSeams() {
	s.hooks = newHooks(s)
	s.formerHeads = map[*PullRequest]string{}
	s.hooks.start()
}
func (s *Server) stopSeams() { s.hooks.stop() }

// extraRoutes are REST routes of files beside the core, such as those of hook deliveries.
func (s *Server) extraRoutes() map[string]route { return deliveryRoutes() }
