#include "bench/lib/pruning.h"
#include "bench/lib/stats.h"
#include <assert.h>
#include <math.h>
#include <string.h>

const struct bench_pruning_policy bench_pruning_policies[] = {
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
const size_t bench_pruning_policies_n =
	sizeof bench_pruning_policies / sizeof *bench_pruning_policies;

bool bench_pruning_wanted(const struct bench_pruning *p, size_t policy)
{
	return bench_listed(p->o->sets, bench_pruning_policies[policy].name);
}

size_t bench_pruning_find(const char *name)
{
	size_t i = 0;

	while (i < bench_pruning_policies_n && strcmp(bench_pruning_policies[i].name, name) != 0)
		i++;
	assert(i < bench_pruning_policies_n);
	return i;
}

bool bench_pruning_compared(const struct bench_pruning *p, size_t mode, size_t policy)
{
	return p->o->parallel.v[mode] <= BENCH_PRUNING_FEW &&
	       bench_pruning_wanted(p, bench_pruning_find(bench_pruning_policies[policy].against));
}

size_t bench_pruning_budget(const struct bench_pruning *p, size_t mode)
{
	const size_t least = 5 * p->o->parallel.v[mode];
	const size_t full = p->o->full > 0           ? p->o->full
			    : least > BENCH_SIM_FULL ? least
						     : BENCH_SIM_FULL;

	return full * BENCH_EPOCHS;
}

size_t bench_pruning_follow(const struct bench_pruning *p, size_t mode)
{
	const size_t most = bench_pruning_budget(p, mode) * 3 / 2;

	return most < BENCH_SIM_KEPT ? most : BENCH_SIM_KEPT;
}

size_t bench_pruning_never(size_t workers)
{
	return workers <= 100 ? 200 : 2 * workers;
}

struct bench_sim_run *bench_pruning_runs(const struct bench_pruning *p, size_t mode, size_t f,
					 size_t policy)
{
	return p->run +
	       ((mode * p->families + f) * bench_pruning_policies_n + policy) * p->o->seeds;
}

double bench_pruning_end(const struct bench_pruning *p, const struct bench_sim_run *r,
			 size_t epochs, double q)
{
	double v[BENCH_MAX_SEEDS];

	assert(epochs >= 1 && epochs <= BENCH_SIM_KEPT && p->o->seeds <= BENCH_MAX_SEEDS);
	for (size_t i = 0; i < p->o->seeds; i++)
		v[i] = r[i].curve[epochs - 1];
	return bench_stat_quantile(v, p->o->seeds, q);
}

double bench_pruning_hit(const struct bench_pruning *p, size_t mode, const struct bench_sim_run *r,
			 bool trained, double level, double q)
{
	const size_t follow = bench_pruning_follow(p, mode);
	double v[BENCH_MAX_SEEDS];

	for (size_t i = 0; i < p->o->seeds; i++) {
		const double *const curve = trained ? r[i].trained : r[i].curve;
		size_t e = 0;

		while (e < follow && curve[e] > level)
			e++;
		v[i] = e < follow ? (double)(e + 1) / (double)bench_pruning_budget(p, mode)
				  : BENCH_PRUNING_NEVER;
	}
	return bench_stat_quantile(v, p->o->seeds, q);
}

double bench_pruning_reach(const struct bench_pruning *p, const struct bench_sim_run *r,
			   size_t workers, double q)
{
	const double most = (double)bench_pruning_never(workers);
	double v[BENCH_MAX_SEEDS];

	for (size_t i = 0; i < p->o->seeds; i++)
		v[i] = fmin(r[i].reached / BENCH_EPOCHS, most);
	return bench_stat_quantile(v, p->o->seeds, q);
}

double bench_pruning_level(const struct bench_pruning *p, size_t mode, size_t f, size_t policy)
{
	const size_t against = bench_pruning_find(bench_pruning_policies[policy].against);

	assert(bench_pruning_compared(p, mode, policy));
	const double level = bench_pruning_end(p, bench_pruning_runs(p, mode, f, against),
					       bench_pruning_budget(p, mode), 0.5);

	assert(isfinite(level));
	return level;
}

static void compare(const struct bench_pruning *p, size_t mode, size_t f, size_t policy,
		    struct bench_pruning_means *m)
{
	const struct bench_sim_run *const r = bench_pruning_runs(p, mode, f, policy);
	const double level = bench_pruning_level(p, mode, f, policy), n = (double)p->families;
	const double hit = bench_pruning_hit(p, mode, r, false, level, 0.5);
	const double trained = bench_pruning_hit(p, mode, r, true, level, 0.5);
	const double loss = bench_pruning_end(p, r, bench_pruning_budget(p, mode), 0.5) / level;

	m->hit += log(hit) / n;
	m->worst_hit = fmax(m->worst_hit, hit);
	m->trained += log(trained) / n;
	m->worst_trained = fmax(m->worst_trained, trained);
	m->loss += log(loss) / n;
	m->worst_loss = fmax(m->worst_loss, loss);
}

struct bench_pruning_means bench_pruning_means_of(const struct bench_pruning *p, size_t mode,
						  size_t policy)
{
	const size_t workers = p->o->parallel.v[mode];
	struct bench_pruning_means m = {.compared = bench_pruning_compared(p, mode, policy)};

	for (size_t f = 0; f < p->families; f++) {
		const struct bench_sim_run *const r = bench_pruning_runs(p, mode, f, policy);

		m.reach += log(bench_pruning_reach(p, r, workers, 0.5)) / (double)p->families;
		if (m.compared)
			compare(p, mode, f, policy, &m);
	}
	m.reach = exp(m.reach);
	m.hit = exp(m.hit);
	m.trained = exp(m.trained);
	m.loss = exp(m.loss);
	return m;
}
