/* tests/sched/pruner/test_pbt.c — the population against Ray's quantiles over a sorted list, and
 * the copies that are made of its best. */
#include "sched/num/rng.h"
#include "sched/pruner/pbt_explore.h"
#include "tests/run.h"
#include "tests/sched/pruner/prune.h"
#include "tests/sched/space/check.h"

#define DEFAULTS                                                                                   \
	.quantile_fraction = 0.25, .resample_probability = 0.25, .factor = {1.2, 0.8}, .factor_n = 2
#define CONFIG(...)                                                                                \
	{                                                                                          \
		.kind = SW_PRUNER_PBT, .pbt = { DEFAULTS, __VA_ARGS__ }                            \
	}

enum { SEED = 11, MAX_TRIALS = 40 };

/* ---- the model ---- */

struct member {
	enum { RUNS, WAITS, OVER } state;
	uint64_t clock, last; /* last: the step of the last perturbation */
	bool scored;
	double score;
};

struct model {
	struct sw_pbt_config c;
	struct member t[MAX_TRIALS];
	size_t n;
	uint64_t pending, unmade; /* who waits outside the queue */
};

static const struct member *sorting;

static int order(const void *a, const void *b)
{
	const size_t i = *(const size_t *)a, k = *(const size_t *)b;
	const double x = sorting[i].score, y = sorting[k].score;

	return x < y ? -1 : x > y ? 1 : i < k ? -1 : i > k;
}

static size_t population(const struct model *m, size_t *sorted)
{
	size_t n = 0;

	for (size_t i = 0; i < m->n; i++)
		if (m->t[i].scored && m->t[i].state != OVER)
			sorted[n++] = i;
	sorting = m->t;
	qsort(sorted, n, sizeof sorted[0], order);
	return n;
}

/* Ray's _quantiles: none of one; ceil(len * fraction), but floor(len / 2) if that is more than
 * half. */
static size_t quantile(const struct model *m, size_t n)
{
	if (n <= 1)
		return 0;
	const size_t in = (size_t)ceil((double)n * m->c.quantile_fraction);
	return (double)in > (double)n / 2 ? n / 2 : in;
}

static uint64_t model_until(const struct model *m, const struct member *t)
{
	const uint64_t due = t->last + m->c.perturbation_interval;
	const uint64_t until = due > m->c.burn_in_period ? due : m->c.burn_in_period;

	return m->c.last_step != 0 && until >= m->c.last_step ? 0 : until;
}

static struct sw_judgement model_report(struct model *m, size_t i, uint64_t step, double value,
					bool final)
{
	struct sw_judgement j = {.cutoff = NAN, .value = NAN};
	struct member *t = &m->t[i];
	size_t sorted[MAX_TRIALS], at = 0;
	bool others = m->pending + m->unmade > 0;

	t->clock = step;
	if (m->c.last_step != 0 && step >= m->c.last_step) {
		t->scored = false; /* complete: nobody goes on from it */
		return j;
	}
	if (step < m->c.burn_in_period || step < t->last ||
	    step - t->last < m->c.perturbation_interval || model_until(m, t) == 0)
		return j;
	t->last = step;
	t->score = value;
	t->scored = true;
	const size_t n = population(m, sorted), q = quantile(m, n);
	while (sorted[at] != i)
		at++;
	j.rung = step;
	j.value = value;
	j.n = n;
	j.better = at;
	j.keep = n - q;
	if (q > 0)
		j.cutoff = m->t[sorted[n - q - 1]].score;
	for (size_t k = 0; k < m->n; k++)
		others = others || m->t[k].state == WAITS;
	if (final) {
		return j;
	} else if (at >= n - q) {
		j.verdict = SW_VERDICT_STOP;
		j.donor = sorted[(sw_rng_u64(SEED, SW_RNG_EXPLOIT, i + 1, 0) >> 32) * q >> 32] + 1;
	} else if (others) {
		j.verdict = SW_VERDICT_PAUSE;
		t->state = WAITS;
	}
	return j;
}

/* The paused member with the least step, then the lowest number. */
static uint64_t model_next(const struct model *m, size_t *paused)
{
	uint64_t next = 0;

	*paused = 0;
	for (size_t i = 0; i < m->n; i++) {
		if (m->t[i].state != WAITS)
			continue;
		++*paused;
		if (next == 0 || m->t[i].last < m->t[next - 1].last)
			next = i + 1;
	}
	if (m->unmade > 0)
		*paused = 0;
	return m->unmade > 0 ? 0 : next;
}

struct game {
	struct model m;
	struct sw_pruner *p;
	struct sw_prune_trial t[MAX_TRIALS];
	uint64_t rng, values, seed;
};

static void add(struct game *g, uint64_t from)
{
	const size_t i = g->m.n++;

	g->m.t[i] = (struct member){.clock = from, .last = from};
	sw_pruner_enter(g->p, i + 1, &g->t[i]);
	sw_pruner_begin(g->p, i + 1, &g->t[i], from);
}

static void check_place(struct game *g, size_t i)
{
	size_t sorted[MAX_TRIALS], ahead = 0;
	const size_t n = population(&g->m, sorted);
	struct sw_pruner_place place;

	for (size_t k = 0; k < g->m.n; k++)
		ahead += g->m.t[k].state == WAITS && (g->m.t[k].last < g->m.t[i].last ||
						      (g->m.t[k].last == g->m.t[i].last && k < i));
	sw_pruner_place(g->p, i + 1, &g->t[i], &place);
	ck_assert(place.rung == g->m.t[i].last && place.n == n && place.keep == n);
	ck_assert(place.ahead == ahead && sorted[place.rank - 1] == i);
}

static void run(struct game *g, size_t i, int event)
{
	const uint64_t step = g->m.t[i].clock + 1 + below(&g->rng, 4);
	const double value = (double)below(&g->rng, g->values);
	const bool final = below(&g->rng, 30) == 0;
	struct sw_judgement got;

	const struct sw_judgement want = model_report(&g->m, i, step, value, final);
	ck_assert(sw_pruner_report(g->p, i + 1, &g->t[i], step, value, final, &got) == SW_OK);
	compare_judgements(&got, &want, g->seed, event);
	if (g->m.t[i].state == WAITS)
		check_place(g, i);
	if (got.verdict != SW_VERDICT_STOP && !final)
		return;
	g->m.t[i].state = OVER;
	sw_pruner_ended(g->p, i + 1, &g->t[i], final);
	if (got.donor != 0 && g->m.n < MAX_TRIALS)
		add(g, g->m.t[got.donor - 1].last);
}

static void touch(struct game *g, size_t i, uint64_t what, int event)
{
	struct member *t = &g->m.t[i];

	if (t->state == OVER)
		return;
	if (what == 39) {
		t->state = OVER;
		sw_pruner_ended(g->p, i + 1, &g->t[i], false);
	} else if (t->state == RUNS &&
		   what > 35) { /* lost, and again from scratch or a checkpoint */
		t->clock = below(&g->rng, t->clock + 1);
		sw_pruner_begin(g->p, i + 1, &g->t[i], t->clock);
	} else if (t->state == RUNS) {
		ck_assert(sw_pruner_until(g->p, &g->t[i]) == model_until(&g->m, t));
		run(g, i, event);
	}
}

static void play(uint64_t seed)
{
	static struct game g;
	size_t paused;

	memset(&g, 0, sizeof g);
	g.rng = g.seed = seed;
	g.m.c = (struct sw_pbt_config){DEFAULTS, .perturbation_interval = 1 + below(&g.rng, 6),
				       .burn_in_period = below(&g.rng, 3) * 5};
	g.m.c.quantile_fraction = (double)below(&g.rng, 6) / 10.0;
	g.m.c.last_step = below(&g.rng, 2) * (1 + below(&g.rng, 60));
	const struct sw_pruner_config c = {.kind = SW_PRUNER_PBT, .pbt = g.m.c};
	g.p = make_pruner(&c, SEED);
	ck_assert(sw_pruner_every(g.p) == g.m.c.perturbation_interval);
	g.values = 1 + below(&g.rng, 30);
	const uint64_t members = 1 + below(&g.rng, 12);
	for (int e = 0; e < 250; e++) {
		const uint64_t what = below(&g.rng, 40);

		g.m.unmade = g.m.n < members ? members - g.m.n : 0;
		g.m.pending = below(&g.rng, 8) == 0;
		sw_pruner_waiting(g.p, g.m.pending, g.m.unmade);
		const uint64_t next = sw_pruner_next(g.p);
		ck_assert(next == model_next(&g.m, &paused));
		ck_assert(sw_pruner_next_n(g.p, 3) == (paused < 3 ? paused : 3));
		if (what < 8 && next != 0) {
			g.m.t[next - 1].state = RUNS;
			sw_pruner_resumed(g.p, next, &g.t[next - 1]);
			sw_pruner_begin(g.p, next, &g.t[next - 1], g.m.t[next - 1].clock);
		} else if (what < 14 && g.m.n < members) {
			add(&g, 0);
		} else if (g.m.n > 0) {
			touch(&g, below(&g.rng, g.m.n), what, e);
		}
	}
	sw_pruner_invariant(g.p);
	sw_pruner_destroy(g.p);
}

START_TEST(pbt_random_history_agrees_with_the_model)
{
	for (uint64_t k = 0; k < 1000; k++)
		play((uint64_t)_i * 1000 + k);
}
END_TEST

START_TEST(pbt_one_member_goes_on_alone)
{
	const struct sw_pruner_config c = CONFIG(.perturbation_interval = 5);
	struct sw_pruner *p = make_pruner(&c, SEED);
	struct sw_prune_trial t;

	sw_pruner_enter(p, 1, &t);
	sw_pruner_begin(p, 1, &t, 0);
	for (uint64_t step = 1; step <= 20; step++) {
		const struct sw_judgement j = report(p, 1, &t, step, (double)step);
		ck_assert_int_eq(j.verdict, SW_VERDICT_CONTINUE);
		ck_assert_uint_eq(j.rung, step % 5 == 0 ? step : 0);
	}
	sw_pruner_destroy(p);
}
END_TEST

static const struct refused refused[] = {
	{CONFIG(.burn_in_period = 1), "/perturbation_interval",
	 "perturbation_interval must be at least 1"},
	{{.kind = SW_PRUNER_PBT, .pbt = {.perturbation_interval = 1, .quantile_fraction = 0.6}},
	 "/quantile_fraction",
	 "quantile_fraction must be between 0 and 0.5"},
	{{.kind = SW_PRUNER_PBT, .pbt = {.perturbation_interval = 1, .quantile_fraction = NAN}},
	 "/quantile_fraction",
	 "quantile_fraction must be between 0 and 0.5"},
	{{.kind = SW_PRUNER_PBT, .pbt = {.perturbation_interval = 1, .resample_probability = 2}},
	 "/resample_probability",
	 "resample_probability must be between 0 and 1"},
	{{.kind = SW_PRUNER_PBT, .pbt = {.perturbation_interval = 1}},
	 "/perturbation_factors",
	 "perturbation_factors must be 1 to 8 numbers"},
	{{.kind = SW_PRUNER_PBT, .pbt = {.perturbation_interval = 1, .factor = {0}, .factor_n = 1}},
	 "/perturbation_factors",
	 "perturbation_factors must be above 0"},
};

START_TEST(pbt_bad_config_is_refused)
{
	check_refused(&refused[_i]);
}
END_TEST

#ifdef SW_FAULTS
START_TEST(pbt_without_memory_changes_nothing)
{
	const struct sw_pruner_config c = CONFIG(.perturbation_interval = 2);

	walk_create(&c);
	walk_reports(&c);
}
END_TEST
#endif

/* ---- explore ---- */

enum { LR, UNITS, POWER, KIND, CONST, SMALL, SHARE, EIGHTHS, PARAMS };

static struct sw_space *make_space(bool constrained)
{
	static const struct sw_param params[PARAMS] = {
		[LR] = {.dist = SW_DIST_LOG_UNIFORM, .min = 1e-4, .max = 1e-1},
		[UNITS] = {.dist = SW_DIST_INT_UNIFORM, .min = 1, .max = 100},
		[POWER] = {.dist = SW_DIST_POW2, .min = 8, .max = 64},
		[KIND] = {.dist = SW_DIST_CATEGORICAL, .n_choices = 4},
		[CONST] = {.dist = SW_DIST_CONSTANT, .n_choices = 1},
		[SMALL] = {.dist = SW_DIST_Q_UNIFORM, .min = -1, .max = 1, .q = 0.25},
		[SHARE] = {.dist = SW_DIST_BETA, .a = 5, .b = 1},
		[EIGHTHS] = {.dist = SW_DIST_Q_BETA, .a = 1, .b = 5, .q = 0.125},
	};
	const struct sw_term units = {.coef = 1, .n_factors = 1, .factor = {UNITS}};
	const struct sw_term power = {.coef = 1, .n_factors = 1, .factor = {POWER}};
	const struct sw_constraint c = {{&units, 1, 0}, {&power, 1, 0}, SW_LE};
	struct sw_space *s;

	ck_assert_int_eq(sw_space_create(&s), SW_OK);
	for (size_t i = 0; i < PARAMS; i++)
		ck_assert_int_eq(sw_space_add(s, &params[i], NULL), SW_OK);
	if (constrained)
		ck_assert_int_eq(sw_space_constrain(s, &c, NULL), SW_OK);
	ck_assert_int_eq(sw_space_seal(s, NULL), SW_OK);
	return s;
}

static const struct sw_value donor[PARAMS] = {
	[LR] = {.number = 0.01},      [UNITS] = {.number = 2},     [POWER] = {.number = 16},
	[KIND] = {.choice = 3},       [SMALL] = {.number = -0.25}, [SHARE] = {.number = 0.875},
	[EIGHTHS] = {.number = 0.125}};

START_TEST(explore_changes_by_factor_or_neighbour)
{
	const struct sw_pbt_config c = {.factor = {1.2, 0.8}, .factor_n = 2};
	struct sw_space *s = make_space(false);
	unsigned up[PARAMS] = {0};

	for (uint64_t child = 1; child <= 1000; child++) {
		struct sw_value v[PARAMS];

		sw_pbt_explore(&c, s, SEED, child, donor, v);
		ck_assert(space_check(s, v, NULL) == SW_OK);
		ck_assert(v[LR].number == 0.01 * 1.2 || v[LR].number == 0.01 * 0.8);
		/* 2.4 and 1.6 are nearest to 2 again: the next one is taken. */
		ck_assert(v[UNITS].number == 3 || v[UNITS].number == 1);
		ck_assert(v[POWER].number == 32 || v[POWER].number == 8);
		ck_assert(v[KIND].choice == 3 ||
			  v[KIND].choice == 2); /* the last has one neighbour */
		ck_assert(v[CONST].choice == 0);
		ck_assert(v[SMALL].number == -0.5 || v[SMALL].number == 0.0);
		/* 1.05 is beyond the end, which no draw reaches. */
		ck_assert(v[SHARE].number == 1 - 0x1p-53 || v[SHARE].number == 0.875 * 0.8);
		ck_assert(v[EIGHTHS].number == 0.25 || v[EIGHTHS].number == 0.0);
		up[LR] += v[LR].number > 0.01;
		up[UNITS] += v[UNITS].number > 2;
		up[POWER] += v[POWER].number > 16;
		up[KIND] += v[KIND].choice > 2;
		up[SMALL] += v[SMALL].number > -0.25;
		up[SHARE] += v[SHARE].number > 0.875;
		up[EIGHTHS] += v[EIGHTHS].number > 0.125;
	}
	for (size_t i = 0; i < PARAMS; i++) /* half of them, within six deviations */
		ck_assert_msg(i == CONST || (up[i] > 405 && up[i] < 595), "%zu: %u", i, up[i]);
	sw_space_destroy(s);
}
END_TEST

static void fix_all_but_units(struct sw_pbt_config *c)
{
	for (size_t i = 0; i < PARAMS; i++)
		c->fixed[i] = i != UNITS;
}

START_TEST(explore_resamples_and_keeps_what_may_not_change)
{
	struct sw_pbt_config c = {.resample_probability = 1, .factor = {1.2}, .factor_n = 1};
	struct sw_space *s = make_space(false);
	double sum = 0;

	fix_all_but_units(&c);
	for (uint64_t child = 1; child <= 1000; child++) {
		struct sw_value v[PARAMS], again[PARAMS];

		memcpy(v, donor, sizeof v);
		sw_pbt_explore(&c, s, SEED, child, v, v); /* the same array */
		sw_pbt_explore(&c, s, SEED, child, donor, again);
		ck_assert(memcmp(v, again, sizeof v) == 0);
		for (size_t i = 0; i < PARAMS; i++)
			ck_assert(i == UNITS || (v[i].number == donor[i].number &&
						 v[i].choice == donor[i].choice));
		sum += v[UNITS].number;
	}
	ck_assert_double_eq_tol(sum / 1000, 50.5, 6); /* 29 / sqrt(1000) is 0.9 */
	sw_space_destroy(s);
}
END_TEST

START_TEST(explore_keeps_constraints_and_ends_are_clipped)
{
	const struct sw_pbt_config c = {
		.resample_probability = 0.5, .factor = {100, 0.001}, .factor_n = 2};
	struct sw_space *s = make_space(true);
	unsigned low = 0, high = 0;

	for (uint64_t child = 1; child <= 1000; child++) {
		struct sw_value v[PARAMS];

		sw_pbt_explore(&c, s, SEED, child, donor, v);
		ck_assert(sw_space_feasible(s, v) && space_check(s, v, NULL) == SW_OK);
		ck_assert(v[UNITS].number <= v[POWER].number);
		low += v[LR].number == 1e-4;
		high += v[LR].number == 1e-1;
	}
	ck_assert_uint_gt(low, 100);
	ck_assert_uint_gt(high, 100);
	sw_space_destroy(s);
}
END_TEST

START_TEST(explore_that_finds_nothing_keeps_the_donor)
{
	/* units <= power, but only units may change, and only to what is above power. */
	struct sw_pbt_config c = {.factor = {50}, .factor_n = 1};
	struct sw_space *s = make_space(true);
	struct sw_value v[PARAMS];

	fix_all_but_units(&c);
	for (uint64_t child = 1; child <= 50; child++) {
		sw_pbt_explore(&c, s, SEED, child, donor, v);
		ck_assert(v[UNITS].number <= 16); /* walked, or the donor's */
		ck_assert(v[POWER].number == 16 && v[LR].number == 0.01);
	}
	sw_space_destroy(s);
}
END_TEST

SUITE(tcase)
{
	tcase_add_loop_test(tcase, pbt_random_history_agrees_with_the_model, 0, 10);
	tcase_add_test(tcase, pbt_one_member_goes_on_alone);
	tcase_add_rows(tcase, pbt_bad_config_is_refused, refused);
#ifdef SW_FAULTS
	tcase_add_test(tcase, pbt_without_memory_changes_nothing);
#endif
	tcase_add_test(tcase, explore_changes_by_factor_or_neighbour);
	tcase_add_test(tcase, explore_resamples_and_keeps_what_may_not_change);
	tcase_add_test(tcase, explore_keeps_constraints_and_ends_are_clipped);
	tcase_add_test(tcase, explore_that_finds_nothing_keeps_the_donor);
}
