/* tests/sched/pruner/test_hyperband.c — the bands of W&B against a plain list of values a band. */
#include "tests/run.h"
#include "tests/sched/pruner/prune.h"

#define CONFIG(...)                                                                                \
	{                                                                                          \
		.kind = SW_PRUNER_HYPERBAND, .hyperband = { __VA_ARGS__ }                          \
	}

static const struct {
	struct sw_pruner_config c;
	size_t n, shown;
	uint64_t step[6];
} ladders[] = {
	{CONFIG(.max_iter = 27, .s = 2, .eta = 3), 2, 2, {3, 9}},
	{CONFIG(.max_iter = 27, .s = 3, .eta = 3), 3, 3, {1, 3, 9}},
	{CONFIG(.max_iter = 1000, .s = 3, .eta = 10), 3, 3, {1, 10, 100}},
	{CONFIG(.max_iter = 100, .s = 3, .eta = 3), 3, 3, {3, 11, 33}}, /* rounded down */
	{CONFIG(.min_iter = 3, .eta = 3), 40, 5, {3, 9, 27, 81, 243}},
	{CONFIG(.min_iter = 3, .eta = 3, .last_step = 81), 4, 4, {3, 9, 27, 81}},
	{CONFIG(.min_iter = 3, .eta = 3, .last_step = 80), 3, 3, {3, 9, 27}},
	{CONFIG(.min_iter = 3, .eta = 3, .last_step = 2), 1, 1, {3}},
	{CONFIG(.min_iter = 1, .eta = 2), 64, 5, {1, 2, 4, 8, 16}},
	{CONFIG(.min_iter = UINT64_MAX, .eta = 2), 1, 1, {UINT64_MAX}},
};

START_TEST(hyperband_ladder_has_its_bands)
{
	struct sw_pruner *p = make_pruner(&ladders[_i].c, 1);

	ck_assert_uint_eq(sw_pruner_rung_n(p, 0), ladders[_i].n);
	for (size_t k = 0; k < ladders[_i].shown; k++)
		ck_assert_uint_eq(sw_pruner_rung_step(p, 0, k), ladders[_i].step[k]);
	sw_pruner_destroy(p);
}
END_TEST

static const struct refused refused[] = {
	{CONFIG(.min_iter = 3, .eta = 1), "/eta", "eta must be at least 2; it is 1"},
	{CONFIG(.eta = 3), "/min_iter", "hyperband needs either min_iter, or max_iter and s"},
	{CONFIG(.min_iter = 1, .max_iter = 9, .s = 1, .eta = 3), "/min_iter",
	 "hyperband needs either min_iter, or max_iter and s"},
	{CONFIG(.max_iter = 27, .eta = 3), "/s", "s must be at least 1"},
	{CONFIG(.max_iter = 27, .s = 4, .eta = 3), "/s",
	 "s 4 is too many: max_iter 27 has only 3 bands of at least 1"},
	{CONFIG(.max_iter = UINT64_MAX, .s = 65, .eta = 2), "/s",
	 "s 65 is too many: max_iter 18446744073709551615 has only 63 bands of at least 1"},
};

START_TEST(hyperband_bad_config_is_refused)
{
	check_refused(&refused[_i]);
}
END_TEST

/* ---- the model ---- */

enum { MAX_TRIALS = 30, MAX_BANDS = 8, MAX_REPORTS = 60 };

struct history {
	uint64_t step[MAX_REPORTS];
	double value[MAX_REPORTS];
	size_t n;
};

struct model {
	struct sw_hyperband_config c;
	uint64_t band[MAX_BANDS];
	size_t band_n;
	struct history t[MAX_TRIALS];
	size_t n;
};

/* The last report at or below the band of a trial that has reached it; false: it has none. */
static bool value_at(const struct history *h, uint64_t band, double *value)
{
	size_t i = h->n;

	if (h->n == 0 || h->step[h->n - 1] < band)
		return false;
	while (i > 0 && h->step[i - 1] > band)
		i--;
	if (i == 0)
		return false;
	*value = h->value[i - 1];
	return true;
}

static int order(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static struct sw_judgement model_report(struct model *m, size_t i, uint64_t step, double value)
{
	struct sw_judgement j = {.cutoff = NAN, .value = NAN};
	struct history *h = &m->t[i];
	double before[MAX_BANDS], v[MAX_TRIALS], own = 0;
	size_t at = MAX_BANDS, n = 0;
	bool had[MAX_BANDS], crossed = false;

	for (size_t k = 0; k < m->band_n; k++)
		had[k] = value_at(h, m->band[k], &before[k]);
	h->step[h->n] = step;
	h->value[h->n++] = value;
	for (size_t k = 0; k < m->band_n; k++) {
		if (!value_at(h, m->band[k], &own))
			continue;
		crossed = crossed || !had[k];
		at = k;
	}
	if (at == MAX_BANDS)
		return j;
	for (size_t o = 0; o < m->n; o++)
		n += value_at(&m->t[o], m->band[at], &v[n]);
	qsort(v, n, sizeof v[0], order);
	(void)value_at(h, m->band[at], &own);
	for (size_t k = 0; !m->c.strict && k < h->n; k++)
		own = h->value[k] < own ? h->value[k] : own;
	const double threshold = v[n / m->c.eta];
	if (!crossed && !(own > threshold))
		return j;
	j.verdict = own > threshold ? SW_VERDICT_STOP : SW_VERDICT_CONTINUE;
	j.rung = m->band[at];
	j.n = n;
	for (size_t k = 0; k < n; k++)
		j.better += v[k] < own;
	j.keep = n / m->c.eta + 1;
	j.cutoff = threshold;
	j.value = own;
	return j;
}

static void configure(struct model *m, uint64_t *rng)
{
	m->c = (struct sw_hyperband_config){.eta = 2 + below(rng, 3), .strict = below(rng, 2)};
	if (below(rng, 2) == 0) {
		m->c.min_iter = 1 + below(rng, 4);
		for (uint64_t b = m->c.min_iter; m->band_n < 6; b *= m->c.eta)
			m->band[m->band_n++] = b; /* no history gets further */
		return;
	}
	m->c.max_iter = m->c.eta + below(rng, 60);
	for (uint64_t b = m->c.max_iter / m->c.eta; b > 0 && m->c.s < 3; b /= m->c.eta)
		m->c.s++;
	for (uint64_t i = m->c.s; i > 0; i--) {
		uint64_t power = 1;

		for (uint64_t k = 0; k < i; k++)
			power *= m->c.eta;
		m->band[m->band_n++] = m->c.max_iter / power;
	}
}

static void play(uint64_t seed)
{
	static struct model m;
	uint64_t rng = seed;
	struct sw_prune_trial t[MAX_TRIALS];
	bool over[MAX_TRIALS] = {false};

	memset(&m, 0, sizeof m);
	configure(&m, &rng);
	m.n = 1 + below(&rng, MAX_TRIALS);
	const struct sw_pruner_config c = {.kind = SW_PRUNER_HYPERBAND, .hyperband = m.c};
	struct sw_pruner *p = make_pruner(&c, 1);
	const uint64_t values = 1 + below(&rng, 50), longest = 1 + below(&rng, 4);
	for (size_t i = 0; i < m.n; i++)
		sw_pruner_enter(p, i + 1, &t[i]);
	for (int e = 0; e < 200; e++) {
		const size_t i = below(&rng, m.n);
		const struct history *h = &m.t[i];
		const uint64_t last = h->n > 0 ? h->step[h->n - 1] : 0;
		const uint64_t step = last + 1 + below(&rng, longest);

		if (over[i] || h->n == MAX_REPORTS || step > 32)
			continue;
		if (last > 0 && below(&rng, 8) == 0) { /* from a checkpoint: one report again */
			sw_pruner_begin(p, i + 1, &t[i], 1 + below(&rng, last));
			const struct sw_judgement again = report(p, i + 1, &t[i], last, 1e9);
			ck_assert(again.rung == 0 && again.verdict == SW_VERDICT_CONTINUE);
		}
		const double value = (double)below(&rng, values);
		const struct sw_judgement want = model_report(&m, i, step, value);
		const struct sw_judgement got = report(p, i + 1, &t[i], step, value);
		compare_judgements(&got, &want, seed, e);
		over[i] = got.verdict == SW_VERDICT_STOP;
	}
	sw_pruner_invariant(p);
	sw_pruner_destroy(p);
}

START_TEST(hyperband_random_history_agrees_with_the_model)
{
	for (uint64_t k = 0; k < 1000; k++)
		play((uint64_t)_i * 1000 + k);
}
END_TEST

START_TEST(hyperband_stops_an_old_trial_by_what_came_later)
{
	const struct sw_pruner_config c = CONFIG(.min_iter = 1, .eta = 2, .strict = true);
	struct sw_pruner *p = make_pruner(&c, 1);
	struct sw_prune_trial t[4];

	for (uint64_t i = 0; i < 4; i++) {
		sw_pruner_enter(p, i + 1, &t[i]);
		ck_assert_int_eq(report(p, i + 1, &t[i], 1, 9.0 - (double)i).verdict,
				 SW_VERDICT_CONTINUE);
	}
	/* 6 7 8 9: of four the third is the cutoff, and 9 is above it. A long ladder's next band is
	 * 2, which the report at 2 reaches; so it is judged there, alone. */
	ck_assert_int_eq(report(p, 1, &t[0], 2, 9.0).verdict, SW_VERDICT_CONTINUE);
	ck_assert_int_eq(report(p, 2, &t[1], 2, 1.0).verdict, SW_VERDICT_CONTINUE);
	ck_assert_int_eq(report(p, 3, &t[2], 2, 1.0).verdict, SW_VERDICT_CONTINUE);
	const struct sw_judgement j = report(p, 1, &t[0], 3, 0.0);
	ck_assert_int_eq(j.verdict, SW_VERDICT_STOP); /* 1 1 9: above the second */
	ck_assert_uint_eq(j.rung, 2);
	ck_assert_double_eq(j.value, 9.0);
	ck_assert_double_eq(j.cutoff, 1.0);
	char why[SW_PRUNE_CAUSE_MAX];
	sw_pruner_explain(p, &j, why);
	ck_assert_str_eq(why, "band 2: rank 3 of 3");
	ck_assert_double_eq(sw_pruner_rung_cutoff(p, 0, 1), 9.0);
	ck_assert_double_nan(sw_pruner_rung_cutoff(p, 0, 2));
	sw_pruner_destroy(p);
}
END_TEST

#ifdef SW_FAULTS
START_TEST(hyperband_without_memory_changes_nothing)
{
	const struct sw_pruner_config c = CONFIG(.min_iter = 1, .eta = 3);

	walk_create(&c);
	walk_reports(&c);
}
END_TEST
#endif

SUITE(tcase)
{
	tcase_add_rows(tcase, hyperband_ladder_has_its_bands, ladders);
	tcase_add_rows(tcase, hyperband_bad_config_is_refused, refused);
	tcase_add_loop_test(tcase, hyperband_random_history_agrees_with_the_model, 0, 10);
	tcase_add_test(tcase, hyperband_stops_an_old_trial_by_what_came_later);
#ifdef SW_FAULTS
	tcase_add_test(tcase, hyperband_without_memory_changes_nothing);
#endif
}
