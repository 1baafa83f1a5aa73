package ghclient

import (
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
)

// maxKeyFile bounds a key file: a 16384 bit RSA key in PEM is below 13 KB.
const maxKeyFile = 64 << 10

// minKeyBits is the smallest key that is accepted. GitHub makes keys of 2048 bits.
const minKeyBits = 2048

// LoadKey reads an App's private key in any of the forms that keys arrive in, and returns it as clean PEM:
//
//   - PEM, PKCS #1 or PKCS #8, also with CRLF, indented, in quotes, with its line breaks written as \n (environment
//     variables), or folded into spaces (YAML);
//   - base64 of such PEM, wrapped or not, in the standard or the URL alphabet;
//   - the path of a file that holds one of these.
//
// Errors say what was seen instead, and never repeat any of it.
func LoadKey(raw string) ([]byte, error) {
	key, err := parseKey(raw)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}), nil
}

func parseKey(raw string) (*rsa.PrivateKey, error) {
	text := trimQuotes(raw)
	if text == "" {
		return nil, errors.New("it is empty: give the PEM text, its base64, or the path of the .pem file that GitHub made")
	}
	if block, ok := findPEM(text); ok {
		return parsePEM(block)
	}
	return parseKeyFile(text)
}

// findPEM returns the text if it holds PEM, or what it decodes to if that does. PEM comes first: a whole PEM file is, by
// its dashes and letters, base64 of the URL alphabet as well.
func findPEM(text string) (string, bool) {
	const begin = "-----BEGIN"
	if strings.Contains(text, begin) {
		return text, true
	}
	decoded, ok := decodeBase64(text)
	return string(decoded), ok && strings.Contains(string(decoded), begin)
}

func parseKeyFile(path string) (*rsa.PrivateKey, error) {
	const forms = "it is neither PEM, nor base64 of PEM, nor the path of a file that can be read"
	// Never try a whole secret as a file name, and never repeat it: what is no plain path is not looked up.
	if len(path) > 4096 || strings.ContainsAny(path, "\n\r\x00") {
		return nil, errors.New(forms)
	}
	f, err := os.Open(path)
	if err != nil {
		var pathErr *os.PathError
		if errors.As(err, &pathErr) {
			return nil, fmt.Errorf("%s (%w)", forms, pathErr.Err)
		}
		return nil, errors.New(forms)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxKeyFile {
		return nil, fmt.Errorf("the file is no key: a regular file of at most %d bytes is expected", maxKeyFile)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxKeyFile))
	if err != nil {
		return nil, errors.New("the file cannot be read")
	}
	block, ok := findPEM(trimQuotes(string(data)))
	if !ok {
		return nil, errors.New("the file holds no PEM: use the .pem file that GitHub made")
	}
	return parsePEM(block)
}

var pemBlock = regexp.MustCompile(`(?s)-----BEGIN ([A-Z0-9 ]+?)-----(.*?)-----END ([A-Z0-9 ]+?)-----`)

// parsePEM reads the first block by hand: encoding/pem takes no escaped, folded or indented lines.
func parsePEM(text string) (*rsa.PrivateKey, error) {
	m := pemBlock.FindStringSubmatch(text)
	if m == nil || m[1] != m[3] {
		return nil, errors.New("the PEM text is cut: a BEGIN line has no END line that fits")
	}
	label, body := m[1], m[2]
	if strings.Contains(body, "ENCRYPTED") || label == "ENCRYPTED PRIVATE KEY" {
		return nil, errors.New("the key has a passphrase: give it without one, as GitHub made it")
	}
	der, ok := decodeBase64(body)
	if !ok {
		return nil, errors.New("the PEM text between its BEGIN and END lines is no base64")
	}
	var key any
	var err error
	switch label {
	case "RSA PRIVATE KEY":
		key, err = x509.ParsePKCS1PrivateKey(der)
	case "PRIVATE KEY":
		key, err = x509.ParsePKCS8PrivateKey(der)
	default:
		return nil, fmt.Errorf("it is a %s: an RSA private key is needed, as GitHub made it", strings.ToLower(label))
	}
	if err != nil {
		return nil, errors.New("the PEM text holds no whole RSA private key: was it cut or changed?")
	}
	private, ok := key.(*rsa.PrivateKey)
	if !ok {
		return nil, errors.New("it is no RSA key: GitHub Apps sign with RSA (RS256)")
	}
	if bits := private.N.BitLen(); bits < minKeyBits {
		return nil, fmt.Errorf("the key has %d bits: at least %d are needed", bits, minKeyBits)
	}
	return private, nil
}

// decodeBase64 reads base64 in either alphabet, padded or not, and passes over blanks, line breaks and their escapes.
func decodeBase64(text string) ([]byte, bool) {
	text = strings.NewReplacer(`\r`, "", `\n`, "", `\t`, "", `\`, "", "\r", "", "\n", "", "\t", "", " ", "").Replace(text)
	text = strings.TrimRight(strings.NewReplacer("-", "+", "_", "/").Replace(text), "=")
	data, err := base64.RawStdEncoding.DecodeString(text)
	return data, err == nil && len(data) > 0
}

func trimQuotes(s string) string {
	s = strings.TrimSpace(strings.TrimPrefix(s, "\ufeff"))
	for len(s) >= 2 && (s[0] == '"' || s[0] == '\'' || s[0] == '`') && s[len(s)-1] == s[0] {
		s = strings.TrimSpace(s[1 : len(s)-1])
	}
	return s
}
