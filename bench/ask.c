/*
 * bench/ask.c — the time a sampler takes to learn one more result and to make its next suggestion.
 *
 * In this process, on one core: a history of n trials as a search leaves it behind (half of them
 * spread over the box, half around the minimum, at scales from 30% to 0.1% of it), then again and
 * again: a result is told, a suggestion asked for. "first" is the first of all, from nothing but
 * the history, as after a restart. Times are computing times, so that a busy
 * machine can measure them; the wall's median stands beside. Memory is the growth of the process's
 * peak, history included. Each row is a process of its own.
 */
#include "bench/lib/flags.h"
#include "bench/lib/functions.h"
#include "bench/lib/jobs.h"
#include "bench/lib/objective.h"
#include "bench/lib/table.h"
#include "sched/sweep/samplers.h"
#include <assert.h>
#include <cblas.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define MAX_D       64
#define MAX_REPEATS 1000
#define BOX         10.0 /* the function is levy in [-BOX, BOX]^d, its minimum at 1 */

struct options {
	struct bench_counts n, d;
	const char *samplers, *csv;
	size_t repeats;
	bool quick;
};

struct row {
	enum sw_sampler_kind kind;
	size_t d, n;
};

struct times {
	double first, p50, p90, max; /* seconds of computing */
	double wall_p50;
	double memory; /* bytes */
	bool good;
};

/* --- a history --- */

static void add_trial(struct sw_history *h, const struct sw_value *v)
{
	const sw_status rc = sw_history_add_trial(h, v);

	assert(rc == SW_OK);
}

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
		add_trial(h, v);
		tell(h);
	}
}

/* --- the times --- */

static double peak_bytes(void)
{
	struct rusage u;

	(void)getrusage(RUSAGE_SELF, &u);
	return (double)u.ru_maxrss * 1024;
}

/* The next suggestion becomes a trial that is told. Seconds of the suggestion (*wall: by the clock
 * on the wall); below 0: failed. */
static double suggest(struct sw_sampler *s, struct sw_history *h, double *wall)
{
	struct sw_suggestion next = {.source = NULL};
	struct sw_err err = SW_ERR_INIT;
	const double from = bench_now(), cpu = bench_cpu_now();
	const sw_status rc = sw_sampler_suggest(s, h, h->trials + 1, &next, &err);
	const double took = bench_cpu_now() - cpu;

	*wall = bench_now() - from;
	if (rc == SW_OK) {
		add_trial(h, next.values);
		tell(h);
	} else {
		(void)fprintf(stderr, "after %zu trials: %s\n", (size_t)h->trials, err.msg);
	}
	sw_suggestion_fini(&next);
	return rc == SW_OK ? took : -1;
}

struct work {
	const struct row *row;
	size_t repeats;
};

static void measure(void *ctx, size_t i, void *result)
{
	const struct work *w = ctx;
	const struct row *row = w->row;
	struct times *out = result;
	const double before = peak_bytes();
	struct sw_space *space = bench_space_cube(row->d, -BOX, BOX);
	const struct sw_sampler_config config = {
		.kind = row->kind, .seed = 1, .space = space, .n_metrics = 1};
	struct sw_sampler *s = NULL;
	struct sw_history h;
	double took[MAX_REPEATS], wall[MAX_REPEATS];

	(void)i;
	sw_history_init(&h, row->d, 1);
	fill(&h, row->n);
	out->good = sw_samplers_create(&s, &config, NULL) == SW_OK;
	out->first = out->good ? suggest(s, &h, wall) : -1;
	out->good = out->first >= 0;
	for (size_t k = 0; out->good && k < w->repeats; k++) {
		took[k] = suggest(s, &h, &wall[k]);
		out->good = took[k] >= 0;
	}
	if (out->good) {
		bench_sort(took, w->repeats);
		bench_sort(wall, w->repeats);
		out->wall_p50 = bench_quantile(wall, w->repeats, 500);
		out->p50 = bench_quantile(took, w->repeats, 500);
		out->p90 = bench_quantile(took, w->repeats, 900);
		out->max = took[w->repeats - 1];
		out->memory = peak_bytes() - before;
	}
	sw_sampler_destroy(s);
	sw_history_fini(&h);
	sw_space_destroy(space);
}

/* --- the run --- */

/* What bayes must keep to, in ms; 0: nothing is asked. */
static double limit_ms(const struct row *r)
{
	static const struct {
		size_t n;
		double ms;
	} limits[] = {{100, 10}, {1000, 120}, {10000, 200}};

	for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
		if (r->kind == SW_SAMPLER_BAYES && limits[i].n == r->n)
			return r->d <= 6 ? limits[i].ms : r->d <= 20 ? 4 * limits[i].ms : 0;
	return 0;
}

static int run_row(struct bench_table *t, const struct row *r, size_t repeats, size_t *kept,
		   size_t *asked)
{
	struct work w = {.row = r, .repeats = repeats};
	/* of two processes one finds nothing to do */
	struct times *m = bench_jobs_run(1, sizeof *m, 2, measure, &w, NULL);
	const double limit = limit_ms(r);

	if (m == NULL || !m->good) {
		bench_jobs_free(m, 1, sizeof *m);
		return -1;
	}
	bench_table_row(t, sw_samplers_name(r->kind));
	bench_table_number(t, 1, (double)r->d, 0);
	bench_table_number(t, 2, (double)r->n, 0);
	bench_table_number(t, 3, m->p50 * 1e3, 3);
	bench_table_number(t, 4, m->p90 * 1e3, 3);
	bench_table_number(t, 5, m->max * 1e3, 3);
	bench_table_number(t, 6, m->wall_p50 * 1e3, 3);
	bench_table_number(t, 7, m->first * 1e3, 1);
	bench_table_number(t, 8, m->memory / (1 << 20), 1);
	if (limit > 0) {
		bench_table_number(t, 9, limit, 0);
		bench_table_text(t, 10, m->p50 * 1e3 <= limit ? "yes" : "no");
		*asked += 1;
		*kept += m->p50 * 1e3 <= limit;
	}
	bench_jobs_free(m, 1, sizeof *m);
	return 0;
}

static int run(const struct options *o, struct bench_table *t, size_t *kept, size_t *asked)
{
	char list[128], *save = NULL;

	(void)snprintf(list, sizeof list, "%s", o->samplers);
	for (char *name = strtok_r(list, ",", &save); name != NULL;
	     name = strtok_r(NULL, ",", &save)) {
		struct row r;

		if (sw_samplers_find(name, &r.kind) != SW_OK) {
			printf("(%s is not in this build)\n", name);
			continue;
		}
		for (size_t i = 0; i < o->d.n * o->n.n; i++) {
			r.d = o->d.v[i / o->n.n];
			r.n = o->n.v[i % o->n.n];
			if (run_row(t, &r, o->repeats, kept, asked) != 0)
				return -1;
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	static const char *const names[] = {"refresh", "d",      "n",        "p50 ms",
					    "p90 ms",  "max ms", "wall p50", "first ms",
					    "MiB",     "limit",  "kept",     NULL};
	struct options o = {.n = {{30, 100, 300, 1000, 3000, 10000}, 6},
			    .d = {{6, 20}, 2},
			    .samplers = "bayes,tpe",
			    .repeats = 60};
	const struct bench_flag flags[] = {
		{"samplers", BENCH_TEXT, &o.samplers, .help = "A,B  (bayes,tpe)"},
		{"n", BENCH_COUNTS, &o.n, 1, 1e6, .help = "N,N  trials told before (30 to 10000)"},
		{"d", BENCH_COUNTS, &o.d, 1, MAX_D, .help = "D,D  parameters (6,20)"},
		{"repeats", BENCH_COUNT, &o.repeats, 1, MAX_REPEATS,
		 .help = "R  suggestions of a row (60)"},
		{"csv", BENCH_TEXT, &o.csv, .help = "FILE  the rows"},
		{"quick", BENCH_YES, &o.quick, .help = "a short run, to see that all works"},
		{.name = NULL}};
	size_t kept = 0, asked = 0;

	openblas_set_num_threads(1);
	if (bench_flags_read("ask", flags, argc, argv) != 0)
		return 2;
	if (o.quick) {
		o.repeats = 3;
		o.n = (struct bench_counts){{30}, 1};
	}
	struct bench_table *const t = bench_table_create(names);
	const int rc = run(&o, t, &kept, &asked);

	if (bench_table_end(t, rc == 0 ? o.csv : NULL) != 0 || rc != 0)
		return 1;
	printf("ask: %zu of %zu limits (kept by the median time to tell one result and refresh the "
	       "suggestion)\n",
	       kept, asked);
	return 0;
}
