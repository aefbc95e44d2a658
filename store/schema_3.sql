-- store/schema_3.sql - from version 2 to 3: trials that pause and go on from a checkpoint.

-- parent: the trial whose checkpoint this one began from (pbt); 0: none, it began from scratch.
-- resume_step: the step that the next attempt goes on from; 0: from scratch.
ALTER TABLE trial ADD COLUMN parent INTEGER NOT NULL DEFAULT 0;
ALTER TABLE trial ADD COLUMN resume_step INTEGER NOT NULL DEFAULT 0;
-- The step that the attempt went on from. A trial's curve is made of all its attempts: of each the
-- reports up to the step from which a later one went on.
ALTER TABLE attempt ADD COLUMN resume_step INTEGER NOT NULL DEFAULT 0;
-- 1: the slot has a GPU. Slots may have another device after a restart, so each attempt says it.
ALTER TABLE attempt ADD COLUMN gpu INTEGER NOT NULL DEFAULT 0;
-- 1: the trial has a checkpoint of this step.
ALTER TABLE report ADD COLUMN checkpoint INTEGER NOT NULL DEFAULT 0;

DROP INDEX report_by_ev;
CREATE INDEX report_by_ev ON report (sweep, ev, step, time_ms, value, diverged, verdict, checkpoint);

-- The few edits of a sweep among its many events.
CREATE INDEX event_edits ON event (sweep, ev) WHERE kind = 'edit';
