/*
 * bench/lib/train_peer.h — another implementation of bench/train's nets: a Python process that
 * waits for its turn (bench/train_peer.py).
 */
#ifndef SW_BENCH_LIB_TRAIN_PEER_H
#define SW_BENCH_LIB_TRAIN_PEER_H

#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

struct train_peer {
	pid_t pid;      /* 0: there is none */
	FILE *in, *out; /* of ours: what it says, what it is told */
	char name[80];  /* "numpy 2.4.6" */
	char why[200];  /* when there is none */
};

/* what: "numpy" or "torch", in this Python (NULL: none was named). */
void train_peer_start(struct train_peer *p, const char *what, const char *python, unsigned threads);
/* Samples a second of so many seconds of steps; 0: it has no such net, or has gone. */
double train_peer_rate(struct train_peer *p, const char *net, size_t batch, double seconds);
void train_peer_stop(struct train_peer *p);

#endif
