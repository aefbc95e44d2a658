/*
 * bench/lib/overlap.h — a step of ranks whose sums are made while backward goes on, and the same step
 * with one sum of the whole arena after it, for bench/comm.
 *
 * Both take the same rows and give the same bits, which is checked. Both end with the same call of
 * the optimizer.
 * Units    Seconds.
 * Noise    Where others use the cores too, a pair's ratio and the computing time say more than the
 *          time of a step.
 */
#ifndef SW_BENCH_LIB_OVERLAP_H
#define SW_BENCH_LIB_OVERLAP_H

#include "worker/comm/comm.h"

struct overlap {
	size_t weights_n;
	struct overlap_time {
		double s, cpu_s; /* medians; computed by this rank */
	} beside, late, sum; /* a step of either kind; of the late one its sum, with the waits */
	double ratio[3];     /* late / beside of each pair: quartiles */
};

/* All ranks call it. pairs: of steps, one of each kind in turn, at most 1024. SW_INTERNAL: their
 * gradients differ. */
SW_NODISCARD sw_status overlap_measure(struct overlap *out, struct sw_comm *c, const char *net,
				       size_t batch, size_t pairs, struct sw_err *err);

#endif
