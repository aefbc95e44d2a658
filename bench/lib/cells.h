/*
 * bench/lib/cells.h — every sampler on every subject, many seeds: the runs and their medians.
 *
 * A cell is (subject, sampler, trials in parallel); it holds a run for each seed: the sampler
 * against the objective, as sweepd would run it, without sweepd. `parallel` trials are pending at
 * all times; which of them ends next is drawn by the seed: the same on every run. Regret is (truth
 * of the trial with the best seen value - optimum) / scale, after 25, 50 and 100% of the trials.
 */
#ifndef SW_BENCH_LIB_CELLS_H
#define SW_BENCH_LIB_CELLS_H

#include "bench/lib/flags.h"
#include "bench/lib/objective.h"
#include "bench/lib/table.h"
#include "sched/sampler/sampler.h"

#define BENCH_MAX_SUBJECTS 96
#define BENCH_MAX_TRIALS   200
#define BENCH_MAX_PARALLEL 16
#define BENCH_MAX_SEEDS    1000
#define BENCH_CHECKPOINTS  3

struct bench_options {
	const char *csv;             /* a file; NULL: none */
	const char *subjects, *sets; /* comma lists; NULL: the bench's own default */
	const char *samplers;        /* a comma list; NULL: all but grid, which takes no reals */
	uint64_t seed_from;
	size_t seeds, jobs;
	struct bench_counts parallel; /* a mode each */
	size_t most_parallel;         /* that may be asked for */
	size_t budget;                /* trials a run; 0: the bench's default */
	size_t full; /* asha: full trainings that a sweep may take; 0: its own number */
	bool quick;
};

struct bench_subject {
	struct bench_objective *o;
	size_t n; /* trials */
};

struct bench_cell {
	size_t subject;
	enum sw_sampler_kind kind;
	size_t parallel;
	double regret[BENCH_CHECKPOINTS][3]; /* quartiles */
	double suggest_ms, suggest_max_ms;   /* mean and worst of all */
};

struct bench_cells {
	const struct bench_options *options;
	struct bench_subject subject[BENCH_MAX_SUBJECTS]; /* owned */
	size_t n_subjects;
	struct bench_cell *cell; /* [n], by mode, subject, kind */
	size_t n;
	struct bench_outcome *run; /* [n][seeds] */
};

/* Reads argv over what is in *o. takes: the names of the flags that this bench has, a comma list;
 * subjects, sets: what the usage says of --functions or --data, and of --set. 0, or -1 after the
 * usage. */
int bench_options_read(struct bench_options *o, const char *bench, const char *takes,
		       const char *subjects, const char *sets, int argc, char **argv);
/* Is name in a comma list? A NULL list has all. */
bool bench_listed(const char *list, const char *name);
/* Is the sampler to be run? */
bool bench_sampled(const struct bench_options *o, enum sw_sampler_kind kind);

/* The sampler's next suggestion becomes a trial of the history. *took: seconds of computing of the
 * suggestion. */
sw_status bench_suggest(struct sw_sampler *s, struct sw_history *h, double *took,
			struct sw_err *err);

/* The subjects are set. 0, or -1 with a line on stderr. */
int bench_cells_run(struct bench_cells *c, const char *what);
void bench_cells_fini(struct bench_cells *c);

/* NULL: was left out. */
const struct bench_cell *bench_cells_find(const struct bench_cells *c, size_t subject,
					  enum sw_sampler_kind kind, size_t parallel);

/* The table of the cells of one number of parallel trials, then the mean ranks of the medians. */
void bench_cells_print(const struct bench_cells *c, size_t parallel);
/* Mean rank of the kind's medians over the subjects that it ran on; NaN: none. */
double bench_cells_rank(const struct bench_cells *c, enum sw_sampler_kind kind, size_t parallel,
			size_t at);
/* All cells to the file that the options name. 0 or -1. */
int bench_cells_csv(const struct bench_cells *c);

#endif
