/*
 * bench/rungs.c — every sampler under a pruner: ASHA (eta 3, rungs 1, 3, 9, 27) stops most trials
 * early, and what is asked is how much the sampler makes of what they had reached.
 *
 * Runs     A sweep on virtual time (bench/lib/sweepsim.h), a budget of 20 full trials (540 epochs)
 *          in all, one worker or eight.
 * Workloads
 *   corr, cross, hard   as in bench/lib/family.h
 *   digits    the built-in trainer, as in bench_tune: real curves, noise, divergence
 * Policies  random, tpe, bohb, bayes; "last" is bayes without rungs, which takes the last value of
 *           a stopped trial at its word.
 * Printed  The loss at epoch 27 (without noise where that is known) of the incumbent, which is the
 *          best observed at the highest rung that any trial reached, after 5, 10 and 20 full
 *          trials; and "hit": the share of the budget after which a run is where random's median
 *          run ends (never: 1.5). Medians and quartiles over the seeds.
 */
#include "bench/lib/cells.h"
#include "bench/lib/jobs.h"
#include "bench/lib/stats.h"
#include "bench/lib/sweepsim.h"
#include "bench/lib/tuning.h"
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUDGET   ((size_t)BENCH_SIM_FULL * BENCH_EPOCHS)
#define POLICIES 5
#define NEVER    1.5

enum { LAST = POLICIES - 1 };

static const struct {
	const char *name;
	enum sw_sampler_kind kind;
} policies[POLICIES] = {{"random", SW_SAMPLER_RANDOM},
			{"tpe", SW_SAMPLER_TPE},
			{"bohb", SW_SAMPLER_BOHB},
			{"bayes", SW_SAMPLER_BAYES},
			{"last", SW_SAMPLER_BAYES}};

/* ---- workloads ---- */

/* The trainer on one of its data sets. */
struct tuned {
	struct bench_trainer *trainer;
	struct bench_objective *o;
	size_t i;
};

static struct sw_space *tuned_space(void *ctx)
{
	return bench_tuning_space(((const struct tuned *)ctx)->i);
}

/* What it comes to is taken for the truth, as in bench_tune. */
static double tuned_curve(void *ctx, const struct sw_value *v, uint64_t seed, uint64_t trial,
			  double *curve)
{
	const struct tuned *const t = ctx;

	bench_tuning_curve(t->o, v, seed, trial, 0, BENCH_EPOCHS, curve);
	return isfinite(curve[BENCH_EPOCHS - 1]) ? curve[BENCH_EPOCHS - 1] : INFINITY;
}

/* ---- all of them ---- */

#define MAX_WORKLOADS 8

struct plan {
	const struct bench_options *o;
	struct bench_family workload[MAX_WORKLOADS];
	size_t workloads;
	bool policy[POLICIES];
	struct bench_sim_run *run; /* [mode][workload][policy][seed] */
};

static struct bench_sim_run *run_at(const struct plan *p, size_t mode, size_t w, size_t policy)
{
	return p->run + ((mode * p->workloads + w) * POLICIES + policy) * p->o->seeds;
}

static void run_one(void *ctx, size_t i, void *result)
{
	const struct plan *const p = ctx;
	const size_t seeds = p->o->seeds, policy = i / seeds % POLICIES;
	const size_t w = i / seeds / POLICIES % p->workloads;

	const struct bench_sim_plan plan = {
		.family = &p->workload[w],
		.sampler = policies[policy].kind,
		.pruner = BENCH_SIM_STOP,
		.word = policy == LAST,
		.seed = p->o->seed_from + i % seeds,
		.workers = p->o->parallel[i / seeds / POLICIES / p->workloads],
		.goal = -INFINITY,
		.least = BUDGET,
		.most = BUDGET};

	if (p->policy[policy])
		bench_sim_run(&plan, result);
}

static void quartiles(const struct plan *p, const struct bench_sim_run *r, size_t epoch,
		      double q[3])
{
	double v[BENCH_MAX_SEEDS];

	for (size_t i = 0; i < p->o->seeds; i++)
		v[i] = r[i].curve[epoch - 1];
	for (int k = 0; k < 3; k++)
		q[k] = bench_stat_quantile(v, p->o->seeds, 0.25 * (k + 1));
}

static void hits(const struct plan *p, const struct bench_sim_run *r, double goal, double q[3])
{
	double v[BENCH_MAX_SEEDS];

	for (size_t i = 0; i < p->o->seeds; i++) {
		size_t e = 0;

		while (e < BUDGET && r[i].curve[e] > goal)
			e++;
		v[i] = e < BUDGET ? (double)(e + 1) / BUDGET : NEVER;
	}
	for (int k = 0; k < 3; k++)
		q[k] = bench_stat_quantile(v, p->o->seeds, 0.25 * (k + 1));
}

static void add_row(const struct plan *p, size_t mode, size_t w, size_t policy, double goal,
		    struct bench_table *t)
{
	static const size_t full[] = {5, 10, 20};
	const struct bench_sim_run *const r = run_at(p, mode, w, policy);
	double q[3], trials = 0, ms = 0;
	char text[48];

	(void)bench_table_row(t, p->workload[w].name);
	bench_table_number(t, 1, (double)p->o->parallel[mode], 0);
	bench_table_text(t, 2, policies[policy].name);
	for (size_t k = 0; k < 3; k++) {
		quartiles(p, r, full[k] * BENCH_EPOCHS, q);
		bench_stat_text(q, text);
		bench_table_text(t, 3 + k, text);
	}
	hits(p, r, goal, q);
	bench_stat_text(q, text);
	bench_table_text(t, 6, text);
	for (size_t i = 0; i < p->o->seeds; i++) {
		trials += r[i].trials / (double)p->o->seeds;
		ms += r[i].suggest_ms / (double)p->o->seeds;
	}
	bench_table_number(t, 7, trials, 0);
	bench_table_number(t, 8, ms, 2);
}

static int print(const struct plan *p)
{
	static const char *const names[] = {"workload", "workers", "policy", "loss at 5", "at 10",
					    "at 20",    "hit",     "trials", "ms an ask"};
	struct bench_table *t = malloc(sizeof *t);
	double worst = 0, q[3];

	assert(t != NULL);
	bench_table_init(t, names, sizeof names / sizeof *names);
	for (size_t mode = 0; mode < p->o->modes; mode++) {
		for (size_t w = 0; w < p->workloads; w++) {
			quartiles(p, run_at(p, mode, w, 0), BUDGET, q);
			const double goal = q[1];

			for (size_t policy = 0; policy < POLICIES; policy++)
				if (p->policy[policy])
					add_row(p, mode, w, policy, goal, t);
			hits(p, run_at(p, mode, w, 3), goal, q);
			worst = fmax(worst, q[1]);
		}
	}
	bench_table_print(t);
	const int rc = bench_table_csv(t, p->o->csv);

	free(t);
	printf("rungs: %.2f of the budget (worst median hit of bayes: where random ends)\n", worst);
	return rc;
}

static void add_workload(struct plan *p, struct bench_family w)
{
	if (bench_listed(p->o->subjects, w.name))
		p->workload[p->workloads++] = w;
}

int main(int argc, char **argv)
{
	struct bench_options o = {.seed_from = 10, .parallel = {1, 8}, .modes = 2, .jobs = 1};
	struct plan p = {.o = &o};

	for (int k = 0; k < SW_SAMPLER_KIND_N; k++)
		o.sampler[k] = true;
	if (bench_options_read(&o, argc, argv) != 0) {
		bench_options_usage("bench_rungs",
				    "--data A,B      of corr cross hard digits (default all)",
				    "  --set none      without the policy \"last\"\n");
		return 2;
	}
	if (o.quick && o.subjects == NULL)
		o.subjects = "corr,cross";
	if (o.seeds == 0)
		o.seeds = o.quick ? 1 : 15;
	for (size_t k = 0; k < POLICIES; k++)
		p.policy[k] = k == 0 || o.sampler[policies[k].kind];
	p.policy[LAST] = p.policy[LAST] && bench_listed(o.sets, "last");
	for (size_t i = 0; bench_family_formula(i) != NULL; i++)
		add_workload(&p, *bench_family_formula(i));
	struct bench_memo *const memo = bench_memo_open(NULL);
	struct bench_trainer *const trainer = bench_trainer_create(memo);
	struct tuned tuned = {.trainer = trainer, .i = 0};

	tuned.o = trainer != NULL ? bench_objective_tuning(trainer, tuned.i, 1, 0, true) : NULL;
	if (tuned.o != NULL)
		add_workload(&p, (struct bench_family){"digits", tuned_space, tuned_curve, &tuned});
	const size_t n = o.modes * p.workloads * POLICIES * o.seeds;

	p.run = bench_jobs_run(n, sizeof *p.run, o.jobs, run_one, &p, "runs");
	if (p.run == NULL)
		return 1;
	const int rc = print(&p);

	bench_jobs_free(p.run, n, sizeof *p.run);
	bench_objective_destroy(tuned.o);
	bench_trainer_destroy(trainer);
	bench_memo_close(memo);
	return rc == 0 ? 0 : 1;
}
