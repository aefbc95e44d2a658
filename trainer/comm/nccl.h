/*
 * trainer/comm/nccl.h — sums and exchanges on GPUs by NCCL, a thread for each device: memory
 * carries all that the host says (this library's ids, rank 0's word, metrics, faults), NCCL the
 * gradients, and what crosses a pipeline's cuts.
 *
 * Library  libnccl.so.2, 2.22 or later, opened when it is first needed; nothing links it.
 * Order    Fixed for the same GPUs, library and settings, and of two ranks that of the host's
 *          sums: a + b is b + a. Three or more add in the ring's order, not in rank order.
 *          For that the algorithm is pinned by the environment, unless the user has set it:
 *          NCCL_ALGO=Ring, NCCL_NVLS_ENABLE=0 (a switch would add in an order of its own). The
 *          protocol is NCCL's choice by the size. sw_nccl_describe() says what holds.
 * Process  From the comm's meeting to its last close NCCL's settings are in the environment.
 * Zeros    All ranks take part in each sum: one without rows must add zeros. The sum of -0s of
 *          ranks with rows is then 0, where the host's sums say -0.
 * Waits    Calls of NCCL do not block; each is asked after until it is done, while the rank looks
 *          at the others (sw_comm_look), and for at most 64 s.
 * Faults   What fails ends the comm: the line names NCCL's call. Aborted, whatever streams were
 *          given ends soon, of unknown outcome. Once it was, all calls but abort and close are
 *          refused. A thread makes NCCL's calls for that: they wait until graphs with sums or
 *          exchanges are freed, which is the caller's to do, before it closes.
 * Graphs   Sums and exchanges may be recorded (ops.h), after the same were made outside of a
 *          recording, on all ranks or none, and all recordings end before sw_nccl_close, which
 *          waits for them.
 * Groups   Sums of a group have a communicator of their own.
 */
#ifndef SW_TRAINER_COMM_NCCL_H
#define SW_TRAINER_COMM_NCCL_H

#include "trainer/comm/comm.h"

struct sw_nccl;

/* Puts what a user has not set into the environment, while no other thread of the trial reads it:
 * for so many ranks. The bits of what it was, for sw_nccl_unset: a program of a later trial gets
 * this environment. */
unsigned sw_nccl_set(unsigned world);
void sw_nccl_unset(unsigned set);

/* By all ranks, when their threads have taken their devices. SW_UNSUPPORTED: no library, or it is
 * too old; SW_NOMEM; SW_DEVICE_LOST, SW_PEER_LOST, SW_IO, SW_INTERNAL: what NCCL says; what ends c;
 * SW_BUSY: no thread. Seconds. */
SW_NODISCARD sw_status sw_nccl_open(struct sw_nccl **out, struct sw_comm *c, struct sw_err *err);
/* NULL is allowed. sw_comm_devices_end says whether it got done. */
void sw_nccl_close(struct sw_nccl *n);

/* p: float[count], the device's; the sum of the group's, when stream comes to it. */
SW_NODISCARD sw_status sw_nccl_sum(struct sw_nccl *n, void *stream, float *p, size_t count);
SW_NODISCARD sw_status sw_nccl_sum_f64(struct sw_nccl *n, void *stream, double *p, size_t count);

/* out: float[out_n], in: float[in_n], the device's: as sw_comm_exchange, one group of NCCL's. */
SW_NODISCARD sw_status sw_nccl_exchange(struct sw_nccl *n, void *stream, unsigned peer,
					const float *out, size_t out_n, float *in, size_t in_n);

/* Whether what was given has failed: then the comm has. Does not wait. */
void sw_nccl_look(struct sw_nccl *n);
/* Begins the end. NULL is allowed, and a second time. */
void sw_nccl_abort(struct sw_nccl *n);

/* Version and settings, as "NCCL 2.28.9, NCCL_ALGO=Ring, ...". */
void sw_nccl_describe(const struct sw_nccl *n, char *text, size_t cap);

#endif
