package casefile

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/prosecutor-bot/prosecutor/app/ghclient"
	"github.com/prosecutor-bot/prosecutor/config"
)

// orgRepo is the repository that holds an organisation's defaults.
const orgRepo = ".github"

// builtIn names the source of a policy that nobody wrote.
const builtIn = "built-in defaults"

// policyRead is the policy, or what is wrong with it.
type policyRead struct {
	policy   *config.Policy
	source   string
	problems config.Problems
}

// effective is the policy, or the defaults in place of a broken one, which judges nothing.
func (p policyRead) effective() *config.Policy {
	if p.policy == nil {
		return config.DefaultPolicy()
	}
	return p.policy
}

// policy reads the policy that judges the case: the file at the base, else that of the organisation's .github repository,
// else the defaults. A file that is there and wrong is never passed over for the next one.
func (s *session) policy(ctx context.Context, base *tree, entry *treeEntry) (policyRead, error) {
	if entry != nil {
		p := policyRead{source: fmt.Sprintf("%s at %s", config.PolicyPath, short(base.commit))}
		if why := notAFile(entry); why != "" {
			p.problems = config.Problems{{File: config.PolicyPath, Message: why}}
			return p, nil
		}
		base.know(config.PolicyPath, entry)
		content, ok, err := base.Read(ctx, config.PolicyPath)
		if err != nil {
			return policyRead{}, failed(err, "reading the policy %s of %s/%s", p.source, s.owner, s.repo)
		}
		if !ok {
			return policyRead{}, fmt.Errorf("reading the policy %s of %s/%s: it is there and has no content", p.source, s.owner, s.repo)
		}
		return parsePolicy(p, config.PolicyPath, content)
	}
	if s.repo != orgRepo {
		p, ok, err := s.orgPolicy(ctx)
		if ok || err != nil {
			return p, err
		}
	}
	return policyRead{policy: config.DefaultPolicy(), source: builtIn}, nil
}

// orgPolicy reads the organisation's policy. One that the installation may not see is none.
func (s *session) orgPolicy(ctx context.Context) (policyRead, bool, error) {
	name := s.owner + "/" + orgRepo
	// The token of the case is for its own repository; this one is for whatever the installation covers.
	client, err := s.c.opt.Clients.Installation(ctx, s.installation, ghclient.Scope{Permissions: map[string]string{"contents": "read"}})
	if err != nil {
		return policyRead{}, false, failed(err, "a token for reading the policy of %s", name)
	}
	req, err := client.NewRequest(http.MethodGet, fmt.Sprintf("repos/%s/%s/contents/%s", s.owner, orgRepo, config.PolicyPath), nil)
	if err != nil {
		return policyRead{}, false, fmt.Errorf("reading the policy of %s: %w", name, err)
	}
	req.Header.Set("Accept", "application/vnd.github.raw+json")
	var content limitedBuffer
	content.limit = config.MaxFileSize + 1 // one byte over is enough to know that it is too large
	resp, err := client.Do(ctx, req, &content)
	switch {
	case ghclient.IsNotFound(err), ghclient.IsForbidden(err), ghclient.IsGone(err):
		return policyRead{}, false, nil
	case err != nil:
		return policyRead{}, false, failed(err, "reading the policy of %s", name)
	}
	p := policyRead{source: config.PolicyPath + " of " + name}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") {
		// The raw media type lists a directory as JSON.
		p.problems = config.Problems{{File: name + "/" + config.PolicyPath, Message: "it is a directory, not a file"}}
		return p, true, nil
	}
	p, err = parsePolicy(p, name+"/"+config.PolicyPath, content.Bytes())
	return p, true, err
}

func parsePolicy(p policyRead, name string, content []byte) (policyRead, error) {
	var err error
	p.policy, err = config.ParsePolicy(name, content)
	if err == nil {
		return p, nil
	}
	problems, ok := errorAs[config.Problems](err)
	if !ok {
		return policyRead{}, fmt.Errorf("reading the policy %s: %w", p.source, err)
	}
	p.policy, p.problems = nil, problems
	return p, nil
}

// notAFile says why what stands at the policy's path is no file.
func notAFile(e *treeEntry) string {
	switch {
	case e.Type == "tree":
		return "it is a directory, not a file"
	case e.Type == "commit":
		return "it is a submodule, not a file"
	case e.Mode == 0o120000:
		return "it is a symbolic link, which is not followed; put the file itself here"
	default:
		return ""
	}
}

// brokenPolicy is the first problem, and how many more there are, for a title.
func brokenPolicy(p config.Problems) string {
	if len(p) == 0 {
		return ""
	}
	s := p[0].String()
	if len(p) > 1 {
		s += fmt.Sprintf(" (and %d more)", len(p)-1)
	}
	return s
}
