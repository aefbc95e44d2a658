-- store/schema_9.sql - from version 8 to 9: a trial's best report beside its last one.

-- Of the reports of its curve that carried the metric the best by the sweep's goal, the first of equals; NULL:
-- none. A trial whose worker was lost keeps what the lost attempt had until the next one reports.
ALTER TABLE trial ADD COLUMN best_step INTEGER;
ALTER TABLE trial ADD COLUMN best_value REAL;

UPDATE trial AS t SET (best_step, best_value) = (
	SELECT r.step, r.value FROM report r JOIN sweep s ON s.sweep = r.sweep
	WHERE r.sweep = t.sweep AND r.trial = t.trial AND r.value IS NOT NULL AND (r.attempt = t.attempt OR NOT EXISTS (
		SELECT 1 FROM attempt a WHERE a.sweep = t.sweep AND a.trial = t.trial
		AND a.attempt > r.attempt AND (a.resume_step = 0 OR a.resume_step < r.step)))
	ORDER BY CASE WHEN s.maximize <> 0 THEN -r.value ELSE r.value END, r.step LIMIT 1);

-- The best trial by its best value, which every look at a sweep asks for; changes only where a report is better.
DROP INDEX trial_by_value;
CREATE INDEX trial_by_best ON trial (sweep, best_value, trial);
