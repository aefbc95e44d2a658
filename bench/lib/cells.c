#include "bench/lib/cells.h"
#include "bench/lib/jobs.h"
#include "bench/lib/stats.h"
#include "sched/sweep/samplers.h"
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Trials after which checkpoint `at` stands. */
static size_t checkpoint(size_t n, size_t at)
{
	static const size_t percent[BENCH_CHECKPOINTS] = {25, 50, 100};

	assert(at < BENCH_CHECKPOINTS);
	return (n * percent[at] + 99) / 100;
}

/* --- which cells there are --- */

/* In the order of the table. */
static void lay_out(struct bench_cells *c)
{
	const struct bench_counts *const modes = &c->options->parallel;

	c->cell = calloc(c->n_subjects * SW_SAMPLER_KIND_N * modes->n + 1, sizeof *c->cell);
	assert(c->cell != NULL);
	for (size_t m = 0; m < modes->n; m++)
		for (size_t s = 0; s < c->n_subjects; s++)
			for (enum sw_sampler_kind k = 0; k < SW_SAMPLER_KIND_N; k++)
				if (bench_sampled(c->options, k))
					c->cell[c->n++] = (struct bench_cell){
						.subject = s, .kind = k, .parallel = modes->v[m]};
}

/* --- the runs --- */

/* Flat: it lies in memory that processes share. */
struct bench_outcome {
	double curve[BENCH_MAX_TRIALS]; /* truth of the best seen after that many tells; or inf */
	size_t told;
	double suggest_s, suggest_max_s; /* sum and worst, of computing time */
	char error[120];                 /* "": it went well */
};

struct runner {
	const struct bench_objective *o;
	uint64_t seed;
	struct bench_outcome *out;
	struct sw_sampler *sampler;
	struct sw_history h;
	uint64_t pending[BENCH_MAX_PARALLEL];
	size_t n_pending;
	double best_seen, best_truth;
};

sw_status bench_suggest(struct sw_sampler *s, struct sw_history *h, double *took,
			struct sw_err *err)
{
	struct sw_suggestion next = {.source = NULL};
	const double from = bench_cpu_now();
	sw_status rc = sw_sampler_suggest(s, h, h->trials + 1, &next, err);

	*took = bench_cpu_now() - from;
	if (rc == SW_OK)
		rc = sw_history_add_trial(h, next.values);
	sw_suggestion_fini(&next);
	return rc;
}

/* One more suggestion, pending. */
static sw_status ask(struct runner *r, struct sw_err *err)
{
	double took;
	const sw_status rc = bench_suggest(r->sampler, &r->h, &took, err);

	if (rc != SW_OK)
		return rc;
	r->out->suggest_s += took;
	r->out->suggest_max_s = fmax(r->out->suggest_max_s, took);
	r->pending[r->n_pending++] = r->h.trials;
	return SW_OK;
}

/* One of the pending trials ends. */
static sw_status tell(struct runner *r)
{
	const size_t at =
		(size_t)(bench_unit(r->seed, r->out->told, 0x746c) * (double)r->n_pending);
	const uint64_t trial = r->pending[at];
	const struct sw_value *v = r->h.values + (trial - 1) * r->h.n_params;
	struct bench_value y = {0};
	const bool good = r->o->value(r->o->ctx, v, r->seed, trial, &y) && isfinite(y.seen);
	const enum sw_obs_kind kind = good            ? SW_OBS_FINAL
				      : r->o->crashes ? SW_OBS_FAILED
						      : SW_OBS_INFEASIBLE;

	memmove(r->pending + at, r->pending + at + 1, (r->n_pending - at - 1) * sizeof *r->pending);
	r->n_pending--;
	if (good && y.seen < r->best_seen) {
		r->best_seen = y.seen;
		r->best_truth = y.truth;
	}
	r->out->curve[r->out->told++] = r->best_truth;
	return sw_history_observe(&r->h, (struct sw_obs){.trial = trial, .kind = kind},
				  good ? &y.seen : NULL);
}

static void run_one(void *ctx, size_t i, void *result)
{
	const struct bench_cells *c = ctx;
	/* seeds outside, so that the first rows of progress are all of the samplers */
	const struct bench_cell *cell = &c->cell[i / c->options->seeds];
	const struct bench_subject *s = &c->subject[cell->subject];
	struct bench_outcome *out = result;
	struct runner r = {.o = s->o,
			   .seed = c->options->seed_from + i % c->options->seeds,
			   .out = out,
			   .best_seen = INFINITY,
			   .best_truth = INFINITY};
	const struct sw_sampler_config config = {
		.kind = cell->kind, .seed = r.seed, .space = s->o->space, .n_metrics = 1};
	struct sw_err err = SW_ERR_INIT;

	assert(s->n <= BENCH_MAX_TRIALS && cell->parallel >= 1 &&
	       cell->parallel <= BENCH_MAX_PARALLEL);
	sw_history_init(&r.h, sw_space_size(s->o->space), 1);
	sw_status rc = sw_samplers_create(&r.sampler, &config, &err);

	while (rc == SW_OK && out->told < s->n) {
		while (rc == SW_OK && r.n_pending < cell->parallel && r.h.trials < s->n)
			rc = ask(&r, &err);
		if (rc == SW_OK)
			rc = tell(&r);
	}
	if (rc != SW_OK)
		(void)snprintf(out->error, sizeof out->error, "%.110s",
			       *err.msg != '\0' ? err.msg : sw_status_str(rc));
	sw_sampler_destroy(r.sampler);
	sw_history_fini(&r.h);
}

/* --- their medians --- */

/* Quartiles over the seeds of the regret after `told` (from 1) trials. */
static void set_regret(const struct bench_cells *c, const struct bench_cell *cell, size_t told,
		       double q[3])
{
	const size_t seeds = c->options->seeds;
	const struct bench_outcome *run = c->run + (size_t)(cell - c->cell) * seeds;
	const struct bench_objective *o = c->subject[cell->subject].o;
	double v[BENCH_MAX_SEEDS];

	assert(told >= 1 && told <= c->subject[cell->subject].n && seeds <= BENCH_MAX_SEEDS);
	for (size_t i = 0; i < seeds; i++)
		v[i] = (run[i].curve[told - 1] - o->optimum) / o->scale;
	bench_stat_quartiles(v, seeds, q);
}

/* 0, or -1 when a run failed. */
static int summarise(struct bench_cells *c, struct bench_cell *cell)
{
	const struct bench_subject *s = &c->subject[cell->subject];
	const struct bench_outcome *run = c->run + (size_t)(cell - c->cell) * c->options->seeds;
	double total = 0, told = 0;

	for (size_t i = 0; i < c->options->seeds; i++) {
		if (*run[i].error != '\0') {
			(void)fprintf(stderr, "%s on %s, seed %zu, after %zu trials: %s\n",
				      sw_samplers_name(cell->kind), s->o->name,
				      (size_t)c->options->seed_from + i, run[i].told, run[i].error);
			return -1;
		}
		total += run[i].suggest_s;
		told += (double)run[i].told;
		cell->suggest_max_ms = fmax(cell->suggest_max_ms, run[i].suggest_max_s * 1e3);
	}
	cell->suggest_ms = total / told * 1e3;
	for (size_t at = 0; at < BENCH_CHECKPOINTS; at++)
		set_regret(c, cell, checkpoint(s->n, at), cell->regret[at]);
	return 0;
}

int bench_cells_run(struct bench_cells *c, const char *what)
{
	const size_t seeds = c->options->seeds;
	int rc = 0;

	lay_out(c);
	if (c->n == 0) {
		(void)fprintf(stderr, "nothing to run\n");
		return -1;
	}
	c->run = bench_jobs_run(c->n * seeds, sizeof *c->run, c->options->jobs, run_one, c, what);
	if (c->run == NULL)
		return -1;
	for (size_t i = 0; i < c->n; i++)
		if (summarise(c, &c->cell[i]) != 0)
			rc = -1;
	return rc;
}

void bench_cells_fini(struct bench_cells *c)
{
	for (size_t i = 0; i < c->n_subjects; i++)
		bench_objective_destroy(c->subject[i].o);
	bench_jobs_free(c->run);
	free(c->cell);
}

const struct bench_cell *bench_cells_find(const struct bench_cells *c, size_t subject,
					  enum sw_sampler_kind kind, size_t parallel)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->cell[i].subject == subject && c->cell[i].kind == kind &&
		    c->cell[i].parallel == parallel)
			return &c->cell[i];
	return NULL;
}

double bench_cells_rank(const struct bench_cells *c, enum sw_sampler_kind kind, size_t parallel,
			size_t at)
{
	double sum = 0, n = 0;

	for (size_t s = 0; s < c->n_subjects; s++) {
		double median[SW_SAMPLER_KIND_N], rank[SW_SAMPLER_KIND_N];

		for (int k = 0; k < SW_SAMPLER_KIND_N; k++) {
			const struct bench_cell *cell =
				bench_cells_find(c, s, (enum sw_sampler_kind)k, parallel);
			median[k] = cell != NULL ? cell->regret[at][1] : (double)NAN;
		}
		bench_stat_ranks(median, SW_SAMPLER_KIND_N, rank);
		if (!isnan(rank[kind])) {
			sum += rank[kind];
			n++;
		}
	}
	return n > 0 ? sum / n : (double)NAN;
}

/* --- as tables and as CSV --- */

static void print_cells(const struct bench_cells *c, size_t parallel)
{
	struct bench_table *const t =
		bench_table_create("subject|sampler|trials|25% [quartiles]|50%|100%|ms|worst ms");

	for (size_t i = 0; i < c->n; i++) {
		const struct bench_cell *cell = &c->cell[i];

		if (cell->parallel != parallel)
			continue;
		bench_table_cells(t, 0, "%s|%s|%zu", c->subject[cell->subject].o->name,
				  sw_samplers_name(cell->kind), c->subject[cell->subject].n);
		for (size_t at = 0; at < BENCH_CHECKPOINTS; at++)
			bench_stat_cell(t, 3 + at, cell->regret[at]);
		bench_table_cells(t, 6, "%.3f|%.1f", cell->suggest_ms, cell->suggest_max_ms);
	}
	(void)bench_table_end(t, NULL);
}

static void print_ranks(const struct bench_cells *c, size_t parallel)
{
	struct bench_table *const t = bench_table_create("mean rank of the medians|25%|50%|100%");

	for (int k = 0; k < SW_SAMPLER_KIND_N; k++) {
		const enum sw_sampler_kind kind = (enum sw_sampler_kind)k;

		if (isnan(bench_cells_rank(c, kind, parallel, 0)))
			continue;
		bench_table_cells(t, 0, "%s", sw_samplers_name(kind));
		for (size_t at = 0; at < BENCH_CHECKPOINTS; at++)
			bench_table_cells(t, 1 + at, "%.2f",
					  bench_cells_rank(c, kind, parallel, at));
	}
	(void)bench_table_end(t, NULL);
}

void bench_cells_print(const struct bench_cells *c, size_t parallel)
{
	printf("\n%zu at a time, %zu seeds from %zu: median and quartiles\n", parallel,
	       c->options->seeds, (size_t)c->options->seed_from);
	print_cells(c, parallel);
	putchar('\n');
	print_ranks(c, parallel);
}

static void csv_row(const struct bench_cells *c, const struct bench_cell *cell,
		    struct bench_table *t)
{
	bench_table_cells(t, 0, "%s|%s|%zu|%zu|%zu", c->subject[cell->subject].o->name,
			  sw_samplers_name(cell->kind), cell->parallel, c->subject[cell->subject].n,
			  c->options->seeds);
	for (size_t at = 0; at < BENCH_CHECKPOINTS; at++)
		bench_table_cells(t, 5 + 3 * at, "%.4g|%.4g|%.4g", cell->regret[at][0],
				  cell->regret[at][1], cell->regret[at][2]);
	bench_table_cells(t, 14, "%.4f|%.2f", cell->suggest_ms, cell->suggest_max_ms);
}

int bench_cells_csv(const struct bench_cells *c)
{
	struct bench_table *const t =
		bench_table_create("subject|sampler|parallel|trials|seeds|25 q1|25|25 q3|50 q1|"
				   "50|50 q3|100 q1|100|100 q3|ms|worst ms");

	for (size_t i = 0; i < c->n; i++)
		csv_row(c, &c->cell[i], t);
	const int rc = bench_table_csv(t, c->options->csv);

	free(t);
	return rc;
}
