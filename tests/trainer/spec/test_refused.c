/* tests/trainer/spec/test_refused.c — the trainer's part of a spec: each rule across its keys and
 * the parameters, with its line and its place. */
#include "tests/trainer/spec/part_text.h"

#define PART                                                                                       \
	"\"micro_batch\" is not for a pipeline: give parallel.microbatches, the number of parts "  \
	"that a batch goes through it in"

static const struct {
	const char *text, *ptr, *msg;
} bad[] = {
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
	/* what a member of a population may not change */
	{"{'method':'random','metric':{'name':'val_loss'},'run_cap':8,'parameters':{'l1':{'min':4,"
	 "'max':64},'drop':{'min':0.0,'max':0.5},'lr':{'min':0.01,'max':0.1}},'trainer':{'dataset':"
	 "{'name':'d'},'model':[{'linear':'l1'},{'dropout':'drop'},{'linear':10}]},"
	 "'early_terminate':{'type':'pbt','perturbation_interval':5,'hyperparam_mutations':['lr',"
	 "'drop','l1']}}",
	 "/early_terminate/hyperparam_mutations/2",
	 "\"l1\" is the size of a layer, or its activation: a checkpoint fits one net only"},
	/* "parallel" */
	{"{" METRIC ",'parameters':{'lr':{'value':0.1}},'trainer':{'dataset':{'name':'digits'},"
	 "'model':[{'linear':10}],'micro_batch':8},'parallel':{'pipeline':2},'resources':{'cpu_"
	 "slots':2}}",
	 "/trainer/micro_batch", PART},
	{"{" METRIC ",'parameters':{'micro_batch':{'values':[1,2]}},'trainer':{'dataset':{'name':'"
	 "digits'},'model':[{'linear':10}]},'parallel':{'pipeline':2},'resources':{'cpu_slots':2}}",
	 "/parameters/micro_batch", PART},
	{"{" METRIC ",'parameters':{'lr':{'value':0.1}},'trainer':{'dataset':{'name':'digits'},"
	 "'micro_batch':4,'model':[{'linear':10}]},'parallel':{'data':2,'sync_batchnorm':true},"
	 "'resources':{'cpu_slots':2}}",
	 "/trainer/micro_batch",
	 "\"micro_batch\" does not go with \"sync_batchnorm\": each rank's rows are one part"},
};

TEST_ROWS(part_bad_one_is_refused_at_its_place, bad)
{
	check_part_refused(bad[_i].text, bad[_i].ptr, bad[_i].msg);
}

#define WRONG                                                                                      \
	TRAIN "{'dataset':{'name':'d','pth':'x'},'model':['relux',{'linear':'l2'}],'lr':[],"       \
	      "'epochs':-3,'optimizer':'opt'}}"

/* Those of its keys come first, then the rules across them; each once. */
TEST(part_faults_are_all_noted)
{
	static const char *const want[] = {"/trainer/dataset/pth", "/trainer/lr", "/trainer/epochs",
					   "/trainer/model/0", "/trainer/model/1/linear"};
	struct sw_spec *s = read_spec(WRONG);
	struct sw_err list[8];
	struct sw_faults f = {list, 8, 0};

	sw_trainer_spec_check(s, &f);
	ck_assert_uint_eq(f.n, ROWS(want));
	for (size_t i = 0; i < ROWS(want); i++)
		ck_assert_str_eq(list[i].ptr, want[i]);
}

/* A parameter that is wrong itself makes no fault of what it feeds, nor an unused one. */
TEST(part_has_no_fault_where_the_spec_has_one)
{
	cJSON *tree = parse("{" METRIC
			    ",'parameters':{'lr':{'min':5,'mox':3},'hidden':{}},'trainer':{"
			    "'dataset':{'name':'d'},'model':[{'linear':'hidden'}]}}");
	struct sw_spec *s = NULL;
	struct sw_err list[8];
	struct sw_faults f = {list, 8, 0};

	ck_assert_int_eq(sw_spec_read_all(&s, tree, &f), SW_OK);
	const size_t own = f.n;
	ck_assert_uint_ge(own, 2);
	sw_trainer_spec_check(s, &f);
	ck_assert_uint_eq(f.n, own);
	sw_spec_destroy(s);
	cJSON_Delete(tree);
}

RUN_TESTS(NULL, NULL)
