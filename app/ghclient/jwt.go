package ghclient

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// The life of an App's JWT. GitHub takes at most ten minutes and advises to back-date by a minute (Generating a JSON Web
// Token for a GitHub App). Four minutes ahead let the clock of this host be slow by nearly that much.
const (
	jwtBackdate = 60 * time.Second
	jwtLife     = 4 * time.Minute
)

// minSkew is the least difference to GitHub's clock that is acted upon: Date headers have whole seconds, and travel.
const minSkew = 5 * time.Second

// signer makes the App's JWTs: the credential of the App's own client. It is safe for concurrent use.
type signer struct {
	appID int64
	key   *rsa.PrivateKey
	now   func() time.Time
	// offset is added to this host's clock. It is zero until GitHub refuses a JWT for its times, because a Date header
	// alone, which a proxy may have written, must not break a clock that is right.
	offset atomic.Int64
}

func (s *signer) header(context.Context) (string, error) {
	token, err := s.sign(s.now().Add(time.Duration(s.offset.Load())))
	if err != nil {
		return "", err
	}
	return "Bearer " + token, nil
}

func (s *signer) sign(now time.Time) (string, error) {
	enc := base64.RawURLEncoding
	claims := fmt.Sprintf(`{"iat":%d,"exp":%d,"iss":%q}`,
		now.Add(-jwtBackdate).Unix(), now.Add(jwtLife).Unix(), strconv.FormatInt(s.appID, 10))
	text := enc.EncodeToString([]byte(`{"alg":"RS256","typ":"JWT"}`)) + "." + enc.EncodeToString([]byte(claims))
	sum := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(rand.Reader, s.key, crypto.SHA256, sum[:])
	if err != nil {
		return "", fmt.Errorf("signing a JWT for App %d: %w", s.appID, err)
	}
	return text + "." + enc.EncodeToString(signature), nil
}

// rejected tells whether a JWT by GitHub's clock may be taken after one by ours was refused, and switches to it.
func (s *signer) rejected(_, message string, serverTime time.Time) bool {
	if serverTime.IsZero() || !namesClaim(message) {
		return false
	}
	offset := serverTime.Sub(s.now())
	if (offset - time.Duration(s.offset.Load())).Abs() < minSkew {
		return false
	}
	s.offset.Store(int64(offset))
	return true
}

// namesClaim tells whether a refusal is about the times of a JWT: "'Issued at' claim ('iat') must be an Integer ...",
// "'Expiration time' claim ('exp') is too far in the future" (octokit/auth-app.js#698, probot/probot#967).
func namesClaim(message string) bool {
	m := strings.ToLower(message)
	return strings.Contains(m, "('iat')") || strings.Contains(m, "('exp')")
}
