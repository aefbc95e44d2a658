/*
 * worker/comm/comm.h — what the ranks of one trial do together: sums, broadcasts, exchanges, waits;
 * and how a rank that is lost is noticed by all others.
 *
 * Order    All ranks make the same calls in the same order, with the same sizes. An exchange is made
 *          by its two ranks, a sum of stages by those of one: then there is one order of all calls that
 *          each rank's own keeps to. A sum is made in rank order, ((r0 + r1) + r2) + ..., by every
 *          rank: all have the same bits (a NaN's payload apart). Between sw_comm_sum_begin and
 *          sw_comm_sum_end nothing else is called but sw_comm_sum_now, beat, abort and exchanges,
 *          those with ranks that have no part in these sums.
 * Faults   Every wait has a limit. A rank shows life by sw_comm_beat; one that is silent for 8 s (56
 *          while its thread computes, or waits for a disk) is taken for lost and killed (SIGKILL) by
 *          whoever waits for it, one that has ended is noticed within 200 ms, one that has closed
 *          counts as silent. After an error all further calls return the same one: close is what is
 *          left.
 * Silence  SWEEPD_COMM_SILENT_MS in the environment is another limit, for tests.
 * Memory   All buffers are the host's and the caller's; none may overlap.
 * Errors   SW_PEER_LOST; what a rank has passed to sw_comm_abort; SW_INTERNAL: the ranks do not make
 *          the same calls. sw_comm_why() has the line.
 * Threads  One struct, one thread.
 */
#ifndef SW_WORKER_COMM_COMM_H
#define SW_WORKER_COMM_COMM_H

#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>

#define SW_COMM_WORLD_MAX 64

struct sw_comm; /* opaque; one per rank */

/* What a rank is told: plain bytes, so that a lead may hand it to a child as it is. */
struct sw_comm_place {
	unsigned rank, world;
	char transport[8]; /* "shm", or "nccl": shm with sums on devices */
	int fd;            /* the segment, the same for all */
};

enum sw_comm_type { SW_COMM_F32, SW_COMM_F64, SW_COMM_I64 };

/* The lead's, before it starts the ranks: rank 0's place. The others get a copy with their rank.
 * at->fd (closed on exec) is the caller's, who closes it when all
 * ranks have theirs. shm: takes 8 MiB of memory a rank, until the last of them is closed.
 * SW_UNSUPPORTED: an unknown transport; SW_BUSY: no memory or descriptor now; SW_IO. */
SW_NODISCARD sw_status sw_comm_meet(struct sw_comm_place *at, const char *transport, unsigned world,
				    struct sw_err *err);

/* Back when all ranks have come, or with SW_PEER_LOST when one has not within the limit of silence.
 * at->fd is borrowed until it is back. SW_NOMEM; SW_IO; SW_INVALID: no such segment. On an error
 * *out is NULL. */
SW_NODISCARD sw_status sw_comm_open(struct sw_comm **out, const struct sw_comm_place *at,
				    struct sw_err *err);
/* NULL is allowed. Does not wait for the others. If they still wait, for whomever, when the limit is
 * over, it is lost: so the last thing that ranks do together is a call of all. */
void sw_comm_close(struct sw_comm *c);

unsigned sw_comm_rank(const struct sw_comm *c);
unsigned sw_comm_world(const struct sw_comm *c);

/* p: type[n]; on all ranks it becomes the sum of those of ranks 0 .. parts - 1 (1 <= parts <= world):
 * what the others have in theirs counts for nothing. I64 wraps. Cost: a copy and a pass for each
 * part, in pieces that stay in the cache. */
SW_NODISCARD sw_status sw_comm_sum(struct sw_comm *c, enum sw_comm_type type, void *p, size_t n,
				   unsigned parts);

/* Sums that are begun are from now on each of the ranks r, r + stages, r + 2 stages, ..., as many as
 * that are, and their `parts` are counted among these. By all ranks, and before sw_comm_devices;
 * stages divides the world. 1, as after open: sums of all. */
void sw_comm_stages(struct sw_comm *c, unsigned stages);

/* The same, begun: p is final on this rank, and is left alone until the end. Does not wait, unless
 * 64 sums have begun; what has come of begun sums is added, so that later calls find less to do.
 * stream: NULL, unless the comm is on devices: then p is a device's, final and left alone in the
 * order of that stream, which has the sum when it is done; all ranks' count, so those from `parts`
 * on have zeros there. */
SW_NODISCARD sw_status sw_comm_sum_begin(struct sw_comm *c, void *stream, float *p, size_t n,
					 unsigned parts);
/* A sum of doubles that the next operation of a step reads: as sw_comm_sum, also between begin and
 * end, and then those that were begun are made before it. On devices p is a device's, and the sum of
 * all ranks' when stream comes to it, as in sw_comm_sum_begin. */
SW_NODISCARD sw_status sw_comm_sum_now(struct sw_comm *c, void *stream, double *p, size_t n,
				       unsigned parts);
/* All that were begun are sums now, or in the order of their stream. */
SW_NODISCARD sw_status sw_comm_sum_end(struct sw_comm *c);

/* out: float[out_n] to the peer, in: float[in_n] from it, whose exchanges with this rank come in the
 * same order, with the same sizes; either may be none (n 0). Two ranks that both send and receive in
 * one call never wait for each other's end. To send, the peer need not have come while 8 MiB suffice
 * for this and for what else is on its way from this rank. stream: as of sw_comm_sum_begin; then out is
 * read, and in is there, in the order of that stream, which waits for the peer's, and the first of
 * two ranks is back when both have come. */
SW_NODISCARD sw_status sw_comm_exchange(struct sw_comm *c, void *stream, unsigned peer,
					const float *out, size_t out_n, float *in, size_t in_n);

/* p: `bytes` bytes of rank `from`, for all. That rank waits for nobody while 8 MiB suffice. */
SW_NODISCARD sw_status sw_comm_broadcast(struct sw_comm *c, unsigned from, void *p, size_t bytes);
/* all: [world][bytes], rank r's `mine` in row r. */
SW_NODISCARD sw_status sw_comm_all_gather(struct sw_comm *c, const void *mine, void *all,
					  size_t bytes);
SW_NODISCARD sw_status sw_comm_barrier(struct sw_comm *c);

/* Rank 0's word, before work that all do or none: its *on becomes that of the others. Rank 0 does
 * not wait for them. */
SW_NODISCARD sw_status sw_comm_go(struct sw_comm *c, bool *on);

/* With "nccl": by all ranks, when the process has taken its device, and before the first
 * sw_comm_sum_begin; nothing with other transports, or a second time. Errors as sw_nccl_open's
 * (nccl.h). */
SW_NODISCARD sw_status sw_comm_devices(struct sw_comm *c, struct sw_err *err);
/* Ends that: by all ranks, when their sums are done and recordings of them are gone; after an error
 * by each for itself. Nothing if it was not begun. SW_DEVICE_LOST, now and at later calls: aborted,
 * it does not get done within the limit of silence; then the process is to end by _exit. */
sw_status sw_comm_devices_end(struct sw_comm *c);
/* Whether sums that are begun are sums of devices' memory. */
bool sw_comm_on_devices(const struct sw_comm *c);
/* How they are made, in words; "" before sw_comm_devices. */
void sw_comm_describe(const struct sw_comm *c, char *text, size_t cap);

/* For a wait of another kind, a device's: shows life, and says what has ended the comm. Does not
 * wait. comm: struct sw_comm *, as ops->watch takes it. Cost: a look at the clock; each 100 ms one
 * at the others. */
SW_NODISCARD sw_status sw_comm_look(void *comm);

/* A sign of life; NULL is allowed. Waits of this room give it, and sw_beat() (base/beat.h),
 * themselves; other work that may take long calls it every 100 ms, by a listener of sw_beat().
 * Cost: a store. */
void sw_comm_beat(struct sw_comm *c);

/* All ranks' waits, now and later, end with `why` (not SW_OK) and the line; the first that is given,
 * by any rank, counts. The others learn of it as soon as they wait. */
void sw_comm_abort(struct sw_comm *c, sw_status why, const char *line);
/* The same for an error of this rank's own: the line begins with "rank 1: ", but rank 0's with
 * nothing. */
void sw_comm_give_up(struct sw_comm *c, sw_status why, const char *msg);
/* The line of the error that ended it, e.g. "rank 1 of 2 has ended"; "" before. */
const char *sw_comm_why(const struct sw_comm *c);

#endif
