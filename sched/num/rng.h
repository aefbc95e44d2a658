/*
 * sched/num/rng.h — counter-based random numbers: a draw is a pure function of (seed, stream,
 * trial, draw).
 *
 * Pure     No state at all, so order never matters: trial 7's third number is the same whether or
 *          not trial 6 was ever sampled. That is what makes a replay possible.
 * Source   Philox4x32-10, base/philox.h.
 */
#ifndef SW_SCHED_NUM_RNG_H
#define SW_SCHED_NUM_RNG_H

#include <stddef.h>
#include <stdint.h>

/* The purpose of a number; it keeps the uses of one seed apart. Never renumber: stored sweeps
 * replay. */
enum sw_rng_stream {
	SW_RNG_SAMPLE = 0,   /* the sampler's draws, one per parameter */
	SW_RNG_BRACKET = 1,  /* which ASHA bracket a trial joins */
	SW_RNG_TRIAL = 2,    /* the seed that a trial's training starts from */
	SW_RNG_SUGGEST = 3,  /* the draws of a sampler that learns */
	SW_RNG_PERMUTE = 4,  /* the order of a shuffled grid */
	SW_RNG_SOBOL = 5,    /* the scrambling of a Sobol sequence */
	SW_RNG_FILL = 6,     /* what a user's point leaves open */
	SW_RNG_PICK = 7,     /* which of too many rows a model sees */
	SW_RNG_EXPLOIT = 9,  /* pbt: whom a member is replaced by */
	SW_RNG_EXPLORE = 10, /* pbt: how the copy of a donor is changed */
	SW_RNG_VARY = 11,    /* what stays of the known point where the walk finds none */
	SW_RNG_REPAIR = 8, /* the walk from a point that breaks constraints to one that does not */
};

uint64_t sw_rng_u64(uint64_t seed, enum sw_rng_stream stream, uint64_t trial, uint32_t draw);

/* In [0, 1), a multiple of 2^-53. */
double sw_rng_unit(uint64_t seed, enum sw_rng_stream stream, uint64_t trial, uint32_t draw);

/* Which of n > 0 places of equal width u in [0, 1) falls to: u n may round up to n. */
size_t sw_rng_below(double u, size_t n);

#endif
