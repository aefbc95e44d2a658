/*
 * trainer/comm/comm_internal.h — how the calls of comm.h are made: each rank says in its struct
 * where its buffers are, and the others read and write them there.
 *
 * 1. Nobody reads what a rank says before it has counted (a barrier's turn, begun, given), nor
 *    writes it again before all that read it have counted (the next turn, added, taken).
 * 2. A rank is inside (comm_enter) while it reads or writes another's buffers. Once the comm has
 *    failed nobody comes in, and no call returns to any rank before all are out: so a rank that
 *    returns may free its buffers.
 * 3. No wake-up is missed: who counts increments `moves`, then looks whether anybody sleeps; who
 *    waits says that it sleeps, then looks at `moves`. All are sequentially consistent.
 */
#ifndef SW_TRAINER_COMM_COMM_INTERNAL_H
#define SW_TRAINER_COMM_COMM_INTERNAL_H

#include "trainer/comm/comm.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#define COMM_SUMS     64                /* that are begun and not made by all */
#define COMM_CELL     ((size_t)1024)    /* bytes that are copied, so that one meeting is enough */
#define COMM_LOOK_US  ((int64_t)100000) /* between two signs of life of a rank that waits */
#define COMM_LIMIT_US ((int64_t)8 * 1000000) /* of silence; of the end of NCCL */

struct comm_sum {
	char *p;
	size_t bytes;
	unsigned parts;
};

/* One rank's gift to another: one thing at a time. */
struct comm_move {
	const float *p;
	size_t n;
	atomic_size_t given, taken; /* taken: the other's to count */
};

struct comm_shared {
	unsigned world, set; /* set: sw_nccl_set's */
	atomic_uint open;    /* ranks that have not closed */
	bool devices, spins; /* spins: there is a core for each rank */
	atomic_uint moves, arrived, turn, inside;
	atomic_int failed; /* an sw_status; why and blamed are written before it */
	char why[256];
	unsigned blamed;
	pthread_mutex_t lock; /* of those who sleep, and of those who fail */
	pthread_cond_t moved;
	atomic_uint asleep;
	struct sw_comm *rank; /* [world] */
};

struct sw_comm {
	struct comm_shared *all;
	unsigned rank;
	unsigned groups; /* the next rank of this one's group has a number higher by this */
	/* Said to the others: */
	void *p; /* its part of a call that all make; a small one is a copy: */
	_Alignas(64) char cell[2][COMM_CELL]; /* [said % 2] */
	struct comm_sum sum[COMM_SUMS];       /* [begun % COMM_SUMS] */
	atomic_size_t begun, added;           /* added: sums of which it has made its slice */
	struct comm_move to[SW_COMM_WORLD_MAX];
	_Atomic int64_t beaten_us; /* when it last showed life; INT64_MAX: it has closed */
	/* Its own: */
	size_t said;          /* calls that all make */
	struct sw_nccl *nccl; /* sums of devices' memory; NULL: none, or not begun */
	bool stuck;           /* its end did not come in time */
	bool records;         /* sw_comm_records */
};

/* Returns the error that has ended the comm, once nobody is inside; SW_OK: it goes on. */
sw_status comm_failed(struct sw_comm *c);
/* Ends it for all: the first counts. Returns the one that stands. */
sw_status comm_fail(struct sw_comm *c, sw_status why, const char *line);

/* Waits until ready(c, k), which other ranks make so, or until it has failed. */
sw_status comm_until(struct sw_comm *c, bool (*ready)(const struct sw_comm *c, size_t k), size_t k);
/* This rank has counted something for which others may wait. */
void comm_move_on(struct sw_comm *c);
/* A call that all make with as many bytes: say, use what each said (inside), heard. */
sw_status comm_say(struct sw_comm *c, const void *p, size_t bytes);
void *comm_said(const struct sw_comm *c, unsigned rank, size_t bytes);
sw_status comm_heard(struct sw_comm *c, size_t bytes);
/* Around each use of others' buffers; an error: it has failed, and they are not to be used. */
sw_status comm_enter(struct sw_comm *c);
void comm_leave(struct sw_comm *c);

/* Makes this rank's slices of the begun sums that all have begun. Does not wait. */
void comm_sums_go_on(struct sw_comm *c);

/* to[n] = from[n] + to[n]; bytes: whole elements. */
void comm_add(enum sw_comm_type type, void *restrict to, const void *restrict from, size_t bytes);

#endif
