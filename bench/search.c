/*
 * bench/search.c — how good a sampler's best configuration is, trial for trial, beside others.
 *
 * Every sampler on every function, n = min(200, 20 d) trials: simple regret after 25, 50 and 100%
 * of them, median and quartiles over the seeds, and the mean ranks of the medians. Beside bayes:
 * what other libraries reached.
 *
 *   --set std       the fourteen functions with known figures (bench/lib/functions.h)
 *         rotated   the same, turned about their minimisers; noisy: with noise, regret of the trial
 *                   that was best as seen, in the function's deviations (bench/lib/objective.h)
 *         flaky     the same, one trial in nine fails; edge: all fail on one side of the minimiser
 *         heldout   ten others: nothing may have been tuned on them
 *         mixed     spaces with categories, integers, logs and conditions
 */
#include "bench/lib/cells.h"
#include "bench/lib/stats.h"
#include <assert.h>
#include <cblas.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MARGIN 1.05 /* what still counts as "at" the best peer */

/* --- the subjects --- */

static size_t trials_of(const struct bench_options *o, size_t d)
{
	if (o->budget > 0)
		return o->budget;
	return 20 * d < BENCH_MAX_TRIALS ? 20 * d : BENCH_MAX_TRIALS;
}

static void add(struct bench_cells *c, struct bench_objective *o)
{
	assert(c->n_subjects < BENCH_MAX_SUBJECTS);
	c->subject[c->n_subjects++] =
		(struct bench_subject){.o = o, .n = trials_of(c->options, sw_space_size(o->space))};
}

static void add_functions(struct bench_cells *c, enum bench_set set, enum bench_form form)
{
	size_t n;
	const struct bench_function *f = bench_functions(&n);

	for (size_t i = 0; i < n; i++)
		if (f[i].set == set && bench_listed(c->options->subjects, f[i].name))
			add(c, bench_objective_function(&f[i], form));
}

static void add_mixed(struct bench_cells *c)
{
	for (size_t i = 0; bench_mixed_name(i) != NULL; i++)
		if (bench_listed(c->options->subjects, bench_mixed_name(i)))
			add(c, bench_objective_mixed(i));
}

/* Functions that are named without a set are looked for in all plain ones. */
static void add_subjects(struct bench_cells *c)
{
	static const struct {
		const char *name;
		enum bench_set set;
		enum bench_form form;
	} all[] = {
		{"std", BENCH_STANDARD, BENCH_PLAIN},   {"rotated", BENCH_STANDARD, BENCH_ROTATED},
		{"noisy", BENCH_STANDARD, BENCH_NOISY}, {"flaky", BENCH_STANDARD, BENCH_FLAKY},
		{"edge", BENCH_STANDARD, BENCH_EDGED},  {"heldout", BENCH_HELDOUT, BENCH_PLAIN},
	};
	const char *sets = c->options->sets;

	if (sets == NULL)
		sets = c->options->subjects != NULL ? "std,heldout,mixed" : "std,mixed";
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (bench_listed(sets, all[i].name))
			add_functions(c, all[i].set, all[i].form);
	if (bench_listed(sets, "mixed"))
		add_mixed(c);
}

/* --- beside the peers --- */

/* What other samplers reached on the standard functions: median simple regret at 25, 50 and 100% of
 * n = min(200, 20 d) sequential trials, measured on a machine with 2 cores of an AMD EPYC, 2 to 10
 * seeds (HEBO: 1). So a ratio below 2 says little, and "at or below" is judged against a figure
 * that has luck of its own. Ax 1.3, HEBO 0.3.6, Optuna 5.0. */
enum { PEERS = 4 }; /* Ax, HEBO, Optuna's GP and TPE */

/* clang-format off */
#define NONE {0, 0, 0} /* not measured */
static const struct {
	const char *name;
	double regret[PEERS][3];
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

/* at: 0 for 25%, 1 for 50%, 2 for 100%. NaN: not measured. */
static double peer_regret(const char *function, size_t peer, size_t at)
{
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (strcmp(known[i].name, function) == 0 && known[i].regret[peer][at] > 0)
			return known[i].regret[peer][at];
	return (double)NAN;
}

/* The lowest of the peers; NaN: the function is unknown. */
static double peer_best(const char *function, size_t at)
{
	double best = (double)NAN;

	for (size_t p = 0; p < PEERS; p++)
		best = fmin(best, peer_regret(function, p, at));
	return best;
}

struct verdict {
	size_t known, reached; /* functions with figures; with bayes at or below the best */
	size_t early;          /* the same at 25% */
	double rank;           /* the sum over them of that of bayes */
};

/* A row of a function whose figures are known. */
static void compare_one(const char *name, const struct bench_cell *cell, struct bench_table *t,
			struct verdict *v)
{
	const double ours = cell->regret[2][1], best = peer_best(name, 2);
	const bool reached = ours <= MARGIN * best;
	const bool early = cell->regret[0][1] <= MARGIN * peer_best(name, 0);
	double all[PEERS + 1] = {ours}, rank[PEERS + 1];

	bench_table_cells(t, 0, "%s|%.2g", name, ours);
	for (size_t p = 0; p < PEERS; p++) {
		all[1 + p] = peer_regret(name, p, 2);
		if (isnan(all[1 + p]))
			bench_table_cells(t, 2 + p, "-");
		else
			bench_table_cells(t, 2 + p, "%.2g", all[1 + p]);
	}
	bench_table_cells(t, 6, "%.2g|%s|%s", ours / best, reached ? "yes" : "no",
			  early ? "yes" : "no");
	bench_stat_ranks(all, PEERS + 1, rank);
	v->known++;
	v->reached += reached;
	v->early += early;
	v->rank += rank[0];
}

static void print_verdict(const struct verdict *v)
{
	printf("at or below %.2f of the best peer: %zu of %zu at 100%%, %zu at 25%%\n", MARGIN,
	       v->reached, v->known, v->early);
	printf("mean rank of bayes at 100%% among those measured: %.2f\n",
	       v->rank / (double)v->known);
}

/* bayes one at a time on the standard functions, where it ran them in full. */
static void compare(const struct bench_cells *c, struct verdict *v)
{
	struct bench_table *const t =
		bench_table_create("100%, one at a time|bayes|Ax|HEBO|Optuna GP|Optuna TPE|"
				   "of best peer|<=?|at 25%?");

	for (size_t s = 0; s < c->n_subjects; s++) {
		const char *name = c->subject[s].o->name;
		const struct bench_cell *cell = bench_cells_find(c, s, SW_SAMPLER_BAYES, 1);

		if (cell == NULL || isnan(peer_best(name, 2)) || c->options->budget > 0)
			continue;
		compare_one(name, cell, t, v);
	}
	if (v->known > 0)
		putchar('\n');
	(void)bench_table_end(t, NULL);
	if (v->known > 0)
		print_verdict(v);
}

/* --- the run --- */

static void print_figure(const struct bench_cells *c, const struct verdict *v)
{
	const size_t mode = c->options->parallel.v[0];
	const double rank = bench_cells_rank(c, SW_SAMPLER_BAYES, mode, 2);

	if (v->known > 0)
		printf("search: %zu of %zu functions (bayes at or below %.2f of the best peer "
		       "after all trials, median of %zu seeds)\n",
		       v->reached, v->known, MARGIN, c->options->seeds);
	else if (!isnan(rank))
		printf("search: %.2f mean rank (bayes among the samplers after all trials, median "
		       "of %zu seeds)\n",
		       rank, c->options->seeds);
	else
		printf("search: %zu cells (of sampler and function, %zu seeds each)\n", c->n,
		       c->options->seeds);
}

static int run(struct bench_cells *c)
{
	struct verdict v = {0};

	if (bench_functions_check() != 0 || bench_mixed_check() != 0)
		return -1;
	add_subjects(c);
	if (bench_cells_run(c, "runs") != 0)
		return -1;
	for (size_t m = 0; m < c->options->parallel.n; m++)
		bench_cells_print(c, c->options->parallel.v[m]);
	compare(c, &v);
	if (bench_cells_csv(c) != 0)
		return -1;
	print_figure(c, &v);
	return 0;
}

int main(int argc, char **argv)
{
	struct bench_options o = {.seed_from = 1,
				  .parallel = {{1}, 1},
				  .most_parallel = BENCH_MAX_PARALLEL,
				  .jobs = 1};
	struct bench_cells *c = calloc(1, sizeof *c);
	int rc;

	assert(c != NULL);
	openblas_set_num_threads(1);
	if (bench_options_read(&o, "search",
			       "functions,set,samplers,seeds,parallel,trials,jobs,csv,quick",
			       "A,B  by name (default all of the sets)",
			       "A,B  of std rotated noisy flaky edge heldout mixed (std,mixed)",
			       argc, argv) != 0) {
		free(c);
		return 2;
	}
	if (o.quick && o.subjects == NULL)
		o.subjects = "branin,hartmann3,kernel6";
	if (o.quick && o.budget == 0)
		o.budget = 12;
	if (o.seeds == 0)
		o.seeds = o.quick ? 2 : 20;
	c->options = &o;
	rc = run(c);
	bench_cells_fini(c);
	free(c);
	return rc == 0 ? 0 : 1;
}
