#include "daemon/api/front.h"
#include "base/memory.h"
#include "daemon/api/trial_json.h"
#include "daemon/plan/metrics.h"
#include "sched/sampler/pareto.h"
#include "store/read.h"
#include <stdlib.h>
#include <string.h>

_Static_assert(SW_SPEC_MAX_METRICS == SW_METRICS_MAX, "a spec's metrics fit into a history");

static bool take_spec(const struct sw_row_sweep *row, void *arg)
{
	struct sw_front *f = arg;
	cJSON *tree = NULL;

	f->rc = sw_json_parse(&tree, row->spec, strlen(row->spec), &f->err);
	/* A sweep of one metric has no front, and no spec is read for it. */
	if (f->rc == SW_OK && sw_json_get(tree, "metrics") != NULL)
		f->rc = sw_spec_read(&f->spec, tree, &f->err);
	cJSON_Delete(tree);
	return false;
}

static double turn_metric(const struct sw_front *f, size_t metric, double v)
{
	return f->spec->metrics[metric].maximize ? -v : v;
}

static bool take_row(const struct sw_row_point *row, void *arg)
{
	struct sw_front *f = arg;
	const size_t m = f->spec->n_metrics;
	size_t trial_cap = f->cap;

	if (row->json == NULL)
		return true; /* it stands for no metrics */
	if (!sw_array_reserve(&f->trial, &trial_cap, f->n + 1, sizeof *f->trial) ||
	    !sw_array_reserve(&f->y, &f->cap, f->n + 1, m * sizeof *f->y))
		f->rc = SW_NOMEM;
	else
		f->rc = sw_metrics_stored(row->json, f->spec, f->y + f->n * m, &f->err);
	if (f->rc != SW_OK)
		return false;
	for (size_t k = 0; k < m; k++)
		f->y[f->n * m + k] = turn_metric(f, k, f->y[f->n * m + k]);
	f->trial[f->n++] = row->trial;
	return true;
}

/* Measures the rows of the front. */
static sw_status measure_front(struct sw_front *f)
{
	const size_t m = f->spec->n_metrics;
	double reference[SW_METRICS_MAX];
	double *const y = sw_malloc(f->front_n * m * sizeof *y);

	if (y == NULL)
		return SW_NOMEM;
	for (size_t i = 0; i < f->front_n; i++)
		memcpy(y + i * m, f->y + f->row[i] * m, m * sizeof *y);
	sw_pareto_reference(y, f->front_n, m, reference);
	for (size_t k = 0; k < m; k++) {
		const struct sw_spec_metric *metric = &f->spec->metrics[k];

		if (metric->has_reference)
			reference[k] = turn_metric(f, k, metric->reference);
		f->reference[k] = turn_metric(f, k, reference[k]);
	}
	/* If it cannot be computed, the front is shown without it. */
	const sw_status rc = sw_hypervolume(y, f->front_n, m, reference, &f->volume);

	f->has_volume = rc == SW_OK;
	free(y);
	return rc == SW_NOMEM ? rc : SW_OK;
}

static sw_status find_front(struct sw_front *f)
{
	f->row = sw_malloc(f->n * sizeof *f->row);
	if (f->row == NULL)
		return SW_NOMEM;
	const sw_status rc = sw_pareto_front(f->y, f->n, f->spec->n_metrics, f->row, &f->front_n);

	return rc == SW_OK && !f->no_volume ? measure_front(f) : rc;
}

/* The spec is there, or it is one metric's. */
static sw_status read_rows(struct sw_front *f, struct sw_db *db, int64_t sweep, sw_status rc,
			   struct sw_err *err)
{
	if (rc == SW_OK)
		rc = f->rc;
	if (rc == SW_OK && f->spec != NULL) {
		rc = sw_read_points(db, sweep, SW_POINTS_METRICS, take_row, f, &f->err);
		if (rc == SW_OK)
			rc = f->rc;
		if (rc == SW_OK && f->n > 0)
			rc = find_front(f);
	}
	/* f->err has a line only where a row was at fault. */
	return rc == SW_OK ? rc
			   : sw_err_set(err, rc, "%s",
					f->err.msg[0] != '\0' ? f->err.msg : sw_status_str(rc));
}

sw_status sw_front_read(struct sw_front *f, struct sw_db *db, int64_t sweep, struct sw_err *err)
{
	return read_rows(f, db, sweep, sw_read_sweeps(db, sweep, take_spec, f, &f->err), err);
}

sw_status sw_front_read_row(struct sw_front *f, struct sw_db *db, const struct sw_row_sweep *row,
			    struct sw_err *err)
{
	(void)take_spec(row, f);
	return read_rows(f, db, row->sweep, SW_OK, err);
}

void sw_front_fini(struct sw_front *f)
{
	sw_spec_destroy(f->spec);
	free(f->trial);
	free(f->y);
	free(f->row);
	*f = (struct sw_front){.n = 0};
}

void sw_front_write(const struct sw_front *f, struct sw_jw *w)
{
	sw_jw_key(w, "pareto");
	/* One metric: it has a best trial instead. */
	if (f->spec == NULL) {
		sw_jw_null(w);
		return;
	}
	sw_jw_obj(w);
	sw_jw_kint(w, "trials", (int64_t)f->front_n);
	sw_jw_knum_opt(w, "hypervolume", f->has_volume, f->volume);
	sw_jw_kobj(w, "reference");
	for (size_t k = 0; k < f->spec->n_metrics; k++) {
		sw_jw_knum_opt(w, f->spec->metrics[k].name, f->front_n > 0, f->reference[k]);
	}
	sw_jw_obj_end(w);
	sw_jw_obj_end(w);
}

/* --- the trials themselves --- */

struct writing {
	struct sw_db *db;
	const struct sw_row_report *report; /* that counts */
	int64_t now_ms;
	struct sw_jw *w;
	sw_status rc;
	struct sw_err *err;
};

static bool write_trial(const struct sw_row_trial *row, void *arg)
{
	const struct writing *at = arg;
	struct sw_row_trial shown = *row;

	/* The values that the front was made of. */
	shown.step = at->report->step;
	shown.metrics = at->report->metrics;
	shown.value = at->report->value;
	sw_trial_json_obj(at->w, &shown, at->now_ms);
	return true;
}

static bool write_row(const struct sw_row_report *row, void *arg)
{
	struct writing *at = arg;

	at->report = row;
	at->rc = sw_read_trial(at->db, row->sweep, row->trial, write_trial, at, at->err);
	return false;
}

sw_status sw_front_trials(const struct sw_front *f, struct sw_db *db, int64_t sweep, size_t n,
			  int64_t now_ms, struct sw_jw *w, struct sw_err *err)
{
	struct writing at = {.db = db, .now_ms = now_ms, .w = w, .err = err};
	sw_status rc = SW_OK;

	for (size_t i = 0; rc == SW_OK && i < f->front_n && i < n; i++) {
		const int64_t trial = f->trial[f->row[i]];

		rc = sw_read_standing(db, sweep, trial, write_row, &at, err);
		if (rc == SW_OK)
			rc = at.rc;
	}
	return rc;
}
