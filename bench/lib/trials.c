#include "bench/lib/trials.h"
#include "bench/lib/table.h"
#include "sched/sweep/samplers.h"
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct runner {
	const struct bench_plan *plan;
	struct bench_outcome *out;
	struct sw_sampler *sampler;
	struct sw_history h;
	uint64_t pending[BENCH_MAX_PARALLEL];
	size_t n_pending;
	double best_seen, best_truth;
};

/* One more suggestion, pending. */
static sw_status ask(struct runner *r, struct sw_err *err)
{
	struct sw_suggestion s = {.source = NULL};
	const double from = bench_cpu_now();
	sw_status rc = sw_sampler_suggest(r->sampler, &r->h, r->h.trials + 1, &s, err);
	const double took = bench_cpu_now() - from;

	if (rc == SW_OK) {
		r->out->suggest_s += took;
		r->out->suggest_max_s = fmax(r->out->suggest_max_s, took);
		rc = sw_history_add_trial(&r->h, s.values);
	}
	if (rc == SW_OK)
		r->pending[r->n_pending++] = r->h.trials;
	sw_suggestion_fini(&s);
	return rc;
}

/* One of the pending trials ends. */
static sw_status tell(struct runner *r)
{
	const struct bench_plan *p = r->plan;
	const size_t at =
		(size_t)(bench_unit(p->seed, r->out->told, 0x746c) * (double)r->n_pending);
	const uint64_t trial = r->pending[at];
	const struct sw_value *v = r->h.values + (trial - 1) * r->h.n_params;
	struct bench_value y = {0};
	const bool good = p->objective->value(p->objective->ctx, v, p->seed, trial, &y) &&
			  isfinite(y.seen);

	const enum sw_obs_kind kind = good                    ? SW_OBS_FINAL
				      : p->objective->crashes ? SW_OBS_FAILED
							      : SW_OBS_INFEASIBLE;

	memmove(r->pending + at, r->pending + at + 1, (r->n_pending - at - 1) * sizeof *r->pending);
	r->n_pending--;
	if (good && y.seen < r->best_seen) {
		r->best_seen = y.seen;
		r->best_truth = y.truth;
	}
	r->out->curve[r->out->told++] = r->best_truth;
	return sw_history_observe(&r->h, (struct sw_obs){.trial = trial, .kind = kind},
				  good ? &y.seen : NULL);
}

void bench_trials_run(const struct bench_plan *p, struct bench_outcome *out)
{
	const struct sw_sampler_config config = {
		.kind = p->kind, .seed = p->seed, .space = p->objective->space, .n_metrics = 1};
	struct runner r = {.plan = p, .out = out, .best_seen = INFINITY, .best_truth = INFINITY};
	struct sw_err err = SW_ERR_INIT;

	assert(p->n <= BENCH_MAX_TRIALS && p->parallel >= 1 && p->parallel <= BENCH_MAX_PARALLEL);
	memset(out, 0, sizeof *out);
	sw_history_init(&r.h, sw_space_size(p->objective->space), 1);
	sw_status rc = sw_samplers_create(&r.sampler, &config, &err);
	while (rc == SW_OK && out->told < p->n) {
		while (rc == SW_OK && r.n_pending < p->parallel && r.h.trials < p->n)
			rc = ask(&r, &err);
		if (rc == SW_OK)
			rc = tell(&r);
	}
	if (rc != SW_OK)
		(void)snprintf(out->error, sizeof out->error, "%.110s",
			       *err.msg != '\0' ? err.msg : sw_status_str(rc));
	sw_sampler_destroy(r.sampler);
	sw_history_fini(&r.h);
}
