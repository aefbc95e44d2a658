/* tests/spec/test_range.c — other bounds for a parameter of a sweep that goes on. */
#include "base/fault.h"
#include "tests/run.h"
#include "tests/spec/spec_text.h"

static const struct {
	const char *spec;
	const char *param;
	double min, max;
	const char *ptr, *msg; /* NULL: it suits */
} rows[] = {
	{TRAIN "{" REST "}}", "lr", 0.5, 2, NULL, NULL},
	{TRAIN "{" REST "}}", "lr", 0, 0.1, "/parameters/lr/min",
	 "\"lr\" feeds \"lr\", which must be a number, above 0 and at most 1000000"},
	{TRAIN "{" REST "}}", "lr", 0.1, 2e6, "/parameters/lr/max",
	 "\"lr\" feeds \"lr\", which must be a number, above 0 and at most 1000000"},
	{"{" METRIC ",'parameters':{'m':{'min':0.1,'max':0.5}},'trainer':{'dataset':{'name':'d'},"
	 "'model':[{'linear':9}],'momentum':'m'}}",
	 "m", 0, 1, "/parameters/m/max",
	 "\"m\" feeds \"momentum\", which must be a number, at least 0 and below 1"},
	{TRAIN "{" REST "}}", "l1", 2, 2097152, "/parameters/l1/max",
	 "\"l1\" feeds \"linear\", which must be an integer, at least 1 and at most 1000000"},
	/* who drives the trials knows what a number is for */
	{HEAD "}", "x", -1e9, 1e9, NULL, NULL},
};

TEST_ROWS(range_that_the_trainer_cannot_take_is_refused, rows)
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_spec *s = read_spec(rows[_i].spec);
	const int param = sw_spec_param_find(s, rows[_i].param);

	ck_assert_int_ge(param, 0);
	const double was = s->params[param].max;
	const sw_status rc =
		sw_spec_range_check(s, (size_t)param, rows[_i].min, rows[_i].max, &err);
	ck_assert_int_eq(rc, rows[_i].msg == NULL ? SW_OK : SW_INVALID);
	if (rows[_i].msg != NULL) {
		ck_assert_str_eq(err.ptr, rows[_i].ptr);
		ck_assert_str_eq(err.msg, rows[_i].msg);
	}
	ck_assert_double_eq(s->params[param].max, was);
	sw_spec_destroy(s);
}

#ifdef SW_FAULTS
TEST(range_check_without_memory_says_so)
{
	struct sw_spec *s = read_spec(TRAIN "{" REST "}}");
	const size_t lr = (size_t)sw_spec_param_find(s, "lr");
	unsigned failed = 0, fired = 1;

	for (unsigned nth = 1; fired > 0; nth++) {
		struct sw_err err = SW_ERR_INIT;

		sw_fault_arm(SW_FAULT_MALLOC, nth, false);
		const sw_status rc = sw_spec_range_check(s, lr, 0.5, 2, &err);
		fired = sw_fault_fired(SW_FAULT_MALLOC);
		sw_fault_arm(SW_FAULT_MALLOC, 0, false);
		ck_assert_int_eq(rc, fired > 0 ? SW_NOMEM : SW_OK);
		failed += fired > 0;
	}
	ck_assert_uint_ge(failed, 2);
	sw_spec_destroy(s);
}
#endif

RUN_TESTS(NULL, NULL)
