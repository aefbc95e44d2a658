/*
 * bench/asha.c — the training that pruners, and samplers under them, take to a good configuration.
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
 *          100 random configurations trained in full. "hit", with up to 8 workers:
 *          resource until the incumbent, the best at the highest rung that any trial has
 *          reached, is at or below the median over the seeds of what random points under the same
 *          form of asha (stop, where there is none) end with, as a share of a sweep's budget, 20
 *          full trainings, or five a worker where that is more; followed up to 1.5, which
 *          stands for never. "hit 27": the same of trials trained in full alone. "end": the
 *          incumbent's true loss when the budget is spent. Medians and quartiles over the seeds.
 * Last     What promote takes of stop's reach; and in how many cases (form of asha, workers) bayes
 *          has a hit of at most .6 (geometric mean over the families), and no family's loss at the
 *          end is above 1.1 times that of random points.
 */
#include "bench/lib/jobs.h"
#include "bench/lib/pruning.h"
#include "bench/lib/recorded.h"
#include "bench/lib/stats.h"
#include "bench/lib/table.h"
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GOAL_SEEDS 101
#define GOAL_FROM  1001
#define GOAL_OF    100
#define HIT_MOST   0.6 /* what is wanted of bayes */
#define LOSS_MOST  1.1
#define MODEL_FULL 60 /* full trainings at most with samplers that learn */

/* ---- the goal ---- */

static void goal_one(void *ctx, size_t i, void *result)
{
	const struct bench_pruning *const p = ctx;
	const struct bench_sim_plan plan = {.family = &p->family[i / GOAL_SEEDS],
					    .sampler = SW_SAMPLER_RANDOM,
					    .seed = GOAL_FROM + i % GOAL_SEEDS,
					    .workers = 1,
					    .goal = -INFINITY,
					    .least = (size_t)GOAL_OF * BENCH_EPOCHS,
					    .most = (size_t)GOAL_OF * BENCH_EPOCHS};

	bench_sim_run(&plan, result);
}

static bool set_goals(struct bench_pruning *p)
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

/* Full trainings after which a run ends that has not come to the goal: earlier where suggestions
 * take time, which makes nothing look better than it is. */
static size_t most_full(const struct bench_pruning *p, size_t workers, size_t policy)
{
	if (p->o->budget > 0)
		return p->o->budget;
	if (bench_pruning_policies[policy].sampler != SW_SAMPLER_RANDOM && workers <= 100)
		return MODEL_FULL;
	return bench_pruning_never(workers);
}

static void run_one(void *ctx, size_t i, void *result)
{
	const struct bench_pruning *const p = ctx;
	const size_t seeds = p->o->seeds, policy = i / seeds % bench_pruning_policies_n;
	const size_t f = i / seeds / bench_pruning_policies_n % p->families;
	const size_t mode = i / seeds / bench_pruning_policies_n / p->families;
	const size_t workers = p->o->parallel.v[mode];
	const size_t most = most_full(p, workers, policy) * BENCH_EPOCHS;
	const size_t follow = bench_pruning_follow(p, mode);
	const struct bench_sim_plan plan = {.family = &p->family[f],
					    .sampler = bench_pruning_policies[policy].sampler,
					    .pruner = bench_pruning_policies[policy].pruner,
					    .seed = p->o->seed_from + i % seeds,
					    .workers = workers,
					    .goal = p->goal[f],
					    .least = workers > BENCH_PRUNING_FEW ? 1
						     : follow < most             ? follow
										 : most,
					    .most = most};

	if (bench_pruning_wanted(p, policy))
		bench_sim_run(&plan, result);
}

/* ---- printing ---- */

/* What the budget bought: columns 3 to 5. */
static void add_hits(const struct bench_pruning *p, size_t mode, size_t f, size_t policy,
		     struct bench_table *t)
{
	const struct bench_sim_run *const r = bench_pruning_runs(p, mode, f, policy);
	const size_t budget = bench_pruning_budget(p, mode);
	double end[3], hit[3], trained[3];

	for (int k = 0; k < 3; k++)
		end[k] = bench_pruning_end(p, r, budget, 0.25 * (k + 1));
	bench_stat_cell(t, 3, end);
	if (!bench_pruning_compared(p, mode, policy))
		return;
	const double level = bench_pruning_level(p, mode, f, policy);

	for (int k = 0; k < 3; k++) {
		hit[k] = bench_pruning_hit(p, mode, r, false, level, 0.25 * (k + 1));
		trained[k] = bench_pruning_hit(p, mode, r, true, level, 0.25 * (k + 1));
	}
	bench_stat_cell(t, 4, hit);
	bench_stat_cell(t, 5, trained);
}

static void add_row(const struct bench_pruning *p, size_t mode, size_t f, size_t policy,
		    struct bench_table *t)
{
	const struct bench_sim_run *const r = bench_pruning_runs(p, mode, f, policy);
	const double seeds = (double)p->o->seeds;
	double reach[3], trials = 0, full = 0, ms = 0;

	for (size_t i = 0; i < p->o->seeds; i++) {
		trials += r[i].trials / seeds;
		full += r[i].full / seeds;
		ms += r[i].suggest_ms / seeds;
	}
	bench_table_cells(t, 0, "%s|%zu|%s", p->family[f].name, p->o->parallel.v[mode],
			  bench_pruning_policies[policy].name);
	if (p->o->parallel.v[mode] <= BENCH_PRUNING_FEW)
		add_hits(p, mode, f, policy, t);
	for (int k = 0; k < 3; k++)
		reach[k] = bench_pruning_reach(p, r, p->o->parallel.v[mode], 0.25 * (k + 1));
	bench_stat_cell(t, 6, reach);
	bench_table_cells(t, 7, "%.0f|%.0f|%.2f", trials, full, ms);
}

static void print_means(const struct bench_pruning *p)
{
	static const char *const names[] = {"geometric means", "workers", "reach", "hit",
					    "worst hit",       "hit 27",  "worst", "loss",
					    "worst loss",      NULL};
	struct bench_table *const t = bench_table_create(names);

	for (size_t mode = 0; mode < p->o->parallel.n; mode++) {
		for (size_t k = 0; k < bench_pruning_policies_n; k++) {
			if (!bench_pruning_wanted(p, k))
				continue;
			const struct bench_pruning_means m = bench_pruning_means_of(p, mode, k);

			bench_table_cells(t, 0, "%s|%zu|%.1f", bench_pruning_policies[k].name,
					  p->o->parallel.v[mode], m.reach);
			if (m.compared)
				bench_table_cells(t, 3, "%.2f|%.2f|%.2f|%.2f|%.2f|%.2f", m.hit,
						  m.worst_hit, m.trained, m.worst_trained, m.loss,
						  m.worst_loss);
		}
	}
	(void)bench_table_end(t, NULL);
}

/* Does asha that promotes come to the goal as soon as asha that stops? */
static void print_promote(const struct bench_pruning *p)
{
	const size_t stop = bench_pruning_find("stop"), promote = bench_pruning_find("promote");
	double share = 0;

	/* Who is cut off early counts as never, which says nothing of the two. */
	if (!bench_pruning_wanted(p, stop) || !bench_pruning_wanted(p, promote) || p->o->budget > 0)
		return;
	for (size_t mode = 0; mode < p->o->parallel.n; mode++)
		share += log(bench_pruning_means_of(p, mode, promote).reach /
			     bench_pruning_means_of(p, mode, stop).reach);
	printf("promote: %.2f of the resource that stop takes to the best of %d (geometric mean "
	       "over families and numbers of workers)\n",
	       exp(share / (double)p->o->parallel.n), GOAL_OF);
}

static size_t runs_of(const struct bench_pruning *p)
{
	size_t n = 0;

	for (size_t k = 0; k < bench_pruning_policies_n; k++)
		n += bench_pruning_wanted(p, k) ? p->o->parallel.n * p->families * p->o->seeds : 0;
	return n;
}

/* What is wanted of bayes under asha, for both forms of it and few workers. */
static void print_verdict(const struct bench_pruning *p)
{
	static const char *const names[] = {"bayes", "bayes-p"};
	size_t held = 0, cases = 0;

	for (size_t mode = 0; mode < p->o->parallel.n; mode++) {
		for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
			const size_t policy = bench_pruning_find(names[k]);

			if (!bench_pruning_wanted(p, policy) ||
			    !bench_pruning_compared(p, mode, policy))
				continue;
			const struct bench_pruning_means m =
				bench_pruning_means_of(p, mode, policy);

			cases++;
			held += m.hit <= HIT_MOST && m.worst_loss <= LOSS_MOST;
		}
	}
	if (cases == 0) {
		printf("asha: %zu runs (of sweeps, %zu seeds)\n", runs_of(p), p->o->seeds);
		return;
	}
	printf("asha: %zu of %zu cases (form of asha and workers: bayes is where random points end "
	       "with at most %.1f of their budget, geometric mean over the families, and on none "
	       "ends with a loss above %.1f of theirs)\n",
	       held, cases, HIT_MOST, LOSS_MOST);
}

static int print(const struct bench_pruning *p)
{
	static const char *const names[] = {"family", "workers",   "policy", "end",
					    "hit",    "hit 27",    "reach",  "trials",
					    "full",   "ms an ask", NULL};
	struct bench_table *const t = bench_table_create(names);

	for (size_t mode = 0; mode < p->o->parallel.n; mode++)
		for (size_t f = 0; f < p->families; f++)
			for (size_t policy = 0; policy < bench_pruning_policies_n; policy++)
				if (bench_pruning_wanted(p, policy))
					add_row(p, mode, f, policy, t);
	const int rc = bench_table_end(t, p->o->csv);

	for (size_t f = 0; f < p->families; f++)
		printf("%s: best of %d: %.4g\n", p->family[f].name, GOAL_OF, p->goal[f]);
	print_means(p);
	print_promote(p);
	print_verdict(p);
	return rc;
}

/* ---- families ---- */

/* 0 or -1. The families of the table come last. */
static int add_families(struct bench_pruning *p, size_t *recorded)
{
	const char *const list = p->o->subjects;

	for (size_t i = 0; bench_family_formula(i) != NULL; i++)
		if (bench_listed(list, bench_family_formula(i)->name))
			p->family[p->families++] = *bench_family_formula(i);
	*recorded = p->families;
	for (size_t i = 0; bench_recorded_name(i) != NULL; i++) {
		const char *const name = bench_recorded_name(i);

		if (!bench_listed(list, name))
			continue;
		if (bench_recorded_open(&p->family[p->families], name) != 0)
			return -1;
		p->families++;
	}
	return 0;
}

/* Is there something to run, and does each run last for the budget that it is judged by? Says what
 * is wrong. */
static bool can_run(const struct bench_pruning *p)
{
	if (p->families == 0) {
		(void)fprintf(stderr, "--data names no family: %s\n", p->o->subjects);
		return false;
	}
	if (runs_of(p) == 0) {
		(void)fprintf(stderr, "--set names no policy: %s\n", p->o->sets);
		return false;
	}
	for (size_t mode = 0; mode < p->o->parallel.n; mode++) {
		const size_t full = bench_pruning_budget(p, mode) / BENCH_EPOCHS;

		if (p->o->parallel.v[mode] > BENCH_PRUNING_FEW || p->o->budget == 0 ||
		    p->o->budget >= full)
			continue;
		(void)fprintf(stderr,
			      "runs of %zu full trainings end before the budget of %zu for %zu "
			      "worker(s): give --trials %zu, or --full %zu\n",
			      p->o->budget, full, p->o->parallel.v[mode], full, p->o->budget);
		return false;
	}
	return true;
}

int main(int argc, char **argv)
{
	struct bench_options o = {.seed_from = 10,
				  .parallel = {{1, 8, 25, 500}, 4},
				  .most_parallel = 1000,
				  .jobs = 1};
	struct bench_pruning p = {.o = &o};
	size_t recorded = 0;
	int rc = -1;

	if (bench_options_read(&o, "asha", "data,set,seeds,parallel,trials,full,jobs,csv,quick",
			       "A,B  families (default all)", "A,B  policies (default all)", argc,
			       argv) != 0)
		return 2;
	if (o.quick) {
		o.subjects = o.subjects != NULL ? o.subjects : "cross,boost";
		o.parallel.n = 1;
		o.budget = o.budget > 0 ? o.budget : BENCH_SIM_FULL;
	}
	if (o.seeds == 0)
		o.seeds = o.quick ? 1 : 15;
	if (add_families(&p, &recorded) == 0 && can_run(&p) && set_goals(&p)) {
		const size_t n = o.parallel.n * p.families * bench_pruning_policies_n * o.seeds;

		p.run = bench_jobs_run(n, sizeof *p.run, o.jobs, run_one, &p, "runs");
		if (p.run != NULL)
			rc = print(&p);
		bench_jobs_free(p.run, n, sizeof *p.run);
	}
	for (size_t f = recorded; f < p.families; f++)
		bench_recorded_close(&p.family[f]);
	return rc == 0 ? 0 : 1;
}
