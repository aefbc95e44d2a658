/* sched/sampler/suggestion.h — what a sampler says: a configuration, and how it came about. */
#ifndef SW_SCHED_SAMPLER_SUGGESTION_H
#define SW_SCHED_SAMPLER_SUGGESTION_H

#include "sched/space/history.h"
#include "sched/space/space.h"
#include <stddef.h>
#include <stdint.h>

/* The acquisition by which a model's point is the best. */
enum sw_acquisition {
	SW_ACQUISITION_NONE,  /* no Gaussian process chose the point */
	SW_ACQUISITION_EI,    /* expected improvement of the metric */
	SW_ACQUISITION_WHOLE, /* of several metrics: that of the weighted whole, in one model */
	SW_ACQUISITION_MAX    /* that of the weighted maximum, each metric in a model of its own */
};

/* One configuration and how it came about. The caller's: init by {0}, then sw_suggestion_fini(). */
struct sw_suggestion {
	struct sw_value values[SW_SPACE_MAX_PARAMS];
	const char
		*source; /* static: "init", "random", "grid", "sobol", "centre", "tpe", "gp" ... */
	uint64_t known;  /* observations that it knew */
	double mean, sd; /* EI: posterior at the point, in the metric's units (oriented); WHOLE: of
			    the weighted whole, which has none */
	double ei;       /* the density ratio l/g (tpe), or exp(log_ei) (bayes) */
	enum sw_acquisition acquisition;
	double log_ei;                 /* its logarithm, in the units of what improves; MAX: in
					  parts of what the front spans, times a weight */
	double weight[SW_METRICS_MAX]; /* WHOLE, MAX: of this suggestion; their sum is 1 */
	double metric_mean[SW_METRICS_MAX], metric_sd[SW_METRICS_MAX]; /* MAX: as mean, sd */
	unsigned char *state; /* the sampler's state after this suggestion; owned; NULL: none */
	size_t state_n;       /* bytes */
};

/* Frees the state. */
void sw_suggestion_fini(struct sw_suggestion *s);

#endif
