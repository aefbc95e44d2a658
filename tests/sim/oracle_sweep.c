/* What concerns the whole sweep, by the user's word or by what was reached. */
#include "tests/sim/oracle.h"
#include <inttypes.h>

/* Target or plateau: nothing new is made or resumed; what waits and is paused ends. */
void sim_oracle_close(struct sim_oracle *o, struct sim_answer *a)
{
	if (o->closed)
		return;
	o->closed = true;
	for (uint64_t i = 1; i <= o->n; i++) {
		const enum sw_trial_state state = o->trial[i - 1].state;

		if (state == SW_TRIAL_PENDING)
			sim_oracle_end(o, a, i, SW_TRIAL_CANCELLED, "sweep-ended");
		else if (state == SW_TRIAL_PAUSED)
			sim_oracle_end(o, a, i, SW_TRIAL_PRUNED, NULL);
	}
}

static bool range_fits(const struct sim_oracle *o, const struct sw_range *r)
{
	const struct sw_param *const p = &o->plan->param[r->param];

	if (o->points != 0 || p->dist == SW_DIST_CATEGORICAL)
		return false;
	return isfinite(r->min) && isfinite(r->max) && r->min <= r->max;
}

sw_status sim_oracle_expect_edit(struct sim_oracle *o, const struct sim_event *e)
{
	if (sim_oracle_ended(o) || o->closed)
		return SW_CONFLICT;
	if (e->edit.has_run_cap && e->edit.run_cap < o->n - o->children)
		return SW_INVALID;
	return e->edit.n_ranges == 0 || range_fits(o, &e->range) ? SW_OK : SW_INVALID;
}

void sim_oracle_on_edit(struct sim_oracle *o, const struct sim_event *e, struct sim_answer *a)
{
	(void)a;
	if (e->edit.has_run_cap)
		o->run_cap = e->edit.run_cap;
	if (e->edit.has_max_concurrent)
		o->max_concurrent = e->edit.max_concurrent;
	if (e->edit.has_target) {
		o->has_target = true;
		o->target = e->edit.target;
	}
	if (e->edit.n_ranges > 0) {
		o->low[e->range.param] = e->range.min;
		o->high[e->range.param] = e->range.max;
	}
}
