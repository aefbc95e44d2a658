/* tests/daemon/verify/test_verify.c — a sweep that was told replays as it is stored; every want of
 * memory on the way, here and in the reading of its curves, is a clean error. Each story ends with
 * the same replay (tests/daemon/fixture.c). */
#include "daemon/verify/curves.h"
#include "daemon/verify/verify.h"
#include "store/peek.h"
#include "tests/daemon/fixture.h"
#include "tests/walk.h"

#define TRIALS 4
/* A second for each step; value v at step s. */
#define AFTER(s, step, v) "time " #s, "", "a report " step " " #v

/* Trial 2 was suggested without the result of the first. */
/* clang-format off */
static const struct story recorded = {
	"a sweep that is recorded", NULL, "'method':'bayes','suggest_wait_ms':0,'run_cap':4,"
	"'early_terminate':{'type':'asha','max_t':4,'grace_period':1,'reduction_factor':2}",
	{"a ask", "1.1",
	 "pool holds", "",
	 AFTER(1, "1 1 1 1", 3), "continue",
	 AFTER(1, "1 1 2 2", 2.5), "continue",
	 AFTER(2, "1 1 3 4", 2), "stop",
	 "a ask", "2.1",
	 "pool works", "",
	 AFTER(1, "2 1 1 1", 5), "stop",
	 "a ask", "3.1",
	 AFTER(1, "3 1 1 1", 2), "continue",
	 AFTER(1, "3 1 2 2", 4), "stop",
	 "a ask", "4.1",
	 AFTER(1, "4 1 1 1", 9), "stop"}};
/* clang-format on */
static const struct {
	size_t n;
	double value[3];
} curves[TRIALS] = {{3, {3, 2.5, 2}}, {1, {5}}, {2, {2, 4}}, {1, {9}}};

static struct sw_db *db;

static void set_up(void)
{
	struct sw_err err = SW_ERR_INIT;

	ck_assert_msg(sw_peek_open(&db, fixture_tell(&recorded), &err) == SW_OK, "%s", err.msg);
	ck_assert_int_eq(sw_peek_begin(db, &err), SW_OK);
}

static void tear_down(void)
{
	sw_peek_close(db);
	fixture_forget();
}

TEST(verify_counts_what_it_has_compared)
{
	struct sw_verify v;
	struct sw_err err = SW_ERR_INIT;

	sw_verify_init(&v, 1);
	ck_assert_msg(sw_verify_run(&v, db, &err) == SW_OK, "%s", err.msg);
	ck_assert_msg(!v.differs, "%s", v.line.data);
	ck_assert_uint_eq(v.trials, TRIALS);
	ck_assert_uint_eq(v.suggestions, TRIALS);
	ck_assert_uint_eq(v.events, v.events_n);
	ck_assert_uint_ge(v.decisions, TRIALS);
	ck_assert_str_eq(v.state, "COMPLETED");
	sw_verify_fini(&v);
}

TEST(sweep_that_is_not_there_is_no_difference)
{
	struct sw_verify v;
	struct sw_err err = SW_ERR_INIT;

	sw_verify_init(&v, 2);
	ck_assert_int_eq(sw_verify_run(&v, db, &err), SW_NOT_FOUND);
	ck_assert(!v.differs);
	sw_verify_fini(&v);
}

static sw_status read_curves(struct sw_curves *c, int64_t sweep, struct sw_err *err)
{
	bool more = true;
	sw_status rc = SW_OK;

	*c = (struct sw_curves){.n = 0};
	while (rc == SW_OK && more)
		rc = sw_curves_part(c, db, sweep, &more, err);
	return rc;
}

TEST(curves_are_those_that_were_reported)
{
	struct sw_curves c;
	struct sw_err err = SW_ERR_INIT;
	size_t n = 0;

	ck_assert_msg(read_curves(&c, 1, &err) == SW_OK, "%s", err.msg);
	ck_assert_uint_eq(c.n, TRIALS);
	ck_assert_uint_eq(c.lanes, 1);
	for (size_t t = 0; t < c.n; n += c.curve[t++].n) {
		const struct sw_simulate_curve *curve = &c.curve[t];

		ck_assert_uint_eq(curve->first, n);
		ck_assert_uint_eq(curve->n, curves[t].n);
		for (size_t i = 0; i < curve->n; i++) {
			ck_assert_uint_eq(c.point[n + i].step, (size_t)1 << i);
			ck_assert_double_eq(c.point[n + i].value, curves[t].value[i]);
		}
		ck_assert_double_eq_tol(curve->step_s, 1.0, 1e-9);
		ck_assert_int_eq(curve->end, SW_SIMULATE_CUT); /* by its pruner */
	}
	ck_assert_uint_eq(n, c.point_n);
	sw_curves_fini(&c);
	ck_assert_int_eq(read_curves(&c, 2, &err), SW_NOT_FOUND);
	sw_curves_fini(&c);
}

static sw_status verify_once(struct sw_err *err)
{
	struct sw_verify v;

	sw_verify_init(&v, 1);
	const sw_status rc = sw_verify_run(&v, db, err);
	ck_assert_msg(!v.differs, "%s", v.line.data);
	sw_verify_fini(&v);
	return rc;
}

static sw_status curves_once(struct sw_err *err)
{
	struct sw_curves c;
	const sw_status rc = read_curves(&c, 1, err);

	sw_curves_fini(&c);
	return rc;
}

TEST_LOOP(want_of_memory_is_a_clean_error_and_no_difference, 0, 2)
{
	sw_status (*const work[])(struct sw_err * err) = {verify_once, curves_once};

	WALK (SW_FAULT_MALLOC, 5) {
		struct sw_err err = SW_ERR_INIT;

		walk_arm();
		const sw_status rc = work[_i](&err);
		const unsigned fired = walk_disarm();
		ck_assert_msg(rc == (fired > 0 ? SW_NOMEM : SW_OK), "call %u: %s", walk.nth,
			      err.msg);
		ck_assert_int_eq(err.code, rc);
	}
}

RUN_TESTS(set_up, tear_down)
