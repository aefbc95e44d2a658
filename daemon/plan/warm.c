#include "daemon/plan/warm.h"
#include "base/memory.h"
#include "daemon/plan/metrics.h"
#include "proto/json.h"
#include "store/read.h"
#include "store/store.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reading {
	struct sw_warm *w;
	const struct sw_spec *spec;
	struct sw_space *space;
	int64_t sweep;
	char ptr[40];        /* "/warm_start/<i>" */
	bool found, several; /* several: the old sweep has more than one metric */
	size_t taken;
	sw_status rc;
	struct sw_err *err;
};

/* The old sweep must have had every parameter that can vary here. */
static sw_status check_params(struct reading *r, const struct sw_spec *old)
{
	for (size_t i = 0; i < r->spec->n_params; i++) {
		const struct sw_spec_param *p = &r->spec->params[i];

		/* A constant here needs no counterpart: the old trials take its value. */
		if (p->value == NULL && sw_spec_param_find(old, p->name) < 0)
			return sw_err_at(r->err, SW_INVALID, r->ptr,
					 "sweep %lld has no parameter \"%s\"", (long long)r->sweep,
					 p->name);
	}
	return SW_OK;
}

/* The old sweep must have every metric of this one, with the same goal. */
static sw_status check_metrics(struct reading *r, const struct sw_spec *old)
{
	for (size_t k = 0; k < r->spec->n_metrics; k++) {
		const struct sw_spec_metric *want = &r->spec->metrics[k];
		size_t i = 0;

		while (i < old->n_metrics && (strcmp(old->metrics[i].name, want->name) != 0 ||
					      old->metrics[i].maximize != want->maximize))
			i++;
		if (i < old->n_metrics)
			continue;
		if (old->n_metrics == 1)
			return sw_err_at(r->err, SW_INVALID, r->ptr,
					 "sweep %lld has another metric: %s \"%s\"",
					 (long long)r->sweep,
					 old->maximize ? "maximize" : "minimize", old->metric);
		return sw_err_at(r->err, SW_INVALID, r->ptr, "sweep %lld has no metric %s \"%s\"",
				 (long long)r->sweep, want->maximize ? "maximize" : "minimize",
				 want->name);
	}
	r->several = old->n_metrics > 1;
	return SW_OK;
}

static bool take_sweep(const struct sw_row_sweep *row, void *arg)
{
	struct reading *r = arg;
	struct sw_spec *old;

	if (sw_row_is_gone(row->gone))
		return false;
	r->found = true;
	r->rc = sw_spec_parse(&old, row->spec, strlen(row->spec), r->err);
	if (r->rc == SW_OK)
		r->rc = check_metrics(r, old);
	if (r->rc == SW_OK)
		r->rc = check_params(r, old);
	sw_spec_destroy(old);
	return false;
}

/* Takes out of the object what the new sweep does not know. A group's parameters have names that
 * begin with its own. */
static void drop_unknown(const struct sw_spec *spec, cJSON *object, const char *prefix)
{
	cJSON *v = object->child, *next;

	for (; v != NULL; v = next) {
		char name[256];
		const int n = snprintf(name, sizeof name, "%s%s", prefix, v->string);

		next = v->next;
		/* Longer than any name in a spec: sw_plan_read() refuses it. */
		if (n < 0 || (size_t)n + 1 >= sizeof name)
			continue;
		if (sw_spec_param_find(spec, name) >= 0)
			continue;
		if (cJSON_IsObject(v)) {
			name[n] = '.';
			name[n + 1] = '\0';
			drop_unknown(spec, v, name);
			/* Some of the group is known. A group that is empty now goes. */
			if (v->child != NULL)
				continue;
		}
		cJSON_Delete(cJSON_DetachItemViaPointer(object, v));
	}
}

static sw_status keep_trial(struct reading *r, int64_t trial, const struct sw_value *values,
			    const double *y)
{
	struct sw_warm *w = r->w;
	struct sw_buf text;

	if (!sw_array_reserve(&w->from, &w->cap, w->priors.n + 1, sizeof *w->from))
		return SW_NOMEM;
	sw_buf_init(&text, 1024 * 1024);
	sw_plan_params(r->spec, r->space, values, &text);
	char *params = sw_buf_take(&text, NULL);
	if (params == NULL)
		return SW_NOMEM;
	if (sw_plan_priors_add(&w->priors, r->space, values, y, r->spec->n_metrics) != SW_OK) {
		free(params);
		return SW_NOMEM;
	}
	w->from[w->priors.n - 1] =
		(struct sw_warm_from){.sweep = r->sweep, .trial = trial, .params = params};
	r->taken++;
	return SW_OK;
}

/* A trial whose last report lacks the metrics, or diverged, teaches nothing. */
static bool read_y(const struct reading *r, const struct sw_row_trial *row, double *y)
{
	struct sw_err ignored = SW_ERR_INIT;
	bool finite = true;

	/* One metric: its last value is a column of its own. */
	if (!r->several) {
		y[0] = row->value;
		return true;
	}
	if (sw_metrics_stored(row->metrics, r->spec, y, &ignored) != SW_OK)
		return false;
	for (size_t k = 0; k < r->spec->n_metrics; k++)
		finite = finite && isfinite(y[k]);
	return finite;
}

static bool take_trial(const struct sw_row_trial *row, void *arg)
{
	struct reading *r = arg;
	struct sw_value values[SW_SPACE_MAX_PARAMS];
	bool given[SW_SPACE_MAX_PARAMS];
	struct sw_err outside = SW_ERR_INIT;
	double y[SW_METRICS_MAX];
	cJSON *params = NULL;

	/* It teaches nothing, which is no error. */
	if (!row->has_value || !read_y(r, row, y))
		return true;
	/* As many as a sampler can use: the rest of the sweep is not read. */
	if (r->w->priors.n == SW_WARM_MAX)
		return false;
	r->rc = sw_json_parse(&params, row->params, strlen(row->params), r->err);
	if (r->rc == SW_OK)
		drop_unknown(r->spec, params, "");
	if (r->rc == SW_OK) {
		const sw_status rc =
			sw_plan_read(r->spec, r->space, params, values, given, &outside);

		if (rc == SW_OK &&
		    sw_plan_missing(r->space, values, given) == sw_space_size(r->space) &&
		    sw_space_feasible(r->space, values)) {
			sw_space_canonical(r->space, values);
			r->rc = keep_trial(r, row->trial, values, y);
		} else {
			/* Counted, not refused: a narrower space is what a second search is for.
			 * The answer warns of it. */
			r->w->outside++;
		}
	}
	cJSON_Delete(params);
	return r->rc == SW_OK;
}

static sw_status read_one(struct reading *r, struct sw_db *db)
{
	sw_status rc = sw_read_sweeps(db, r->sweep, take_sweep, r, r->err);

	if (rc == SW_OK)
		rc = r->rc;
	if (rc == SW_OK && !r->found)
		rc = sw_err_at(r->err, SW_NOT_FOUND, r->ptr, "no sweep %lld", (long long)r->sweep);
	if (rc == SW_OK)
		rc = sw_read_trials(db, r->sweep, "COMPLETED", 0, -1, take_trial, r, r->err);
	if (rc == SW_OK)
		rc = r->rc;
	if (rc == SW_NOMEM)
		return sw_err_set(r->err, SW_NOMEM, "out of memory");
	/* Nothing to learn from is refused, unless earlier sweeps filled the list. */
	if (rc == SW_OK && r->taken == 0 && r->w->priors.n < SW_WARM_MAX)
		rc = sw_err_at(r->err, SW_INVALID, r->ptr,
			       "sweep %lld has no completed trial that lies in this space",
			       (long long)r->sweep);
	return rc;
}

sw_status sw_warm_read(struct sw_warm *w, const struct sw_spec *spec, struct sw_db *db,
		       struct sw_err *err)
{
	struct reading r = {.w = w, .spec = spec, .err = err};
	sw_status rc = sw_plan_space(&r.space, spec, err);

	w->n_metrics = spec->n_metrics;
	for (size_t i = 0; rc == SW_OK && i < spec->n_warm_start; i++) {
		r.sweep = (int64_t)spec->warm_start[i];
		r.found = false;
		r.taken = 0;
		(void)snprintf(r.ptr, sizeof r.ptr, "/warm_start/%zu", i);
		rc = read_one(&r, db);
	}
	sw_space_destroy(r.space);
	return rc;
}

void sw_warm_store(const struct sw_warm *w, int64_t sweep, struct sw_tx *tx)
{
	for (size_t i = 0; i < w->priors.n; i++) {
		char y[32 * SW_METRICS_MAX];
		size_t n = 0;

		for (size_t k = 0; k < w->n_metrics; k++)
			n += (size_t)snprintf(y + n, sizeof y - n, "%s%.17g", k == 0 ? "[" : ",",
					      w->priors.y[i * w->n_metrics + k]);
		(void)snprintf(y + n, sizeof y - n, "]");
		const struct sw_row_prior row = {.sweep = sweep,
						 .n = (int64_t)i + 1,
						 .params = w->from[i].params,
						 .y = y,
						 .from_sweep = w->from[i].sweep,
						 .from_trial = w->from[i].trial};
		sw_tx_prior(tx, &row);
	}
}

void sw_warm_fini(struct sw_warm *w)
{
	for (size_t i = 0; i < w->priors.n; i++)
		free(w->from[i].params);
	free(w->from);
	sw_plan_priors_fini(&w->priors);
	*w = (struct sw_warm){.cap = 0};
}
