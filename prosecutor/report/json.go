package report

import (
	"encoding/json"
	"fmt"
	"io"
)

// JSON writes the document, indented, with a line feed at the end. Text that is not UTF-8 has U+FFFD in place of each
// invalid byte, and "<", ">" and "&" are escaped, so that the document can stand inside HTML.
func JSON(w io.Writer, d *Document) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	if err := enc.Encode(d.complete()); err != nil {
		return fmt.Errorf("writing the JSON report: %w", err)
	}
	return nil
}

// complete returns a copy in which no list is null, so that readers need not tell null from empty.
func (d *Document) complete() *Document {
	c := *d
	c.Causes = list(c.Causes)
	c.BlastRadius.Why = list(c.BlastRadius.Why)
	c.Builder.Families = list(c.Builder.Families)
	c.Builder.Found = list(c.Builder.Found)
	c.Notes = list(c.Notes)
	c.NotRead = list(c.NotRead)
	c.Findings = list(c.Findings)
	c.Evidence = append([]Evidence{}, c.Evidence...)
	for i := range c.Evidence {
		c.Evidence[i].Findings = list(c.Evidence[i].Findings)
	}
	c.Lenses = append([]Lens{}, c.Lenses...)
	for i := range c.Lenses {
		c.Lenses[i].Passes = list(c.Lenses[i].Passes)
		c.Lenses[i].Skipped = list(c.Lenses[i].Skipped)
	}
	if c.Ledger != nil {
		l := *c.Ledger
		l.OpenConcerns = list(l.OpenConcerns)
		c.Ledger = &l
	}
	return &c
}

func list[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
