/* tests/trainer/spec/test_warned.c — trainers' parts that are good, and what in them is likely a
 * mistake. */
#include "tests/trainer/spec/part_text.h"

static const char *const fine[] = {
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

TEST_ROWS(part_good_one_is_taken, fine)
{
	(void)read_part(fine[_i]);
}

#define NAMED(name)                                                                                \
	"{'method':'random','metric':{'name':'" name                                               \
	"','goal':'minimize'},'parameters':{'lr':{'min':0.1,'max':1.0}},"                          \
	"'trainer':{'dataset':{'name':'d'},'model':[{'linear':9}]"
#define SEARCH(params)                                                                             \
	"{'method':'random','metric':{'name':'val_loss'},'parameters':{" params                    \
	"},'trainer':{'dataset':{'name':'d'},'model':[{'linear':9}]"

#define SET(more)                                                                                  \
	"{'method':'random','metric':{'name':'val_loss'},'parameters':{'lr':{'min':0.1,'max':1.0}" \
	"},'trainer':{'dataset':{'format':'cifar10','path':'c'," more "},'model':[{'linear':9}]"

/* ptr and msg of each warning in turn; none after the last. */
static const struct {
	const char *text, *want[8];
} warned[] = {
	{NAMED("val_accuracy") "}}", {NULL}},
	{NAMED("samples_per_s") ",'loss':'mse'}}", {NULL}},
	{NAMED("val_acc") "}}",
	 {"/metric/name", "the trainer reports train_loss, val_loss, val_accuracy, val_macro_f1, "
			  "val_auc, val_top5, "
			  "samples_per_s, and no "
			  "\"val_acc\": the sweep will fail; did you mean \"val_auc\"?"}},
	{NAMED("val_los") "}}",
	 {"/metric/name", "the trainer reports train_loss, val_loss, val_accuracy, val_macro_f1, "
			  "val_auc, val_top5, "
			  "samples_per_s, and no "
			  "\"val_los\": the sweep will fail; did you mean \"val_loss\"?"}},
	{NAMED("val_accuracy") ",'loss':'mse'}}",
	 {"/metric/name",
	  "the trainer reports train_loss, val_loss, val_rmse, val_mae, val_r2, samples_per_s, and "
	  "no \"val_accuracy\": the "
	  "sweep will fail"}},
	{NAMED("val_loss") ",'optimizer':'adamw','momentum':0.9}}",
	 {"/trainer/momentum", "\"momentum\" has no effect: the optimizer is adamw"}},
	{SEARCH("'nesterov':{'values':[true,false]},'optimizer':{'value':'adamw'}") "}}",
	 {"/parameters/nesterov", "\"nesterov\" has no effect: the optimizer is adamw"}},
	{SEARCH("'momentum':{'min':0.0,'max':0.9},'optimizer':{'values':['sgd','adamw']}") "}}",
	 {NULL}},
	{NAMED("val_loss") ",'beta1':0.8}}",
	 {"/trainer/beta1", "\"beta1\" has no effect: the optimizer is sgd"}},
	{NAMED("val_loss") ",'optimizer':'adam','beta2':0.9}}", {NULL}},
	{SEARCH("'gamma':{'min':0.1,'max':0.9}") "}}",
	 {"/parameters/gamma", "\"gamma\" has no effect: the schedule is not \"step\""}},
	{SEARCH("'gamma':{'min':0.1,'max':0.9},'schedule':{'values':['step','cosine']}") "}}",
	 {NULL}},
	{NAMED("val_loss") ",'loss':'mse','label_smoothing':0.1}}",
	 {"/trainer/label_smoothing", "\"label_smoothing\" has no effect: the loss is mse"}},
	{NAMED("val_loss") ",'nesterov':true}}",
	 {"/trainer/nesterov", "\"nesterov\" has no effect: momentum is 0"}},
	{NAMED("val_loss") ",'nesterov':true,'momentum':0.5}}", {NULL}},
	{SEARCH("'momentum':{'min':0.0,'max':0.9}") ",'nesterov':true}}", {NULL}},
	{SET("'validation':'test'") ",'val_fraction':0.1,'split_seed':3}}",
	 {"/trainer/val_fraction",
	  "\"val_fraction\" has no effect: the data set names its validation part",
	  "/trainer/split_seed",
	  "\"split_seed\" has no effect: the data set names its validation part"}},
	{SET("'normalize':{'mean':[0],'std':[1]}") ",'scale':'standard'}}",
	 {"/trainer/scale", "\"scale\" has no effect: \"normalize\" gives the constants"}},
	{SET("'validation':'split'") ",'val_fraction':0.1,'scale':'none'}}", {NULL}},
};

TEST_ROWS(part_likely_mistake_is_warned_of, warned)
{
	check_part_warned(warned[_i].text, warned[_i].want, ROWS(warned[_i].want));
}

TEST(part_metrics_that_the_trainer_lacks_are_warned_of_one_by_one)
{
	struct sw_spec *s = read_part(
		"{'method':'random','metrics':[{'name':'val_loss'},{'name':'val_lost'},"
		"{'name':'val_accuracy','goal':'maximize'}],'parameters':{'lr':{'min':0.01,"
		"'max':0.1}},'trainer':{'dataset':{'name':'digits'},'model':[{'linear':10}]}}");

	ck_assert_uint_eq(s->n_warnings, 1);
	ck_assert_str_eq(s->warnings[0].ptr, "/metrics/1/name");
}

TEST(part_layer_of_a_conditional_parameter_is_warned_of)
{
	struct sw_spec *s = read_part(
		"{'method':'random','metric':{'name':'val_loss'},'parameters':{'depth':{'min':1,"
		"'max':2},'w2':{'min':4,'max':8,'when':{'depth':2}},'optimizer':{'values':['sgd',"
		"'adamw']},'momentum':{'min':0.0,'max':0.9,'when':{'optimizer':'sgd'}}},'trainer':{"
		"'dataset':{'name':'d'},'batch_size':'depth','model':[{'linear':4},{'linear':'w2'}]"
		"}}");

	ck_assert_uint_eq(s->n_warnings, 1); /* momentum has a default for the rest */
	ck_assert_str_eq(s->warnings[0].ptr, "/trainer/model/1/linear");
	ck_assert_str_eq(s->warnings[0].msg,
			 "\"w2\" is conditional (\"when\"): a trial where it is not active has no "
			 "value for this layer, and fails");
}

#define LOSS "{'method':'random','metric':{'name':'val_loss','goal':'minimize'},'parameters':"
#define NET  ",'trainer':{'dataset':{'name':'digits'},'model':[{'linear':10}]},"
#define LR   "{'lr':{'value':0.1}}"
#define TWO  "'resources':{'cpu_slots':2},'parallel':{'pipeline':2"
#define FOUR "'resources':{'cpu_slots':4},'parallel':{'pipeline':2,'data':2"
#define AT   "/parallel/microbatches"

static const struct {
	const char *text, *want[4];
} parallel[] = {
	{LOSS LR NET TWO "}}", {NULL}},
	{LOSS LR NET TWO ",'microbatches':2}}", {NULL}},
	{LOSS LR NET TWO ",'microbatches':32}}", {NULL}}, /* the batch has 32 rows */
	{LOSS LR NET TWO ",'microbatches':1}}",
	 {AT, "with 1 micro-batch each of the 2 stages waits 50% of a step; with 8 (the default) "
	      "11%"}},
	{LOSS LR NET TWO ",'microbatches':33}}",
	 {AT, "a data rank has 32 rows of a batch of 32, fewer than 33 micro-batches: some are "
	      "empty"}},
	{LOSS "{'batch_size':{'values':[31,15,64]}}" NET FOUR "}}", {NULL}},
	{LOSS "{'batch_size':{'values':[31,14,64]}}" NET FOUR "}}",
	 {AT, "a data rank has 7 rows of a batch of 14, fewer than 8 micro-batches: some are "
	      "empty"}},
	{LOSS "{'batch_size':{'min':2,'max':64}}" NET TWO ",'microbatches':4}}",
	 {AT, "a data rank has 2 rows of a batch of 2, fewer than 4 micro-batches: some are "
	      "empty"}},
	{LOSS "{'batch_size':{'value':64}}" NET TWO ",'microbatches':64}}", {NULL}},
};

TEST_ROWS(part_of_a_pipeline_is_warned_of, parallel)
{
	check_part_warned(parallel[_i].text, parallel[_i].want, ROWS(parallel[_i].want));
}

RUN_TESTS(NULL, NULL)
