/* From a seed to everything that a run is made from. */
#include "tests/sim/sim.h"

static void make_space(struct sim_plan *p, uint64_t *rng)
{
	p->param[0] = (struct sw_param){.dist = SW_DIST_CATEGORICAL,
					.n_choices = 2 + (size_t)sim_below(rng, 5)};
	p->param[1] = (struct sw_param){
		.dist = SW_DIST_INT_UNIFORM, .min = 1, .max = 2 + (double)sim_below(rng, 15)};
	p->param[2] = (struct sw_param){.dist = sim_below(rng, 2) == 0 ? SW_DIST_UNIFORM
								       : SW_DIST_LOG_UNIFORM,
					.min = 1,
					.max = 16};
	p->params = p->sweep.sampler == SW_SAMPLER_GRID ? 2 : SIM_PARAMS;
}

static enum sw_sampler_kind pick_sampler(uint64_t *rng)
{
	const uint64_t u = sim_below(rng, 100);

	if (u < 55)
		return SW_SAMPLER_RANDOM;
	if (u < 73)
		return SW_SAMPLER_GRID;
	if (u < 85)
		return SW_SAMPLER_SOBOL;
	if (u < 96)
		return SW_SAMPLER_TPE;
	return u < 98 ? SW_SAMPLER_BOHB : SW_SAMPLER_BAYES;
}

static enum sw_pruner_kind pick_pruner(uint64_t *rng)
{
	const uint64_t u = sim_below(rng, 100);

	if (u < 6)
		return SW_PRUNER_NONE;
	if (u < 36)
		return SW_PRUNER_ASHA;
	if (u < 66)
		return SW_PRUNER_PROMOTE;
	return (enum sw_pruner_kind)(SW_PRUNER_HYPERBAND + sim_below(rng, 5));
}

static void make_rules(struct sim_plan *p, uint64_t *rng)
{
	struct sw_pruner_config *const c = &p->sweep.pruner;

	c->hyperband.eta = (double)(2 + sim_below(rng, 3));
	c->hyperband.strict = sim_below(rng, 2) == 0;
	if (sim_below(rng, 2) == 0) {
		c->hyperband.min_iter = 1 + sim_below(rng, 3);
	} else {
		c->hyperband.max_iter = 64;
		c->hyperband.s = 1 + sim_below(rng, 3);
	}
	c->median.running_mean = sim_below(rng, 2) == 0;
	c->median.grace_period = sim_below(rng, 5);
	c->median.min_samples_required = 1 + sim_below(rng, 4);
	c->median.n_startup_trials = sim_below(rng, 6);
	c->median.n_warmup_steps = sim_below(rng, 4);
	c->median.interval_steps = 1 + sim_below(rng, 3);
	c->median.n_min_trials = 1 + sim_below(rng, 3);
	c->patience.patience = 1 + sim_below(rng, 5);
	c->patience.min_delta = sim_below(rng, 2) == 0 ? 0 : 0.05 * sim_unit(rng);
	c->threshold.has_upper = true;
	c->threshold.upper = 0.5 + sim_unit(rng);
	c->threshold.has_lower = sim_below(rng, 2) == 0;
	c->threshold.lower = 0.2 * sim_unit(rng);
	c->threshold.n_warmup_steps = sim_below(rng, 4);
	c->threshold.interval_steps = 1 + sim_below(rng, 3);
}

static void make_population(struct sim_plan *p, uint64_t *rng)
{
	struct sw_pbt_config *const c = &p->sweep.pruner.pbt;

	c->perturbation_interval = 1 + sim_below(rng, 6);
	c->burn_in_period = sim_below(rng, 3) == 0 ? sim_below(rng, 10) : 0;
	c->quantile_fraction = 0.5 * sim_unit(rng);
	c->resample_probability = 0.5 * sim_unit(rng);
	c->factor[0] = 1.2;
	c->factor[1] = 0.8;
	c->factor_n = 2;
}

static void make_pruner(struct sim_plan *p, uint64_t *rng)
{
	struct sw_pruner_config *const c = &p->sweep.pruner;

	c->kind = pick_pruner(rng);
	c->asha.grace_period = 1 + sim_below(rng, 3);
	c->asha.reduction_factor = 2 + sim_below(rng, 3);
	c->asha.max_t = c->asha.grace_period * (4 + sim_below(rng, 24));
	c->asha.brackets = 1 + (sim_below(rng, 3) == 0 ? sim_below(rng, 2) : 0);
	c->asha.min_results = 1 + sim_below(rng, 4);
	make_rules(p, rng);
	make_population(p, rng);
	p->epochs = 1 + (unsigned)sim_below(rng, 40);
	if (sim_below(rng, 3) != 0)
		c->pbt.last_step = p->epochs;
	/* Mostly the training ends where the pruner says. */
	if ((c->kind == SW_PRUNER_ASHA || c->kind == SW_PRUNER_PROMOTE) && sim_below(rng, 4) != 0)
		p->epochs = (unsigned)c->asha.max_t;
}

/* A few seeds are large: thousands of lanes, and trials enough for them. */
static void make_size(struct sim_plan *p, uint64_t *rng)
{
	struct sw_sweep_config *const c = &p->sweep;
	const bool learns = c->sampler >= SW_SAMPLER_TPE;
	const bool large = !learns && sim_below(rng, 25) == 0;

	p->workers = 1 + (unsigned)sim_below(rng, 12);
	if (sim_below(rng, 6) == 0)
		p->workers = 1 + (unsigned)sim_below(rng, 60);
	c->run_cap = 1 + sim_below(rng, sim_below(rng, 3) == 0 ? 150 : 40);
	if (learns && c->run_cap > 30)
		c->run_cap = 30;
	if (c->sampler > SW_SAMPLER_TPE && c->run_cap > 10)
		c->run_cap = 10;
	if (large) {
		p->workers = 200 + (unsigned)sim_below(rng, 1801);
		c->run_cap = 300 + sim_below(rng, 1700);
	}
	if (sim_below(rng, 10) == 0 && !learns)
		c->run_cap = 0;
	if (c->pruner.kind == SW_PRUNER_PBT)
		c->run_cap = 1 + sim_below(rng, 20);
	if (sim_below(rng, 3) == 0)
		c->max_concurrent = 1 + sim_below(rng, p->workers);
	p->calm_after = 100 + sim_below(rng, large ? 6000 : 1200);
}

static unsigned often(uint64_t *rng, unsigned most)
{
	return sim_below(rng, 3) == 0 ? 0 : 1 + (unsigned)sim_below(rng, most);
}

static void make_faults(struct sim_plan *p, uint64_t *rng)
{
	p->crash = often(rng, 60);
	p->expiry = often(rng, 40);
	p->duplicate = often(rng, 150);
	p->late = often(rng, 150);
	p->no_metric = often(rng, 60);
	p->checkpoint_lost = often(rng, 200);
	/* Children become donors before they have a checkpoint: all members run, and none waits. */
	if (p->sweep.pruner.kind == SW_PRUNER_PBT && sim_below(rng, 3) == 0) {
		p->checkpoint_lost = 800;
		p->workers = 2 * (unsigned)p->sweep.run_cap;
		p->sweep.max_concurrent = 0;
	}
	p->told = often(rng, 60);
	p->restart = often(rng, 6);
	p->nomem = often(rng, 40);
	p->tells = sim_below(rng, 2) == 0;
	p->user_s = sim_below(rng, 3) == 0 ? 0 : p->pace_s * (2 + 40 * sim_unit(rng));
	if (sim_below(rng, 12) == 0) { /* a quiet sweep: what comes out is the rules alone */
		p->crash = p->expiry = p->duplicate = p->late = p->no_metric = p->told = 0;
		p->user_s = 0;
	}
}

void sim_plan_make(struct sim_plan *p, uint64_t seed)
{
	uint64_t rng = sim_hash(seed, 1, 0);

	*p = (struct sim_plan){.seed = seed};
	p->sweep.seed = sim_u64(&rng);
	p->sweep.maximize = sim_below(&rng, 2) == 0;
	p->sweep.sampler = pick_sampler(&rng);
	p->sweep.shuffle = sim_below(&rng, 2) == 0;
	p->sweep.retries = (unsigned)sim_below(&rng, 4);
	make_space(p, &rng);
	make_pruner(p, &rng);
	make_size(p, &rng);
	p->curve = (enum sim_curve)sim_below(&rng, SIM_CURVE_N);
	p->window = 1 + (unsigned)sim_below(&rng, SIM_WINDOW_MAX);
	p->jump = sim_below(&rng, 3) == 0 ? 1 + (unsigned)sim_below(&rng, 8) : 1;
	p->pace_s = 1;
	p->latency_s = sim_below(&rng, 3) == 0 ? 2 * sim_unit(&rng) : 0.1 * sim_unit(&rng);
	p->every = sim_below(&rng, 2) == 0 ? 1 + sim_below(&rng, 6) : 0;
	if (p->sweep.pruner.kind == SW_PRUNER_PBT && sim_below(&rng, 4) != 0)
		p->every = p->sweep.pruner.pbt.perturbation_interval;
	p->final = sim_below(&rng, 2) == 0;
	p->doomed = p->sweep.run_cap != 0 && p->sweep.run_cap < 40 && sim_below(&rng, 12) == 0;
	if (sim_below(&rng, 6) == 0) {
		p->sweep.has_target = true;
		p->sweep.target = (p->sweep.maximize ? -1 : 1) * 0.5 * sim_unit(&rng);
	}
	if (sim_below(&rng, 6) == 0)
		p->sweep.plateau = (struct sw_plateau){1 + sim_below(&rng, 6), 0.3 * sim_unit(&rng),
						       sim_below(&rng, 4)};
	make_faults(p, &rng);
	/* A sweep without an end is ended by its user, so there must be one. */
	if (p->sweep.run_cap == 0 && p->user_s == 0)
		p->user_s = 5 * p->pace_s;
	/* Mostly slices that are too small for the sweep's end. */
	if (sim_below(&rng, 4) != 0)
		p->sweep.slice = 1 + sim_below(&rng, sim_below(&rng, 2) == 0 ? 3 : 40);
}
