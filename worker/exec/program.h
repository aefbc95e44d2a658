/*
 * worker/exec/program.h — a trial's program as a process, with all that it starts.
 *
 * It leads a session of its own. The worker is a subreaper: what outlives its parent, even in a
 * session of its own, becomes a child of the worker. With several lanes its mark (base/process.h)
 * says which lane's it is. So a program that has ended without leaving anything behind costs no
 * look at /proc.
 *
 * Threads  Each lane has its own; what they share is locked here.
 */
#ifndef SW_WORKER_EXEC_PROGRAM_H
#define SW_WORKER_EXEC_PROGRAM_H

#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define SW_PROGRAM_METRICS_FD 3 /* in the program */

struct sw_program {
	pid_t pid; /* 0: none */
	/* Non-blocking, -1 once closed: readable when it has ended; the socket; stdout; stderr. */
	int pidfd, metrics, out, err;
	bool ended;       /* it was reaped, and: */
	int code, signal; /* its exit status, or the signal that ended it (else 0) */
	const char *mark; /* borrowed */
	bool marked;      /* by its limit of file locks, too (base/process.h) */
	bool keeps; /* it forks programs (worker/exec/launcher.h), and is no part of any itself */
	struct sw_program *next; /* of all lanes, from sw_program_start() to sw_program_close() */
};

void sw_program_init(struct sw_program *p);

/* file: as sw_program_find() gives it. mark: an entry of env. cwd: an absolute path. mask: its
 * umask; -1: the worker's. SW_NOT_FOUND, SW_DENIED, SW_INVALID: what is wrong with it; SW_BUSY: the
 * machine has no process, memory or descriptor left. */
SW_NODISCARD sw_status sw_program_start(struct sw_program *p, const char *file, char *const argv[],
					char *const env[], const char *cwd, int mask,
					const char *mark, struct sw_err *err);

/* From now on it is a launcher: neither it nor what its session has is left of a program. */
void sw_program_keep(struct sw_program *p);

/* For a program that a launcher forks: makes the ways to it, all or none. theirs: its stdout,
 * stderr and socket, the caller's to close. false: there is no descriptor left, errno says why. */
SW_NODISCARD bool sw_program_open(struct sw_program *p, int theirs[3]);

/* After sw_program_open(): p is this process, which the launcher forked, and which waits for leave
 * to leave its session. false: it has ended, or cannot be watched; close p. */
SW_NODISCARD bool sw_program_take(struct sw_program *p, pid_t pid,
				  const struct sw_program *launcher, const char *mark);

/* Takes the status if it has ended. Costs one system call. */
bool sw_program_has_ended(struct sw_program *p);

/* Is anything left of it, itself included? Reaps what has ended. */
bool sw_program_is_left(const struct sw_program *p);

/* Of what is left of it and of those with the same mark, the other ranks of its trial. What leads a
 * session of its own is no helper. */
enum sw_program_part {
	SW_PROGRAM_ALL,
	SW_PROGRAM_HELPERS,
	SW_PROGRAM_TOPS, /* the helpers whose own parent has ended */
};

/* The processes that got a SIGTERM: each gets one. */
struct sw_told {
	size_t n;
	pid_t pid[256];
};

/* Sends a signal (0: none) to that part; told NULL: to all of it. Returns how many there are. Costs
 * a look at /proc. */
size_t sw_program_signal(const struct sw_program *p, enum sw_program_part part, int sig,
			 struct sw_told *told);

/* Reaps what it left and has ended meanwhile. Costs one system call where there is nothing. */
void sw_program_reap(void);

/* Closes its descriptors and forgets it. */
void sw_program_close(struct sw_program *p);

/* Finds `name` in the folders of `path` (as PATH has them); a name with a slash is taken as it is.
 * false: it is in none of them. */
bool sw_program_find(const char *name, const char *path, char *out, size_t cap);

#endif
