package schemata_test

import (
	"os"
	"strings"
	"testing"
)

func TestScratch(t *testing.T) {
	dir := os.Getenv("HOLLOW_DIR")
	if dir == "" {
		dir = fixture(t, "p")
	}
	files := strings.Fields(os.Getenv("HOLLOW_FILES"))
	if len(files) == 0 {
		files = []string{"p.go"}
	}
	measure(t, request(dir, allLines(t, dir, files...)))
}
