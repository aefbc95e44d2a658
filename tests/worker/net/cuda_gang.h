/* tests/worker/net/cuda_gang.h — ranks on devices: each a process with a stand-in device and the
 * stand-in for NCCL, and what each of them saw. */
#ifndef SW_TESTS_WORKER_NET_CUDA_GANG_H
#define SW_TESTS_WORKER_NET_CUDA_GANG_H

#include "base/beat.h"
#include "tests/worker/comm/fake_nccl.h"
#include "tests/worker/net/cuda_train.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORLD_MOST   4
#define WEIGHTS_MOST 1000

struct sw_fake_nccl sw_fake_nccl;

/* What a rank saw, in memory that all processes share. */
static struct rank {
	sw_status rc;
	char line[320];
	double loss[EPOCHS][2];
	float set[EPOCHS][3][WEIGHTS_MOST];
	size_t reports, sets;
	float evaluated[WEIGHTS_MOST]; /* with batch norms: the weights of its last evaluation */
	unsigned graph_runs, sums, moves;
	unsigned left; /* of the device, in the end */
} * ranks;

static struct rank *own; /* of this process */

static pid_t pids[WORLD_MOST];
static size_t kill_at, asked; /* rank 1 is killed when rank 0 is asked so often; 0: never */

/* A device works on while its host waits for another rank: the stand-in's does so at each beat. */
static inline void device_goes_on(void *ctx)
{
	(void)ctx;
	sw_shim_go_on();
}

static inline bool rank_go_on(void *ctx)
{
	(void)ctx;
	if (++asked == kill_at)
		(void)kill(pids[1], SIGKILL);
	return true;
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
	const struct sw_train_hooks hooks = {
		.ctx = me, .comm = comm, .go_on = rank_go_on, .report = rank_report};
	struct sw_err err = SW_ERR_INIT;
	enum sw_train_end end;

	memset(me, 0, sizeof *me);
	own = me;
	ck_assert_uint_le(model.weights_n, WEIGHTS_MOST);
	sw_shim.graph_runs = 0;
	sw_fake_nccl.sums = sw_fake_nccl.moves = 0;
	sw_beat_to(device_goes_on, NULL, 1000);
	me->rc = sw_train_run(ops, queue, &model, &data, t, 3, &hooks, &end, &err);
	sw_beat_to(NULL, NULL, 0);
	snprintf(me->line, sizeof me->line, "%s", err.msg);
	me->graph_runs = sw_shim.graph_runs;
	me->sums = sw_fake_nccl.sums;
	me->moves = sw_fake_nccl.moves;
	sw_comm_close(comm);
}

/* Runs as many ranks; of each the table is what `tables` says, or the CUDA one. */
static inline void gang_run(unsigned world, struct sw_trainer t, const struct sw_ops *const *tables)
{
	struct sw_comm_seat at;
	struct sw_err err = SW_ERR_INIT;

	t.ranks = world / (t.stages > 1 ? t.stages : 1);
	ck_assert_msg(sw_comm_meet(&at, "nccl", world, &err) == SW_OK, "%s", err.msg);
	fflush(NULL);
	for (unsigned r = world; r-- > 0;) { /* rank 0 last: it may kill the others */
		const struct sw_ops *ops = tables && tables[r] ? tables[r] : cuda;
		struct sw_comm *comm;

		pids[r] = fork();
		ck_assert_int_ge(pids[r], 0);
		if (pids[r] > 0)
			continue;
		at.rank = r;
		ck_assert_msg(sw_comm_open(&comm, &at, &err) == SW_OK, "%s", err.msg);
		rank_train(ops, &t, comm, &ranks[r]);
		close_on(cuda);
		ranks[r].left = sw_shim.live;
		_exit(0);
	}
	close(at.fd);
}

static inline void gang_ends(unsigned world, int ends[])
{
	for (unsigned r = 0; r < world; r++)
		ck_assert_int_eq(waitpid(pids[r], &ends[r], 0), pids[r]);
}

/* All ended well, and as `one` did. */
static inline void gang_is(unsigned world, const int ends[], const struct rank *one)
{
	ck_assert_msg(one->rc == SW_OK, "%s", one->line);
	ck_assert_uint_eq(one->reports, EPOCHS);
	for (unsigned r = 0; r < world; r++) {
		ck_assert_msg(WIFEXITED(ends[r]) && WEXITSTATUS(ends[r]) == 0, "rank %u: %x", r,
			      ends[r]);
		ck_assert_msg(ranks[r].rc == SW_OK, "rank %u: %s", r, ranks[r].line);
		ck_assert_uint_eq(ranks[r].left, 0);
		ck_assert_uint_eq(ranks[r].graph_runs, ranks[0].graph_runs);
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
	static void *known;
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

static inline void gang_setup(void)
{
	setup();
	ranks = mmap(NULL, WORLD_MOST * sizeof *ranks, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(ranks, MAP_FAILED);
}

static inline void gang_teardown(void)
{
	munmap(ranks, WORLD_MOST * sizeof *ranks);
	teardown();
}

#endif
