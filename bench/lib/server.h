/*
 * bench/lib/server.h — the other ends: an empty libuv echo, and sweepd, each a process of its own.
 *
 * A server dies with the bench, however that ends (PR_SET_PDEATHSIG). The state folder lies on the
 * file system that is measured, the sockets on a short path; both go when the bench ends.
 */
#ifndef SW_BENCH_LIB_SERVER_H
#define SW_BENCH_LIB_SERVER_H

#include "bench/lib/client.h"
#include <limits.h>
#include <sys/types.h>

/* Sends back every byte as it came: what libuv alone costs. -1 on failure. */
pid_t bench_echo_start(const char *socket_path);

/* A sweepd of the same folder as this program, and a client of it. */
struct bench_rig {
	char dir[PATH_MAX]; /* the databases, and sweepd's log */
	char sockets[64];
	char socket[80]; /* sweepd's */
	pid_t pid;
	struct bench_client c;
};

/* New folders, the state's under `where`; then sweepd, with these arguments besides
 * (NULL-terminated). 0, or -1 with a line on stderr; bench_rig_close() in either case. */
int bench_rig_make(struct bench_rig *r, const char *where);
int bench_rig_start(struct bench_rig *r, const char *const args[]);
/* 0; or -1, with a line on stderr, where sweepd did not end cleanly: then the folder stays. */
int bench_rig_close(struct bench_rig *r);

/* SIGTERM, then waits. The exit status, or -1. */
int bench_server_stop(pid_t pid);

#endif
