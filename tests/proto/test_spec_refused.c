/* tests/proto/test_spec_refused.c — sweep specs that are refused: where, and in which words. */
#include "tests/proto/spec_text.h"

#define METHODS "\"random\", \"grid\", \"sobol\", \"tpe\", \"bohb\" or \"bayes\""

static const struct {
	const char *text, *ptr, *msg;
} bad[] = {
	/* the top */
	{"[]", "", "a sweep spec must be an object, not an array"},
	{"{}", "/method", "\"method\" is missing: \"random\", \"bayes\" or another"},
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
	 "unknown key \"q~/\"; known here: name, description, method, seed, metric, metrics, "
	 "parameters, early_terminate, run_cap, max_concurrent, retries, lease_s, resources, "
	 "trainer, constraints, init, warm_start, refine, shuffle, suggest_wait_ms, plateau, "
	 "..."},
	{HEAD ",'command':['a']}", "/command",
	 "\"command\" is not supported by this version: give \"trainer\", or drive the trials "
	 "yourself by ask, report and tell"},
	{HEAD ",'warm_start':3}", "/warm_start",
	 "\"warm_start\" must be an array of sweeps' numbers like [12, 14]"},
	{HEAD ",'warm_start':[3]}", "/warm_start",
	 "method \"random\" does not learn from trials of earlier sweeps: use \"bayes\" or "
	 "\"tpe\""},
	{"{'method':'tpe','metric':{'name':'l'},'parameters':{'a':{'value':1}},'warm_start':[3,0]}",
	 "/warm_start/1", "must be a sweep's number"},
	{"{'method':'tpe','metric':{'name':'l'},'parameters':{'a':{'value':1}},'warm_start':[3,3]}",
	 "/warm_start/1", "sweep 3 is named twice"},
	{HEAD ",'init':{'lr':1}}", "/init",
	 "\"init\" must be an array of objects like {\"lr\": 0.1}, not an object"},
	{HEAD ",'init':[{},3]}", "/init/1",
	 "a point must be an object like {\"lr\": 0.1}, not a number"},
	{HEAD ",'refine':3}", "/refine",
	 "\"refine\" must be an object like {\"of\": 12, \"top\": 3, \"points\": 5}"},
	{HEAD ",'refine':{}}", "/refine/of", "\"of\" is missing: the sweep to refine"},
	{HEAD ",'refine':{'of':1,'n':3}}", "/refine/n", "unknown key \"n\"; did you mean \"top\"?"},
	{HEAD ",'shuffle':true}", "/shuffle", "only method \"grid\" has an order to shuffle"},
	{HEAD ",'shuffle':1}", "/shuffle", "\"shuffle\" must be true or false, not a number"},
	{HEAD ",'points_to_evaluate':[]}", "/points_to_evaluate",
	 "unknown key \"points_to_evaluate\"; did you mean \"init\"?"},
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
	{"{'method':'cmaes'}", "/method",
	 "method \"cmaes\" is not supported by this version: method must be " METHODS},
	{"{'method':'bayesian'}", "/method",
	 "unknown method \"bayesian\"; did you mean \"bayes\"?"},
	{"{'method':'randon'}", "/method", "unknown method \"randon\"; did you mean \"random\"?"},
	{"{'method':'evolution'}", "/method",
	 "unknown method \"evolution\": method must be " METHODS},
	{"{'method':null}", "/method", "\"method\" must be " METHODS ", not null"},
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
	{"{'method':'random','metric':{'name':'l','impute':'worst'}}", "/metric/impute",
	 "\"impute\" is not supported by this version: leave it out"},
	/* parameters */
	{"{" METRIC ",'parameters':{}}", "/parameters",
	 "\"parameters\" is empty: a sweep needs at least one"},
	{"{" METRIC ",'parameters':[]}", "/parameters",
	 "\"parameters\" must be an object of parameters by name, not an array"},
	{"{" METRIC ",'parameters':{'a b':{'value':1}}}", "/parameters/a b",
	 "a parameter's name is 1 to 128 of the characters a-z A-Z 0-9 _ - . / and starts with a "
	 "letter, a digit or _"},
	{"{" METRIC ",'parameters':{'--x':{'value':1}}}", "/parameters/--x",
	 "a parameter's name is 1 to 128 of the characters a-z A-Z 0-9 _ - . / and starts with a "
	 "letter, a digit or _"},
	{"{" METRIC ",'parameters':{'../x':{'value':1}}}", "/parameters/..~1x",
	 "a parameter's name is 1 to 128 of the characters a-z A-Z 0-9 _ - . / and starts with a "
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
	{PARAM "{'distribution':'q_beta','a':2,'b':3,'q':1}}}", "/parameters/x/distribution",
	 "distribution \"q_beta\" is not supported by this version: use q_uniform"},
	{PARAM "{'distribution':'int_uniform','min':0,'max':1.5}}}", "/parameters/x/max",
	 "\"max\" of int_uniform must be an integer below 2^53"},
	{PARAM "{'distribution':'log_uniform','min':0,'max':1000}}}", "/parameters/x/max",
	 "min and max of log_uniform are exponents of e, and e^1000 is not finite; "
	 "log_uniform_values takes the values themselves"},
	{PARAM "{'distribution':'log_uniform','min':-1e4,'max':1}}}", "/parameters/x/min",
	 "min and max of log_uniform are exponents of e, and e^-10000 is 0; log_uniform_values "
	 "takes the values themselves"},
	{PARAM "{'min':1.0,'max':8,'log':1}}}", "/parameters/x/log",
	 "\"log\" must be true or false, not a number"},
	{PARAM "{'values':[1],'log':true}}}", "/parameters/x/log",
	 "\"log\" does not go with \"values\""},
	{PARAM "{'distribution':'uniform','min':1.0,'max':8,'log':true}}}", "/parameters/x/log",
	 "\"log\" does not go with \"distribution\""},
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

int main(void)
{
	Suite *suite = suite_create("proto");
	TCase *tcase = tcase_create("spec_refused");
	SRunner *runner = srunner_create(suite);

	suite_add_tcase(suite, tcase);
	tcase_add_loop_test(tcase, spec_bad_one_is_refused_at_its_place, 0, N(bad));
	srunner_run_all(runner, CK_ENV);
	const int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
