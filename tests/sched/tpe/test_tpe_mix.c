/* tests/sched/tpe/test_tpe_mix.c — the estimator of tpe on one axis: whatever the kind of
 * parameter, the chances of all that it can be have a sum of 1. */
#include "sched/tpe/tpe.h"
#include "tests/run.h"
#include "tests/sched/sampler/learn.h"
#include <math.h>

#define KERNELS 3
#define CELLS   20000 /* of an axis without levels */

/* sum: over the levels, else the integral over the coordinate. */
static double total(struct sw_tpe_mix *m, const struct sw_space *s)
{
	const uint64_t levels = sw_space_levels(s, 0);
	double sum = 0, unit;

	for (uint64_t k = 0; k < (levels > 0 ? levels : CELLS); k++) {
		const struct sw_value v = levels > 0 ? sw_space_level(s, 0, k)
						     : (struct sw_value){.number = 0};

		unit = ((double)k + 0.5) / CELLS;
		if (levels > 0)
			sw_space_encode(s, &v, &unit);
		sum += exp(sw_tpe_mix_at(m, &unit));
	}
	return levels > 0 ? sum : sum / CELLS;
}

static const struct {
	struct sw_param p;
	enum sw_tpe_axis_kind kind;
} rows[] = {
	{{.dist = SW_DIST_INT_UNIFORM, .min = 1, .max = 9}, TPE_EVEN},
	{{.dist = SW_DIST_INT_LOG_UNIFORM, .min = 1, .max = 40}, TPE_UNEVEN},
	{{.dist = SW_DIST_Q_LOG_UNIFORM, .min = 1, .max = 40, .q = 2}, TPE_UNEVEN},
	{{.dist = SW_DIST_UNIFORM, .min = 2, .max = 7}, TPE_SMOOTH},
	{{.dist = SW_DIST_NORMAL, .mu = 1, .sigma = 4}, TPE_SMOOTH},
};

TEST_ROWS(tpe_chances_of_one_axis_have_a_sum_of_one, rows)
{
	struct sw_space *s = learn_space(&rows[_i].p, 1);
	struct sw_tpe_book book = {.space = s, .n_params = 1};
	struct sw_tpe_axis axis = {.levels = 0};
	struct sw_tpe_mix m;
	const struct sw_tpe_config config = {.width = 0.1, .width_min = 0.01};

	ck_assert_uint_eq(sw_tpe_axes(&book, 0, &axis), 1);
	ck_assert_int_eq(axis.kind, rows[_i].kind);
	ck_assert_int_eq(sw_tpe_mix_init(&m, s, 1, KERNELS), SW_OK);
	m.axes = &axis;
	m.d = 1;
	m.n = KERNELS;
	for (size_t i = 0; i < KERNELS; i++) {
		struct sw_value v;

		sw_space_decode(s, &(double){0.1 + 0.35 * (double)i}, &v);
		sw_space_encode(s, &v, &m.mu[i]);
	}
	sw_tpe_mix_set(&m, &config, NULL);
	/* Narrow levels are taken for flat. */
	ck_assert_double_eq_tol(total(&m, s), 1.0, 0.01);
	sw_tpe_mix_fini(&m);
	sw_space_destroy(s);
}

/* Without kernels a level is as likely as the part of the axis that decodes to it. */
TEST_ROWS(tpe_chance_of_a_level_without_kernels_is_its_share, rows)
{
	struct sw_space *s = learn_space(&rows[_i].p, 1);
	struct sw_tpe_book book = {.space = s, .n_params = 1};
	struct sw_tpe_axis axis = {.levels = 0};
	struct sw_tpe_mix m;
	const struct sw_tpe_config config = {.width = 0.1, .width_min = 0.01};

	ck_assert_uint_eq(sw_tpe_axes(&book, 0, &axis), 1);
	ck_assert_int_eq(sw_tpe_mix_init(&m, s, 1, KERNELS), SW_OK);
	m.axes = &axis;
	m.d = 1;
	sw_tpe_mix_set(&m, &config, NULL);
	for (uint64_t k = 0; k < sw_space_levels(s, 0); k++) {
		const struct sw_value level = sw_space_level(s, 0, k);
		unsigned n = 0;
		double unit;

		for (unsigned i = 0; i < CELLS; i++) {
			struct sw_value v;

			sw_space_decode(s, &(double){(i + 0.5) / CELLS}, &v);
			n += !(v.number < level.number) && !(v.number > level.number);
		}
		sw_space_encode(s, &level, &unit);
		ck_assert_double_eq_tol(exp(sw_tpe_mix_at(&m, &unit)), n / (double)CELLS,
					2.0 / CELLS);
	}
	sw_tpe_mix_fini(&m);
	sw_space_destroy(s);
}

RUN_TESTS(NULL, NULL)
