/* tests/daemon/plan/test_plan.c — from a spec to the scheduler, and a trial's values back to
 * JSON. */
#include "daemon/plan/plan.h"
#include "tests/spec/spec_text.h"

#define LOSS "{\"metric\":{\"name\":\"loss\"},\"seed\":1,"

static const struct {
	const char *spec;
	const char *ptr;
	const char *says;
} refused[] = {
	{LOSS "\"method\":\"random\",\"parameters\":{\"a\":{\"value\":1},\"lr\":{\"min\":5.0,"
	      "\"max\":3.0}}}",
	 "/parameters/lr/min", "above max"},
	{LOSS
	 "\"method\":\"random\",\"parameters\":{\"lr\":{\"distribution\":\"log_uniform_values\","
	 "\"min\":0,\"max\":1}}}",
	 "/parameters/lr/min", "log"},
	{LOSS "\"method\":\"grid\",\"parameters\":{\"a\":{\"values\":[1]},\"x/"
	      "y\":{\"min\":0.0,\"max\":1}}}",
	 "/parameters/x~1y/q", "grid"},
	{LOSS
	 "\"method\":\"random\",\"parameters\":{\"x\":{\"min\":0.0,\"max\":1}},\"early_terminate\":"
	 "{\"type\":\"asha\",\"max_t\":3,\"brackets\":9}}",
	 "/early_terminate/brackets", ""},
};

TEST_ROWS(plan_of_a_bad_spec_names_the_field, refused)
{
	struct sw_spec *spec = read_spec(refused[_i].spec);
	struct sw_err err = SW_ERR_INIT;
	struct sw_sweep *sweep = NULL;

	ck_assert_int_eq(sw_plan_build(&sweep, spec, 1, NULL, &err), SW_INVALID);
	ck_assert_ptr_null(sweep);
	ck_assert_str_eq(err.ptr, refused[_i].ptr);
	ck_assert_msg(strstr(err.msg, refused[_i].says) != NULL, "%s", err.msg);
}

TEST(plan_values_come_back_as_the_spec_wrote_them)
{
	struct sw_spec *spec =
		read_spec(LOSS "\"method\":\"grid\",\"parameters\":{\"opt\":{\"values\":[\"sgd\","
			       "\"a\\\"b\",null,true]},"
			       "\"fix\":{\"value\":{\"deep\":[1,2]}},\"k\":{\"min\":1,\"max\":2},"
			       "\"q\":{\"min\":0.0,\"max\":0.3,\"q\":0.1}}}");
	static const char *const want[] = {
		"{\"opt\":\"sgd\",\"fix\":{\"deep\":[1,2]},\"k\":1,\"q\":0.0}",
		"{\"opt\":\"sgd\",\"fix\":{\"deep\":[1,2]},\"k\":1,\"q\":0.1}",
		"{\"opt\":\"sgd\",\"fix\":{\"deep\":[1,2]},\"k\":1,\"q\":0.2}",
		"{\"opt\":\"sgd\",\"fix\":{\"deep\":[1,2]},\"k\":1,\"q\":0.3}",
		"{\"opt\":\"sgd\",\"fix\":{\"deep\":[1,2]},\"k\":2,\"q\":0.0}",
	};
	struct sw_err err = SW_ERR_INIT;
	struct sw_sweep *sweep = NULL;
	struct sw_actions actions = {NULL, 0, 0};
	const struct sw_event ask = {.kind = SW_EVENT_ASK};

	ck_assert_msg(sw_plan_build(&sweep, spec, 1, NULL, &err) == SW_OK, "%s", err.msg);
	ck_assert_uint_eq(sw_sweep_run_cap(sweep), 32);
	for (size_t i = 0; i < ROWS(want); i++) {
		struct sw_buf text;

		ck_assert_int_eq(sw_sweep_step(sweep, &ask, &actions, &err), SW_OK);
		sw_buf_init(&text, 4096);
		sw_plan_params(spec, sw_sweep_space(sweep), actions.v[0].values, &text);
		ck_assert_str_eq(text.data, want[i]);
		sw_buf_fini(&text);
	}
	sw_actions_fini(&actions);
	sw_sweep_destroy(sweep);
}

RUN_TESTS(NULL, NULL)
