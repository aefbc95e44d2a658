/*
 * base/process.h — the processes of this machine as /proc shows them: who is whose child, whose
 * environment has a mark, and a signal that reaches no other process.
 *
 * What a program forked away (setsid, a double fork) is found by its mark: an entry of the
 * environment that it began with, and a number made of that entry as its soft RLIMIT_LOCKS. Its
 * children inherit both. The number is there for a process that was given another environment,
 * wrote a title over it (setproctitle), or lets nobody read it (PR_SET_DUMPABLE): Linux has not
 * used that limit since 2.4.25, and /proc shows it to everybody (proc(5): limits).
 *
 * Threads  Any. A look at all costs about 10 µs a process of the machine, so it is no work for a
 *          loop.
 * Errors   A process that has ended meanwhile, or is another user's, counts as not there.
 */
#ifndef SW_BASE_PROCESS_H
#define SW_BASE_PROCESS_H

#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct sw_process {
	pid_t pid, parent, session;
	char name[32];  /* of its program; may be cut */
	char state;     /* as proc(5) says: 'R', 'S', ...; 'Z': it only waits to be reaped */
	uint64_t start; /* clock ticks since boot: with pid its identity */
};

/* Is errno's code for a want that may pass: of a process, memory or a descriptor? */
bool sw_process_lacks(int code);

bool sw_process_read(pid_t pid, struct sw_process *out);

/* All of them, in (*out)[0..*n); the caller frees it. SW_NOMEM; SW_IO: there is no /proc. */
SW_NODISCARD sw_status sw_process_list(struct sw_process **out, size_t *n);

/* The soft RLIMIT_LOCKS that marks as "NAME=value" does. */
uint64_t sw_process_mark(const char *entry);
/* Is one of these n "NAME=value" its mark? Of a huge environment only the first 2 MiB are read. */
bool sw_process_marked(pid_t pid, const char *const *entry, size_t n);

/* Sends the signal, unless the process that was looked at has ended: its number may be another's
 * by now. false: nothing was sent. */
bool sw_process_signal(const struct sw_process *p, int sig);

/* Sends SIGKILL to the newest process of the machine, again and again for so long, if it has such a
 * mark. In a chain of forks, each of which ends at once, a look at all processes would meet none
 * that is alive. Returns how many got it. */
size_t sw_process_chase_marked(const char *const *entry, size_t n, int64_t us);

/* SIGKILL to all processes with one of these marks, but the caller's own, until two looks and the
 * 10 ms before each find none; for at most 2 s. Returns how many were killed. */
size_t sw_process_end_marked(const char *const *entry, size_t n);

/* A file without a name that holds these bytes, read from its start: a program's standard input,
 * for which nobody waits whether or not the program reads it. The caller closes it. -1: errno. */
int sw_process_input(const void *bytes, size_t n);

#endif
