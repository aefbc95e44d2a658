/* tests/spec/test_metric.c — "metric", and "metrics" in its place. */
#include "tests/spec/spec_text.h"
#include <stdbool.h>

#define REST_OF     ",'parameters':{'x':{'min':0.0,'max':1.0}}}"
#define LIST(items) "{'method':'random','metrics':[" items "]" REST_OF
#define A           "{'name':'a'}"
#define B           "{'name':'b','goal':'maximize'}"

TEST(metric_alone_is_the_only_one)
{
	struct sw_spec *s = read_spec("{'method':'random','metric':" B REST_OF);

	ck_assert_uint_eq(s->n_metrics, 1);
	ck_assert_str_eq(s->metrics[0].name, "b");
	ck_assert_str_eq(s->metric, "b");
	ck_assert(s->maximize && s->metrics[0].maximize);
}

TEST(metrics_reach_the_struct_in_their_order)
{
	struct sw_spec *s = read_spec(
		LIST("{'name':'ms','reference':1.5}," B ",{'name':'c','goal':'minimize'}"));

	ck_assert_uint_eq(s->n_metrics, 3);
	ck_assert_str_eq(s->metric, "ms");
	ck_assert(!s->maximize);
	ck_assert_str_eq(s->metrics[0].name, "ms");
	ck_assert_str_eq(s->metrics[1].name, "b");
	ck_assert_str_eq(s->metrics[2].name, "c");
	ck_assert(!s->metrics[0].maximize && s->metrics[1].maximize && !s->metrics[2].maximize);
	ck_assert(s->metrics[0].has_reference && !s->metrics[1].has_reference);
	ck_assert_double_eq(s->metrics[0].reference, 1.5);
}

TEST(metric_may_be_missing_where_trials_are_not_compared)
{
	struct sw_spec *s = read_spec("{'method':'random'" REST_OF);

	ck_assert_uint_eq(s->n_metrics, 0);
	ck_assert_ptr_null(s->metric);
}

#define MISSING                                                                                    \
	"\"metric\" is missing: {\"name\": ..., \"goal\": \"minimize\"} (only random, grid and "   \
	"sobol go without, where no \"trainer\", \"early_terminate\" or \"plateau\" is)"

static const struct {
	const char *text, *ptr, *msg;
} bad[] = {
	{"{'method':'random','metric':" A ",'metrics':[" A "," B "]" REST_OF, "/metrics",
	 "give \"metric\" or \"metrics\", not both"},
	{LIST(A), "/metrics", "\"metrics\" has 1 of them: it takes 2 to 8"},
	{LIST(A "," B "," A), "/metrics/2/name", "metric \"a\" is there twice"},
	{"{'method':'random','metrics':[" A "," B "],'early_terminate':{'type':'asha'}" REST_OF,
	 "/early_terminate",
	 "\"early_terminate\" compares trials by one metric, and the sweep has 2: leave it out, or "
	 "give one \"metric\""},
	{"{'method':'tpe','metrics':[" A "," B "]" REST_OF, "/method",
	 "method \"tpe\" learns from one metric, and the sweep has 2: use \"bayes\", or give one "
	 "\"metric\""},
	{"{'method':'bohb','metrics':[" A "," B ","
	 "{'name':'c'}]" REST_OF,
	 "/method",
	 "method \"bohb\" learns from one metric, and the sweep has 3: use \"bayes\", or give one "
	 "\"metric\""},
	{"{'method':'bayes'" REST_OF, "/metric", MISSING},
	{"{'name':'a'" REST_OF, "/metric", MISSING},
	{"{'method':'random','early_terminate':{'type':'asha'}" REST_OF, "/metric", MISSING},
	{"{'method':'sobol','plateau':{}" REST_OF, "/metric", MISSING},
};

TEST_ROWS(metrics_that_are_wrong_are_refused_at_their_place, bad)
{
	check_refused(bad[_i].text, bad[_i].ptr, bad[_i].msg);
}

static const struct {
	const char *metric;
	bool warned;
} goals[] = {
	{"'name':'val_accuracy'", true},
	{"'name':'AUC'", true},
	{"'name':'val/f1'", true},
	{"'name':'valAccuracy'", true},
	{"'name':'mAP'", true},
	{"'name':'mAP50-95'", true},
	{"'name':'val_top5'", true},
	{"'name':'acc@1'", true},
	{"'name':'R2'", true},
	{"'name':'episode reward'", true},
	{"'name':'val_accuracy','goal':'maximize'", false},
	{"'name':'val_accuracy','goal':'minimize'", false},
	{"'name':'loss'", false},
	{"'name':'f1_loss'", false},
	{"'name':'brierScore'", false},
	{"'name':'accumulated'", false},
	{"'name':'mapping_ms'", false},
	{"'name':'12'", false},
	{"'name':'\xc3\xa9'", false},
};

TEST_ROWS(metric_that_should_rise_is_warned_of_without_a_goal, goals)
{
	char text[400], line[160] = "";
	const char *want[2] = {"/metric", line};
	const char *name = goals[_i].metric + strlen("'name':'");

	(void)snprintf(text, sizeof text, "{'method':'random','metric':{%s}" REST_OF,
		       goals[_i].metric);
	(void)snprintf(line, sizeof line,
		       "\"%.*s\" is minimized, because it has no \"goal\"; did you mean "
		       "\"goal\": \"maximize\"?",
		       (int)strcspn(name, "'"), name);
	check_warned(text, want, goals[_i].warned ? 2 : 0);
}

TEST(metrics_that_should_rise_are_warned_of_each_at_its_place)
{
	static const char *const want[] = {
		"/metrics/1",
		"\"recall\" is minimized, because it has no \"goal\"; did you mean \"goal\": "
		"\"maximize\"?"};

	check_warned(LIST(B ",{'name':'recall'},{'name':'ms'}"), want, 2);
}

RUN_TESTS(NULL, NULL)
