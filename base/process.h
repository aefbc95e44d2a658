/*
 * base/process.h — the processes of this machine as /proc shows them: who is whose child, whose
 * environment has a mark, and a signal that reaches no other process.
 *
 * What a program forked away (setsid, a double fork) is found by its mark: an entry of the
 * environment that it began with, which its children inherit.
 *
 * Threads  Any. A look at all costs about 10 µs a process of the machine, so it is no work for a loop.
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
	pid_t pid, parent;
	char state;     /* as proc(5) says: 'R', 'S', ...; 'Z': it only waits to be reaped */
	uint64_t start; /* clock ticks since boot: with pid its identity */
};

bool sw_process_read(pid_t pid, struct sw_process *out);

/* All of them, in (*out)[0..*n); the caller frees it. SW_NOMEM; SW_IO: there is no /proc. */
SW_NODISCARD sw_status sw_process_list(struct sw_process **out, size_t *n);

/* Is "NAME=value" an entry of the environment? Of a huge one only the first 2 MiB are read. */
bool sw_process_marked(pid_t pid, const char *entry);

/* Sends the signal, unless the process that was looked at has ended: its number may be another's
 * by now. false: nothing was sent. */
bool sw_process_signal(const struct sw_process *p, int sig);

/* SIGKILL to all processes with this entry, but the caller's own, until two looks find none, 10 ms
 * apart; for at most 2 s. Returns how many were killed. */
size_t sw_process_end_marked(const char *entry);

#endif
