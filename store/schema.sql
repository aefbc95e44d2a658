-- store/schema.sql - version 1 of the file. STRICT: a column holds its type or NULL, nothing else.
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
	uid INTEGER NOT NULL,
	-- Bytes that a trial of the largest configuration takes, and of them its data set's, which trials share on a
	-- GPU; 0: it runs a program, or at a client.
	bytes INTEGER NOT NULL,
	data_bytes INTEGER NOT NULL,
	-- A sum of the data set's files, for machines that read it by its path; 0: there are none.
	data_sum INTEGER NOT NULL,
	-- What is left of a deleted one: 0 all; 1 its rows and files are being removed; 2 this row, so that its number
	-- is never given again; 3 the row and the trial `kept`.
	gone INTEGER NOT NULL DEFAULT 0,
	kept INTEGER NOT NULL DEFAULT 0,
	-- A person's own words: tags with a blank between two, and a line of text.
	tags TEXT,
	note TEXT
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
	-- The trial whose checkpoint this one began from (pbt); 0: none, it began from scratch.
	parent INTEGER NOT NULL DEFAULT 0,
	-- The step that the next attempt goes on from; 0: from scratch.
	resume_step INTEGER NOT NULL DEFAULT 0,
	-- Of the reports of its curve that carried the metric the best by the sweep's goal, the first of equals; NULL:
	-- none. A trial whose worker was lost keeps what the lost attempt had until the next one reports.
	best_step INTEGER,
	best_value REAL,
	-- The metrics of the last report of its curve that carried the sweep's; NULL: it has none, or the sweep has one
	-- metric. The front of 100,000 trials is then one pass and no search for each.
	standing TEXT,
	-- How many reports of its attempts were left out (a step that did not rise, say), and why the first one was.
	left_out INTEGER NOT NULL DEFAULT 0,
	left_why TEXT,
	PRIMARY KEY (sweep, trial)
) STRICT, WITHOUT ROWID;
-- Changes with the state alone, a few times in a trial's life; counts and lists by state read it.
CREATE INDEX trial_by_state ON trial (sweep, state);
-- The best trial by its best value, which every look at a sweep asks for; changes only where a report is better.
CREATE INDEX trial_by_best ON trial (sweep, best_value, trial);

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
	-- The step that it went on from. A trial's curve is made of all its attempts: of each the reports up to the
	-- step from which a later one went on.
	resume_step INTEGER NOT NULL DEFAULT 0,
	-- 1: the slot has a GPU. Slots may have another device after a restart, so each attempt says it.
	gpu INTEGER NOT NULL DEFAULT 0,
	-- The part of the GPU that the attempt had: its lanes of all lanes. Without meaning where gpu is 0.
	share REAL NOT NULL DEFAULT 1,
	-- Most bytes of its worker there, mean percent of the time in which the GPU worked, energy; NULL: not known (no
	-- GPU, or no word of NVML while it ran).
	gpu_bytes REAL,
	gpu_util REAL,
	joules REAL,
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
	-- 1: the trial has a checkpoint of this step.
	checkpoint INTEGER NOT NULL DEFAULT 0,
	PRIMARY KEY (sweep, trial, attempt, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX report_by_ev ON report (sweep, ev, step, time_ms, value, diverged, verdict, checkpoint);

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
-- The few edits of a sweep, and the few trials that a user enqueued, among its many events.
CREATE INDEX event_edits ON event (sweep, ev) WHERE kind = 'edit';
CREATE INDEX event_enqueued ON event (sweep, ev) WHERE kind = 'enqueue';

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

-- How a trial's configuration came about. known: observations that the suggestion knew; why: one JSON
-- object for people. Trials that the user enqueued, and those of samplers that do not learn, have none.
CREATE TABLE suggestion (
	sweep INTEGER NOT NULL,
	trial INTEGER NOT NULL,
	known INTEGER NOT NULL,
	why TEXT NOT NULL,
	PRIMARY KEY (sweep, trial),
	FOREIGN KEY (sweep, trial) REFERENCES trial
) STRICT, WITHOUT ROWID;

-- The state of a sweep's sampler after its last suggestion, that of `trial`; opaque, in hexadecimal.
CREATE TABLE sampler (
	sweep INTEGER PRIMARY KEY,
	trial INTEGER NOT NULL,
	state TEXT NOT NULL
) STRICT;

-- Trials of earlier sweeps (warm_start) as they stood when the sweep was submitted: copies of those of
-- from_sweep. y: a JSON array, the value of each metric as it was reported.
CREATE TABLE prior (
	sweep INTEGER NOT NULL REFERENCES sweep,
	n INTEGER NOT NULL,
	params TEXT NOT NULL,
	y TEXT NOT NULL,
	from_sweep INTEGER NOT NULL,
	from_trial INTEGER NOT NULL,
	PRIMARY KEY (sweep, n)
) STRICT, WITHOUT ROWID;

-- Journals: the logs that programs keep here (Optuna's studies).
CREATE TABLE journal (
	journal TEXT NOT NULL,
	n INTEGER NOT NULL,
	entry TEXT NOT NULL,
	PRIMARY KEY (journal, n)
) STRICT, WITHOUT ROWID;
