package wire

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// ParseBaseURL checks the address of an endpoint. It must be http or https with a host, and hold no user name or
// password: credentials are never in the configuration. The error does not repeat the address.
func ParseBaseURL(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil {
		return nil, errors.New("base_url is not a URL: write it like https://host/v1")
	}
	switch {
	case u.User != nil:
		return nil, errors.New("base_url holds a user name or password: name the key's variable in api_key_env instead")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("base_url has the scheme %q: write it like https://host/v1", u.Scheme)
	case u.Hostname() == "":
		return nil, errors.New("base_url has no host: write it like https://host/v1")
	case u.Fragment != "":
		return nil, errors.New("base_url has a fragment (#...): leave it out")
	}
	u.Path = strings.TrimRight(u.Path, "/") + "/"
	return u, nil
}
