/*
 * trainer/ranks.h — a trial on several devices at once: the lane that has it is rank 0, and starts
 * a thread for each other rank, which trains with it and ends with it.
 *
 *   start -> agree -> train, all together (trainer/train.h) -> end
 *
 * Devices  A CPU's ranks share its table and its data sets, and have cores each. Of GPUs each rank
 *          has its own, of those that the worker sees.
 * Faults   An error of a rank ends the trial on all (trainer/comm/comm.h). What ends one otherwise
 *          ends the process, and the daemon knows that the attempt is lost.
 */
#ifndef SW_TRAINER_RANKS_H
#define SW_TRAINER_RANKS_H

#include "proto/job.h"
#include "trainer/comm/comm.h"
#include "trainer/runner.h"

struct sw_rank_threads; /* opaque */

/* Starts the job's other ranks; r and job are borrowed until the end. SW_NOMEM, SW_BUSY: none was
 * started. */
SW_NODISCARD sw_status sw_ranks_start(struct sw_rank_threads **out, const struct sw_runner *r,
				      const struct sw_job *job, struct sw_err *err);
struct sw_comm *sw_ranks_comm(const struct sw_rank_threads *g); /* rank 0's; NULL of NULL */

/* All ranks call it with how they are prepared: that of the first one, by number, that is not ready
 * counts for all. Its line begins with "rank 1: ", but rank 0's with nothing. *blamed: its number.
 * Errors of the comm, too. */
SW_NODISCARD sw_status sw_ranks_agree(struct sw_comm *c, sw_status mine, bool *impossible,
				      unsigned *blamed, struct sw_err *err);

/* Waits until the ranks have ended. False: one does not within 10 s, for a driver holds it: then
 * the process must end by _exit. NULL is allowed. */
SW_NODISCARD bool sw_ranks_end(struct sw_rank_threads *g);

#endif
