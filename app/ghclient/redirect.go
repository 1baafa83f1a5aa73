package ghclient

import (
	"errors"
	"net/http"
	"regexp"
	"strconv"
)

// maxRedirects bounds a chain: a rename leads to the repository by its id, in one step.
const maxRedirects = 5

// checkRedirect decides on each redirect. Reads follow it on the same host (renamed repositories). Writes follow 307 and
// 308, which keep the method and the body, and nothing else: net/http turns a POST that was answered with 301, 302 or 303
// into a GET, which succeeds without having written anything (google/go-github#184).
func (c *Clients) checkRedirect(req *http.Request, via []*http.Request) error {
	if o := origin(req.URL); !c.origins[o] {
		return &ForeignHostError{Host: o}
	}
	first := via[0]
	status := 0
	if req.Response != nil {
		status = req.Response.StatusCode
	}
	read := first.Method == http.MethodGet || first.Method == http.MethodHead
	if !read && status != http.StatusTemporaryRedirect && status != http.StatusPermanentRedirect {
		return &MovedError{
			Method: first.Method, From: first.URL.Path, To: Redact(req.URL.String()), Status: status,
			RepositoryID: repositoryID(req.URL.Path),
		}
	}
	if len(via) > maxRedirects {
		return errors.New("GitHub redirects in a circle")
	}
	return nil
}

var repositoryPath = regexp.MustCompile(`/repositories/(\d+)(/|$)`)

// repositoryID reads the id from the URL that GitHub gives for a moved repository.
func repositoryID(path string) int64 {
	m := repositoryPath.FindStringSubmatch(path)
	if m == nil {
		return 0
	}
	id, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil {
		return 0
	}
	return id
}
