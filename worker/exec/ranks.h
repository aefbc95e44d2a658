/*
 * worker/exec/ranks.h — the other processes of a program that is started once for each rank, and
 * what each finds in its environment.
 *
 *   RANK, LOCAL_RANK               0 up to WORLD_SIZE - 1
 *   WORLD_SIZE, LOCAL_WORLD_SIZE   how many there are
 *   MASTER_ADDR, MASTER_PORT       where they meet: rank 0 listens there
 *
 * as torch.distributed reads them (its page "Environment variable initialization"). Rank 0 is the
 * trial's program: it alone reports. The others have no SWEEPD_METRICS_FD; what they print is kept.
 */
#ifndef SW_WORKER_EXEC_RANKS_H
#define SW_WORKER_EXEC_RANKS_H

#include "worker/exec/environment.h"
#include "worker/exec/lines.h"
#include "worker/exec/program.h"
#include <poll.h>

struct sw_rank {
	struct sw_program program;
	struct sw_lines out, err;
	char last_words[200]; /* its last line on stderr */
};

struct sw_ranks {
	struct sw_rank *v; /* rank 1 is v[0] */
	size_t n;          /* 0: the program is one process */
};

/* For a job's ranks, none of which runs. SW_NOMEM. */
SW_NODISCARD sw_status sw_ranks_init(struct sw_ranks *r, size_t world, struct sw_err *err);
void sw_ranks_fini(struct sw_ranks *r);

/* Sets the variables above for rank 0, at a free port of this machine. Another process may take the
 * port before rank 0 does: then rank 0 fails. SW_IO: there is none. */
SW_NODISCARD sw_status sw_ranks_meet(struct sw_environment *e, size_t world, struct sw_err *err);
/* Then for another one. */
void sw_ranks_number(struct sw_environment *e, size_t rank);

/* Appends what is to be watched: 3 descriptors a rank at most. */
void sw_ranks_watch(const struct sw_ranks *r, struct pollfd *fds, size_t *n);
/* Reads what has come, without waiting. False: nothing came. */
bool sw_ranks_read(struct sw_ranks *r);

/* Nothing more comes from them. */
void sw_ranks_end_lines(struct sw_ranks *r);

/* The first that failed, or 0. */
size_t sw_ranks_failed(const struct sw_ranks *r);
bool sw_ranks_are_left(const struct sw_ranks *r); /* as of one program */
/* Closes those that were started. How each ended stays known until: */
void sw_ranks_close(struct sw_ranks *r);
void sw_ranks_reset(struct sw_ranks *r); /* before they are started again */

#endif
