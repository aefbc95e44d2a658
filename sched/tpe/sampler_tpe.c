/* The estimator over all parameters that are active together, on the trials' ends. Start, share of
 * good ones and number of draws are Optuna's defaults, but for TPE_STARTUP_ALONE. The bandwidth is
 * not: 0.2 there, of the range; with 0.06 the median regret over the fourteen functions of
 * bench/search halves (from 0.04 to 0.07 it hardly moves), with noise and on functions left out of
 * that choice it falls by a third and more. Kernels this narrow search around the good trials; the
 * prior keeps looking elsewhere. */
#include "sched/tpe/tpe.h"

static const struct sw_tpe_config config = {
	.startup = 10,
	.good_share = 0.1,
	.good_min = 1,
	.good_max = 25,
	.candidates = 24,
	.width = 0.06,
	.width_min = 0.01,
};

const struct sw_sampler_ops sw_sampler_tpe_ops = {.name = "tpe",
						  .start = sw_tpe_start,
						  .stop = sw_tpe_stop,
						  .suggest = sw_tpe_suggest,
						  .options = &config};
