/*
 * worker/serve.h — the worker at work: its device opened, a thread and a connection for each lane,
 * trials until the daemon or a signal ends them.
 *
 * Lanes    Lane i is the daemon's slot `slot + i`: its own session, queue and arenas. What they
 *          share is the table, whose queues know nothing of each other, and the data sets. On a CPU
 *          lanes share its cores: whoever finds the threads busy works alone.
 * Threads  One for each lane, but that a single lane is the caller's.
 */
#ifndef SW_WORKER_SERVE_H
#define SW_WORKER_SERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The exit status of a worker whose device is lost to it; a new process may use it. */
#define SW_WORKER_EXIT_DEVICE 3

#define SW_WORKER_LANES_MAX 1024

struct sw_serve {
	const char *socket; /* path */
	const char *worker; /* id */
	int slot;           /* of the first lane */
	unsigned lanes;     /* at least 1 */
	const char *device; /* as kernels/backend.h takes it */
	const char *name; /* what people call it; of several lanes the first one's; NULL: device */
	unsigned cores;   /* that a CPU may use */
	size_t memory;    /* bytes of all lanes' trials together; 0: no cap */
	int wake[2];      /* a pipe: readable, all lanes end; written to when they must */
	/* of a pilot, as worker/link/session.h has them; 0 and NULL of a local worker */
	unsigned away_ms;
	const char *(*leave)(int64_t *us);
	const char *node;
	bool files;
	int64_t process;
};

/* Returns the process's exit status; what is not 0 has its line on stderr. With
 * SW_WORKER_EXIT_DEVICE other lanes may still run: the process must end by _exit. */
int sw_serve(const struct sw_serve *config);

#endif
