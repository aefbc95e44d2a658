/*
 * bench/pareto.c — sweeps of several metrics: the hypervolume that a sampler's trials dominate.
 *
 * Hypervolume, median and quartiles over the seeds, of random after 100 and 400 trials and of the
 * others after 100, on ZDT1, ZDT2 (d = 30, and 6) and DTLZ2 (3 metrics, d = 12), from the usual
 * reference point, 1.1 in every metric. "front" is the volume of the whole true front, computed by
 * integration: no sampler can have more.
 *
 * Source   Zitzler, Deb, Thiele, "Comparison of multiobjective evolutionary algorithms: empirical
 *          results", Evolutionary Computation 8 (2000), section 4; Deb, Thiele, Laumanns, Zitzler,
 *          "Scalable multi-objective optimization test problems", CEC 2002, section IV.
 */
#include "sched/sampler/pareto.h"
#include "bench/lib/cells.h"
#include "bench/lib/jobs.h"
#include "bench/lib/stats.h"
#include "sched/sweep/samplers.h"
#include <assert.h>
#include <cblas.h>
#include <math.h>
#include <stdio.h>

#define RANDOM_N 400
#define OTHERS_N 100
#define METRICS  3
#define NEAR     1.1

struct problem {
	const char *name;
	size_t d, m;
	void (*value)(const double *x, size_t d, double *y);
	double front; /* its volume */
};

static double zdt_g(const double *x, size_t d)
{
	double sum = 0;

	for (size_t i = 1; i < d; i++)
		sum += x[i];
	return 1 + 9 * sum / (double)(d - 1);
}

static void zdt1(const double *x, size_t d, double *y)
{
	const double g = zdt_g(x, d);

	y[0] = x[0];
	y[1] = g * (1 - sqrt(x[0] / g));
}

static void zdt2(const double *x, size_t d, double *y)
{
	const double g = zdt_g(x, d);

	y[0] = x[0];
	y[1] = g * (1 - x[0] / g * (x[0] / g));
}

static void dtlz2(const double *x, size_t d, double *y)
{
	const double quarter = acos(-1) / 2;
	double r = 1;

	for (size_t i = 2; i < d; i++)
		r += (x[i] - 0.5) * (x[i] - 0.5);
	y[0] = r * cos(x[0] * quarter) * cos(x[1] * quarter);
	y[1] = r * cos(x[0] * quarter) * sin(x[1] * quarter);
	y[2] = r * sin(x[0] * quarter);
}

/* A box R - y of corners under the curve: R^2 less what the front leaves. On [0, 1] the part below
 * 1 - sqrt(x) is 1/3, below 1 - x^2 2/3; an eighth of a ball is pi/6. */
#define FLAT(below) (NEAR * NEAR - (below))
#define ROUND       (NEAR * NEAR * NEAR - 0.52359877559829887)
static const struct problem problems[] = {
	{"zdt1", 30, 2, zdt1, FLAT(1.0 / 3)},  {"zdt2", 30, 2, zdt2, FLAT(2.0 / 3)},
	{"dtlz2", 12, 3, dtlz2, ROUND},        {"zdt1-6", 6, 2, zdt1, FLAT(1.0 / 3)},
	{"zdt2-6", 6, 2, zdt2, FLAT(2.0 / 3)},
};
#define PROBLEMS (sizeof problems / sizeof problems[0])

struct cell {
	const struct problem *p;
	enum sw_sampler_kind kind;
	size_t n;
	double volume[3]; /* quartiles */
};

struct outcome {
	double volume, suggest_s;
};

struct plan {
	struct cell cell[PROBLEMS * (SW_SAMPLER_KIND_N + 1)];
	size_t n;
	const struct bench_options *options;
};

static void run_trial(struct sw_sampler *s, struct sw_history *h, const struct problem *p,
		      double *y, double *spent)
{
	double x[SW_SPACE_MAX_PARAMS], took;
	sw_status rc = bench_suggest(s, h, &took, NULL);

	assert(rc == SW_OK);
	*spent += took;
	for (size_t k = 0; k < p->d; k++)
		x[k] = h->values[(h->trials - 1) * p->d + k].number;
	p->value(x, p->d, y);
	rc = sw_history_observe(h, (struct sw_obs){.trial = h->trials, .kind = SW_OBS_FINAL}, y);
	assert(rc == SW_OK);
}

static void run_one(void *ctx, size_t i, void *result)
{
	const struct plan *const plan = ctx;
	const struct cell *const c = &plan->cell[i / plan->options->seeds];
	struct outcome *const out = result;
	double y[RANDOM_N * METRICS];
	struct sw_space *const space = bench_space_cube(c->p->d, 0, 1);
	struct sw_sampler *s;
	struct sw_history h;
	const struct sw_sampler_config config = {
		.kind = c->kind,
		.seed = plan->options->seed_from + i % plan->options->seeds,
		.space = space,
		.n_metrics = c->p->m,
	};
	const double reference[METRICS] = {NEAR, NEAR, NEAR};
	sw_status rc = sw_samplers_create(&s, &config, NULL);

	assert(rc == SW_OK);
	sw_history_init(&h, c->p->d, c->p->m);
	for (size_t t = 0; t < c->n; t++)
		run_trial(s, &h, c->p, y + t * c->p->m, &out->suggest_s);
	rc = sw_hypervolume(y, c->n, c->p->m, reference, &out->volume);
	assert(rc == SW_OK);
	sw_history_fini(&h);
	sw_sampler_destroy(s);
	sw_space_destroy(space);
}

static void add_cells(struct plan *plan)
{
	for (size_t i = 0; i < PROBLEMS; i++) {
		const struct problem *const p = &problems[i];

		if (!bench_listed(plan->options->subjects, p->name))
			continue;
		for (int k = 0; k < SW_SAMPLER_KIND_N; k++) {
			const enum sw_sampler_kind kind = (enum sw_sampler_kind)k;

			/* These learn from one metric. */
			if (!bench_sampled(plan->options, kind) || kind == SW_SAMPLER_TPE ||
			    kind == SW_SAMPLER_BOHB)
				continue;
			plan->cell[plan->n++] = (struct cell){.p = p, .kind = kind, .n = OTHERS_N};
			if (kind == SW_SAMPLER_RANDOM)
				plan->cell[plan->n++] =
					(struct cell){.p = p, .kind = kind, .n = RANDOM_N};
		}
	}
}

/* Over the seeds. */
static void set_quartiles(struct plan *plan, const struct outcome *all, size_t i)
{
	const size_t seeds = plan->options->seeds;
	double v[BENCH_MAX_SEEDS];

	for (size_t k = 0; k < seeds; k++)
		v[k] = all[i * seeds + k].volume;
	bench_stat_quartiles(v, seeds, plan->cell[i].volume);
}

static void print_cell(struct bench_table *t, const struct plan *plan, const struct outcome *all,
		       size_t i)
{
	const struct cell *const c = &plan->cell[i];
	const size_t seeds = plan->options->seeds;
	double spent = 0;

	for (size_t k = 0; k < seeds; k++)
		spent += all[i * seeds + k].suggest_s;
	bench_table_cells(t, 0, "%s|%zu|%zu|%s|%zu", c->p->name, c->p->d, c->p->m,
			  sw_samplers_name(c->kind), c->n);
	bench_stat_cell(t, 5, c->volume);
	bench_table_cells(t, 6, "%.3f|%.2f", c->p->front, 1e3 * spent / (double)(seeds * c->n));
}

/* Problems where bayes after 100 has more than random has after 400. */
static void print_figure(const struct plan *plan)
{
	size_t known = 0, reached = 0;

	for (size_t i = 0; i < plan->n; i++)
		for (size_t k = 0; k < plan->n; k++) {
			const struct cell *const a = &plan->cell[i], *const b = &plan->cell[k];

			if (a->p != b->p || a->kind != SW_SAMPLER_BAYES || b->n != RANDOM_N)
				continue;
			known++;
			reached += a->volume[1] > b->volume[1];
		}
	printf("pareto: %zu of %zu problems (hypervolume of bayes after %d trials above that of "
	       "random after %d, median of %zu seeds)\n",
	       reached, known, OTHERS_N, RANDOM_N, plan->options->seeds);
}

static int run(const struct bench_options *o)
{
	struct plan plan = {.options = o};

	add_cells(&plan);
	struct outcome *const all =
		bench_jobs_run(plan.n * o->seeds, sizeof *all, o->jobs, run_one, &plan, "runs");
	if (all == NULL)
		return -1;
	struct bench_table *const t =
		bench_table_create("problem|d|m|sampler|trials|volume|front|ms/suggestion");

	for (size_t i = 0; i < plan.n; i++) {
		set_quartiles(&plan, all, i);
		print_cell(t, &plan, all, i);
	}
	const int rc = bench_table_end(t, o->csv);

	print_figure(&plan);
	bench_jobs_free(all);
	return rc;
}

int main(int argc, char **argv)
{
	struct bench_options o = {.seed_from = 1, .jobs = 1};

	openblas_set_num_threads(1);
	if (bench_options_read(&o, "pareto", "functions,samplers,seeds,jobs,csv,quick",
			       "A,B  of zdt1 zdt2 dtlz2 zdt1-6 zdt2-6 (default all)", NULL, argc,
			       argv) != 0)
		return 2;
	if (o.quick && o.subjects == NULL)
		o.subjects = "zdt1-6";
	if (o.seeds == 0)
		o.seeds = o.quick ? 2 : 10;
	return run(&o) == 0 ? 0 : 1;
}
