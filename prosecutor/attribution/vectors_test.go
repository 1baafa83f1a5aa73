package attribution_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/prosecutor/attribution"
	"github.com/prosecutor-bot/prosecutor/test/vectortest"
)

type sign struct {
	Family string `json:"family"`
	From   string `json:"from"`
	Value  string `json:"value"`
}

func TestVectorsIndependence(t *testing.T) {
	vectortest.Run(t, "independence", func(t *testing.T, c vectortest.Case) {
		var in struct {
			Kind    string
			Catalog struct {
				Logins, Trailers, Branches, Footers map[string]string
			}
			Policy struct {
				Attribution struct {
					Logins, Labels map[string]string
				}
			}
			Author  struct{ Login, Type string }
			Labels  []string
			Commits []struct {
				AuthorLogin    string `json:"author_login"`
				CommitterLogin string `json:"committer_login"`
				Message        string
			}
			Branch, Body string
		}
		vectortest.Decode(t, c.Input, &in)
		var want struct {
			Families []string
			Found    []sign
		}
		vectortest.Decode(t, c.Expect, &want)

		change := attribution.Change{
			Author: attribution.Account{Login: in.Author.Login, Type: in.Author.Type},
			Labels: in.Labels, Branch: in.Branch, Body: in.Body,
		}
		for _, commit := range in.Commits {
			change.Commits = append(change.Commits, attribution.Commit{
				AuthorLogin: commit.AuthorLogin, CommitterLogin: commit.CommitterLogin, Message: commit.Message,
			})
		}
		got := attribution.Find(change,
			config.Attribution{Logins: in.Policy.Attribution.Logins, Labels: in.Policy.Attribution.Labels},
			attribution.Catalog{
				Logins: in.Catalog.Logins, Trailers: in.Catalog.Trailers,
				Branches: in.Catalog.Branches, Footers: in.Catalog.Footers,
			})

		slices.Sort(want.Families)
		if diff := cmp.Diff(want.Families, got.Families); diff != "" {
			t.Errorf("families (-want +got):\n%s", diff)
		}
		found := []sign{}
		for _, s := range got.Found {
			found = append(found, sign{s.Family, string(s.From), s.Value})
		}
		order := func(a, b sign) int {
			return slices.Compare([]string{a.Family, a.From, a.Value}, []string{b.Family, b.From, b.Value})
		}
		slices.SortFunc(found, order)
		slices.SortFunc(want.Found, order)
		if diff := cmp.Diff(want.Found, found); diff != "" {
			t.Errorf("found (-want +got):\n%s", diff)
		}
		if got.UnknownAgent {
			t.Error("an agent of unknown family was found where the catalogue has none")
		}
	}, "attribution")
}
