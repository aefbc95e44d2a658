/*
 * sched/num/sobol.h — scrambled Sobol points: evenly spread from the first on, each one by its
 * number.
 *
 * Pure     A point is a function of (seed, number, dimension) alone: a stored sweep replays.
 * Units    Numbers count from 0, in the natural order of their binary digits (every 2^k points from
 *          a multiple of 2^k are a net). Coordinates in [0, 1), multiples of 2^-53: 32 digits of
 *          the sequence, the rest from a hash, as scrambling all digits would leave them.
 * Source   Direction numbers: Joe and Kuo, "Constructing Sobol sequences with better
 *          two-dimensional projections", SIAM J. Sci. Comput. 30 (2008), table new-joe-kuo-6.
 *          Scrambling: Owen's nested uniform one (1995), by a hash in which a digit depends on the
 *          digits above it alone: Laine and Karras (2011), section 3.1; Burley, "Practical
 *          hash-based Owen scrambling", JCGT 9 (2020), with Vegdahl's constants.
 * Cost     A point O(d log number), some 0.1 us a coordinate; a run of points shares the set-up.
 */
#ifndef SW_SCHED_NUM_SOBOL_H
#define SW_SCHED_NUM_SOBOL_H

#include <stddef.h>
#include <stdint.h>

#define SW_SOBOL_DIMS ((size_t)256)

/* Point `number` of dimension dim (from 0, below SW_SOBOL_DIMS), unscrambled, as 32 binary
 * digits after the point. */
uint32_t sw_sobol_digits(uint32_t number, size_t dim);

/* out[d] = scrambled point `number`, d at most SW_SOBOL_DIMS. Past 2^32 the sequence starts
 * again with another scramble. */
void sw_sobol_point(uint64_t seed, uint64_t number, size_t d, double *out);

/* out[n][d] = points first .. first + n - 1; the same numbers as one by one. */
void sw_sobol_points(uint64_t seed, uint64_t first, size_t n, size_t d, double *out);

#endif
