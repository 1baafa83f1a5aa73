package judge_test

import (
	"slices"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/prosecutor-bot/prosecutor/config"
	"github.com/prosecutor-bot/prosecutor/prosecutor"
	"github.com/prosecutor-bot/prosecutor/prosecutor/judge"
	"github.com/prosecutor-bot/prosecutor/test/vectortest"
)

func TestVectorsIndependence(t *testing.T) {
	vectortest.Run(t, "independence", selectCase, "select")
	vectortest.Run(t, "independence", queueCase, "queue")
}

func selectCase(t *testing.T, c vectortest.Case) {
	var in struct {
		Kind            string
		BuilderFamilies []string `json:"builder_families"`
		Radius          prosecutor.Radius
		SelfModifying   bool `json:"self_modifying"`
		Policy          struct{ Independence config.Independence }
		Judges          []struct {
			ID, Family, Provider string
			FreeSlots            int  `json:"free_slots"`
			BreakerOpen          bool `json:"breaker_open"`
		}
	}
	vectortest.Decode(t, c.Input, &in)
	type skip struct{ Judge, Why string }
	var want struct {
		Outcome      string
		Judge        *string
		SameFamily   *bool `json:"same_family"`
		Independence *string
		Skipped      []skip
	}
	vectortest.Decode(t, c.Expect, &want)

	input := judge.SelectInput{Criteria: judge.Criteria{
		BuilderFamilies: in.BuilderFamilies, Radius: in.Radius, SelfModifying: in.SelfModifying, Independence: in.Policy.Independence,
	}}
	for _, j := range in.Judges {
		input.Judges = append(input.Judges, judge.State{
			Info:      judge.Info{ID: j.ID, Family: j.Family, Provider: j.Provider},
			FreeSlots: j.FreeSlots, BreakerOpen: j.BreakerOpen,
		})
	}
	got := judge.Select(input)

	if string(got.Outcome) != want.Outcome {
		t.Errorf("outcome %s, want %s", got.Outcome, want.Outcome)
	}
	if wanted := deref(want.Judge); got.Judge != wanted {
		t.Errorf("judge %q, want %q", got.Judge, wanted)
	}
	if want.SameFamily != nil && got.SameFamily != *want.SameFamily {
		t.Errorf("same family %v, want %v", got.SameFamily, *want.SameFamily)
	}
	if want.Independence != nil && string(got.Independence) != *want.Independence {
		t.Errorf("independence %s, want %s", got.Independence, *want.Independence)
	}
	skipped := []skip{}
	for _, s := range got.Skipped {
		skipped = append(skipped, skip{s.Judge, string(s.Why)})
	}
	if diff := cmp.Diff(want.Skipped, skipped); diff != "" {
		t.Errorf("skipped (-want +got):\n%s", diff)
	}
}

func queueCase(t *testing.T, c vectortest.Case) {
	var in struct {
		Kind    string
		Slots   int
		Waiters []struct{ ID, Repo string }
	}
	vectortest.Decode(t, c.Input, &in)
	var want struct {
		Order        []string
		ServedBefore [][2]string `json:"served_before"`
	}
	vectortest.Decode(t, c.Expect, &want)

	synctest.Test(t, func(t *testing.T) {
		pool := newPool(t, judge.PoolOptions{Limits: map[string]judge.Limits{"fern-large": {Concurrency: in.Slots}}}, fern)
		// Everybody waits: all slots are taken when the first one arrives.
		var busy []*judge.Lease
		for range in.Slots {
			busy = append(busy, acquire(t, pool, judge.Want{Repo: "acme/elsewhere"}))
		}
		served := make(chan string)
		for _, w := range in.Waiters {
			ticket := pool.Enqueue(judge.Want{Repo: w.Repo})
			go func() {
				lease, _, err := ticket.Wait(t.Context())
				if err != nil {
					t.Errorf("%s was not served: %v", w.ID, err)
				}
				served <- w.ID
				lease.Release()
			}()
		}
		for _, lease := range busy {
			lease.Release()
		}
		var order []string
		for range in.Waiters {
			order = append(order, <-served)
		}
		if want.Order != nil && !slices.Equal(order, want.Order) {
			t.Errorf("order %v, want %v", order, want.Order)
		}
		for _, pair := range want.ServedBefore {
			if slices.Index(order, pair[0]) > slices.Index(order, pair[1]) {
				t.Errorf("order %v, want %s before %s", order, pair[0], pair[1])
			}
		}
	})
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
