/*
 * bench/rungs.c — every sampler under a pruner: ASHA (eta 3, rungs 1, 3, 9, 27) stops most trials
 * early, and what is asked is how much the sampler makes of what they had reached.
 *
 * Runs     The state machine of a sweep (sched/sweep.h) on virtual time, a budget of 20 full trials
 *          (540 epochs) in all, one worker or eight, each trial's epochs at its own pace.
 * Workloads
 *   corr      Hartmann-6 and a decay that is much the same for all: rungs agree
 *   cross     d = 5; the best configurations come down slowest: low rungs mislead. Rank correlation
 *             with epoch 27 within the best fifth: .74, .48, .63 at epochs 1, 3, 9
 *   hard      more so: .25, .16, .60
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
#include "bench/lib/tuning.h"
#include "sched/sweep.h"
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EPOCHS   27
#define FULL     20
#define BUDGET   (FULL * EPOCHS)
#define POLICIES 5
#define NEVER    1.5

static const unsigned rungs[] = {1, 3, 9, 27};
enum { RUNGS = sizeof rungs / sizeof *rungs, LAST = POLICIES - 1 };

static const struct {
	const char *name;
	enum sw_sampler_kind kind;
} policies[POLICIES] = {{"random", SW_SAMPLER_RANDOM},
			{"tpe", SW_SAMPLER_TPE},
			{"bohb", SW_SAMPLER_BOHB},
			{"bayes", SW_SAMPLER_BAYES},
			{"last", SW_SAMPLER_BAYES}};

/* curve[EPOCHS]: what is observed after each; NaN: diverged. Returns the truth at the end. */
typedef double curve_fn(void *ctx, const struct sw_value *v, uint64_t seed, uint64_t trial,
			double *curve);

struct workload {
	const char *name;
	struct sw_space *(*space)(void *ctx); /* a new one for each sweep, which takes it */
	curve_fn *curve;
	void *ctx;
};

/* ---- workloads ---- */

static struct sw_space *cube(size_t d)
{
	struct sw_space *s;
	const sw_status rc = sw_space_create(&s);

	assert(rc == SW_OK);
	for (size_t i = 0; i < d; i++)
		bench_add(s, (struct sw_param){.dist = SW_DIST_UNIFORM, .min = 0, .max = 1});
	return s;
}

static struct sw_space *cube6(void *ctx)
{
	(void)ctx;
	return cube(6);
}

static struct sw_space *cube5(void *ctx)
{
	(void)ctx;
	return cube(5);
}

/* Noise of one trial: a part that all its epochs share, and one of each. */
static double noise(uint64_t seed, uint64_t trial, size_t epoch)
{
	return 0.7 * bench_normal(seed, trial, 0x6e6f) +
	       0.7 * bench_normal(seed, trial, 0x6e70 + (unsigned)epoch);
}

static double corr(void *ctx, const struct sw_value *v, uint64_t seed, uint64_t trial,
		   double *curve)
{
	double x[6], truth = 0;

	(void)ctx;
	for (size_t k = 0; k < 6; k++)
		x[k] = v[k].number;
	const double end = bench_hartmann6(x, 6) + 3.32237, start = 1 + 0.5 * sin(3 * x[0] + x[3]);

	for (size_t t = 0; t < EPOCHS; t++) {
		truth = end + start * pow((double)(t + 1), -0.7);
		curve[t] = truth + 0.03 * noise(seed, trial, t);
	}
	return truth;
}

/* One parameter says how slowly the loss comes down, and slow is where the minimum is. */
static double crossing(const struct sw_value *v, double start, double slowest, double power,
		       uint64_t seed, uint64_t trial, double *curve)
{
	static const double best[] = {0.2, 0.7, 0.4, 0.6, 0.3}, weight[] = {3, 2.5, 2, 1.5, 1};
	const double slow = 0.7 + slowest * pow(1 - v[0].number, power);
	double end = 0, truth = 0, sum = 0;

	for (size_t k = 0; k < 5; k++)
		sum += v[k].number - best[k];
	for (size_t k = 0; k < 5; k++) {
		/* Reflected, so that it is no sum over the parameters. */
		const double off = v[k].number - best[k] - sum * 2 / 5;

		end += weight[k] * (off * off + 0.02 * (1 - cos(15 * off)));
	}
	for (size_t t = 0; t < EPOCHS; t++) {
		truth = end + start * exp(-(double)(t + 1) / slow);
		curve[t] = truth + 0.02 * noise(seed, trial, t);
	}
	return truth;
}

static double cross(void *ctx, const struct sw_value *v, uint64_t seed, uint64_t trial,
		    double *curve)
{
	(void)ctx;
	return crossing(v, 1.5, 9, 2, seed, trial, curve);
}

static double hard(void *ctx, const struct sw_value *v, uint64_t seed, uint64_t trial,
		   double *curve)
{
	(void)ctx;
	return crossing(v, 2.5, 6, 3, seed, trial, curve);
}

/* The trainer on one of its data sets. */
struct tuned {
	struct bench_trainer *trainer;
	struct bench_objective *o;
	size_t i;
};

static struct sw_space *tuned_space(void *ctx)
{
	const struct tuned *const t = ctx;
	struct bench_objective *const o = bench_objective_tuning(t->trainer, t->i, 1, 0, true);

	assert(o != NULL);
	struct sw_space *const s = o->space;

	o->space = NULL;
	bench_objective_destroy(o);
	return s;
}

/* What it comes to is taken for the truth, as in bench_tune. */
static double tuned_curve(void *ctx, const struct sw_value *v, uint64_t seed, uint64_t trial,
			  double *curve)
{
	const struct tuned *const t = ctx;

	bench_tuning_curve(t->o, v, seed, trial, 0, EPOCHS, curve);
	return isfinite(curve[EPOCHS - 1]) ? curve[EPOCHS - 1] : INFINITY;
}

/* ---- one run ---- */

struct lane {
	uint64_t trial;
	unsigned epoch;
	double free_at, pace;
	double curve[EPOCHS], truth;
};

struct sim {
	const struct workload *w;
	size_t policy;
	uint64_t seed;
	struct sw_sweep *sweep;
	struct sw_sampler *word; /* "last": a sampler that knows no rungs */
	struct sw_actions actions;
	struct lane lane[BENCH_MAX_PARALLEL];
	double best[RUNGS], truth[RUNGS]; /* of the incumbent at each rung */
	size_t top;                       /* highest rung reached, from 1; 0: none */
	double suggest_s;
};

/* Flat: it lies in memory that processes share. */
struct run {
	double curve[BUDGET]; /* truth of the incumbent after that many epochs; inf: none yet */
	double suggest_ms;
	unsigned trials;
};

static void step(struct sim *s, struct sw_event ev)
{
	struct sw_err err = SW_ERR_INIT;
	const sw_status rc = sw_sweep_step(s->sweep, &ev, &s->actions, &err);

	if (rc != SW_OK)
		(void)fprintf(stderr, "%s: %s\n", policies[s->policy].name, err.msg);
	assert(rc == SW_OK);
}

static void open_sim(struct sim *s)
{
	const struct sw_sweep_config c = {.seed = s->seed,
					  .sampler = policies[s->policy].kind,
					  .pruner.kind = SW_PRUNER_ASHA,
					  .pruner.asha = {.grace_period = rungs[0],
							  .max_t = EPOCHS,
							  .reduction_factor = 3,
							  .brackets = 1,
							  .min_results = 3}};
	struct sw_err err = SW_ERR_INIT;
	sw_status rc = sw_sweep_create(&s->sweep, &c, s->w->space(s->w->ctx), &err);

	assert(rc == SW_OK);
	if (s->policy == LAST) {
		struct sw_sampler_config plain = *sw_sweep_sampler_config(s->sweep);

		plain.n_levels = 0;
		rc = sw_sampler_create(&s->word, &plain, &err);
		assert(rc == SW_OK);
	}
}

static void ask(struct sim *s, struct lane *l)
{
	struct sw_suggestion given = {.state = NULL};
	struct sw_value v[SW_SPACE_MAX_PARAMS];
	struct sw_event ev = {.kind = SW_EVENT_ASK};
	const double from = bench_cpu_now();

	if (s->word != NULL) {
		const sw_status rc = sw_sampler_suggest(s->word, sw_sweep_history(s->sweep),
							sw_sweep_made(s->sweep) + 1, &given, NULL);
		assert(rc == SW_OK);
		ev.suggestion = &given;
	}
	step(s, ev);
	s->suggest_s += bench_cpu_now() - from;
	sw_suggestion_fini(&given);
	l->epoch = 0;
	for (size_t i = 0; i < s->actions.n; i++)
		if (s->actions.v[i].kind == SW_ACTION_START)
			l->trial = s->actions.v[i].trial;
	const sw_status rc = sw_sweep_values(s->sweep, l->trial, v);

	assert(rc == SW_OK);
	l->truth = s->w->curve(s->w->ctx, v, s->seed, l->trial, l->curve);
	l->pace = 0.5 + bench_unit(s->seed, l->trial, 0x7061);
}

static void see(struct sim *s, const struct lane *l, double y)
{
	for (size_t k = 0; k < RUNGS; k++) {
		if (rungs[k] != l->epoch)
			continue;
		if (s->top < k + 1) {
			s->top = k + 1;
			s->best[k] = INFINITY;
		}
		if (y < s->best[k]) {
			s->best[k] = y;
			s->truth[k] = l->truth;
		}
	}
}

/* One epoch of the lane's trial. */
static void train(struct sim *s, struct lane *l)
{
	const double y = l->curve[l->epoch++];
	const bool final = l->epoch == EPOCHS && isfinite(y);
	bool ended = !isfinite(y);

	if (!ended)
		see(s, l, y);
	step(s, (struct sw_event){.kind = SW_EVENT_REPORT,
				  .trial = l->trial,
				  .attempt = 1,
				  .seq = l->epoch,
				  .step = l->epoch,
				  .has_value = true,
				  .final = final,
				  .value = y});
	for (size_t i = 0; i < s->actions.n; i++)
		ended = ended || s->actions.v[i].kind == SW_ACTION_END;
	if (final)
		step(s, (struct sw_event){.kind = SW_EVENT_TELL,
					  .trial = l->trial,
					  .attempt = 1,
					  .end = SW_TRIAL_COMPLETED});
	l->free_at += l->pace;
	if (ended || final)
		l->trial = 0;
}

static void simulate(const struct workload *w, size_t policy, uint64_t seed, size_t lanes,
		     struct run *out)
{
	struct sim s = {.w = w, .policy = policy, .seed = seed};

	open_sim(&s);
	for (size_t e = 0; e < BUDGET; e++) {
		struct lane *next = &s.lane[0];

		for (size_t i = 1; i < lanes; i++)
			if (s.lane[i].free_at < next->free_at)
				next = &s.lane[i];
		if (next->trial == 0)
			ask(&s, next);
		train(&s, next);
		out->curve[e] = s.top > 0 ? s.truth[s.top - 1] : INFINITY;
	}
	out->trials = (unsigned)sw_sweep_trial_n(s.sweep);
	out->suggest_ms = 1e3 * s.suggest_s / out->trials;
	sw_actions_fini(&s.actions);
	sw_sampler_destroy(s.word);
	sw_sweep_destroy(s.sweep);
}

/* ---- all of them ---- */

#define MAX_WORKLOADS 8

struct plan {
	const struct bench_options *o;
	struct workload workload[MAX_WORKLOADS];
	size_t workloads;
	bool policy[POLICIES];
	struct run *run; /* [mode][workload][policy][seed] */
};

static struct run *run_at(const struct plan *p, size_t mode, size_t w, size_t policy)
{
	return p->run + ((mode * p->workloads + w) * POLICIES + policy) * p->o->seeds;
}

static void run_one(void *ctx, size_t i, void *result)
{
	const struct plan *const p = ctx;
	const size_t seeds = p->o->seeds, policy = i / seeds % POLICIES;
	const size_t w = i / seeds / POLICIES % p->workloads;

	if (p->policy[policy])
		simulate(&p->workload[w], policy, p->o->seed_from + i % seeds,
			 p->o->parallel[i / seeds / POLICIES / p->workloads], result);
}

static void quartiles(const struct plan *p, const struct run *r, size_t epoch, double q[3])
{
	double v[BENCH_MAX_SEEDS];

	for (size_t i = 0; i < p->o->seeds; i++)
		v[i] = r[i].curve[epoch - 1];
	for (int k = 0; k < 3; k++)
		q[k] = bench_stat_quantile(v, p->o->seeds, 0.25 * (k + 1));
}

static void hits(const struct plan *p, const struct run *r, double goal, double q[3])
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
	const struct run *const r = run_at(p, mode, w, policy);
	double q[3], trials = 0, ms = 0;
	char text[48];

	(void)bench_table_row(t, p->workload[w].name);
	bench_table_number(t, 1, (double)p->o->parallel[mode], 0);
	bench_table_text(t, 2, policies[policy].name);
	for (size_t k = 0; k < 3; k++) {
		quartiles(p, r, full[k] * EPOCHS, q);
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

static void add_workload(struct plan *p, struct workload w)
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
	add_workload(&p, (struct workload){"corr", cube6, corr, NULL});
	add_workload(&p, (struct workload){"cross", cube5, cross, NULL});
	add_workload(&p, (struct workload){"hard", cube5, hard, NULL});
	struct bench_memo *const memo = bench_memo_open(NULL);
	struct bench_trainer *const trainer = bench_trainer_create(memo);
	struct tuned tuned = {.trainer = trainer, .i = 0};

	tuned.o = trainer != NULL ? bench_objective_tuning(trainer, tuned.i, 1, 0, true) : NULL;
	if (tuned.o != NULL)
		add_workload(&p, (struct workload){"digits", tuned_space, tuned_curve, &tuned});
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
