-- store/schema_6.sql - from version 5 to 6: suggestions that are stored before anyone asks for them.

-- The next trials of a sweep, which may be handed out before their own rows are committed; a row leaves
-- with the hand-out's transaction. run: of the daemon that prepared it, whose notes said which of those
-- that a start found were handed out. Version 8 drops it.
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
