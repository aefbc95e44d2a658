/*
 * bench/lib/peers.h — what other samplers reached on the standard functions.
 *
 * Median simple regret at 25, 50 and 100% of n = min(200, 20 d) sequential trials, measured on a
 * machine with 2 cores of an AMD EPYC, 2 to 10 seeds (HEBO: 1). So a ratio below 2 says little, and
 * "at or below" is judged against a figure that has luck of its own.
 */
#ifndef SW_BENCH_LIB_PEERS_H
#define SW_BENCH_LIB_PEERS_H

#include <stddef.h>

enum bench_peer {
	BENCH_AX,        /* Ax 1.3 */
	BENCH_HEBO,      /* HEBO 0.3.6 */
	BENCH_OPTUNA_GP, /* Optuna 5.0, GPSampler */
	BENCH_OPTUNA_TPE,
	BENCH_PEER_N
};

extern const char *const bench_peer_names[BENCH_PEER_N];

/* at: 0 for 25%, 1 for 50%, 2 for 100%. NaN: not measured. */
double bench_peer_regret(const char *function, enum bench_peer peer, size_t at);
/* The lowest of the peers; NaN: the function is unknown. */
double bench_peer_best(const char *function, size_t at);

#endif
