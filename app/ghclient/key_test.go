package ghclient_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prosecutor-bot/prosecutor/app/ghclient"
)

func pkcs8(t *testing.T, key any) string {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

func TestLoadKeyTakesEveryFormThatKeysArriveIn(t *testing.T) {
	text := string(testPEM())
	trimmed := strings.TrimSpace(text)
	b64 := base64.StdEncoding.EncodeToString(testPEM())
	wrapped := regexpWrap(b64)
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	forms := map[string]string{
		"PEM":                          text,
		"PEM without the last newline": trimmed,
		"PKCS #8":                      pkcs8(t, testKey()),
		"CRLF":                         strings.ReplaceAll(text, "\n", "\r\n"),
		"byte order mark":              "\ufeff" + text,
		"indented, from YAML":          "    " + strings.ReplaceAll(trimmed, "\n", "\n    "),
		"folded by YAML":               strings.ReplaceAll(trimmed, "\n", " "),
		"escaped newlines":             strings.ReplaceAll(text, "\n", `\n`),
		"escaped CRLF":                 strings.ReplaceAll(text, "\n", `\r\n`),
		"newlines escaped twice":       strings.ReplaceAll(text, "\n", `\\n`),
		"double quotes":                `"` + text + `"`,
		"quotes and escapes":           `'` + strings.ReplaceAll(text, "\n", `\n`) + `'`,
		"no newlines at all":           strings.ReplaceAll(trimmed, "\n", ""),
		"base64":                       b64,
		"base64 without padding":       strings.TrimRight(b64, "="),
		"base64 wrapped":               wrapped,
		"base64 for URLs":              base64.URLEncoding.EncodeToString(testPEM()),
		"base64 of escaped":            base64.StdEncoding.EncodeToString([]byte(strings.ReplaceAll(text, "\n", `\n`))),
		"file":                         file("key.pem", text),
		"file with blanks around":      "  " + file("key2.pem", text) + "\n",
		"file of base64":               file("key.b64", wrapped),
		"file with escapes":            file("key.env", `"`+strings.ReplaceAll(text, "\n", `\n`)+`"`),
		"text before the key":          "Bag Attributes\n    friendlyName: x\n" + text,
	}
	for name, form := range forms {
		t.Run(name, func(t *testing.T) {
			got, err := ghclient.LoadKey(form)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, testPEM()) {
				t.Errorf("got another key:\n%s", got)
			}
			if _, err := ghclient.New(ghclient.Options{AppID: 1, PrivateKey: []byte(form)}); err != nil {
				t.Errorf("New: %v", err)
			}
		})
	}
}

func regexpWrap(s string) string {
	var lines []string
	for len(s) > 76 {
		lines = append(lines, s[:76])
		s = s[76:]
	}
	return strings.Join(append(lines, s), "\n")
}

func TestLoadKeySaysWhatItSawAndRepeatsNothing(t *testing.T) {
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	public, err := x509.MarshalPKIXPublicKey(&testKey().PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	text := string(testPEM())
	lines := strings.SplitAfter(text, "\n")
	dir := t.TempDir()
	other := filepath.Join(dir, "other")
	if err := os.WriteFile(other, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	huge := filepath.Join(dir, "huge")
	if err := os.WriteFile(huge, bytes.Repeat([]byte("x"), 100<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct{ raw, want string }{
		"nothing":             {"  ", "empty"},
		"only quotes":         {`""`, "empty"},
		"elliptic curve":      {pkcs8(t, ec), "no RSA key"},
		"public key":          {string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})), "public key"},
		"SSH key":             {string(pem.EncodeToMemory(&pem.Block{Type: "OPENSSH PRIVATE KEY", Bytes: []byte("x")})), "openssh private key"},
		"passphrase":          {"-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00\n\nAAAA\n-----END RSA PRIVATE KEY-----", "passphrase"},
		"passphrase, PKCS #8": {"-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----", "passphrase"},
		"cut":                 {text[:len(text)/2], "cut"},
		"middle missing":      {strings.Join(append(lines[:3:3], lines[6:]...), ""), "no whole RSA private key"},
		"no base64":           {"-----BEGIN RSA PRIVATE KEY-----\n!!!\n-----END RSA PRIVATE KEY-----", "no base64"},
		"a missing file":      {filepath.Join(dir, "missing.pem"), "no such file"},
		"a directory":         {dir, "regular file"},
		"a file of no PEM":    {other, "no PEM"},
		"a file too large":    {huge, "at most"},
		"a webhook secret":    {"correct horse battery staple, a secret", "neither PEM"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := ghclient.LoadKey(tt.raw)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got %v, want %q", err, tt.want)
			}
			for line := range strings.Lines(tt.raw) {
				if line = strings.TrimSpace(line); len(line) > 12 && !strings.HasPrefix(line, "-----") && strings.Contains(err.Error(), line) {
					t.Errorf("the error repeats %q", line)
				}
			}
		})
	}
	small, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ghclient.LoadKey(pkcs8(t, small)); err == nil || !strings.Contains(err.Error(), "1024 bits") {
		t.Errorf("a key of 1024 bits: %v", err)
	}
}

func FuzzLoadKey(f *testing.F) {
	f.Add("-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----")
	f.Add("aGVsbG8=")
	f.Add("/nonexistent/key.pem")
	f.Fuzz(func(t *testing.T, raw string) {
		if _, err := ghclient.LoadKey(raw); err != nil && len(raw) > 40 && strings.Contains(err.Error(), raw) {
			t.Errorf("the error repeats the input: %v", err)
		}
	})
}
