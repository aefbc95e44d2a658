/* tests/sched/sweep/invariant.h — what must always hold of a sweep; for tests and the simulator. */
#ifndef SW_TESTS_SCHED_SWEEP_INVARIANT_H
#define SW_TESTS_SCHED_SWEEP_INVARIANT_H

#include "sched/sweep/sweep.h"

/* Asserts that counts match states, attempts and seqs are in order, rungs hold one value a trial.
 * O(trials). */
void sweep_invariant(const struct sw_sweep *s);

#endif
