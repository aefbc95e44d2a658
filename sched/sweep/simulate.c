#include "sched/sweep/simulate.h"
#include "base/memory.h"
#include "sched/sweep/sweep.h"
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* A lane's next report. */
struct due {
	double at_s;
	uint64_t order; /* of two at one moment, the one that was planned first */
	uint64_t trial;
};

struct runner {
	size_t next;   /* index into its curve of the next point */
	uint64_t step; /* how far it has come */
	uint32_t attempt;
	uint64_t seq;
	bool stopped, failed, has_value;
	double value; /* the last */
};

struct simulate {
	const struct sw_simulate_config *c;
	struct sw_sweep *sweep;
	struct sw_actions actions;
	struct runner *run; /* [n] */
	struct due *heap;   /* [lanes in use]: the least first */
	size_t due_n;
	uint64_t idle, order;
	double now_s;
	struct sw_simulate_result *out;
	struct sw_err *err;
};

/* --- the next report of all lanes: a binary heap --- */

static bool before(const struct due *a, const struct due *b)
{
	return a->at_s < b->at_s || (a->at_s == b->at_s && a->order < b->order);
}

static void push(struct simulate *r, struct due d)
{
	size_t i = r->due_n++;

	for (; i > 0 && before(&d, &r->heap[(i - 1) / 2]); i = (i - 1) / 2)
		r->heap[i] = r->heap[(i - 1) / 2];
	r->heap[i] = d;
}

static struct due pop(struct simulate *r)
{
	const struct due top = r->heap[0], last = r->heap[--r->due_n];
	size_t i = 0;

	for (size_t child = 1; child < r->due_n; child = 2 * i + 1) {
		if (child + 1 < r->due_n && before(&r->heap[child + 1], &r->heap[child]))
			child++;
		if (!before(&r->heap[child], &last))
			break;
		r->heap[i] = r->heap[child];
		i = child;
	}
	r->heap[i] = last;
	return top;
}

/* --- steps of the sweep --- */

static const struct sw_simulate_curve *curve_of(const struct simulate *r, uint64_t trial)
{
	return &r->c->curves[trial - 1];
}

static sw_status step(struct simulate *r, const struct sw_event *e)
{
	const sw_status rc = sw_sweep_step(r->sweep, e, &r->actions, r->err);

	if (rc != SW_OK)
		return rc;
	for (size_t i = 0; i < r->actions.n; i++) {
		const struct sw_action *a = &r->actions.v[i];

		/* A step may end other trials than the event's: the paused ones that the end of the
		 * sweep leaves. */
		if (a->kind != SW_ACTION_END)
			continue;
		r->run[a->trial - 1].stopped = a->end == SW_TRIAL_PRUNED;
		r->run[a->trial - 1].failed = a->end == SW_TRIAL_FAILED ||
					      a->end == SW_TRIAL_INFEASIBLE;
	}
	return SW_OK;
}

/* The curve is at its end, and the pruner would go on. */
static sw_status finish(struct simulate *r, uint64_t trial)
{
	const enum sw_simulate_end end = curve_of(r, trial)->end;
	struct sw_event e = {.kind = SW_EVENT_TELL,
			     .trial = trial,
			     .attempt = r->run[trial - 1].attempt,
			     .end = SW_TRIAL_COMPLETED};

	if (end == SW_SIMULATE_FAILED)
		e.end = SW_TRIAL_FAILED;
	else if (end != SW_SIMULATE_COMPLETED)
		/* A curve that was cut, or never ran, has no end of its own to tell. */
		e.kind = SW_EVENT_CANCEL_TRIAL;
	r->out->cut_short += end == SW_SIMULATE_CUT;
	r->idle++;
	return step(r, &e);
}

static sw_status plan_next(struct simulate *r, uint64_t trial)
{
	const struct sw_simulate_curve *curve = curve_of(r, trial);
	const struct runner *run = &r->run[trial - 1];

	if (run->next == curve->n)
		return finish(r, trial);
	const struct sw_simulate_point *p = &r->c->points[curve->first + run->next];
	const struct due d = {.at_s = r->now_s + (double)(p->step - run->step) * curve->step_s,
			      .order = r->order++,
			      .trial = trial};
	push(r, d);
	return SW_OK;
}

/* A trial that goes on from a pause does so where it was. */
static sw_status hand_out(struct simulate *r)
{
	const struct sw_event ask = {.kind = SW_EVENT_ASK};
	const sw_status rc = step(r, &ask);

	if (rc != SW_OK)
		return rc;
	const struct sw_action *start = sw_actions_find(&r->actions, SW_ACTION_START);
	assert(start != NULL);
	struct runner *run = &r->run[start->trial - 1];
	assert(start->resume_step == run->step); /* it paused at its last report */
	run->attempt = start->attempt;
	run->seq = 0;
	r->idle--;
	return plan_next(r, start->trial);
}

static bool has_action(const struct simulate *r, enum sw_action_kind kind, uint64_t trial)
{
	for (size_t i = 0; i < r->actions.n; i++)
		if (r->actions.v[i].kind == kind && r->actions.v[i].trial == trial)
			return true;
	return false;
}

static sw_status report(struct simulate *r, uint64_t trial)
{
	struct runner *run = &r->run[trial - 1];
	const struct sw_simulate_point *p = &r->c->points[curve_of(r, trial)->first + run->next++];
	const struct sw_event e = {.kind = SW_EVENT_REPORT,
				   .trial = trial,
				   .attempt = run->attempt,
				   .seq = ++run->seq,
				   .step = p->step,
				   .has_value = p->has_value,
				   .final = p->final,
				   .result = p->result,
				   .value = p->value};
	const sw_status rc = step(r, &e);

	if (rc != SW_OK)
		return rc;
	/* The pause or end that this report leads to comes after its steps were run. */
	r->out->resource += p->step - run->step;
	run->step = p->step;
	if (p->has_value && sw_sweep_believes(r->sweep, p->value)) {
		run->value = p->value;
		run->has_value = true;
	}
	if (!has_action(r, SW_ACTION_END, trial) && !has_action(r, SW_ACTION_PAUSE, trial))
		return plan_next(r, trial);
	r->idle++;
	return SW_OK;
}

static sw_status run_all(struct simulate *r)
{
	for (;;) {
		/* Lanes are filled before time moves on: whatever is free at this moment asks
		 * now. */
		while (r->idle > 0 && sw_sweep_has_work(r->sweep)) {
			const sw_status rc = hand_out(r);

			if (rc != SW_OK)
				return rc;
		}
		if (r->due_n == 0)
			return SW_OK;
		const struct due d = pop(r);
		r->now_s = d.at_s;
		const sw_status rc = report(r, d.trial);
		if (rc != SW_OK)
			return rc;
	}
}

/* --- what came out --- */

static void prefer(struct sw_simulate_best *best, uint64_t trial, double value, bool maximize)
{
	if (best->trial == 0 || (maximize ? value > best->value : value < best->value))
		*best = (struct sw_simulate_best){.trial = trial, .value = value};
}

static void add_recorded(const struct simulate *r, uint64_t trial)
{
	const struct sw_simulate_curve *curve = curve_of(r, trial);
	const struct sw_simulate_point *p = r->c->points + curve->first;
	size_t i = curve->n;

	if (curve->n > 0)
		r->out->recorded += p[curve->n - 1].step;
	if (curve->end == SW_SIMULATE_FAILED) /* its last value is no result */
		return;
	while (i > 0 && !(p[i - 1].has_value && isfinite(p[i - 1].value)))
		i--;
	if (i > 0)
		prefer(&r->out->best, trial, p[i - 1].value, r->c->maximize);
}

static void sum_up(struct simulate *r)
{
	struct sw_simulate_result *out = r->out;

	for (uint64_t trial = 1; trial <= r->c->n; trial++) {
		const struct runner *run = &r->run[trial - 1];

		if (curve_of(r, trial)->end == SW_SIMULATE_ABSENT)
			continue;
		out->trials++;
		out->stopped += run->stopped;
		out->failed += run->failed;
		add_recorded(r, trial);
		if (run->has_value && !run->failed)
			prefer(&out->chosen, trial, run->value, r->c->maximize);
	}
	out->completed = out->trials - out->stopped - out->failed - out->cut_short;
	out->survived = out->best.trial != 0 && !r->run[out->best.trial - 1].stopped;
	out->wall_s = r->now_s;
}

/* A sweep of as many trials, whose parameters nobody looks at. */
static sw_status create_sweep(struct simulate *r)
{
	const struct sw_param any = {.dist = SW_DIST_UNIFORM, .min = 0.0, .max = 1.0};
	const struct sw_sweep_config config = {.seed = r->c->seed,
					       .maximize = r->c->maximize,
					       .sampler = SW_SAMPLER_RANDOM,
					       .pruner = r->c->pruner,
					       .run_cap = r->c->n};
	struct sw_space *space = NULL;
	sw_status rc = sw_space_create(&space);

	if (rc != SW_OK)
		return sw_err_set(r->err, rc, "no memory for a sweep");
	rc = sw_space_add(space, &any, r->err);
	if (rc == SW_OK)
		rc = sw_sweep_create(&r->sweep, &config, space, r->err);
	if (rc != SW_OK)
		/* The sweep takes the space on SW_OK alone. */
		sw_space_destroy(space);
	return rc;
}

sw_status sw_simulate(const struct sw_simulate_config *config, struct sw_simulate_result *out,
		      struct sw_err *err)
{
	const uint64_t lanes = config->lanes < config->n ? config->lanes : config->n;
	struct simulate r = {.c = config, .idle = lanes, .out = out, .err = err};
	sw_status rc = SW_NOMEM;

	assert(config->n > 0 && config->lanes > 0);
	assert(config->pruner.kind != SW_PRUNER_PBT);
	*out = (struct sw_simulate_result){.trials = 0};
	r.run = sw_calloc(config->n, sizeof *r.run);
	r.heap = sw_calloc((size_t)lanes, sizeof *r.heap);
	if (r.run != NULL && r.heap != NULL) {
		rc = create_sweep(&r);
		if (rc == SW_OK)
			rc = run_all(&r);
		if (rc == SW_OK)
			sum_up(&r);
	}
	if (rc == SW_NOMEM)
		(void)sw_err_set(err, rc, "out of memory");
	sw_sweep_destroy(r.sweep);
	sw_actions_fini(&r.actions);
	free(r.run);
	free(r.heap);
	return rc;
}
