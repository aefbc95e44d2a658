/* tests/sched/tpe/test_tpe_mix.c — the estimator of tpe on one axis: whatever the kind of
 * parameter, the chances of all that it can be have a sum of 1. */
#include "sched/tpe/tpe.h"
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

/* The estimator of one row's axis. */
struct one_axis {
	struct sw_space *s;
	struct sw_tpe_axis axis;
	struct sw_tpe_mix m;
};

static const struct sw_tpe_config config = {.width = 0.1, .width_min = 0.01};

static void open_param(struct one_axis *a, const struct sw_param *p, size_t kernels)
{
	*a = (struct one_axis){.s = learn_space(p, 1)};
	struct sw_tpe_book book = {.space = a->s, .n_params = 1};

	ck_assert_uint_eq(sw_tpe_axes(&book, 0, &a->axis), 1);
	ck_assert_int_eq(sw_tpe_mix_init(&a->m, a->s, 1, KERNELS), SW_OK);
	a->m.axes = &a->axis;
	a->m.d = 1;
	a->m.n = kernels;
	for (size_t i = 0; i < kernels; i++) {
		struct sw_value v;

		sw_space_decode(a->s, &(double){0.1 + 0.35 * (double)i}, &v);
		sw_space_encode(a->s, &v, &a->m.mu[i]);
	}
	sw_tpe_mix_set(&a->m, &config, NULL);
}

static void open_axis(struct one_axis *a, int row, size_t kernels)
{
	open_param(a, &rows[row].p, kernels);
	ck_assert_int_eq(a->axis.kind, rows[row].kind);
}

static void close_axis(struct one_axis *a)
{
	sw_tpe_mix_fini(&a->m);
	sw_space_destroy(a->s);
}

TEST_ROWS(tpe_chances_of_one_axis_have_a_sum_of_one, rows)
{
	struct one_axis a;

	open_axis(&a, _i, KERNELS);
	/* Narrow levels are taken for flat. */
	ck_assert_double_eq_tol(total(&a.m, a.s), 1.0, 0.01);
	close_axis(&a);
}

/* Without kernels a level is as likely as the part of the axis that decodes to it. */
TEST_ROWS(tpe_chance_of_a_level_without_kernels_is_its_share, rows)
{
	struct one_axis a;

	open_axis(&a, _i, 0);
	for (uint64_t k = 0; k < sw_space_levels(a.s, 0); k++) {
		const struct sw_value level = sw_space_level(a.s, 0, k);
		unsigned n = 0;
		double unit;

		for (unsigned i = 0; i < CELLS; i++) {
			struct sw_value v;

			sw_space_decode(a.s, &(double){(i + 0.5) / CELLS}, &v);
			n += !(v.number < level.number) && !(v.number > level.number);
		}
		sw_space_encode(a.s, &level, &unit);
		ck_assert_double_eq_tol(exp(sw_tpe_mix_at(&a.m, &unit)), n / (double)CELLS,
					2.0 / CELLS);
	}
	close_axis(&a);
}

/* With all good trials on one of few levels, the others are drawn all the same. */
TEST(tpe_kernels_on_few_levels_reach_the_next)
{
	const struct sw_param p = {.dist = SW_DIST_INT_UNIFORM, .min = 0, .max = 2};
	struct sw_tpe_rng rng = {.seed = 1, .trial = 1};
	struct one_axis a;
	unsigned other = 0;

	open_param(&a, &p, KERNELS);
	for (size_t i = 0; i < KERNELS; i++)
		a.m.mu[i] = 0.5;
	sw_tpe_mix_set(&a.m, &config, NULL);
	for (int i = 0; i < 1000; i++) {
		double unit;

		sw_tpe_mix_draw(&a.m, &rng, &unit);
		other += fabs(unit - 0.5) > 1.0 / 6;
	}
	/* One draw in four is the prior's, of which two thirds are on other levels. */
	ck_assert_msg(other > 167 + 100 && other < 167 + 400, "%u of 1000", other);
	close_axis(&a);
}

RUN_TESTS(NULL, NULL)
