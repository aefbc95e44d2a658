#include "base/memory.h"
#include "sched/num/sobol.h"
#include "sched/space/space_internal.h"
#include "sched/tpe/tpe.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 8 /* of candidates, until one breaks no constraint and is new */

static void destroy(struct sw_tpe *t)
{
	if (t == NULL)
		return;
	sw_tpe_book_fini(&t->book);
	sw_tpe_mix_fini(&t->good);
	sw_tpe_mix_fini(&t->bad);
	free(t->axes);
	free(t->unit);
	free(t->pick);
	free(t);
}

/* One value of each trial, its end, is all that is learned from. */
static bool is_alone(const struct sw_sampler *s)
{
	return s->config.n_levels == 0;
}

sw_status sw_tpe_start(struct sw_sampler *s, struct sw_err *err)
{
	const struct sw_tpe_config *config = s->ops->options;
	const size_t n = sw_space_size(s->space) + 1; /* never 0 */
	struct sw_tpe *t = sw_calloc(1, sizeof *t);

	if (t == NULL)
		return sw_err_set(err, SW_NOMEM, "no memory for the sampler");
	assert(s->config.n_metrics == 1 && config->good_max <= TPE_GOOD && config->candidates > 0);
	t->axes = sw_malloc(n * sizeof *t->axes);
	t->unit = sw_malloc(config->candidates * n * sizeof *t->unit);
	if (t->axes == NULL || t->unit == NULL || sw_tpe_book_init(&t->book, s, config) != SW_OK ||
	    sw_tpe_mix_init(&t->good, s->space, n, TPE_GOOD) != SW_OK ||
	    sw_tpe_mix_init(&t->bad, s->space, n, TPE_KERNELS) != SW_OK)
		goto fail;
	t->pick = sw_malloc(config->candidates * n * sizeof *t->pick);
	if (t->pick == NULL)
		goto fail;
	/* Where every trial runs to its end, a start of ten takes too much of a short search. */
	if (is_alone(s) && t->book.config.startup > TPE_STARTUP_ALONE)
		t->book.config.startup = TPE_STARTUP_ALONE;
	s->self = t;
	return SW_OK;
fail:
	destroy(t);
	return sw_err_set(err, SW_NOMEM, "no memory for the sampler");
}

void sw_tpe_stop(struct sw_sampler *s)
{
	destroy(s->self);
}

/* --- the two mixtures of a group --- */

/* The pool that the group's model is made of: the highest rung with enough trials. NULL: none. */
static const struct sw_tpe_pool *model_pool(const struct sw_tpe *t, size_t group, size_t d)
{
	for (size_t level = t->book.n_levels; level-- > 0;) {
		const struct sw_tpe_pool *p = sw_tpe_book_pool(&t->book, group, level);

		/* BOHB wants d + 1 points for a density (its N_min); one more leaves a bad one. */
		if (p != NULL && p->able >= (t->book.config.startup_d ? d + 2 : 1))
			return p;
	}
	return NULL;
}

/* The group's coordinates alone: with many groups, all of them for each would be most of the
 * time. */
static void centre(struct sw_tpe_mix *m, const struct sw_tpe *t, const struct sw_history *h,
		   size_t i, int64_t ref)
{
	const struct sw_value *const values = sw_tpe_values(h, ref);

	for (size_t k = 0; k < m->d; k++) {
		const size_t param = m->axes[k].param;

		m->mu[k * m->cap + i] =
			sw_space_encode_one(&t->book.space->v[param], values[param]);
	}
}

static size_t good_n(const struct sw_tpe_config *c, uint64_t n)
{
	const double share = fmin(ceil(c->good_share * (double)n), (double)c->good_max);

	return share > (double)c->good_min ? (size_t)share : c->good_min;
}

/* t->good, and t->bad unless the call is for draws alone. */
static void set_mixes(struct sw_tpe *t, const struct sw_history *h, size_t group, bool both)
{
	const struct sw_tpe_config *config = &t->book.config;
	const size_t d = sw_tpe_axes(&t->book, group, t->axes);
	const struct sw_tpe_pool *p = model_pool(t, group, d);
	struct sw_tpe_seen good[TPE_GOOD];
	int64_t bad[TPE_KERNELS];
	double weight[TPE_KERNELS];

	t->good.axes = t->bad.axes = t->axes;
	t->good.d = t->bad.d = d;
	t->good.n = p != NULL ? sw_tpe_good(p, good_n(config, p->n), good) : 0;
	for (size_t i = 0; i < t->good.n; i++)
		centre(&t->good, t, h, i, good[i].ref);
	sw_tpe_mix_set(&t->good, config, NULL);
	if (!both)
		return;
	t->bad.n = p != NULL ? sw_tpe_bad(&t->book, h, group, p, good, t->good.n, bad, weight) : 0;
	for (size_t i = 0; i < t->bad.n; i++)
		centre(&t->bad, t, h, i, bad[i]);
	sw_tpe_mix_set(&t->bad, config, weight);
}

/* --- candidates --- */

/* t->unit: each group's parameters drawn from its good mixture, then moved to values. */
static void draw_all(struct sw_tpe *t, const struct sw_history *h, struct sw_tpe_rng *rng)
{
	const struct sw_tpe_config *config = &t->book.config;
	const size_t n = t->book.n_params;
	struct sw_value values[SW_SPACE_MAX_PARAMS];

	for (size_t i = 0; i < config->candidates * n; i++)
		/* Axes of one level are never drawn, and all groups' parameters share this row. */
		t->unit[i] = 0.5;
	for (size_t g = 0; g < t->book.n_groups; g++) {
		set_mixes(t, h, g, false);
		for (unsigned c = 0; c < config->candidates; c++)
			sw_tpe_mix_draw(&t->good, rng, t->unit + c * n);
	}
	for (unsigned c = 0; c < config->candidates; c++) {
		/* There and back: kernels stand at the middles of levels, so a candidate is scored
		 * where its value stands. */
		sw_space_decode(t->book.space, t->unit + c * n, values);
		sw_space_encode(t->book.space, values, t->unit + c * n);
	}
}

static int by_score(const void *left, const void *right)
{
	const struct sw_tpe_scored *a = left, *b = right;

	if (a->score != b->score)
		return a->score > b->score ? -1 : 1;
	/* qsort is not stable, and equal scores must fall the same way on every machine. */
	return a->candidate < b->candidate ? -1 : a->candidate > b->candidate;
}

/* t->pick: each group's candidates, the one where good most exceeds bad first. */
static void score_all(struct sw_tpe *t, const struct sw_history *h)
{
	const unsigned candidates = t->book.config.candidates;

	for (size_t g = 0; g < t->book.n_groups; g++) {
		struct sw_tpe_scored *pick = t->pick + g * candidates;

		/* The mixtures are set again, since all groups share the one pair of them. */
		set_mixes(t, h, g, true);
		for (unsigned c = 0; c < candidates; c++) {
			const double *unit = t->unit + c * t->book.n_params;

			pick[c].candidate = c;
			pick[c].score =
				sw_tpe_mix_at(&t->good, unit) - sw_tpe_mix_at(&t->bad, unit);
		}
		qsort(pick, candidates, sizeof *pick, by_score);
	}
}

/* The point of each group's candidate of this place. */
static void compose(const struct sw_tpe *t, unsigned place, struct sw_value *values, double *ratio)
{
	const unsigned candidates = t->book.config.candidates;
	const size_t n = t->book.n_params;
	double unit[SW_SPACE_MAX_PARAMS], ln_ratio = 0.0;
	bool active[SW_SPACE_MAX_PARAMS], counted[SW_SPACE_MAX_PARAMS] = {false};

	for (size_t i = 0; i < n; i++)
		/* Groups are independent in the model, so each gives its best, also if those are of
		 * different candidates. */
		unit[i] = t->unit[t->pick[t->book.group[i] * candidates + place].candidate * n + i];
	sw_space_decode(t->book.space, unit, values);
	sw_space_canonical(t->book.space, values);
	sw_space_active(t->book.space, values, active);
	for (size_t i = 0; i < n; i++) {
		const size_t g = t->book.group[i];

		/* A group that is off at this point adds nothing to what the point promises. */
		if (active[i] && !counted[g])
			ln_ratio += t->pick[g * candidates + place].score;
		counted[g] = counted[g] || active[i];
	}
	/* exp overflows from 710 on. */
	*ratio = exp(fmin(ln_ratio, 700.0));
}

static bool is_new_point(const struct sw_tpe *t, const struct sw_history *h,
			 const struct sw_value *values)
{
	/* A bound, so that a candidate costs no more as the sweep grows. */
	const uint64_t after = h->trials > TPE_NEW ? h->trials - TPE_NEW : 0;

	for (uint64_t trial = h->trials; trial > after; trial--)
		if (sw_space_equal(t->book.space, values, sw_tpe_values(h, (int64_t)trial)))
			return false;
	return true;
}

/* The best feasible point of a round that is new, else the best feasible one. False: none. */
static bool take_best(struct sw_tpe *t, const struct sw_history *h, struct sw_suggestion *out,
		      bool *is_new)
{
	bool found = false;

	*is_new = false;
	for (unsigned place = 0; place < t->book.config.candidates; place++) {
		struct sw_suggestion at = {.state = NULL};

		compose(t, place, at.values, &at.ei);
		if (!sw_space_feasible(t->book.space, at.values))
			continue;
		*is_new = is_new_point(t, h, at.values);
		if (*is_new || !found)
			*out = at;
		found = true;
		if (*is_new)
			break;
	}
	return found;
}

/* --- a suggestion --- */

static bool has_model(const struct sw_tpe *t)
{
	if (t->book.told < t->book.config.startup)
		return false;
	for (size_t g = 0; g < t->book.n_groups; g++)
		if (model_pool(t, g, sw_tpe_axes(&t->book, g, t->axes)) != NULL)
			return true;
	return false;
}

/* Before there is a model, or beside it. */
static sw_status plain_point(const struct sw_tpe *t, const struct sw_sampler *s, uint64_t made,
			     bool random, struct sw_suggestion *out, struct sw_err *err)
{
	double unit[SW_SPACE_MAX_PARAMS];
	bool category[SW_SPACE_MAX_PARAMS];

	if (!random) {
		out->source = "sobol";
		sw_sobol_point(s->seed, made - 1, t->book.n_params, unit);
		for (size_t i = 0; i < t->book.n_params; i++)
			category[i] = sw_space_levels(s->space, i) > 1 &&
				      sw_space_param(s->space, i)->dist == SW_DIST_CATEGORICAL;
		if (is_alone(s))
			sw_sampler_inward(category, t->book.n_params, unit);
		sw_space_decode(s->space, unit, out->values);
		sw_space_canonical(s->space, out->values);
		if (sw_space_feasible(s->space, out->values))
			return SW_OK;
	}
	out->source = "random";
	return sw_sampler_draw(s, made, out->values, err);
}

static sw_status suggest(struct sw_tpe *t, const struct sw_sampler *s, const struct sw_history *h,
			 uint64_t made, struct sw_suggestion *out, struct sw_err *err)
{
	struct sw_tpe_rng rng = {.seed = s->seed, .trial = made};
	/* The first draw of each suggestion, whatever follows: later ones keep their numbers. */
	const bool random = sw_tpe_rng(&rng) < t->book.config.random_share;
	bool found = false, is_new = false;

	if (random || !has_model(t))
		return plain_point(t, s, made, random, out, err);
	for (int round = 0; round < ROUNDS && !is_new; round++) {
		struct sw_suggestion at;

		draw_all(t, h, &rng);
		score_all(t, h);
		/* Until a new point comes, the best of the first round stands. */
		if (take_best(t, h, &at, &is_new) && (is_new || !found)) {
			*out = at;
			found = true;
		}
	}
	out->source = s->ops->name;
	return found ? SW_OK : plain_point(t, s, made, true, out, err);
}

sw_status sw_tpe_suggest(struct sw_sampler *s, const struct sw_history *h, uint64_t made,
			 struct sw_suggestion *out, struct sw_err *err)
{
	struct sw_tpe *t = s->self;

	if (sw_tpe_book_read(&t->book, h) != SW_OK)
		return sw_err_set(err, SW_NOMEM, "no memory for what the trials told");
	const sw_status rc = suggest(t, s, h, made, out, err);
	if (rc == SW_OK)
		out->known = h->n_obs;
	return rc;
}
