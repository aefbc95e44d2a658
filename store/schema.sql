-- store/schema.sql - version 1 of the file; the later steps are in schema_2.sql ... STRICT: a column holds
-- its type or NULL, nothing else.
--
-- Keys are the order in which rows are read: a trial's curve is one range of `report`, a sweep's
-- trials are one range of `trial`. report_by_ev carries every column that a replay needs, so a
-- replay is one pass over the index and never touches the metrics.
--
-- report.metrics is one JSON text, not a table (report, name, value). Measured when that was chosen:
-- 4 metrics, 200,000 reports of 64 trials in turn, 1,000 a commit, on 2 shared cores (a range is the
-- spread of five runs, each layout beside the other):
--                  reports/s in    reports/s of curves out    file
--   key-value      31-36,000         117,000-168,000          21.6 MB
--   JSON           40-72,000       800,000-3,200,000          37.9 MB
-- JSON takes 1.3 to 2.2 times the reports and gives curves back 6 times as fast or more, because
-- the reply wants the text as it lies; it costs 1.8 times the space with values of 17 digits.
CREATE TABLE meta (
	key TEXT PRIMARY KEY,
	value ANY
) STRICT, WITHOUT ROWID;

CREATE TABLE sweep (
	sweep INTEGER PRIMARY KEY,
	name TEXT,
	spec TEXT NOT NULL,
	state TEXT NOT NULL,
	cause TEXT,
	metric TEXT,
	method TEXT,
	seed INTEGER NOT NULL,
	maximize INTEGER NOT NULL,
	driven INTEGER NOT NULL,
	run_cap INTEGER NOT NULL,
	created_ms INTEGER NOT NULL,
	ended_ms INTEGER NOT NULL,
	uid INTEGER NOT NULL
) STRICT;

CREATE TABLE trial (
	sweep INTEGER NOT NULL REFERENCES sweep,
	trial INTEGER NOT NULL,
	state TEXT NOT NULL,
	cause TEXT,
	attempt INTEGER NOT NULL,
	step INTEGER NOT NULL,
	value REAL,
	created_ms INTEGER NOT NULL,
	started_ms INTEGER NOT NULL,
	ended_ms INTEGER NOT NULL,
	seconds REAL NOT NULL,
	params TEXT NOT NULL,
	PRIMARY KEY (sweep, trial)
) STRICT, WITHOUT ROWID;
-- Changes with the state alone, a few times in a trial's life; counts and lists by state read it.
CREATE INDEX trial_by_state ON trial (sweep, state);
-- The best trial by its last value, which every look at a sweep asks for: 0.1 ms instead of 25 to 50 ms
-- at 100,000 trials, for 2 us more a report.
CREATE INDEX trial_by_value ON trial (sweep, value, trial);

CREATE TABLE attempt (
	sweep INTEGER NOT NULL,
	trial INTEGER NOT NULL,
	attempt INTEGER NOT NULL,
	ev INTEGER NOT NULL,
	slot INTEGER NOT NULL,
	started_ms INTEGER NOT NULL,
	ended_ms INTEGER NOT NULL,
	state TEXT NOT NULL,
	cause TEXT,
	PRIMARY KEY (sweep, trial, attempt),
	FOREIGN KEY (sweep, trial) REFERENCES trial
) STRICT, WITHOUT ROWID;

-- No foreign key: the same operation updates the trial's row, and fails when there is none.
CREATE TABLE report (
	sweep INTEGER NOT NULL,
	trial INTEGER NOT NULL,
	attempt INTEGER NOT NULL,
	seq INTEGER NOT NULL,
	ev INTEGER NOT NULL,
	step INTEGER NOT NULL,
	time_ms INTEGER NOT NULL,
	value REAL,
	diverged INTEGER NOT NULL,
	verdict TEXT NOT NULL,
	metrics TEXT,
	PRIMARY KEY (sweep, trial, attempt, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX report_by_ev ON report (sweep, ev, step, time_ms, value, diverged, verdict);

CREATE TABLE decision (
	sweep INTEGER NOT NULL,
	trial INTEGER NOT NULL,
	attempt INTEGER NOT NULL,
	seq INTEGER NOT NULL,
	rung INTEGER NOT NULL,
	verdict TEXT NOT NULL,
	bracket INTEGER NOT NULL,
	n INTEGER NOT NULL,
	better INTEGER NOT NULL,
	keep INTEGER NOT NULL,
	cutoff REAL,
	value REAL NOT NULL,
	PRIMARY KEY (sweep, trial, attempt, seq, rung)
) STRICT, WITHOUT ROWID;

CREATE TABLE event (
	sweep INTEGER NOT NULL,
	ev INTEGER NOT NULL,
	kind TEXT NOT NULL,
	trial INTEGER NOT NULL,
	attempt INTEGER NOT NULL,
	state TEXT,
	cause TEXT,
	run_cap INTEGER NOT NULL,
	time_ms INTEGER NOT NULL,
	uid INTEGER NOT NULL,
	PRIMARY KEY (sweep, ev)
) STRICT, WITHOUT ROWID;

-- n counts a trial's lines from 1, so that the oldest to keep is n - 1000: no counting.
CREATE TABLE log (
	sweep INTEGER NOT NULL,
	trial INTEGER NOT NULL,
	n INTEGER NOT NULL,
	attempt INTEGER NOT NULL,
	time_ms INTEGER NOT NULL,
	line TEXT NOT NULL,
	PRIMARY KEY (sweep, trial, n)
) STRICT, WITHOUT ROWID;

CREATE TABLE slot (
	slot INTEGER PRIMARY KEY,
	device TEXT,
	worker TEXT,
	handle TEXT
) STRICT;
