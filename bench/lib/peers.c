#include "bench/lib/peers.h"
#include <math.h>
#include <string.h>

/* not measured */
#define NONE                                                                                       \
	{                                                                                          \
		0, 0, 0                                                                            \
	}

const char *const bench_peer_names[BENCH_PEER_N] = {"Ax", "HEBO", "Optuna GP", "Optuna TPE"};

/* clang-format off */
static const struct {
	const char *name;
	double regret[BENCH_PEER_N][3];
} known[] = {
	{"branin", {{0.12, 0.013, 3.8e-5}, NONE, {11, 0.67, 3.7e-5}, {10, 1.3, 0.12}}},
	{"hartmann3", {{0.054, 4.0e-3, 4.0e-3}, {0, 0, 1.1e-3}, {0.15, 5.7e-5, 1.9e-5},
		{0.83, 0.2, 0.056}}},
	{"hartmann6", {{0.16, 0.14, 0.13}, {0.28, 0.12, 0.12}, {0.14, 1.5e-3, 9.6e-5},
		{0.59, 0.24, 0.077}}},
	{"ackley5", {{3.4, 2.1, 2.1}, {18, 3.6, 0.81}, {8.4, 5.3, 4.8}, {14, 10, 5.9}}},
	{"ackley10", {{8.4, 3.5, 2.4}, NONE, {15, 9.1, 6.2}, {15, 10, 6.1}}},
	{"levy4", {{0.19, 0.19, 0.19}, {1.6, 0.088, 1.3e-4}, {0.9, 0.75, 0.13}, {3.3, 1.1, 0.19}}},
	{"levy10", {{0.94, 0.7, 0.32}, NONE, {17, 4.1, 1.3}, {24, 17, 8.1}}},
	{"rosenbrock5", {{2.8e3, 140, 43}, {120, 13, 1.7}, {1.5e3, 410, 140}, {2.7e3, 510, 130}}},
	{"michalewicz5", {{2.1, 0.7, 0.35}, {0, 0, 0.20}, {3.1, 2.9, 2.6}, {2.6, 2.4, 2}}},
	{"rastrigin5", {{8.9, 7.6, 4.2}, {0, 0, 14}, {38, 32, 29}, {33, 25, 23}}},
	{"styblinski10", {{140, 48, 21}, NONE, {150, 140, 110}, {150, 96, 65}}},
	{"shekel", {{8.2, 6.6, 4.1}, {0, 0, 8.3e-3}, {9.4, 9, 8.6}, {9.6, 9, 7.7}}},
	{"sixhump", {{0.62, 0.1, 2.8e-4}, NONE, {0.79, 0.79, 0.05}, {0.7, 0.43, 0.22}}},
	{"griewank5", {{0.8, 0.8, 0.72}, NONE, {2.2, 0.83, 0.75}, {13, 3.9, 1.4}}},
};
/* clang-format on */

double bench_peer_regret(const char *function, enum bench_peer peer, size_t at)
{
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (strcmp(known[i].name, function) == 0 && known[i].regret[peer][at] > 0)
			return known[i].regret[peer][at];
	return (double)NAN;
}

double bench_peer_best(const char *function, size_t at)
{
	double best = (double)NAN;

	for (enum bench_peer p = 0; p < BENCH_PEER_N; p++)
		best = fmin(best, bench_peer_regret(function, p, at));
	return best;
}
