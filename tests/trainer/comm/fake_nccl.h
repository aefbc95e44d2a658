/* tests/trainer/comm/fake_nccl.h — what a test tells the stand-in for libnccl.so.2, and asks of it,
 * for each rank: a function of the test's, for the product alone opens that library. */
#ifndef SW_TESTS_WORKER_COMM_FAKE_NCCL_H
#define SW_TESTS_WORKER_COMM_FAKE_NCCL_H

#include <stdatomic.h>
#include <stdbool.h>

struct sw_fake_nccl {
	unsigned fail_at;  /* the nth call from now on fails, once; 0: none */
	bool stuck;        /* no call gets done */
	bool dead;         /* nothing comes from the others' devices, and no call says so */
	unsigned wrong_at; /* the nth sum from now on has a wrong number; 0: none */
	int version;       /* 0: 22809, as NCCL writes 2.28.9 */
	unsigned abort_ms; /* that the end of an aborted communicator takes */
	/* questions while none is in progress are no calls: they come by chance */
	bool idle_passes;
	/* Told by the stand-in: */
	bool fired, in_group;
	unsigned calls, given;
	unsigned begun, ends; /* communicators; ends: in order */
	atomic_uint aborts;   /* that are done */
	unsigned sums, moves; /* that were made; sends and receives */
};

/* That of the rank whose thread calls. */
struct sw_fake_nccl *sw_fake_nccl_own(void);

#endif
