/* bench/lib/scratch.h — a state folder on the file system that is measured, and a short path for
 * the sockets; both go when the bench ends. */
#ifndef SW_BENCH_LIB_SCRATCH_H
#define SW_BENCH_LIB_SCRATCH_H

#include <limits.h>

struct bench_scratch {
	char dir[PATH_MAX]; /* for databases and logs */
	char sockets[64];
	char socket[80]; /* sweepd's */
	char echo[80];   /* the echo server's */
};

/* Under `where`. 0, or -1 with a line on stderr. */
int bench_scratch_make(struct bench_scratch *s, const char *where);
/* Removes the two folders and the files in them. */
void bench_scratch_remove(const struct bench_scratch *s);

#endif
