/*
 * tests/sched/pruner/test_promote.c — promotion against the paper's get_job written out: all values
 * that a rung ever recorded in a list, the set of those that were promoted, and loops.
 */
#include "tests/run.h"
#include "tests/sched/pruner/prune.h"

#define CONFIG(...)                                                                                \
	{                                                                                          \
		.kind = SW_PRUNER_PROMOTE, .asha = { __VA_ARGS__ }                                 \
	}

/* ---- the model ---- */

enum { MAX_TRIALS = 40, MAX_RUNGS = 8 };

struct result {
	uint64_t trial;
	double value;
	bool promoted; /* or ended: it is not for get_job any more */
};

struct rung {
	struct result v[MAX_TRIALS];
	size_t n;
};

struct model_trial {
	enum { RUNS, WAITS, OVER } state;
	uint32_t bracket;
	uint64_t clock, last_step;
	double last_value;
	bool closed[MAX_RUNGS];
	size_t at; /* WAITS: the rung of the ladder */
};

struct model {
	struct sw_asha_config c;
	uint64_t step[MAX_RUNGS];
	size_t rung_n;
	struct rung rung[4][MAX_RUNGS]; /* [bracket][rung of the ladder] */
	struct model_trial t[MAX_TRIALS];
	size_t n;
};

static bool better(const struct result *a, const struct result *b)
{
	return a->value < b->value || (a->value == b->value && a->trial < b->trial);
}

static size_t rank(const struct rung *r, const struct result *x)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n; i++)
		n += better(&r->v[i], x);
	return n;
}

static struct result *find(struct rung *r, uint64_t trial)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->v[i].trial == trial)
			return &r->v[i];
	ck_abort_msg("trial %" PRIu64 " is not at the rung", trial);
}

/* get_job: for k from the highest rung below the top down: candidates = top_k(rung k, |rung k| /
 * eta); promotable = those of them that were not promoted; if there are any, return the best of
 * them. */
static struct result *get_job(struct model *m)
{
	for (size_t k = m->rung_n; k-- > 0;) {
		if (m->step[k] >= m->c.max_t)
			continue;
		for (uint32_t b = 0; b < m->c.brackets; b++) {
			struct rung *r = &m->rung[b][k];
			struct result *best = NULL;

			for (size_t i = 0; i < r->n; i++) {
				const bool candidate = rank(r, &r->v[i]) <
						       r->n / m->c.reduction_factor;

				if (candidate && !r->v[i].promoted &&
				    (best == NULL || better(&r->v[i], best)))
					best = &r->v[i];
			}
			if (best != NULL)
				return best;
		}
	}
	return NULL;
}

/* The jobs that it would give one after the other. */
static size_t jobs(const struct model *m, struct result *out)
{
	static struct model copy;
	size_t n = 0;

	copy = *m;
	for (struct result *r; (r = get_job(&copy)) != NULL; r->promoted = true)
		out[n++] = *r;
	return n;
}

static struct sw_judgement model_report(struct model *m, size_t i, uint64_t step, double value,
					bool final)
{
	struct model_trial *t = &m->t[i];
	struct sw_judgement j = {.cutoff = NAN, .value = NAN, .bracket = t->bracket};
	size_t at = 0;

	t->clock = step;
	if (step <= t->last_step)
		return j;
	for (size_t k = t->bracket; k < m->rung_n && m->step[k] <= step; k++) {
		struct rung *r = &m->rung[t->bracket][k];

		if (t->closed[k])
			continue;
		t->closed[k] = true;
		if (m->step[k] < step && t->last_step == 0)
			continue;
		if (j.rung != 0) /* it goes past that one in the same report */
			find(&m->rung[t->bracket][at], i + 1)->promoted = true;
		at = k;
		j.rung = m->step[k];
		j.value = m->step[k] == step ? value : t->last_value;
		r->v[r->n++] = (struct result){i + 1, j.value, false};
	}
	t->last_step = step;
	t->last_value = value;
	if (step >= m->c.max_t)
		j.verdict = final ? SW_VERDICT_CONTINUE : SW_VERDICT_COMPLETE;
	if (j.rung == 0)
		return j;
	const struct rung *r = &m->rung[t->bracket][at];
	j.n = r->n;
	j.keep = r->n / m->c.reduction_factor;
	for (size_t k = 0; k < r->n; k++) {
		j.better += r->v[k].value < j.value;
		if (rank(r, &r->v[k]) + 1 == j.keep)
			j.cutoff = r->v[k].value;
	}
	if (step >= m->c.max_t || final) {
		find(&m->rung[t->bracket][at], i + 1)->promoted = true;
		return j;
	}
	j.verdict = SW_VERDICT_PAUSE;
	t->state = WAITS;
	t->at = at;
	return j;
}

static uint64_t model_until(const struct model *m, const struct model_trial *t)
{
	for (size_t k = t->bracket; k < m->rung_n; k++)
		if (!t->closed[k])
			return m->step[k];
	return m->c.max_t;
}

/* ---- a history ---- */

struct game {
	struct model m;
	struct sw_pruner *p;
	struct sw_prune_trial t[MAX_TRIALS];
	uint64_t rng, values, longest, seed;
};

static void compare_queue(struct game *g)
{
	struct result queue[4 * MAX_RUNGS * MAX_TRIALS];
	const size_t n = jobs(&g->m, queue);
	const uint64_t most = below(&g->rng, 5);

	ck_assert(sw_pruner_next(g->p) == (n > 0 ? queue[0].trial : 0));
	ck_assert(sw_pruner_next_n(g->p, most) == (n < most ? n : most));
	ck_assert(sw_pruner_next_n(g->p, UINT64_MAX) == (n));
	for (size_t i = 0; i < g->m.n; i++) {
		struct model_trial *t = &g->m.t[i];
		struct sw_pruner_place place;

		if (t->state != OVER)
			ck_assert(sw_pruner_until(g->p, &g->t[i]) == (model_until(&g->m, t)));
		ck_assert((g->t[i].paused != 0) == (t->state == WAITS));
		if (t->state != WAITS)
			continue;
		struct rung *r = &g->m.rung[t->bracket][t->at];
		const struct result *own = find(r, i + 1);
		size_t ahead = 0;
		for (size_t k = 0; k < r->n; k++)
			ahead += !r->v[k].promoted && better(&r->v[k], own);
		for (size_t k = 0; k < n; k++) {
			const struct model_trial *o = &g->m.t[queue[k].trial - 1];

			ahead += o->at > t->at || (o->at == t->at && o->bracket < t->bracket);
		}
		sw_pruner_place(g->p, i + 1, &g->t[i], &place);
		ck_assert(place.rung == (g->m.step[t->at]));
		ck_assert(place.rank == (rank(r, own) + 1));
		ck_assert(place.n == (r->n));
		ck_assert(place.keep == (r->n / g->m.c.reduction_factor));
		ck_assert(place.ahead == (ahead));
	}
}

static void resume(struct game *g, size_t i)
{
	struct model_trial *t = &g->m.t[i];

	find(&g->m.rung[t->bracket][t->at], i + 1)->promoted = true;
	t->state = RUNS;
	sw_pruner_resumed(g->p, i + 1, &g->t[i]);
	sw_pruner_begin(g->p, i + 1, &g->t[i], t->clock);
}

static void end(struct game *g, size_t i)
{
	struct model_trial *t = &g->m.t[i];

	if (t->state == WAITS)
		find(&g->m.rung[t->bracket][t->at], i + 1)->promoted = true;
	t->state = OVER;
	sw_pruner_ended(g->p, i + 1, &g->t[i], false);
}

static void restart(struct game *g, size_t i)
{
	struct model_trial *t = &g->m.t[i];
	const uint64_t from = below(&g->rng, 2) == 0 ? 0 : below(&g->rng, t->clock + 1);

	t->clock = from;
	if (from == 0)
		t->last_step = 0;
	sw_pruner_begin(g->p, i + 1, &g->t[i], from);
}

static void run(struct game *g, size_t i, int event)
{
	struct model_trial *t = &g->m.t[i];
	const uint64_t step = t->clock + 1 + below(&g->rng, g->longest);
	const double value = (double)below(&g->rng, g->values) - (double)(g->values / 2);
	const bool final = below(&g->rng, 30) == 0;
	struct sw_judgement got;

	const struct sw_judgement want = model_report(&g->m, i, step, value, final);
	ck_assert(sw_pruner_report(g->p, i + 1, &g->t[i], step, value, final, &got) == SW_OK);
	compare_judgements(&got, &want, g->seed, event);
	if (final || got.verdict == SW_VERDICT_COMPLETE)
		end(g, i);
}

static void configure(struct game *g)
{
	struct sw_asha_config *c = &g->m.c;

	*c = (struct sw_asha_config){.grace_period = 1 + below(&g->rng, 3),
				     .reduction_factor = 2 + below(&g->rng, 3),
				     .brackets = 1};
	c->max_t = c->grace_period + below(&g->rng, 40);
	for (uint64_t r = c->grace_period; r <= c->max_t; r *= c->reduction_factor)
		g->m.step[g->m.rung_n++] = r;
	c->brackets = 1 + below(&g->rng, g->m.rung_n < 4 ? g->m.rung_n : 4);
	const struct sw_pruner_config config = {.kind = SW_PRUNER_PROMOTE, .asha = *c};
	g->p = make_pruner(&config, 11);
	g->values = 1 + below(&g->rng, 50);
	g->longest = 1 + below(&g->rng, 6);
}

static void play(uint64_t seed)
{
	static struct game g;

	memset(&g, 0, sizeof g);
	g.rng = g.seed = seed;
	configure(&g);
	const size_t most = 1 + below(&g.rng, MAX_TRIALS);
	for (int e = 0; e < 250; e++) {
		const uint64_t job = sw_pruner_next(g.p), what = below(&g.rng, 40);

		const struct result *want = get_job(&g.m);

		if (job != (want != NULL ? want->trial : 0))
			ck_abort_msg("seed %" PRIu64 ": next %" PRIu64, seed, job);
		if (e % 16 == 0)
			compare_queue(&g);
		if (what < 8 && job != 0) {
			resume(&g, job - 1);
		} else if (what < 14 && g.m.n < most) {
			sw_pruner_enter(g.p, g.m.n + 1, &g.t[g.m.n]);
			g.m.t[g.m.n].bracket = g.t[g.m.n].bracket;
			sw_pruner_begin(g.p, g.m.n + 1, &g.t[g.m.n], 0);
			g.m.n++;
		} else if (g.m.n > 0) {
			const size_t i = below(&g.rng, g.m.n);

			if (g.m.t[i].state == OVER)
				continue;
			if (what == 39) /* cancelled, or not finite */
				end(&g, i);
			else if (g.m.t[i].state == WAITS && what == 38) /* out of turn */
				resume(&g, i);
			else if (g.m.t[i].state == RUNS && what > 34)
				restart(&g, i);
			else if (g.m.t[i].state == RUNS)
				run(&g, i, e);
		}
	}
	compare_queue(&g);
	sw_pruner_invariant(g.p);
	sw_pruner_destroy(g.p);
}

START_TEST(promote_random_history_agrees_with_get_job)
{
	for (uint64_t k = 0; k < 1000; k++)
		play((uint64_t)_i * 1000 + k);
}
END_TEST

/* ---- edges ---- */

static struct sw_pruner *make(uint64_t grace, uint64_t max_t, uint64_t rf)
{
	const struct sw_pruner_config c = CONFIG(grace, max_t, rf, 1, 0);

	return make_pruner(&c, 1);
}

START_TEST(promote_one_trial_pauses_and_waits)
{
	struct sw_pruner *p = make(1, 9, 2);
	struct sw_prune_trial t;

	sw_pruner_enter(p, 1, &t);
	ck_assert_uint_eq(sw_pruner_next(p), 0);
	ck_assert_uint_eq(sw_pruner_until(p, &t), 1);
	ck_assert_int_eq(report(p, 1, &t, 1, 0.5).verdict, SW_VERDICT_PAUSE);
	ck_assert_uint_eq(sw_pruner_next(p), 0);
	ck_assert_uint_eq(sw_pruner_next_n(p, 9), 0);
	ck_assert_uint_eq(sw_pruner_until(p, &t), 2);
	sw_pruner_destroy(p);
}
END_TEST

START_TEST(promote_of_two_equal_ones_takes_the_earlier)
{
	struct sw_pruner *p = make(1, 9, 2);
	struct sw_prune_trial t[2];

	for (uint64_t i = 2; i > 0; i--) { /* the later one reports first */
		sw_pruner_enter(p, i, &t[i - 1]);
		(void)report(p, i, &t[i - 1], 1, 0.5);
	}
	ck_assert_uint_eq(sw_pruner_next(p), 1);
	ck_assert_uint_eq(sw_pruner_next_n(p, 9), 1);
	sw_pruner_resumed(p, 1, &t[0]);
	ck_assert_uint_eq(sw_pruner_next(p), 0);
	sw_pruner_destroy(p);
}
END_TEST

START_TEST(promote_last_leg_goes_to_max_t)
{
	/* Rungs 1, 3, 9 of max_t 20: 9 is below the top, and the leg after it ends at 20. */
	struct sw_pruner *p = make(1, 20, 3);
	struct sw_prune_trial t;

	sw_pruner_enter(p, 1, &t);
	for (uint64_t step = 1; step <= 9; step *= 3) {
		ck_assert_uint_eq(sw_pruner_until(p, &t), step);
		ck_assert_int_eq(report(p, 1, &t, step, 0.5).verdict, SW_VERDICT_PAUSE);
		sw_pruner_resumed(p, 1, &t);
	}
	ck_assert_uint_eq(sw_pruner_until(p, &t), 20);
	ck_assert_int_eq(report(p, 1, &t, 19, 0.5).verdict, SW_VERDICT_CONTINUE);
	ck_assert_int_eq(report(p, 1, &t, 20, 0.5).verdict, SW_VERDICT_COMPLETE);
	sw_pruner_destroy(p);
}
END_TEST

START_TEST(promote_with_its_only_rung_at_max_t_never_pauses)
{
	struct sw_pruner *p = make(5, 5, 2);
	struct sw_prune_trial t;

	sw_pruner_enter(p, 1, &t);
	ck_assert_uint_eq(sw_pruner_until(p, &t), 5);
	ck_assert_int_eq(report(p, 1, &t, 4, 0.5).verdict, SW_VERDICT_CONTINUE);
	const struct sw_judgement j = report(p, 1, &t, 5, 0.25);
	ck_assert_int_eq(j.verdict, SW_VERDICT_COMPLETE);
	ck_assert_uint_eq(j.rung, 5);
	ck_assert_double_eq(j.value, 0.25);
	sw_pruner_destroy(p);
}
END_TEST

static const struct {
	uint64_t grace, max_t, rf, want;
	size_t n;
} ladders[] = {{1, 1000, 10, 1000, 4}, {1, 243, 3, 243, 6}, {1, 100, 4, 64, 4}};

START_TEST(promote_ladder_has_its_top_rung)
{
	struct sw_pruner *p = make(ladders[_i].grace, ladders[_i].max_t, ladders[_i].rf);

	ck_assert_uint_eq(sw_pruner_rung_n(p, 0), ladders[_i].n);
	ck_assert_uint_eq(sw_pruner_rung_step(p, 0, ladders[_i].n - 1), ladders[_i].want);
	sw_pruner_destroy(p);
}
END_TEST

static const struct refused refused[] = {
	{CONFIG(0, 9, 3, 1, 3), "/grace_period", "grace_period must be at least 1"},
	{CONFIG(1, 9, 3, 4, 3), "/brackets",
	 "brackets 4 is too many: there are only 3 rungs up to max_t 9"},
};

START_TEST(promote_bad_config_is_refused)
{
	check_refused(&refused[_i]);
}
END_TEST

#ifdef SW_FAULTS
START_TEST(promote_without_memory_changes_nothing)
{
	const struct sw_pruner_config c = CONFIG(1, 27, 3, 2, 0);

	walk_create(&c);
	walk_reports(&c);
}
END_TEST
#endif

SUITE(tcase)
{
	tcase_add_loop_test(tcase, promote_random_history_agrees_with_get_job, 0, 10);
	tcase_add_test(tcase, promote_one_trial_pauses_and_waits);
	tcase_add_test(tcase, promote_of_two_equal_ones_takes_the_earlier);
	tcase_add_test(tcase, promote_last_leg_goes_to_max_t);
	tcase_add_test(tcase, promote_with_its_only_rung_at_max_t_never_pauses);
	tcase_add_rows(tcase, promote_ladder_has_its_top_rung, ladders);
	tcase_add_rows(tcase, promote_bad_config_is_refused, refused);
#ifdef SW_FAULTS
	tcase_add_test(tcase, promote_without_memory_changes_nothing);
#endif
}
