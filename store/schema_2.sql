-- store/schema_2.sql - from version 1 to 2: what a sampler that learns needs to go on after a restart.

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

-- Trials of earlier sweeps (warm_start) as they stood when the sweep was submitted. y: a JSON array, the
-- value of each metric as it was reported.
CREATE TABLE prior (
	sweep INTEGER NOT NULL REFERENCES sweep,
	n INTEGER NOT NULL,
	params TEXT NOT NULL,
	y TEXT NOT NULL,
	PRIMARY KEY (sweep, n)
) STRICT, WITHOUT ROWID;
