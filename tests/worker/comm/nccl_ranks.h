/* tests/worker/comm/nccl_ranks.h — ranks as processes, each with a stand-in device and the stand-in
 * for NCCL; rank 0 is the test's own. */
#ifndef SW_TESTS_WORKER_COMM_NCCL_RANKS_H
#define SW_TESTS_WORKER_COMM_NCCL_RANKS_H

#include "kernels/ops.h"
#include "tests/kernels/cuda_shim/shim.h"
#include "tests/run.h"
#include "tests/worker/comm/fake_nccl.h"
#include "worker/comm/comm.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 3000 };

sw_ops_open_fn sw_ops_cuda_open;

static const struct sw_ops *o;
static struct sw_queue *q;
static struct sw_comm *comm;
static struct sw_err err;

struct sw_fake_nccl sw_fake_nccl;

static inline float *floats(float first)
{
	static float live[N];
	void *p;

	for (int i = 0; i < N; i++)
		live[i] = first + (float)i;
	ck_assert_int_eq(o->alloc(&p, sizeof live), SW_OK);
	ck_assert_int_eq(o->upload(q, p, live, sizeof live), SW_OK);
	return p;
}

/* A rank: what one of the ranks does is the test's. */
typedef void rank_fn(unsigned rank);

static inline void rank_open(const struct sw_comm_seat *at)
{
	sw_status rc;

	ck_assert_int_eq(sw_ops_cuda_open(0, &o, &err), SW_OK);
	ck_assert_int_eq(o->queue_create(&q), SW_OK);
	rc = sw_comm_open(&comm, at, &err);
	if (rc == SW_INTERNAL && at->rank > 0)
		_exit(0); /* rank 0 has failed already, as it was to */
	ck_assert_msg(rc == SW_OK, "%s", err.msg);
	ck_assert(sw_comm_on_devices(comm));
	o->watch(q, sw_comm_look, comm);
}

/* All that was given is done, or has been aborted. */
static inline void rank_end(void)
{
	o->watch(q, NULL, NULL);
	ck_assert_int_eq(o->sync(q), SW_OK);
}

static inline void rank_close(void)
{
	sw_comm_close(comm);
	o->queue_destroy(q);
	comm = NULL;
}

/* Runs `world` ranks, this process is rank 0; the others' ends, as waitpid has them. */
static inline void ranks_run(unsigned world, rank_fn *run, int ends[])
{
	struct sw_comm_seat at;
	pid_t pid[4];

	ck_assert_msg(sw_comm_meet(&at, "nccl", world, &err) == SW_OK, "%s", err.msg);
	fflush(NULL);
	for (unsigned r = 1; r < world; r++) {
		pid[r] = fork();
		ck_assert_int_ge(pid[r], 0);
		if (pid[r] == 0) {
			at.rank = r;
			rank_open(&at);
			run(r);
			_exit(0);
		}
	}
	rank_open(&at);
	close(at.fd);
	run(0);
	for (unsigned r = 1; r < world; r++)
		ck_assert_int_eq(waitpid(pid[r], &ends[r], 0), pid[r]);
}

static inline void ranks_run_well(unsigned world, rank_fn *run)
{
	int ends[4];

	ranks_run(world, run, ends);
	for (unsigned r = 1; r < world; r++)
		ck_assert_msg(WIFEXITED(ends[r]) && WEXITSTATUS(ends[r]) == 0, "rank %u: %d", r,
			      ends[r]);
}

static inline void *zeros(void)
{
	void *p;

	ck_assert_int_eq(o->alloc(&p, N * sizeof(float)), SW_OK);
	ck_assert_int_eq(o->zero(q, p, N * sizeof(float)), SW_OK);
	return p;
}

#endif
