/* sched/num/order.h — doubles in rising order, for qsort() and bsearch(). None of them is NaN. */
#ifndef SW_SCHED_NUM_ORDER_H
#define SW_SCHED_NUM_ORDER_H

static inline int sw_order_doubles(const void *pa, const void *pb)
{
	const double a = *(const double *)pa, b = *(const double *)pb;

	return (a > b) - (a < b);
}

#endif
