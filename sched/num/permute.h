/*
 * sched/num/permute.h — a shuffle that is never stored: where place i of n comes from, by a key.
 *
 * Pure     A function of (seed, n, i); for each seed and n a bijection of [0, n).
 * Source   Black and Rogaway, "Ciphers with arbitrary finite domains", CT-RSA 2002: a Feistel
 *          network over the next power of four, walked until it lands inside (section 3, cycle
 *          walking). The round function is Philox.
 * Cost     O(1) memory; under four walks expected, some 0.2 us each.
 */
#ifndef SW_SCHED_NUM_PERMUTE_H
#define SW_SCHED_NUM_PERMUTE_H

#include <stdint.h>

/* i < n. */
uint64_t sw_permute(uint64_t seed, uint64_t n, uint64_t i);

#endif
