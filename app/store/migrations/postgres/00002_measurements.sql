-- +goose Up
CREATE TABLE measurements (
	id         BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	repo_id    BIGINT NOT NULL,
	head       TEXT   NOT NULL,
	key        TEXT   NOT NULL, -- of everything else that decides the outcome
	request    TEXT   NOT NULL, -- JSON
	evidence   TEXT   NOT NULL, -- JSON, or empty until it is done
	tries      BIGINT NOT NULL, -- how often a job was enqueued
	job_id     BIGINT NOT NULL,
	asked_at   BIGINT NOT NULL, -- when its last job was enqueued
	done_at    BIGINT NOT NULL,
	UNIQUE (repo_id, head, key)
);
