/* EDIT: what a user changes while the sweep runs. All of it is made before any of it is taken. */
#include "base/memory.h"
#include "sched/sweep/samplers.h"
#include "sched/sweep/sweep.h"
#include "sched/sweep/sweep_internal.h"
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The parts that new ranges bring with them. */
struct remade {
	struct sw_space *space; /* NULL: the ranges stay */
	struct sw_sampler *sampler;
	struct sw_history seen; /* where a history is kept */
};

static sw_status check_numbers(const struct sw_sweep *s, const struct sw_edit *e,
			       struct sw_err *err)
{
	/* Children of a population come on top of the cap. */
	const uint64_t made = s->trial_n - s->given.children;

	if (e->has_run_cap && e->run_cap == 0)
		return sw_err_at(err, SW_INVALID, "/run_cap", "run_cap must be at least 1");
	if (e->has_run_cap && e->run_cap < made)
		return sw_err_at(err, SW_INVALID, "/run_cap",
				 "run_cap %" PRIu64 " is below the %" PRIu64
				 " trials that were made",
				 e->run_cap, made);
	if (e->has_target && !isfinite(e->target))
		return sw_err_at(err, SW_INVALID, "/target", "the target must be a finite number");
	return SW_OK;
}

static sw_status check_range(const struct sw_sweep *s, const struct sw_range *r, struct sw_err *err)
{
	char ptr[48];

	if (r->param >= sw_space_size(s->space))
		return sw_err_at(err, SW_INVALID, "/parameters", "there is no parameter %zu",
				 r->param + 1);
	(void)snprintf(ptr, sizeof ptr, "/parameters/%zu", r->param);
	if (!sw_space_bounded(s->space, r->param))
		return sw_err_at(err, SW_INVALID, ptr,
				 "the parameter has no range that could be edited");
	return SW_OK;
}

static sw_status make_space(const struct sw_sweep *s, const struct sw_edit *e,
			    struct sw_space **out, struct sw_err *err)
{
	double min[SW_SPACE_MAX_PARAMS], max[SW_SPACE_MAX_PARAMS];
	const size_t n = sw_space_size(s->space);

	*out = NULL;
	if (s->config.sampler == SW_SAMPLER_GRID)
		return sw_err_at(err, SW_INVALID, "/parameters",
				 "the points of a grid are fixed: its ranges cannot be edited");
	for (size_t i = 0; i < n; i++) {
		min[i] = sw_space_param(s->space, i)->min;
		max[i] = sw_space_param(s->space, i)->max;
	}
	for (size_t i = 0; i < e->n_ranges; i++) {
		const sw_status rc = check_range(s, &e->ranges[i], err);
		if (rc != SW_OK)
			return rc;
		min[e->ranges[i].param] = e->ranges[i].min;
		max[e->ranges[i].param] = e->ranges[i].max;
	}
	sw_status rc = sw_space_ranged(out, s->space, min, max, err);
	if (rc != SW_OK) {
		sw_err_prefix(err, "/parameters");
		return rc;
	}
	return SW_OK; /* whether there is a point in it, its sampler asks */
}

/* Makes a history of the trials so far, if none is kept. SW_NOMEM: there is none. O(trials). */
static sw_status keep_history(struct sw_sweep *s)
{
	struct sw_value values[SW_SPACE_MAX_PARAMS];
	sw_status rc = SW_OK;

	if (s->keeps)
		return SW_OK;
	for (uint64_t trial = 1; rc == SW_OK && trial <= s->trial_n; trial++) {
		rc = sw_sweep_values(s, trial, values);
		if (rc == SW_OK)
			rc = sw_history_add_trial(&s->history, values);
	}
	s->keeps = rc == SW_OK;
	if (!s->keeps)
		s->history.trials = 0;
	return rc;
}

/* The space, the sampler and the history that go with the new ranges. */
static sw_status remake(struct sw_sweep *s, const struct sw_edit *e, struct remade *out,
			struct sw_err *err)
{
	struct sw_sampler_config sampling = s->sampling;

	if (e->n_ranges == 0) /* the space and the sampler stay */
		return SW_OK;
	sw_status rc = make_space(s, e, &out->space, err);
	if (rc != SW_OK)
		return rc;
	sampling.space = out->space;
	rc = sw_samplers_create(&out->sampler, &sampling, err);
	if (rc == SW_OK && sw_space_points(out->space) != 0)
		rc = keep_history(s);
	if (rc == SW_OK && s->keeps)
		rc = sw_sweep_seen_make(s, out->space, &out->seen);
	/* Room for the ranges is taken now, for once they are there nothing may fail. */
	if (rc == SW_OK && !sw_array_resize(&s->ranges, s->ranges_n + 1, sizeof *s->ranges))
		rc = SW_NOMEM;
	return rc != SW_NOMEM ? rc : sw_err_set(err, rc, "no memory for other ranges");
}

static void take_ranges(struct sw_sweep *s, const struct remade *r)
{
	if (s->keeps) {
		/* The past is kept by value, and the new sampler reads it afresh: the old one is
		 * not needed. */
		sw_sampler_destroy(s->sampler);
		s->ranges[s->ranges_n - 1].sampler = NULL;
		sw_history_fini(&s->seen);
		s->seen = r->seen;
		s->masked = true;
	}
	sw_suggestion_fini(&s->suggestion); /* its state, above all */
	/* Without a history the old sampler stays with its ranges: it alone can make the values of
	 * its trials again. */
	s->ranges[s->ranges_n++] = (struct sw_sweep_ranges){
		.made = sw_sweep_made(s), .space = r->space, .sampler = r->sampler};
	s->space = r->space;
	s->sampler = r->sampler;
	s->sampling.space = r->space;
}

static void take_numbers(struct sw_sweep *s, const struct sw_edit *e)
{
	if (e->has_run_cap)
		s->user_cap = e->run_cap;
	if (e->has_max_concurrent) {
		s->config.max_concurrent = e->max_concurrent;
		/* More may run than the new limit allows: they go on, and no other starts until
		 * they are fewer. */
		s->crowd = s->counts[SW_TRIAL_RUNNING];
	}
	if (e->has_target) {
		s->config.has_target = true;
		s->config.target = e->target;
		/* The best so far may reach the new target at once. */
		if (s->best_trial != 0)
			sw_sweep_note_value(s, s->best_trial, s->best);
	}
}

sw_status sw_sweep_on_edit(struct sw_sweep *s, const struct sw_event *ev, struct sw_actions *out,
			   struct sw_err *err)
{
	struct remade r = {.space = NULL};

	if (ev->edit == NULL)
		return sw_err_set(err, SW_INVALID, "nothing to edit");
	if (sw_sweep_ended(s) || s->ending)
		return sw_sweep_refuse_ended(s, err);
	sw_status rc = check_numbers(s, ev->edit, err);
	if (rc == SW_OK)
		rc = sw_actions_reserve(out, sw_sweep_settle_room(s, true), err);
	if (rc == SW_OK)
		rc = remake(s, ev->edit, &r, err);
	if (rc != SW_OK) {
		sw_sampler_destroy(r.sampler);
		sw_space_destroy(r.space);
		sw_history_fini(&r.seen);
		return rc;
	}
	if (r.space != NULL)
		take_ranges(s, &r);
	take_numbers(s, ev->edit);
	sw_sweep_settle(s, out);
	return SW_OK;
}
