/* tests/trainer/net/cuda_gang.h — ranks on devices: each a thread with a stand-in device and the
 * stand-in for NCCL, and what each of them saw. */
#ifndef SW_TESTS_WORKER_NET_CUDA_GANG_H
#define SW_TESTS_WORKER_NET_CUDA_GANG_H

#include "tests/trainer/comm/baton.h"
#include "tests/trainer/comm/fake_nccl.h"
#include "tests/trainer/net/cuda_train.h"
#include <stdio.h>
#include <stdlib.h>

#define WORLD_MOST   4
#define WEIGHTS_MOST 1000

/* What a rank saw. */
static struct rank {
	sw_status rc;
	char line[320];
	double loss[EPOCHS][2];
	float set[EPOCHS][3][WEIGHTS_MOST];
	size_t reports, sets;
	float evaluated[WEIGHTS_MOST]; /* with batch norms: the weights of its last evaluation */
	struct sw_fake_nccl fake;
} ranks[WORLD_MOST];

static _Thread_local struct rank *own; /* of this thread */

struct sw_fake_nccl *sw_fake_nccl_own(void)
{
	return own ? &own->fake : NULL;
}

/* A device works on while its host waits for another rank: the stand-in's does so at each beat. */
static inline void device_goes_on(void *ctx)
{
	sw_shim_go_on();
	if (baton_mine)
		baton_pass(ctx);
}

static inline bool rank_report(void *ctx, const struct sw_epoch *e)
{
	struct rank *me = ctx;
	const size_t n = me->reports++;

	me->loss[n][0] = e->train_loss;
	me->loss[n][1] = e->val_loss;
	me->sets = sw_net_sets(e->net);
	for (size_t i = 0; i < me->sets; i++)
		ck_assert_int_eq(sw_net_set_download(e->net, i, me->set[n][i]), SW_OK);
	return true;
}

static inline void rank_train(const struct sw_ops *ops, const struct sw_trainer *t,
			      struct sw_comm *comm, struct rank *me)
{
	const struct sw_train_hooks hooks = {.ctx = me, .comm = comm, .report = rank_report};
	struct sw_err err = SW_ERR_INIT;
	enum sw_train_end end;

	memset(me, 0, sizeof *me);
	own = me;
	ck_assert_uint_le(model.weights_n, WEIGHTS_MOST);
	sw_beat_to(device_goes_on, NULL, 200);
	me->rc = sw_train_run(ops, queue, &model, &data, t, 3, &hooks, &end, &err);
	sw_beat_to(NULL, NULL, 0);
	snprintf(me->line, sizeof me->line, "%s", err.msg);
	sw_comm_close(comm);
}

struct rank_thread {
	pthread_t thread;
	struct sw_comm *comm;
	const struct sw_ops *ops;
	const struct sw_trainer *trainer;
};

static inline void *rank_live(void *arg)
{
	const struct rank_thread *me = arg;
	const unsigned rank = sw_comm_rank(me->comm);
	struct sw_err err = SW_ERR_INIT;
	const struct sw_ops *table;

	baton_take();
	ck_assert_msg(sw_ops_cuda_open((int)rank, &table, &err) == SW_OK, "%s", err.msg);
	ck_assert_int_eq(cuda->queue_create(&queue), SW_OK);
	load_on(cuda, wine);
	rank_train(me->ops, me->trainer, me->comm, &ranks[rank]);
	close_on(cuda);
	baton_give();
	return NULL;
}

static unsigned graph_runs; /* of all ranks of the last gang */

/* Runs as many ranks to their ends; of each the table is what `tables` says, or the CUDA one. */
static inline void gang_run(unsigned world, struct sw_trainer t, const struct sw_ops *const *tables)
{
	struct sw_err err = SW_ERR_INIT;
	struct rank_thread rank[WORLD_MOST];
	struct sw_comm *comm[WORLD_MOST];
	const unsigned live = sw_shim.live;

	sw_shim.device_n = WORLD_MOST;
	sw_shim.graph_runs = 0;
	t.ranks = world / (t.stages > 1 ? t.stages : 1);
	ck_assert_msg(sw_comm_meet(comm, world, true, &err) == SW_OK, "%s", err.msg);
	for (unsigned r = 0; r < world; r++) {
		rank[r].comm = comm[r];
		rank[r].ops = tables && tables[r] ? tables[r] : cuda;
		rank[r].trainer = &t;
		ck_assert_int_eq(pthread_create(&rank[r].thread, NULL, rank_live, &rank[r]), 0);
	}
	for (unsigned r = 0; r < world; r++)
		ck_assert_int_eq(pthread_join(rank[r].thread, NULL), 0);
	graph_runs = sw_shim.graph_runs;
	ck_assert_uint_eq(sw_shim.live, live);
}

/* All ended well, and as `one` did. */
static inline void gang_is(unsigned world, const struct rank *one)
{
	ck_assert_msg(one->rc == SW_OK, "%s", one->line);
	ck_assert_uint_eq(one->reports, EPOCHS);
	for (unsigned r = 0; r < world; r++) {
		ck_assert_msg(ranks[r].rc == SW_OK, "rank %u: %s", r, ranks[r].line);
		ck_assert_uint_eq(ranks[r].reports, r == 0 ? EPOCHS : 0);
	}
	for (size_t e = 0; e < EPOCHS; e++) {
		for (size_t i = 0; i < one->sets; i++)
			for (size_t k = 0; k < model.weights_n;
			     k++) /* a zero may have another sign */
				ck_assert_msg(ranks[0].set[e][i][k] == one->set[e][i][k],
					      "epoch %zu, set %zu, %zu: %g, not %g", e, i, k,
					      (double)ranks[0].set[e][i][k],
					      (double)one->set[e][i][k]);
		for (int i = 0; i < 2; i++)
			ck_assert_double_eq_tol(ranks[0].loss[e][i], one->loss[e][i], 1e-12);
	}
}

/* A table's fork() that waits the first time alone, and a join() that does not wait. */
static inline sw_status fork_late(struct sw_queue *q, void **stream)
{
	static _Thread_local void *known;
	sw_status rc = SW_OK;

	if (!known)
		rc = cuda->fork(q, &known);
	*stream = known;
	return rc;
}

static inline sw_status join_never(struct sw_queue *q)
{
	(void)q;
	return SW_OK;
}

static unsigned fail_from; /* the nth product of rank 1 fails */

static inline sw_status failing_forward(struct sw_queue *q, const float *x, const float *w,
					const float *b, float *y, size_t B, size_t in, size_t out,
					enum sw_act act, void *kept)
{
	static _Thread_local unsigned calls;

	return ++calls == fail_from ? SW_UNSUPPORTED
				    : cuda->linear_forward(q, x, w, b, y, B, in, out, act, kept);
}

/* All ended with rank 1's error. */
static inline void gang_failed(unsigned world)
{
	for (unsigned r = 0; r < world; r++) {
		ck_assert_int_eq(ranks[r].rc, SW_UNSUPPORTED);
		ck_assert_msg(strncmp(ranks[r].line, "rank 1: ", r == 1 ? 0 : 8) == 0,
			      "rank %u: %s", r, ranks[r].line);
	}
}

#endif
