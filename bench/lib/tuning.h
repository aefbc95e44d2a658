/*
 * bench/lib/tuning.h — training runs as objectives: the built-in trainer on the data sets of data/,
 * on the CPU, in this process.
 *
 * Value    val_loss after the last epoch; a run that diverges has failed. A trial trains from a
 *          seed of its own, as in a sweep, so the same configuration twice differs a little. The
 *          split is the same in all runs.
 * Cost     5 to 60 ms a trial on one core.
 * Memory   The trainer is borrowed by its objectives.
 */
#ifndef SW_BENCH_LIB_TUNING_H
#define SW_BENCH_LIB_TUNING_H

#include "bench/lib/memo.h"
#include "bench/lib/objective.h"

struct bench_trainer; /* the CPU's table, and the data sets that were read */

/* memo is borrowed. NULL, with a line on stderr, when there is no backend. */
struct bench_trainer *bench_trainer_create(struct bench_memo *memo);
void bench_trainer_destroy(struct bench_trainer *t); /* NULL is allowed */

/* "digits", "breast_cancer", "wine", "diabetes"; NULL past the last. */
const char *bench_tuning_name(size_t i);
/* Reads the data set. NULL, with a line on stderr, when it cannot be. */
struct bench_objective *bench_objective_tuning(struct bench_trainer *t, size_t i);

#endif
