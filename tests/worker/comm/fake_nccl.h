/* tests/worker/comm/fake_nccl.h — what a test tells the stand-in for libnccl.so.2, and asks of it: a
 * variable of the test's, for the product alone opens that library. */
#ifndef SW_TESTS_WORKER_COMM_FAKE_NCCL_H
#define SW_TESTS_WORKER_COMM_FAKE_NCCL_H

#include <stdbool.h>

struct sw_fake_nccl {
	unsigned fail_at; /* the nth call from now on fails, once; 0: none */
	bool stuck;       /* no call gets done */
	bool idle_passes; /* questions while none is in progress are no calls: they come by chance */
	/* Told by the stand-in: */
	bool fired;
	unsigned calls, given, aborts, ends; /* ends: in order */
	unsigned sums, moves;                /* that were made; sends and receives */
};

extern struct sw_fake_nccl sw_fake_nccl;

#endif
