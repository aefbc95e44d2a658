/* tests/spec/test_refused.c — sweep specs that are refused: where, and in which words. */
#include "tests/spec/spec_text.h"

#define METHODS "\"random\", \"grid\", \"sobol\", \"tpe\", \"bohb\" or \"bayes\""

static const struct {
	const char *text, *ptr, *msg;
} bad[] = {
	/* the top */
	{"[]", "", "a sweep spec must be an object, not an array"},
	{"{}", "/metric",
	 "\"metric\" is missing: {\"name\": ..., \"goal\": \"minimize\"} (only random, grid and "
	 "sobol "
	 "go without, where no \"trainer\", \"early_terminate\" or \"plateau\" is)"},
	{"{" METRIC "}", "/parameters", "\"parameters\" is missing: what to search over"},
	{"{" METRIC ",'parametres':{}}", "/parametres",
	 "unknown key \"parametres\"; did you mean \"parameters\"?"},
	{"{'scheduler':{}}", "/scheduler",
	 "\"scheduler\" is not supported by this version: it is W&B Launch's; give \"program\" or "
	 "\"command\"; a pruner is \"early_terminate\""},
	{HEAD ",'scheduler':{'engine':'optuna'}}", "/scheduler",
	 "\"scheduler\" is not supported by this version, but for {\"engine\": \"wandb\"}: "
	 "\"method\" says how to search"},
	{HEAD ",'scheduler':{'engine':'wandb','source':'s.py'}}", "/scheduler",
	 "\"scheduler\" is not supported by this version, but for {\"engine\": \"wandb\"}: "
	 "\"method\" says how to search"},
	{HEAD ",'scheduler':['engine']}", "/scheduler",
	 "\"scheduler\" is not supported by this version: it is W&B Launch's; give \"program\" or "
	 "\"command\"; a pruner is \"early_terminate\""},
	{"{'q~/':3}", "/q~0~1",
	 "unknown key \"q~/\"; known here: name, description, method, seed, metric, metrics, "
	 "parameters, constraints, init, warm_start, refine, shuffle, suggest_wait_ms, run_cap, "
	 "max_concurrent, time_budget_s, gpu_hours, plateau, weight, retries, lease_s, resources, "
	 "..."},
	{"{'method':'pbt'}", "/method",
	 "unknown method \"pbt\": it is a type of \"early_terminate\", beside a method"},
	{HEAD ",'image_uri':'a'}", "/image_uri",
	 "\"image_uri\" is not supported by this version: it is W&B Launch's; give \"program\" "
	 "or \"command\""},
	{HEAD ",'warm_start':3}", "/warm_start",
	 "\"warm_start\" must be an array of sweeps' numbers like [12, 14], not a number"},
	{HEAD ",'warm_start':[3]}", "/warm_start",
	 "method \"random\" does not learn from trials of earlier sweeps: use \"bayes\" or "
	 "\"tpe\""},
	{"{'method':'tpe','metric':{'name':'l'},'parameters':{'a':{'value':1}},'warm_start':[3,3]}",
	 "/warm_start/1", "sweep 3 is named twice"},
	{HEAD ",'init':[{},3]}", "/init/1",
	 "each of \"init\" must be an object like {\"lr\": 0.1}, not a number"},
	{HEAD ",'refine':{}}", "/refine/of", "\"of\" is missing: the sweep to refine"},
	{HEAD ",'shuffle':true}", "/shuffle", "only method \"grid\" has an order to shuffle"},
	{HEAD ",'name':'a\\u202eb'}", "/name",
	 "\"name\" has a control or text-direction character in it"},
	{"{'method':'cmaes'}", "/method",
	 "unknown method \"cmaes\": it must be \"random\", \"grid\", \"sobol\", \"tpe\", \"bohb\" "
	 "or \"bayes\""},
	{"{'method':null}", "/method", "\"method\" must be " METHODS ", not null"},
	{HEAD ",'time_budget_s':0}", "/time_budget_s",
	 "\"time_budget_s\" must be a number, above 0 and at most 1000000000"},
	{HEAD ",'resources':{'gpu':2}}", "/resources/gpu",
	 "several GPUs need \"command\" or \"program\", or, with a trainer, \"parallel\""},
	{HEAD ",'resources':{'gpu':1.5}}", "/resources/gpu",
	 "\"gpu\" must be a part of a GPU, 0 to 1, or a whole number of GPUs, at most 64"},
	{HEAD ",'resources':{'gpu':65}}", "/resources/gpu",
	 "\"gpu\" must be a part of a GPU, 0 to 1, or a whole number of GPUs, at most 64"},
	/* parameters */
	{"{" METRIC ",'parameters':{}}", "/parameters",
	 "\"parameters\" is empty: a sweep needs at least one"},
	{"{" METRIC ",'parameters':{'a b':{'value':1}}}", "/parameters/a b",
	 "a parameter's name is 1 to 128 of the characters a-z A-Z 0-9 _ - . / and starts with a "
	 "letter, a digit or _, or with + or ++ before it"},
	{"{" METRIC ",'parameters':{'+++x':{'value':1}}}", "/parameters/+++x",
	 "a parameter's name is 1 to 128 of the characters a-z A-Z 0-9 _ - . / and starts with a "
	 "letter, a digit or _, or with + or ++ before it"},
	{"{" METRIC ",'parameters':{'../x':{'value':1}}}", "/parameters/..~1x",
	 "a parameter's name is 1 to 128 of the characters a-z A-Z 0-9 _ - . / and starts with a "
	 "letter, a digit or _, or with + or ++ before it"},
	{PARAM "0.1}}", "/parameters/x",
	 "a parameter must be an object; for a constant write {\"value\": ...}"},
	{PARAM "[1,2]}}", "/parameters/x",
	 "a parameter must be an object; for a choice write {\"values\": [...]}"},
	{PARAM "{}}}", "/parameters/x",
	 "a parameter needs \"value\", \"values\", \"min\" and \"max\", or a \"distribution\""},
	{PARAM "{'min':1}}}", "/parameters/x/max", "\"max\" is missing (\"min\" needs it)"},
	{PARAM "{'distribution':'uniform','max':1}}}", "/parameters/x/min",
	 "\"min\" is missing (distribution \"uniform\" needs it)"},
	{PARAM "{'values':[]}}}", "/parameters/x/values",
	 "\"values\" must be an array, not an empty one"},
	{PARAM "{'values':[1,2],'probabilities':[1]}}}", "/parameters/x/probabilities",
	 "\"probabilities\" must be an array of 2 numbers, one for each of the values"},
	{PARAM "{'values':[1,2],'probabilities':[0,0]}}}", "/parameters/x/probabilities",
	 "the probabilities must have a sum above 0"},
	{PARAM "{'value':1,'values':[1]}}}", "/parameters/x/values",
	 "\"values\" does not go with \"value\""},
	{PARAM "{'min':0,'max':1,'mu':1}}}", "/parameters/x/mu", "\"mu\" does not go with \"min\""},
	{PARAM "{'distribution':'uniform','min':0,'max':1,'q':1}}}", "/parameters/x/q",
	 "\"q\" does not go with distribution \"uniform\""},
	{PARAM "{'distribution':'unifrom','min':0,'max':1}}}", "/parameters/x/distribution",
	 "unknown distribution \"unifrom\"; did you mean \"uniform\"?"},
	{PARAM "{'distribution':'int_uniform','min':0,'max':1.5}}}", "/parameters/x/max",
	 "\"max\" of int_uniform must be an integer below 2^53"},
	{PARAM "{'min':-1152921504606846976,'max':1152921504606846976}}}", "/parameters/x/min",
	 "\"min\" of int_uniform must be an integer below 2^53; for reals write it with a point or "
	 "an exponent"},
	{PARAM "{'distribution':'log_uniform','min':0,'max':1000}}}", "/parameters/x/max",
	 "min and max of log_uniform are exponents of e, and e^1000 is not finite; "
	 "log_uniform_values takes the values themselves"},
	{PARAM "{'distribution':'log_uniform','min':-1e4,'max':1}}}", "/parameters/x/min",
	 "min and max of log_uniform are exponents of e, and e^-10000 is 0; log_uniform_values "
	 "takes the values themselves"},
	{PARAM "{'values':[1],'log':true}}}", "/parameters/x/log",
	 "\"log\" does not go with \"values\""},
	{PARAM "{'distribution':'uniform','min':1.0,'max':8,'log':true}}}", "/parameters/x/log",
	 "\"log\" does not go with \"distribution\""},
};

TEST_ROWS(spec_bad_one_is_refused_at_its_place, bad)
{
	check_refused(bad[_i].text, bad[_i].ptr, bad[_i].msg);
}

RUN_TESTS(NULL, NULL)
