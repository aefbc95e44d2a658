/* tests/sched/bayes/test_bayes_rung_values.c — what bayes makes of values at rungs before a model
 * sees them: their alignment, and which of them stay. */
#include "sched/bayes/bayes_rung.h"
#include "tests/run.h"
#include "tests/sched/pruner/rung.h"
#include "tests/sched/suite.h"
#include <math.h>
#include <string.h>

/* ---- alignment, from the formulas alone ---- */

#define MOST 200

struct plain {
	size_t n, top;
	bool has[MOST][RUNG_LEVELS];
	double z[MOST][RUNG_LEVELS], y[MOST];
	double slope[RUNG_LEVELS], offset[RUNG_LEVELS];
};

static int last_of(const struct plain *p, size_t i)
{
	int last = -1;

	for (size_t k = 0; k <= p->top; k++)
		last = p->has[i][k] ? (int)k : last;
	return last;
}

static double population_variance(const struct plain *p, size_t level)
{
	double n = 0, mean = 0, var = 0;

	for (size_t i = 0; i < p->n; i++)
		n += p->has[i][level];
	for (size_t i = 0; i < p->n; i++)
		mean += p->has[i][level] ? p->z[i][level] / n : 0;
	for (size_t i = 0; i < p->n; i++)
		var += p->has[i][level] ? pow(p->z[i][level] - mean, 2) / n : 0;
	return var;
}

static void plain_level(struct plain *p, size_t level)
{
	const double ridge = 4 * population_variance(p, level);
	double n = 0, mx = 0, mt = 0, xx = 0, xt = 0;

	for (size_t i = 0; i < p->n; i++) {
		if (p->has[i][level] && last_of(p, i) > (int)level) {
			n++;
			mx += p->z[i][level];
			mt += p->y[i];
		}
	}
	mx /= n;
	mt /= n;
	for (size_t i = 0; i < p->n; i++) {
		if (p->has[i][level] && last_of(p, i) > (int)level) {
			xx += (p->z[i][level] - mx) * (p->z[i][level] - mx);
			xt += (p->z[i][level] - mx) * (p->y[i] - mt);
		}
	}
	p->slope[level] = fmax(0, (xt + ridge) / (xx + ridge));
	p->offset[level] = mt - p->slope[level] * mx;
	for (size_t i = 0; i < p->n; i++) {
		if (last_of(p, i) == (int)level)
			p->y[i] = p->offset[level] + p->slope[level] * p->z[i][level];
	}
}

static void align_plainly(struct plain *p, const struct sw_bayes_rung_values *r)
{
	*p = (struct plain){.n = r->n, .top = r->top};
	for (size_t i = 0; i < p->n; i++) {
		for (size_t k = 0; k <= p->top; k++) {
			p->has[i][k] = (r->has[i] >> k & 1) != 0 && !(k == p->top && r->bad[i]);
			if (p->has[i][k])
				p->z[i][k] = sw_outcome_forward(&r->o, r->v[i * RUNG_LEVELS + k]);
		}
		p->y[i] = p->z[i][p->top];
	}
	for (size_t k = p->top; k-- > 0;)
		plain_level(p, k);
}

static struct sw_bayes_rung_values values_of(const struct sw_sampler_config *c,
					     const struct sw_history *h)
{
	struct sw_bayes_rung_values r;

	sw_bayes_rung_init(&r, c);
	ck_assert_int_eq(sw_bayes_rung_absorb(&r, h), SW_OK);
	return r;
}

TEST(values_of_low_rungs_are_aligned_by_the_chain_of_regressions)
{
	static struct plain p;

	for (uint64_t seed = 1; seed <= 5; seed++) {
		struct sw_history h;
		uint64_t rng = seed;
		const struct sw_sampler_config c = rung_config(NULL, seed);

		sw_history_init(&h, 2, 1);
		rung_fill(&h, 150, &rng);
		struct sw_bayes_rung_values r = values_of(&c, &h);

		sw_bayes_rung_align(&r);
		ck_assert_uint_eq(r.top, RUNG_LEVELS - 1);
		align_plainly(&p, &r);
		for (size_t k = 0; k < r.top; k++) {
			ck_assert_double_eq_tol(r.slope[k], p.slope[k], 1e-9);
			ck_assert_double_eq_tol(r.offset[k], p.offset[k], 1e-9);
		}
		for (size_t i = 0; i < r.n; i++) {
			if (last_of(&p, i) >= 0)
				ck_assert_double_eq_tol(r.y[i], p.y[i], 1e-9);
			else
				ck_assert_uint_eq(r.at[i], 0);
		}
		sw_bayes_rung_fini(&r);
		sw_history_fini(&h);
	}
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
