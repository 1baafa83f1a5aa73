-- +goose Up
CREATE TABLE ledgers (
	repo       TEXT    NOT NULL,
	change     TEXT    NOT NULL,
	ledger     TEXT    NOT NULL, -- JSON, docs/convergence.md
	revision   INTEGER NOT NULL, -- counts the writes
	updated_at INTEGER NOT NULL, -- milliseconds since 1970
	PRIMARY KEY (repo, change)
) STRICT;

CREATE TABLE decisions (
	id              INTEGER PRIMARY KEY AUTOINCREMENT,
	repo            TEXT    NOT NULL,
	change          TEXT    NOT NULL,
	stage           TEXT    NOT NULL,
	event           TEXT    NOT NULL,
	base            TEXT    NOT NULL,
	head            TEXT    NOT NULL,
	policy_hash     TEXT    NOT NULL,
	spec_hash       TEXT    NOT NULL,
	evidence_states TEXT    NOT NULL,
	outcome         TEXT    NOT NULL,
	decision        TEXT    NOT NULL, -- empty when there is none
	reason          TEXT    NOT NULL,
	causes          TEXT    NOT NULL, -- JSON list
	findings        TEXT    NOT NULL, -- JSON list
	laps            INTEGER NOT NULL,
	epoch           INTEGER NOT NULL,
	decided_at      INTEGER NOT NULL  -- milliseconds since 1970
) STRICT;

CREATE INDEX decisions_by_change ON decisions (repo, change, id);

-- +goose StatementBegin
CREATE TRIGGER decisions_are_not_changed BEFORE UPDATE ON decisions
BEGIN
	SELECT RAISE(ABORT, 'the history of decisions is append-only');
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER decisions_are_not_deleted BEFORE DELETE ON decisions
BEGIN
	SELECT RAISE(ABORT, 'the history of decisions is append-only');
END;
-- +goose StatementEnd

PRAGMA application_id = 1347571539;
PRAGMA user_version = 1;
