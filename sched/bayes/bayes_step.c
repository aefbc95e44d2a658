/* One suggestion by a model: a rotation of five models, each with its own view of the outcomes and
 * its own assumptions, since no model suits every function. Once results stop improving, every
 * second one is inside a trust region around the best (Eriksson et al. 2019), every fourth one is
 * for a level of a category that has had few trials, and each that would gain next to nothing is
 * for one that has had less than its share (bayes_turn.c). */
#include "sched/bayes/bayes.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STALL_LONG 4 /* results without progress, after which steps are local, or turns, too */
#define SHAPE_MIN  0.1
#define SHAPE_MAX  10.0
#define LOCAL_FROM 8    /* times d rows: from here on, a local model on the rows around the best */
#define TURN_EVERY 4    /* suggestions: one of them is for a level that has had few points */
#define TURN_AT    2    /* of the four: one that is never in the trust region */
#define TURN_FEW   3.0  /* over the root of all points, beside what a level is due: they are few */
#define RESOLUTION 1e-5 /* of the best, and of how far off the worst is: less is no gain */

struct step_kind {
	enum sw_bayes_model_id model;
	bool local;
};

static struct step_kind next_kind(const struct sw_bayes_memory *m)
{
	static const struct step_kind calm[] = {
		{BAYES_A, false}, {BAYES_C, false}, {BAYES_A, false}, {BAYES_E, false}};
	static const struct step_kind stalled[] = {
		{BAYES_A, false}, {BAYES_B, true}, {BAYES_C, false}, {BAYES_D, true},
		{BAYES_A, false}, {BAYES_B, true}, {BAYES_E, false}, {BAYES_D, true}};
	const uint64_t j = m->steps + 1;

	return m->stall >= STALL_LONG ? stalled[j % 8] : calm[j % 4];
}

/* How long the sides of the trust region are beside each other: as the length scales are. */
static void shape_of(const struct sw_bayes_model *m, double *w)
{
	const size_t d = m->cube->d;
	double ln = 0;

	/* Their geometric mean is taken out: the shape leaves the region's volume to its side. */
	for (size_t k = 0; k < d; k++)
		ln += log(m->length[k]) / (double)d;
	for (size_t k = 0; k < d; k++)
		w[k] = fmin(fmax(m->length[k] / exp(ln), SHAPE_MIN), SHAPE_MAX);
}

/* w NULL: the whole cube. */
static void set_box(struct sw_bayes_search *s, const struct sw_bayes_data *b, const double *w,
		    double side)
{
	for (size_t k = 0; k < s->cube->d; k++) {
		const double x = b->x[b->best * s->cube->d + k];
		/* A category has no neighbours, so the region does not cut it. */
		const bool whole = w == NULL || s->cube->category[k];

		s->lo[k] = whole ? 0 : fmax(0, x - w[k] * side / 2);
		s->hi[k] = whole ? 1 : fmin(1, x + w[k] * side / 2);
	}
}

/* While the best gets better with each few results, a turn would only hold it up. */
static bool has_turn(const struct sw_bayes_step *s, const struct sw_bayes_memory *m)
{
	return !s->several && m->stall >= STALL_LONG && (m->steps + 1) % TURN_EVERY == TURN_AT;
}

/* True on a plateau: the expected gain is negligible beside both the best value and the spread, as
 * where a level makes the other parameters idle. Either bound alone would take refinement for one:
 * that of a loss near 0, or that of a log likelihood of a million. With a best of 0 it is false. */
static bool is_plateau(const struct sw_bayes_step *s, const struct sw_bayes_data *b,
		       const struct sw_bayes_memory *m, const struct sw_bayes_found *f)
{
	if (s->several || m->stall < STALL_LONG)
		return false;
	const double best = b->y[b->best], spread = b->sorted[b->n_good - 1] - best;

	return sw_outcome_ln_gain(&f->model->o, f->model->best, f->log_ei) <
	       log(RESOLUTION * fmin(fabs(best), spread));
}

sw_status sw_bayes_step(struct sw_bayes_step *s, const struct sw_bayes_data *b,
			struct sw_bayes_memory *memory, struct sw_bayes_rng *rng, uint64_t trial,
			struct sw_bayes_found *out)
{
	const struct step_kind kind = next_kind(memory);
	double w[SW_SPACE_MAX_PARAMS] = {0};

	assert(b->n_good > 0);
	out->model = &s->model[kind.model];
	sw_status rc = sw_bayes_model_prepare(&s->model[kind.model], b, memory, NULL, rng);

	if (rc != SW_OK)
		return rc;
	shape_of(out->model, w);
	if (has_turn(s, memory)) {
		set_box(&s->search, b, NULL, 0);
		rc = sw_bayes_turn(&s->search, &s->model[BAYES_LEVEL], b, rng,
				   TURN_FEW / sqrt((double)(b->n + b->n_pending)), out);
		if (rc != SW_NOT_FOUND) {
			memory->steps += rc == SW_OK;
			return rc;
		}
	}
	set_box(&s->search, b, kind.local ? w : NULL, memory->side);
	/* The model on all rows has given the region its shape, which says what is near for this
	 * one. */
	if (kind.model == BAYES_D && b->n > LOCAL_FROM * b->cube->d && b->n_pending == 0) {
		out->model = &s->model[BAYES_D_LOCAL];
		rc = sw_bayes_model_prepare(&s->model[BAYES_D_LOCAL], b, memory, w, rng);
		if (rc != SW_OK)
			return rc;
	}
	rc = sw_bayes_search_run(&s->search, out->model, b, rng, out);
	if (rc != SW_OK)
		return rc;
	memory->steps++;
	if (is_plateau(s, b, memory, out)) {
		struct sw_bayes_found elsewhere = {.model = NULL};

		set_box(&s->search, b, NULL, 0);
		rc = sw_bayes_turn(&s->search, &s->model[BAYES_LEVEL], b, rng, 1, &elsewhere);
		if (rc == SW_OK)
			*out = elsewhere;
		if (rc == SW_OK || rc == SW_NOMEM)
			return rc;
	}
	/* Last, since only a local point that is really suggested may size the region. */
	if (kind.local)
		sw_bayes_memory_add_local(memory, trial);
	return SW_OK;
}

sw_status sw_bayes_step_several(struct sw_bayes_step *s, struct sw_bayes_several *several,
				struct sw_bayes_data *b, struct sw_bayes_memory *memory,
				struct sw_bayes_rng *rng, uint64_t trial,
				struct sw_bayes_found *out)
{
	sw_status rc = sw_bayes_several_prepare(several, b, memory, rng, &out->model);

	if (rc != SW_OK)
		return rc;
	if (out->model == NULL) {
		/* Weights are new with each suggestion, and so is the model of the whole. */
		memset(memory->fitted, 0, sizeof memory->fitted);
		sw_bayes_step_drop(s);
		return sw_bayes_step(s, b, memory, rng, trial, out);
	}
	set_box(&s->search, b, NULL, 0);
	rc = sw_bayes_search_run(&s->search, out->model, b, rng, out);
	if (rc == SW_OK)
		memory->steps++;
	return rc;
}

sw_status sw_bayes_step_init(struct sw_bayes_step *s, const struct sw_bayes_cube *cube,
			     uint64_t seed, bool several)
{
	s->several = several;
	sw_status rc = sw_bayes_search_init(&s->search, cube, seed);

	for (int i = 0; rc == SW_OK && i < BAYES_MODEL_N; i++) {
		rc = sw_bayes_model_init(&s->model[i], (enum sw_bayes_model_id)i, cube);
		s->model[i].inward = !several;
	}
	return rc;
}

void sw_bayes_step_fini(struct sw_bayes_step *s)
{
	sw_bayes_search_fini(&s->search);
	for (int i = 0; i < BAYES_MODEL_N; i++)
		sw_bayes_model_fini(&s->model[i]);
}

void sw_bayes_step_drop(struct sw_bayes_step *s)
{
	for (int i = 0; i < BAYES_MODEL_N; i++)
		s->model[i].valid = false;
}
