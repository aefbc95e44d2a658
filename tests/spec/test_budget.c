/* tests/spec/test_budget.c — when a sweep ends: budgets, target, plateau; and its weight. */
#include "tests/spec/spec_text.h"

#define SEVERAL                                                                                    \
	"{'method':'random','metrics':[{'name':'a'},{'name':'b'}],'parameters':{'x':{'min':0.0,"   \
	"'max':1.0}}"

TEST(budgets_left_out_are_none)
{
	struct sw_spec *s = read_spec(HEAD "}");

	ck_assert_double_eq(s->time_budget_s, 0);
	ck_assert_double_eq(s->gpu_hours, 0);
	ck_assert_double_eq(s->weight, 1);
	ck_assert(!s->has_target);
	ck_assert_uint_eq(s->plateau.top, 0);
}

TEST(budgets_given_reach_the_struct)
{
	struct sw_spec *s = read_spec(
		"{'method':'random','metric':{'name':'a','goal':'maximize','target':-0.5},"
		"'parameters':{'x':{'min':0.0,'max':1.0}},'time_budget_s':0.5,'gpu_hours':2.25,"
		"'weight':3.5,'plateau':{'top':4,'std':0,'patience':2}}");
	struct sw_spec *least = read_spec(HEAD ",'plateau':{}}");

	ck_assert_double_eq(s->time_budget_s, 0.5);
	ck_assert_double_eq(s->gpu_hours, 2.25);
	ck_assert_double_eq(s->weight, 3.5);
	ck_assert(s->has_target);
	ck_assert_double_eq(s->target, -0.5);
	ck_assert_uint_eq(s->plateau.top, 4);
	ck_assert_double_eq(s->plateau.std, 0);
	ck_assert_uint_eq(s->plateau.patience, 2);
	ck_assert_uint_eq(least->plateau.top, 10);
	ck_assert_double_eq(least->plateau.std, 0.001);
	ck_assert_uint_eq(least->plateau.patience, 0);
}

TEST(plateau_of_several_metrics_is_refused)
{
	check_refused(SEVERAL ",'plateau':{}}", "/plateau",
		      "\"plateau\" looks at one metric, and the sweep has 2: leave it out, or give "
		      "one \"metric\"");
}

static const struct {
	const char *text, *want[2];
} warned[] = {
	{HEAD ",'gpu_hours':1}",
	 {"/gpu_hours", "\"gpu_hours\" has no effect: trials that you drive hold no slot"}},
	{HEAD ",'time_budget_s':1,'weight':2}", {NULL}},
	{HEAD ",'run_cap':9,'plateau':{}}",
	 {"/plateau/top",
	  "\"plateau\" has no effect: it looks at the best 10 completed trials, and run_cap is 9"}},
	{HEAD ",'run_cap':10,'plateau':{}}", {NULL}},
	{HEAD
	 ",'run_cap':4,'plateau':{},'early_terminate':{'type':'pbt','perturbation_interval':2}}",
	 {NULL}},
	{"{'method':'random','metric':{'name':'val_loss'},'parameters':{'lr':{'min':0.1,'max':1.0}}"
	 ","
	 "'gpu_hours':1,'trainer':{'dataset':{'name':'d'},'model':[{'linear':9}]}}",
	 {NULL}},
};

TEST_ROWS(budget_without_effect_is_warned_of, warned)
{
	check_warned(warned[_i].text, warned[_i].want, ROWS(warned[_i].want));
}

RUN_TESTS(NULL, NULL)
