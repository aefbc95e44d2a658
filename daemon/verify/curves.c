#include "daemon/verify/curves.h"
#include "base/memory.h"
#include "daemon/sweep/names.h"
#include "proto/json.h"
#include "store/read.h"
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* About a hundredth of a second of the store's reader, which others wait for. */
#define PART_TRIALS 1000
#define PART_POINTS 5000

static bool reserve_room(struct sw_curves *c, void *array, size_t n, size_t *cap, size_t size)
{
	if (sw_array_reserve(array, cap, n + 1, size))
		return true;
	c->rc = sw_err_set(c->err, SW_NOMEM, "out of memory");
	return false;
}

static bool add_moment(struct sw_curves *c, int64_t ms, int change)
{
	if (!reserve_room(c, &c->moment, c->moment_n, &c->moment_cap, sizeof *c->moment))
		return false;
	c->moment[c->moment_n++] = (struct sw_curves_moment){.ms = ms, .change = change};
	return true;
}

static bool take_attempt(const struct sw_row_attempt *row, void *arg)
{
	struct sw_curves *c = arg;
	const int64_t end_ms = row->ended_ms > row->started_ms ? row->ended_ms : row->started_ms;

	if (!reserve_room(c, &c->attempt, c->attempt_n, &c->attempt_cap, sizeof *c->attempt))
		return false;
	c->attempt[c->attempt_n++] = (struct sw_curves_attempt){.attempt = row->attempt,
								.resume_step = row->resume_step,
								.ms = end_ms - row->started_ms};
	return add_moment(c, row->started_ms, 1) && add_moment(c, end_ms, -1);
}

/* The reports of an attempt begin: what earlier ones said past the step that it went on from was
 * lost with them. */
static void begin_attempt(struct sw_curves *c, int64_t attempt)
{
	struct sw_simulate_curve *curve = &c->curve[c->n];

	c->live = attempt;
	c->at = 0;
	for (size_t i = 0; i < c->attempt_n; i++) {
		/* Each attempt has its own row, in no order that counts here. */
		if (c->attempt[i].attempt != attempt)
			continue;
		c->at = (uint64_t)c->attempt[i].resume_step;
		c->ran_ms += c->attempt[i].ms;
	}
	while (c->point_n > curve->first && c->point[c->point_n - 1].step > c->at)
		c->point_n--;
}

static bool take_report(const struct sw_row_report *row, void *arg)
{
	struct sw_curves *c = arg;

	/* Reports come by attempt and seq, so each attempt begins once. */
	if (row->attempt != c->live)
		begin_attempt(c, row->attempt);
	if (row->step <= 0 || (uint64_t)row->step <= c->at) {
		c->rc = sw_err_set(c->err, SW_IO,
				   "the reports of trial %" PRId64 " are out of order", row->trial);
		return false;
	}
	if (c->point_n == SW_CURVES_MAX) {
		c->rc = sw_err_set(c->err, SW_TOO_BIG,
				   "sweep %" PRId64 " has over %d reports, too many to re-run",
				   c->sweep, SW_CURVES_MAX);
		return false;
	}
	if (!reserve_room(c, &c->point, c->point_n, &c->point_cap, sizeof *c->point))
		return false;
	c->point[c->point_n++] =
		(struct sw_simulate_point){.step = (uint64_t)row->step,
					   .value = row->has_value ? row->value : (double)NAN,
					   .has_value = row->has_value || row->diverged,
					   .final = sw_names_is_final(row->verdict),
					   .result = sw_names_is_result(row->verdict)};
	c->run += (uint64_t)row->step - c->at;
	c->at = (uint64_t)row->step;
	c->ruled = strcmp(row->verdict, "stop") == 0;
	return true;
}

/* Would a trial that was completed at max_t have ended there anyway? A trainer runs exactly so many
 * epochs. */
static bool ends_by_itself(const struct sw_curves *c)
{
	const struct sw_spec *spec = c->spec;
	uint64_t epochs = 0;

	return spec->trainer != NULL &&
	       (!sw_json_u64(sw_json_get(spec->trainer, "epochs"), &epochs) || epochs <= c->at);
}

static enum sw_simulate_end end_of(const struct sw_curves *c, const struct sw_row_trial *row)
{
	if (strcmp(row->state, "COMPLETED") == 0)
		return c->ruled && !ends_by_itself(c) ? SW_SIMULATE_CUT : SW_SIMULATE_COMPLETED;
	if (strcmp(row->state, "FAILED") == 0 || strcmp(row->state, "INFEASIBLE") == 0)
		return SW_SIMULATE_FAILED;
	return row->attempt > 0 ? SW_SIMULATE_CUT : SW_SIMULATE_ABSENT;
}

/* A trial that took no time that could be measured is as quick as those before it. */
static double set_pace(struct sw_curves *c)
{
	if (c->run > 0 && c->ran_ms > 0) {
		const double s = (double)c->ran_ms / 1000.0 / (double)c->run;

		c->mean_run += c->run;
		c->mean_s += (s - c->mean_s) * (double)c->run / (double)c->mean_run;
		return s;
	}
	return c->mean_s > 0 ? c->mean_s : 0.001;
}

static bool take_trial(const struct sw_row_trial *row, void *arg)
{
	struct sw_curves *c = arg;

	/* Trials are dense from 1, and the array is by number. */
	if (row->trial != (int64_t)c->n + 1) {
		c->rc = sw_err_set(c->err, SW_IO, "trial %zu is not stored", c->n + 1);
		return false;
	}
	if (!reserve_room(c, &c->curve, c->n, &c->cap, sizeof *c->curve))
		return false;
	/* One array of points for all trials: millions of them, and no allocation each. */
	c->curve[c->n] = (struct sw_simulate_curve){.first = c->point_n};
	c->attempt_n = 0;
	c->live = 0;
	c->run = 0;
	c->ran_ms = 0;
	c->ruled = false;
	sw_status rc = sw_read_attempts(c->db, c->sweep, row->trial, take_attempt, c, c->err);
	if (rc == SW_OK && c->rc == SW_OK)
		rc = sw_read_reports(c->db, c->sweep, row->trial, 0, 0, -1, take_report, c, c->err);
	if (c->rc == SW_OK)
		c->rc = rc;
	if (c->rc != SW_OK)
		return false;
	struct sw_simulate_curve *curve = &c->curve[c->n++];
	curve->n = c->point_n - curve->first;
	curve->end = end_of(c, row);
	curve->step_s = set_pace(c);
	/* The transaction of this read ends with the part: others read, and the log can be cut. */
	c->more = c->n % PART_TRIALS == 0 || c->point_n - c->part >= PART_POINTS;
	return !c->more;
}

static bool take_sweep(const struct sw_row_sweep *row, void *arg)
{
	struct sw_curves *c = arg;

	c->seed = (uint64_t)row->seed;
	c->rc = sw_spec_parse(&c->spec, row->spec, strlen(row->spec), c->err);
	if (c->rc == SW_OK && c->spec->has_seed)
		c->seed = c->spec->seed;
	return false;
}

static sw_status check_spec(const struct sw_curves *c, int64_t sweep, struct sw_err *err)
{
	assert(c->spec != NULL);
	if (c->spec->n_metrics == 0)
		return sw_err_set(err, SW_CONFLICT,
				  "sweep %" PRId64 " names no metric, and a pruner goes by one",
				  sweep);
	if (c->spec->n_metrics > 1)
		return sw_err_set(err, SW_CONFLICT,
				  "sweep %" PRId64 " has %zu metrics, and a pruner goes by one",
				  sweep, c->spec->n_metrics);
	if (c->spec->pruner.kind == SW_PRUNER_PBT)
		return sw_err_set(err, SW_CONFLICT,
				  "sweep %" PRId64 " was a population (pbt): its trials go on from "
				  "one another, which another pruner would not have let them",
				  sweep);
	return SW_OK;
}

/* An end before a beginning at the same moment: a lane that is free again is taken at once. */
static int by_time(const void *a, const void *b)
{
	const struct sw_curves_moment *x = a, *y = b;

	if (x->ms != y->ms)
		return x->ms < y->ms ? -1 : 1;
	return x->change - y->change;
}

static void count_lanes(struct sw_curves *c)
{
	int64_t now = 0;

	c->lanes = 1;
	/* No trial ever ran: one lane, and no time. */
	if (c->moment_n == 0)
		return;
	qsort(c->moment, c->moment_n, sizeof *c->moment, by_time);
	for (size_t i = 0; i < c->moment_n; i++) {
		now += c->moment[i].change;
		if (now > 0 && (uint64_t)now > c->lanes)
			c->lanes = (uint64_t)now;
	}
	c->recorded_wall_s = (double)(c->moment[c->moment_n - 1].ms - c->moment[0].ms) / 1000.0;
}

static void begin_curves(struct sw_curves *c)
{
	const sw_status rc = sw_read_sweeps(c->db, c->sweep, take_sweep, c, c->err);

	if (c->rc == SW_OK)
		c->rc = rc;
	if (c->rc == SW_OK && c->spec == NULL)
		c->rc = sw_err_set(c->err, SW_NOT_FOUND, "no sweep %" PRId64, c->sweep);
	if (c->rc == SW_OK)
		c->rc = check_spec(c, c->sweep, c->err);
}

sw_status sw_curves_part(struct sw_curves *c, struct sw_db *db, int64_t sweep, bool *more,
			 struct sw_err *err)
{
	*more = false;
	c->db = db;
	c->sweep = sweep;
	c->err = err;
	if (c->spec == NULL)
		begin_curves(c);
	if (c->rc != SW_OK)
		return c->rc;
	c->part = c->point_n;
	c->more = false;
	const sw_status rc = sw_read_trials(db, sweep, NULL, (int64_t)c->n, -1, take_trial, c, err);
	if (c->rc == SW_OK)
		c->rc = rc;
	*more = c->rc == SW_OK && c->more;
	if (c->rc == SW_OK && !c->more && c->moment_n == 0)
		c->rc = sw_err_set(err, SW_CONFLICT, "no trial of sweep %" PRId64 " ever ran",
				   sweep);
	if (c->rc == SW_OK && !c->more)
		count_lanes(c);
	return c->rc;
}

void sw_curves_fini(struct sw_curves *c)
{
	sw_spec_destroy(c->spec);
	free(c->curve);
	free(c->point);
	free(c->moment);
	free(c->attempt);
	*c = (struct sw_curves){.n = 0};
}
