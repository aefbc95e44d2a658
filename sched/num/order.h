/* sched/num/order.h — doubles in rising order. None of them is NaN. */
#ifndef SW_SCHED_NUM_ORDER_H
#define SW_SCHED_NUM_ORDER_H

#include <stddef.h>

/* For qsort() and bsearch(). */
static inline int sw_order_doubles(const void *pa, const void *pb)
{
	const double a = *(const double *)pa, b = *(const double *)pb;

	return (a > b) - (a < b);
}

/* How many of sorted[n] are at most x: its place behind its equals. */
static inline size_t sw_order_place(const double *sorted, size_t n, double x)
{
	size_t lo = 0, hi = n;

	while (lo < hi) {
		const size_t mid = lo + (hi - lo) / 2;

		if (sorted[mid] <= x)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* index[] = where the least of v[n] are, `most` of them if there are as many; of equals the first
 * comes first. Returns how many. O(n most). */
static inline size_t sw_order_least(const double *v, size_t n, size_t most, size_t *index)
{
	size_t found = 0;

	for (size_t i = 0; i < n; i++) {
		if (found == most && v[i] >= v[index[found - 1]])
			continue;
		found += found < most;
		size_t at = found - 1;

		for (; at > 0 && v[index[at - 1]] > v[i]; at--)
			index[at] = index[at - 1];
		index[at] = i;
	}
	return found;
}

#endif
