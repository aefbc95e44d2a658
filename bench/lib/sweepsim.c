#include "bench/lib/sweepsim.h"
#include "bench/lib/functions.h"
#include "bench/lib/table.h"
#include "sched/sweep/sweep.h"
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const unsigned rungs[] = {1, 3, 9, BENCH_EPOCHS};
enum { RUNGS = sizeof rungs / sizeof *rungs };

struct lane {
	uint64_t trial;
	uint32_t attempt;
	uint64_t seq;
	unsigned epoch;
	double ends_at, pace; /* of the epoch that it is in */
	double curve[BENCH_EPOCHS], truth;
};

struct sim {
	const struct bench_sim_plan *plan;
	struct sw_sweep *sweep;
	struct sw_actions actions;
	struct lane *lane;                /* [workers] */
	double best[RUNGS], truth[RUNGS]; /* of the incumbent at each rung */
	size_t top;                       /* highest rung reached, from 1; 0: none */
	double suggest_s;
	unsigned full;
};

static void step(struct sim *s, struct sw_event ev)
{
	struct sw_err err = SW_ERR_INIT;
	const sw_status rc = sw_sweep_step(s->sweep, &ev, &s->actions, &err);

	if (rc != SW_OK)
		(void)fprintf(stderr, "%s, seed %llu: %s\n", s->plan->family->name,
			      (unsigned long long)s->plan->seed, err.msg);
	assert(rc == SW_OK);
}

/* hyperband is W&B's, median Optuna's with its defaults. */
static struct sw_pruner_config pruner_of(enum sw_pruner_kind kind)
{
	return (struct sw_pruner_config){
		.kind = kind,
		.asha = {.grace_period = rungs[0],
			 .max_t = BENCH_EPOCHS,
			 .reduction_factor = 3,
			 .brackets = 1,
			 .min_results = 3},
		.hyperband = {.min_iter = rungs[0], .eta = 3},
		.median = {.n_startup_trials = 5, .interval_steps = 1, .n_min_trials = 1}};
}

static void open_sim(struct sim *s)
{
	const struct bench_sim_plan *const p = s->plan;
	const struct sw_sweep_config c = {
		.seed = p->seed, .sampler = p->sampler, .pruner = pruner_of(p->pruner)};
	struct sw_err err = SW_ERR_INIT;

	sw_status rc = sw_sweep_create(&s->sweep, &c, p->family->space(p->family->ctx), &err);

	if (rc != SW_OK)
		(void)fprintf(stderr, "%s: %s\n", p->family->name, err.msg);
	assert(rc == SW_OK);
	s->lane = calloc(p->workers, sizeof *s->lane);
	assert(s->lane != NULL);
}

static void close_sim(struct sim *s)
{
	sw_actions_fini(&s->actions);
	sw_sweep_destroy(s->sweep);
	free(s->lane);
}

/* A free worker gets a trial, which has a curve of its own whatever runs it. */
static void ask(struct sim *s, struct lane *l)
{
	struct sw_value v[SW_SPACE_MAX_PARAMS];
	const struct bench_sim_plan *const p = s->plan;
	const double from = bench_cpu_now();

	step(s, (struct sw_event){.kind = SW_EVENT_ASK});
	s->suggest_s += bench_cpu_now() - from;
	l->trial = 0;
	for (size_t i = 0; i < s->actions.n; i++) {
		const struct sw_action *const a = &s->actions.v[i];

		if (a->kind != SW_ACTION_START)
			continue;
		l->trial = a->trial;
		l->attempt = a->attempt;
		l->epoch = (unsigned)a->resume_step;
	}
	assert(l->trial != 0 && l->epoch < BENCH_EPOCHS);
	const sw_status rc = sw_sweep_values(s->sweep, l->trial, v);

	assert(rc == SW_OK);
	l->seq = 0;
	l->truth = p->family->curve(p->family->ctx, v, p->seed, l->trial, l->curve);
	l->pace = 0.5 + bench_unit(p->seed, l->trial, 0x7061);
}

static void see(struct sim *s, const struct lane *l, double y)
{
	s->full += l->epoch == BENCH_EPOCHS;
	for (size_t k = 0; k < RUNGS; k++) {
		if (rungs[k] != l->epoch)
			continue;
		if (s->top < k + 1) {
			s->top = k + 1;
			s->best[k] = INFINITY;
		}
		if (y < s->best[k]) {
			s->best[k] = y;
			s->truth[k] = l->truth;
		}
	}
}

/* The lane's epoch ends. */
static void train(struct sim *s, struct lane *l)
{
	const double y = l->curve[l->epoch++];
	const bool final = l->epoch == BENCH_EPOCHS && isfinite(y);
	bool free_now = final || !isfinite(y);

	if (isfinite(y))
		see(s, l, y);
	step(s, (struct sw_event){.kind = SW_EVENT_REPORT,
				  .trial = l->trial,
				  .attempt = l->attempt,
				  .seq = ++l->seq,
				  .step = l->epoch,
				  .has_value = true,
				  .final = final,
				  .checkpoint = true,
				  .value = y});
	for (size_t i = 0; i < s->actions.n; i++)
		free_now = free_now || s->actions.v[i].kind == SW_ACTION_END ||
			   s->actions.v[i].kind == SW_ACTION_PAUSE;
	if (final)
		step(s, (struct sw_event){.kind = SW_EVENT_TELL,
					  .trial = l->trial,
					  .attempt = l->attempt,
					  .end = SW_TRIAL_COMPLETED});
	if (free_now)
		ask(s, l);
	l->ends_at += l->pace;
}

void bench_sim_run(const struct bench_sim_plan *plan, struct bench_sim_run *out)
{
	struct sim s = {.plan = plan};

	assert(plan->workers >= 1 && plan->most >= plan->least);
	open_sim(&s);
	for (size_t i = 0; i < plan->workers; i++) {
		ask(&s, &s.lane[i]);
		s.lane[i].ends_at = s.lane[i].pace;
	}
	out->reached = INFINITY;
	for (size_t e = 0; e < BENCH_SIM_KEPT; e++)
		out->curve[e] = out->trained[e] = INFINITY;
	for (size_t e = 1; e <= plan->least || (e <= plan->most && isinf(out->reached)); e++) {
		struct lane *next = &s.lane[0];

		for (size_t i = 1; i < plan->workers; i++)
			if (s.lane[i].ends_at < next->ends_at)
				next = &s.lane[i];
		train(&s, next);
		out->end = s.top == RUNGS ? s.truth[RUNGS - 1] : INFINITY;
		if (e <= BENCH_SIM_KEPT) {
			out->curve[e - 1] = s.top > 0 ? s.truth[s.top - 1] : INFINITY;
			out->trained[e - 1] = out->end;
		}
		if (isinf(out->reached) && out->end <= plan->goal)
			out->reached = (double)e;
	}
	out->trials = (unsigned)sw_sweep_trial_n(s.sweep);
	out->full = s.full;
	out->suggest_ms = 1e3 * s.suggest_s / out->trials;
	close_sim(&s);
}
