-- store/schema_4.sql - from version 3 to 4: the rules that a sweep was begun under.

-- Most trials that one step of its end ends; 0: all at once, as those before this version did.
ALTER TABLE sweep ADD COLUMN slice INTEGER NOT NULL DEFAULT 0;
-- Version of the samplers that its suggestions are from (sched/sampler/sampler.h). It was not kept before.
ALTER TABLE sweep ADD COLUMN sampler_version INTEGER NOT NULL DEFAULT 1;
