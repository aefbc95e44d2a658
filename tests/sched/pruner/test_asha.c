/*
 * tests/sched/pruner/test_asha.c — the rung rule as a table, and the whole pruner against a naive
 * model that knows nothing of trees: it keeps every report and counts with loops, as the design
 * says it.
 */
#include "sched/pruner/rungs.h"
#include "tests/run.h"
#include "tests/sched/pruner/prune.h"

static struct sw_pruner *make(uint64_t grace, uint64_t max_t, uint64_t rf, uint64_t brackets,
			      uint64_t min_results)
{
	const struct sw_pruner_config c = {.kind = SW_PRUNER_ASHA,
					   .asha = {.grace_period = grace,
						    .max_t = max_t,
						    .reduction_factor = rf,
						    .brackets = brackets,
						    .min_results = min_results}};

	return make_pruner(&c, 11);
}

static const struct {
	const char *name;
	double seen[8];
	size_t n;
	double value;
	uint64_t rf, min_results;
	enum sw_verdict verdict;
	uint64_t better, keep;
	double cutoff;
} rows[] = {
	{"first has no rivals", {0}, 0, 9.0, 3, 3, SW_VERDICT_CONTINUE, 0, 1, NAN},
	{"too few go on", {1.0}, 1, 1.5, 3, 3, SW_VERDICT_CONTINUE, 1, 1, NAN},
	{"judged from min_results on", {1.0}, 1, 1.5, 3, 2, SW_VERDICT_STOP, 1, 1, 1.0},
	{"two of six", {1, 2, 3, 4, 5}, 5, 1.5, 3, 3, SW_VERDICT_CONTINUE, 1, 2, 1.5},
	{"third of six", {1, 2, 3, 4, 5}, 5, 2.5, 3, 3, SW_VERDICT_STOP, 2, 2, 2.0},
	{"ties survive", {1.0, 2.0}, 2, 1.0, 3, 3, SW_VERDICT_CONTINUE, 0, 1, 1.0},
	{"ties of all survive", {1, 1, 1, 1, 1}, 5, 1.0, 2, 2, SW_VERDICT_CONTINUE, 0, 3, 1.0},
	{"half of four", {1, 2, 3}, 3, 1.5, 2, 2, SW_VERDICT_CONTINUE, 1, 2, 1.5},
	{"min_results 1", {0}, 0, 9.0, 4, 1, SW_VERDICT_CONTINUE, 0, 1, 9.0},
};

START_TEST(asha_row_gives_its_judgement)
{
	struct sw_pruner *a = make(1, 100, rows[_i].rf, 1, rows[_i].min_results);

	for (size_t i = 0; i < rows[_i].n; i++) {
		struct sw_prune_trial t = {0};

		(void)report(a, i + 1, &t, 1, rows[_i].seen[i]);
	}
	struct sw_prune_trial t = {0};
	const struct sw_judgement j = report(a, 100, &t, 1, rows[_i].value);
	const struct sw_judgement want = {.verdict = rows[_i].verdict,
					  .rung = 1,
					  .n = rows[_i].n + 1,
					  .better = rows[_i].better,
					  .keep = rows[_i].keep,
					  .cutoff = rows[_i].cutoff,
					  .value = rows[_i].value};
	compare_judgements(&j, &want, 0, _i);
	sw_pruner_destroy(a);
}
END_TEST

static const struct {
	uint64_t grace, max_t, rf, bracket;
	size_t n;
	uint64_t step[64];
} ladders[] = {
	{1, 1000, 10, 0, 4, {1, 10, 100, 1000}},
	{1, 243, 3, 0, 6, {1, 3, 9, 27, 81, 243}},
	{1, 243, 3, 2, 4, {9, 27, 81, 243}},
	{1, 100, 4, 0, 4, {1, 4, 16, 64}},
	{5, 5, 2, 0, 1, {5}},
	{7, 27, 3, 0, 2, {7, 21}},
	{UINT64_MAX - 1, UINT64_MAX, 2, 0, 1, {UINT64_MAX - 1}},
	{1, UINT64_MAX, UINT64_C(1) << 32, 0, 2, {1, UINT64_C(1) << 32}},
};

START_TEST(asha_ladder_has_its_rungs)
{
	struct sw_pruner *a = make(ladders[_i].grace, ladders[_i].max_t, ladders[_i].rf,
				   ladders[_i].bracket + 1, 2);
	const uint32_t b = (uint32_t)ladders[_i].bracket;

	ck_assert_uint_eq(sw_pruner_rung_n(a, b), ladders[_i].n);
	for (size_t k = 0; k < ladders[_i].n; k++) {
		ck_assert_uint_eq(sw_pruner_rung_step(a, b, k), ladders[_i].step[k]);
		ck_assert_uint_eq(sw_pruner_rung_count(a, b, k), 0);
		ck_assert_double_nan(sw_pruner_rung_cutoff(a, b, k));
	}
	sw_pruner_destroy(a);
}
END_TEST

START_TEST(asha_longest_ladder_has_64_rungs)
{
	struct sw_pruner *a = make(1, UINT64_MAX, 2, 64, 2);

	ck_assert_uint_eq(sw_pruner_rung_n(a, 0), SW_RUNGS_MAX);
	ck_assert_uint_eq(sw_pruner_rung_step(a, 0, 63), UINT64_C(1) << 63);
	ck_assert_uint_eq(sw_pruner_rung_n(a, 63), 1);
	struct sw_prune_trial t = {0};
	(void)report(a, 1, &t, 1, 1.0);
	const struct sw_judgement j = report(a, 1, &t, UINT64_MAX, 1.0);
	ck_assert_int_eq(j.verdict, SW_VERDICT_COMPLETE);
	ck_assert_uint_eq(t.filled, UINT64_MAX);
	sw_pruner_destroy(a);
}
END_TEST

#define CONFIG(...)                                                                                \
	{                                                                                          \
		.kind = SW_PRUNER_ASHA, .asha = { __VA_ARGS__ }                                    \
	}

static const struct refused refused[] = {
	{CONFIG(0, 9, 3, 1, 3), "/grace_period", "grace_period must be at least 1"},
	{CONFIG(5, 4, 3, 1, 3), "/max_t", "max_t 4 is below grace_period 5"},
	{CONFIG(1, 0, 3, 1, 3), "/max_t", "max_t 0 is below grace_period 1"},
	{CONFIG(1, 9, 1, 1, 3), "/reduction_factor",
	 "reduction_factor must be at least 2; it is 1"},
	{CONFIG(1, 9, 0, 1, 3), "/reduction_factor",
	 "reduction_factor must be at least 2; it is 0"},
	{CONFIG(1, 9, 3, 0, 3), "/brackets", "brackets must be at least 1"},
	{CONFIG(1, 9, 3, 4, 3), "/brackets",
	 "brackets 4 is too many: there are only 3 rungs up to max_t 9"},
	{CONFIG(1, 9, 3, UINT64_MAX, 3), "/brackets",
	 "brackets 18446744073709551615 is too many: there are only 3 rungs up to max_t 9"},
	{CONFIG(1, 9, 3, 1, 0), "/min_results", "min_results must be at least 1"},
	{{.kind = SW_PRUNER_KIND_N}, "/type", "there is no such pruner"},
};

START_TEST(asha_bad_config_is_refused)
{
	check_refused(&refused[_i]);
}
END_TEST

START_TEST(asha_report_over_rungs_fills_each_with_its_own_value)
{
	struct sw_pruner *a = make(1, 27, 3, 1, 1);
	struct sw_prune_trial t = {0};
	const uint64_t want[] = {0, 1, 1, 0};

	/* 2, then 10: rung 1 had no report; rungs 3 and 9 get the value of step 2. */
	struct sw_judgement j = report(a, 1, &t, 2, 0.5);
	ck_assert_uint_eq(j.rung, 0);
	ck_assert_double_nan(j.cutoff);
	j = report(a, 1, &t, 10, 0.1);
	ck_assert_uint_eq(j.rung, 9);
	ck_assert_double_eq(j.value, 0.5);
	for (size_t k = 0; k < 4; k++)
		ck_assert_uint_eq(sw_pruner_rung_count(a, 0, k), k == 0 ? 0 : want[k]);
	/* Nothing is filled in later from behind. */
	j = report(a, 1, &t, 11, 0.1);
	ck_assert_uint_eq(j.rung, 0);
	ck_assert_uint_eq(sw_pruner_rung_count(a, 0, 0), 0);
	sw_pruner_destroy(a);
}
END_TEST

/* ---- the model ---- */

enum { MAX_TRIALS = 60, MAX_STEPS = 40 };

struct model_trial {
	uint32_t bracket;
	uint64_t clock;     /* of this attempt */
	uint64_t last_step; /* of the report that rungs know; 0: none since it began from scratch */
	double last_value;
	bool has[8];    /* per rung of its bracket */
	bool closed[8]; /* the trial went past the rung, with or without a value */
	double value[8];
};

struct model {
	struct sw_asha_config c;
	struct model_trial t[MAX_TRIALS];
	size_t n;
};

static uint64_t model_rung(const struct sw_asha_config *c, uint32_t bracket, size_t k)
{
	uint64_t r = c->grace_period;

	for (size_t i = 0; i < bracket + k; i++)
		r *= c->reduction_factor;
	return r;
}

static size_t model_count(const struct model *m, uint32_t bracket, size_t k, double v,
			  size_t *better)
{
	size_t n = 0;

	*better = 0;
	for (size_t i = 0; i < m->n; i++) {
		if (m->t[i].bracket != bracket || !m->t[i].has[k])
			continue;
		n++;
		*better += m->t[i].value[k] < v;
	}
	return n;
}

/* The value of the place-th best (from 1): the one that fewer than place are better than, and at
 * least place are as good as. */
static double model_place(const struct model *m, uint32_t bracket, size_t k, size_t place)
{
	for (size_t i = 0; i < m->n; i++) {
		size_t better, as_good;

		if (m->t[i].bracket != bracket || !m->t[i].has[k])
			continue;
		model_count(m, bracket, k, m->t[i].value[k], &better);
		model_count(m, bracket, k, nextafter(m->t[i].value[k], INFINITY), &as_good);
		if (better < place && place <= as_good)
			return m->t[i].value[k];
	}
	return NAN;
}

static struct sw_judgement model_report(struct model *m, size_t i, uint64_t step, double value)
{
	struct model_trial *t = &m->t[i];
	struct sw_judgement j = {.cutoff = NAN, .value = NAN, .bracket = t->bracket};
	size_t better;

	t->clock = step;
	if (step <= t->last_step) /* reported before, by the attempt that left the checkpoint */
		return j;

	for (size_t k = 0; model_rung(&m->c, t->bracket, k) <= m->c.max_t; k++) {
		const uint64_t r = model_rung(&m->c, t->bracket, k);

		if (r > step || t->closed[k])
			continue;
		t->closed[k] = true;
		if (r < step && t->last_step == 0)
			continue;
		t->has[k] = true;
		t->value[k] = r == step ? value : t->last_value;
		j.rung = r;
		j.value = t->value[k];
	}
	for (size_t k = 0; j.rung != 0; k++) {
		if (model_rung(&m->c, t->bracket, k) != j.rung)
			continue;
		j.n = model_count(m, t->bracket, k, j.value, &better);
		j.better = better;
		j.keep = j.n / m->c.reduction_factor > 1 ? j.n / m->c.reduction_factor : 1;
		if (j.n >= m->c.min_results) {
			j.cutoff = model_place(m, t->bracket, k, j.keep);
			j.verdict = j.better < j.keep ? SW_VERDICT_CONTINUE : SW_VERDICT_STOP;
		}
		break;
	}
	if (step >= m->c.max_t)
		j.verdict = SW_VERDICT_COMPLETE;
	t->last_step = step;
	t->last_value = value;
	return j;
}

static void compare_rungs(const struct sw_pruner *a, const struct model *m)
{
	for (uint32_t b = 0; b < m->c.brackets; b++) {
		for (size_t k = 0; k < sw_pruner_rung_n(a, b); k++) {
			size_t better;
			const size_t n = model_count(m, b, k, 0.0, &better);
			const size_t keep = (n + 1) / m->c.reduction_factor;
			const double cutoff = n == 0 || n + 1 < m->c.min_results
						      ? NAN
						      : model_place(m, b, k, keep > 1 ? keep : 1);

			ck_assert_uint_eq(sw_pruner_rung_step(a, b, k), model_rung(&m->c, b, k));
			ck_assert_uint_eq(sw_pruner_rung_count(a, b, k), n);
			ck_assert(same(sw_pruner_rung_cutoff(a, b, k), cutoff));
		}
	}
}

static struct sw_asha_config random_config(uint64_t *rng)
{
	struct sw_asha_config c = {.grace_period = 1 + below(rng, 3),
				   .reduction_factor = 2 + below(rng, 3),
				   .min_results = 1 + below(rng, 5),
				   .brackets = 1};

	c.max_t = c.grace_period + below(rng, 40);
	while (c.brackets < 4 && below(rng, 2) == 0 &&
	       model_rung(&c, (uint32_t)c.brackets, 0) <= c.max_t)
		c.brackets++;
	return c;
}

/* An attempt begins again: from scratch, or from a checkpoint of a step it has reached. */
static void begin_again(const struct sw_pruner *a, struct model *m, size_t i,
			struct sw_prune_trial *t, uint64_t *rng)
{
	const uint64_t reached = m->t[i].clock;
	const uint64_t from = below(rng, 2) == 0 ? 0 : below(rng, reached + 1);

	m->t[i].clock = from;
	if (from == 0)
		m->t[i].last_step = 0;
	sw_pruner_begin(a, i + 1, t, from);
}

/* One random history: trials in any order, late ones, jumps over rungs, ties, attempts that begin
 * again, reports that are the last, trials that diverge and are never heard of again. */
static void play(uint64_t seed)
{
	uint64_t rng = seed;
	static struct model m;
	struct sw_prune_trial t[MAX_TRIALS];
	bool over[MAX_TRIALS] = {false};

	memset(&m, 0, sizeof m);
	m.c = random_config(&rng);
	m.n = 1 + below(&rng, MAX_TRIALS);
	struct sw_pruner *a = make(m.c.grace_period, m.c.max_t, m.c.reduction_factor, m.c.brackets,
				   m.c.min_results);
	const uint64_t values = 1 + below(&rng, 50), longest = 1 + below(&rng, 6);
	for (size_t i = 0; i < m.n; i++) {
		sw_pruner_enter(a, i + 1, &t[i]);
		m.t[i].bracket = t[i].bracket;
		ck_assert_uint_lt(t[i].bracket, m.c.brackets);
	}
	for (int e = 0; e < 300; e++) {
		const size_t i = below(&rng, m.n);
		const bool final = below(&rng, 40) == 0;
		struct sw_judgement got;

		if (over[i])
			continue;
		if (below(&rng, 12) == 0)
			begin_again(a, &m, i, &t[i], &rng);
		if (below(&rng, 60) == 0) { /* its value is not finite: the caller ends it */
			over[i] = true;
			sw_pruner_ended(a, i + 1, &t[i], false);
			continue;
		}
		const uint64_t step = m.t[i].clock + 1 + below(&rng, longest);
		const double value = (double)below(&rng, values) - (double)(values / 2);
		struct sw_judgement want = model_report(&m, i, step, value);
		if (final)
			want.verdict = SW_VERDICT_CONTINUE;
		ck_assert(sw_pruner_report(a, i + 1, &t[i], step, value, final, &got) == SW_OK);
		compare_judgements(&got, &want, seed, e);
		over[i] = final || got.verdict != SW_VERDICT_CONTINUE;
	}
	compare_rungs(a, &m);
	sw_pruner_invariant(a);
	sw_pruner_destroy(a);
}

START_TEST(asha_random_history_agrees_with_the_model)
{
	for (uint64_t k = 0; k < 1000; k++)
		play((uint64_t)_i * 1000 + k);
}
END_TEST

START_TEST(asha_brackets_are_drawn_by_their_rungs)
{
	/* Rungs 1 3 9 27: brackets of 4, 3 and 2 rungs. */
	struct sw_pruner *a = make(1, 27, 3, 3, 3);
	enum { N = 90000 };
	unsigned drawn[3] = {0};

	for (uint64_t trial = 1; trial <= N; trial++)
		drawn[sw_pruner_bracket(a, trial)]++;
	ck_assert_double_eq_tol(drawn[0], N * 4.0 / 9.0, 600);
	ck_assert_double_eq_tol(drawn[1], N * 3.0 / 9.0, 600);
	ck_assert_double_eq_tol(drawn[2], N * 2.0 / 9.0, 600);
	sw_pruner_destroy(a);
}
END_TEST

#ifdef SW_FAULTS
START_TEST(asha_without_memory_is_not_made)
{
	const struct sw_pruner_config c = CONFIG(1, 27, 3, 3, 3);

	walk_create(&c);
}
END_TEST

START_TEST(asha_report_without_memory_changes_nothing)
{
	const struct sw_pruner_config c = CONFIG(1, 27, 3, 1, 3), brackets = CONFIG(1, 27, 2, 3, 1);
	struct sw_pruner *a = make(1, 27, 3, 1, 3);
	struct sw_prune_trial t = {.filled = 1, .step = 2, .value = 4.0};
	unsigned failed = 0;

	/* The report fills rungs 3, 9 and 27 at once: none of them, or all. */
	const struct sw_judgement j = report_hindered(a, 1, &t, 30, 1.0, &failed);
	ck_assert_uint_eq(failed, 2); /* what was reserved by then stays */
	ck_assert_uint_eq(j.rung, 27);
	for (size_t k = 1; k < 4; k++)
		ck_assert_uint_eq(sw_pruner_rung_count(a, 0, k), 1);
	sw_pruner_destroy(a);
	walk_reports(&c);
	walk_reports(&brackets);
}
END_TEST
#endif

SUITE(tcase)
{
	tcase_add_rows(tcase, asha_row_gives_its_judgement, rows);
	tcase_add_rows(tcase, asha_ladder_has_its_rungs, ladders);
	tcase_add_test(tcase, asha_longest_ladder_has_64_rungs);
	tcase_add_rows(tcase, asha_bad_config_is_refused, refused);
	tcase_add_test(tcase, asha_report_over_rungs_fills_each_with_its_own_value);
	tcase_add_loop_test(tcase, asha_random_history_agrees_with_the_model, 0, 10);
	tcase_add_test(tcase, asha_brackets_are_drawn_by_their_rungs);
#ifdef SW_FAULTS
	tcase_add_test(tcase, asha_without_memory_is_not_made);
	tcase_add_test(tcase, asha_report_without_memory_changes_nothing);
#endif
}
