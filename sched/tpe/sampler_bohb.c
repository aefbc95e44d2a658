/* BOHB's model: the estimator on the highest rung with enough results, a third of the points
 * random. Share of good trials, number of draws and what is enough are those of the paper and its
 * reference implementation. The kernels are not: theirs are as wide as the trials are spread, and
 * three times that for draws; on bench/search (no rungs) the median regret is a quarter of that
 * with tpe's. */
#include "sched/tpe/tpe.h"

static const struct sw_tpe_config config = {
	.rungs = true,
	.startup_d = true,
	.good_share = 0.15,
	.good_min = 2,
	.good_max = TPE_GOOD,
	.candidates = 64,
	.width = 0.06,
	.width_min = 0.01,
	.random_share = 1.0 / 3.0,
};

const struct sw_sampler_ops sw_sampler_bohb_ops = {.name = "bohb",
						   .start = sw_tpe_start,
						   .stop = sw_tpe_stop,
						   .suggest = sw_tpe_suggest,
						   .options = &config};
