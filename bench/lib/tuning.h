/*
 * bench/lib/tuning.h — training runs as objectives: the built-in trainer on the data sets of data/,
 * on the CPU, in this process.
 *
 * Value    val_loss after the last epoch, the mean over folds: runs with different splits and
 *          seeds. One that diverges fails the trial. Seeds are the trial's own, as in a sweep, so
 *          the same configuration twice differs. With one fold it differs by so much that the best
 *          of 100 trials is the luckiest of the unstable ones, hardly the best: hence more folds.
 * Truth    again > 0: what counts is not the loss that was seen, which the luckiest of a sampler's
 *          trials has, but the mean of as many fresh trainings of the best trial's configuration.
 * Cost     1 to 10 ms a fold on one core.
 * Memory   The trainer is borrowed by its objectives.
 */
#ifndef SW_BENCH_LIB_TUNING_H
#define SW_BENCH_LIB_TUNING_H

#include "bench/lib/objective.h"

#define BENCH_MAX_FOLDS 4 /* as many data sets as the worker's cache keeps */

struct bench_trainer; /* the CPU's table, and the data sets that were read */

/* NULL, with a line on stderr, when there is no backend. */
struct bench_trainer *bench_trainer_create(void);
void bench_trainer_destroy(struct bench_trainer *t); /* NULL is allowed */

/* "digits", "breast_cancer", "wine", "diabetes"; NULL past the last. */
const char *bench_tuning_name(size_t i);
/* What is searched there; the caller's. */
struct sw_space *bench_tuning_space(size_t i);
/* Reads the data set. folds: 1 to BENCH_MAX_FOLDS. again: see the top. NULL, with a line on stderr,
 * when it cannot be read. */
struct bench_objective *bench_objective_tuning(struct bench_trainer *t, size_t i, unsigned folds,
					       unsigned again, bool own_seeds);

/* curve[epochs]: val_loss after each of so many epochs of one fold, from 0; NaN from where it
 * diverged on. o is one of the above. */
void bench_tuning_curve(const struct bench_objective *o, const struct sw_value *v, uint64_t seed,
			uint64_t trial, unsigned fold, unsigned epochs, double *curve);

#endif
