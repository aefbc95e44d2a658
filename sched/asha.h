/*
 * sched/asha.h — asynchronous successive halving, stop variant: keep or stop a trial at a rung.
 *
 * Pure     No I/O, clock, thread or global. The order of calls is the whole input.
 * Units    step: the trial's clock, > 0. Values are oriented by the caller: lower is better.
 * Rungs    bracket s: grace * rf^s, * rf, ... by integer multiplication, up to and including max_t.
 * Rule     A report first settles which rungs it crossed since the trial's report before it. Each
 *          crossed rung gets, once per trial, the value that belongs to it: the last report at or
 *          below the rung; a rung with no such report gets none. The trial is judged at the highest
 *          rung that this report filled: with n values there, this one included, and b of them
 *          strictly better, it goes on if n < min_results or b < max(1, floor(n / rf)). Ties
 *          survive. At step >= max_t the verdict is COMPLETE whatever the rungs say.
 * Cost     O(log n) a report in the values at the rung (an order-statistic tree each), memory O(1)
 *          a value.
 * Source   Li et al., arXiv:1810.05934, Algorithm 2, in the stopping form: a loser ends at its
 * rung.
 */
#ifndef SW_SCHED_ASHA_H
#define SW_SCHED_ASHA_H

#include "sched/pruner.h"

#define SW_ASHA_MAX_RUNGS 64

struct sw_asha; /* opaque */

SW_NODISCARD sw_status sw_asha_create(struct sw_asha **out, const struct sw_asha_config *config,
				      struct sw_err *err); /* pointer: "/max_t" etc. */
void sw_asha_destroy(struct sw_asha *a);

uint32_t sw_asha_bracket_n(const struct sw_asha *a);
size_t sw_asha_rung_n(const struct sw_asha *a, uint32_t bracket);
uint64_t sw_asha_rung_step(const struct sw_asha *a, uint32_t bracket, size_t k); /* rising */
uint64_t sw_asha_rung_count(const struct sw_asha *a, uint32_t bracket, size_t k);
/* The value a newcomer must not exceed there now; NaN while everybody goes on. The rung at max_t
 * has one too (what the rule would say), though nobody is stopped there. O(log n). */
double sw_asha_rung_cutoff(const struct sw_asha *a, uint32_t bracket, size_t k);

/* Takes the report (step, value) of a trial. step > t->step; value is finite. SW_NOMEM: nothing
 * changed. */
SW_NODISCARD sw_status sw_asha_report(struct sw_asha *a, uint32_t bracket, struct sw_prune_trial *t,
				      uint64_t step, double value, struct sw_judgement *out);

/* The bracket of a trial: a hash of (seed, trial), so order-free. Bracket s is drawn with a chance
 * in proportion to its number of rungs. */
uint32_t sw_asha_bracket(const struct sw_asha *a, uint64_t seed, uint64_t trial);

/* Asserts the order of every rung. O(values); for tests. */
void sw_asha_invariant(const struct sw_asha *a);

#endif
