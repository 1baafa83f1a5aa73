-- +goose Up
CREATE TABLE installations (
	id         BIGINT PRIMARY KEY, -- GitHub's
	account    TEXT    NOT NULL,
	state      TEXT    NOT NULL, -- active, suspended, deleted
	updated_at BIGINT NOT NULL  -- milliseconds since 1970, as all times here; 0 means never
);

CREATE TABLE repositories (
	id              BIGINT PRIMARY KEY, -- GitHub's
	installation_id BIGINT NOT NULL,
	owner           TEXT    NOT NULL,
	name            TEXT    NOT NULL,
	removed         BOOLEAN NOT NULL,
	updated_at      BIGINT NOT NULL
);

CREATE INDEX repositories_by_installation ON repositories (installation_id);

CREATE TABLE pulls (
	repo_id      BIGINT NOT NULL,
	number       BIGINT NOT NULL,
	head         TEXT    NOT NULL,
	head_ref     TEXT    NOT NULL,
	head_repo_id BIGINT NOT NULL, -- 0 when it was deleted
	base         TEXT    NOT NULL,
	base_ref     TEXT    NOT NULL,
	author       TEXT    NOT NULL,
	draft        BOOLEAN NOT NULL,
	state        TEXT    NOT NULL, -- open, closed, merged
	updated_at   BIGINT NOT NULL, -- by GitHub's clock
	PRIMARY KEY (repo_id, number)
);

CREATE INDEX pulls_by_head ON pulls (repo_id, head);
CREATE INDEX pulls_by_base ON pulls (repo_id, base_ref, state);

CREATE TABLE deliveries (
	id              BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	guid            TEXT    NOT NULL UNIQUE,
	event           TEXT    NOT NULL,
	action          TEXT    NOT NULL,
	installation_id BIGINT NOT NULL,
	repo_id         BIGINT NOT NULL, -- 0 when the event is about none
	sender          TEXT    NOT NULL,
	state           TEXT    NOT NULL, -- received, enqueued, done, failed, ignored
	reason          TEXT    NOT NULL,
	attempts        BIGINT NOT NULL, -- how often it came
	job_id          BIGINT NOT NULL, -- the resolve or command job that is at it, or 0
	payload         BYTEA,             -- gzip; NULL after it was pruned
	size            BIGINT NOT NULL, -- of the payload, before gzip
	received_at     BIGINT NOT NULL,
	finished_at     BIGINT NOT NULL
);

CREATE INDEX deliveries_by_state ON deliveries (state, finished_at);
CREATE INDEX deliveries_by_job ON deliveries (job_id) WHERE job_id <> 0;

CREATE TABLE runs (
	id              BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	installation_id BIGINT NOT NULL,
	repo_id         BIGINT NOT NULL,
	owner           TEXT    NOT NULL,
	repo            TEXT    NOT NULL,
	pr              BIGINT NOT NULL, -- 0 for a merge group
	group_ref       TEXT    NOT NULL, -- of a merge group
	head            TEXT    NOT NULL,
	base            TEXT    NOT NULL,
	generation      BIGINT NOT NULL,
	cause           TEXT    NOT NULL,
	event           TEXT    NOT NULL,
	sender          TEXT    NOT NULL, -- JSON
	options         TEXT    NOT NULL, -- JSON
	state           TEXT    NOT NULL, -- queued, judging, waiting, judged, published, skipped, superseded, cancelled, failed
	reason          TEXT    NOT NULL,
	superseded_by   TEXT    NOT NULL,
	claim           BIGINT NOT NULL, -- counts the beginnings
	pokes           BIGINT NOT NULL, -- counts what happened since the run was created
	seen            BIGINT NOT NULL, -- the pokes when it last began
	followup        TEXT    NOT NULL, -- JSON of a request, or empty
	check_run_id    BIGINT NOT NULL,
	conclusion      TEXT    NOT NULL,
	result          TEXT    NOT NULL, -- JSON, or empty
	published       TEXT    NOT NULL, -- JSON, or empty
	judge_job       BIGINT NOT NULL,
	publish_job     BIGINT NOT NULL,
	created_at      BIGINT NOT NULL,
	begun_at        BIGINT NOT NULL,
	ended_at        BIGINT NOT NULL,
	published_at    BIGINT NOT NULL,
	UNIQUE (repo_id, pr, head, generation)
);

CREATE UNIQUE INDEX runs_live ON runs (repo_id, pr, head) WHERE state IN ('queued', 'judging', 'waiting');
CREATE INDEX runs_by_state ON runs (state);
CREATE INDEX runs_by_head ON runs (repo_id, head);
CREATE INDEX runs_by_check_run ON runs (check_run_id) WHERE check_run_id <> 0;
CREATE INDEX runs_by_installation ON runs (installation_id, state);

CREATE TABLE run_deliveries (
	run_id      BIGINT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
	delivery_id BIGINT NOT NULL REFERENCES deliveries (id) ON DELETE CASCADE,
	PRIMARY KEY (run_id, delivery_id)
);

CREATE INDEX run_deliveries_by_delivery ON run_deliveries (delivery_id);

CREATE TABLE kill_switches (
	repo_id    BIGINT NOT NULL,
	pr         BIGINT NOT NULL,
	is_on      BOOLEAN NOT NULL, -- by permission
	by_login   TEXT    NOT NULL, -- who switched last
	wanted     BOOLEAN NOT NULL, -- what the label says
	wanted_by  TEXT    NOT NULL, -- who changed the label last
	pending    BOOLEAN NOT NULL, -- nobody has looked at the permission of wanted_by
	updated_at BIGINT NOT NULL,
	PRIMARY KEY (repo_id, pr)
);
