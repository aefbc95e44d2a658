/*
 * bench/ask.c — the time a sampler takes to learn one more result and to make its next suggestion.
 *
 * In this process, on one core: a history of n trials as a search leaves it behind (half of them
 * spread over the box, half around the minimum, at scales from 30% to 0.1% of it), then again and
 * again: a result is told, a suggestion asked for. The first of all, from nothing but the history,
 * does not count. Times are computing times, so that a busy machine can measure them.
 */
#include "bench/lib/cells.h"
#include "bench/lib/functions.h"
#include "bench/lib/objective.h"
#include "bench/lib/stats.h"
#include "bench/lib/table.h"
#include "sched/sweep/samplers.h"
#include <assert.h>
#include <cblas.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define MAX_D       64
#define MAX_REPEATS 1000
#define BOX         10.0 /* the function is levy in [-BOX, BOX]^d, its minimum at 1 */

/* --- a history --- */

static void tell(struct sw_history *h)
{
	const struct sw_value *v = h->values + (h->trials - 1) * h->n_params;
	double x[MAX_D];

	for (size_t k = 0; k < h->n_params; k++)
		x[k] = v[k].number;
	const double y = bench_levy(x, h->n_params);
	const sw_status rc = sw_history_observe(
		h, (struct sw_obs){.trial = h->trials, .kind = SW_OBS_FINAL}, &y);
	assert(rc == SW_OK);
}

static void fill(struct sw_history *h, size_t n)
{
	struct sw_value v[MAX_D];

	memset(v, 0, sizeof v);
	for (size_t i = 0; i < n; i++) {
		const double scale = 2 * BOX * exp(log(0.001) + bench_unit(3, i, 0) * log(300.0));

		for (unsigned k = 0; k < h->n_params; k++)
			v[k].number =
				i % 2 == 0
					? BOX * (2 * bench_unit(1, i, k) - 1)
					: fmin(BOX, fmax(-BOX, 1 + scale * bench_normal(2, i, k)));
		const sw_status rc = sw_history_add_trial(h, v);

		assert(rc == SW_OK);
		tell(h);
	}
}

/* --- the times --- */

/* The next suggestion becomes a trial that is told. Seconds of computing of the suggestion; below
 * 0: failed. */
static double suggest(struct sw_sampler *s, struct sw_history *h)
{
	struct sw_err err = SW_ERR_INIT;
	double took;

	if (bench_suggest(s, h, &took, &err) != SW_OK) {
		(void)fprintf(stderr, "after %zu trials: %s\n", (size_t)h->trials, err.msg);
		return -1;
	}
	tell(h);
	return took;
}

/* The median of so many, in ms; below 0: one failed. */
static double measure(enum sw_sampler_kind kind, size_t d, size_t n, size_t repeats)
{
	struct sw_space *space = bench_space_cube(d, -BOX, BOX);
	const struct sw_sampler_config config = {
		.kind = kind, .seed = 1, .space = space, .n_metrics = 1};
	struct sw_sampler *s = NULL;
	struct sw_history h;
	double took[MAX_REPEATS];

	sw_history_init(&h, d, 1);
	fill(&h, n);
	const sw_status rc = sw_samplers_create(&s, &config, NULL);
	bool good = rc == SW_OK && suggest(s, &h) >= 0;

	for (size_t k = 0; good && k < repeats; k++) {
		took[k] = suggest(s, &h);
		good = took[k] >= 0;
	}
	sw_sampler_destroy(s);
	sw_history_fini(&h);
	sw_space_destroy(space);
	if (!good)
		return -1;
	return bench_quantile(took, repeats, 500) * 1e3;
}

/* --- the run --- */

/* What bayes must keep to, in ms; 0: nothing is asked. */
static double limit_ms(enum sw_sampler_kind kind, size_t d, size_t n)
{
	static const struct {
		size_t n;
		double ms;
	} limits[] = {{100, 10}, {1000, 120}, {10000, 200}};

	for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
		if (kind == SW_SAMPLER_BAYES && limits[i].n == n)
			return d <= 6 ? limits[i].ms : d <= 20 ? 4 * limits[i].ms : 0;
	return 0;
}

struct score {
	size_t kept, asked;
};

/* 0 or -1. */
static int run_row(struct bench_table *t, enum sw_sampler_kind kind, size_t d, size_t n,
		   size_t repeats, struct score *score)
{
	const double ms = measure(kind, d, n, repeats), limit = limit_ms(kind, d, n);

	if (ms < 0)
		return -1;
	bench_table_cells(t, 0, "%s|%zu|%zu|%.3f", sw_samplers_name(kind), d, n, ms);
	if (limit > 0) {
		bench_table_cells(t, 4, "%.0f|%s", limit, ms <= limit ? "yes" : "no");
		score->asked++;
		score->kept += ms <= limit;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct bench_options o = {.samplers = "bayes,tpe"};
	struct bench_counts ns = {{30, 100, 300, 1000, 3000, 10000}, 6}, ds = {{6, 20}, 2};
	size_t repeats = 60, rows = 0;
	const struct bench_flag flags[] = {
		{"samplers", BENCH_TEXT, &o.samplers, .help = "A,B  (bayes,tpe)"},
		{"n", BENCH_COUNTS, &ns, 1, 1e6, .help = "N,N  trials told before (30 to 10000)"},
		{"d", BENCH_COUNTS, &ds, 1, MAX_D, .help = "D,D  parameters (6,20)"},
		{"repeats", BENCH_COUNT, &repeats, 1, MAX_REPEATS,
		 .help = "R  suggestions of a row (60)"},
		{"csv", BENCH_TEXT, &o.csv, .help = "FILE  the rows"},
		{"quick", BENCH_YES, &o.quick, .help = "a short run, to see that all works"},
		{.name = NULL}};
	struct score score = {0};
	int rc = 0;

	openblas_set_num_threads(1);
	if (bench_flags_read("ask", flags, argc, argv) != 0)
		return 2;
	if (o.quick) {
		repeats = 3;
		ns = (struct bench_counts){{30}, 1};
	}
	struct bench_table *const t = bench_table_create("refresh|d|n|p50 ms|limit|kept");

	for (enum sw_sampler_kind k = 0; k < SW_SAMPLER_KIND_N; k++)
		for (size_t i = 0; rc == 0 && bench_sampled(&o, k) && i < ds.n * ns.n; i++, rows++)
			rc = run_row(t, k, ds.v[i / ns.n], ns.v[i % ns.n], repeats, &score);
	if (rows == 0) {
		(void)fprintf(stderr, "nothing to run\n");
		rc = 1;
	}
	if (bench_table_end(t, rc == 0 ? o.csv : NULL) != 0 || rc != 0)
		return 1;
	printf("ask: %zu of %zu limits (kept by the median time to tell one result and refresh the "
	       "suggestion)\n",
	       score.kept, score.asked);
	return 0;
}
