/* BOHB's model: the estimator on the highest rung with enough results, a third of the points
 * random. Share of good trials, number of draws and what is enough are those of the paper and its
 * reference implementation. The kernels are not: theirs are as wide as the trials are spread, and
 * three times that for draws; on bench/search (no rungs) the median regret is a quarter of that
 * with tpe's. */
#include "sched/tpe/tpe.h"

static const struct tpe_config config = {
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

const struct sampler_ops sw_sampler_bohb_ops = {
	.name = "bohb", .start = start, .stop = stop, .suggest = suggest};
