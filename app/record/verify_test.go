package record_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/prosecutor-bot/prosecutor/app/record"
)

// chain is a chain as a database holds it.
type chain struct {
	repo       record.Repository
	checkpoint record.Point
	records    []record.Sealed
	head       *record.Point
}

func chainOf(t *testing.T, repo int64, checkpoint record.Point, n int) chain {
	t.Helper()
	c := chain{repo: record.Repository{ID: repo, Name: "acme/pay"}, checkpoint: checkpoint}
	last := checkpoint
	for range n {
		var s record.Sealed
		s, last = after(t, last, sample(repo))
		c.records = append(c.records, s)
	}
	c.head = &last
	return c
}

// after is a record behind a place, and the place it has.
func after(t *testing.T, last record.Point, r record.Record) (record.Sealed, record.Point) {
	t.Helper()
	s, err := record.Seal(last, r)
	if err != nil {
		t.Fatal(err)
	}
	return s, record.Point{Sequence: last.Sequence + 1, Hash: s.Hash}
}

// place is where the n-th record stands, from 1.
func (c chain) place(n int) record.Point {
	return record.Point{Sequence: c.checkpoint.Sequence + int64(n), Hash: c.records[n-1].Hash}
}

func (c chain) known(n int) record.Known {
	return record.Known{Repository: c.repo.ID, Point: c.place(n)}
}

func (c chain) into(t *testing.T, sink record.Sink) {
	t.Helper()
	err := sink.Begin(c.repo, c.checkpoint)
	for _, s := range c.records {
		err = errors.Join(err, sink.Record(s))
	}
	if err = errors.Join(err, sink.End(c.head)); err != nil {
		t.Fatal(err)
	}
}

func export(t *testing.T, chains ...chain) string {
	t.Helper()
	var b bytes.Buffer
	x, err := record.NewExporter(&b, record.Software{Name: "prosecutor", Version: "v1"}, moment)
	if err != nil {
		t.Fatal(err)
	}
	want := int64(0)
	for _, c := range chains {
		c.into(t, x)
		want += int64(len(c.records))
	}
	if records, n, err := x.Close(); err != nil || records != want || n != len(chains) {
		t.Fatalf("%d records of %d chains, %v", records, n, err)
	}
	return b.String()
}

// reports are what verifying chains comes to, in memory and as an export, which has to be the same.
func reports(t *testing.T, known []record.Known, chains ...chain) []record.Report {
	t.Helper()
	direct, file := record.NewVerifier(known), record.NewVerifier(known)
	for _, c := range chains {
		c.into(t, direct)
	}
	if err := record.Read(strings.NewReader(export(t, chains...)), file); err != nil {
		t.Fatal(err)
	}
	a, b := direct.Reports(), file.Reports()
	if len(a) != len(b) {
		t.Fatalf("%+v of the database, %+v of its export", a, b)
	}
	for i := range a {
		if a[i].Status != b[i].Status || a[i].Sequence != b[i].Sequence {
			t.Errorf("%+v of the database, %+v of its export", a[i], b[i])
		}
	}
	return a
}

func TestIntactChains(t *testing.T) {
	whole := chainOf(t, 5, record.Start(), 4)
	pruned := chain{repo: whole.repo, checkpoint: whole.place(2), records: whole.records[2:], head: whole.head}
	emptied := chain{repo: whole.repo, checkpoint: *whole.head, head: whole.head}
	unused := chainOf(t, 5, record.Start(), 0)
	for name, c := range map[string]chain{"whole": whole, "pruned": pruned, "emptied": emptied, "unused": unused} {
		t.Run(name, func(t *testing.T) {
			r := reports(t, nil, c)
			if len(r) != 1 || r[0].Status != record.Intact || r[0].Head != *c.head || r[0].Checkpoint != c.checkpoint || r[0].Problem != "" || r[0].Repository != c.repo {
				t.Errorf("%+v", r)
			}
		})
	}
	two := reports(t, []record.Known{whole.known(4), {Repository: 6, Point: chainOf(t, 6, record.Start(), 3).place(2)}}, whole, chainOf(t, 6, record.Start(), 3))
	if len(two) != 2 || two[0].Status != record.Intact || two[1].Status != record.Intact {
		t.Errorf("%+v", two)
	}
}

func TestWhatIsBrokenIsFound(t *testing.T) {
	other := func(t *testing.T, last record.Point) (record.Sealed, record.Point) {
		r := sample(5)
		r.Decision = "ESCALATE"
		return after(t, last, r)
	}
	for _, c := range []struct {
		name     string
		change   func(t *testing.T, c *chain)
		known    func(c chain) []record.Known // of the chain as it was
		sequence int64
		problem  string
	}{
		{name: "a record is altered", sequence: 3, problem: "altered", change: func(_ *testing.T, c *chain) {
			c.records[2].Text = bytes.Replace(c.records[2].Text, []byte("ADVANCE"), []byte("ESCALATE"), 1)
		}},
		{name: "a hash is altered", sequence: 3, problem: "altered", change: func(_ *testing.T, c *chain) { c.records[2].Hash = c.records[1].Hash }},
		{name: "a record is altered with its hash", sequence: 4, problem: "does not follow the one before it", change: func(t *testing.T, c *chain) {
			c.records[2], _ = other(t, c.place(2))
		}},
		{name: "the first record is altered with its hash", sequence: 2, problem: "does not follow the one before it", change: func(t *testing.T, c *chain) {
			c.records[0], _ = other(t, record.Start())
		}},
		{name: "the last record is altered with its hash", sequence: 5, problem: "another hash than the last record", change: func(t *testing.T, c *chain) {
			c.records[4], _ = other(t, c.place(4))
		}},
		{name: "the end is written anew", sequence: 4, problem: "the one that is known", change: func(t *testing.T, c *chain) {
			last := c.place(3)
			for i := 3; i < 5; i++ {
				c.records[i], last = other(t, last)
			}
			c.head = &last
		}, known: func(c chain) []record.Known { return []record.Known{c.known(4)} }},
		{name: "a record is removed", sequence: 3, problem: "it is missing: record 4 stands in its place", change: func(_ *testing.T, c *chain) {
			c.records = slices.Delete(c.records, 2, 3)
		}},
		{name: "the first record is removed", sequence: 1, problem: "it is missing: record 2", change: func(_ *testing.T, c *chain) { c.records = c.records[1:] }},
		{name: "records are exchanged", sequence: 2, problem: "it is missing: record 3", change: func(_ *testing.T, c *chain) {
			c.records[1], c.records[2] = c.records[2], c.records[1]
		}},
		{name: "a record is inserted", sequence: 4, problem: "record 3 stands in its place", change: func(t *testing.T, c *chain) {
			s, _ := other(t, c.place(2))
			c.records = slices.Insert(c.records, 2, s)
		}},
		{name: "a record is repeated", sequence: 4, problem: "record 3 stands in its place", change: func(_ *testing.T, c *chain) {
			c.records = slices.Insert(c.records, 2, c.records[2])
		}},
		{name: "a record of another repository", sequence: 3, problem: "belongs to repository 6", change: func(t *testing.T, c *chain) {
			c.records[2], _ = after(t, c.place(2), sample(6))
		}},
		{name: "the end is cut off", sequence: 4, problem: "it is missing, with all that follow: the head is record 5", change: func(_ *testing.T, c *chain) { c.records = c.records[:3] }},
		{name: "everything is cut off", sequence: 1, problem: "the head is record 5", change: func(_ *testing.T, c *chain) { c.records = nil }},
		{name: "the end is cut off with the head", sequence: 4, problem: "record 5 is known", change: func(_ *testing.T, c *chain) {
			last := c.place(3)
			c.records, c.head = c.records[:3], &last
		}, known: func(c chain) []record.Known { return []record.Known{c.known(2), c.known(5)} }},
		{name: "the head is older", sequence: 5, problem: "the head is record 4, and records follow it", change: func(_ *testing.T, c *chain) {
			last := c.place(4)
			c.head = &last
		}},
		{name: "there is no head", sequence: 6, problem: "no head", change: func(_ *testing.T, c *chain) { c.head = nil }},
		{name: "a checkpoint that does not match", sequence: 3, problem: "does not follow the checkpoint 2:", change: func(_ *testing.T, c *chain) {
			c.checkpoint = record.Point{Sequence: 2, Hash: c.records[0].Hash}
			c.records = c.records[2:]
		}},
		{name: "a checkpoint too early", sequence: 2, problem: "it is missing: record 3", change: func(_ *testing.T, c *chain) {
			c.checkpoint, c.records = c.place(1), c.records[2:]
		}},
		{name: "a checkpoint too late", sequence: 4, problem: "record 3 stands in its place", change: func(_ *testing.T, c *chain) {
			c.checkpoint, c.records = c.place(3), c.records[2:]
		}},
		{name: "a checkpoint that is none", sequence: 1, problem: "the checkpoint is none", change: func(_ *testing.T, c *chain) { c.checkpoint.Hash = c.records[1].Hash }},
		{name: "a checkpoint before the beginning", sequence: 1, problem: "the checkpoint is none", change: func(_ *testing.T, c *chain) { c.checkpoint.Sequence = -1 }},
		{name: "a checkpoint without a hash", sequence: 1, problem: "the checkpoint is none", change: func(_ *testing.T, c *chain) {
			c.checkpoint = record.Point{Sequence: 2, Hash: "x"}
		}},
		{name: "another checkpoint than the one known", sequence: 2, problem: "the one that is known", change: func(t *testing.T, c *chain) {
			_, first := other(t, record.Start())
			_, at := other(t, first)
			c.checkpoint, c.records = at, nil
			last := at
			for range 3 {
				var s record.Sealed
				s, last = after(t, last, sample(5))
				c.records = append(c.records, s)
			}
			c.head = &last
		}, known: func(c chain) []record.Known { return []record.Known{c.known(2)} }},
		{name: "the whole chain is gone", sequence: 1, problem: "with the whole chain: record 5 is known", change: func(t *testing.T, c *chain) {
			*c = chainOf(t, 6, record.Start(), 1)
		}, known: func(c chain) []record.Known { return []record.Known{c.known(5)} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			broken := chainOf(t, 5, record.Start(), 5)
			var known []record.Known
			if c.known != nil {
				known = c.known(broken)
			}
			c.change(t, &broken)
			all := reports(t, known, broken, chainOf(t, 7, record.Start(), 2))
			i := slices.IndexFunc(all, func(r record.Report) bool { return r.Status == record.Broken })
			if i < 0 || all[i].Sequence != c.sequence || !strings.Contains(all[i].Problem, c.problem) {
				t.Errorf("%+v, want broken at %d: %s", all, c.sequence, c.problem)
			}
			if others := slices.DeleteFunc(slices.Clone(all), func(r record.Report) bool { return r.Status == record.Intact }); len(others) != 1 {
				t.Errorf("%+v: the other chains are intact", all)
			}
		})
	}
}

// Only the database can hold what is not the one encoding: an export writes no other.
func TestRecordsThatAreNoneAreFound(t *testing.T) {
	for name, text := range map[string]string{
		"no JSON": "not this", "two values": "{} {}", "cut off": `{"version":1`, "white space": `{"version": 1}`, "order": `{"version":1,"sequence":2}`,
		"twice": `{"version":1,"version":1}`, "not UTF-8": "{\"detail\":\"\xff\"}", "a fraction": `{"version":1.5}`, "no record": `[null,true,"x",7]`, "a word": `{"sequence":"x"}`,
	} {
		t.Run(name, func(t *testing.T) {
			c := chainOf(t, 5, record.Start(), 3)
			c.records[1].Text = []byte(text)
			v := record.NewVerifier(nil)
			c.into(t, v)
			if r := v.Reports()[0]; r.Status != record.Broken || r.Sequence != 2 {
				t.Errorf("%+v", r)
			}
			// The export shows it as it is, and is seen to be broken there.
			v = record.NewVerifier(nil)
			if err := record.Read(strings.NewReader(export(t, c)), v); err != nil || v.Reports()[0].Status != record.Broken || v.Reports()[0].Sequence != 2 {
				t.Errorf("%+v, %v", v.Reports(), err)
			}
		})
	}
}

func TestWhatCannotBeTold(t *testing.T) {
	whole := chainOf(t, 5, record.Start(), 5)
	t.Run("a known head that was pruned", func(t *testing.T) {
		pruned := chain{repo: whole.repo, checkpoint: whole.place(3), records: whole.records[3:], head: whole.head}
		for n, want := range map[int]record.Status{2: record.Unknown, 3: record.Intact, 4: record.Intact, 5: record.Intact} {
			if r := reports(t, []record.Known{whole.known(n)}, pruned); len(r) != 1 || r[0].Status != want || (r[0].Problem == "") != (want == record.Intact) {
				t.Errorf("record %d: %+v", n, r)
			}
		}
	})
	t.Run("a record of a later version", func(t *testing.T) {
		c := chainOf(t, 5, record.Start(), 3)
		c.records[1].Text = bytes.Replace(c.records[1].Text, []byte(`"version":1}`), []byte(`"version":2}`), 1)
		if r := reports(t, []record.Known{c.known(3)}, c); r[0].Status != record.Unknown || !strings.Contains(r[0].Problem, "record 2 was written by a later version") {
			t.Errorf("%+v", r)
		}
	})
	text := export(t, whole)
	for name, c := range map[string]struct {
		in   io.Reader
		want string
	}{
		"empty":           {strings.NewReader(""), "it is empty"},
		"something else":  {strings.NewReader("# Readme\n"), "no export"},
		"other JSON":      {strings.NewReader("{\"type\":\"chain\"}\n"), "no export"},
		"without opening": {strings.NewReader(text[strings.Index(text, "\n")+1:]), "no export"},
		"a later format":  {strings.NewReader(strings.Replace(text, `"format":1`, `"format":2`, 1)), "format 2"},
		"not readable":    {iotest.ErrReader(errors.New("the disk is gone")), "the disk is gone"},
		"an endless line": {io.MultiReader(strings.NewReader(text), strings.NewReader(strings.Repeat("x", 32<<20))), "reading line 10"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := record.Read(c.in, record.NewVerifier(nil)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Error(err)
			}
		})
	}
}

// What is broken stays so, whatever else is found, and nothing behind the break counts.
func TestBrokenStaysBroken(t *testing.T) {
	whole := chainOf(t, 5, record.Start(), 5)
	pruned := chain{repo: whole.repo, checkpoint: whole.place(2), records: slices.Clone(whole.records[2:]), head: whole.head}
	pruned.records[1].Hash = whole.records[0].Hash
	r := reports(t, []record.Known{whole.known(1), whole.known(5)}, pruned)
	if len(r) != 1 || r[0].Status != record.Broken || r[0].Sequence != 4 || r[0].Head != whole.place(3) || !strings.Contains(r[0].Problem, "altered") {
		t.Errorf("%+v", r)
	}
	if r := reports(t, []record.Known{whole.known(1)}, chain{repo: whole.repo, checkpoint: whole.place(2), records: whole.records[2:], head: whole.head}); !strings.Contains(r[0].Problem, "record 1, which is known, was pruned: the chain begins behind its checkpoint 2") {
		t.Errorf("%+v", r)
	}
	repeated := chain{repo: whole.repo, checkpoint: record.Start(), records: slices.Insert(slices.Clone(whole.records), 2, whole.records[1]), head: whole.head}
	if r := reports(t, nil, repeated); r[0].Sequence != 3 || r[0].Head != whole.place(2) {
		t.Errorf("%+v", r)
	}
	other := record.Known{Repository: 5, Point: record.Point{Sequence: 4, Hash: whole.records[0].Hash}}
	if r := reports(t, []record.Known{other}, whole); !strings.Contains(r[0].Problem, "its hash is "+string(whole.records[3].Hash)+", and that of the known one "+string(other.Hash)) {
		t.Errorf("%+v", r)
	}
}

func TestDamagedExports(t *testing.T) {
	lines := strings.SplitAfter(export(t, chainOf(t, 5, record.Start(), 2), chainOf(t, 6, record.Start(), 2)), "\n")
	// export, chain, record, record, head, chain, record, record, head, end
	for _, c := range []struct {
		name   string
		change func(lines []string) []string
		want   []string // by report
	}{
		{"cut between lines", func(l []string) []string { return l[:4] }, []string{"5 broken at 3: the chain has no head", "0 broken at 0: the export stops with line 4"}},
		{"cut in a line", func(l []string) []string { return append(slices.Clone(l[:3]), l[3][:20]) }, []string{"5 broken at 2: line 4 cannot be read", "0 broken at 0: the export stops"}},
		{"cut in the last line", func(l []string) []string { return append(slices.Clone(l[:9]), l[9][:9]) }, []string{"5 intact", "6 intact", "0 broken at 0: line 10 cannot be read"}},
		{"cut behind a chain", func(l []string) []string { return l[:5] }, []string{"5 intact", "0 broken at 0: the export stops with line 5"}},
		{"a chain is left out", func(l []string) []string { return slices.Delete(slices.Clone(l), 1, 5) }, []string{"6 intact", "0 broken at 0: line 6 ends an export of 2 chains, and there are 1"}},
		{"the line of a chain is lost", func(l []string) []string { return slices.Delete(slices.Clone(l), 1, 2) }, []string{"0 broken at 0: line 2 does not belong", "6 intact", "0 broken at 0: line 9 ends an export of 2 chains"}},
		{"a head is lost", func(l []string) []string { return slices.Delete(slices.Clone(l), 4, 5) }, []string{"5 broken at 3: the chain has no head", "6 intact"}},
		{"the last head is lost", func(l []string) []string { return slices.Delete(slices.Clone(l), 8, 9) }, []string{"5 intact", "6 broken at 3: the chain has no head"}},
		{"something follows", func(l []string) []string { return append(slices.Clone(l[:10]), l[2]) }, []string{"5 intact", "6 intact", "0 broken at 0: line 11 follows the end"}},
		{"a chain comes twice", func(l []string) []string {
			return slices.Concat(l[:5], l[1:5], []string{`{"type":"end","chains":2}` + "\n"})
		}, []string{"5 intact", "5 broken at 1: the chain of this repository comes twice"}},
		{"a chain without a checkpoint", func(l []string) []string {
			return slices.Concat(l[:1], []string{`{"type":"chain","repository":{"id":5,"name":"x"}}` + "\n"}, l[2:])
		}, []string{"0 broken at 0: line 2 does not belong", "6 intact", "0 broken at 0: line 10 ends an export of 2"}},
		{"white space in a line", func(l []string) []string {
			l = slices.Clone(l)
			l[2] = strings.Replace(l[2], `{"type"`, `{ "type"`, 1)
			return l
		}, []string{"5 broken at 1: line 3 is not as an export writes it", "6 intact"}},
		{"a member twice", func(l []string) []string {
			l = slices.Clone(l)
			l[3] = strings.Replace(l[3], `"decision":"ADVANCE"`, `"decision":"ESCALATE","decision":"ADVANCE"`, 1)
			return l
		}, []string{"5 broken at 2: line 4 holds a record that is not as an export writes it", "6 intact"}},
		{"a member more", func(l []string) []string {
			l = slices.Clone(l)
			l[3] = strings.Replace(l[3], `{"type"`, `{"note":"x","type"`, 1)
			return l
		}, []string{"5 broken at 2: line 4 is not as", "6 intact"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := record.NewVerifier(nil)
			if err := record.Read(strings.NewReader(strings.Join(c.change(lines), "")), v); err != nil {
				t.Fatal(err)
			}
			got := v.Reports()
			if len(got) != len(c.want) {
				t.Fatalf("%+v, want %q", got, c.want)
			}
			for i, r := range got {
				s := fmt.Sprintf("%d intact", r.Repository.ID)
				if r.Status == record.Broken {
					s = fmt.Sprintf("%d broken at %d: %s", r.Repository.ID, r.Sequence, r.Problem)
				}
				if !strings.HasPrefix(s, c.want[i]) {
					t.Errorf("report %d: %s, want %s", i, s, c.want[i])
				}
			}
		})
	}
}

// The form of an export is a promise, so it is spelt out here.
func TestTheFormOfAnExport(t *testing.T) {
	c := chainOf(t, 5, record.Start(), 1)
	c.repo.Name = "a/<b>&"
	zeros, hash := strings.Repeat("0", 64), string(c.records[0].Hash)
	headless := chainOf(t, 6, record.Point{Sequence: 3, Hash: c.records[0].Hash}, 0)
	headless.head = nil
	want := `{"type":"export","format":1,"software":{"name":"prosecutor","version":"v1"},"at":"2026-03-01T10:00:00.123Z"}
{"type":"chain","repository":{"id":5,"name":"a/<b>&"},"checkpoint":{"sequence":0,"hash":"` + zeros + `"}}
{"type":"record","previous":"` + zeros + `","hash":"` + hash + `","record":` + string(c.records[0].Text) + `}
{"type":"head","head":{"sequence":1,"hash":"` + hash + `"}}
{"type":"chain","repository":{"id":6,"name":"acme/pay"},"checkpoint":{"sequence":3,"hash":"` + hash + `"}}
{"type":"end","chains":2}
`
	if got := export(t, c, headless); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// Lines that are right in themselves and wrong where they stand, or that lack something.
func TestLinesThatDoNotBelong(t *testing.T) {
	lines := strings.SplitAfter(export(t, chainOf(t, 5, record.Start(), 2)), "\n")
	// export, chain, record, record, head, end
	point := `{"sequence":0,"hash":"` + strings.Repeat("0", 64) + `"}`
	for _, c := range []struct {
		at   int // the line that is replaced
		line string
		want string
	}{
		{1, `{"type":"chain","checkpoint":` + point + `}`, "line 2 does not belong"},
		{1, `{"type":"chain","repository":{"id":5,"name":"x"}}`, "line 2 does not belong"},
		{1, `{"type":"repository","repository":{"id":5,"name":"x"},"checkpoint":` + point + `}`, "line 2 does not belong"},
		{1, lines[2], "line 2 does not belong"},
		{1, lines[4], "line 2 does not belong"},
		{2, `{"type":"record","previous":"x","hash":"x"}`, "line 3 holds a record that is not"},
		{2, strings.Replace(lines[2], `"type":"record"`, `"type":"recording"`, 1), "line 3 does not belong"},
		{2, lines[0], "line 3 does not belong"},
		{4, `{"type":"head"}`, "the chain has no head"},
		{4, strings.Replace(lines[4], `"type":"head"`, `"type":"tail"`, 1), "line 5 does not belong"},
		{5, `{"type":"end"}`, "line 6 does not belong"},
		{5, `{"type":"stop","chains":1}`, "line 6 does not belong"},
		{5, lines[4], "line 6 does not belong"},
		{5, `{"type":"end","chains":0}`, "line 6 ends an export of 0 chains, and there are 1"},
	} {
		changed := slices.Clone(lines)
		changed[c.at] = strings.TrimSuffix(c.line, "\n") + "\n"
		v := record.NewVerifier(nil)
		if err := record.Read(strings.NewReader(strings.Join(changed, "")), v); err != nil {
			t.Fatal(err)
		}
		if r := v.Reports(); !slices.ContainsFunc(r, func(r record.Report) bool { return r.Status == record.Broken && strings.Contains(r.Problem, c.want) }) {
			t.Errorf("line %d: %s: %+v, want %s", c.at+1, c.line, r, c.want)
		}
	}
}

// A chain that has lost its head is broken, also when another chain follows; that one is not.
func TestChainsWithoutTheirHead(t *testing.T) {
	first, second := chainOf(t, 5, record.Start(), 2), chainOf(t, 6, record.Start(), 1)
	first.head = nil
	v := record.NewVerifier(nil)
	if err := record.Read(strings.NewReader(export(t, first, second)), v); err != nil {
		t.Fatal(err)
	}
	r := v.Reports()
	if len(r) != 2 || r[0].Status != record.Broken || r[0].Sequence != 3 || !strings.Contains(r[0].Problem, "the chain has no head") || r[1].Status != record.Intact {
		t.Errorf("%+v", r)
	}

	// What follows the end belongs to no chain.
	v = record.NewVerifier(nil)
	text := export(t, first)
	if err := record.Read(strings.NewReader(text+strings.SplitAfter(text, "\n")[0]), v); err != nil {
		t.Fatal(err)
	}
	r = v.Reports()
	if len(r) != 2 || !strings.Contains(r[0].Problem, "the chain has no head") || r[1].Status != record.Broken || !strings.Contains(r[1].Problem, "follows the end of the export") {
		t.Errorf("%+v", r)
	}
}

// A record is as large as its bounds allow, and a line of it is read.
func TestLongRecords(t *testing.T) {
	r := sample(5)
	for range record.MaxFindings {
		r.Findings = append(r.Findings, record.Finding{Claim: record.Text(strings.Repeat("\x01", 2*record.MaxText), record.MaxText)})
	}
	s, last := after(t, record.Start(), r)
	c := chain{repo: r.Repository, checkpoint: record.Start(), records: []record.Sealed{s}, head: &last}
	if got := reports(t, nil, c); got[0].Status != record.Intact || len(s.Text) < 1<<20 {
		t.Errorf("%+v of a record of %d bytes", got, len(s.Text))
	}
}

// What a terminal would obey or hide is escaped in an export, and means the same.
func TestExportsAreSafeToLookAt(t *testing.T) {
	r := sample(5)
	r.Detail = "\x1b[2J \x9b \u009b \u202e\u2066 \u200b \ufeff \u2028 \x7f \U000e0041 é"
	s, last := after(t, record.Start(), r)
	c := chain{repo: record.Repository{ID: 5, Name: "a/b\x1b[31m"}, checkpoint: record.Start(), records: []record.Sealed{s}, head: &last}
	text := export(t, c)
	for _, hidden := range "\x1b\u009b\u202e\u2066\u200b\ufeff\u2028\x7f\U000e0041" {
		if strings.ContainsRune(text, hidden) {
			t.Errorf("%U is in the export", hidden)
		}
	}
	for _, shown := range []string{`\u001b[2J`, `\u009b`, `\u202e\u2066`, `\udb40\udc41`, "é", `a/b\u001b[31m`} {
		if !strings.Contains(text, shown) {
			t.Errorf("%s is not in %s", shown, text)
		}
	}
	v := record.NewVerifier([]record.Known{c.known(1)})
	if err := record.Read(strings.NewReader(text), v); err != nil || v.Reports()[0].Status != record.Intact {
		t.Errorf("%+v, %v", v.Reports(), err)
	}
	// A hash that somebody has put something else into is no way around it.
	c.records[0].Hash = "\x1b[31m"
	if strings.Contains(export(t, c), "\x1b") {
		t.Error("an escape sequence in a hash is in the export")
	}
}

type full struct{ room int }

func (w *full) Write(p []byte) (int, error) {
	if w.room -= len(p); w.room < 0 {
		return 0, errors.New("no space left")
	}
	return len(p), nil
}

func TestAnExportThatCannotBeWrittenFails(t *testing.T) {
	x, err := record.NewExporter(&full{}, record.Software{}, moment)
	if err != nil {
		t.Fatal(err)
	}
	c := chainOf(t, 5, record.Start(), 1)
	if err := x.Begin(c.repo, c.checkpoint); err != nil {
		t.Fatal(err)
	}
	if _, _, err := x.Close(); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Error(err)
	}
	var failed error
	for range 1000 {
		failed = errors.Join(failed, x.Record(c.records[0]))
	}
	if failed == nil {
		t.Error("nobody noticed")
	}
}
