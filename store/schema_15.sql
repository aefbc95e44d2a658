-- store/schema_15.sql - from version 14 to 15: what a trial reported that was not stored, and rows of one step.

-- How many reports of its attempts were left out (a step that did not rise, say), and why the first one was.
ALTER TABLE trial ADD COLUMN left_out INTEGER NOT NULL DEFAULT 0;
ALTER TABLE trial ADD COLUMN left_why TEXT;

-- A trial whose metric was not finite at last has no value: the step of its row is not that of the value before.
UPDATE trial AS t SET value = NULL WHERE (
	SELECT r.diverged FROM report r
	WHERE r.sweep = t.sweep AND r.trial = t.trial AND (r.value IS NOT NULL OR r.diverged <> 0)
	ORDER BY r.attempt DESC, r.seq DESC LIMIT 1) <> 0;
UPDATE trial AS t SET step = coalesce((
	SELECT r.step FROM report r
	WHERE r.sweep = t.sweep AND r.trial = t.trial AND (r.value IS NOT NULL OR t.value IS NULL)
	ORDER BY r.attempt DESC, r.seq DESC LIMIT 1), step);
