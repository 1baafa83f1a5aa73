-- +goose Up
CREATE TABLE measurements (
	id         INTEGER PRIMARY KEY AUTOINCREMENT,
	repo_id    INTEGER NOT NULL,
	head       TEXT    NOT NULL,
	key        TEXT    NOT NULL, -- of everything else that decides the outcome
	request    TEXT    NOT NULL, -- JSON
	evidence   TEXT    NOT NULL, -- JSON, or empty until it is done
	tries      INTEGER NOT NULL, -- how often a job was enqueued
	job_id     INTEGER NOT NULL,
	asked_at   INTEGER NOT NULL, -- when its last job was enqueued
	done_at    INTEGER NOT NULL,
	UNIQUE (repo_id, head, key)
) STRICT;
