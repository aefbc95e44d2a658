/*
 * trainer/comm/comm.h — the ranks of one trial: what they give each other, and how they end.
 *
 * A rank is a thread of the worker that trains the same trial as the others, on a device of its
 * own. Ranks share each batch: every one has all weights, makes the gradients of its own rows, and
 * gets the sum of all gradients. In a pipeline a rank has some layers only, and hands their values
 * to the next one. The lead is rank 0's thread: it makes the comms and starts the others.
 *
 *   once      sw_comm_meet         by the lead, before it starts the ranks: a comm for each
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
 * Waits    A wait ends when a rank gives up. It has no other limit (but NCCL's have: nccl.h). A
 *          rank that waits gives signs of life (sw_beat) as long as the others give theirs: where
 *          one hangs the worker falls silent, and the daemon ends it (proto/silence.h).
 * Errors   The first error of any rank ends the comm for all. A rank learns of it in a wait or in
 *          sw_comm_look; until then its calls that need not wait return SW_OK. From then on each of
 *          its calls returns the error, and sw_comm_why() has the line. What is left to do is to
 *          free recordings, sw_comm_devices_end and sw_comm_close. It is what a rank has passed to
 *          sw_comm_give_up.
 * Memory   All buffers are the caller's, in host memory; none may overlap. Other ranks read and
 *          write them while this rank is in a call, or a sum has begun, and not after that. After
 *          an error those that a call writes may hold neither the old values nor the new ones.
 * Threads  One comm, one thread.
 *
 * The exceptions:
 * Order    Only its two ranks make an exchange, and only its group makes a sum that is begun; but
 *          sum_now is of all ranks, in a pipeline, too. There still is one order of all calls, and
 *          each rank makes its own in that order. Only beat, look, give_up, close and the
 *          questions (rank, world, on_devices, describe, why, blamed) are a rank's own, at any
 *          time.
 * Between  sum_begin and sum_end a rank may only call sum_begin, sum_now, exchange with a rank of
 *          another group, and those that are its own.
 * Devices  After sw_comm_devices begun sums, sums_now and exchanges are of device memory, in the
 *          order of the stream that they name, and NCCL chooses the order of additions (nccl.h).
 *          The caller gives sw_comm_look to ops->watch: otherwise no error of another rank is
 *          noticed while the host waits for a queue. An error aborts NCCL's work: its memory is
 *          then of unknown content.
 */
#ifndef SW_TRAINER_COMM_COMM_H
#define SW_TRAINER_COMM_COMM_H

#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>

#define SW_COMM_WORLD_MAX 64

struct sw_comm; /* opaque; one per rank */

enum sw_comm_type { SW_COMM_F32, SW_COMM_F64, SW_COMM_I64 };

/* --- once --- */

/* out: struct sw_comm *[world], rank r's in row r; each is closed by itself. devices: sums are the
 * devices' own, by NCCL. world: 1 to SW_COMM_WORLD_MAX, which is asserted. Some 90 KiB a rank.
 * SW_NOMEM: none is made. */
SW_NODISCARD sw_status sw_comm_meet(struct sw_comm **out, unsigned world, bool devices,
				    struct sw_err *err);

unsigned sw_comm_rank(const struct sw_comm *c);
unsigned sw_comm_world(const struct sw_comm *c);

/* Ranks r, r + groups, r + 2 groups, ... are a group from now on: sums that are begun are of a
 * group, and their `parts` are counted in it. By all ranks, and before sw_comm_devices; groups
 * divides the world. 1, as at first: all ranks are one group. */
void sw_comm_groups(struct sw_comm *c, unsigned groups);

/* By all ranks, when their threads have taken their devices, and before the first
 * sw_comm_sum_begin. Does nothing where sums are the host's, or a second time. Errors are those of
 * sw_nccl_open (nccl.h). */
SW_NODISCARD sw_status sw_comm_devices(struct sw_comm *c, struct sw_err *err);
/* Are sums the devices'? It is so from the beginning, also without sw_comm_devices. */
bool sw_comm_on_devices(const struct sw_comm *c);
/* How devices' sums are made, in words; "" before sw_comm_devices, and after its end. */
void sw_comm_describe(const struct sw_comm *c, char *text, size_t cap);

/* --- a step --- */

/* p: float[n], final on this rank, and left alone until sw_comm_sum_end. It becomes the sum of the
 * first `parts` ranks of the group (1 <= parts <= its ranks, which is asserted); what the others
 * have in theirs counts for nothing. Does not wait, unless 64 sums have begun; it makes this rank's
 * share of those that all have begun, so that later calls find less to do. stream: NULL, or on
 * devices the stream in whose order p is final, and then the sum. There all ranks' parts count, so
 * those from `parts` on have zeros. */
SW_NODISCARD sw_status sw_comm_sum_begin(struct sw_comm *c, void *stream, float *p, size_t n,
					 unsigned parts);
/* p: double[n] becomes the sum of the first `parts` of all ranks when this is back, or on devices
 * when stream comes to it. 1 <= parts <= world; on devices all ranks' parts count here, too. */
SW_NODISCARD sw_status sw_comm_sum_now(struct sw_comm *c, void *stream, double *p, size_t n,
				       unsigned parts);
/* All that have begun are sums now, or in the order of their stream. */
SW_NODISCARD sw_status sw_comm_sum_end(struct sw_comm *c);

/* From here on what streams are given is recorded, or (false) no longer: an error of CUDA then is a
 * recording's that was spoiled, SW_BUSY, and no lost device's. NULL is allowed. */
void sw_comm_records(struct sw_comm *c, bool records);

/* out: float[out_n] goes to the peer, in: float[in_n] comes from it; either may be none (n 0). The
 * peer makes its exchanges with this rank in the same order, with the same sizes. A rank is back
 * when the peer has what it sends. stream: as of sw_comm_sum_begin; then the first of the two ranks
 * is back when both have come. */
SW_NODISCARD sw_status sw_comm_exchange(struct sw_comm *c, void *stream, unsigned peer,
					const float *out, size_t out_n, float *in, size_t in_n);

/* --- between steps --- */

/* p: type[n] of host memory becomes, on all ranks, the sum of those of ranks 0 .. parts - 1 (1 <=
 * parts <= world). I64 wraps. Cost: each rank adds its share of p, and writes it to all. */
SW_NODISCARD sw_status sw_comm_sum(struct sw_comm *c, enum sw_comm_type type, void *p, size_t n,
				   unsigned parts);
/* p: `bytes` bytes of rank `from`, for all. */
SW_NODISCARD sw_status sw_comm_broadcast(struct sw_comm *c, unsigned from, void *p, size_t bytes);
/* all: [world][bytes], rank r's `mine` in row r. */
SW_NODISCARD sw_status sw_comm_all_gather(struct sw_comm *c, const void *mine, void *all,
					  size_t bytes);
SW_NODISCARD sw_status sw_comm_barrier(struct sw_comm *c);

/* --- signs of life --- */

/* A sign of life of this rank's thread; NULL is allowed. Waits of this header's calls give it
 * themselves. Other work calls this by a listener of sw_beat(). Cost: a store. */
void sw_comm_beat(struct sw_comm *c);
/* For a wait of another kind, a device's: a sign of life, and what has ended the comm. Does not
 * wait. comm: struct sw_comm *, as ops->watch takes it. Cost: a look at the clock. */
SW_NODISCARD sw_status sw_comm_look(void *comm);

/* --- the end --- */

/* By all ranks, when their sums are done and recordings of them are gone; after an error by each
 * for itself. Does nothing if sw_comm_devices did not begin. SW_DEVICE_LOST, now and at later
 * calls, and told by no other function: NCCL does not end within the limit of silence; then the
 * process must end by _exit. */
sw_status sw_comm_devices_end(struct sw_comm *c);
/* NULL is allowed. Does not wait for the others, who may still be in a call that this rank has
 * made. The last to close frees what all had. */
void sw_comm_close(struct sw_comm *c);

/* All ranks' waits, now and later, end with `why` (not SW_OK) and the line, of which 255 bytes are
 * copied: the first that any rank gives. The line begins with "rank 1: ", but rank 0's with
 * nothing. */
void sw_comm_give_up(struct sw_comm *c, sw_status why, const char *msg);
/* The line of the error that ended it, e.g. "rank 1: no memory"; "" before. Valid until the
 * close. */
const char *sw_comm_why(const struct sw_comm *c);
/* The rank that gave up first; 0: none has, or it was rank 0. */
unsigned sw_comm_blamed(const struct sw_comm *c);

#endif
