#include "daemon/api/plot_rows.h"
#include "base/memory.h"
#include "daemon/api/plot_params.h"
#include "daemon/api/plot_rank.h"
#include "daemon/api/trial_filter.h"
#include "daemon/plan/metrics.h"
#include "daemon/plan/plan.h"
#include "plot/kinds.h"
#include "sched/pruner/pruners.h"
#include "sched/sweep/trial.h"
#include "store/read.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool no_memory(struct sw_plot_rows *r)
{
	r->rc = sw_err_set(&r->err, SW_NOMEM, "out of memory");
	return false;
}

/* A read ended; what a row's own callback found wrong counts before that. Whether all is well. */
static bool is_read(struct sw_plot_rows *r, sw_status rc)
{
	if (r->rc == SW_OK)
		r->rc = rc;
	return r->rc == SW_OK;
}

/* --- the sweep --- */

static bool take_sweep(const struct sw_row_sweep *row, void *arg)
{
	struct sw_plot_rows *r = arg;

	if (sw_row_is_gone(row->gone))
		return false; /* and there is no spec: not found */
	r->rc = sw_spec_parse(&r->spec, row->spec, strlen(row->spec), &r->err);
	r->name = sw_strdup(row->name != NULL ? row->name : "");
	if (r->rc == SW_OK && r->name == NULL)
		(void)no_memory(r);
	r->data.sweep = row->sweep;
	r->data.maximize = row->maximize;
	return false;
}

/* The steps at which trials are compared: those of the pruner that the spec makes. */
static void find_rungs(struct sw_plot_rows *r)
{
	const struct sw_pruner_config config = sw_plan_pruner(&r->spec->pruner, r->spec->maximize);
	const uint64_t max_t = sw_spec_max_t(r->spec);
	struct sw_pruner *p = NULL;

	r->data.max_t = max_t > 0 ? (double)max_t : NAN;
	r->rc = sw_pruners_create(&p, &config, 0, &r->err);
	if (r->rc != SW_OK)
		return;
	const size_t n = sw_pruner_rung_n(p, 0);
	r->rungs = sw_malloc((n + 1) * sizeof *r->rungs);
	if (r->rungs == NULL)
		(void)no_memory(r);
	for (size_t k = 0; r->rungs != NULL && k < n; k++)
		r->rungs[r->data.n_rungs++] = (double)sw_pruner_rung_step(p, 0, k);
	sw_pruner_destroy(p);
}

static void describe_sweep(struct sw_plot_rows *r)
{
	const struct sw_spec *s = r->spec;

	r->data.name = r->name;
	r->data.metric = s->metric;
	r->data.n_metrics = s->n_metrics;
	r->data.learned = strcmp(s->method, "random") != 0 && strcmp(s->method, "grid") != 0 &&
			  strcmp(s->method, "sobol") != 0;
	for (size_t k = 0; k < s->n_metrics; k++) {
		r->metric_names[k] = s->metrics[k].name;
		r->metric_maximize[k] = s->metrics[k].maximize;
	}
	find_rungs(r);
	if (r->rc == SW_OK)
		r->rc = sw_plot_params_describe(s, &r->params, &r->err);
}

/* --- its trials --- */

static enum sw_plot_state state_of(const char *name)
{
	enum sw_trial_state s;

	/* A damaged row's is open for ever. */
	if (sw_trial_state_find(name, &s) != SW_OK || !sw_trial_ended(s))
		return SW_PLOT_STATE_OPEN;
	if (s == SW_TRIAL_COMPLETED)
		return SW_PLOT_STATE_COMPLETED;
	return s == SW_TRIAL_PRUNED ? SW_PLOT_STATE_PRUNED : SW_PLOT_STATE_FAILED;
}

static bool take_chosen(int64_t trial, void *arg)
{
	struct sw_plot_rows *r = arg;

	if (!sw_array_reserve(&r->chosen, &r->chosen_cap, r->n_chosen + 1, sizeof *r->chosen))
		return no_memory(r);
	r->chosen[r->n_chosen++] = trial;
	return true;
}

/* Which trials the filter's text takes. */
static void choose(struct sw_plot_rows *r, struct sw_db *db, const char *text)
{
	struct sw_filter filter;

	r->rc = sw_trial_filter(&filter, r->spec, text, NULL, &r->err);
	/* Not NULL, also where it takes none. */
	if (r->rc == SW_OK && !sw_array_reserve(&r->chosen, &r->chosen_cap, 1, sizeof *r->chosen))
		(void)no_memory(r);
	if (r->rc == SW_OK)
		(void)is_read(
			r, sw_read_matching(db, r->data.sweep, &filter, take_chosen, r, &r->err));
	sw_filter_fini(&filter);
}

/* Trials come by number, as those that were chosen. */
static bool is_chosen(struct sw_plot_rows *r, int64_t trial)
{
	while (r->chosen_at < r->n_chosen && r->chosen[r->chosen_at] < trial)
		r->chosen_at++;
	return r->chosen_at < r->n_chosen && r->chosen[r->chosen_at] == trial;
}

static bool take_point(const struct sw_row_point *row, void *arg)
{
	struct sw_plot_rows *r = arg;
	const size_t i = r->data.n;

	r->data.all++;
	if ((*r->state != '\0' && strcmp(r->state, row->state) != 0) ||
	    (r->chosen != NULL && !is_chosen(r, row->trial)))
		return true;
	if (!sw_array_reserve(&r->trials, &r->trials_cap, i + 1, sizeof *r->trials) ||
	    (r->width > 0 &&
	     !sw_array_reserve(&r->values, &r->values_cap, i + 1, r->width * sizeof *r->values)))
		return no_memory(r);
	r->trials[i] = (struct sw_plot_trial){
		.trial = row->trial,
		.state = state_of(row->state),
		.value = row->has_best_value ? row->best_value : NAN,
		.step = (double)row->step,
		.mean = NAN,
		.sd = NAN,
	};
	if (r->with == SW_POINTS_PARAMS)
		sw_plot_params_read(r->spec, r->params, row->json, r->values + i * r->width);
	else if (r->with == SW_POINTS_METRICS && row->json != NULL)
		r->rc = sw_metrics_stored(row->json, r->spec, r->values + i * r->width, &r->err);
	else if (r->with == SW_POINTS_METRICS)
		r->values[i * r->width] = NAN; /* it has none */
	r->data.n++;
	return r->rc == SW_OK;
}

/* The trials stand still now. */
static void join_trials(struct sw_plot_rows *r)
{
	struct sw_plot_data *d = &r->data;

	d->trials = r->trials;
	d->params = r->params;
	d->n_params = r->spec->n_params;
	d->metric_names = r->metric_names;
	d->metric_maximize = r->metric_maximize;
	d->rungs = r->rungs;
	for (size_t i = 0; i < d->n && r->width > 0; i++) {
		const double *values = r->values + i * r->width;
		if (r->with == SW_POINTS_PARAMS)
			r->trials[i].params = values;
		else if (!isnan(values[0]))
			r->trials[i].metrics = values;
	}
	if (r->with == SW_POINTS_PARAMS)
		sw_plot_params_vary(r->params, d);
}

/* Is r->at the place of this trial, or does the trial not count? Rows of other tables
 * come by trial, as the trials stand. */
static bool is_among(struct sw_plot_rows *r, int64_t trial)
{
	while (r->at < r->data.n && r->trials[r->at].trial < trial)
		r->at++;
	return r->at < r->data.n && r->trials[r->at].trial == trial;
}

/* --- what was expected --- */

static bool take_expected(const struct sw_row_suggestion *row, void *arg)
{
	struct sw_plot_rows *r = arg;

	if (is_among(r, row->trial)) {
		r->trials[r->at].mean = row->mean;
		r->trials[r->at].sd = row->sd;
	}
	return true;
}

/* --- curves --- */

static bool take_report(const struct sw_row_report *row, void *arg)
{
	struct sw_plot_rows *r = arg;

	if (!sw_array_reserve(&r->reports, &r->reports_cap, r->data.n_reports + 1,
			      sizeof *r->reports))
		return no_memory(r);
	r->reports[r->data.n_reports++] = (struct sw_plot_report){
		.trial = row->trial, .step = (double)row->step, .value = row->value};
	return true;
}

static int by_index(const void *a, const void *b)
{
	const size_t x = *(const size_t *)a, y = *(const size_t *)b;

	return (x > y) - (x < y);
}

static void read_curves(struct sw_plot_rows *r, struct sw_db *db)
{
	size_t chosen[SW_PLOT_CURVES];
	const size_t n = sw_plot_chosen(&r->data, chosen);

	qsort(chosen, n, sizeof *chosen, by_index); /* reports go by trial */
	for (size_t i = 0; i < n && r->rc == SW_OK; i++)
		(void)is_read(r, sw_read_curve(db, r->data.sweep, r->trials[chosen[i]].trial,
					       SW_PLOT_CURVE_MAX, take_report, r, &r->err));
	r->data.reports = r->reports;
}

/* --- runs --- */

/* Attempts come by trial, as the trials stand. The end of one whose trial went on elsewhere is no
 * trial's: it is open, with its cause. */
static bool take_run(const struct sw_row_attempt *row, void *arg)
{
	struct sw_plot_rows *r = arg;
	const size_t i = r->data.n_runs;

	if (!is_among(r, row->trial) || row->slot > 100000)
		return true;
	if (!sw_array_reserve(&r->runs, &r->runs_cap, i + 1, sizeof *r->runs))
		return no_memory(r);
	const bool has_cause = row->cause != NULL && row->cause[0] != '\0';
	const char *cause = has_cause ? sw_strdup(row->cause) : "";
	if (cause == NULL)
		return no_memory(r);
	r->runs[i] = (struct sw_plot_run){
		.trial = row->trial,
		.slot = (size_t)row->slot,
		.started_ms = (double)row->started_ms,
		.ended_ms = row->ended_ms != 0 ? (double)row->ended_ms : NAN,
		.state = state_of(row->state),
		.cause = cause,
	};
	if (r->runs[i].slot >= r->n_slots)
		r->n_slots = r->runs[i].slot + 1;
	r->data.n_runs++;
	return true;
}

/* --- what other sweeps had of the slots meanwhile --- */

static bool take_beside(const struct sw_row_sweep *row, void *arg)
{
	struct sw_plot_rows *r = arg;

	if (row->sweep == r->data.sweep || sw_row_is_gone(row->gone) ||
	    (double)row->created_ms > r->to_ms ||
	    (row->ended_ms != 0 && (double)row->ended_ms < r->from_ms))
		return true;
	if (!sw_array_reserve(&r->beside, &r->beside_cap, r->n_beside + 1, sizeof *r->beside))
		return no_memory(r);
	r->beside[r->n_beside++] = row->sweep;
	return true;
}

/* The part of it that lies in this sweep's time, on a slot that this sweep had. */
static bool take_other(const struct sw_row_attempt *row, void *arg)
{
	struct sw_plot_rows *r = arg;
	const double from = fmax((double)row->started_ms, r->from_ms);
	const double to = row->ended_ms != 0 ? fmin((double)row->ended_ms, r->to_ms) : r->to_ms;

	if (from >= to || row->slot >= (int64_t)r->n_slots)
		return true;
	if (!sw_array_reserve(&r->runs, &r->runs_cap, r->data.n_runs + 1, sizeof *r->runs))
		return no_memory(r);
	r->runs[r->data.n_runs++] = (struct sw_plot_run){.slot = (size_t)row->slot,
							 .started_ms = from,
							 .ended_ms = to,
							 .cause = "",
							 .other = true};
	return true;
}

static void read_others(struct sw_plot_rows *r, struct sw_db *db)
{
	r->from_ms = INFINITY;
	r->to_ms = -INFINITY;
	for (size_t i = 0; i < r->data.n_runs; i++) {
		const struct sw_plot_run *run = &r->runs[i];
		r->from_ms = fmin(r->from_ms, run->started_ms);
		r->to_ms = fmax(r->to_ms, isnan(run->ended_ms) ? r->data.now_ms : run->ended_ms);
	}
	(void)is_read(r, sw_read_sweeps(db, 0, take_beside, r, &r->err));
	for (size_t i = 0; i < r->n_beside && r->rc == SW_OK; i++)
		(void)is_read(r, sw_read_runs(db, r->beside[i], take_other, r, &r->err));
}

static int by_slot(const void *a, const void *b)
{
	const struct sw_plot_run *x = a, *y = b;

	if (x->slot != y->slot)
		return x->slot < y->slot ? -1 : 1;
	return (x->started_ms > y->started_ms) - (x->started_ms < y->started_ms);
}

static void read_runs(struct sw_plot_rows *r, struct sw_db *db,
		      const struct sw_plot_slot_name *slots, size_t n_slots)
{
	r->at = 0;
	if (is_read(r, sw_read_runs(db, r->data.sweep, take_run, r, &r->err)))
		read_others(r, db);
	if (r->rc != SW_OK || r->n_slots == 0)
		return;
	r->slot_names = sw_calloc(r->n_slots, sizeof *r->slot_names);
	r->slots = sw_calloc(r->n_slots, sizeof *r->slots);
	if (r->slot_names == NULL || r->slots == NULL) {
		(void)no_memory(r);
		return;
	}
	for (size_t i = 0; i < r->n_slots; i++) {
		if (i < n_slots)
			r->slot_names[i] = slots[i];
		else
			(void)snprintf(r->slot_names[i].text, sizeof r->slot_names[i].text,
				       "slot %u", (unsigned)i);
		r->slots[i] = r->slot_names[i].text;
	}
	qsort(r->runs, r->data.n_runs, sizeof *r->runs, by_slot);
	r->data.runs = r->runs;
	r->data.slots = r->slots;
	r->data.n_slots = r->n_slots;
}

/* The rows of trials, with the values that the plot needs of each, as far as the filter passes
 * them. */
static void read_trials(struct sw_plot_rows *r, struct sw_db *db, unsigned needs, int64_t best)
{
	if ((needs & SW_PLOT_NEEDS_PARAMS) != 0 && r->spec->n_params > 0) {
		r->with = SW_POINTS_PARAMS;
		r->width = r->spec->n_params;
	} else if ((needs & SW_PLOT_NEEDS_METRICS) != 0 && r->data.n_metrics > 1) {
		r->with = SW_POINTS_METRICS;
		r->width = r->data.n_metrics;
	}
	if (is_read(r, sw_read_points(db, r->data.sweep, r->with, take_point, r, &r->err)) &&
	    best > 0 &&
	    sw_plot_rank_best(r->trials, r->values, r->width, &r->data.n, r->data.maximize,
			      (size_t)best) != SW_OK)
		(void)no_memory(r);
	if (r->rc == SW_OK)
		join_trials(r);
	if (r->rc == SW_OK && r->with == SW_POINTS_METRICS &&
	    sw_plot_rank_front(r->trials, r->data.n, r->metric_maximize, r->data.n_metrics) !=
		    SW_OK)
		(void)no_memory(r);
}

sw_status sw_plot_rows_read(struct sw_plot_rows *r, struct sw_db *db, int64_t sweep, unsigned needs,
			    const struct sw_plot_filter *filter,
			    const struct sw_plot_slot_name *slots, size_t n_slots, int64_t now_ms,
			    struct sw_err *err)
{
	r->state = filter->state;
	r->data.now_ms = (double)now_ms;
	if (is_read(r, sw_read_sweeps(db, sweep, take_sweep, r, &r->err)) && r->spec == NULL)
		r->rc = sw_err_at(&r->err, SW_NOT_FOUND, "/sweep", "no sweep %lld",
				  (long long)sweep);
	if (r->rc == SW_OK)
		describe_sweep(r);
	if (r->rc == SW_OK && filter->text != NULL)
		choose(r, db, filter->text);
	if (r->rc == SW_OK)
		read_trials(r, db, needs, filter->best);
	if (r->rc == SW_OK && (needs & SW_PLOT_NEEDS_EXPECTED) != 0)
		r->rc = sw_read_suggestions(db, sweep, take_expected, r, &r->err);
	if (r->rc == SW_OK && (needs & SW_PLOT_NEEDS_REPORTS) != 0)
		read_curves(r, db);
	if (r->rc == SW_OK && (needs & SW_PLOT_NEEDS_RUNS) != 0)
		read_runs(r, db, slots, n_slots);
	if (r->rc != SW_OK)
		*err = r->err;
	return r->rc;
}

void sw_plot_rows_fini(struct sw_plot_rows *r)
{
	for (size_t i = 0; i < r->data.n_runs; i++)
		if (r->runs[i].cause[0] != '\0')
			free((char *)r->runs[i].cause);
	sw_plot_params_free(r->spec, r->params);
	sw_spec_destroy(r->spec);
	free((void *)r->slots);
	free(r->slot_names);
	free(r->beside);
	free(r->runs);
	free(r->reports);
	free(r->rungs);
	free(r->values);
	free(r->trials);
	free(r->chosen);
	free(r->name);
}
