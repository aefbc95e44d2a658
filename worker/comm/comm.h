/*
 * worker/comm/comm.h — the ranks of one trial: what they give each other, and how they notice that
 * one of them is lost.
 *
 * A rank is a process that trains the same trial as the others, on a slot of its own. Ranks share
 * each batch: every one has all weights, makes the gradients of its own rows, and gets the sum of
 * all gradients. In a pipeline a rank has some layers only, and hands their values to the next one.
 * The lead is rank 0's process: it makes the memory, starts the others and closes last.
 *
 *   once      sw_comm_meet         by the lead, before it starts the ranks: makes their memory
 *             sw_comm_open         by each rank; comes back when all are there
 *             sw_comm_groups       with a pipeline: whose gradients are of the same weights
 *             sw_comm_devices      with GPUs: lets NCCL carry what devices hold
 *   a step    sw_comm_exchange     in a pipeline, with the rank before and the one behind
 *             sw_comm_sum_begin    for each bucket of gradients, as soon as it is final
 *             sw_comm_sum_now      for a sum that the next operation needs, as batch norms do
 *             sw_comm_sum_end      now all buckets are sums
 *   between   sw_comm_sum, sw_comm_broadcast, sw_comm_all_gather, sw_comm_barrier
 *   at last   sw_comm_devices_end, sw_comm_close
 *
 * What always holds:
 * Order    All ranks make the same calls in the same order, with the same sizes.
 * Bits     A sum is ((r0 + r1) + r2) + ..., in rank order, on every rank: all have the same bits,
 *          but for the payload of a NaN.
 * Waits    A wait ends when a rank is lost. It has no other limit (but NCCL's have: nccl.h): ranks
 *          that wait show life, and if their calls differ may wait for each other without end.
 * Pieces   Bytes go in pieces of at most 128 KiB, those of a small call in one. A rank that only
 *          sends does not wait while fewer than 64 of its pieces are unread by some rank.
 * Errors   The first error of any rank ends the comm for all. A rank learns of it in a wait or in
 *          sw_comm_look; until then its calls that need not wait return SW_OK, so one rank may have
 *          a whole sum where another has SW_PEER_LOST. From then on each of its calls returns the
 *          error, and sw_comm_why() has the line. What is left to do is to free recordings,
 *          sw_comm_devices_end and sw_comm_close. SW_PEER_LOST; what a rank has passed to
 *          sw_comm_abort; SW_INTERNAL: calls differ in the kind or the size of a piece (no other
 *          difference is noticed).
 * Memory   All buffers are the caller's, in host memory; none may overlap. After an error those
 *          that a call writes may hold neither the old values nor the new ones.
 * Threads  One comm, one thread.
 *
 * The exceptions:
 * Order    Only its two ranks make an exchange, and only its group makes a sum that is begun; but
 *          sum_now is of all ranks, in a pipeline, too. There still is one order of all calls, and
 *          each rank makes its own in that order. Only beat, look, abort, give_up, close and the
 *          questions (rank, world, on_devices, describe, why) are a rank's own, at any time.
 * Between  sum_begin and sum_end a rank may only call sum_begin, sum_now, exchange with a rank of
 *          another group, and those that are its own.
 * Devices  After sw_comm_devices begun sums, sums_now and exchanges are of device memory, in the
 *          order of the stream that they name, and NCCL chooses the order of additions (nccl.h).
 *          The caller gives sw_comm_look to ops->watch: otherwise no lost rank is noticed while the
 *          host waits for a queue. An error aborts NCCL's work: its memory is then of unknown
 *          content.
 * Lost     A rank shows life whenever it waits, and by sw_comm_beat. One that is silent for 8 s
 *          counts as lost, and any rank that waits or looks kills it (SIGKILL), whichever rank it
 *          waits for. While its thread computes or waits for a disk the limit is 56 s. A rank that
 *          has ended is noticed within 200 ms. One that has closed counts as silent, and so does
 *          one that has not come to sw_comm_open; these are not killed. SWEEPD_COMM_SILENT_MS, for
 *          tests, sets another limit, of 8 s at most.
 */
#ifndef SW_WORKER_COMM_COMM_H
#define SW_WORKER_COMM_COMM_H

#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>

#define SW_COMM_WORLD_MAX 64

struct sw_comm; /* opaque; one per rank */

/* What a rank needs to open its comm: plain bytes, so that a lead can hand it to a child as it
 * is. */
struct sw_comm_seat {
	unsigned rank, world;
	char transport[8]; /* "shm", or "nccl": shm with sums on devices */
	int fd;            /* the shared memory, the same for all */
};

enum sw_comm_type { SW_COMM_F32, SW_COMM_F64, SW_COMM_I64 };

/* --- once --- */

/* By the lead, before it starts the ranks. *at becomes rank 0's seat; the others get a copy with
 * their own rank. at->fd is closed on exec; the caller closes it when all ranks have theirs. Takes
 * 8 MiB of memory a rank, until the last of them is closed. world: 1 to SW_COMM_WORLD_MAX, which is
 * asserted. SW_UNSUPPORTED: an unknown transport; SW_BUSY: no memory or descriptor now; SW_IO. */
SW_NODISCARD sw_status sw_comm_meet(struct sw_comm_seat *at, const char *transport, unsigned world,
				    struct sw_err *err);

/* By each rank. Comes back when all ranks have come, or with SW_PEER_LOST when one has not within
 * the limit of silence. at->fd is borrowed until then. SW_UNSUPPORTED: an unknown transport;
 * SW_INVALID: at->fd is no such memory; SW_NOMEM; what another rank has aborted with. On an error
 * *out is NULL. */
SW_NODISCARD sw_status sw_comm_open(struct sw_comm **out, const struct sw_comm_seat *at,
				    struct sw_err *err);

unsigned sw_comm_rank(const struct sw_comm *c);
unsigned sw_comm_world(const struct sw_comm *c);

/* Ranks r, r + groups, r + 2 groups, ... are a group from now on: sums that are begun are of a
 * group, and their `parts` are counted in it. By all ranks, and before sw_comm_devices; groups
 * divides the world. 1, as after open: all ranks are one group. */
void sw_comm_groups(struct sw_comm *c, unsigned groups);

/* With the transport "nccl", by all ranks, when the process has taken its device, and before the
 * first sw_comm_sum_begin. Does nothing with other transports, or a second time. Errors are those
 * of sw_nccl_open (nccl.h). */
SW_NODISCARD sw_status sw_comm_devices(struct sw_comm *c, struct sw_err *err);
/* Is the transport "nccl"? It is so from open to close, also without sw_comm_devices. */
bool sw_comm_on_devices(const struct sw_comm *c);
/* How devices' sums are made, in words; "" before sw_comm_devices, and after its end. */
void sw_comm_describe(const struct sw_comm *c, char *text, size_t cap);

/* --- a step --- */

/* p: float[n], final on this rank, and left alone until sw_comm_sum_end. It becomes the sum of the
 * first `parts` ranks of the group (1 <= parts <= its ranks, which is asserted); what the others
 * have in theirs counts for nothing. Does not wait, unless 64 sums have begun; it adds what other
 * ranks' parts have come, so that later calls find less to do. stream: NULL, or on devices the
 * stream in whose order p is final, and then the sum. There all ranks' parts count, so those from
 * `parts` on have zeros. */
SW_NODISCARD sw_status sw_comm_sum_begin(struct sw_comm *c, void *stream, float *p, size_t n,
					 unsigned parts);
/* p: double[n] becomes the sum of the first `parts` of all ranks when this is back, or on devices
 * when stream comes to it. Sums that have begun are made before it. 1 <= parts <= world; on devices
 * all ranks' parts count here, too. */
SW_NODISCARD sw_status sw_comm_sum_now(struct sw_comm *c, void *stream, double *p, size_t n,
				       unsigned parts);
/* All that have begun are sums now, or in the order of their stream. */
SW_NODISCARD sw_status sw_comm_sum_end(struct sw_comm *c);

/* out: float[out_n] goes to the peer, in: float[in_n] comes from it; either may be none (n 0). The
 * peer makes its exchanges with this rank in the same order, with the same sizes. Two ranks that
 * both send and receive in one call never wait for each other's end. stream: as of
 * sw_comm_sum_begin; then the first of the two ranks is back when both have come. */
SW_NODISCARD sw_status sw_comm_exchange(struct sw_comm *c, void *stream, unsigned peer,
					const float *out, size_t out_n, float *in, size_t in_n);

/* --- between steps --- */

/* p: type[n] of host memory becomes, on all ranks, the sum of those of ranks 0 .. parts - 1 (1 <=
 * parts <= world). I64 wraps. Cost: a copy and a pass for each part, in pieces that stay in the
 * cache. */
SW_NODISCARD sw_status sw_comm_sum(struct sw_comm *c, enum sw_comm_type type, void *p, size_t n,
				   unsigned parts);
/* p: `bytes` bytes of rank `from`, for all. That rank only sends; the others wait for it alone. */
SW_NODISCARD sw_status sw_comm_broadcast(struct sw_comm *c, unsigned from, void *p, size_t bytes);
/* all: [world][bytes], rank r's `mine` in row r. */
SW_NODISCARD sw_status sw_comm_all_gather(struct sw_comm *c, const void *mine, void *all,
					  size_t bytes);
SW_NODISCARD sw_status sw_comm_barrier(struct sw_comm *c);

/* --- signs of life --- */

/* A sign of life; NULL is allowed. Waits of this header's calls show life, and call sw_beat()
 * (base/beat.h). Other work that may take long calls this every 100 ms, by a listener of sw_beat().
 * Cost: a store. */
void sw_comm_beat(struct sw_comm *c);
/* For a wait of another kind, a device's: shows life, and returns what has ended the comm. Does not
 * wait. comm: struct sw_comm *, as ops->watch takes it. Cost: a look at the clock; each 100 ms one
 * at the others. */
SW_NODISCARD sw_status sw_comm_look(void *comm);

/* --- the end --- */

/* By all ranks, when their sums are done and recordings of them are gone; after an error by each
 * for itself. Does nothing if sw_comm_devices did not begin. SW_DEVICE_LOST, now and at later
 * calls, and told by no other function: NCCL does not end within the limit of silence; then the
 * process must end by _exit. */
sw_status sw_comm_devices_end(struct sw_comm *c);
/* NULL is allowed. Does not wait for the others. A rank that has closed while others wait counts as
 * lost once the limit is over. So ranks first make a call in which each waits for all: a barrier,
 * an all_gather, or a sum with parts = world. A broadcast may follow it, not replace it. */
void sw_comm_close(struct sw_comm *c);

/* All ranks' waits, now and later, end with `why` (not SW_OK) and the line, of which 255 bytes are
 * copied. The first that any rank gives counts, but a rank that has an error already keeps it. */
void sw_comm_abort(struct sw_comm *c, sw_status why, const char *line);
/* The same for an error of this rank's own: the line begins with "rank 1: ", but rank 0's with
 * nothing. */
void sw_comm_give_up(struct sw_comm *c, sw_status why, const char *msg);
/* The line of the error that ended it, e.g. "rank 1 of 2 has ended"; "" before. Valid until the
 * close. */
const char *sw_comm_why(const struct sw_comm *c);

#endif
