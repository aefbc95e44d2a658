/* tests/sched/bayes/test_bayes_warp.c — what matters within the last tenth of a parameter, as of a
 * momentum: the models learn to see it wider, keep that, and hand it on over a restart. */
#include "sched/bayes/bayes.h"
#include "tests/sched/sampler/learn.h"
#include <math.h>

enum { TRIALS = 64, KEPT_FROM = 44 };

static const struct sw_param unit_square[] = {
	{.dist = SW_DIST_UNIFORM, .min = 0, .max = 1},
	{.dist = SW_DIST_UNIFORM, .min = 0, .max = 1},
};

/* Waves of the logarithm of what is left to 1.01: as many in the last tenth as before it. */
static double loss(const struct sw_value *v)
{
	return sin(4 * log(1.01 - v[0].number)) + v[1].number * v[1].number;
}

/* A trial of the sampler's and one from elsewhere. */
static void go_on(struct world *r, uint64_t *rng)
{
	struct sw_value v[2] = {{.number = unit(rng)}, {.number = unit(rng)}};

	const struct sw_value *const asked = world_ask(r);

	world_tell(r, SW_OBS_FINAL, loss(asked));
	ck_assert_int_eq(sw_history_add_trial(&r->h, v), SW_OK);
	world_tell(r, SW_OBS_FINAL, loss(v));
}

/* Bit i: model i sees the last of the first coordinate wider. */
static unsigned warped(const struct world *r)
{
	const size_t d = 2;
	struct sw_bayes_memory m;
	unsigned models = 0;

	ck_assert_int_eq(sw_bayes_memory_init(&m, d), SW_OK);
	ck_assert_int_eq(sw_bayes_memory_read(&m, r->out.state, r->out.state_n), SW_OK);
	for (int i = 0; i < BAYES_KEPT_N; i++) {
		const bool additive = i == BAYES_A || i == BAYES_C || i == BAYES_E;
		const double *const c = sw_bayes_memory_theta(&m, (enum sw_bayes_model_id)i) +
					(additive ? 2 * d + 3 : d + 2);

		models |= c[0] > 0.5 ? 1U << i : 0;
	}
	sw_bayes_memory_fini(&m);
	return models;
}

/* There are few points at the end, and E may not be sure of the warp. */
TEST_LOOP(warps_are_learned_and_kept, 1, 4)
{
	const unsigned all = 1U << BAYES_A | 1U << BAYES_B;
	const uint64_t seed = (uint64_t)_i;
	unsigned before = 0, kept = ~0U;
	uint64_t rng = seed;
	struct world r;

	world_init(&r, SW_SAMPLER_BAYES, learn_space(unit_square, 2), seed);
	for (int t = 1; t <= TRIALS; t++) {
		go_on(&r, &rng);
		if (t < KEPT_FROM)
			continue;
		before = t == KEPT_FROM ? warped(&r) : before;
		kept &= warped(&r);
	}
	ck_assert_msg((before & all) == all, "seed %d: warped are %#x of %#x", _i, before, all);
	ck_assert_msg((kept & all) == all, "seed %d: stay warped %#x of %#x", _i, kept, all);
	ck_assert_uint_eq(warped(&r) & 1U << BAYES_C, 0);
	world_fini(&r);
}

TEST(warps_are_handed_on_over_a_restart)
{
	uint64_t rng = 5;
	struct world r;
	size_t same = 0;

	world_init(&r, SW_SAMPLER_BAYES, learn_space(unit_square, 2), 5);
	for (int t = 1; t <= TRIALS; t++) {
		unsigned char *const state = r.out.state;
		const size_t state_n = r.out.state_n;
		struct sw_sampler *fresh = NULL;
		struct sw_suggestion again = {.state = NULL};

		r.out.state = NULL;
		if (t >= KEPT_FROM) {
			fresh = learn_sampler(SW_SAMPLER_BAYES, r.space, 5);
			ck_assert_int_eq(sw_sampler_restore(fresh, state, state_n, NULL), SW_OK);
			ck_assert_int_eq(
				sw_sampler_suggest(fresh, &r.h, r.h.trials + 1, &again, NULL),
				SW_OK);
		}
		free(state);
		go_on(&r, &rng);
		if (fresh == NULL)
			continue;
		ck_assert_double_eq(again.values[0].number, r.out.values[0].number);
		ck_assert_double_eq(again.values[1].number, r.out.values[1].number);
		ck_assert_uint_eq(again.state_n, r.out.state_n);
		ck_assert_mem_eq(again.state, r.out.state, again.state_n);
		same++;
		sw_suggestion_fini(&again);
		sw_sampler_destroy(fresh);
	}
	ck_assert_uint_eq(same, TRIALS - KEPT_FROM + 1);
	ck_assert_uint_ne(warped(&r), 0);
	world_fini(&r);
}

RUN_TESTS(NULL, NULL)
