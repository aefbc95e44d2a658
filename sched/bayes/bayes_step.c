/* One suggestion by a model: a rotation of five models, each with its own view of the outcomes and
 * its own assumptions, because none is right for every function; once nothing gets better any more,
 * every second one inside a trust region around the best (Eriksson et al. 2019); and every fourth
 * one for a level of a category that has had few trials. */
#include "sched/bayes/bayes.h"
#include "sched/space/space_internal.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STALL_LONG 4 /* results without progress, after which steps are local too */
#define SHAPE_MIN  0.1
#define SHAPE_MAX  10.0
#define LOCAL_FROM 8 /* times d rows: from here on, a local model on the rows around the best */
#define TURN_EVERY 4 /* suggestions: one of them is for a level that has had few */
#define TURN_AT    2 /* of the four: one that is never in the trust region */
#define TURN_SHARE 2.0
#define TURN_TRIES 4  /* levels: some may have no point left */
#define TURN_MOST  64 /* levels; where there are more, the model alone chooses among them */

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

static void count_levels(const struct sw_bayes_cube *c, size_t k, const double *x, size_t n,
			 size_t *count)
{
	for (size_t i = 0; i < n; i++)
		count[sw_space_decode_one(&c->space->v[c->of[k]], x[i * c->d + k]).choice]++;
}

/* A few bad points, whose numbers may be to blame, are enough for a model to write a category off:
 * it then expects so little there that it never asks again. So every fourth suggestion is for the
 * level that has had the least of the n points, as long as that is less than 2 / sqrt(n) of what
 * random draws would have given it: the box becomes this level, and the model chooses the rest.
 * tried: bit i of a coordinate's: not its level i. False: all others have had enough. */
static bool give_a_turn(struct sw_bayes_search *s, const struct sw_bayes_data *b, uint64_t *tried)
{
	const struct sw_bayes_cube *const c = s->cube;
	const double n = (double)(b->n + b->n_pending);
	double least = TURN_SHARE / sqrt(n);
	size_t k_least = c->d;
	uint64_t level = 0;

	for (size_t k = 0; k < c->d; k++) {
		const struct sw_space_entry *const e = &c->space->v[c->of[k]];
		size_t count[TURN_MOST] = {0};

		if (!c->category[k] || !c->always[k] || c->levels[k] > TURN_MOST)
			continue;
		count_levels(c, k, b->x, b->n, count);
		count_levels(c, k, b->pending, b->n_pending, count);
		for (uint64_t i = 0; i < c->levels[k]; i++) {
			const double due = n * sw_space_chance(e, i);

			/* Without any chance, a level is due nothing. */
			if ((tried[k] >> i & 1) == 0 && (double)count[i] < least * due) {
				least = (double)count[i] / due;
				k_least = k;
				level = i;
			}
		}
	}
	if (k_least == c->d)
		return false;
	s->lo[k_least] = s->hi[k_least] = sw_bayes_cube_category(c, k_least, level);
	tried[k_least] |= (uint64_t)1 << level;
	return true;
}

sw_status sw_bayes_step(struct sw_bayes_step *s, const struct sw_bayes_data *b,
			struct sw_bayes_memory *memory, struct sw_bayes_rng *rng, uint64_t trial,
			struct sw_bayes_found *out)
{
	const struct step_kind kind = next_kind(memory);
	uint64_t tried[SW_SPACE_MAX_PARAMS] = {0};
	double w[SW_SPACE_MAX_PARAMS] = {0};

	assert(b->n_good > 0);
	out->model = &s->model[kind.model];
	sw_status rc = sw_bayes_model_prepare(&s->model[kind.model], b, memory, NULL, rng);

	if (rc != SW_OK)
		return rc;
	shape_of(out->model, w);
	set_box(&s->search, b, kind.local ? w : NULL, memory->side);
	bool turn = s->turns && (memory->steps + 1) % TURN_EVERY == TURN_AT &&
		    give_a_turn(&s->search, b, tried);
	/* The model on all rows has given the region its shape, which says what is near for this
	 * one. */
	if (kind.model == BAYES_D && b->n > LOCAL_FROM * b->cube->d && b->n_pending == 0) {
		out->model = &s->model[BAYES_D_LOCAL];
		rc = sw_bayes_model_prepare(&s->model[BAYES_D_LOCAL], b, memory, w, rng);
		if (rc != SW_OK)
			return rc;
	}
	rc = sw_bayes_search_run(&s->search, out->model, b, rng, out);
	/* Constraints may leave no point of a level, or all of them have been tried: then it is the
	 * next level's turn, in the end anyone's. */
	for (int i = 1; rc == SW_NOT_FOUND && turn; i++) {
		set_box(&s->search, b, NULL, 0);
		turn = i < TURN_TRIES && give_a_turn(&s->search, b, tried);
		rc = sw_bayes_search_run(&s->search, out->model, b, rng, out);
	}
	if (rc != SW_OK)
		return rc;
	memory->steps++;
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
			     uint64_t seed, bool inward, bool turns)
{
	s->turns = turns;
	sw_status rc = sw_bayes_search_init(&s->search, cube, seed);

	for (int i = 0; rc == SW_OK && i < BAYES_MODEL_N; i++) {
		rc = sw_bayes_model_init(&s->model[i], (enum sw_bayes_model_id)i, cube);
		s->model[i].inward = inward;
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
