/* tests/sched/bayes/test_bayes_rung_values.c — what bayes makes of values at rungs before a model
 * sees them: their alignment, and which of them stay. */
#include "sched/bayes/bayes_rung.h"
#include "tests/sched/pruner/rung.h"
#include <math.h>

static struct sw_bayes_rung_values values_of(const struct sw_sampler_config *c,
					     const struct sw_history *h)
{
	struct sw_bayes_rung_values r;

	sw_bayes_rung_init(&r, c);
	ck_assert_int_eq(sw_bayes_rung_absorb(&r, h), SW_OK);
	return r;
}

/* ---- alignment ---- */

/* What a line costs at a rung: the squares of those that went on, and four trials of slope 1. */
static double cost_of(const struct sw_bayes_rung_values *r, size_t level, double slope,
		      double offset)
{
	double n = 0, sum = 0, square = 0, cost = 0;

	for (size_t i = 0; i < r->n; i++) {
		const double z = r->z[i * RUNG_LEVELS + level];
		const double off = r->y[i] - offset - slope * z;

		if ((r->at[i] >> level & 1) == 0)
			continue;
		n++;
		sum += z;
		square += z * z;
		cost += r->at[i] >> level > 1 ? off * off : 0;
	}
	return cost + 4 * (square / n - sum / n * sum / n) * (slope - 1) * (slope - 1);
}

/* No line near the chosen one costs less; a slope below 0 is none. */
static void check_line(const struct sw_bayes_rung_values *r, size_t level)
{
	const double slope = r->slope[level], offset = r->offset[level], step = 1e-4;
	const double least = cost_of(r, level, slope, offset) - 1e-12;

	ck_assert_double_ge(cost_of(r, level, slope + step, offset), least);
	ck_assert_double_ge(cost_of(r, level, slope, offset + step), least);
	ck_assert_double_ge(cost_of(r, level, slope, offset - step), least);
	ck_assert_double_ge(slope, 0);
	if (slope > 0)
		ck_assert_double_ge(cost_of(r, level, slope - step, offset), least);
}

/* What ended at a rung has there what the line says. */
static void check_subject(const struct sw_bayes_rung_values *r, size_t i)
{
	for (size_t k = 0; k <= r->top; k++) {
		const double z = r->z[i * RUNG_LEVELS + k];

		ck_assert_uint_eq(r->at[i] >> k & 1,
				  (r->has[i] >> k & 1) != 0 && !(k == r->top && r->bad[i]));
		if ((r->at[i] >> k & 1) == 0)
			continue;
		ck_assert_double_eq(z, sw_outcome_forward(&r->o, r->v[i * RUNG_LEVELS + k]));
		if (r->at[i] >> k == 1)
			ck_assert_double_eq(r->y[i],
					    k == r->top ? z : r->offset[k] + r->slope[k] * z);
	}
}

/* falls: the lowest rung falls where the top rises, and foretells nothing. */
TEST_LOOP(values_of_low_rungs_are_aligned_by_the_best_lines, 0, 10)
{
	const bool falls = _i % 2 != 0;
	const struct sw_sampler_config c = rung_config(NULL, 1);
	struct sw_history h;
	uint64_t rng = 1 + (uint64_t)_i / 2;

	sw_history_init(&h, 2, 1);
	rung_fill(&h, 150, &rng);
	for (size_t i = 0; i < h.n_obs; i++)
		if (falls && h.obs[i].kind == SW_OBS_RUNG && h.obs[i].level == 0)
			h.y[i] = -h.y[i];
	struct sw_bayes_rung_values r = values_of(&c, &h);

	sw_bayes_rung_align(&r);
	ck_assert_uint_eq(r.top, RUNG_LEVELS - 1);
	for (size_t k = 0; k < r.top; k++)
		check_line(&r, k);
	for (size_t i = 0; i < r.n; i++)
		check_subject(&r, i);
	ck_assert_int_eq(r.slope[0] > 0, !falls);
	sw_bayes_rung_fini(&r);
	sw_history_fini(&h);
}

TEST(top_is_the_highest_rung_with_three_values)
{
	struct sw_history h;
	uint64_t rng = 3;
	const struct sw_sampler_config c = rung_config(NULL, 1);
	const double y = 1;

	sw_history_init(&h, 2, 1);
	for (uint64_t t = 1; t <= 4; t++) {
		rung_add(&h, &rng);
		for (uint32_t k = 0; k < (t < 3 ? 3 : 2); k++)
			learn_tell(&h, t, SW_OBS_RUNG, k, &y);
	}
	struct sw_bayes_rung_values r = values_of(&c, &h);

	sw_bayes_rung_align(&r);
	ck_assert_uint_eq(r.top, 1);
	ck_assert_double_eq(sw_bayes_rung_tau(&r, 0), 0);
	ck_assert_double_eq(sw_bayes_rung_tau(&r, 1), 1);
	learn_tell(&h, 3, SW_OBS_RUNG, 2, &y);
	ck_assert_int_eq(sw_bayes_rung_absorb(&r, &h), SW_OK);
	sw_bayes_rung_align(&r);
	ck_assert_uint_eq(r.top, 2);
	ck_assert_double_eq_tol(sw_bayes_rung_tau(&r, 1), 0.5, 1e-12);
	sw_bayes_rung_fini(&r);
	sw_history_fini(&h);
}

/* Done early: its value is final. Failed: it has none at the top. Of an earlier sweep: at the
 * top. */
TEST(ends_off_a_rung_have_their_value_at_the_last_one)
{
	struct sw_history h;
	uint64_t rng = 4;
	const struct sw_sampler_config c = rung_config(NULL, 1);
	const struct sw_value at[2] = {{.number = 0.5}, {.number = 0.5}};
	const double y[] = {7, 1, 2, 3};

	sw_history_init(&h, 2, 1);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(sw_history_add_prior(&h, at, &y[0]), SW_OK);
	for (uint64_t t = 1; t <= 3; t++) {
		rung_add(&h, &rng);
		learn_tell(&h, t, SW_OBS_RUNG, 0, &y[t]);
	}
	learn_tell(&h, 1, SW_OBS_FINAL, 0, &y[1]);
	learn_tell(&h, 2, SW_OBS_INFEASIBLE, 0, NULL);
	learn_tell(&h, 3, SW_OBS_NONE, 0, NULL);
	struct sw_bayes_rung_values r = values_of(&c, &h);

	sw_bayes_rung_align(&r);
	ck_assert_uint_eq(r.top, RUNG_LEVELS - 1);
	ck_assert_uint_eq(r.at[0], 8);
	ck_assert_uint_eq(r.at[3], 8 | 1);
	ck_assert_uint_eq(r.at[4], 1);
	ck_assert(r.bad[4]);
	ck_assert_uint_eq(r.at[5], 1);
	ck_assert(!r.bad[5]);
	sw_bayes_rung_fini(&r);
	sw_history_fini(&h);
}

TEST(rows_are_bounded_and_keep_the_best_and_some_that_failed)
{
	struct sw_history h;
	uint64_t rng = 5;
	const struct sw_sampler_config c = rung_config(NULL, 1);
	static struct sw_bayes_rung_pick p;

	sw_history_init(&h, 2, 1);
	for (uint64_t t = 1; t <= 3000; t++) {
		const double y = t == 777 ? -1 : unit(&rng);

		rung_add(&h, &rng);
		for (uint32_t k = 0; k < RUNG_LEVELS; k++)
			learn_tell(&h, t, SW_OBS_RUNG, k, &y);
		if (t % 2 == 0)
			learn_tell(&h, t, SW_OBS_INFEASIBLE, 0, NULL);
		struct sw_bayes_rung_values r = values_of(&c, &h);
		bool best = t < 777;
		size_t bad = 0;

		if (t % 500 != 0 && t != 9) {
			sw_bayes_rung_fini(&r);
			continue;
		}
		sw_bayes_rung_align(&r);
		sw_bayes_rung_choose(&r, 1, &p);
		ck_assert_uint_eq(p.total, t * RUNG_LEVELS);
		ck_assert_uint_eq(p.n, t == 9 ? 9 * RUNG_LEVELS : BAYES_RUNG_ROWS);
		for (size_t i = 0; i < p.n; i++) {
			best = best || (p.row[i].subject == 776 && p.row[i].level == r.top);
			bad += p.row[i].bad;
			ck_assert(isfinite(p.row[i].z));
		}
		ck_assert_msg(best, "the best is gone after %u", (unsigned)t);
		ck_assert_uint_eq(bad, t == 9 ? 4 : BAYES_RUNG_ROWS / 4);
		sw_bayes_rung_fini(&r);
	}
	sw_history_fini(&h);
}

RUN_TESTS(NULL, NULL)
