/* tests/proto/test_spec.c — sweep specs: what is refused, where and in which words; what the good
 * ones become. */
#include "base/fault.h"
#include "proto/json.h"
#include "proto/spec.h"
#include "proto/trainer_options.h"
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N(array) (sizeof(array) / sizeof(array)[0])

/* Rows write ' for ". */
static cJSON *parse(const char *text)
{
	struct sw_err err = SW_ERR_INIT;
	char *json = strdup(text);
	cJSON *tree = NULL;

	for (char *p = json; *p != '\0'; p++)
		if (*p == '\'')
			*p = '"';
	ck_assert_msg(sw_json_parse(&tree, json, strlen(json), &err) == SW_OK, "%s in %s", err.msg,
		      json);
	free(json);
	return tree;
}

#define METRIC "'method':'random','metric':{'name':'loss'}"
#define HEAD   "{" METRIC ",'parameters':{'x':{'min':0.0,'max':1.0}}"
#define PARAM  "{" METRIC ",'parameters':{'x':"
#define TRAIN                                                                                      \
	"{" METRIC ",'parameters':{'l1':{'distribution':'pow2','min':4,'max':64},"                 \
	"'lr':{'min':0.01,'max':0.1},'opt':{'values':['sgd','adamw']}},'trainer':"
#define MODEL "'model':[{'linear':'l1'},'relu',{'linear':10}]"
#define REST  "'dataset':{'name':'digits'}," MODEL ",'optimizer':'opt'"

static const struct {
	const char *text, *ptr, *msg;
} bad[] = {
	/* the top */
	{"[]", "", "a sweep spec must be an object, not an array"},
	{"{}", "/method", "\"method\" is missing: \"random\" or \"grid\""},
	{"{'method':'random'}", "/metric",
	 "\"metric\" is missing: {\"name\": ..., \"goal\": \"minimize\"}"},
	{"{" METRIC "}", "/parameters", "\"parameters\" is missing: what to search over"},
	{"{" METRIC ",'parametres':{}}", "/parametres",
	 "unknown key \"parametres\"; did you mean \"parameters\"?"},
	{"{'Method':'random'}", "/Method", "unknown key \"Method\"; did you mean \"method\"?"},
	{"{'num_samples':3}", "/num_samples",
	 "unknown key \"num_samples\"; did you mean \"run_cap\"?"},
	{"{'scheduler':{}}", "/scheduler",
	 "unknown key \"scheduler\"; did you mean \"early_terminate\"?"},
	{"{'q~/':3}", "/q~0~1",
	 "unknown key \"q~/\"; known here: name, description, method, seed, metric, parameters, "
	 "early_terminate, run_cap, max_concurrent, retries, lease_s, resources, trainer"},
	{HEAD ",'command':['a']}", "/command",
	 "\"command\" is not supported by this version: give \"trainer\", or drive the trials "
	 "yourself by ask, report and tell"},
	{HEAD ",'time_budget_s':3}", "/time_budget_s",
	 "\"time_budget_s\" is not supported by this version: \"run_cap\" bounds a sweep"},
	{HEAD ",'warm_start':3}", "/warm_start",
	 "\"warm_start\" is not supported by this version: leave it out"},
	{HEAD ",'name':''}", "/name", "\"name\" is empty"},
	{HEAD ",'name':7}", "/name", "\"name\" must be a string, not a number"},
	{HEAD ",'name':'a\\nb'}", "/name",
	 "\"name\" has a control or text-direction character in it"},
	{HEAD ",'name':'a\\u202eb'}", "/name",
	 "\"name\" has a control or text-direction character in it"},
	{HEAD ",'name':'01234567890123456789012345678901234567890123456789012345678901234'}",
	 "/name", "\"name\" is longer than 64 bytes"},
	{HEAD ",'description':[]}", "/description",
	 "\"description\" must be a string, not an array"},
	{"{'method':'bayes'}", "/method",
	 "method \"bayes\" is not supported by this version: method must be \"random\" or "
	 "\"grid\""},
	{"{'method':'randon'}", "/method", "unknown method \"randon\"; did you mean \"random\"?"},
	{"{'method':'evolution'}", "/method",
	 "unknown method \"evolution\": method must be \"random\" or \"grid\""},
	{"{'method':null}", "/method", "\"method\" must be \"random\" or \"grid\", not null"},
	{HEAD ",'seed':-1}", "/seed", "\"seed\" must be at least 0"},
	{HEAD ",'seed':9007199254740993}", "/seed", "\"seed\" must be at most 9007199254740991"},
	{HEAD ",'seed':0.5}", "/seed", "\"seed\" must be an integer, not a fraction"},
	{HEAD ",'seed':'7'}", "/seed", "\"seed\" must be an integer, not a string"},
	{HEAD ",'run_cap':0}", "/run_cap", "run_cap is 0: a sweep needs at least one trial"},
	{HEAD ",'run_cap':-5}", "/run_cap", "\"run_cap\" must be at least 1"},
	{HEAD ",'run_cap':9223372036854775808}", "/run_cap",
	 "\"run_cap\" must be at most 1000000000"},
	{HEAD ",'run_cap':true}", "/run_cap", "\"run_cap\" must be an integer, not true or false"},
	{HEAD ",'max_concurrent':0}", "/max_concurrent", "\"max_concurrent\" must be at least 1"},
	{HEAD ",'retries':101}", "/retries", "\"retries\" must be at most 100"},
	{HEAD ",'lease_s':0}", "/lease_s", "\"lease_s\" must be above 0 and at most 1e9 seconds"},
	{HEAD ",'lease_s':'60'}", "/lease_s",
	 "\"lease_s\" must be a number of seconds, not a string"},
	{HEAD ",'resources':1}", "/resources",
	 "\"resources\" must be an object like {\"gpu\": 1, \"cpu\": 2}, not a number"},
	{HEAD ",'resources':{'GPU':1}}", "/resources/GPU",
	 "unknown key \"GPU\"; did you mean \"gpu\"?"},
	{HEAD ",'resources':{'gpu':2}}", "/resources/gpu",
	 "\"gpu\" must be 0 or 1 (a part of a GPU, or several, is not supported by this version)"},
	{HEAD ",'resources':{'gpu':0.5}}", "/resources/gpu",
	 "\"gpu\" must be 0 or 1 (a part of a GPU, or several, is not supported by this version)"},
	{HEAD ",'resources':{'cpu':0}}", "/resources/cpu", "\"cpu\" must be at least 1"},
	{HEAD ",'resources':{'cpu':1025}}", "/resources/cpu", "\"cpu\" must be at most 1024"},
	/* metric */
	{"{'method':'random','metric':'loss'}", "/metric",
	 "\"metric\" must be an object like {\"name\": \"val_loss\", \"goal\": \"minimize\"}, not "
	 "a "
	 "string"},
	{"{'method':'random','metric':{'goal':'minimize'}}", "/metric/name",
	 "\"name\" is missing: the metric that trials report"},
	{"{'method':'random','metric':{'name':'l','goal':'min'}}", "/metric/goal",
	 "\"goal\" must be \"minimize\" or \"maximize\""},
	{"{'method':'random','metric':{'name':'l','mode':'min'}}", "/metric/mode",
	 "unknown key \"mode\"; did you mean \"goal\"?"},
	{"{'method':'random','metric':{'name':'l','target':0.1}}", "/metric/target",
	 "\"target\" is not supported by this version: leave it out"},
	/* early_terminate */
	{HEAD ",'early_terminate':'asha'}", "/early_terminate",
	 "\"early_terminate\" must be an object like {\"type\": \"asha\"}, not a string"},
	{HEAD ",'early_terminate':{}}", "/early_terminate/type", "\"type\" is missing: \"asha\""},
	{HEAD ",'early_terminate':{'type':'hyperband','min_iter':3}}", "/early_terminate/type",
	 "type \"hyperband\" is not supported by this version: type must be \"asha\""},
	{HEAD ",'early_terminate':{'type':'ashe'}}", "/early_terminate/type",
	 "unknown type \"ashe\"; did you mean \"asha\"?"},
	{HEAD ",'early_terminate':{'type':'asha','variant':'promote'}}", "/early_terminate/variant",
	 "variant \"promote\" is not supported by this version: variant must be \"stop\""},
	{HEAD ",'early_terminate':{'type':'asha','eta':1}}", "/early_terminate/eta",
	 "\"eta\" must be at least 2"},
	{HEAD ",'early_terminate':{'type':'asha','eta':3,'reduction_factor':3}}",
	 "/early_terminate/eta",
	 "\"reduction_factor\" and \"eta\" are two names of one thing: give one"},
	{HEAD ",'early_terminate':{'type':'asha','min_resource':200}}",
	 "/early_terminate/min_resource",
	 "\"min_resource\" is 200, beyond the last step 100 (max_t)"},
	{HEAD ",'early_terminate':{'type':'asha','max_t':0}}", "/early_terminate/max_t",
	 "\"max_t\" must be at least 1"},
	{HEAD ",'early_terminate':{'type':'asha','grace':1}}", "/early_terminate/grace",
	 "unknown key \"grace\"; known here: type, variant, grace_period, max_t, reduction_factor, "
	 "brackets, min_results, eta, min_iter, max_iter, min_resource, max_resource"},
	{HEAD ",'early_terminate':{'type':'asha','strict':true}}", "/early_terminate/strict",
	 "\"strict\" is not supported by this version: leave it out"},
	/* parameters */
	{"{" METRIC ",'parameters':{}}", "/parameters",
	 "\"parameters\" is empty: a sweep needs at least one"},
	{"{" METRIC ",'parameters':[]}", "/parameters",
	 "\"parameters\" must be an object of parameters by name, not an array"},
	{"{" METRIC ",'parameters':{'a b':{'value':1}}}", "/parameters/a b",
	 "a parameter's name is 1 to 64 of the characters a-z A-Z 0-9 _ - . / and starts with a "
	 "letter, a digit or _"},
	{"{" METRIC ",'parameters':{'--x':{'value':1}}}", "/parameters/--x",
	 "a parameter's name is 1 to 64 of the characters a-z A-Z 0-9 _ - . / and starts with a "
	 "letter, a digit or _"},
	{"{" METRIC ",'parameters':{'../x':{'value':1}}}", "/parameters/..~1x",
	 "a parameter's name is 1 to 64 of the characters a-z A-Z 0-9 _ - . / and starts with a "
	 "letter, a digit or _"},
	{PARAM "0.1}}", "/parameters/x",
	 "a parameter must be an object; for a constant write {\"value\": ...}"},
	{PARAM "[1,2]}}", "/parameters/x",
	 "a parameter must be an object; for a choice write {\"values\": [...]}"},
	{PARAM "{}}}", "/parameters/x",
	 "a parameter needs \"value\", \"values\", \"min\" and \"max\", or a \"distribution\""},
	{PARAM "{'mim':1,'max':2}}}", "/parameters/x/mim",
	 "unknown key \"mim\"; did you mean \"min\"?"},
	{PARAM "{'low':1,'high':2}}}", "/parameters/x/low",
	 "unknown key \"low\"; did you mean \"min\"?"},
	{PARAM "{'min':1}}}", "/parameters/x/max", "\"max\" is missing (\"min\" needs it)"},
	{PARAM "{'distribution':'uniform','max':1}}}", "/parameters/x/min",
	 "\"min\" is missing (distribution \"uniform\" needs it)"},
	{PARAM "{'min':'0','max':1}}}", "/parameters/x/min",
	 "\"min\" must be a number, not a string"},
	{PARAM "{'values':[]}}}", "/parameters/x/values", "values is empty"},
	{PARAM "{'values':3}}}", "/parameters/x/values",
	 "\"values\" must be an array, not a number"},
	{PARAM "{'values':[1,[2]]}}}", "/parameters/x/values/1",
	 "a value must be a number, a string, true, false or null, not an array"},
	{PARAM "{'values':[3,'a',1,3.0]}}}", "/parameters/x/values/3",
	 "a value that stands twice; to favour it use \"probabilities\""},
	{PARAM "{'values':['a','b','a']}}}", "/parameters/x/values/2",
	 "a value that stands twice; to favour it use \"probabilities\""},
	{PARAM "{'values':[1,2],'probabilities':[1]}}}", "/parameters/x/probabilities",
	 "\"probabilities\" must be an array of 2 numbers, one for each of the values"},
	{PARAM "{'values':[1,2],'probabilities':[1,-1]}}}", "/parameters/x/probabilities/1",
	 "a probability must be a number, 0 or more"},
	{PARAM "{'values':[1,2],'probabilities':[0,0]}}}", "/parameters/x/probabilities",
	 "the probabilities must have a sum above 0"},
	{PARAM "{'value':1,'values':[1]}}}", "/parameters/x/values",
	 "\"values\" does not go with \"value\""},
	{PARAM "{'min':0,'max':1,'mu':1}}}", "/parameters/x/mu", "\"mu\" does not go with \"min\""},
	{PARAM "{'distribution':'uniform','min':0,'max':1,'q':1}}}", "/parameters/x/q",
	 "\"q\" does not go with distribution \"uniform\""},
	{PARAM "{'distribution':'unifrom','min':0,'max':1}}}", "/parameters/x/distribution",
	 "unknown distribution \"unifrom\"; did you mean \"uniform\"?"},
	{PARAM "{'distribution':7}}}", "/parameters/x/distribution",
	 "\"distribution\" must be a string, not a number"},
	{PARAM "{'distribution':'beta','min':0,'max':1}}}", "/parameters/x/distribution",
	 "distribution \"beta\" is not supported by this version: use uniform"},
	{PARAM "{'distribution':'randint','min':0,'max':1}}}", "/parameters/x/distribution",
	 "distribution \"randint\" is not supported by this version: use int_uniform, whose max is "
	 "included (Ray's randint leaves it out)"},
	{PARAM "{'distribution':'int_uniform','min':0,'max':1.5}}}", "/parameters/x/max",
	 "\"max\" of int_uniform must be an integer within 2^53"},
	{PARAM "{'distribution':'log_uniform','min':0,'max':1000}}}", "/parameters/x/max",
	 "min and max of log_uniform are exponents of e, and e^1000 is not finite; "
	 "log_uniform_values takes the values themselves"},
	{PARAM "{'distribution':'log_uniform','min':-1e4,'max':1}}}", "/parameters/x/min",
	 "min and max of log_uniform are exponents of e, and e^-10000 is 0; log_uniform_values "
	 "takes the values themselves"},
	{PARAM "{'min':1,'max':8,'log':true}}}", "/parameters/x/log",
	 "\"log\" with an integer min and max is ambiguous: for integers use pow2 or "
	 "q_log_uniform_values, for reals write the bounds as 1.0"},
	{PARAM "{'min':1.0,'max':8,'log':1}}}", "/parameters/x/log",
	 "\"log\" must be true or false, not a number"},
	{PARAM "{'values':[1],'log':true}}}", "/parameters/x/log",
	 "\"log\" does not go with \"values\""},
	{PARAM "{'distribution':'uniform','min':1.0,'max':8,'log':true}}}", "/parameters/x/log",
	 "\"log\" does not go with \"distribution\""},
	{PARAM "{'parameters':{'y':{'value':1}}}}}", "/parameters/x/parameters",
	 "\"parameters\" is not supported by this version: nested parameters must be written flat, "
	 "as \"outer.inner\""},
	{PARAM "{'min':0,'max':1,'when':{}}}}", "/parameters/x/when",
	 "\"when\" is not supported by this version: leave it out; the parameter is then drawn for "
	 "every trial"},
	/* trainer */
	{HEAD ",'trainer':[]}", "/trainer", "\"trainer\" must be an object, not an array"},
	{TRAIN "{}}", "/trainer/dataset",
	 "\"dataset\" is missing: {\"name\": \"digits\"} or {\"format\": \"csv\", ...}"},
	{TRAIN "{'learning_rate':1}}", "/trainer/learning_rate",
	 "unknown key \"learning_rate\"; did you mean \"lr\"?"},
	{TRAIN "{'epoch':1}}", "/trainer/epoch", "unknown key \"epoch\"; did you mean \"epochs\"?"},
	{TRAIN "{'parallel':{}}}", "/trainer/parallel",
	 "\"parallel\" is not supported by this version: leave it out"},
	{TRAIN "{'dataset':'digits'}}", "/trainer/dataset",
	 "\"dataset\" must be an object, not a string"},
	{TRAIN "{'dataset':{'name':'../x'}}}", "/trainer/dataset/name",
	 "\"name\" must be 1 to 64 of the characters a-z A-Z 0-9 _ -"},
	{TRAIN "{'dataset':{'name':'digits','path':'x'}}}", "/trainer/dataset/path",
	 "\"path\" does not go with \"name\": give a name, or format, path and label"},
	{TRAIN "{'dataset':{'path':'x'}}}", "/trainer/dataset/format",
	 "a dataset needs \"name\", or \"format\": \"csv\" with path and label"},
	{TRAIN "{'dataset':{'format':'parquet','path':'x'}}}", "/trainer/dataset/format",
	 "\"format\" must be \"csv\""},
	{TRAIN "{'dataset':{'format':'csv','label':'y'}}}", "/trainer/dataset/path",
	 "\"path\" is missing: the CSV file"},
	{TRAIN "{'dataset':{'format':'csv','path':'x'}}}", "/trainer/dataset/label",
	 "\"label\" is missing: the column to predict"},
	{TRAIN "{'dataset':{'format':'csv','path':'x','label':'y','header':false}}}",
	 "/trainer/dataset/label",
	 "without a header columns have no names: \"label\" must be the column's number from 0"},
	{TRAIN "{'dataset':{'format':'csv','path':'x','labl':'y'}}}", "/trainer/dataset/labl",
	 "unknown key \"labl\"; did you mean \"label\"?"},
	{TRAIN "{'dataset':{'name':'d'}}}", "/trainer/model",
	 "\"model\" is missing: a list of layers, like [{\"linear\": 64}, \"relu\", {\"linear\": "
	 "10}]"},
	{TRAIN "{'dataset':{'name':'d'},'model':[]}}", "/trainer/model", "model is empty"},
	{TRAIN "{'dataset':{'name':'d'},'model':['relu']}}", "/trainer/model",
	 "the model has no \"linear\" layer, so there is nothing to train"},
	{TRAIN "{'dataset':{'name':'d'},'model':['rellu']}}", "/trainer/model/0",
	 "unknown layer \"rellu\"; did you mean \"relu\"?"},
	{TRAIN "{'dataset':{'name':'d'},'model':[{'conv2d':3}]}}", "/trainer/model/0",
	 "layer \"conv2d\" is not supported by this version: linear, relu, tanh and dropout are"},
	{TRAIN "{'dataset':{'name':'d'},'model':['linear']}}", "/trainer/model/0",
	 "layer \"linear\" needs a number: {\"linear\": 64}"},
	{TRAIN "{'dataset':{'name':'d'},'model':[{'relu':1}]}}", "/trainer/model/0",
	 "layer \"relu\" takes nothing: write \"relu\""},
	{TRAIN "{'dataset':{'name':'d'},'model':[{'linear':1,'dropout':0.5}]}}", "/trainer/model/0",
	 "a layer is a string or an object with one key, like {\"linear\": 64}"},
	{TRAIN "{'dataset':{'name':'d'},'model':[5]}}", "/trainer/model/0",
	 "a layer is a string or an object with one key, not a number"},
	{TRAIN "{'dataset':{'name':'d'},'model':[{'linear':0}]}}", "/trainer/model/0/linear",
	 "\"linear\" must be an integer, at least 1 and at most 1000000, or the name of a "
	 "parameter"},
	{TRAIN "{'dataset':{'name':'d'},'model':[{'dropout':1}]}}", "/trainer/model/0/dropout",
	 "\"dropout\" must be a number, at least 0 and below 1, or the name of a parameter"},
	{TRAIN "{'dataset':{'name':'d'},'model':[{'linear':8},'relu',{'linear':'l3'}]}}",
	 "/trainer/model/2/linear",
	 "layer \"l3\": no parameter of that name; did you mean \"l1\"? (there are l1, lr, opt)"},
	{TRAIN "{'dataset':{'name':'d'},'model':[{'linear':'hidden'}]}}", "/trainer/model/0/linear",
	 "layer \"hidden\": no parameter of that name (there are l1, lr, opt)"},
	{TRAIN "{'dataset':{'name':'d'},'model':[{'linear':'lr'}]}}", "/parameters/lr",
	 "\"lr\" feeds \"linear\", which takes integers: use int_uniform, pow2, q_uniform with an "
	 "integer q, or values"},
	{TRAIN "{'dataset':{'name':'d'},'model':[{'linear':'opt'}]}}", "/parameters/opt/values/0",
	 "\"opt\" feeds \"linear\", which must be an integer, at least 1 and at most 1000000"},
	{TRAIN "{'dataset':{'name':'d'},'model':[{'linear':9},{'dropout':'l1'}]}}",
	 "/parameters/l1/min",
	 "\"l1\" feeds \"dropout\", which must be a number, at least 0 and below 1"},
	{TRAIN "{" REST ",'lr':0.1}}", "/trainer/lr",
	 "\"lr\" is in \"parameters\" too: which one counts? Remove one"},
	{TRAIN "{" REST ",'batch_size':0}}", "/trainer/batch_size",
	 "\"batch_size\" must be an integer, at least 1 and at most 1000000000"},
	{TRAIN "{" REST ",'momentum':1}}", "/trainer/momentum",
	 "\"momentum\" must be a number, at least 0 and below 1"},
	{TRAIN "{" REST ",'momentum':'mo'}}", "/trainer/momentum",
	 "option \"momentum\": \"mo\": no parameter of that name (there are l1, lr, opt)"},
	{TRAIN "{" REST ",'nesterov':1}}", "/trainer/nesterov",
	 "\"nesterov\" must be true or false, not a number"},
	{TRAIN "{" REST ",'loss':'nll'}}", "/trainer/loss",
	 "unknown loss \"nll\": \"cross_entropy\" or \"mse\""},
	{TRAIN "{" REST ",'val_fraction':'lr'}}", "/trainer/val_fraction",
	 "\"val_fraction\" is the same for every trial: it cannot be a parameter"},
	{TRAIN "{" REST ",'val_fraction':1}}", "/trainer/val_fraction",
	 "\"val_fraction\" must be a number, above 0 and below 1"},
	{TRAIN "{" REST ",'split_seed':'x'}}", "/trainer/split_seed",
	 "\"split_seed\" must be a number, not a string"},
	{TRAIN "{" REST ",'beta1':'opt'}}", "/parameters/opt/values/0",
	 "\"opt\" feeds \"beta1\", which must be a number, at least 0 and below 1"},
	{TRAIN "{'dataset':{'name':'digits'}," MODEL ",'optimizer':'adam'}}", "/trainer/optimizer",
	 "unknown optimizer \"adam\": \"sgd\" or \"adamw\", or the name of a parameter"},
	{TRAIN "{'dataset':{'name':'digits'}," MODEL "}}", "/parameters/opt",
	 "nothing uses the parameter \"opt\"; did you mean \"optimizer\"?"},
	{"{" METRIC ",'parameters':{'hidden':{'value':8}},'trainer':{'dataset':{"
	 "'name':'d'},'model':[{'linear':9}]}}",
	 "/parameters/hidden",
	 "nothing uses the parameter \"hidden\": name it in trainer.model, give its name to an "
	 "option of the trainer, or call it as one (lr, batch_size, momentum, ...)"},
	{"{" METRIC ",'parameters':{'learning_rate':{'min':0.1,'max':1.0}},'trainer':{'dataset':{"
	 "'name':'d'},'model':[{'linear':9}]}}",
	 "/parameters/learning_rate",
	 "nothing uses the parameter \"learning_rate\"; did you mean \"lr\"?"},
	{"{" METRIC ",'parameters':{'momentun':{'min':0.1,'max':0.9}},'trainer':{'dataset':{"
	 "'name':'d'},'model':[{'linear':9}]}}",
	 "/parameters/momentun",
	 "nothing uses the parameter \"momentun\"; did you mean \"momentum\"?"},
	{"{" METRIC ",'parameters':{'val_fraction':{'min':0.1,'max':0.9}},'trainer':{'dataset':{"
	 "'name':'d'},'model':[{'linear':9}]}}",
	 "/parameters/val_fraction",
	 "\"val_fraction\" is the same for every trial: give it in \"trainer\""},
	{"{" METRIC ",'parameters':{'batch_size':{'values':[8,12.5]}},'trainer':{'dataset':{"
	 "'name':'d'},'model':[{'linear':9}]}}",
	 "/parameters/batch_size/values/1",
	 "\"batch_size\" feeds \"batch_size\", which must be an integer, at least 1 and at most "
	 "1000000000"},
	{"{" METRIC ",'parameters':{'momentum':{'min':0.0,'max':1.0}},'trainer':{'dataset':{"
	 "'name':'d'},'model':[{'linear':9}]}}",
	 "/parameters/momentum/max",
	 "\"momentum\" feeds \"momentum\", which must be a number, at least 0 and below 1"},
	{"{" METRIC ",'parameters':{'nesterov':{'min':0,'max':1}},'trainer':{'dataset':{"
	 "'name':'d'},'model':[{'linear':9}]}}",
	 "/parameters/nesterov",
	 "\"nesterov\" feeds \"nesterov\", which must be true or false, not a number"},
};

START_TEST(spec_bad_one_is_refused_at_its_place)
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_spec *s = NULL;
	cJSON *tree = parse(bad[_i].text);

	const sw_status rc = sw_spec_read(&s, tree, &err);
	ck_assert_str_eq(err.msg, bad[_i].msg);
	ck_assert_str_eq(err.ptr, bad[_i].ptr);
	ck_assert_int_eq(rc, SW_INVALID);
	ck_assert_ptr_null(s);
	cJSON_Delete(tree);
}
END_TEST

/* One parameter each: its distribution and fields. NaN: not given. */
static const struct {
	const char *text, *dist;
	double min, max, q, mu, sigma;
	size_t n_values;
} params[] = {
	{"{'value':[1,{'a':2}]}", "constant", NAN, NAN, 1, 0, 1, 0},
	{"{'distribution':'constant','value':1}", "constant", NAN, NAN, 1, 0, 1, 0},
	{"{'values':[1,'a',true,false,null,'1']}", "categorical", NAN, NAN, 1, 0, 1, 6},
	{"{'distribution':'categorical','values':[1]}", "categorical", NAN, NAN, 1, 0, 1, 1},
	{"{'distribution':'choice','values':[1,2]}", "categorical", NAN, NAN, 1, 0, 1, 2},
	{"{'distribution':'categorical_w_probabilities','values':[1,2],'probabilities':[1,3]}",
	 "categorical", NAN, NAN, 1, 0, 1, 2},
	{"{'min':1,'max':8}", "int_uniform", 1, 8, 1, 0, 1, 0},
	{"{'min':1.0,'max':8}", "uniform", 1, 8, 1, 0, 1, 0},
	{"{'min':0.0,'max':1.0}", "uniform", 0, 1, 1, 0, 1, 0},
	{"{'min':0,'max':1e1}", "uniform", 0, 10, 1, 0, 1, 0},
	{"{'min':0,'max':0.5}", "uniform", 0, 0.5, 1, 0, 1, 0},
	{"{'min':0,'max':8,'q':2}", "q_uniform", 0, 8, 2, 0, 1, 0},
	{"{'distribution':'int_uniform','min':1.0,'max':8}", "int_uniform", 1, 8, 1, 0, 1, 0},
	{"{'distribution':'uniform','min':1,'max':8}", "uniform", 1, 8, 1, 0, 1, 0},
	{"{'distribution':'q_uniform','min':1,'max':8}", "q_uniform", 1, 8, 1, 0, 1, 0},
	{"{'distribution':'quniform','min':1,'max':8,'q':0.5}", "q_uniform", 1, 8, 0.5, 0, 1, 0},
	{"{'distribution':'log_uniform_values','min':0.001,'max':1}", "log_uniform_values", 0.001,
	 1, 1, 0, 1, 0},
	{"{'distribution':'loguniform','min':0.001,'max':1}", "log_uniform_values", 0.001, 1, 1, 0,
	 1, 0},
	{"{'distribution':'log_uniform','min':0,'max':0}", "log_uniform_values", 1, 1, 1, 0, 1, 0},
	{"{'distribution':'inv_log_uniform','min':0,'max':0}", "inv_log_uniform_values", 1, 1, 1, 0,
	 1, 0},
	{"{'distribution':'inv_log_uniform_values','min':1,'max':2}", "inv_log_uniform_values", 1,
	 2, 1, 0, 1, 0},
	{"{'distribution':'q_log_uniform','min':0,'max':0,'q':3}", "q_log_uniform_values", 1, 1, 3,
	 0, 1, 0},
	{"{'distribution':'qloguniform','min':1,'max':9,'q':3}", "q_log_uniform_values", 1, 9, 3, 0,
	 1, 0},
	{"{'min':0.1,'max':1,'log':true}", "log_uniform_values", 0.1, 1, 1, 0, 1, 0},
	{"{'min':1,'max':9,'log':true,'q':1}", "q_log_uniform_values", 1, 9, 1, 0, 1, 0},
	{"{'min':1,'max':9,'log':false}", "int_uniform", 1, 9, 1, 0, 1, 0},
	{"{'distribution':'pow2','min':4,'max':256}", "pow2", 4, 256, 1, 0, 1, 0},
	{"{'distribution':'normal'}", "normal", NAN, NAN, 1, 0, 1, 0},
	{"{'distribution':'randn','mu':3,'sigma':2}", "normal", NAN, NAN, 1, 3, 2, 0},
	{"{'distribution':'q_normal','mu':3,'q':0.5}", "q_normal", NAN, NAN, 0.5, 3, 1, 0},
	{"{'distribution':'log_normal','sigma':2}", "log_normal", NAN, NAN, 1, 0, 2, 0},
	{"{'distribution':'q_log_normal'}", "q_log_normal", NAN, NAN, 1, 0, 1, 0},
};

START_TEST(spec_parameter_becomes_its_distribution)
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_spec *s = NULL;
	char text[400];

	(void)snprintf(text, sizeof text, PARAM "%s}}", params[_i].text);
	cJSON *tree = parse(text);
	const sw_status rc = sw_spec_read(&s, tree, &err);
	cJSON_Delete(tree); /* the spec keeps a copy */
	ck_assert_msg(rc == SW_OK, "%s: %s", err.ptr, err.msg);
	ck_assert_uint_eq(s->n_params, 1);
	const struct sw_spec_param *p = &s->params[0];
	ck_assert_str_eq(p->name, "x");
	ck_assert_str_eq(p->dist, params[_i].dist);
	ck_assert_int_eq(p->has_min, !isnan(params[_i].min));
	ck_assert_int_eq(p->has_max, !isnan(params[_i].max));
	if (p->has_min)
		ck_assert_double_eq(p->min, params[_i].min);
	if (p->has_max)
		ck_assert_double_eq(p->max, params[_i].max);
	ck_assert_double_eq(p->q, params[_i].q);
	ck_assert_double_eq(p->mu, params[_i].mu);
	ck_assert_double_eq(p->sigma, params[_i].sigma);
	ck_assert_uint_eq(p->n_values, params[_i].n_values);
	ck_assert_int_eq(p->values != NULL, strcmp(p->dist, "categorical") == 0);
	ck_assert_int_eq(p->value != NULL, strcmp(p->dist, "constant") == 0);
	ck_assert_int_eq(p->weights != NULL, strstr(params[_i].text, "probabilities':") != NULL);
	sw_spec_destroy(s);
}
END_TEST

START_TEST(spec_exponents_become_values_and_warn_where_they_look_like_values)
{
	struct sw_spec *s = NULL;
	cJSON *tree = parse("{" METRIC
			    ",'parameters':{'a':{'distribution':'log_uniform','min':-7,'max':0},"
			    "'b':{'distribution':'log_uniform','min':0.001,'max':0.1}}}");

	ck_assert_int_eq(sw_spec_read(&s, tree, NULL), SW_OK);
	ck_assert_double_eq(s->params[0].min, exp(-7));
	ck_assert_double_eq(s->params[0].max, 1);
	ck_assert_int_eq(s->warning.code, SW_INVALID);
	ck_assert_str_eq(s->warning.ptr, "/parameters/b");
	ck_assert_str_eq(s->warning.msg,
			 "min and max of log_uniform are exponents of e: values go from 1.001 to "
			 "1.10517; log_uniform_values takes the values themselves");
	sw_spec_destroy(s);
	cJSON_Delete(tree);
}
END_TEST

START_TEST(spec_defaults_are_those_of_the_docs)
{
	struct sw_spec *s = NULL;
	cJSON *tree = parse(HEAD ",'early_terminate':{'type':'asha'}}");

	ck_assert_int_eq(sw_spec_read(&s, tree, NULL), SW_OK);
	ck_assert_str_eq(s->name, "sweep");
	ck_assert_str_eq(s->method, "random");
	ck_assert_str_eq(s->metric, "loss");
	ck_assert(!s->maximize);
	ck_assert(!s->has_seed);
	ck_assert_uint_eq(s->run_cap, 0);
	ck_assert_uint_eq(s->max_concurrent, 0);
	ck_assert_uint_eq(s->retries, 2);
	ck_assert_double_eq(s->lease_s, 0);
	ck_assert(!s->needs_gpu);
	ck_assert_uint_eq(s->cpu, 1);
	ck_assert_ptr_null(s->trainer);
	ck_assert(s->has_asha);
	ck_assert_uint_eq(s->asha.grace_period, 1);
	ck_assert_uint_eq(s->asha.max_t, 100);
	ck_assert_uint_eq(s->asha.reduction_factor, 4);
	ck_assert_uint_eq(s->asha.brackets, 1);
	ck_assert_uint_eq(s->asha.min_results, 4);
	ck_assert_int_eq(s->warning.code, SW_OK);
	sw_spec_destroy(s);
	sw_spec_destroy(NULL);
	cJSON_Delete(tree);
}
END_TEST

static const char whole[] =
	"{'name':'n','description':'d','method':'grid','seed':7,'metric':{'name':'acc','goal':"
	"'maximize'},'parameters':{'l1':{'distribution':'pow2','min':4,'max':64},'lr':{'min':0.01,"
	"'max':0.1},'opt':{'values':['sgd','adamw'],'probabilities':[1,2]},'drop':{'min':0.0,'max':"
	"0.5},'batch_size':{'distribution':'q_uniform','min':1,'max':64,'q':8}},'run_cap':9,"
	"'max_concurrent':3,'retries':0,'lease_s':1.5,'resources':{'gpu':1,'cpu':4},"
	"'early_terminate':{'type':'asha','variant':'stop','min_iter':2,'eta':3,'brackets':2,"
	"'min_results':5},'trainer':{'dataset':{'format':'csv','path':'p.csv','label':3,'header':"
	"false},'model':[{'linear':'l1'},'tanh',{'dropout':'drop'},{'linear':3}],'epochs':27,"
	"'optimizer':'opt','nesterov':true,'split_seed':1,'standardize':false,'loss':'mse',"
	"'val_fraction':0.25,'weight_decay':0.1}}";

START_TEST(spec_every_key_reaches_the_struct)
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_spec *s = NULL;
	cJSON *tree = parse(whole);

	ck_assert_msg(sw_spec_read(&s, tree, &err) == SW_OK, "%s %s", err.ptr, err.msg);
	ck_assert_str_eq(s->name, "n");
	ck_assert_str_eq(s->method, "grid");
	ck_assert(s->has_seed && s->seed == 7);
	ck_assert(s->maximize);
	ck_assert_uint_eq(s->n_params, 5);
	ck_assert_int_eq(sw_spec_param_find(s, "opt"), 2);
	ck_assert_int_eq(sw_spec_param_find(s, "none"), -1);
	ck_assert_double_eq(s->params[2].weights[1], 2);
	ck_assert_uint_eq(s->run_cap, 9);
	ck_assert_uint_eq(s->max_concurrent, 3);
	ck_assert_uint_eq(s->retries, 0);
	ck_assert_double_eq(s->lease_s, 1.5);
	ck_assert(s->needs_gpu);
	ck_assert_uint_eq(s->cpu, 4);
	ck_assert_uint_eq(s->asha.grace_period, 2);
	ck_assert_uint_eq(s->asha.max_t, 27);
	ck_assert_uint_eq(s->asha.reduction_factor, 3);
	ck_assert_uint_eq(s->asha.brackets, 2);
	ck_assert_uint_eq(s->asha.min_results, 5);
	ck_assert_ptr_eq(s->trainer, sw_json_get(s->tree, "trainer"));
	sw_spec_destroy(s);
	cJSON_Delete(tree);
}
END_TEST

static const char *const fine[] = {
	HEAD ",'name':'Größe \xe2\x9c\x93'}",
	HEAD ",'seed':9007199254740991}",
	TRAIN "{" REST "}}",
	TRAIN "{" REST ",'lr':'lr'}}",
	TRAIN "{" REST ",'momentum':0.9,'eps':1e-6,'epochs':3}}",
	"{" METRIC ",'parameters':{'optimizer':{'values':['sgd','adamw']},'nesterov':{'values':["
	"true,false]},'epochs':{'value':3},'batch_size':{'min':1,'max':9},'weight_decay':{"
	"'distribution':'loguniform','min':1e-6,'max':1}},'trainer':{'dataset':{'name':'d'},"
	"'model':[{'linear':9}]}}",
	"{" METRIC ",'parameters':{'w':{'min':8,'max':64,'q':8}},'trainer':{'dataset':{'format':"
	"'csv','path':'a','label':'y'},'model':[{'linear':'w'},{'linear':'w'}]}}",
};

START_TEST(spec_good_one_is_taken)
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_spec *s = NULL;
	cJSON *tree = parse(fine[_i]);

	ck_assert_msg(sw_spec_read(&s, tree, &err) == SW_OK, "%s %s", err.ptr, err.msg);
	sw_spec_destroy(s);
	cJSON_Delete(tree);
}
END_TEST

/* `count` parameters, or values of one. */
static sw_status read_many(const char *before, const char *one, const char *after, int count)
{
	struct sw_spec *s = NULL;
	struct sw_buf b;

	sw_buf_init(&b, 1 << 22);
	(void)sw_buf_adds(&b, before);
	for (int i = 0; i < count; i++) {
		(void)sw_buf_adds(&b, i > 0 ? "," : "");
		(void)sw_buf_addf(&b, "%s%d%s", one, i, after);
	}
	(void)sw_buf_adds(&b, "]}}}");
	if (after[0] != '\0')
		b.len -= 4, b.data[b.len] = '\0', (void)sw_buf_adds(&b, "}}");
	cJSON *tree = parse(b.data);
	const sw_status rc = sw_spec_read(&s, tree, NULL);
	sw_spec_destroy(s);
	cJSON_Delete(tree);
	sw_buf_fini(&b);
	return rc;
}

START_TEST(spec_over_a_limit_is_refused)
{
	const char *const open = "{" METRIC ",'parameters':{";

	ck_assert_int_eq(read_many(open, "'x", "':{'value':1}", SW_SPEC_MAX_PARAMS), SW_OK);
	ck_assert_int_eq(read_many(open, "'x", "':{'value':1}", SW_SPEC_MAX_PARAMS + 1),
			 SW_INVALID);
	ck_assert_int_eq(read_many(PARAM "{'values':[", "", "", SW_SPEC_MAX_VALUES), SW_OK);
	ck_assert_int_eq(read_many(PARAM "{'values':[", "", "", SW_SPEC_MAX_VALUES + 1),
			 SW_INVALID);
}
END_TEST

START_TEST(spec_every_option_default_is_a_value_of_its_own)
{
	for (size_t i = 0; i < SW_TRAINER_OPTION_N; i++) {
		const struct sw_trainer_option *o = &sw_trainer_options[i];

		ck_assert_ptr_eq(sw_trainer_option_find(o->name), o);
		ck_assert(o->fallback_text != NULL && o->doc != NULL);
		ck_assert_int_eq(o->kind == SW_OPTION_CHOICE, o->choices != NULL);
		if (isnan(o->fallback) || o->kind == SW_OPTION_BOOLEAN)
			continue;
		ck_assert(o->min_open ? o->fallback > o->min : o->fallback >= o->min);
		ck_assert(o->max_open ? o->fallback < o->max : o->fallback <= o->max);
	}
	ck_assert_ptr_null(sw_trainer_option_find("none"));
}
END_TEST

#ifdef SW_FAULTS
START_TEST(spec_without_memory_fails_cleanly_at_each_call)
{
	cJSON_Hooks hooks = {.malloc_fn = sw_malloc, .free_fn = free};
	cJSON *tree = parse(whole);
	unsigned fired = 1;

	cJSON_InitHooks(&hooks);
	for (unsigned nth = 1; fired != 0; nth++) {
		struct sw_err err = SW_ERR_INIT;
		struct sw_spec *s = NULL;

		ck_assert_uint_lt(nth, 2000);
		sw_fault_arm(SW_FAULT_MALLOC, nth, false);
		const sw_status rc = sw_spec_read(&s, tree, &err);
		fired = sw_fault_fired(SW_FAULT_MALLOC);
		sw_fault_arm(SW_FAULT_MALLOC, 0, false);
		ck_assert_int_eq(rc, fired ? SW_NOMEM : SW_OK);
		ck_assert_int_eq(err.code, rc);
		ck_assert_int_eq(s == NULL, fired);
		sw_spec_destroy(s);
	}
	cJSON_InitHooks(NULL);
	cJSON_Delete(tree);
}
END_TEST
#endif

int main(void)
{
	Suite *suite = suite_create("proto");
	TCase *tcase = tcase_create("spec");
	SRunner *runner = srunner_create(suite);

	suite_add_tcase(suite, tcase);
	tcase_add_loop_test(tcase, spec_bad_one_is_refused_at_its_place, 0, N(bad));
	tcase_add_loop_test(tcase, spec_parameter_becomes_its_distribution, 0, N(params));
	tcase_add_test(tcase, spec_exponents_become_values_and_warn_where_they_look_like_values);
	tcase_add_test(tcase, spec_defaults_are_those_of_the_docs);
	tcase_add_test(tcase, spec_every_key_reaches_the_struct);
	tcase_add_loop_test(tcase, spec_good_one_is_taken, 0, N(fine));
	tcase_add_test(tcase, spec_over_a_limit_is_refused);
	tcase_add_test(tcase, spec_every_option_default_is_a_value_of_its_own);
#ifdef SW_FAULTS
	tcase_add_test(tcase, spec_without_memory_fails_cleanly_at_each_call);
#endif
	srunner_run_all(runner, CK_ENV);
	const int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
