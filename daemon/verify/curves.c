#include "daemon/verify/curves.h"
#include "base/memory.h"
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

/* A moment at which an attempt began (+1) or ended (-1). */
struct moment {
	int64_t ms;
	int change;
};

struct attempt {
	int64_t attempt, resume_step, ms;
};

struct sw_curves_reading {
	struct sw_curves *c;
	struct sw_db *db;
	int64_t sweep;
	struct moment *moment; /* [moment_n] */
	size_t moment_n, moment_cap;

	/* Of the trial being read. */
	struct attempt *attempt; /* [attempt_n] */
	size_t attempt_n, attempt_cap;
	int64_t live;      /* the attempt whose reports come; 0: none yet */
	uint64_t at, run;  /* its last step; steps that all attempts ran */
	int64_t ran_ms;    /* of the attempts that reported */
	bool ruled;        /* the last report was answered "stop" */
	double mean_s;     /* seconds a step, of the trials so far */
	uint64_t mean_run; /* steps behind it */
	size_t part;       /* points before this part */
	bool more;         /* it ended before the last trial */

	sw_status rc;
	struct sw_err *err;
};

static bool reserve_room(struct sw_curves_reading *r, void *array, size_t n, size_t *cap,
			 size_t size)
{
	if (sw_array_reserve(array, cap, n + 1, size))
		return true;
	r->rc = sw_err_set(r->err, SW_NOMEM, "out of memory");
	return false;
}

static bool add_moment(struct sw_curves_reading *r, int64_t ms, int change)
{
	if (!reserve_room(r, &r->moment, r->moment_n, &r->moment_cap, sizeof *r->moment))
		return false;
	r->moment[r->moment_n++] = (struct moment){.ms = ms, .change = change};
	return true;
}

static bool take_attempt(const struct sw_row_attempt *row, void *arg)
{
	struct sw_curves_reading *r = arg;
	const int64_t end_ms = row->ended_ms > row->started_ms ? row->ended_ms : row->started_ms;

	if (!reserve_room(r, &r->attempt, r->attempt_n, &r->attempt_cap, sizeof *r->attempt))
		return false;
	r->attempt[r->attempt_n++] = (struct attempt){.attempt = row->attempt,
						      .resume_step = row->resume_step,
						      .ms = end_ms - row->started_ms};
	return add_moment(r, row->started_ms, 1) && add_moment(r, end_ms, -1);
}

/* The reports of an attempt begin: what earlier ones said past the step that it went on from was
 * lost with them. */
static void begin_attempt(struct sw_curves_reading *r, int64_t attempt)
{
	struct sw_simulate_curve *curve = &r->c->curve[r->c->n];

	r->live = attempt;
	r->at = 0;
	for (size_t i = 0; i < r->attempt_n; i++) {
		/* Each attempt has its own row, in no order that counts here. */
		if (r->attempt[i].attempt != attempt)
			continue;
		r->at = (uint64_t)r->attempt[i].resume_step;
		r->ran_ms += r->attempt[i].ms;
	}
	while (r->c->point_n > curve->first && r->c->point[r->c->point_n - 1].step > r->at)
		r->c->point_n--;
}

static bool take_report(const struct sw_row_report *row, void *arg)
{
	struct sw_curves_reading *r = arg;
	struct sw_curves *c = r->c;

	if (row->attempt != r->live)
		begin_attempt(r, row->attempt);
	if (row->step <= 0 || (uint64_t)row->step <= r->at) {
		r->rc = sw_err_set(r->err, SW_IO,
				   "the reports of trial %" PRId64 " are out of order", row->trial);
		return false;
	}
	if (c->point_n == SW_CURVES_MAX) {
		r->rc = sw_err_set(r->err, SW_TOO_BIG,
				   "sweep %" PRId64 " has over %d reports, too many to re-run",
				   r->sweep, SW_CURVES_MAX);
		return false;
	}
	if (!reserve_room(r, &c->point, c->point_n, &c->point_cap, sizeof *c->point))
		return false;
	c->point[c->point_n++] =
		(struct sw_simulate_point){.step = (uint64_t)row->step,
					   .value = row->diverged ? (double)NAN : row->value,
					   .has_value = row->has_value || row->diverged,
					   .final = strcmp(row->verdict, "end") == 0};
	r->run += (uint64_t)row->step - r->at;
	r->at = (uint64_t)row->step;
	r->ruled = strcmp(row->verdict, "stop") == 0;
	return true;
}

/* Would a trial that was completed at max_t have ended there anyway? A trainer runs so many epochs
 * and no more. */
static bool ends_by_itself(const struct sw_curves_reading *r)
{
	const struct sw_spec *spec = r->c->spec;
	uint64_t epochs = 0;

	return spec->trainer != NULL &&
	       (!sw_json_u64(sw_json_get(spec->trainer, "epochs"), &epochs) || epochs <= r->at);
}

static enum sw_simulate_end end_of(const struct sw_curves_reading *r,
				   const struct sw_row_trial *row)
{
	if (strcmp(row->state, "COMPLETED") == 0)
		return r->ruled && !ends_by_itself(r) ? SW_SIMULATE_CUT : SW_SIMULATE_COMPLETED;
	if (strcmp(row->state, "FAILED") == 0 || strcmp(row->state, "INFEASIBLE") == 0)
		return SW_SIMULATE_FAILED;
	return row->attempt > 0 ? SW_SIMULATE_CUT : SW_SIMULATE_ABSENT;
}

/* A trial that took no time that could be measured is as quick as those before it. */
static double set_pace(struct sw_curves_reading *r)
{
	if (r->run > 0 && r->ran_ms > 0) {
		const double s = (double)r->ran_ms / 1000.0 / (double)r->run;

		r->mean_run += r->run;
		r->mean_s += (s - r->mean_s) * (double)r->run / (double)r->mean_run;
		return s;
	}
	return r->mean_s > 0 ? r->mean_s : 0.001;
}

static bool take_trial(const struct sw_row_trial *row, void *arg)
{
	struct sw_curves_reading *r = arg;
	struct sw_curves *c = r->c;

	if (row->trial != (int64_t)c->n + 1) {
		r->rc = sw_err_set(r->err, SW_IO, "trial %zu is not stored", c->n + 1);
		return false;
	}
	if (!reserve_room(r, &c->curve, c->n, &c->cap, sizeof *c->curve))
		return false;
	c->curve[c->n] = (struct sw_simulate_curve){.first = c->point_n};
	r->attempt_n = 0;
	r->live = 0;
	r->run = 0;
	r->ran_ms = 0;
	r->ruled = false;
	sw_status rc = sw_read_attempts(r->db, r->sweep, row->trial, take_attempt, r, r->err);
	if (rc == SW_OK && r->rc == SW_OK)
		rc = sw_read_reports(r->db, r->sweep, row->trial, 0, 0, -1, take_report, r, r->err);
	if (r->rc == SW_OK)
		r->rc = rc;
	if (r->rc != SW_OK)
		return false;
	struct sw_simulate_curve *curve = &c->curve[c->n++];
	curve->n = c->point_n - curve->first;
	curve->end = end_of(r, row);
	curve->step_s = set_pace(r);
	r->more = c->n % PART_TRIALS == 0 || c->point_n - r->part >= PART_POINTS;
	return !r->more;
}

static bool take_sweep(const struct sw_row_sweep *row, void *arg)
{
	struct sw_curves_reading *r = arg;
	struct sw_curves *c = r->c;

	c->seed = (uint64_t)row->seed;
	r->rc = sw_spec_parse(&c->spec, row->spec, strlen(row->spec), r->err);
	if (r->rc == SW_OK && c->spec->has_seed)
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
	const struct moment *x = a, *y = b;

	if (x->ms != y->ms)
		return x->ms < y->ms ? -1 : 1;
	return x->change - y->change;
}

static void count_lanes(struct sw_curves_reading *r)
{
	struct sw_curves *c = r->c;
	int64_t now = 0;

	c->lanes = 1;
	/* No trial ever ran: one lane, and no time. */
	if (r->moment_n == 0)
		return;
	qsort(r->moment, r->moment_n, sizeof *r->moment, by_time);
	for (size_t i = 0; i < r->moment_n; i++) {
		now += r->moment[i].change;
		if (now > 0 && (uint64_t)now > c->lanes)
			c->lanes = (uint64_t)now;
	}
	c->recorded_wall_s = (double)(r->moment[r->moment_n - 1].ms - r->moment[0].ms) / 1000.0;
}

static sw_status begin_curves(struct sw_curves *c, struct sw_db *db, int64_t sweep,
			      struct sw_err *err)
{
	struct sw_curves_reading *r = sw_calloc(1, sizeof *r);

	if (r == NULL)
		return sw_err_set(err, SW_NOMEM, "out of memory");
	c->reading = r;
	*r = (struct sw_curves_reading){.c = c, .sweep = sweep, .err = err};
	const sw_status rc = sw_read_sweeps(db, sweep, take_sweep, r, err);
	if (r->rc == SW_OK)
		r->rc = rc;
	if (r->rc == SW_OK && c->spec == NULL)
		r->rc = sw_err_set(err, SW_NOT_FOUND, "no sweep %" PRId64, sweep);
	return r->rc == SW_OK ? check_spec(c, sweep, err) : r->rc;
}

sw_status sw_curves_part(struct sw_curves *c, struct sw_db *db, int64_t sweep, bool *more,
			 struct sw_err *err)
{
	sw_status rc = c->reading == NULL ? begin_curves(c, db, sweep, err) : SW_OK;
	struct sw_curves_reading *r = c->reading;

	*more = false;
	if (rc != SW_OK)
		return rc;
	assert(r != NULL);
	r->db = db;
	r->err = err;
	r->part = c->point_n;
	r->more = false;
	rc = sw_read_trials(db, sweep, NULL, (int64_t)c->n, -1, take_trial, r, err);
	if (r->rc == SW_OK)
		r->rc = rc;
	*more = r->rc == SW_OK && r->more;
	if (r->rc == SW_OK && !r->more && r->moment_n == 0)
		r->rc = sw_err_set(err, SW_CONFLICT, "no trial of sweep %" PRId64 " ever ran",
				   sweep);
	if (r->rc == SW_OK && !r->more)
		count_lanes(r);
	return r->rc;
}

void sw_curves_fini(struct sw_curves *c)
{
	if (c->reading != NULL) {
		free(c->reading->moment);
		free(c->reading->attempt);
		free(c->reading);
	}
	sw_spec_destroy(c->spec);
	free(c->curve);
	free(c->point);
	*c = (struct sw_curves){.n = 0};
}
