/*
 * worker/gang.h — a trial on several devices at once: the worker that has it is rank 0 and starts
 * the others as its children, which train with it and end with it.
 *
 *   start -> agree (worker/rank.h) -> train, all together (worker/train.h) -> end
 *
 * Faults   A rank that ends, or is silent, ends the trial's attempt on all (worker/comm/comm.h). A
 *          child whose parent dies gets SIGKILL; children are in the worker's process group, which
 *          the daemon ends with it.
 * Secrets  What a child is told lies in a file without a name, its standard input.
 */
#ifndef SW_WORKER_GANG_H
#define SW_WORKER_GANG_H

#include "worker/comm/comm.h"
#include "worker/run.h"

struct sw_gang; /* opaque */

/* Starts the job's other ranks and waits until all have met. SW_PEER_LOST: one did not come;
 * SW_BUSY, SW_NOMEM, SW_IO, SW_UNSUPPORTED: none was started. Cost: 15 ms. */
SW_NODISCARD sw_status sw_gang_start(struct sw_gang **out, const struct sw_runner *r,
				     const struct sw_job *job, struct sw_err *err);

struct sw_comm *sw_gang_comm(const struct sw_gang *g); /* NULL of NULL */

/* After SW_PEER_LOST: err again, with how the rank ended where that is known: "(signal 9)". A rank
 * that a signal has ended is named before the one that err names: that one may have ended because
 * it found the other lost. */
void sw_gang_say_how(struct sw_gang *g, struct sw_err *err);

/* Ends the ranks: those that do not end by themselves within 2 s, or all at once, by SIGKILL. One
 * that does not die of it within 2 s, for a driver holds it, is left to the system. NULL is
 * allowed. */
void sw_gang_end(struct sw_gang *g, bool at_once);

#endif
