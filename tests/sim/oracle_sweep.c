/* What concerns the whole sweep, by the user's word or by what was reached. */
#include "tests/sim/oracle.h"
#include <inttypes.h>
#include <stdlib.h>

/* A value that was reported: the best so far may be what a later edit asks for. */
void sim_oracle_note_value(struct sim_oracle *o, double y)
{
	if (isnan(o->best) || y < o->best)
		o->best = y;
	o->closed = o->closed || sim_oracle_reached(o, y);
}

bool sim_oracle_reached(const struct sim_oracle *o, double y)
{
	return o->has_target && y <= (o->plan->sweep.maximize ? -o->target : o->target);
}

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* A trial was COMPLETED: the standard deviation of the best `top` of all that were. */
void sim_oracle_note_completed(struct sim_oracle *o, double y)
{
	const struct sw_plateau *const p = &o->plan->sweep.plateau;
	double mean = 0, sum = 0;

	if (p->top == 0 || isnan(y))
		return;
	o->plateau = sim_realloc(o->plateau, o->plateau_n + 1, sizeof *o->plateau);
	o->plateau[o->plateau_n++] = y;
	qsort(o->plateau, o->plateau_n, sizeof *o->plateau, by_value);
	for (uint64_t i = 0; i < p->top && i < o->plateau_n; i++)
		mean += o->plateau[i] / (double)p->top;
	for (uint64_t i = 0; i < p->top && i < o->plateau_n; i++)
		sum += (o->plateau[i] - mean) * (o->plateau[i] - mean) / (double)p->top;
	const bool flat = o->plateau_n >= p->top && sqrt(sum) <= p->std;
	o->flat = flat ? o->flat + 1 : 0;
	o->closed = o->closed || (flat && o->flat >= p->patience);
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
	if (e->edit.has_run_cap && (e->edit.run_cap == 0 || e->edit.run_cap < o->n - o->children))
		return SW_INVALID;
	return e->edit.n_ranges == 0 || range_fits(o, &e->range) ? SW_OK : SW_INVALID;
}

void sim_oracle_on_edit(struct sim_oracle *o, const struct sim_event *e)
{
	if (e->edit.has_run_cap)
		o->run_cap = e->edit.run_cap;
	if (e->edit.has_max_concurrent)
		o->max_concurrent = e->edit.max_concurrent;
	if (e->edit.has_target) {
		o->has_target = true;
		o->target = e->edit.target;
		o->closed = sim_oracle_reached(o, o->best);
	}
	if (e->edit.n_ranges > 0) {
		o->low[e->range.param] = e->range.min;
		o->high[e->range.param] = e->range.max;
	}
}
