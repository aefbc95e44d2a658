/*
 * sched/sampler/pareto.h — several metrics at once: which points no other point beats, and how much
 * of the space of outcomes they beat.
 *
 *   a dominates b: no worse in every metric, better in one. Equal points dominate nothing.
 *
 * Pure     No I/O, clock, thread or global.
 * Units    y: double[n][m], row-major, finite, oriented (smaller is better); m metrics, 1 to
 *          SW_METRICS_MAX. A hypervolume is in the product of the metrics' units.
 * Memory   Scratch of its own for the time of a call; nothing is kept.
 * Errors   SW_NOMEM; SW_TOO_BIG as it says there.
 * Source   Hypervolume of 4 metrics and more: While, Bradstreet, Barone, "A fast way of calculating
 *          exact hypervolumes", IEEE TEVC 16 (2012), sections III and IV (sorting, slicing).
 *          Reference: nadir and a tenth of the range, section IV of Ishibuchi, Imada, Setoguchi,
 *          Nojima, "How to specify a reference point in hypervolume calculation for fair
 *          performance comparison", Evolutionary Computation 26 (2018), argues for a little beyond.
 */
#ifndef SW_SCHED_SAMPLER_PARETO_H
#define SW_SCHED_SAMPLER_PARETO_H

#include "base/status.h"
#include "sched/space/history.h"
#include <stdbool.h>
#include <stddef.h>

/*
 * The rows that no row dominates: their numbers into index[n], by the first metric (then the second
 * and so on, then the number), how many into *n_front. Of equal rows all stay.
 * Cost: 2 metrics O(n log n), 3 in practice as well (sched/num/stair.h); more O(n log n + n f m), f
 * of them in the front: some seconds for a front of 20,000 of 4.
 */
SW_NODISCARD sw_status sw_pareto_front(const double *y, size_t n, size_t m, size_t *index,
				       size_t *n_front);

/*
 * A point that a hypervolume may be measured from if none is given: in each metric the worst of
 * the rows and a tenth of their range beyond; if they are all the same, a tenth of its size, or 1
 * at 0. Give it a front: dominated rows should not move it. n >= 1. reference: double[m], finite.
 */
void sw_pareto_reference(const double *y, size_t n, size_t m, double *reference);

/*
 * The volume of what some row dominates and what dominates the reference, exactly (but for
 * rounding). Rows that are not better than the reference in every metric add nothing; dominated and
 * repeated ones are allowed. n 0: 0.
 * SW_TOO_BIG: over SW_HYPERVOLUME_WORK steps, about a second: from 4 metrics on the cost is
 * exponential in m at worst. 2 and 3 metrics, O(n log n), do not come near it; or the volume is no
 * finite number. The limit counts steps, so it is the same on any machine.
 */
#define SW_HYPERVOLUME_WORK ((size_t)1 << 28)
SW_NODISCARD sw_status sw_hypervolume(const double *y, size_t n, size_t m, const double *reference,
				      double *out);

#endif
