#include "daemon/api/why_near.h"
#include "base/memory.h"
#include "daemon/plan/plan.h"
#include "daemon/plan/warm.h"
#include "daemon/sweep/edit.h"
#include "sched/sampler/near.h"
#include "store/read.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROWS (SW_NEAR_TOLD + SW_WARM_MAX)

struct from {
	int64_t sweep, trial; /* sweep 0: this one */
};

/* A sweep whose results the sampler began with. */
struct earlier {
	int64_t sweep, results;
};

struct reading {
	struct sw_spec *spec;
	struct sw_space *space;
	size_t d;
	cJSON *stored;                  /* NULL: none */
	bool inside;                    /* the trial lies in the space */
	double at[SW_SPACE_MAX_PARAMS]; /* there */
	double *x;                      /* [n][d]: what is compared with it */
	uint64_t row[ROWS];             /* [n]: 1, 2, 3 ... */
	struct from from[ROWS];         /* [n] */
	size_t n;
	struct earlier earlier[SW_SPEC_MAX_WARM];
	size_t earlier_n;
	struct sw_suggestion near; /* of rows */
	int64_t refine, uid;       /* 0 and -1: none */
	int64_t again;             /* a trial that failed; 0: none */
	sw_status rc;
	struct sw_err *err;
};

/* --- the space --- */

static bool take_spec(const struct sw_row_sweep *row, void *arg)
{
	struct reading *r = arg;

	r->rc = sw_spec_parse(&r->spec, row->spec, strlen(row->spec), r->err);
	if (r->rc != SW_OK)
		return false;
	r->refine = (int64_t)sw_json_number(sw_json_get(r->spec->tree, "refine"), "of", 0);
	r->rc = sw_plan_space(&r->space, r->spec, r->err);
	return false;
}

/* As wide as the ranges have ever been: each trial lies in it. */
static sw_status edit_space(struct reading *r, const struct sw_edit *e)
{
	double min[SW_SPACE_MAX_PARAMS], max[SW_SPACE_MAX_PARAMS];
	struct sw_space *edited = NULL;

	/* It changed limits alone. */
	if (e->n_ranges == 0)
		return SW_OK;
	for (size_t i = 0; i < sw_space_size(r->space); i++) {
		min[i] = sw_space_param(r->space, i)->min;
		max[i] = sw_space_param(r->space, i)->max;
	}
	for (size_t i = 0; i < e->n_ranges; i++) {
		const size_t p = e->ranges[i].param;

		min[p] = fmin(min[p], e->ranges[i].min);
		max[p] = fmax(max[p], e->ranges[i].max);
	}
	const sw_status rc = sw_space_ranged(&edited, r->space, min, max, r->err);
	if (rc != SW_OK)
		return rc;
	sw_space_destroy(r->space);
	r->space = edited;
	return SW_OK;
}

static bool take_edit(const struct sw_row_event *row, void *arg)
{
	struct reading *r = arg;
	const char *text = row->cause != NULL ? row->cause : "";
	struct sw_edits edits;
	cJSON *tree = NULL;

	r->rc = sw_json_parse(&tree, text, strlen(text), r->err);
	if (r->rc == SW_OK)
		r->rc = sw_edits_read(&edits, r->spec, tree, r->err);
	if (r->rc == SW_OK)
		r->rc = edit_space(r, &edits.sched);
	cJSON_Delete(tree);
	return r->rc == SW_OK;
}

/* --- points --- */

/* False: it is no point of the space, or r->rc says why not. */
static bool encode_point(struct reading *r, const char *params, double *x)
{
	struct sw_err outside = SW_ERR_INIT;
	struct sw_value values[SW_SPACE_MAX_PARAMS];
	bool given[SW_SPACE_MAX_PARAMS];
	cJSON *tree = NULL;

	r->rc = sw_json_parse(&tree, params, strlen(params), r->err);
	if (r->rc != SW_OK)
		return false;
	const sw_status rc = sw_plan_read(r->spec, r->space, tree, values, given, &outside);
	cJSON_Delete(tree);
	if (rc == SW_NOMEM)
		r->rc = sw_err_set(r->err, rc, "out of memory");
	/* A point that lacks a parameter, as one of an earlier sweep may, has no distance to
	 * others. */
	if (rc != SW_OK || sw_plan_missing(r->space, values, given) != r->d)
		return false;
	sw_space_canonical(r->space, values);
	sw_space_encode(r->space, values, x);
	return true;
}

static void add_point(struct reading *r, const char *params, int64_t sweep, int64_t trial)
{
	if (r->n == ROWS || !encode_point(r, params, r->x + r->n * r->d))
		return;
	r->from[r->n] = (struct from){.sweep = sweep, .trial = trial};
	r->n++;
	r->row[r->n - 1] = r->n;
}

static bool take_before(const struct sw_row_trial *row, void *arg)
{
	struct reading *r = arg;

	add_point(r, row->params, 0, row->trial);
	return r->rc == SW_OK;
}

static bool take_prior(const struct sw_row_prior *row, void *arg)
{
	struct reading *r = arg;
	size_t i = 0;

	while (i < r->earlier_n && r->earlier[i].sweep != row->from_sweep)
		i++;
	if (i < SW_SPEC_MAX_WARM) {
		if (i == r->earlier_n)
			r->earlier[r->earlier_n++] = (struct earlier){.sweep = row->from_sweep};
		r->earlier[i].results++;
	}
	if (r->inside)
		add_point(r, row->params, row->from_sweep, row->from_trial);
	return r->rc == SW_OK;
}

/* --- what is read --- */

static bool take_own(const struct sw_row_suggestion *row, void *arg)
{
	struct reading *r = arg;

	r->inside = encode_point(r, row->params, r->at);
	if (r->rc == SW_OK && row->why != NULL)
		r->rc = sw_json_parse(&r->stored, row->why, strlen(row->why), r->err);
	return false;
}

static bool take_uid(const struct sw_row_event *row, void *arg)
{
	((struct reading *)arg)->uid = row->uid;
	((struct reading *)arg)->again = row->trial;
	return false;
}

static sw_status first_status(const struct reading *r, sw_status rc)
{
	return r->rc != SW_OK ? r->rc : rc;
}

static sw_status read_space(struct reading *r, struct sw_db *db, int64_t sweep)
{
	sw_status rc = first_status(r, sw_read_sweeps(db, sweep, take_spec, r, r->err));

	if (rc == SW_OK && r->space == NULL)
		return sw_err_set(r->err, SW_NOT_FOUND, "no sweep %lld", (long long)sweep);
	if (rc == SW_OK)
		rc = first_status(r, sw_read_edits(db, sweep, take_edit, r, r->err));
	if (rc != SW_OK)
		return rc;
	r->d = sw_space_size(r->space);
	r->x = sw_malloc(ROWS * (r->d != 0 ? r->d : 1) * sizeof *r->x);
	return r->x != NULL ? SW_OK : sw_err_set(r->err, SW_NOMEM, "out of memory");
}

static sw_status read_rows(struct reading *r, struct sw_db *db, int64_t sweep, int64_t trial)
{
	const int64_t most = (int64_t)SW_NEAR_TOLD, after = trial > most ? trial - 1 - most : 0;
	const cJSON *near = sw_json_get(r->stored, "nearest");
	sw_status rc = SW_OK;

	/* A sampler that learns has stored which were nearest. */
	if (r->inside && (near == NULL || near->child == NULL) && trial > 1)
		rc = first_status(r, sw_read_trials(db, sweep, NULL, after, trial - 1 - after,
						    take_before, r, r->err));
	if (rc == SW_OK && r->spec->n_warm_start > 0)
		rc = first_status(r, sw_read_priors(db, sweep, take_prior, r, r->err));
	return rc;
}

static void find_near(struct reading *r)
{
	bool category[SW_SPACE_MAX_PARAMS];

	for (size_t k = 0; k < r->d; k++)
		category[k] = sw_space_param(r->space, k)->dist == SW_DIST_CATEGORICAL;
	sw_near_rows(r->x, r->row, r->n, r->d, category, r->at, &r->near);
}

/* --- what is written --- */

static void write_near(const struct reading *r, size_t i, struct sw_jw *w)
{
	const struct from *from = &r->from[r->near.near[i] - 1];

	sw_jw_obj(w);
	if (from->sweep != 0)
		sw_jw_kint(w, "sweep", from->sweep);
	sw_jw_kint(w, "trial", from->trial);
	sw_jw_knum(w, "distance", r->near.near_distance[i]);
	sw_jw_obj_end(w);
}

/* The stored ones and those found, merged. */
static void write_nearest(const struct reading *r, struct sw_jw *w)
{
	const cJSON *near = sw_json_get(r->stored, "nearest"), *own = near ? near->child : NULL;
	size_t i = 0;

	sw_jw_karr(w, "nearest");
	for (size_t n = 0; n < SW_SUGGESTION_NEAR; n++) {
		const cJSON *far = sw_json_get(own, "distance");

		if (own != NULL && (i == r->near.near_n || !cJSON_IsNumber(far) ||
				    far->valuedouble <= r->near.near_distance[i])) {
			sw_jw_cjson(w, own);
			own = own->next;
		} else if (i < r->near.near_n) {
			write_near(r, i++, w);
		}
	}
	sw_jw_arr_end(w);
}

static void write_number(struct sw_jw *w, const char *key, int64_t v, int64_t none)
{
	sw_jw_kint_opt(w, key, v != none, v);
}

static void write_all(const struct reading *r, struct sw_jw *w)
{
	sw_jw_obj(w);
	sw_jw_key(w, "stored");
	sw_jw_cjson(w, r->stored);
	write_number(w, "refine", r->refine, 0);
	write_number(w, "uid", r->uid, -1);
	write_number(w, "again", r->again, 0);
	sw_jw_karr(w, "earlier");
	for (size_t i = 0; i < r->earlier_n; i++) {
		sw_jw_obj(w);
		sw_jw_kint(w, "sweep", r->earlier[i].sweep);
		sw_jw_kint(w, "results", r->earlier[i].results);
		sw_jw_obj_end(w);
	}
	sw_jw_arr_end(w);
	write_nearest(r, w);
	sw_jw_obj_end(w);
}

sw_status sw_why_near_read(struct sw_db *db, int64_t sweep, int64_t trial, int64_t enqueued,
			   struct sw_jw *w, struct sw_err *err)
{
	struct reading *const r = sw_calloc(1, sizeof *r);

	if (r == NULL)
		return sw_err_set(err, SW_NOMEM, "out of memory");
	r->err = err;
	r->uid = -1;
	sw_status rc = read_space(r, db, sweep);

	if (rc == SW_OK)
		rc = first_status(r, sw_read_suggestion(db, sweep, trial, take_own, r, err));
	if (rc == SW_OK && enqueued > 0)
		rc = sw_read_enqueued(db, sweep, enqueued, take_uid, r, err);
	if (rc == SW_OK)
		rc = read_rows(r, db, sweep, trial);
	if (rc == SW_OK) {
		find_near(r);
		write_all(r, w);
	}
	cJSON_Delete(r->stored);
	sw_space_destroy(r->space);
	sw_spec_destroy(r->spec);
	free(r->x);
	free(r);
	return rc;
}
