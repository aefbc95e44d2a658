-- store/schema_7.sql - from version 6 to 7: where what a trial goes back to came from.

-- The trial of an earlier sweep that the prior is a copy of; 0: not kept, as before this version.
ALTER TABLE prior ADD COLUMN from_sweep INTEGER NOT NULL DEFAULT 0;
ALTER TABLE prior ADD COLUMN from_trial INTEGER NOT NULL DEFAULT 0;
-- The few trials that a user enqueued, among a sweep's many events.
CREATE INDEX event_enqueued ON event (sweep, ev) WHERE kind = 'enqueue';
