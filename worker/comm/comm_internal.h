/*
 * worker/comm/comm_internal.h — how the calls of comm.h are made: each rank sends each other rank a
 * stream of chunks, which that one reads in order. comm_shm.c moves chunks; comm.c, comm_sum.c and
 * comm_exchange.c say what is in them.
 *
 * A rank's chunk lies in one of its cells until all ranks that it is for have read it. All calls
 * fit one order (comm.h), and each rank takes its cells in that order. So the oldest call that is
 * not done never waits for a cell that a later one holds: there is no deadlock.
 */
#ifndef SW_WORKER_COMM_COMM_INTERNAL_H
#define SW_WORKER_COMM_COMM_INTERNAL_H

#include "worker/comm/comm.h"
#include <stdint.h>
#include <stdlib.h>

/* bytes; two of them and two of the caller's fit an L2 */
#define COMM_CHUNK        ((size_t)128 * 1024)
#define COMM_CELLS        64                /* a rank's cells, a chunk each: 8 MiB */
#define COMM_SUMS         64                /* that are begun and not complete */
#define COMM_LOOK_US      ((int64_t)100000) /* between two looks at the others, while it waits */
#define SW_COMM_SILENT_US ((int64_t)8 * 1000000)

enum comm_kind { COMM_SUM, COMM_BROADCAST, COMM_GATHER, COMM_MOVE };

struct comm_chunk {
	uint32_t kind, bytes; /* bytes <= COMM_CHUNK */
	const void *data;     /* aligned to 64 bytes */
};

/* Of ranks first, first + stride, ...: the first `parts` of `n` have a part in it. */
struct comm_sum {
	enum sw_comm_type type;
	unsigned first, stride, n, parts;
	char *p;
	size_t bytes, published, done;
};

struct sw_comm {
	unsigned rank, world;
	unsigned groups;  /* the next rank of this one's group has a number higher by this */
	sw_status failed; /* SW_OK until something ended it all */
	char why[256];
	int64_t silent_us, beaten_us; /* the limit; when this rank last showed life */
	/* The others' silence before this does not count: this rank had stopped too, perhaps
	 * together with them, or did not look. */
	int64_t awake_us;
	struct comm_sum sum[COMM_SUMS]; /* [begun % COMM_SUMS], done <= publishing <= begun */
	size_t sums_done, sums_publishing, sums_begun;
	struct sw_nccl *nccl; /* sums of devices' memory; NULL: none, or not begun */
	bool devices;         /* sw_comm_devices is to begin it */
	bool stuck;           /* its end did not come in time */
	size_t ahead;         /* own chunks of sums that are published and not yet added to */
};

/* --- comm_shm.c --- */

sw_status comm_shm_meet(struct sw_comm_seat *at, struct sw_err *err);
/* Does not wait for the others. */
sw_status comm_shm_open(struct sw_comm **out, const struct sw_comm_seat *at, int64_t silent_us,
			struct sw_err *err);
void comm_shm_close(struct sw_comm *c);
/* The cell for the next chunk, COMM_CHUNK bytes; NULL: none is free. The same one until it is
 * published. */
void *comm_shm_room(struct sw_comm *c);
/* to: bit r for rank r; its own counts for nothing. */
void comm_shm_publish(struct sw_comm *c, enum comm_kind kind, size_t bytes, uint64_t to);
/* The next chunk of a peer's stream to this rank, if it is there; valid until it is released. */
bool comm_shm_peek(struct sw_comm *c, unsigned from, struct comm_chunk *out);
void comm_shm_release(struct sw_comm *c, unsigned from);
/* Waits until something may have come, at most COMM_LOOK_US, and looks at the others now and then.
 * *lost: a rank that was found ended, else untouched. One that has closed in order is not: others
 * may wait for what a third gave to both, so it counts as silent. Sets c->failed where nothing can
 * be waited for any more. */
void comm_shm_idle(struct sw_comm *c, unsigned *lost);
/* The same without a wait, for a rank that waits for its device. */
void comm_shm_look(struct sw_comm *c, unsigned *lost);
void comm_shm_beat(struct sw_comm *c); /* c->beaten_us is now */
/* c->failed and c->why to all others, unless one was faster. */
void comm_shm_abort(struct sw_comm *c);

/* --- comm.c, comm_sum.c, comm_add.c --- */

/* Ends it, and tells the others: the first counts. Returns the one that stands. */
sw_status comm_fail(struct sw_comm *c, sw_status why, const char *line);
/* The same for a lost rank. */
sw_status comm_lose(struct sw_comm *c, unsigned rank, bool silent);
/* Has the rank that last showed life at since_us been silent for too long? tid: the thread whose
 * work it is, 0: not known. */
bool comm_is_silent(const struct sw_comm *c, int64_t since_us, int64_t now_us, pid_t tid);
/* Waits for something to come. *lost: c->world at first; then a rank that was found ended, which is
 * the end at the next call: what it published before may be all that is waited for. */
void comm_wait(struct sw_comm *c, unsigned *lost);
/* A chunk that is there must be the one that this rank expects. */
sw_status comm_expect(struct sw_comm *c, unsigned from, const struct comm_chunk *chunk,
		      enum comm_kind kind, size_t bytes);

/* Begun sums, as far as they come without a wait: other ranks may need this one's part. True: all
 * of that is published. */
bool comm_sums_go_on(struct sw_comm *c);

/* to[n] = from[n] + to[n]; bytes: whole elements, both of at most COMM_CHUNK */
void comm_add(enum sw_comm_type type, void *restrict to, const void *restrict from, size_t bytes);

#endif
