/* tests/sched/pruner/test_median.c — both medians against the formulas over plain lists of
 * reports. */
#include "tests/run.h"
#include "tests/sched/pruner/prune.h"
#include <malloc.h>

#define RAY(...)                                                                                   \
	{                                                                                          \
		.kind = SW_PRUNER_MEDIAN, .median = {.running_mean = true, __VA_ARGS__ }           \
	}
#define OPTUNA(...)                                                                                \
	{                                                                                          \
		.kind = SW_PRUNER_MEDIAN, .median = { __VA_ARGS__ }                                \
	}

enum { MAX_TRIALS = 30, MAX_REPORTS = 60 };

struct history {
	uint64_t step[MAX_REPORTS];
	double value[MAX_REPORTS];
	size_t n;
	bool ended, completed;
};

struct model {
	struct sw_median_config c;
	struct history t[MAX_TRIALS];
	size_t n;
};

static int order(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double best_of(const struct history *h)
{
	double best = INFINITY;

	for (size_t i = 0; i < h->n; i++)
		best = h->value[i] < best ? h->value[i] : best;
	return best;
}

/* The trial's mean over its reports from grace_period to this step, if it has one at this step. */
static bool mean_at(const struct model *m, const struct history *h, uint64_t step, double *mean)
{
	double n = 0;

	for (size_t i = 0; i < h->n && h->step[i] <= step; i++) {
		if (h->step[i] < m->c.grace_period)
			continue;
		n++;
		*mean = n > 1 ? *mean + (h->value[i] / n - *mean / n) : h->value[i];
		if (h->step[i] == step)
			return true;
	}
	return false;
}

static bool completed_at(const struct history *h, uint64_t step, double *value)
{
	for (size_t i = 0; h->completed && i < h->n; i++) {
		if (h->step[i] != step)
			continue;
		*value = h->value[i];
		return true;
	}
	return false;
}

/* Optuna's _is_first_in_interval_step, with no report before the first at all. */
static bool first_in_interval(const struct model *m, const struct history *h)
{
	const uint64_t step = h->step[h->n - 1];

	if (step < m->c.warmup_steps)
		return false;
	const uint64_t lower =
		(step - m->c.warmup_steps) / m->c.interval_steps * m->c.interval_steps +
		m->c.warmup_steps;
	return h->n == 1 || h->step[h->n - 2] < lower;
}

static struct sw_judgement model_report(struct model *m, size_t i, uint64_t step, double value)
{
	struct sw_judgement j = {.cutoff = NAN, .value = NAN};
	struct history *h = &m->t[i];
	double v[MAX_TRIALS];
	size_t n = 0, completed = 0;

	h->step[h->n] = step;
	h->value[h->n++] = value;
	for (size_t o = 0; o < m->n; o++) {
		completed += m->t[o].completed;
		if (o != i)
			n += m->c.running_mean ? mean_at(m, &m->t[o], step, &v[n])
					       : completed_at(&m->t[o], step, &v[n]);
	}
	if (m->c.running_mean ? step < m->c.grace_period || n < m->c.min_samples
			      : completed < m->c.startup_trials || n < m->c.min_trials ||
					!first_in_interval(m, h))
		return j;
	qsort(v, n, sizeof v[0], order);
	j.cutoff = n % 2 != 0 ? v[n / 2] : v[n / 2 - 1] / 2 + v[n / 2] / 2;
	j.value = best_of(h);
	j.verdict = j.value > j.cutoff ? SW_VERDICT_STOP : SW_VERDICT_CONTINUE;
	j.rung = step;
	j.n = n + 1;
	j.keep = n / 2 + 1;
	for (size_t k = 0; k < n; k++)
		j.better += v[k] < j.value;
	return j;
}

static void configure(struct model *m, uint64_t *rng)
{
	m->c.running_mean = below(rng, 2) == 0;
	if (m->c.running_mean) {
		m->c.grace_period = below(rng, 6);
		m->c.min_samples = 1 + below(rng, 5);
	} else {
		m->c.startup_trials = below(rng, 6);
		m->c.warmup_steps = below(rng, 6);
		m->c.interval_steps = 1 + below(rng, 4);
		m->c.min_trials = 1 + below(rng, 3);
	}
}

static void play(uint64_t seed)
{
	static struct model m;
	uint64_t rng = seed;
	struct sw_prune_trial t[MAX_TRIALS];

	memset(&m, 0, sizeof m);
	configure(&m, &rng);
	m.n = 1 + below(&rng, MAX_TRIALS);
	const struct sw_pruner_config c = {.kind = SW_PRUNER_MEDIAN, .median = m.c};
	struct sw_pruner *p = make_pruner(&c, 1);
	const uint64_t values = 1 + below(&rng, 50), longest = 1 + below(&rng, 3);
	for (size_t i = 0; i < m.n; i++)
		sw_pruner_enter(p, i + 1, &t[i]);
	for (int e = 0; e < 300; e++) {
		const size_t i = below(&rng, m.n);
		struct history *h = &m.t[i];
		const uint64_t last = h->n > 0 ? h->step[h->n - 1] : 0;
		const uint64_t step = last + 1 + below(&rng, longest);

		if (h->ended)
			continue;
		if (last > 0 &&
		    below(&rng, 8) == 0) { /* again, from a checkpoint or from scratch */
			sw_pruner_begin(p, i + 1, &t[i], below(&rng, last));
			const struct sw_judgement again = report(p, i + 1, &t[i], last, -1e9);
			ck_assert(again.rung == 0 && again.verdict == SW_VERDICT_CONTINUE);
		}
		if (h->n < MAX_REPORTS && below(&rng, 12) != 0) {
			const double value = (double)below(&rng, values);
			const struct sw_judgement want = model_report(&m, i, step, value);
			const struct sw_judgement got = report(p, i + 1, &t[i], step, value);
			compare_judgements(&got, &want, seed, e);
			h->ended = got.verdict == SW_VERDICT_STOP;
		} else {
			h->ended = true;
			h->completed = below(&rng, 3) != 0;
		}
		if (h->ended)
			sw_pruner_ended(p, i + 1, &t[i], h->completed);
		if (e % 50 == 0)
			sw_pruner_invariant(p);
	}
	sw_pruner_invariant(p);
	sw_pruner_destroy(p);
}

START_TEST(median_random_history_agrees_with_the_formulas)
{
	for (uint64_t k = 0; k < 1000; k++)
		play((uint64_t)_i * 1000 + k);
}
END_TEST

START_TEST(median_of_optuna_forgets_who_was_pruned)
{
	const struct sw_pruner_config c = OPTUNA(.interval_steps = 1, .min_trials = 1);
	struct sw_pruner *p = make_pruner(&c, 1);
	struct sw_prune_trial t[3];
	size_t first = 0;

	/* A thousand trials that fail leave nothing behind but the steps (and, the first of them,
	 * what malloc keeps for the next). */
	for (uint64_t i = 1; i <= 1000; i++) {
		sw_pruner_enter(p, i, &t[0]);
		for (uint64_t step = 1; step <= 20; step++)
			(void)report(p, i, &t[0], step, (double)i);
		sw_pruner_ended(p, i, &t[0], false);
		first = i == 10 ? mallinfo2().uordblks : first;
	}
	ck_assert_uint_eq(mallinfo2().uordblks, first);
	sw_pruner_enter(p, 1001, &t[1]);
	(void)report(p, 1001, &t[1], 3, 0.5);
	sw_pruner_ended(p, 1001, &t[1], true);
	sw_pruner_enter(p, 1002, &t[2]);
	ck_assert_int_eq(report(p, 1002, &t[2], 2, 9.0).verdict, SW_VERDICT_CONTINUE);
	const struct sw_judgement j = report(p, 1002, &t[2], 3, 0.75);
	ck_assert_int_eq(j.verdict, SW_VERDICT_STOP);
	char why[SW_PRUNE_CAUSE_MAX];
	sw_pruner_explain(p, &j, why);
	ck_assert_str_eq(why, "step 3: best 0.75 is worse than the median 0.5 of 1");
	sw_pruner_destroy(p);
}
END_TEST

START_TEST(median_one_trial_and_equal_values_go_on)
{
	static const struct sw_pruner_config configs[] = {
		RAY(.min_samples = 1), OPTUNA(.interval_steps = 1, .min_trials = 1)};
	struct sw_pruner *p = make_pruner(&configs[_i], 1);
	struct sw_prune_trial t;

	for (uint64_t i = 1; i <= 5; i++) {
		sw_pruner_enter(p, i, &t);
		for (uint64_t step = 1; step < 100000; step = step * 3 + 1)
			ck_assert_int_eq(report(p, i, &t, step, 0.1).verdict, SW_VERDICT_CONTINUE);
		sw_pruner_ended(p, i, &t, true);
	}
	ck_assert_uint_eq(sw_pruner_rung_n(p, 0), 0);
	ck_assert_uint_eq(sw_pruner_next(p), 0);
	sw_pruner_destroy(p);
}
END_TEST

START_TEST(median_of_two_huge_values_is_between_them)
{
	const struct sw_pruner_config c = RAY(.min_samples = 2);
	struct sw_pruner *p = make_pruner(&c, 1);
	struct sw_prune_trial t[3];

	for (uint64_t i = 0; i < 3; i++) {
		sw_pruner_enter(p, i + 1, &t[i]);
		const struct sw_judgement j = report(p, i + 1, &t[i], 1, 1.7e308);
		ck_assert_int_eq(j.verdict, SW_VERDICT_CONTINUE);
		if (i == 2)
			ck_assert_double_eq(j.cutoff, 1.7e308);
		const struct sw_judgement k = report(p, i + 1, &t[i], 2, 1.7e308);
		ck_assert(isnan(k.cutoff) || k.cutoff == 1.7e308); /* their sum is not finite */
	}
	sw_pruner_invariant(p);
	sw_pruner_destroy(p);
}
END_TEST

static const struct refused refused[] = {
	{RAY(.min_samples = 0), "/min_samples_required", "min_samples_required must be at least 1"},
	{OPTUNA(.interval_steps = 1), "/n_min_trials", "n_min_trials must be at least 1"},
	{OPTUNA(.min_trials = 1), "/interval_steps", "interval_steps must be at least 1"},
};

START_TEST(median_bad_config_is_refused)
{
	check_refused(&refused[_i]);
}
END_TEST

#ifdef SW_FAULTS
START_TEST(median_without_memory_changes_nothing)
{
	static const struct sw_pruner_config configs[] = {
		RAY(.grace_period = 2, .min_samples = 3),
		OPTUNA(.startup_trials = 2, .interval_steps = 1, .min_trials = 1)};

	walk_create(&configs[_i]);
	walk_reports(&configs[_i]);
}
END_TEST
#endif

SUITE(tcase)
{
	tcase_add_loop_test(tcase, median_random_history_agrees_with_the_formulas, 0, 10);
	tcase_add_test(tcase, median_of_optuna_forgets_who_was_pruned);
	tcase_add_loop_test(tcase, median_one_trial_and_equal_values_go_on, 0, 2);
	tcase_add_test(tcase, median_of_two_huge_values_is_between_them);
	tcase_add_rows(tcase, median_bad_config_is_refused, refused);
#ifdef SW_FAULTS
	tcase_add_loop_test(tcase, median_without_memory_changes_nothing, 0, 2);
#endif
}
