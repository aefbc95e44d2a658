/* tests/trainer/comm/nccl_ranks.h — ranks as threads, each with a stand-in device and the stand-in
 * for NCCL. */
#ifndef SW_TESTS_WORKER_COMM_NCCL_RANKS_H
#define SW_TESTS_WORKER_COMM_NCCL_RANKS_H

#include "base/clock.h"
#include "kernels/ops.h"
#include "tests/kernels/cuda_shim/shim.h"
#include "tests/run.h"
#include "tests/trainer/comm/baton.h"
#include "tests/trainer/comm/fake_nccl.h"
#include "trainer/comm/comm.h"

enum { N = 3000 };

sw_ops_open_fn sw_ops_cuda_open;

static _Thread_local const struct sw_ops *o;
static _Thread_local struct sw_queue *q;
static _Thread_local struct sw_comm *comm;
static _Thread_local struct sw_err rank_err;

static struct sw_fake_nccl fakes[4];

static _Thread_local struct sw_fake_nccl *fake;

struct sw_fake_nccl *sw_fake_nccl_own(void)
{
	return fake;
}

static inline float *floats(float first)
{
	float live[N];
	void *p;

	for (int i = 0; i < N; i++)
		live[i] = first + (float)i;
	ck_assert_int_eq(o->alloc(&p, sizeof live), SW_OK);
	ck_assert_int_eq(o->upload(q, p, live, sizeof live), SW_OK);
	return p;
}

/* Time that flies: limits of a minute are over in a second. */
static atomic_bool flies;

int64_t __real_sw_clock_mono_us(void);
int64_t __wrap_sw_clock_mono_us(void);

int64_t __wrap_sw_clock_mono_us(void)
{
	return __real_sw_clock_mono_us() * (atomic_load(&flies) ? 64 : 1);
}

/* A rank: what one of the ranks does is the test's. */
typedef void rank_fn(unsigned rank);

struct rank_thread {
	pthread_t thread;
	struct sw_comm *comm;
	rank_fn *run;
};

static inline void *rank_live(void *arg)
{
	const struct rank_thread *me = arg;
	const unsigned rank = sw_comm_rank(me->comm);

	comm = me->comm;
	fake = &fakes[rank];
	rank_err = (struct sw_err)SW_ERR_INIT;
	baton_take();
	sw_beat_to(baton_pass, NULL, 0);
	ck_assert_msg(sw_ops_cuda_open((int)rank, &o, &rank_err) == SW_OK, "%s", rank_err.msg);
	ck_assert_int_eq(o->queue_create(&q), SW_OK);
	ck_assert(sw_comm_on_devices(comm));
	o->watch(q, sw_comm_look, comm);
	me->run(rank);
	baton_give();
	return NULL;
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

/* Runs as many ranks to their ends. */
static inline void ranks_run(unsigned world, rank_fn *run)
{
	struct sw_err why = SW_ERR_INIT;
	struct rank_thread rank[4];
	struct sw_comm *of[4];

	sw_shim.device_n = 4;
	memset(fakes, 0, sizeof fakes);
	ck_assert_msg(sw_comm_meet(of, world, true, &why) == SW_OK, "%s", why.msg);
	for (unsigned r = 0; r < world; r++) {
		rank[r].comm = of[r];
		rank[r].run = run;
		ck_assert_int_eq(pthread_create(&rank[r].thread, NULL, rank_live, &rank[r]), 0);
	}
	for (unsigned r = 0; r < world; r++)
		ck_assert_int_eq(pthread_join(rank[r].thread, NULL), 0);
}

static inline void *zeros(void)
{
	void *p;

	ck_assert_int_eq(o->alloc(&p, N * sizeof(float)), SW_OK);
	ck_assert_int_eq(o->zero(q, p, N * sizeof(float)), SW_OK);
	return p;
}

#endif
