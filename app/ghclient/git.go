package ghclient

import (
	"context"
	"fmt"
	"strings"
)

// Token returns a token of an installation for a program that speaks to GitHub by itself, which is git. It lives for at
// least refreshBefore. Whoever gets it keeps it out of arguments, files and logs.
func (c *Clients) Token(ctx context.Context, installationID int64, scope Scope) (string, error) {
	if installationID <= 0 {
		return "", fmt.Errorf("%d is no installation id", installationID)
	}
	cred, err := c.tokens.credential(installationID, scope)
	if err != nil {
		return "", err
	}
	header, err := cred.header(ctx)
	if err != nil {
		return "", err
	}
	_, value, _ := strings.Cut(header, " ")
	return value, nil
}
