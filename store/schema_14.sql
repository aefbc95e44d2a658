-- store/schema_14.sql - from version 13 to 14: the metrics that a trial of several stands for, in its row.

-- The metrics of the last report of its curve that carried the sweep's; NULL: it has none, or the sweep has one
-- metric. The front of 100,000 trials is then one pass and no search for each.
ALTER TABLE trial ADD COLUMN standing TEXT;

UPDATE trial AS t SET standing = (
	SELECT r.metrics FROM report r
	WHERE r.sweep = t.sweep AND r.trial = t.trial AND r.value IS NOT NULL AND (r.attempt = t.attempt OR NOT EXISTS (
		SELECT 1 FROM attempt a WHERE a.sweep = t.sweep AND a.trial = t.trial
		AND a.attempt > r.attempt AND (a.resume_step = 0 OR a.resume_step < r.step)))
	ORDER BY r.attempt DESC, r.seq DESC LIMIT 1)
WHERE sweep IN (SELECT sweep FROM sweep WHERE json_valid(spec) AND json_type(spec, '$.metrics') = 'array');
