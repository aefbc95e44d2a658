/* tests/store/test_best.c — the best trials of each scope, against the plain computation. */
#include "store/read.h"
#include "tests/run.h"
#include "tests/store/fixture.h"
#include <math.h>

#define TRIALS  60
#define REPORTS 12 /* at most, per attempt */

static struct trial {
	bool counts; /* neither FAILED nor INFEASIBLE */
	int attempts;
	double last;           /* the last value reported, NaN: none */
	unsigned n;            /* steps of the curve; step s is at s - 1 */
	double v[3 * REPORTS]; /* NaN: the step had none */
	double best[2];        /* of the curve at the last report, by minimize and maximize */
	unsigned best_step[2];
} trials[TRIALS + 1];

static uint64_t state = 4711;

static unsigned draw(unsigned n)
{
	state = state * 6364136223846793005U + 1442695040888963407U;
	return (unsigned)((state >> 33) % n);
}

/* The best of the curve as it is now: an attempt that has not reported yet takes nothing away. */
static void note_best(struct trial *t)
{
	for (int maximize = 0; maximize < 2; maximize++) {
		t->best[maximize] = NAN;
		for (unsigned i = 0; i < t->n; i++) {
			const double v = t->v[i], x = t->best[maximize];

			if (isnan(v) || (!isnan(x) && !(maximize ? v > x : v < x)))
				continue;
			t->best[maximize] = v;
			t->best_step[maximize] = i + 1;
		}
	}
}

/* An attempt goes on from any step that the curve has, 0 included: what lies beyond is gone. */
static void put_attempt(struct sw_tx *tx, int64_t t, int attempt, int64_t *ev)
{
	struct trial *trial = &trials[t];
	const unsigned n = draw(REPORTS + 1);
	struct sw_row_attempt row = {.trial = t,
				     .attempt = attempt,
				     .ev = ++*ev,
				     .state = "RUNNING",
				     .resume_step = draw(trial->n + 1)};

	for (row.sweep = 1; row.sweep <= 2; row.sweep++)
		sw_tx_attempt_start(tx, &row);
	trial->n = (unsigned)row.resume_step;
	for (unsigned seq = 1; seq <= n; seq++) {
		/* Few values, so that there are ties. */
		char metrics[32];
		struct sw_row_report r = {.trial = t,
					  .attempt = attempt,
					  .seq = seq,
					  .ev = ++*ev,
					  .step = trial->n + 1,
					  .verdict = "continue",
					  .metrics = metrics,
					  .several = true,
					  .has_value = draw(4) != 0,
					  .value = draw(9) / 8.0};

		(void)snprintf(metrics, sizeof metrics, "{\"step\":%d,\"a\":%d}", (int)r.step,
			       attempt);
		for (r.sweep = 1; r.sweep <= 2; r.sweep++)
			sw_tx_report(tx, &r);
		trial->v[trial->n++] = r.has_value ? r.value : NAN;
		trial->last = r.has_value ? r.value : trial->last;
		note_best(trial);
	}
}

static void fill(void)
{
	static const char *const states[] = {"COMPLETED", "PRUNED",    "RUNNING",   "FAILED",
					     "PAUSED",    "COMPLETED", "CANCELLED", "INFEASIBLE"};
	struct sw_tx *tx = tx_new();
	int64_t ev = 0;

	put_sweep(tx, 1);
	sw_tx_sweep_insert(tx, &(struct sw_row_sweep){.sweep = 2,
						      .name = "s",
						      .spec = "{}",
						      .state = "RUNNING",
						      .metric = "loss",
						      .maximize = true});
	for (int64_t t = 1; t <= TRIALS; t++) {
		const unsigned s = draw(8);
		struct sw_row_trial row = {.trial = t, .state = states[s], .params = "{}"};

		trials[t].counts = s != 3 && s != 7;
		trials[t].attempts = 1 + (int)draw(3);
		trials[t].last = trials[t].best[0] = trials[t].best[1] = NAN;
		row.attempt = trials[t].attempts;
		for (row.sweep = 1; row.sweep <= 2; row.sweep++)
			sw_tx_trial_insert(tx, &row);
		for (int a = 1; a <= trials[t].attempts; a++)
			put_attempt(tx, t, a, &ev);
	}
	commit_now(tx);
}

static const struct {
	const char *scope;
	int last; /* mean of the last so many; 0: all of them; -1: last value; -2: the best */
} scopes[] = {
	{"last", -1},      {"all", -2},       {"avg", 0},
	{"last-1-avg", 1}, {"last-3-avg", 3}, {"last-1000-avg", 1000},
};

/* NaN: no value. */
static double naive(const struct trial *t, int last, bool maximize)
{
	double v[3 * REPORTS], x = NAN;
	int n = 0;

	for (unsigned i = 0; i < t->n; i++)
		if (!isnan(t->v[i]))
			v[n++] = t->v[i];
	if (last == -1)
		return t->last;
	if (last == -2)
		return t->best[maximize];
	const int from = last > 0 && n > last ? n - last : 0;
	for (int i = from; i < n; i++)
		x = (i == from ? 0 : x) + v[i];
	return x / (n - from);
}

struct ask {
	const char *scope;
	bool maximize;
	int64_t n;
	int64_t trial[TRIALS + 1];
	double value[TRIALS + 1];
	int64_t step[TRIALS + 1];
	char metrics[TRIALS + 1][32];
	size_t got;
	sw_status rc;
	struct sw_err err;
};

static bool on_trial(const struct sw_row_trial *r, void *arg)
{
	struct ask *a = arg;

	ck_assert(r->has_value);
	ck_assert_uint_lt(a->got, TRIALS);
	a->trial[a->got] = r->trial;
	a->step[a->got] = r->step;
	(void)snprintf(a->metrics[a->got], sizeof a->metrics[0], "%s",
		       r->metrics != NULL ? r->metrics : "-");
	a->value[a->got++] = r->value;
	return true;
}

static void ask_work(struct sw_db *db, void *arg)
{
	struct ask *a = arg;

	a->rc = sw_read_best(db, 1 + a->maximize, a->maximize, a->scope, a->n, on_trial, a,
			     &a->err);
}

/* Step, value and metrics of a row are of one report; those of a mean of none. */
static void check_row(const struct ask *a, size_t i, int last)
{
	const struct trial *t = &trials[a->trial[i]];
	char start[32];

	if (last >= 0) {
		ck_assert_str_eq(a->metrics[i], "{}");
		return;
	}
	(void)snprintf(start, sizeof start, "{\"step\":%d,", (int)a->step[i]);
	ck_assert_msg(strncmp(a->metrics[i], start, strlen(start)) == 0, "step %d of %s",
		      (int)a->step[i], a->metrics[i]);
	if (last == -2)
		ck_assert_uint_eq((unsigned)a->step[i], t->best_step[a->maximize]);
}

TEST_ROWS(best_agrees_with_the_plain_computation, scopes)
{
	fixture_open();
	fill();
	for (int k = 0; k < 4; k++) {
		struct ask a = {
			.scope = scopes[_i].scope, .maximize = k & 1, .n = k & 2 ? 5 : TRIALS};
		bool taken[TRIALS + 1] = {false};
		size_t want = 0;

		sw_store_read_now(f.store, ask_work, &a);
		ck_assert_msg(a.rc == SW_OK, "%s", a.err.msg);
		for (; want < (size_t)a.n; want++) {
			int64_t best = 0;
			double v = 0;

			for (int64_t t = 1; t <= TRIALS; t++) {
				const double x = naive(&trials[t], scopes[_i].last, a.maximize);
				if (!trials[t].counts || taken[t] || isnan(x))
					continue;
				if (best == 0 || (a.maximize ? x > v : x < v)) {
					best = t;
					v = x;
				}
			}
			if (best == 0)
				break;
			taken[best] = true;
			ck_assert_msg(want < a.got && a.trial[want] == best &&
					      fabs(a.value[want] - v) < 1e-12,
				      "%s %d: place %zu is %lld (%g), not %lld (%g)", a.scope, k,
				      want, (long long)best, v, (long long)a.trial[want],
				      a.value[want]);
			check_row(&a, want, scopes[_i].last);
		}
		ck_assert_uint_eq(a.got, want);
		ck_assert_uint_gt(want, 4);
	}
}

static const char *const bad_scopes[] = {"",
					 "LAST",
					 "last-",
					 "last-0-avg",
					 "last-01-avg",
					 "last-1001-avg",
					 "last--1-avg",
					 "last-5-av",
					 "last-5-avgs",
					 "last-5",
					 "last-+5-avg",
					 "last-99999999999999999999-avg",
					 "last-avg",
					 "last-5-avg; --"};

TEST_ROWS(best_of_an_unknown_scope_is_refused, bad_scopes)
{
	struct ask a = {.scope = bad_scopes[_i], .n = 1};

	fixture_begin();
	sw_store_read_now(f.store, ask_work, &a);
	ck_assert_int_eq(a.rc, SW_INVALID);
	ck_assert_str_eq(a.err.ptr, "/scope");
}

TEST(best_of_means_that_overflow_leaves_them_out)
{
	struct ask a = {.scope = "avg", .n = 5};
	struct sw_tx *tx = tx_new();

	fixture_begin();
	put_trial(tx, 1, 2);
	put_report(tx, 1, 1, 1.7e308);
	put_report(tx, 1, 2, 1.7e308);
	put_report(tx, 2, 3, 1);
	commit_now(tx);
	sw_store_read_now(f.store, ask_work, &a);
	ck_assert_msg(a.rc == SW_OK, "%s", a.err.msg);
	ck_assert_uint_eq(a.got, 1);
	ck_assert_int_eq(a.trial[0], 2);
}

/* --- where trials stand --- */

struct stand {
	int64_t trial;
	double value;              /* NaN: it has none */
	char metrics[32];          /* of that report; "": none */
	char kept[TRIALS + 1][32]; /* as the trials' rows have them */
};

static bool on_standing(const struct sw_row_report *r, void *arg)
{
	struct stand *s = arg;

	s->value = r->value;
	(void)snprintf(s->metrics, sizeof s->metrics, "%s", r->metrics);
	return true;
}

static bool on_kept(const struct sw_row_point *r, void *arg)
{
	struct stand *s = arg;

	(void)snprintf(s->kept[r->trial], sizeof s->kept[0], "%s", r->json != NULL ? r->json : "");
	return true;
}

/* The last value of the curve, of which the steps beyond that where an attempt went on are gone.
 * One that FAILED or is INFEASIBLE stands nowhere. */
static void standing_work(struct sw_db *db, void *arg)
{
	struct stand *s = arg;
	struct sw_err err = SW_ERR_INIT;

	ck_assert_int_eq(sw_read_points(db, 1, SW_POINTS_METRICS, on_kept, s, &err), SW_OK);
	for (s->trial = 1; s->trial <= TRIALS; s->trial++) {
		const struct trial *t = &trials[s->trial];
		unsigned n = t->counts ? t->n : 0;

		s->value = NAN;
		s->metrics[0] = '\0';
		ck_assert_int_eq(sw_read_standing(db, 1, s->trial, on_standing, s, &err), SW_OK);
		while (n > 0 && isnan(t->v[n - 1]))
			n--;
		ck_assert_msg(n == 0 ? isnan(s->value) : s->value == t->v[n - 1],
			      "trial %d: %g after %u steps", (int)s->trial, s->value, n);
		ck_assert_str_eq(s->kept[s->trial], s->metrics);
	}
}

TEST(trials_stand_at_the_last_value_of_their_curves)
{
	static struct stand s;

	fixture_open();
	fill();
	sw_store_read_now(f.store, standing_work, &s);
}

RUN_TESTS(fixture_init, fixture_fini)
