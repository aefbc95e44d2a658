/*
 * Large sweeps, timed: 2,000 lanes and 100,000 trials, with asha in both its forms and the faults
 * of a bad day. The oracle keeps its states, attempts and counts; of ranks it looks at some.
 */
#include "tests/sched/sweep/invariant.h"
#include "tests/sim/sim.h"
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

enum { TRIALS = 100000, WORKERS = 2000, LIMIT_S = 20 };

static double now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void large(struct sim_plan *p, uint64_t seed, enum sw_pruner_kind kind)
{
	*p = (struct sim_plan){.seed = seed,
			       .params = 1,
			       .curve = SIM_CURVE_NOISY,
			       .workers = WORKERS,
			       .epochs = 81,
			       .window = 1,
			       .jump = 1,
			       .pace_s = 1,
			       .latency_s = 0.1,
			       .crash = 2,
			       .expiry = 2,
			       .duplicate = 10,
			       .late = 10,
			       .final = true,
			       .calm_after = UINT64_MAX,
			       .cheap = true};
	p->param[0] = (struct sw_param){.dist = SW_DIST_UNIFORM, .min = 0, .max = 1};
	p->sweep.seed = seed;
	p->sweep.sampler = SW_SAMPLER_RANDOM;
	p->sweep.run_cap = TRIALS;
	p->sweep.retries = 3;
	p->sweep.pruner.kind = kind;
	p->sweep.pruner.asha = (struct sw_asha_config){.grace_period = 1,
						       .max_t = 81,
						       .reduction_factor = 3,
						       .brackets = 1,
						       .min_results = 3};
}

struct run {
	struct sim_plan plan;
	struct sim_feed feed;
	struct sim_stats stats;
};

static void live(void *ctx)
{
	struct run *const r = ctx;

	sim_feed_init(&r->feed, &r->plan, &r->stats);
	sim_world_run(&r->feed);
	sim_oracle_compare(r->feed.oracle, r->feed.sweep);
	sweep_invariant(r->feed.sweep);
}

/* Seconds, or a negative number: it broke an invariant. */
static double run_large(uint64_t seed, enum sw_pruner_kind kind)
{
	struct run r = {.stats = {.runs = 1}};

	large(&r.plan, seed, kind);
	const double started = now();
	const bool passed = sim_try(live, &r);
	const double took = now() - started;

	printf("%-8s %d workers, %" PRIu64 " trials, %" PRIu64 " events, %" PRIu64 " paused: "
	       "%.2f s, %.0f events a second\n",
	       sim_pruner_name(kind), WORKERS, r.stats.trials, r.stats.events, r.stats.paused, took,
	       (double)r.stats.events / took);
	if (!passed)
		printf("broke \"%s\": %s\n", sim_failure.which, sim_failure.text);
	sim_feed_fini(&r.feed);
	return passed ? took : -1;
}

int sim_scale(uint64_t seed)
{
	const double stop = run_large(seed, SW_PRUNER_ASHA);
	const double promote = run_large(seed, SW_PRUNER_PROMOTE);
	const bool fast = stop < LIMIT_S && promote < LIMIT_S;

	if (!fast)
		printf("slower than %d s\n", LIMIT_S);
	return fast && stop >= 0 && promote >= 0 ? 0 : 1;
}
