-- +goose Up
CREATE TABLE record_chains (
	repo_id             INTEGER PRIMARY KEY, -- GitHub's
	sequence            INTEGER NOT NULL, -- of the last record, 0 before the first one
	hash                TEXT    NOT NULL, -- of the last record
	checkpoint_sequence INTEGER NOT NULL, -- of the last record that was pruned, or 0
	checkpoint_hash     TEXT    NOT NULL
) STRICT;

CREATE TABLE records (
	repo_id    INTEGER NOT NULL,
	sequence   INTEGER NOT NULL,
	previous   TEXT    NOT NULL, -- hash of the record before
	hash       TEXT    NOT NULL,
	record     TEXT    NOT NULL, -- JSON, docs/evidence-records.md
	keep_until INTEGER NOT NULL,
	PRIMARY KEY (repo_id, sequence)
) STRICT;

-- +goose StatementBegin
CREATE TRIGGER records_are_not_changed BEFORE UPDATE ON records
BEGIN
	SELECT RAISE(ABORT, 'records are append-only');
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER records_are_not_deleted BEFORE DELETE ON records
WHEN OLD.sequence > coalesce((SELECT checkpoint_sequence FROM record_chains WHERE repo_id = OLD.repo_id), 0)
BEGIN
	SELECT RAISE(ABORT, 'a record is deleted only behind a checkpoint');
END;
-- +goose StatementEnd
