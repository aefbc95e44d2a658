/*
 * worker/exec/ranks.h — the processes of one run of a program, one for each rank, what they write,
 * and what each finds in its environment.
 *
 *   RANK, LOCAL_RANK               0 up to WORLD_SIZE - 1
 *   WORLD_SIZE, LOCAL_WORLD_SIZE   how many there are
 *   MASTER_ADDR, MASTER_PORT       where they meet: rank 0 listens there
 *
 * as torch.distributed reads them (its page "Environment variable initialization"). Rank 0 is the
 * trial's program, and most programs have no other: it alone reports. The others have no
 * SWEEPD_METRICS_FD; the trial's log keeps what they print.
 */
#ifndef SW_WORKER_EXEC_RANKS_H
#define SW_WORKER_EXEC_RANKS_H

#include "worker/exec/environment.h"
#include "worker/exec/lines.h"
#include "worker/exec/output.h"
#include "worker/exec/program.h"
#include "worker/exec/words.h"
#include <poll.h>

struct sw_rank {
	struct sw_program program;
	struct sw_lines out, err;
	struct sw_words words; /* of its stderr */
};

struct sw_ranks {
	struct sw_rank *v; /* rank i is v[i] */
	size_t n;
	struct sw_lines metrics; /* of rank 0's socket */
	bool text;      /* the stderr of rank 0 may hold reports: it is read as its stdout is */
	size_t failed;  /* another rank, which says why they failed; 0: none */
	uint64_t kills; /* sw_oom_kills() before this run */
	struct sw_output log;
	int64_t reaped_us; /* when their orphans were reaped last */
};

/* For a job's ranks (0: a program that is one process), none of which runs. log: where what they
 * print is kept, borrowed. SW_NOMEM. */
SW_NODISCARD sw_status sw_ranks_init(struct sw_ranks *r, size_t world, const char *log,
				     struct sw_err *err);
void sw_ranks_fini(struct sw_ranks *r);

/* Sets the variables above for rank 0, at a free port of this machine. Another process may take the
 * port before rank 0 does: then rank 0 fails, and exec.c starts all again. SW_IO: no port is
 * free. */
SW_NODISCARD sw_status sw_ranks_meet(struct sw_environment *e, size_t world, struct sw_err *err);
/* Then for another one. */
void sw_ranks_number(struct sw_environment *e, size_t rank);

/* Appends the descriptors to be watched: 4 of rank 0, whose socket the caller may want to read or
 * write and whose prints it may want to leave, and 3 of each other. */
void sw_ranks_watch(const struct sw_ranks *r, short socket, bool prints, struct pollfd *fds,
		    size_t *n);
/* Reads what has come at a descriptor, without waiting. Also sees that a rank has ended. */
void sw_ranks_take(struct sw_ranks *r, int fd);
/* Reads what has come at all of them. False: nothing came. */
bool sw_ranks_read(struct sw_ranks *r);
/* Nothing more comes from them. */
void sw_ranks_end_lines(struct sw_ranks *r);
/* Keeps the lines that are no reports: all but what rank 0 prints where reports may stand. */
void sw_ranks_keep_lines(struct sw_ranks *r);

bool sw_ranks_are_left(const struct sw_ranks *r); /* as of one program */
/* Sends a signal (0: none) to those that run. Returns how many do. */
size_t sw_ranks_signal(const struct sw_ranks *r, int sig);
/* Did memory that ran out end a rank? The kernel says so, or its own last words. */
bool sw_ranks_are_oom(const struct sw_ranks *r);
/* Looks for one of the others that has failed. */
bool sw_ranks_have_failed(struct sw_ranks *r);
/* Blames a rank that was killed, or crashed, rather than one that ended for its loss: its sockets
 * close before it has ended, so that the other's end may be seen first. Call this when they have
 * had their time to end, and before they are sent a signal. */
void sw_ranks_blame(struct sw_ranks *r);
/* Closes those that were started. How each ended stays known until: */
void sw_ranks_close(struct sw_ranks *r);
void sw_ranks_reset(struct sw_ranks *r); /* before they are started again */

#endif
