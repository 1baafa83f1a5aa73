-- +goose Up
CREATE TABLE installations (
	id         INTEGER PRIMARY KEY, -- GitHub's
	account    TEXT    NOT NULL,
	state      TEXT    NOT NULL, -- active, suspended, deleted
	updated_at INTEGER NOT NULL  -- milliseconds since 1970, as all times here; 0 means never
) STRICT;

CREATE TABLE repositories (
	id              INTEGER PRIMARY KEY, -- GitHub's
	installation_id INTEGER NOT NULL,
	owner           TEXT    NOT NULL,
	name            TEXT    NOT NULL,
	removed         INTEGER NOT NULL, -- 0 or 1
	updated_at      INTEGER NOT NULL
) STRICT;

CREATE INDEX repositories_by_installation ON repositories (installation_id);

CREATE TABLE pulls (
	repo_id      INTEGER NOT NULL,
	number       INTEGER NOT NULL,
	head         TEXT    NOT NULL,
	head_ref     TEXT    NOT NULL,
	head_repo_id INTEGER NOT NULL, -- 0 when it was deleted
	base         TEXT    NOT NULL,
	base_ref     TEXT    NOT NULL,
	author       TEXT    NOT NULL,
	draft        INTEGER NOT NULL, -- 0 or 1
	state        TEXT    NOT NULL, -- open, closed, merged
	updated_at   INTEGER NOT NULL, -- by GitHub's clock
	PRIMARY KEY (repo_id, number)
) STRICT;

CREATE INDEX pulls_by_head ON pulls (repo_id, head);
CREATE INDEX pulls_by_base ON pulls (repo_id, base_ref, state);

CREATE TABLE deliveries (
	id              INTEGER PRIMARY KEY AUTOINCREMENT,
	guid            TEXT    NOT NULL UNIQUE,
	event           TEXT    NOT NULL,
	action          TEXT    NOT NULL,
	installation_id INTEGER NOT NULL,
	repo_id         INTEGER NOT NULL, -- 0 when the event is about none
	sender          TEXT    NOT NULL,
	state           TEXT    NOT NULL, -- received, enqueued, done, failed, ignored
	reason          TEXT    NOT NULL,
	attempts        INTEGER NOT NULL, -- how often it came
	job_id          INTEGER NOT NULL, -- the resolve or command job that is at it, or 0
	payload         BLOB,             -- gzip; NULL after it was pruned
	size            INTEGER NOT NULL, -- of the payload, before gzip
	received_at     INTEGER NOT NULL,
	finished_at     INTEGER NOT NULL
) STRICT;

CREATE INDEX deliveries_by_state ON deliveries (state, finished_at);
CREATE INDEX deliveries_by_job ON deliveries (job_id) WHERE job_id <> 0;

CREATE TABLE runs (
	id              INTEGER PRIMARY KEY AUTOINCREMENT,
	installation_id INTEGER NOT NULL,
	repo_id         INTEGER NOT NULL,
	owner           TEXT    NOT NULL,
	repo            TEXT    NOT NULL,
	pr              INTEGER NOT NULL, -- 0 for a merge group
	group_ref       TEXT    NOT NULL, -- of a merge group
	head            TEXT    NOT NULL,
	base            TEXT    NOT NULL,
	generation      INTEGER NOT NULL,
	cause           TEXT    NOT NULL,
	event           TEXT    NOT NULL,
	sender          TEXT    NOT NULL, -- JSON
	options         TEXT    NOT NULL, -- JSON
	state           TEXT    NOT NULL, -- queued, judging, waiting, judged, published, skipped, superseded, cancelled, failed
	reason          TEXT    NOT NULL,
	superseded_by   TEXT    NOT NULL,
	claim           INTEGER NOT NULL, -- counts the beginnings
	pokes           INTEGER NOT NULL, -- counts what happened since the run was created
	seen            INTEGER NOT NULL, -- the pokes when it last began
	followup        TEXT    NOT NULL, -- JSON of a request, or empty
	check_run_id    INTEGER NOT NULL,
	conclusion      TEXT    NOT NULL,
	result          TEXT    NOT NULL, -- JSON, or empty
	published       TEXT    NOT NULL, -- JSON, or empty
	judge_job       INTEGER NOT NULL,
	publish_job     INTEGER NOT NULL,
	created_at      INTEGER NOT NULL,
	begun_at        INTEGER NOT NULL,
	ended_at        INTEGER NOT NULL,
	published_at    INTEGER NOT NULL,
	UNIQUE (repo_id, pr, head, generation)
) STRICT;

CREATE UNIQUE INDEX runs_live ON runs (repo_id, pr, head) WHERE state IN ('queued', 'judging', 'waiting');
CREATE INDEX runs_by_state ON runs (state);
CREATE INDEX runs_by_head ON runs (repo_id, head);
CREATE INDEX runs_by_check_run ON runs (check_run_id) WHERE check_run_id <> 0;
CREATE INDEX runs_by_installation ON runs (installation_id, state);

CREATE TABLE run_deliveries (
	run_id      INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
	delivery_id INTEGER NOT NULL REFERENCES deliveries (id) ON DELETE CASCADE,
	PRIMARY KEY (run_id, delivery_id)
) STRICT;

CREATE INDEX run_deliveries_by_delivery ON run_deliveries (delivery_id);

CREATE TABLE kill_switches (
	repo_id    INTEGER NOT NULL,
	pr         INTEGER NOT NULL,
	is_on      INTEGER NOT NULL, -- 0 or 1, by permission
	by_login   TEXT    NOT NULL, -- who switched last
	wanted     INTEGER NOT NULL, -- 0 or 1, what the label says
	wanted_by  TEXT    NOT NULL, -- who changed the label last
	pending    INTEGER NOT NULL, -- 1 while nobody has looked at the permission of wanted_by
	updated_at INTEGER NOT NULL,
	PRIMARY KEY (repo_id, pr)
) STRICT;
