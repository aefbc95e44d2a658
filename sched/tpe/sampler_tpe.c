/* The estimator over all parameters that are active together, on the trials' ends. Start, share of
 * good ones and number of draws are Optuna's defaults. The bandwidth is not: 0.2 there, of the
 * range; with 0.06 the median regret over the fourteen functions of bench/search halves (from 0.04
 * to 0.07 it hardly moves), with noise and on functions left out of that choice it falls by a third
 * and more. Kernels this narrow search around the good trials; the prior keeps looking
 * elsewhere. */
#include "sched/tpe/tpe.h"

static const struct tpe_config config = {
	.startup = 10,
	.good_share = 0.1,
	.good_min = 1,
	.good_max = 25,
	.candidates = 24,
	.width = 0.06,
	.width_min = 0.01,
};

static sw_status start(struct sw_sampler *s, struct sw_err *err)
{
	struct tpe *t;
	const sw_status rc = sw_tpe_create(&t, s, &config, err);

	s->points = 0;
	s->self = t;
	return rc;
}

static void stop(struct sw_sampler *s)
{
	sw_tpe_destroy(s->self);
}

static sw_status suggest(struct sw_sampler *s, const struct sw_history *h, uint64_t made,
			 struct sw_suggestion *out, struct sw_err *err)
{
	return sw_tpe_suggest(s->self, s, h, made, out, err);
}

const struct sampler_ops sw_sampler_tpe_ops = {
	.name = "tpe", .start = start, .stop = stop, .suggest = suggest};
