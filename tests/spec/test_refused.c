/* tests/spec/test_refused.c — sweep specs that are refused: where, and in which words. */
#include "tests/run.h"
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
	{HEAD ",'name':'a\\nb'}", "/name",
	 "\"name\" has a control or text-direction character in it"},
	{HEAD ",'name':'a\\u202eb'}", "/name",
	 "\"name\" has a control or text-direction character in it"},
	{"{'method':'cmaes'}", "/method",
	 "unknown method \"cmaes\": it must be \"random\", \"grid\", \"sobol\", \"tpe\", \"bohb\" "
	 "or \"bayes\""},
	{"{'method':'bayesian'}", "/method",
	 "unknown method \"bayesian\"; did you mean \"bayes\"?"},
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
	{PARAM "{'distribution':'normal','min':0,'max':1}}}", "/parameters/x/min",
	 "\"min\" does not go with distribution \"normal\""},
	{PARAM "{'distribution':'int_uniform','min':0,'max':1.5}}}", "/parameters/x/max",
	 "\"max\" of int_uniform must be an integer below 2^53"},
	{PARAM "{'min':-1152921504606846976,'max':1152921504606846976}}}", "/parameters/x/min",
	 "\"min\" of int_uniform must be an integer below 2^53; for reals write it with a point or "
	 "an exponent"},
	{PARAM "{'min':1,'max':9007199254740992,'log':true}}}", "/parameters/x/max",
	 "\"max\" of int_log_uniform must be an integer below 2^53; for reals write it with a "
	 "point "
	 "or an exponent"},
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
	/* trainer */
	{TRAIN "{'dataset':{'name':'digits','path':'x'}}}", "/trainer/dataset/path",
	 "\"path\" does not go with \"name\": give \"format\" in its place"},
	{TRAIN "{'dataset':{'name':'digits','format':'csv'}}}", "/trainer/dataset/format",
	 "\"format\" does not go with \"name\": give one of them"},
	{TRAIN "{'dataset':{'path':'x'}}}", "/trainer/dataset/format",
	 "\"format\" is missing: a data set needs \"name\", or \"format\": \"csv\" with path and "
	 "label"},
	{TRAIN "{'dataset':{'name':'d'},'model':[]}}", "/trainer/model", "model is empty"},
	{TRAIN "{'dataset':{'name':'d'},'model':['relu']}}", "/trainer/model",
	 "the model has no \"linear\" layer, so there is nothing to train"},
	{TRAIN "{'dataset':{'name':'d'},'model':['rellu']}}", "/trainer/model/0",
	 "unknown layer \"rellu\"; did you mean \"relu\"?"},
	{TRAIN "{'dataset':{'name':'d'},'model':['softmax']}}", "/trainer/model/0",
	 "layer \"softmax\" is not supported by this version"},
	{TRAIN "{'dataset':{'name':'d'},'model':[{'conv2d':3}]}}", "/trainer/model/0/conv2d",
	 "\"conv2d\" takes options: {\"conv2d\": {\"out\": 6, \"kernel\": 5}}"},
	{TRAIN "{'dataset':{'name':'d'},'model':[{'conv2d':{'out':3,'kernel':0}}]}}",
	 "/trainer/model/0/conv2d/kernel",
	 "\"kernel\" must be an integer, at least 1 and at most 10000, or the name of a parameter"},
	{TRAIN "{'dataset':{'name':'d'},'model':[{'residual':[{'linear':'l3'}]}]}}",
	 "/trainer/model/0/residual/0/linear",
	 "layer \"l3\": no parameter of that name; did you mean \"l1\"? (there are l1, lr, opt)"},
	{TRAIN "{'dataset':{'name':'d'},'model':{'preset':'vgg'}}}", "/trainer/model/preset",
	 "\"preset\" is mlp, lenet-cifar, resnet18-cifar, resnet50 or transformer-encoder"},
	{TRAIN "{'dataset':{'name':'d'},'model':{'preset':'mlp'}}}", "/trainer/model",
	 "mlp needs \"outputs\": {\"preset\": \"mlp\", \"outputs\": 10}"},
	{TRAIN "{'dataset':{'name':'d'},'model':{'preset':'lenet-cifar','l3':4}}}",
	 "/trainer/model/l3", "\"l3\" is no option of lenet-cifar; did you mean \"l1\"?"},
	{TRAIN "{'dataset':{'name':'d'},'model':{'preset':'lenet-cifar','l1':'lr'}}}",
	 "/parameters/lr",
	 "\"lr\" feeds \"l1\", which takes integers: use int_uniform, pow2, q_uniform with an "
	 "integer q, or values"},
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
	{TRAIN "{'dataset':{'name':'d'},'model':[{'linear':9},{'activation':'rleu'}]}}",
	 "/trainer/model/1/activation",
	 "\"activation\" must be \"relu\", \"tanh\", \"gelu\", \"silu\" or \"sigmoid\", or the "
	 "name of a parameter"},
	{TRAIN "{'dataset':{'name':'d'},'model':[{'linear':9},{'activation':'opt'}]}}",
	 "/parameters/opt/values/0",
	 "\"opt\" feeds \"activation\", which must be \"relu\", \"tanh\", \"gelu\", \"silu\" or "
	 "\"sigmoid\""},
	{TRAIN "{" REST ",'lr':0.1}}", "/trainer/lr",
	 "\"lr\" is in \"parameters\" too: which one counts? Remove one"},
	{TRAIN "{" REST ",'batch_size':0}}", "/trainer/batch_size",
	 "\"batch_size\" must be an integer, at least 1 and at most 1000000000"},
	{TRAIN "{" REST ",'momentum':1}}", "/trainer/momentum",
	 "\"momentum\" must be a number, at least 0 and below 1"},
	{TRAIN "{" REST ",'momentum':'mo'}}", "/trainer/momentum",
	 "option \"momentum\": \"mo\": no parameter of that name (there are l1, lr, opt)"},
	{TRAIN "{" REST ",'loss':'nll'}}", "/trainer/loss",
	 "unknown loss \"nll\": it must be \"cross_entropy\" or \"mse\", the same for every trial"},
	{"{" METRIC ",'parameters':{'precision':{'values':['fp32','bf16']}},'trainer':{'dataset':{"
	 "'name':'d'},'model':[{'linear':9}]}}",
	 "/parameters/precision",
	 "\"precision\" is the same for every trial: give it in \"trainer\""},
	{TRAIN "{" REST ",'beta1':'opt'}}", "/parameters/opt/values/0",
	 "\"opt\" feeds \"beta1\", which must be a number, at least 0 and below 1"},
	{TRAIN "{'dataset':{'name':'digits'}," MODEL ",'optimizer':'adma'}}", "/trainer/optimizer",
	 "unknown optimizer \"adma\": it must be \"sgd\", \"adam\" or \"adamw\", or the name of a "
	 "parameter"},
	{TRAIN "{'dataset':{'name':'digits'}," MODEL "}}", "/parameters/opt",
	 "nothing uses the parameter \"opt\"; did you mean \"optimizer\"?"},
	{"{" METRIC ",'parameters':{'hidden':{'value':8}},'trainer':{'dataset':{"
	 "'name':'d'},'model':[{'linear':9}]}}",
	 "/parameters/hidden",
	 "nothing uses the parameter \"hidden\": name it in trainer.model, give its name to an "
	 "option of the trainer, or name it like one (lr, batch_size, momentum, ...)"},
	{"{" METRIC ",'parameters':{'learning_rate':{'min':0.1,'max':1.0}},'trainer':{'dataset':{"
	 "'name':'d'},'model':[{'linear':9}]}}",
	 "/parameters/learning_rate",
	 "nothing uses the parameter \"learning_rate\"; did you mean \"lr\"?"},
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
	 "/parameters/nesterov", "\"nesterov\" feeds \"nesterov\", which must be true or false"},
};

TEST_ROWS(spec_bad_one_is_refused_at_its_place, bad)
{
	check_refused(bad[_i].text, bad[_i].ptr, bad[_i].msg);
}

RUN_TESTS(NULL, NULL)
