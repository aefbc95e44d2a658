/* tests/sched/sampler/test_sampler_any.c — every sampler on spaces made at random, of every
 * distribution, with conditions and constraints, through histories in which anything may happen to
 * a trial: each suggestion is a point of the space, one that a new sampler makes of the stored
 * state and the same history is the same to the last bit, and want of memory leaves no trace. */
#include "sched/sweep/samplers.h"
#include "tests/sched/sampler/learn.h"
#include "tests/walk.h"
#include <math.h>

#define SPACES 30
#define TRIALS 45
#define LEVELS 3
#define LONG   399 /* trials of one sweep of tpe: more than it has kernels for */

/* Sweeps some of whose suggestions are made without memory: of one metric with rungs, of one
 * without, and of two. */
#define HINDERED(seed) ((seed) % 10 == 0)

static const double numbers[] = {-3, 0.5, 2, 40, 41};

/* n parameters of any kind; of countable ones alone for a grid. */
static void add_params(struct sw_space *s, bool countable, uint64_t *rng)
{
	static const size_t counted[] = {0, 1, 2, 3, 5, 9, 10, 11}; /* of learn_all */
	const size_t n = 1 + below(rng, countable ? 3 : 6);

	for (size_t i = 0; i < n; i++) {
		struct sw_param p = learn_all[countable ? counted[below(rng, ROWS(counted))]
							: below(rng, ROWS(learn_all))];

		if (p.dist == SW_DIST_CONSTANT || p.dist == SW_DIST_CATEGORICAL)
			p.numbers = numbers;
		if (!countable && p.dist == SW_DIST_INT_UNIFORM && below(rng, 4) == 0)
			p.max = 0x1p53 - 8;
		ck_assert_int_eq(sw_space_add(s, &p, NULL), SW_OK);
	}
}

static void draw(const struct sw_space *s, struct sw_value *values, uint64_t *rng)
{
	double u[SW_SPACE_MAX_PARAMS];

	for (size_t i = 0; i < sw_space_size(s); i++)
		u[i] = unit(rng);
	sw_space_decode(s, u, values);
}

static void add_conditions(struct sw_space *s, uint64_t *rng)
{
	struct sw_value values[SW_SPACE_MAX_PARAMS], allowed[2];

	for (size_t i = 1; i < sw_space_size(s); i++) {
		const size_t parent = below(rng, i);

		if (below(rng, 2) == 0)
			continue;
		for (size_t k = 0; k < ROWS(allowed); k++) {
			draw(s, values, rng);
			allowed[k] = values[parent];
		}
		/* Refused where the parent is continuous. */
		(void)!sw_space_when(s, i, parent, allowed, ROWS(allowed), NULL);
	}
	ck_assert_int_eq(sw_space_seal(s, NULL), SW_OK);
}

static void add_constraint(struct sw_space *s, uint64_t *rng)
{
	const uint16_t a = (uint16_t)below(rng, sw_space_size(s));
	const uint16_t b = (uint16_t)below(rng, sw_space_size(s));
	const struct sw_term left = {.coef = 1, .n_factors = 1, .factor = {a}};
	const struct sw_term right = {
		.coef = unit(rng), .n_factors = 1 + below(rng, 2), .factor = {b, a}};
	const struct sw_constraint c = {
		.left = {.terms = &left, .n_terms = 1},
		.right = {.terms = &right, .n_terms = 1, .constant = 4 * unit(rng)},
		.op = below(rng, 2) == 0 ? SW_LE : SW_GT};

	ck_assert_int_eq(sw_space_constrain(s, &c, NULL), SW_OK);
}

static struct sw_space *any_space(bool countable, uint64_t *rng)
{
	struct sw_space *s;

	ck_assert_int_eq(sw_space_create(&s), SW_OK);
	add_params(s, countable, rng);
	if (below(rng, 2) == 0)
		add_conditions(s, rng);
	if (below(rng, 3) == 0)
		add_constraint(s, rng);
	return s;
}

/* Results as they may come: plain, equal, few, of any size, at the ends of what a double holds. */
static double any_result(int mode, uint64_t *rng)
{
	switch (mode) {
	case 0:
		return 3;
	case 1:
		return (double)below(rng, 3);
	case 2:
		return exp(1400 * unit(rng) - 700);
	case 3:
		return below(rng, 2) == 0 ? 1.7e308 : -1.7e308;
	case 4:
		return 0x1p-1074 * (double)below(rng, 5);
	default:
		return unit(rng);
	}
}

/* Some of the trials that run report rungs, and some of those end. failing: most fail. */
static void move_on(struct sw_history *h, bool *ended, uint32_t *level, int mode, uint64_t *rng)
{
	static const enum sw_obs_kind ends[] = {SW_OBS_FINAL,  SW_OBS_FINAL, SW_OBS_FINAL,
						SW_OBS_PRUNED, SW_OBS_NONE,  SW_OBS_INFEASIBLE,
						SW_OBS_FAILED};
	const bool failing = mode == 6;

	for (uint64_t t = 1; t <= h->trials; t++) {
		enum sw_obs_kind end = ends[below(rng, ROWS(ends))];
		double y[SW_METRICS_MAX];

		if (ended[t] || below(rng, 3) != 0)
			continue;
		for (size_t k = 0; k < h->n_metrics; k++)
			y[k] = any_result(mode, rng);
		while (level[t] < LEVELS && below(rng, 2) == 0)
			learn_tell(h, t, SW_OBS_RUNG, level[t]++, y);
		if (failing && below(rng, 8) != 0)
			end = below(rng, 2) == 0 ? SW_OBS_INFEASIBLE : SW_OBS_FAILED;
		ended[t] = below(rng, 4) != 0;
		if (ended[t])
			learn_tell(h, t, end, 0,
				   end == SW_OBS_FINAL || end == SW_OBS_PRUNED ? y : NULL);
	}
}

static void check_again(const struct sw_sampler_config *c, const struct sw_history *h,
			uint64_t made, const struct sw_suggestion *before,
			const struct sw_suggestion *got)
{
	struct sw_suggestion again = {.state = NULL};
	struct sw_sampler *fresh;

	ck_assert_int_eq(sw_samplers_create(&fresh, c, NULL), SW_OK);
	ck_assert_int_eq(sw_sampler_restore(fresh, before->state, before->state_n, NULL), SW_OK);
	ck_assert_int_eq(sw_sampler_suggest(fresh, h, made, &again, NULL), SW_OK);
	learn_same(got, &again, h->n_params);
	sw_suggestion_fini(&again);
	sw_sampler_destroy(fresh);
}

/* A suggestion that is made once more when its sweep has gone on. */
struct kept {
	struct sw_suggestion got;
	uint64_t trials, made;
};

static void check_past(const struct sw_sampler_config *c, const struct sw_history *h,
		       struct sw_sampler *s, const struct kept *k)
{
	struct sw_suggestion again = {.state = NULL};
	struct sw_history past;

	sw_history_init(&past, h->n_params, h->n_metrics);
	/* As one that held what came later. */
	ck_assert_int_eq(sw_history_copy(&past, h, h->n_obs), SW_OK);
	ck_assert_int_eq(sw_history_copy(&past, h, k->got.known), SW_OK);
	past.trials = k->trials;
	if (sw_sampler_learns(s, k->made) && c->kind != SW_SAMPLER_BAYES) {
		ck_assert_int_eq(sw_sampler_suggest(s, &past, k->made, &again, NULL), SW_OK);
		learn_same(&k->got, &again, h->n_params);
	}
	sw_suggestion_fini(&again);
	sw_history_fini(&past);
}

static void check_point(const struct sw_space *space, const struct sw_history *h,
			const struct sw_suggestion *got)
{
	struct sw_value canonical[SW_SPACE_MAX_PARAMS];
	struct sw_err err = SW_ERR_INIT;

	ck_assert_msg(space_check(space, got->values, &err) == SW_OK, "%s %s", err.ptr, err.msg);
	memcpy(canonical, got->values, sizeof canonical);
	sw_space_canonical(space, canonical);
	for (size_t i = 0; i < sw_space_size(space); i++) {
		ck_assert_double_eq(canonical[i].number, got->values[i].number);
		ck_assert_uint_eq(canonical[i].choice, got->values[i].choice);
	}
	if (got->acquisition != SW_ACQUISITION_EI)
		return;
	ck_assert(isfinite(got->mean) && isfinite(got->sd) && isfinite(got->ei));
	ck_assert(got->sd >= 0 && got->ei >= 0 && isfinite(got->log_ei));
	ck_assert_uint_eq(got->known, h->n_obs);
}

static unsigned modelled; /* hindered suggestions that a model made */

static bool is_modelled(const struct sw_suggestion *got)
{
	return strcmp(got->source, "gp") == 0 || strcmp(got->source, "tpe") == 0 ||
	       strcmp(got->source, "bohb") == 0;
}

/* The same without memory at each allocation in turn: an error, after which the sampler is as it
 * was. */
static void check_hindered(const struct sw_sampler_config *c, const struct sw_history *h,
			   uint64_t made, const struct sw_suggestion *before,
			   const struct sw_suggestion *got)
{
	modelled += is_modelled(got);

	WALK (SW_FAULT_MALLOC, 1) {
		struct sw_suggestion again = {.state = NULL};
		struct sw_sampler *s;

		walk_arm();
		sw_status rc = sw_samplers_create(&s, c, NULL);
		if (rc == SW_OK)
			rc = sw_sampler_restore(s, before->state, before->state_n, NULL);
		const bool is_ready = rc == SW_OK;
		if (is_ready)
			rc = sw_sampler_suggest(s, h, made, &again, NULL);
		const unsigned fired = walk_disarm();
		ck_assert_int_eq(rc, fired ? SW_NOMEM : SW_OK);
		if (is_ready && fired)
			ck_assert_int_eq(sw_sampler_suggest(s, h, made, &again, NULL), SW_OK);
		if (is_ready)
			learn_same(got, &again, h->n_params);
		sw_suggestion_fini(&again);
		sw_sampler_destroy(s);
	}
}

/* The constraints leave so little that no point was found: an error that says so, of which a
 * sampler that was made has none. */
static bool is_rare(const struct sw_sampler_config *c, sw_status rc, const struct sw_err *err)
{
	if (rc == SW_OK)
		return false;
	ck_assert_msg(rc == SW_INVALID && sw_space_constrained(c->space) &&
			      strncmp(err->ptr, "/constraints", 12) == 0,
		      "%d %s %s", (int)rc, err->ptr, err->msg);
	return true;
}

/* A sampler that goes on over a guess, which is taken back, is as it was before. */
static void check_guess(struct sw_sampler *s, struct sw_history *h, uint64_t made,
			const struct sw_suggestion *got)
{
	struct sw_suggestion next = {.state = NULL};

	learn_add(h, got->values);
	(void)!sw_sampler_suggest(s, h, made + 1, &next, NULL);
	h->trials--;
	if (got->state_n > 0) {
		ck_assert_int_eq(sw_sampler_restore(s, got->state, got->state_n, NULL), SW_OK);
	} else {
		ck_assert_int_eq(sw_sampler_suggest(s, h, made, &next, NULL), SW_OK);
		learn_same(got, &next, h->n_params);
	}
	sw_suggestion_fini(&next);
}

/* One sweep. Some of its trials are the user's, now and then the one of before once more. */
static void run(const struct sw_sampler_config *c, struct sw_sampler *s, int mode, uint64_t *rng)
{
	static const bool none[SW_SPACE_MAX_PARAMS];
	struct sw_suggestion before = {.state = NULL}, got = {.state = NULL};
	bool ended[LONG + 1] = {false};
	uint32_t level[LONG + 1] = {0};
	const uint64_t trials = c->kind == SW_SAMPLER_TPE && c->seed == 1 ? LONG : TRIALS;
	struct sw_err err = SW_ERR_INIT;
	struct kept middle = {.made = 0};
	uint64_t made = 0;
	struct sw_history h;

	sw_history_init(&h, sw_space_size(c->space), c->n_metrics);
	while (h.trials < trials) {
		if (below(rng, 6) == 0) {
			struct sw_value own[SW_SPACE_MAX_PARAMS];

			if (h.trials > 0 && below(rng, 2) == 0)
				memcpy(own, h.values, h.n_params * sizeof *own);
			else if (is_rare(c, sw_sampler_fill(c->space, 7, h.trials, none, own, &err),
					 &err))
				break;
			learn_add(&h, own);
		} else {
			const sw_status rc = sw_sampler_suggest(s, &h, ++made, &got, &err);

			if (rc == SW_EXHAUSTED)
				break;
			ck_assert_msg(rc == SW_OK, "%d %s %s", (int)rc, err.ptr, err.msg);
			check_point(c->space, &h, &got);
			if (below(rng, 3) == 0)
				check_again(c, &h, made, &before, &got);
			/* And the first that a model made: where some draw at random, too, a
			 * twentieth may meet none. */
			if (HINDERED(c->seed) &&
			    (h.trials % 20 == 19 || (modelled == 0 && is_modelled(&got))))
				check_hindered(c, &h, made, &before, &got);
			if (below(rng, 4) == 0)
				check_guess(s, &h, made, &got);
			if (middle.made == 0 && h.trials >= trials / 2)
				middle = (struct kept){got, h.trials, made};
			learn_add(&h, got.values);
			sw_suggestion_fini(&before);
			before = got;
			got = (struct sw_suggestion){.state = NULL};
		}
		move_on(&h, ended, level, mode, rng);
	}
	if (middle.made > 0)
		check_past(c, &h, s, &middle);
	sw_suggestion_fini(&before);
	sw_suggestion_fini(&got);
	sw_history_fini(&h);
}

TEST_LOOP(suggestions_are_points_of_any_space_and_can_be_made_again, 0, SW_SAMPLER_KIND_N)
{
	const enum sw_sampler_kind kind = (enum sw_sampler_kind)_i;

	for (uint64_t seed = 1; seed <= SPACES; seed++) {
		uint64_t rng = seed * 1007 + (uint64_t)_i;
		struct sw_space *const space = any_space(kind == SW_SAMPLER_GRID, &rng);
		const bool hindered = HINDERED(seed);
		const bool several = hindered ? seed == 30 : below(&rng, 3) == 0;
		const struct sw_sampler_config c = {
			.kind = kind,
			.seed = seed,
			.space = space,
			.n_metrics = several && kind != SW_SAMPLER_TPE && kind != SW_SAMPLER_BOHB
					     ? 2
					     : 1,
			.shuffle = below(&rng, 2) == 0,
			.n_levels = (hindered ? seed == 10 : below(&rng, 2)) * LEVELS,
			.pauses = below(&rng, 2) == 0,
			.levels = {1, 3, 9}};
		struct sw_err err = SW_ERR_INIT;
		struct sw_sampler *s;
		const sw_status rc = sw_samplers_create(&s, &c, &err);

		if (rc == SW_OK) {
			run(&c, s, (int)below(&rng, 8), &rng);
		} else { /* a constraint that leaves nothing, or a grid that is too long */
			ck_assert_msg(rc == SW_TOO_BIG || strncmp(err.ptr, "/constraints", 12) == 0,
				      "%s %s", err.ptr, err.msg);
		}
		if (hindered && rc == SW_OK && sw_sampler_learns(s, 1))
			ck_assert_msg(modelled > 0, "seed %u: no model was hindered",
				      (unsigned)seed);
		modelled = 0;
		sw_sampler_destroy(s);
		sw_space_destroy(space);
	}
}

SUITE(tcase)
{
	tcase_set_timeout(tcase, 300);
}
