/*
 * base/sampling.h — the methods of a search: one list for the spec, which names them, for its JSON
 * Schema, and for sched, which has a sampler for each. docs/develop.md says how one is added.
 */
#ifndef SW_BASE_SAMPLING_H
#define SW_BASE_SAMPLING_H

/* ROW(name, KIND): "method" is the name. The sampler of random is sw_sampler_random_ops, and so on.
 * A new one goes last. */
#define SW_SAMPLERS(ROW)                                                                           \
	ROW(random, RANDOM)                                                                        \
	ROW(grid, GRID)                                                                            \
	ROW(sobol, SOBOL)                                                                          \
	ROW(tpe, TPE)                                                                              \
	ROW(bohb, BOHB)                                                                            \
	ROW(bayes, BAYES)

enum sw_sampler_kind {
#define SW_ROW(name, KIND) SW_SAMPLER_##KIND,
	SW_SAMPLERS(SW_ROW)
#undef SW_ROW
		SW_SAMPLER_KIND_N
};

#endif
