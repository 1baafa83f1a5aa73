package postgrestest_test

import (
	"database/sql"
	"testing"

	"go.uber.org/goleak"

	"github.com/prosecutor-bot/prosecutor/test/postgrestest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestDatabasesAreApart(t *testing.T) {
	s := postgrestest.Start(t)
	for range 2 {
		db, err := sql.Open("pgx", s.Database(t))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		// The table of the one is not in the other.
		if _, err := db.ExecContext(t.Context(), `CREATE TABLE things (id INTEGER)`); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTwoServers(t *testing.T) {
	a, b := postgrestest.Start(t), postgrestest.Start(t)
	if a.Database(t) == b.Database(t) {
		t.Error("two tests got the same server")
	}
}
