-- +goose Up
CREATE TABLE record_chains (
	repo_id             BIGINT PRIMARY KEY, -- GitHub's
	sequence            BIGINT NOT NULL, -- of the last record, 0 before the first one
	hash                TEXT   NOT NULL, -- of the last record
	checkpoint_sequence BIGINT NOT NULL, -- of the last record that was pruned, or 0
	checkpoint_hash     TEXT   NOT NULL
);

CREATE TABLE records (
	repo_id    BIGINT NOT NULL,
	sequence   BIGINT NOT NULL,
	previous   TEXT   NOT NULL, -- hash of the record before
	hash       TEXT   NOT NULL,
	record     TEXT   NOT NULL, -- JSON, docs/evidence-records.md
	keep_until BIGINT NOT NULL,
	PRIMARY KEY (repo_id, sequence)
);

-- +goose StatementBegin
CREATE FUNCTION records_are_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE EXCEPTION 'records are append-only';
END;
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION records_behind_a_checkpoint() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF OLD.sequence > coalesce((SELECT checkpoint_sequence FROM record_chains WHERE repo_id = OLD.repo_id), 0) THEN
		RAISE EXCEPTION 'a record is deleted only behind a checkpoint';
	END IF;
	RETURN OLD;
END;
$$;
-- +goose StatementEnd

CREATE TRIGGER records_are_not_changed BEFORE UPDATE ON records
	FOR EACH ROW EXECUTE FUNCTION records_are_append_only();
CREATE TRIGGER records_are_not_deleted BEFORE DELETE ON records
	FOR EACH ROW EXECUTE FUNCTION records_behind_a_checkpoint();
CREATE TRIGGER records_are_not_truncated BEFORE TRUNCATE ON records
	FOR EACH STATEMENT EXECUTE FUNCTION records_are_append_only();
