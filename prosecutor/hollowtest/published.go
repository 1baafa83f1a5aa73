package hollowtest

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// PublishedTitle is the title of the annotation in which a job of CI publishes its report.
const PublishedTitle = "prosecutor hollow-test report"

const (
	publishedPrefix = "v1:"
	// mostPublished bounds a published report in bytes: GitHub takes 64 KB of an annotation's message.
	mostPublished = 60_000
	// mostUnpacked bounds what a published report may be unpacked to. Whoever can change the code under test can write one.
	mostUnpacked = 8 << 20
)

// published is a report as CI hands it on: the facts that Decide judges, and the commit that they are about.
type published struct {
	Head string `json:"head"`
	Run  Run    `json:"run"`
}

// Publish packs what was measured of a commit into one line of text for Published. Survivors may be left out of a report that
// would be too long; their number is not.
func Publish(r *Report, head string) (string, error) {
	p := published{Head: head, Run: r.Facts()}
	for {
		text, err := pack(p)
		if err != nil {
			return "", err
		}
		if len(text) <= mostPublished {
			return text, nil
		}
		s, u := p.Run.Survivors, p.Run.Uncovered
		if len(s)+len(u) == 0 {
			return "", fmt.Errorf("the report is about %d files and too long to be published: measure a smaller change", len(p.Run.Files))
		}
		p.Run.Survivors, p.Run.Uncovered = s[:len(s)/2], u[:len(u)/2]
	}
}

func pack(p published) (string, error) {
	data, err := json.Marshal(p)
	if err != nil {
		return "", fmt.Errorf("packing the report: %w", err)
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(data); err != nil {
		return "", fmt.Errorf("packing the report: %w", err)
	}
	if err := z.Close(); err != nil {
		return "", fmt.Errorf("packing the report: %w", err)
	}
	return publishedPrefix + base64.StdEncoding.EncodeToString(b.Bytes()), nil
}

// Published unpacks what Publish packed: the facts, and the commit they are about. What is in it was written by a machine that
// ran the code under test, and is to be believed no more than that.
func Published(text string) (r Run, head string, err error) {
	encoded, ok := strings.CutPrefix(strings.TrimSpace(text), publishedPrefix)
	if !ok {
		return Run{}, "", errors.New("the published report is of no version that is known")
	}
	data, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return Run{}, "", fmt.Errorf("the published report cannot be decoded: %w", err)
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return Run{}, "", fmt.Errorf("the published report cannot be unpacked: %w", err)
	}
	plain, err := io.ReadAll(io.LimitReader(z, mostUnpacked+1))
	if err != nil {
		return Run{}, "", fmt.Errorf("the published report cannot be unpacked: %w", err)
	}
	if len(plain) > mostUnpacked {
		return Run{}, "", errors.New("the published report is too long")
	}
	dec := json.NewDecoder(bytes.NewReader(plain))
	dec.DisallowUnknownFields()
	var p published
	if err := dec.Decode(&p); err != nil {
		return Run{}, "", fmt.Errorf("the published report cannot be read: %w", err)
	}
	return p.Run, p.Head, nil
}
