/*
 * sched/pruner/asha.h — asynchronous successive halving in its two forms: what asha.c (stop) and
 * promote.c share.
 *
 * Rungs    Bracket s: grace * rf^s, * rf, ... by integer multiplication, up to and including
 *          max_t. What a report records there is the rule of sched/pruner/rungs.h.
 * stop     The trial is judged at the highest rung that the report filled: with n values there,
 *          this one included, and b of them strictly better, it goes on if n < min_results or b
 *          < max(1, floor(n / rf)). Ties survive.
 * promote  A trial pauses at the highest rung that the report filled, if it is below max_t. The
 *          next to resume is found from the highest rung below max_t downwards (at equal steps
 *          the lower bracket first): the best paused one, if it is among the best floor(n / rf)
 *          of all n values ever recorded there. Ties: the earlier trial first. Where max_t is no
 *          rung, the last leg goes to max_t. A rung that is crossed without a value pauses
 *          nobody.
 * max_t    At step >= max_t the verdict is COMPLETE whatever the rungs say. A rung at max_t
 *          records.
 * Cost     O(log n) a report in the values at the rung; promote's next() O(rungs * log n).
 * Memory   About 18 bytes a value (a trial has one at each rung it reached), and the trial's
 *          state.
 * Source   Li et al., arXiv:1810.05934, Algorithm 2. It is about promote (get_job); stop is the
 *          form in which a loser ends at its rung. Departures: brackets are drawn by a hash; a
 *          report need not be at a rung.
 */
#ifndef SW_SCHED_PRUNER_ASHA_H
#define SW_SCHED_PRUNER_ASHA_H

#include "sched/pruner/pruner_internal.h"

/* Checks the configuration and makes the object: what the two forms share. */
sw_status sw_asha_make_with(struct sw_pruner **out, const struct sw_pruner_config *config,
			    const struct sw_pruner_ops *ops, struct sw_err *err);

#endif
