/*
 * Bayesian optimisation: a few points spread over the space, then the point of largest expected
 * improvement under a Gaussian process, one of a rotation of five (bayes_step.c).
 *
 * Source   Jones, Schonlau, Welch, "Efficient global optimization of expensive black-box functions"
 *          (1998), for the whole; sched/bayes/bayes.h names the parts and they their sources.
 */
#include "base/memory.h"
#include "sched/bayes/bayes.h"
#include "sched/bayes/bayes_rung.h"
#include "sched/num/sobol.h"
#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DESIGN_MIN   5
#define DESIGN_MAX   6  /* of one metric; where there are many parameters, one for two of them */
#define RUNGS_MIN    8  /* with rungs, at least, and no most */
#define DESIGN_TRIES 64 /* draws for a first point that is not there yet */
/* With rungs at least this share of the points is spread over the space, always. A pruner that
 * compares newcomers with those before them passes nearly all that a model finds: then only what
 * the model likes runs to the end, and nothing tells it what else would have been good there. And
 * it stays beside its first good trials, in parameters that mattered little so far. */
#define RUNGS_SPREAD 0.5

struct bayes {
	struct sw_bayes_cube cube;
	struct sw_bayes_data data;
	struct sw_bayes_memory memory, next; /* next: of the suggestion being made */
	struct sw_bayes_accidents accidents;
	struct sw_bayes_step step;
	struct sw_bayes_several *several; /* NULL: one metric */
	bool has_rungs;                   /* then they, not step, make the points */
	struct sw_bayes_rungs rungs;
};

static void bayes_free(struct bayes *b)
{
	if (b == NULL)
		return;
	if (b->has_rungs)
		sw_bayes_rungs_fini(&b->rungs);
	else
		sw_bayes_step_fini(&b->step);
	sw_bayes_several_destroy(b->several);
	sw_bayes_accidents_fini(&b->accidents);
	sw_bayes_memory_fini(&b->next);
	sw_bayes_memory_fini(&b->memory);
	sw_bayes_data_fini(&b->data);
	free(b);
}

/* A pruner judges by one metric. A space that fills all coordinates has none to spare: there a
 * pruned trial's last value is its value. */
static bool wants_rungs(const struct sw_sampler *s, const struct sw_bayes_cube *cube)
{
	return s->config.n_levels > 0 && s->config.n_metrics <= 1 && cube->d > 0 &&
	       cube->d < SW_SPACE_MAX_PARAMS;
}

static sw_status start(struct sw_sampler *s, struct sw_err *err)
{
	struct bayes *const b = sw_calloc(1, sizeof *b);

	if (b == NULL)
		return sw_err_set(err, SW_NOMEM, "no memory for the sampler");
	sw_bayes_cube_init(&b->cube, s->space);
	b->has_rungs = wants_rungs(s, &b->cube);
	if (b->has_rungs)
		sw_bayes_cube_add_resource(&b->cube);
	sw_bayes_data_init(&b->data, &b->cube, s->config.n_metrics);
	sw_status rc = sw_bayes_memory_init(&b->memory, b->cube.d);

	if (rc == SW_OK)
		rc = sw_bayes_memory_init(&b->next, b->cube.d);
	if (rc == SW_OK && b->has_rungs)
		rc = sw_bayes_rungs_init(&b->rungs, &b->cube, &s->config);
	else if (rc == SW_OK && b->cube.d > 0)
		rc = sw_bayes_step_init(&b->step, &b->cube, s->seed, s->config.n_metrics > 1);
	if (rc == SW_OK && b->cube.d > 0)
		rc = sw_bayes_accidents_init(&b->accidents, &b->cube);
	if (rc == SW_OK && b->cube.d > 0 && s->config.n_metrics > 1)
		rc = sw_bayes_several_create(&b->several, &b->cube, s->config.n_metrics);
	if (rc != SW_OK) {
		bayes_free(b);
		return sw_err_set(err, rc, "no memory for the sampler");
	}
	s->self = b;
	return SW_OK;
}

static void stop(struct sw_sampler *s)
{
	bayes_free(s->self);
}

static void drop_models(struct bayes *b)
{
	sw_bayes_accidents_drop(&b->accidents);
	if (b->has_rungs)
		sw_bayes_rungs_drop(&b->rungs);
	else
		sw_bayes_step_drop(&b->step);
}

/* The rows may stay only while the history goes on from where they end, and after a state is put
 * back it may go on from elsewhere. */
static void drop_caches(struct bayes *b)
{
	const size_t n_metrics = b->data.n_metrics;

	sw_bayes_data_fini(&b->data);
	sw_bayes_data_init(&b->data, &b->cube, n_metrics);
	drop_models(b);
}

static sw_status restore(struct sw_sampler *s, const unsigned char *state, size_t n,
			 struct sw_err *err)
{
	struct bayes *const b = s->self;

	if (n == 0)
		sw_bayes_memory_reset(&b->memory);
	else if (sw_bayes_memory_read(&b->memory, state, n) != SW_OK)
		return sw_err_set(err, SW_INVALID, "the stored state is not this sampler's");
	drop_caches(b);
	return SW_OK;
}

/* ---- first points ---- */

static size_t design_n(const struct bayes *b)
{
	const size_t d = b->cube.d - b->cube.resource;

	if (b->has_rungs)
		return d + 1 > RUNGS_MIN ? d + 1 : RUNGS_MIN;
	const size_t half = (d + 1) / 2 > DESIGN_MAX ? (d + 1) / 2 : DESIGN_MAX;
	const size_t n = b->several == NULL && d + 1 > half ? half : d + 1;

	return n > DESIGN_MIN ? n : DESIGN_MIN;
}

/* Too few points made, or (with many asked for at once) too few of them told. */
static bool in_design(const struct bayes *b, const struct sw_history *h)
{
	const size_t n = b->has_rungs ? b->rungs.values.n_valued : b->data.n_good;

	return h->trials + h->n_prior < design_n(b) || 2 * n < design_n(b);
}

/* Rungs above those that are known are not for the model to judge. */
static bool is_blind(const struct bayes *b, struct sw_bayes_rng *rng)
{
	return b->has_rungs &&
	       sw_bayes_rng_unit(rng) < fmax(sw_bayes_rung_blind(&b->rungs.values), RUNGS_SPREAD);
}

static sw_status design(struct sw_sampler *s, const struct bayes *b, uint64_t made,
			struct sw_bayes_rng *rng, struct sw_suggestion *out, struct sw_err *err)
{
	/* With rungs no centre: one trial that is good early stops many that would be better
	 * late. */
	const bool centre = made == 1 && !b->has_rungs;
	double x[SW_SPACE_MAX_PARAMS];

	out->source = centre ? "centre" : "sobol";
	if (centre) {
		for (size_t k = 0; k < b->cube.d; k++)
			x[k] = 0.5;
	} else {
		/* Sobol points count from 0; where the centre is the first suggestion they begin
		 * with the second. */
		sw_sobol_point(s->seed, made - (b->has_rungs ? 1 : 2), b->cube.d, x);
		if (!b->has_rungs && b->several == NULL)
			sw_sampler_inward(b->cube.category, b->cube.d, x);
	}
	for (int i = 0; i < DESIGN_TRIES; i++) {
		if (sw_bayes_cube_snap(&b->cube, x) && !sw_bayes_data_has(&b->data, x)) {
			(void)sw_bayes_cube_write(&b->cube, x, out->values);
			return SW_OK;
		}
		for (size_t k = 0; k < b->cube.d; k++)
			x[k] = sw_bayes_rng_unit(rng);
		out->source = "random";
	}
	return sw_sampler_draw(s, made, out->values, err);
}

/* ---- points of a model ---- */

/* The rows but those of accidents, which the rungs are told of as well. */
static sw_status sift(struct bayes *b, const struct sw_history *h, struct sw_bayes_data **known)
{
	bool changed;
	const sw_status rc = sw_bayes_accidents_judge(&b->accidents, &b->cube, h, &changed);

	/* Models know rows by their place, and a changed verdict moves the places. */
	if (changed && !b->has_rungs)
		sw_bayes_step_drop(&b->step);
	if (rc != SW_OK)
		return rc;
	for (size_t i = 0; b->has_rungs && i < b->data.n; i++) {
		const uint64_t trial = b->data.trial[i];

		if (b->data.bad[i])
			sw_bayes_rung_fail(&b->rungs.values, trial,
					   !sw_bayes_accidents_has(&b->accidents, trial));
	}
	return sw_bayes_accidents_known(&b->accidents, &b->data, known);
}

/* In the metric's own units. */
static void explain(const struct bayes *b, const struct sw_bayes_found *f,
		    struct sw_suggestion *out)
{
	const struct sw_outcome *const o = &f->model->o;

	out->source = "gp";
	out->acquisition = SW_ACQUISITION_EI;
	sw_bayes_posterior(o, f->mean, f->var, &out->mean, &out->sd);
	out->log_ei = sw_outcome_ln_gain(o, f->model->best, f->log_ei);
	if (b->several != NULL)
		sw_bayes_several_explain(b->several, f, out);
	out->ei = fmin(exp(out->log_ei), DBL_MAX);
}

static sw_status by_model(struct sw_sampler *s, struct bayes *b, const struct sw_history *h,
			  uint64_t made, struct sw_bayes_rng *rng, struct sw_suggestion *out,
			  struct sw_err *err)
{
	struct sw_bayes_data *known;
	struct sw_bayes_found f;
	sw_status rc = sift(b, h, &known);

	if (rc == SW_OK && b->several != NULL)
		rc = sw_bayes_step_several(&b->step, b->several, known, &b->next, rng,
					   h->trials + 1, &f);
	else if (rc == SW_OK && b->has_rungs)
		rc = sw_bayes_rungs_step(&b->rungs, known, h, &b->next, rng, &f);
	else if (rc == SW_OK)
		rc = sw_bayes_step(&b->step, known, &b->next, rng, h->trials + 1, &f);

	if (rc == SW_NOMEM)
		return rc;
	if (rc != SW_OK) {
		/* Every point of a small space was tried, or no factor could be had. */
		out->source = "random";
		return sw_sampler_draw(s, made, out->values, err);
	}
	(void)sw_bayes_cube_write(&b->cube, f.x, out->values);
	explain(b, &f, out);
	return SW_OK;
}

static sw_status export_state(const struct bayes *b, struct sw_suggestion *out)
{
	out->state_n = sw_bayes_memory_size(&b->next);
	out->state = sw_malloc(out->state_n);
	if (out->state == NULL)
		return SW_NOMEM;
	sw_bayes_memory_write(&b->next, out->state);
	return SW_OK;
}

static sw_status suggest(struct sw_sampler *s, const struct sw_history *h, uint64_t made,
			 struct sw_suggestion *out, struct sw_err *err)
{
	struct bayes *const b = s->self;
	/* Chance hangs on the suggestion's number alone, so that a replay draws the same. */
	struct sw_bayes_rng rng = {.seed = s->seed, .trial = made};

	if (b->memory.seen > h->n_obs)
		return sw_err_set(err, SW_INVALID, "the history is shorter than the state knows");
	sw_status rc = sw_bayes_data_absorb(&b->data, h, &b->memory);

	if (rc == SW_OK && b->has_rungs)
		rc = sw_bayes_rung_absorb(&b->rungs.values, h);
	if (rc == SW_OK) {
		out->known = h->n_obs;
		/* The suggestion works on a copy: one that fails leaves the memory as it was. */
		sw_bayes_memory_copy(&b->next, &b->memory);
		rc = b->cube.d == 0 || in_design(b, h) || is_blind(b, &rng)
			     ? design(s, b, made, &rng, out, err)
			     : by_model(s, b, h, made, &rng, out, err);
	}
	if (rc == SW_OK)
		rc = export_state(b, out);
	if (rc != SW_OK) {
		drop_models(b);
		return sw_err_set(err, rc, "no memory for a suggestion");
	}
	/* Only now is the suggestion made; its bytes and this memory are the same. */
	sw_bayes_memory_copy(&b->memory, &b->next);
	return SW_OK;
}

const struct sw_sampler_ops sw_sampler_bayes_ops = {
	.name = "bayes",
	.start = start,
	.stop = stop,
	.suggest = suggest,
	.restore = restore,
};
