/*
 * worker/rank.h — `sweep-worker rank`: one rank of a trial that several share, but the first. It is
 * started by the worker that has the trial (worker/gang.h), speaks to nobody else, and ends with
 * it.
 */
#ifndef SW_WORKER_RANK_H
#define SW_WORKER_RANK_H

#include "base/status.h"
#include "worker/comm/comm.h"
#include <stdbool.h>
#include <sys/types.h>

/* The head of its standard input, before the job's JSON: both ends are the same program. */
struct sw_rank_start {
	struct sw_comm_seat seat;
	pid_t lead;      /* its parent */
	char device[40]; /* for sw_backend_open() */
	unsigned cores;
	size_t memory; /* most bytes that it may take; 0: no cap */
	bool streams;  /* as struct sw_runner */
};

/* The number of the descriptor of struct sw_comm_seat. */
#define SW_RANK_FD 3

/* All ranks call it with how they are prepared: that of the first one, by number, that is not ready
 * counts for all. Its line begins with "rank 1: ", but rank 0's with nothing. Errors of the comm,
 * too. */
SW_NODISCARD sw_status sw_rank_agree(struct sw_comm *c, sw_status mine, bool *impossible,
				     struct sw_err *err);

/* The rank that is to blame, by a line of sw_rank_agree or sw_comm_why; 0 also where it names none.
 * All ranks have the line of the one that found the fault, and nothing beside it. */
unsigned sw_rank_named(const char *line);

/* Runs its part of the trial. Returns the exit status: 0 also where all ranks end with one's
 * error. */
int sw_rank_serve(void);

#endif
