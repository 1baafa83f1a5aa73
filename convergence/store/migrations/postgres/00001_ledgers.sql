-- +goose Up
CREATE TABLE ledgers (
	repo       TEXT   NOT NULL,
	change     TEXT   NOT NULL,
	ledger     TEXT   NOT NULL, -- JSON, docs/convergence.md
	revision   BIGINT NOT NULL, -- counts the writes
	updated_at BIGINT NOT NULL, -- milliseconds since 1970
	PRIMARY KEY (repo, change)
);

CREATE TABLE decisions (
	id              BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	repo            TEXT   NOT NULL,
	change          TEXT   NOT NULL,
	stage           TEXT   NOT NULL,
	event           TEXT   NOT NULL,
	base            TEXT   NOT NULL,
	head            TEXT   NOT NULL,
	policy_hash     TEXT   NOT NULL,
	spec_hash       TEXT   NOT NULL,
	evidence_states TEXT   NOT NULL,
	outcome         TEXT   NOT NULL,
	decision        TEXT   NOT NULL, -- empty when there is none
	reason          TEXT   NOT NULL,
	causes          TEXT   NOT NULL, -- JSON list
	findings        TEXT   NOT NULL, -- JSON list
	laps            BIGINT NOT NULL,
	epoch           BIGINT NOT NULL,
	decided_at      BIGINT NOT NULL  -- milliseconds since 1970
);

CREATE INDEX decisions_by_change ON decisions (repo, change, id);

-- +goose StatementBegin
CREATE FUNCTION decisions_are_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE EXCEPTION 'the history of decisions is append-only';
END;
$$;
-- +goose StatementEnd

CREATE TRIGGER decisions_are_not_changed BEFORE UPDATE OR DELETE ON decisions
	FOR EACH ROW EXECUTE FUNCTION decisions_are_append_only();
CREATE TRIGGER decisions_are_not_truncated BEFORE TRUNCATE ON decisions
	FOR EACH STATEMENT EXECUTE FUNCTION decisions_are_append_only();
