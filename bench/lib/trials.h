/*
 * bench/lib/trials.h — a sampler against an objective, as sweepd would run it, without sweepd.
 *
 * Order    `parallel` trials are pending at all times. Which of them ends next is drawn by the
 *          seed: the same on every run.
 */
#ifndef SW_BENCH_LIB_TRIALS_H
#define SW_BENCH_LIB_TRIALS_H

#include "bench/lib/objective.h"
#include "sched/sampler/sampler.h"

#define BENCH_MAX_TRIALS   200
#define BENCH_MAX_PARALLEL 16

struct bench_plan {
	const struct bench_objective *objective;
	enum sw_sampler_kind kind;
	uint64_t seed;
	size_t n, parallel; /* at most the two above */
};

/* Flat: it lies in memory that processes share. */
struct bench_outcome {
	double curve[BENCH_MAX_TRIALS]; /* truth of the best seen after that many tells; or inf */
	size_t told;
	double suggest_s, suggest_max_s; /* sum and worst, of computing time */
	char error[120];                 /* "": it went well */
};

void bench_trials_run(const struct bench_plan *plan, struct bench_outcome *out);

#endif
