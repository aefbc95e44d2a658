/*
 * bench/lib/server.h — the other ends: an empty libuv echo, and sweepd, each a process of its own.
 *
 * A server dies with the bench, however that ends (PR_SET_PDEATHSIG).
 */
#ifndef SW_BENCH_LIB_SERVER_H
#define SW_BENCH_LIB_SERVER_H

#include <sys/types.h>

/* Sends back every byte as it came: what libuv alone costs. -1 on failure. */
pid_t bench_echo_start(const char *socket_path);

/* sweepd of the same folder as this program, without slots, logging to dir/log. -1 on failure. */
pid_t bench_sweepd_start(const char *dir, const char *socket_path);

/* Waits until it has computed nothing for 60 ms (a tick is 10), at most 20 s. */
void bench_server_rest(pid_t pid);

/* SIGTERM, then waits. The exit status, or -1. */
int bench_server_stop(pid_t pid);

#endif
