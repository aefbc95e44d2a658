-- store/schema_11.sql - from version 10 to 11: journals, the logs that programs keep here (Optuna's studies).

CREATE TABLE journal (
	journal TEXT NOT NULL,
	n INTEGER NOT NULL,
	entry TEXT NOT NULL,
	PRIMARY KEY (journal, n)
) STRICT, WITHOUT ROWID;
