/*
 * bench/asha.c — the training that pruners, and samplers under them, take to a good configuration.
 *
 * Runs     Whole sweeps on virtual time (bench/lib/sweepsim.h) with 1, 8, 25 and 500 workers;
 *          eta 3, rungs 1, 3, 9, 27.
 * Families (bench/lib/family.h) corr, cross, hard by formula, and recorded curves of real
 *          trainings: digits, breast_cancer, diabetes by the built-in trainer; boost, gradient
 *          boosting whose first steps say nothing of the last.
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
#include "bench/lib/cells.h"
#include "bench/lib/jobs.h"
#include "bench/lib/stats.h"
#include "bench/lib/sweepsim.h"
#include "bench/lib/table.h"
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define GOAL_SEEDS 101
#define GOAL_FROM  1001
#define GOAL_OF    100
#define HIT_MOST   0.6 /* what is wanted of bayes */
#define LOSS_MOST  1.1
#define MODEL_FULL 60  /* full trainings at most with samplers that learn */
#define NEVER      1.5 /* a hit that never came, as a share of the budget */
/* Workers at most whose hits are told: with more, the budget is spent before much is known. */
#define FEW 8

static const struct {
	const char *name;
	enum sw_sampler_kind sampler;
	enum sw_pruner_kind pruner;
	const char *against; /* a policy's name */
} policies[] = {
	{"none", SW_SAMPLER_RANDOM, SW_PRUNER_NONE, "stop"},
	{"stop", SW_SAMPLER_RANDOM, SW_PRUNER_ASHA, "stop"},
	{"promote", SW_SAMPLER_RANDOM, SW_PRUNER_PROMOTE, "stop"},
	{"hyperband", SW_SAMPLER_RANDOM, SW_PRUNER_HYPERBAND, "stop"},
	{"median", SW_SAMPLER_RANDOM, SW_PRUNER_MEDIAN, "stop"},
	{"bohb", SW_SAMPLER_BOHB, SW_PRUNER_ASHA, "stop"},
	{"bohb-p", SW_SAMPLER_BOHB, SW_PRUNER_PROMOTE, "promote"},
	{"tpe", SW_SAMPLER_TPE, SW_PRUNER_ASHA, "stop"},
	{"tpe-p", SW_SAMPLER_TPE, SW_PRUNER_PROMOTE, "promote"},
	{"bayes", SW_SAMPLER_BAYES, SW_PRUNER_ASHA, "stop"},
	{"bayes-p", SW_SAMPLER_BAYES, SW_PRUNER_PROMOTE, "promote"},
};
enum { POLICIES = sizeof policies / sizeof *policies };

struct asha {
	const struct bench_options *o;
	struct bench_family family[BENCH_FAMILIES];
	double goal[BENCH_FAMILIES];
	size_t families;
	struct bench_sim_run *run; /* [mode][family][policy][seed] */
};

/* ---- what is measured ---- */

static bool policy_wanted(const struct asha *p, size_t policy)
{
	return bench_listed(p->o->sets, policies[policy].name);
}

static size_t policy_find(const char *name)
{
	size_t i = 0;

	while (i < POLICIES && strcmp(policies[i].name, name) != 0)
		i++;
	assert(i < POLICIES);
	return i;
}

/* Are its hits and losses known: few workers, and what it is measured against is run? */
static bool policy_compared(const struct asha *p, size_t mode, size_t policy)
{
	return p->o->parallel.v[mode] <= FEW &&
	       policy_wanted(p, policy_find(policies[policy].against));
}

/* Epochs that a sweep may spend: --full, else 20 full trainings, or five a worker where that is
 * more, of which the first is known when a fifth is spent. Runs of few workers last for it at
 * least. */
static size_t budget_epochs(const struct asha *p, size_t mode)
{
	const size_t least = 5 * p->o->parallel.v[mode];
	const size_t full = p->o->full > 0           ? p->o->full
			    : least > BENCH_SIM_FULL ? least
						     : BENCH_SIM_FULL;

	return full * BENCH_EPOCHS;
}

/* Epochs that a hit is looked for in; what is beyond counts as never. */
static size_t follow_epochs(const struct asha *p, size_t mode)
{
	const size_t most = budget_epochs(p, mode) * 3 / 2;

	return most < BENCH_SIM_KEPT ? most : BENCH_SIM_KEPT;
}

/* Full trainings after which the goal counts as never reached. */
static size_t never_full(size_t workers)
{
	return workers <= 100 ? 200 : 2 * workers;
}

/* The seeds' runs of a cell. */
static struct bench_sim_run *runs_at(const struct asha *p, size_t mode, size_t f, size_t policy)
{
	return p->run + ((mode * p->families + f) * POLICIES + policy) * p->o->seeds;
}

/* ---- quartiles over the seeds of a cell ---- */

/* Loss of the incumbent after so many epochs, no more than are kept and than the runs lasted. */
static void loss_at(const struct asha *p, const struct bench_sim_run *r, size_t epochs, double q[3])
{
	double v[BENCH_MAX_SEEDS];

	assert(epochs >= 1 && epochs <= BENCH_SIM_KEPT && p->o->seeds <= BENCH_MAX_SEEDS);
	for (size_t i = 0; i < p->o->seeds; i++)
		v[i] = r[i].curve[epochs - 1];
	bench_stat_quartiles(v, p->o->seeds, q);
}

/* Share of the budget until the incumbent's loss, or that of the best that is trained in full, is
 * at or below the level; NEVER. */
static void hit_share(const struct asha *p, size_t mode, const struct bench_sim_run *r,
		      bool trained, double level, double q[3])
{
	const size_t follow = follow_epochs(p, mode);
	double v[BENCH_MAX_SEEDS];

	for (size_t i = 0; i < p->o->seeds; i++) {
		const double *const curve = trained ? r[i].trained : r[i].curve;
		size_t e = 0;

		while (e < follow && curve[e] > level)
			e++;
		v[i] = e < follow ? (double)(e + 1) / (double)budget_epochs(p, mode) : NEVER;
	}
	bench_stat_quartiles(v, p->o->seeds, q);
}

/* Full trainings until the family's goal is reached. */
static void reach_full(const struct asha *p, const struct bench_sim_run *r, size_t workers,
		       double q[3])
{
	const double most = (double)never_full(workers);
	double v[BENCH_MAX_SEEDS];

	for (size_t i = 0; i < p->o->seeds; i++)
		v[i] = fmin(r[i].reached / BENCH_EPOCHS, most);
	bench_stat_quartiles(v, p->o->seeds, q);
}

/* What random points under the same form of asha (stop, where there is none) end with, the median
 * over the seeds: the policy's hits and losses are measured by it. */
static double level_of(const struct asha *p, size_t mode, size_t f, size_t policy)
{
	const size_t against = policy_find(policies[policy].against);
	double q[3];

	assert(policy_compared(p, mode, policy));
	loss_at(p, runs_at(p, mode, f, against), budget_epochs(p, mode), q);
	assert(isfinite(q[1]));
	return q[1];
}

/* Geometric means over the families of the medians over the seeds, and the worst family's. */
struct means {
	double reach, hit, worst_hit, trained, worst_trained;
	double loss, worst_loss; /* at the end of the budget, over the level */
	bool compared;           /* else reach alone is known */
};

static void compare(const struct asha *p, size_t mode, size_t f, size_t policy, struct means *m)
{
	const struct bench_sim_run *const r = runs_at(p, mode, f, policy);
	const double level = level_of(p, mode, f, policy), n = (double)p->families;
	double hit[3], trained[3], loss[3];

	hit_share(p, mode, r, false, level, hit);
	hit_share(p, mode, r, true, level, trained);
	loss_at(p, r, budget_epochs(p, mode), loss);
	m->hit += log(hit[1]) / n;
	m->worst_hit = fmax(m->worst_hit, hit[1]);
	m->trained += log(trained[1]) / n;
	m->worst_trained = fmax(m->worst_trained, trained[1]);
	m->loss += log(loss[1] / level) / n;
	m->worst_loss = fmax(m->worst_loss, loss[1] / level);
}

static struct means means_of(const struct asha *p, size_t mode, size_t policy)
{
	const size_t workers = p->o->parallel.v[mode];
	struct means m = {.compared = policy_compared(p, mode, policy)};

	for (size_t f = 0; f < p->families; f++) {
		double reach[3];

		reach_full(p, runs_at(p, mode, f, policy), workers, reach);
		m.reach += log(reach[1]) / (double)p->families;
		if (m.compared)
			compare(p, mode, f, policy, &m);
	}
	m.reach = exp(m.reach);
	m.hit = exp(m.hit);
	m.trained = exp(m.trained);
	m.loss = exp(m.loss);
	return m;
}

/* ---- the goal ---- */

static void goal_one(void *ctx, size_t i, void *result)
{
	const struct asha *const p = ctx;
	const struct bench_sim_plan plan = {.family = &p->family[i / GOAL_SEEDS],
					    .sampler = SW_SAMPLER_RANDOM,
					    .seed = GOAL_FROM + i % GOAL_SEEDS,
					    .workers = 1,
					    .goal = -INFINITY,
					    .least = (size_t)GOAL_OF * BENCH_EPOCHS,
					    .most = (size_t)GOAL_OF * BENCH_EPOCHS};

	bench_sim_run(&plan, result);
}

static bool set_goals(struct asha *p)
{
	struct bench_sim_run *const run = bench_jobs_run(p->families * GOAL_SEEDS, sizeof *run,
							 p->o->jobs, goal_one, p, "goals");
	double v[GOAL_SEEDS];

	if (run == NULL)
		return false;
	for (size_t f = 0; f < p->families; f++) {
		for (size_t i = 0; i < GOAL_SEEDS; i++)
			v[i] = run[f * GOAL_SEEDS + i].end;
		p->goal[f] = bench_stat_quantile(v, GOAL_SEEDS, 0.5);
	}
	bench_jobs_free(run);
	return true;
}

/* ---- the runs ---- */

/* Full trainings after which a run ends that has not come to the goal: earlier where suggestions
 * take time, which makes nothing look better than it is. */
static size_t most_full(const struct asha *p, size_t workers, size_t policy)
{
	if (p->o->budget > 0)
		return p->o->budget;
	if (policies[policy].sampler != SW_SAMPLER_RANDOM && workers <= 100)
		return MODEL_FULL;
	return never_full(workers);
}

static void run_one(void *ctx, size_t i, void *result)
{
	const struct asha *const p = ctx;
	const size_t seeds = p->o->seeds, policy = i / seeds % POLICIES;
	const size_t f = i / seeds / POLICIES % p->families;
	const size_t mode = i / seeds / POLICIES / p->families;
	const size_t workers = p->o->parallel.v[mode];
	const size_t most = most_full(p, workers, policy) * BENCH_EPOCHS;
	const size_t follow = follow_epochs(p, mode);
	const struct bench_sim_plan plan = {.family = &p->family[f],
					    .sampler = policies[policy].sampler,
					    .pruner = policies[policy].pruner,
					    .seed = p->o->seed_from + i % seeds,
					    .workers = workers,
					    .goal = p->goal[f],
					    .least = workers > FEW   ? 1
						     : follow < most ? follow
								     : most,
					    .most = most};

	if (policy_wanted(p, policy))
		bench_sim_run(&plan, result);
}

/* ---- printing ---- */

/* What the budget bought: columns 3 to 5. */
static void add_hits(const struct asha *p, size_t mode, size_t f, size_t policy,
		     struct bench_table *t)
{
	const struct bench_sim_run *const r = runs_at(p, mode, f, policy);
	double q[3];

	loss_at(p, r, budget_epochs(p, mode), q);
	bench_stat_cell(t, 3, q);
	if (!policy_compared(p, mode, policy))
		return;
	for (size_t trained = 0; trained < 2; trained++) {
		hit_share(p, mode, r, trained == 1, level_of(p, mode, f, policy), q);
		bench_stat_cell(t, 4 + trained, q);
	}
}

static void add_row(const struct asha *p, size_t mode, size_t f, size_t policy,
		    struct bench_table *t)
{
	const struct bench_sim_run *const r = runs_at(p, mode, f, policy);
	const double seeds = (double)p->o->seeds;
	double reach[3], trials = 0, full = 0, ms = 0;

	for (size_t i = 0; i < p->o->seeds; i++) {
		trials += r[i].trials / seeds;
		full += r[i].full / seeds;
		ms += r[i].suggest_ms / seeds;
	}
	bench_table_cells(t, 0, "%s|%zu|%s", p->family[f].name, p->o->parallel.v[mode],
			  policies[policy].name);
	if (p->o->parallel.v[mode] <= FEW)
		add_hits(p, mode, f, policy, t);
	reach_full(p, r, p->o->parallel.v[mode], reach);
	bench_stat_cell(t, 6, reach);
	bench_table_cells(t, 7, "%.0f|%.0f|%.2f", trials, full, ms);
}

static void print_means(const struct asha *p)
{
	struct bench_table *const t = bench_table_create(
		"geometric means|workers|reach|hit|worst hit|hit 27|worst|loss|worst loss");

	for (size_t mode = 0; mode < p->o->parallel.n; mode++) {
		for (size_t k = 0; k < POLICIES; k++) {
			if (!policy_wanted(p, k))
				continue;
			const struct means m = means_of(p, mode, k);

			bench_table_cells(t, 0, "%s|%zu|%.1f", policies[k].name,
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
static void print_promote(const struct asha *p)
{
	const size_t stop = policy_find("stop"), promote = policy_find("promote");
	double share = 0;

	/* Who is cut off early counts as never, which says nothing of the two. */
	if (!policy_wanted(p, stop) || !policy_wanted(p, promote) || p->o->budget > 0)
		return;
	for (size_t mode = 0; mode < p->o->parallel.n; mode++)
		share += log(means_of(p, mode, promote).reach / means_of(p, mode, stop).reach);
	printf("promote: %.2f of the resource that stop takes to the best of %d (geometric mean "
	       "over families and numbers of workers)\n",
	       exp(share / (double)p->o->parallel.n), GOAL_OF);
}

static size_t count_runs(const struct asha *p)
{
	size_t n = 0;

	for (size_t k = 0; k < POLICIES; k++)
		n += policy_wanted(p, k) ? p->o->parallel.n * p->families * p->o->seeds : 0;
	return n;
}

/* What is wanted of bayes under asha, for both forms of it and few workers. */
static void print_verdict(const struct asha *p)
{
	size_t held = 0, cases = 0;

	for (size_t mode = 0; mode < p->o->parallel.n; mode++) {
		for (size_t k = 0; k < POLICIES; k++) {
			if (policies[k].sampler != SW_SAMPLER_BAYES || !policy_wanted(p, k) ||
			    !policy_compared(p, mode, k))
				continue;
			const struct means m = means_of(p, mode, k);

			cases++;
			held += m.hit <= HIT_MOST && m.worst_loss <= LOSS_MOST;
		}
	}
	if (cases == 0) {
		printf("asha: %zu runs (of sweeps, %zu seeds)\n", count_runs(p), p->o->seeds);
		return;
	}
	printf("asha: %zu of %zu cases (form of asha and workers: bayes is where random points end "
	       "with at most %.1f of their budget, geometric mean over the families, and on none "
	       "ends with a loss above %.1f of theirs)\n",
	       held, cases, HIT_MOST, LOSS_MOST);
}

static int print(const struct asha *p)
{
	struct bench_table *const t = bench_table_create(
		"family|workers|policy|end|hit|hit 27|reach|trials|full|ms an ask");

	for (size_t mode = 0; mode < p->o->parallel.n; mode++)
		for (size_t f = 0; f < p->families; f++)
			for (size_t policy = 0; policy < POLICIES; policy++)
				if (policy_wanted(p, policy))
					add_row(p, mode, f, policy, t);
	const int rc = bench_table_end(t, p->o->csv);

	for (size_t f = 0; f < p->families; f++)
		printf("%s: best of %d: %.4g\n", p->family[f].name, GOAL_OF, p->goal[f]);
	print_means(p);
	print_promote(p);
	print_verdict(p);
	return rc;
}

/* Is there something to run, and does each run last for the budget that it is judged by? Says what
 * is wrong. */
static bool can_run(const struct asha *p)
{
	if (p->families == 0) {
		(void)fprintf(stderr, "--data names no family: %s\n", p->o->subjects);
		return false;
	}
	if (count_runs(p) == 0) {
		(void)fprintf(stderr, "--set names no policy: %s\n", p->o->sets);
		return false;
	}
	for (size_t mode = 0; mode < p->o->parallel.n; mode++) {
		const size_t full = budget_epochs(p, mode) / BENCH_EPOCHS;

		if (p->o->parallel.v[mode] > FEW || p->o->budget == 0 || p->o->budget >= full)
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
	struct asha p = {.o = &o};
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
	if (bench_families_open(p.family, &p.families, o.subjects) == 0 && can_run(&p) &&
	    set_goals(&p)) {
		const size_t n = o.parallel.n * p.families * POLICIES * o.seeds;

		p.run = bench_jobs_run(n, sizeof *p.run, o.jobs, run_one, &p, "runs");
		if (p.run != NULL)
			rc = print(&p);
		bench_jobs_free(p.run);
	}
	bench_families_close(p.family, p.families);
	return rc == 0 ? 0 : 1;
}
