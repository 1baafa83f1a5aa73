// Command trim cuts GitHub's published descriptions of its API down to what this project uses, and writes rest.json,
// webhooks.json and graphql.graphql. It is run by hand when a version is raised:
//
//	go run ./test/contract/trim -out test/contract
//
// It fetches the pinned packages with npm and reads single members of their archives: unpacked they are 385 MB.
package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// The packages, pinned: what is committed was made from these.
const (
	restPackage    = "@octokit/openapi@23.0.2"
	webhookPackage = "@octokit/openapi-webhooks@12.1.0"
	graphqlPackage = "@octokit/graphql-schema@15.26.1"
)

func main() {
	out := flag.String("out", "test/contract", "directory of the trimmed files")
	flag.Parse()
	if err := run(context.Background(), *out); err != nil {
		fmt.Fprintln(os.Stderr, "trim:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out string) error {
	work, err := os.MkdirTemp("", "contract")
	if err != nil {
		return fmt.Errorf("making a work directory: %w", err)
	}
	defer func() { _ = os.RemoveAll(work) }()

	member := func(pkg, name string) ([]byte, error) {
		archive, err := pack(ctx, work, pkg)
		if err != nil {
			return nil, err
		}
		return extract(archive, name)
	}
	rest, err := member(restPackage, "package/generated/api.github.com.json")
	if err != nil {
		return err
	}
	trimmed, err := trimREST(rest)
	if err != nil {
		return fmt.Errorf("trimming %s: %w", restPackage, err)
	}
	if err := write(out, "rest.json", trimmed); err != nil {
		return err
	}
	hooks, err := member(webhookPackage, "package/generated/api.github.com.json")
	if err != nil {
		return err
	}
	trimmed, err = trimWebhooks(hooks)
	if err != nil {
		return fmt.Errorf("trimming %s: %w", webhookPackage, err)
	}
	if err := write(out, "webhooks.json", trimmed); err != nil {
		return err
	}
	schema, err := member(graphqlPackage, "package/schema.graphql")
	if err != nil {
		return err
	}
	trimmed, err = trimGraphQL(string(schema))
	if err != nil {
		return fmt.Errorf("trimming %s: %w", graphqlPackage, err)
	}
	return write(out, "graphql.graphql", trimmed)
}

// pack fetches a package's archive into dir and returns its path.
func pack(ctx context.Context, dir, pkg string) (string, error) {
	cmd := exec.CommandContext(ctx, "npm", "pack", "--silent", "--pack-destination", dir, pkg)
	cmd.Stderr = os.Stderr
	name, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("npm pack %s: %w", pkg, err)
	}
	return filepath.Join(dir, strings.TrimSpace(string(name))), nil
}

// extract reads one member of a gzipped tar archive.
func extract(archive, name string) ([]byte, error) {
	f, err := os.Open(archive)
	if err != nil {
		return nil, fmt.Errorf("opening the package: %w", err)
	}
	defer f.Close()
	zr, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", archive, err)
	}
	for tr := tar.NewReader(zr); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("%s has no %s", archive, name)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", archive, err)
		}
		if h.Name == name {
			return io.ReadAll(tr)
		}
	}
}

func write(dir, name string, data []byte) error {
	if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
		return fmt.Errorf("writing the trimmed file: %w", err)
	}
	fmt.Printf("%s: %d bytes\n", name, len(data))
	return nil
}

// encode writes one path, webhook or component a line, so that a new version makes a readable diff and the file stays small.
func encode(doc map[string]any) ([]byte, error) {
	var buf bytes.Buffer
	var put func(v any, depth int) error
	put = func(v any, depth int) error {
		m, isMap := v.(map[string]any)
		if !isMap || depth == 0 {
			line, err := json.Marshal(v)
			buf.Write(line)
			return err
		}
		buf.WriteString("{\n")
		for i, key := range slices.Sorted(maps.Keys(m)) {
			if i > 0 {
				buf.WriteString(",\n")
			}
			fmt.Fprintf(&buf, "%q:", key)
			below := depth - 1
			if key == "components" {
				below = 2
			}
			if err := put(m[key], below); err != nil {
				return err
			}
		}
		buf.WriteString("\n}")
		return nil
	}
	if err := put(doc, 2); err != nil {
		return nil, fmt.Errorf("writing JSON: %w", err)
	}
	buf.WriteByte('\n')
	return buf.Bytes(), nil
}
