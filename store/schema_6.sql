-- store/schema_6.sql - from version 5 to 6: suggestions that are stored before anyone asks for them.

-- The next trials of a sweep, which may be handed out before their own rows are committed; a row leaves
-- with the hand-out's transaction. run: of the daemon that prepared it, whose notes (daemon/sweep/handed.h) say
-- which of those that a start finds were handed out.
CREATE TABLE prepared (
	sweep INTEGER NOT NULL,
	trial INTEGER NOT NULL,
	run INTEGER NOT NULL,
	known INTEGER NOT NULL,
	params TEXT NOT NULL,
	why TEXT NOT NULL,
	state TEXT NOT NULL,
	PRIMARY KEY (sweep, trial)
) STRICT, WITHOUT ROWID;
