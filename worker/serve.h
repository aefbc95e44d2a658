/*
 * worker/serve.h — the worker at work: a thread and a connection for each lane, trials until the
 * daemon or a signal ends them. The first trial of the trainer opens the device.
 *
 * Lanes    Lane i is the daemon's slot `slot + i`: its own session, queue and arenas. What they
 *          share is the table, whose queues know nothing of each other, and the data sets. On a CPU
 *          lanes share its cores: whoever finds the threads busy works alone.
 * Threads  One for each lane, but that a single lane is the caller's.
 */
#ifndef SW_WORKER_SERVE_H
#define SW_WORKER_SERVE_H

#include "worker/link/session.h"
#include <stddef.h>

/* The exit status of a worker whose device is lost to it; a new process may use it. */
#define SW_WORKER_EXIT_DEVICE 3

#define SW_WORKER_LANES_MAX 1024

struct sw_serve {
	/* of the first lane: the next one has the next slot. Once wake_fd is readable all lanes
	 * end. */
	struct sw_session_config link;
	unsigned lanes;     /* at least 1 */
	const char *device; /* as kernels/backend.h takes it */
	const char *name; /* people's name of it, of several lanes the first one's; NULL: device */
	unsigned cores;   /* that a CPU may use */
	size_t memory;    /* bytes of all lanes' trials together; 0: no cap */
	int wake;         /* the other end of its pipe: written to when all must */
};

/* Returns the process's exit status; what is not 0 has its line on stderr. With
 * SW_WORKER_EXIT_DEVICE other lanes may still run: the process must end by _exit. */
int sw_serve(const struct sw_serve *config);

#endif
