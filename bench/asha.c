/*
 * bench/asha.c — pruners, and the samplers that learn under them, on learning curves: how much
 * training it takes to come to a good configuration.
 *
 * Runs     Whole sweeps on virtual time (bench/lib/sweepsim.h) with 1, 8, 25 and 500 workers;
 *          eta 3, rungs 1, 3, 9, 27.
 * Families corr, cross, hard by formula (bench/lib/family.h), and recorded curves of real
 *          trainings (bench/lib/recorded.h): digits, breast_cancer, diabetes by the built-in
 *          trainer; boost, gradient boosting whose first steps say nothing of the last.
 * Policies none       random points, all trained in full
 *          stop       random points, asha that stops
 *          promote    random points, asha that pauses and promotes
 *          hyperband  random points, W&B's rule
 *          median     random points, Optuna's rule
 *          bohb(-p)   bohb under stop (promote)
 *          tpe(-p)    tpe under stop (promote)
 *          bayes(-p)  bayes under stop (promote)
 * Printed  "reach": resource, in full trainings, until the true loss of the best trial that was
 *          trained in full is at or below the median over 101 other seeds of that of the best of
 *          100 random configurations trained in full. "hit", with up to 8 workers, as bench_rungs
 *          has it: resource until the incumbent, the best at the highest rung that any trial has
 *          reached, is at or below the median over the seeds of what random points under the same
 *          form of asha (stop, where there is none) end with, as a share of a sweep's budget, 20
 *          full trainings, or five a worker where that is more; followed up to 1.5, which
 *          stands for never. "hit 27": the same of trials trained in full alone. "end": their
 *          loss when the budget is spent. Medians and quartiles over the seeds.
 */
#include "bench/lib/boost.h"
#include "bench/lib/cells.h"
#include "bench/lib/jobs.h"
#include "bench/lib/recorded.h"
#include "bench/lib/stats.h"
#include "bench/lib/sweepsim.h"
#include "bench/lib/tuning.h"
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NEVER        1.5
#define HIT_WORKERS  8 /* at most so many: with more, the budget is spent before much is known */
#define GOAL_SEEDS   101
#define GOAL_FROM    1001
#define GOAL_OF      100
#define MODEL_FULL   60 /* full trainings at most with samplers that learn */
#define MAX_FAMILIES 8

static const struct {
	const char *name;
	enum sw_sampler_kind sampler;
	enum bench_sim_pruner pruner;
	const char *against; /* whose end the hit is measured by */
} policies[] = {
	{"none", SW_SAMPLER_RANDOM, BENCH_SIM_NONE, "stop"},
	{"stop", SW_SAMPLER_RANDOM, BENCH_SIM_STOP, "stop"},
	{"promote", SW_SAMPLER_RANDOM, BENCH_SIM_PROMOTE, "stop"},
	{"hyperband", SW_SAMPLER_RANDOM, BENCH_SIM_HYPERBAND, "stop"},
	{"median", SW_SAMPLER_RANDOM, BENCH_SIM_MEDIAN, "stop"},
	{"bohb", SW_SAMPLER_BOHB, BENCH_SIM_STOP, "stop"},
	{"bohb-p", SW_SAMPLER_BOHB, BENCH_SIM_PROMOTE, "promote"},
	{"tpe", SW_SAMPLER_TPE, BENCH_SIM_STOP, "stop"},
	{"tpe-p", SW_SAMPLER_TPE, BENCH_SIM_PROMOTE, "promote"},
	{"bayes", SW_SAMPLER_BAYES, BENCH_SIM_STOP, "stop"},
	{"bayes-p", SW_SAMPLER_BAYES, BENCH_SIM_PROMOTE, "promote"},
};
#define POLICIES (sizeof policies / sizeof *policies)

struct plan {
	const struct bench_options *o;
	struct bench_family family[MAX_FAMILIES];
	double goal[MAX_FAMILIES];
	size_t families;
	struct bench_sim_run *run; /* [mode][family][policy][seed] */
};

static bool wanted(const struct plan *p, size_t policy)
{
	return bench_listed(p->o->sets, policies[policy].name);
}

/* Epochs that a sweep takes: no less than five full trainings a worker, of which the first is known
 * when a fifth is spent. */
static size_t budget_of(const struct plan *p, size_t mode)
{
	const size_t least = 5 * p->o->parallel[mode];
	const size_t full = p->o->full > 0           ? p->o->full
			    : least > BENCH_SIM_FULL ? least
						     : BENCH_SIM_FULL;

	return full * BENCH_EPOCHS;
}

/* How far it is followed; what is beyond counts as never. */
static size_t follow_of(const struct plan *p, size_t mode)
{
	const size_t most = budget_of(p, mode) * 3 / 2;

	return most < BENCH_SIM_KEPT ? most : BENCH_SIM_KEPT;
}

static size_t find_policy(const char *name)
{
	size_t i = 0;

	while (strcmp(policies[i].name, name) != 0)
		i++;
	return i;
}

/* ---- the goal ---- */

static void goal_one(void *ctx, size_t i, void *result)
{
	const struct plan *const p = ctx;
	const struct bench_sim_plan plan = {.family = &p->family[i / GOAL_SEEDS],
					    .sampler = SW_SAMPLER_RANDOM,
					    .seed = GOAL_FROM + i % GOAL_SEEDS,
					    .workers = 1,
					    .goal = -INFINITY,
					    .least = (size_t)GOAL_OF * BENCH_EPOCHS,
					    .most = (size_t)GOAL_OF * BENCH_EPOCHS};

	bench_sim_run(&plan, result);
}

static bool set_goals(struct plan *p)
{
	const size_t n = p->families * GOAL_SEEDS;
	struct bench_sim_run *const run =
		bench_jobs_run(n, sizeof *run, p->o->jobs, goal_one, p, "goals");
	double v[GOAL_SEEDS];

	if (run == NULL)
		return false;
	for (size_t f = 0; f < p->families; f++) {
		for (size_t i = 0; i < GOAL_SEEDS; i++)
			v[i] = run[f * GOAL_SEEDS + i].end;
		p->goal[f] = bench_stat_quantile(v, GOAL_SEEDS, 0.5);
	}
	bench_jobs_free(run, n, sizeof *run);
	return true;
}

/* ---- the runs ---- */

/* Full trainings after which the goal counts as never reached. */
static size_t never_full(size_t workers)
{
	return workers <= 100 ? 200 : 2 * workers;
}

/* Full trainings after which a run ends that has not come to the goal: earlier where suggestions
 * take time, which makes nothing look better than it is. */
static size_t most_full(const struct plan *p, size_t workers, size_t policy)
{
	if (p->o->budget > 0)
		return p->o->budget;
	if (policies[policy].sampler != SW_SAMPLER_RANDOM && workers <= 100)
		return MODEL_FULL;
	return never_full(workers);
}

static struct bench_sim_run *run_at(const struct plan *p, size_t mode, size_t f, size_t policy)
{
	return p->run + ((mode * p->families + f) * POLICIES + policy) * p->o->seeds;
}

static void run_one(void *ctx, size_t i, void *result)
{
	const struct plan *const p = ctx;
	const size_t seeds = p->o->seeds, policy = i / seeds % POLICIES;
	const size_t f = i / seeds / POLICIES % p->families;
	const size_t mode = i / seeds / POLICIES / p->families, workers = p->o->parallel[mode];
	const size_t most = most_full(p, workers, policy) * BENCH_EPOCHS;
	const size_t follow = most < follow_of(p, mode) ? most : follow_of(p, mode);
	const struct bench_sim_plan plan = {.family = &p->family[f],
					    .sampler = policies[policy].sampler,
					    .pruner = policies[policy].pruner,
					    .seed = p->o->seed_from + i % seeds,
					    .workers = workers,
					    .goal = p->goal[f],
					    .least = workers > HIT_WORKERS ? 1 : follow,
					    .most = most};

	if (wanted(p, policy))
		bench_sim_run(&plan, result);
}

/* ---- figures ---- */

static double end_of(const struct plan *p, const struct bench_sim_run *r, size_t epochs, double q)
{
	double v[BENCH_MAX_SEEDS];

	for (size_t i = 0; i < p->o->seeds; i++)
		v[i] = r[i].curve[epochs - 1];
	return bench_stat_quantile(v, p->o->seeds, q);
}

static double hit_of(const struct plan *p, size_t mode, const struct bench_sim_run *r, bool trained,
		     double goal, double q)
{
	const size_t follow = follow_of(p, mode);
	double v[BENCH_MAX_SEEDS];

	for (size_t i = 0; i < p->o->seeds; i++) {
		const double *const curve = trained ? r[i].trained : r[i].curve;
		size_t e = 0;

		while (e < follow && curve[e] > goal)
			e++;
		v[i] = e < follow ? (double)(e + 1) / (double)budget_of(p, mode) : NEVER;
	}
	return bench_stat_quantile(v, p->o->seeds, q);
}

/* Never counts as never_full(). */
static double reach_of(const struct plan *p, const struct bench_sim_run *r, size_t workers,
		       double q)
{
	const double most = (double)never_full(workers);
	double v[BENCH_MAX_SEEDS];

	for (size_t i = 0; i < p->o->seeds; i++)
		v[i] = fmin(r[i].reached / BENCH_EPOCHS, most);
	return bench_stat_quantile(v, p->o->seeds, q);
}

static double goal_of_hit(const struct plan *p, size_t mode, size_t f, size_t policy)
{
	const size_t against = find_policy(policies[policy].against);

	return end_of(p, run_at(p, mode, f, against), budget_of(p, mode), 0.5);
}

/* ---- printing ---- */

static void add_row(const struct plan *p, size_t mode, size_t f, size_t policy,
		    struct bench_table *t)
{
	const struct bench_sim_run *const r = run_at(p, mode, f, policy);
	const size_t workers = p->o->parallel[mode];
	double end[3], hit[3], trained[3], reach[3], trials = 0, full = 0, ms = 0;
	char text[48];

	for (int k = 0; k < 3; k++) {
		const double q = 0.25 * (k + 1);

		end[k] = end_of(p, r, budget_of(p, mode), q);
		hit[k] = hit_of(p, mode, r, false, goal_of_hit(p, mode, f, policy), q);
		trained[k] = hit_of(p, mode, r, true, goal_of_hit(p, mode, f, policy), q);
		reach[k] = reach_of(p, r, workers, q);
	}
	for (size_t i = 0; i < p->o->seeds; i++) {
		trials += r[i].trials / (double)p->o->seeds;
		full += r[i].full / (double)p->o->seeds;
		ms += r[i].suggest_ms / (double)p->o->seeds;
	}
	(void)bench_table_row(t, p->family[f].name);
	bench_table_number(t, 1, (double)workers, 0);
	bench_table_text(t, 2, policies[policy].name);
	if (workers <= HIT_WORKERS) {
		bench_stat_text(end, text);
		bench_table_text(t, 3, text);
		bench_stat_text(hit, text);
		bench_table_text(t, 4, text);
		bench_stat_text(trained, text);
		bench_table_text(t, 5, text);
	}
	bench_stat_text(reach, text);
	bench_table_text(t, 6, text);
	bench_table_number(t, 7, trials, 0);
	bench_table_number(t, 8, full, 0);
	bench_table_number(t, 9, ms, 2);
}

/* Over the families, of the medians over the seeds. */
struct means {
	double reach, hit, worst_hit, trained, worst_trained;
	double loss, worst_loss; /* at the end, over that of `against` */
};

static struct means means_of(const struct plan *p, size_t mode, size_t policy)
{
	const size_t against = find_policy(policies[policy].against);
	const double n = (double)p->families;
	struct means m = {0};

	for (size_t f = 0; f < p->families; f++) {
		const struct bench_sim_run *const r = run_at(p, mode, f, policy);
		const double goal = goal_of_hit(p, mode, f, policy);

		m.reach += log(reach_of(p, r, p->o->parallel[mode], 0.5)) / n;
		if (p->o->parallel[mode] > HIT_WORKERS || !wanted(p, against))
			continue;
		const double hit = hit_of(p, mode, r, false, goal, 0.5);
		const double trained = hit_of(p, mode, r, true, goal, 0.5);
		const double loss = end_of(p, r, budget_of(p, mode), 0.5) / goal;

		m.hit += log(hit) / n;
		m.worst_hit = fmax(m.worst_hit, hit);
		m.trained += log(trained) / n;
		m.worst_trained = fmax(m.worst_trained, trained);
		m.loss += log(loss) / n;
		m.worst_loss = fmax(m.worst_loss, loss);
	}
	m.reach = exp(m.reach);
	m.hit = exp(m.hit);
	m.trained = exp(m.trained);
	m.loss = exp(m.loss);
	return m;
}

static void print_means(const struct plan *p)
{
	static const char *const names[] = {"geometric means", "workers", "reach", "hit",
					    "worst hit",       "hit 27",  "worst", "loss",
					    "worst loss"};
	struct bench_table *t = malloc(sizeof *t);

	assert(t != NULL);
	bench_table_init(t, names, sizeof names / sizeof *names);
	for (size_t mode = 0; mode < p->o->modes; mode++) {
		for (size_t k = 0; k < POLICIES; k++) {
			if (!wanted(p, k))
				continue;
			const struct means m = means_of(p, mode, k);

			(void)bench_table_row(t, policies[k].name);
			bench_table_number(t, 1, (double)p->o->parallel[mode], 0);
			bench_table_number(t, 2, m.reach, 1);
			if (p->o->parallel[mode] > HIT_WORKERS)
				continue;
			bench_table_number(t, 3, m.hit, 2);
			bench_table_number(t, 4, m.worst_hit, 2);
			bench_table_number(t, 5, m.trained, 2);
			bench_table_number(t, 6, m.worst_trained, 2);
			bench_table_number(t, 7, m.loss, 2);
			bench_table_number(t, 8, m.worst_loss, 2);
		}
	}
	bench_table_print(t);
	free(t);
}

/* Every run: after 1 to 30 full trainings. 0 or -1. */
static int write_curves(const struct plan *p)
{
	if (p->o->curves == NULL)
		return 0;
	FILE *const f = fopen(p->o->curves, "w");
	const size_t seeds = p->o->seeds, n = p->o->modes * p->families * POLICIES * seeds;

	if (f == NULL) {
		perror(p->o->curves);
		return -1;
	}
	(void)fprintf(f, "family,workers,policy,seed,trials,full,reach");
	for (size_t k = 1; k * BENCH_EPOCHS <= BENCH_SIM_KEPT; k++)
		(void)fprintf(f, ",at %zu", k);
	for (size_t k = 1; k * BENCH_EPOCHS <= BENCH_SIM_KEPT; k++)
		(void)fprintf(f, ",any at %zu", k);
	for (size_t i = 0; i < n; i++) {
		const struct bench_sim_run *const r = p->run + i;
		const size_t policy = i / seeds % POLICIES;

		if (!wanted(p, policy))
			continue;
		(void)fprintf(f, "\n%s,%zu,%s,%zu,%u,%u,%g",
			      p->family[i / seeds / POLICIES % p->families].name,
			      p->o->parallel[i / seeds / POLICIES / p->families],
			      policies[policy].name, (size_t)p->o->seed_from + i % seeds, r->trials,
			      r->full, r->reached / BENCH_EPOCHS);
		for (size_t k = 1; k * BENCH_EPOCHS <= BENCH_SIM_KEPT; k++)
			(void)fprintf(f, ",%g", r->trained[k * BENCH_EPOCHS - 1]);
		for (size_t k = 1; k * BENCH_EPOCHS <= BENCH_SIM_KEPT; k++)
			(void)fprintf(f, ",%g", r->curve[k * BENCH_EPOCHS - 1]);
	}
	(void)fprintf(f, "\n");
	return fclose(f) == 0 ? 0 : -1;
}

static int print(const struct plan *p)
{
	static const char *const names[] = {"family", "workers", "policy", "end",  "hit",
					    "hit 27", "reach",   "trials", "full", "ms an ask"};
	struct bench_table *t = malloc(sizeof *t);

	assert(t != NULL);
	bench_table_init(t, names, sizeof names / sizeof *names);
	for (size_t mode = 0; mode < p->o->modes; mode++)
		for (size_t f = 0; f < p->families; f++)
			for (size_t policy = 0; policy < POLICIES; policy++)
				if (wanted(p, policy))
					add_row(p, mode, f, policy, t);
	bench_table_print(t);
	const int rc = bench_table_csv(t, p->o->csv) != 0 || write_curves(p) != 0 ? -1 : 0;

	free(t);
	for (size_t f = 0; f < p->families; f++)
		printf("%s: best of %d: %.4g\n", p->family[f].name, GOAL_OF, p->goal[f]);
	print_means(p);
	if (wanted(p, find_policy("bayes")))
		printf("asha: %.2f of the resource (bayes under asha, to where random under asha "
		       "ends: geometric mean, %zu worker(s))\n",
		       means_of(p, 0, find_policy("bayes")).trained, p->o->parallel[0]);
	return rc;
}

/* ---- families ---- */

static struct sw_space *tuned_space(void *ctx)
{
	return bench_tuning_space(*(const size_t *)ctx);
}

static struct sw_space *boosted_space(void *ctx)
{
	(void)ctx;
	return bench_boost_space();
}

static size_t numbers[MAX_FAMILIES]; /* of the trainer's tasks: what a space is made from */

/* 0 or -1. The families of the table come last. */
static int add_families(struct plan *p, size_t *recorded)
{
	const char *const list = p->o->subjects;

	for (size_t i = 0; bench_family_formula(i) != NULL; i++)
		if (bench_listed(list, bench_family_formula(i)->name))
			p->family[p->families++] = *bench_family_formula(i);
	*recorded = p->families;
	for (size_t i = 0; bench_tuning_name(i) != NULL; i++) {
		const char *const name = bench_tuning_name(i);

		numbers[i] = i;
		if (strcmp(name, "wine") == 0 || !bench_listed(list, name))
			continue;
		if (bench_recorded_open(&p->family[p->families], name, tuned_space, &numbers[i]) !=
		    0)
			return -1;
		p->families++;
	}
	if (!bench_listed(list, "boost"))
		return 0;
	if (bench_recorded_open(&p->family[p->families], "boost", boosted_space, NULL) != 0)
		return -1;
	p->families++;
	return 0;
}

int main(int argc, char **argv)
{
	struct bench_options o = {.seed_from = 10,
				  .parallel = {1, 8, 25, 500},
				  .modes = 4,
				  .most_parallel = 1000,
				  .jobs = 1};
	struct plan p = {.o = &o};
	size_t recorded = 0;
	int rc = -1;

	if (bench_options_read(&o, argc, argv) != 0) {
		bench_options_usage(
			"bench_asha", "--data A,B      families (default all)",
			"  --set A,B       policies (default all)\n"
			"  --trials N      full trainings at most, instead of 200\n"
			"  --full N        the budget, 4 to 40, instead of 20 or 5 a worker\n");
		return 2;
	}
	if (o.quick) {
		o.subjects = o.subjects != NULL ? o.subjects : "cross,boost";
		o.modes = 1;
		o.budget = o.budget > 0 ? o.budget : BENCH_SIM_FULL;
	}
	if (o.seeds == 0)
		o.seeds = o.quick ? 1 : 15;
	if (add_families(&p, &recorded) == 0 && set_goals(&p)) {
		const size_t n = o.modes * p.families * POLICIES * o.seeds;

		p.run = bench_jobs_run(n, sizeof *p.run, o.jobs, run_one, &p, "runs");
		if (p.run != NULL)
			rc = print(&p);
		bench_jobs_free(p.run, n, sizeof *p.run);
	}
	for (size_t f = recorded; f < p.families; f++)
		bench_recorded_close(&p.family[f]);
	return rc == 0 ? 0 : 1;
}
