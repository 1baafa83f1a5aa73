// Package attribution finds out which model families built a change, so that no family judges its own work
// (semantics 8). It looks at what a pull request, or a local branch, says about itself: who opened it, who wrote and
// committed its commits, their trailers, its labels, its branch and the footer of its description.
//
// Nothing here proves that a person wrote a change: an agent that signs nothing looks like its operator. What is found
// is therefore collected, never weighed: no sign takes another one back.
//
// The package does no I/O and everything in it is safe for concurrent use.
package attribution

import (
	"slices"
	"strings"

	"github.com/prosecutor-bot/prosecutor/config"
)

// The families with a meaning of their own.
const (
	// Unknown is the family of an agent that may run models of several families. A catalogue and a policy may name it.
	Unknown = "unknown"
	// None is what a policy calls an account that runs no model, such as its own release bot. It only keeps an account
	// that nothing else is known about from being taken for an agent; it never takes a sign back.
	None = "none"
)

// From says where a sign was seen.
type From string

// The places a sign is seen in.
const (
	FromPolicyLogin  From = "policy_login"  // a login that the policy maps to a family
	FromPolicyLabel  From = "policy_label"  // a label that the policy maps to a family
	FromBotLogin     From = "bot_login"     // the login of whoever opened the change, wrote or committed a commit
	FromTrailer      From = "trailer"       // a trailer of a commit message
	FromBranch       From = "branch"        // how the branch's name begins
	FromFooter       From = "footer"        // the last line of the description
	FromCommitPerson From = "commit_author" // name and address in a commit's author or committer field
)

// Sign is one thing that points at a builder.
type Sign struct {
	Family string // Unknown when it points at an agent that may run several families
	From   From
	Value  string // what was seen, as it was written
}

// Account is a GitHub account.
type Account struct {
	Login string
	Type  string // "User", "Bot" or "Organization", as GitHub says; may be empty
}

// Commit is one commit of the change. Without GitHub the logins are empty, and the names and addresses stand for them.
type Commit struct {
	AuthorLogin    string
	CommitterLogin string
	AuthorName     string
	AuthorEmail    string
	CommitterName  string
	CommitterEmail string
	Message        string
}

// Change is what a change says about itself.
type Change struct {
	Author  Account // who opened the pull request; empty for a local branch
	Labels  []string
	Commits []Commit
	Branch  string // the head branch, without refs/heads/
	Body    string // the pull request's description
}

// Result is who built a change. The zero value is a change by people only.
type Result struct {
	Families     []string // the builder's model families, sorted, without duplicates; Unknown is never among them
	Found        []Sign   // every sign, in the order it was looked for, without duplicates
	UnknownAgent bool     // an agent took part whose family cannot be told
}

// Human reports whether nothing points at a model: such a change has no builder family and anyone may judge it.
func (r Result) Human() bool { return len(r.Families) == 0 && !r.UnknownAgent }

// Find collects every sign of a builder in a change: what the repository's policy maps, and what the catalogue knows.
// Logins, labels, trailers, footers and branches compare without regard to case. A policy adds signs and takes none
// back.
//
// A pull request opened by an account of type "Bot" that neither the catalogue nor the policy knows counts as an agent
// of unknown family: what cannot be told is not a person.
func Find(change Change, policy config.Attribution, catalog Catalog) Result {
	var f finder
	f.author(change.Author, policy.Logins, catalog)
	for _, c := range change.Commits {
		f.login(c.AuthorLogin, policy.Logins, catalog)
		f.login(c.CommitterLogin, policy.Logins, catalog)
		f.person(c.AuthorName, c.AuthorEmail, policy.Logins, catalog)
		f.person(c.CommitterName, c.CommitterEmail, policy.Logins, catalog)
		for _, t := range trailers(c.Message) {
			f.contained(FromTrailer, t.value, t.line(), catalog.Trailers)
		}
	}
	for _, label := range change.Labels {
		if family, ok := lookup(policy.Labels, label); ok {
			f.add(family, FromPolicyLabel, label)
		}
	}
	f.branch(change.Branch, catalog.Branches)
	if footer := lastLine(change.Body); footer != "" {
		f.contained(FromFooter, footer, strings.ToLower(footer), catalog.Footers)
	}
	return f.result()
}

// finder collects signs.
type finder struct {
	found []Sign
}

func (f *finder) add(family string, from From, value string) {
	family = strings.TrimSpace(family)
	if family == "" {
		family = Unknown
	}
	if strings.EqualFold(family, None) {
		return
	}
	if strings.EqualFold(family, Unknown) {
		family = Unknown
	}
	sign := Sign{Family: family, From: from, Value: value}
	if !slices.Contains(f.found, sign) {
		f.found = append(f.found, sign)
	}
}

// author looks at who opened the change. It is the only place where an account that nobody knows says something.
func (f *finder) author(a Account, policy map[string]string, catalog Catalog) {
	known := f.login(a.Login, policy, catalog)
	if known || !strings.EqualFold(a.Type, "Bot") || a.Login == "" {
		return
	}
	if !containsFold(catalog.Automation, a.Login) {
		f.add(Unknown, FromBotLogin, a.Login)
	}
}

// login looks an account up and reports whether the policy or the catalogue knows it.
func (f *finder) login(login string, policy map[string]string, catalog Catalog) bool {
	if login == "" {
		return false
	}
	known := false
	if family, ok := lookup(policy, login); ok {
		known = true
		f.add(family, FromPolicyLogin, login)
	}
	if family, ok := lookup(catalog.Logins, login); ok {
		known = true
		f.add(family, FromBotLogin, login)
	}
	return known
}

// person looks at a name and an address of a commit. GitHub's own no-reply addresses hold a login; agents that commit
// on a laptop write their login as name, or use the name and address that they use in trailers.
func (f *finder) person(name, email string, policy map[string]string, catalog Catalog) {
	if login := noreplyLogin(email); login != "" {
		f.login(login, policy, catalog)
	}
	f.login(name, policy, catalog)
	if name == "" && email == "" {
		return
	}
	t := trailer{key: coAuthored, value: strings.TrimSpace(name + " <" + email + ">")}
	f.contained(FromCommitPerson, t.value, t.line(), catalog.Trailers)
}

// contained adds a sign for each family that has an entry contained in text. An entry that names an agent of unknown
// family is only used where no entry names the family: "aider (gpt-5)" says more than "aider".
func (f *finder) contained(from From, value, text string, entries map[string]string) {
	var families []string
	for entry, family := range entries {
		if entry != "" && strings.Contains(text, strings.ToLower(entry)) && !slices.Contains(families, family) {
			families = append(families, family)
		}
	}
	f.addAll(families, from, value)
}

func (f *finder) branch(branch string, prefixes map[string]string) {
	name := strings.ToLower(strings.TrimPrefix(branch, "refs/heads/"))
	var families []string
	for prefix, family := range prefixes {
		if prefix != "" && strings.HasPrefix(name, strings.ToLower(prefix)) && !slices.Contains(families, family) {
			families = append(families, family)
		}
	}
	f.addAll(families, FromBranch, branch)
}

func (f *finder) addAll(families []string, from From, value string) {
	slices.Sort(families)
	if len(families) > 1 {
		families = slices.DeleteFunc(families, func(family string) bool { return family == Unknown })
	}
	for _, family := range families {
		f.add(family, from, value)
	}
}

func (f *finder) result() Result {
	r := Result{Families: []string{}, Found: f.found}
	for _, s := range f.found {
		switch {
		case s.Family == Unknown:
			r.UnknownAgent = true
		case !slices.Contains(r.Families, s.Family):
			r.Families = append(r.Families, s.Family)
		}
	}
	slices.Sort(r.Families)
	return r
}

// lookup finds a key without regard to case. Where keys differ by case only, the first in order wins, so that the
// answer does not depend on the order of a map.
func lookup(m map[string]string, key string) (string, bool) {
	if v, ok := m[key]; ok {
		return v, true
	}
	found, value := "", ""
	for k, v := range m {
		if strings.EqualFold(k, key) && (found == "" || k < found) {
			found, value = k, v
		}
	}
	return value, found != ""
}

func containsFold(list []string, s string) bool {
	return slices.ContainsFunc(list, func(x string) bool { return strings.EqualFold(x, s) })
}
