/* tests/trainer/comm/gang.h — ranks as threads, each with a function, and what became of each. */
#ifndef SW_TESTS_WORKER_COMM_GANG_H
#define SW_TESTS_WORKER_COMM_GANG_H

#include "tests/run.h"
#include "trainer/comm/comm.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#define GANG_MAX 4

struct gang_rank;

typedef sw_status gang_main(struct sw_comm *c, struct gang_rank *me, void *ctx);

struct gang_rank {
	struct sw_comm *comm;
	gang_main *run;
	void *ctx;
	sw_status rc;     /* that the function returned */
	char why[320];    /* the line */
	char bad[256];    /* what the function found wrong; "" */
	atomic_uint done; /* how far it is: the function's own count */
	pthread_t thread;
};

/* What a rank finds wrong. */
#define GANG_BAD(me, ...) ((void)snprintf((me)->bad, sizeof(me)->bad, __VA_ARGS__))

static inline void *gang_live(void *rank)
{
	struct gang_rank *me = rank;

	me->rc = me->run(me->comm, me, me->ctx);
	(void)snprintf(me->why, sizeof me->why, "%s", sw_comm_why(me->comm));
	sw_comm_close(me->comm);
	return NULL;
}

/* Runs a gang to its end; each rank is to end with this status and line. */
static inline void gang_ends_on(bool devices, unsigned world, gang_main *run, void *ctx,
				sw_status rc, const char *why)
{
	static struct gang_rank rank[GANG_MAX];
	struct sw_comm *comm[GANG_MAX];

	ck_assert_int_eq(sw_comm_meet(comm, world, devices, NULL), SW_OK);
	for (unsigned r = 0; r < world; r++) {
		rank[r] = (struct gang_rank){.comm = comm[r], .run = run, .ctx = ctx};
		ck_assert_int_eq(pthread_create(&rank[r].thread, NULL, gang_live, &rank[r]), 0);
	}
	for (unsigned r = 0; r < world; r++)
		ck_assert_int_eq(pthread_join(rank[r].thread, NULL), 0);
	for (unsigned r = 0; r < world; r++) {
		ck_assert_msg(*rank[r].bad == '\0', "rank %u of %u: %s", r, world, rank[r].bad);
		ck_assert_msg(rank[r].rc == rc, "rank %u of %u: %s (%s), not %s", r, world,
			      sw_status_str(rank[r].rc), rank[r].why, sw_status_str(rc));
		ck_assert_str_eq(rank[r].why, why);
	}
}

static inline void gang_ends(unsigned world, gang_main *run, void *ctx, sw_status rc,
			     const char *why)
{
	gang_ends_on(false, world, run, ctx, rc, why);
}

/* A gang from its start to its end, without a fault. */
static inline void gang_run_on(bool devices, unsigned world, gang_main *run, void *ctx)
{
	gang_ends_on(devices, world, run, ctx, SW_OK, "");
}

static inline void gang_run(unsigned world, gang_main *run, void *ctx)
{
	gang_ends(world, run, ctx, SW_OK, "");
}

#endif
