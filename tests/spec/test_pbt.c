/* tests/spec/test_pbt.c — type "pbt" of "early_terminate", and which parameters may change. */
#include "tests/spec/spec_text.h"

#define DRIVEN(text)                                                                               \
	"{" METRIC ",'run_cap':8,'parameters':{'lr':{'min':0.01,'max':0.1},'k':{'value':3},"       \
	"'g':{'parameters':{'wd':{'min':0.0,'max':1.0}}}},'early_terminate':{'type':'pbt'" text    \
	"}}"
/* l1 is the size of a layer, drop in the layers too, lr and opt are options. */
#define TRAINED(epochs, text)                                                                      \
	"{'method':'random','metric':{'name':'val_loss'},'run_cap':8,'parameters':{'l1':{"         \
	"'distribution':'pow2','min':4,'max':64},'drop':{'min':0.0,'max':0.5},'lr':{'min':0.01,"   \
	"'max':0.1},'opt':{'values':['sgd','adamw']},'batch_size':{'value':32}},'trainer':{"       \
	"'dataset':{'name':'d'},'model':[{'linear':'l1'},{'dropout':'drop'},{'linear':10}],"       \
	"'optimizer':'opt','epochs':" #epochs "},'early_terminate':{'type':'pbt'" text "}}"
#define FIVE ",'perturbation_interval':5"

static const struct {
	const char *text;
	uint64_t interval, burn_in;
	double quantile, resample;
	size_t n_factors;
	double first, last;
	const char *mutate; /* by parameter, '1' where it may change */
} good[] = {
	{DRIVEN(FIVE), 5, 0, 0.25, 0.25, 2, 1.2, 0.8, "101"},
	{DRIVEN(",'perturbation_interval':1,'burn_in_period':3,'quantile_fraction':0.5,"
		"'resample_probability':0,'perturbation_factors':[2],'hyperparam_mutations':['g.wd'"
		"]"),
	 1, 3, 0.5, 0, 1, 2, 2, "001"},
	{DRIVEN(FIVE ",'resample_probability':1,'perturbation_factors':[1.5,1,0.5]"), 5, 0, 0.25, 1,
	 3, 1.5, 0.5, "101"},
	{TRAINED(27, FIVE), 5, 0, 0.25, 0.25, 2, 1.2, 0.8, "00100"},
	{TRAINED(27, FIVE ",'hyperparam_mutations':['drop','lr']"), 5, 0, 0.25, 0.25, 2, 1.2, 0.8,
	 "01100"},
};

TEST_ROWS(pbt_is_read_with_its_defaults, good)
{
	struct sw_spec *s = read_spec(good[_i].text);
	const struct sw_pbt_config *p = &s->pruner.pbt;
	char mutate[8] = "";

	ck_assert_int_eq(s->pruner.kind, SW_PRUNER_PBT);
	ck_assert_uint_eq(sw_spec_max_t(s), 0);
	ck_assert_uint_eq(p->perturbation_interval, good[_i].interval);
	ck_assert_uint_eq(p->burn_in_period, good[_i].burn_in);
	ck_assert_double_eq(p->quantile_fraction, good[_i].quantile);
	ck_assert_double_eq(p->resample_probability, good[_i].resample);
	ck_assert_uint_eq(p->factor_n, good[_i].n_factors);
	ck_assert_double_eq(p->factor[0], good[_i].first);
	ck_assert_double_eq(p->factor[p->factor_n - 1], good[_i].last);
	for (size_t i = 0; i < s->n_params; i++)
		mutate[i] = p->fixed[i] ? '0' : '1';
	ck_assert_str_eq(mutate, good[_i].mutate);
	ck_assert_uint_eq(s->n_warnings, 0);
}

#define UNTOLD(more)                                                                               \
	"{" METRIC ",'run_cap':8,'parameters':{'lr':{'min':0.01,'max':0.1}" more "},'trainer':{"   \
	"'dataset':{'name':'d'},'model':[{'linear':10}]},'early_terminate':{'type':'pbt'" FIVE     \
	"}}"

/* epochs: how long each trial trains, as far as it is known; 0: it is not. */
static const struct {
	const char *text;
	uint64_t epochs;
} lengths[] = {
	{DRIVEN(FIVE), 0},
	{TRAINED(27, FIVE), 27},
	{UNTOLD(""), 10},
	{UNTOLD(",'epochs':{'value':7}"), 7},
	{UNTOLD(",'epochs':{'min':5,'max':9}"), 0},
};

TEST_ROWS(pbt_knows_the_epochs_that_all_members_have, lengths)
{
	struct sw_spec *s = read_spec(lengths[_i].text);

	ck_assert_uint_eq(s->pruner.pbt.last_step, lengths[_i].epochs);
}

#define AT        "/early_terminate"
#define MUT(text) FIVE ",'hyperparam_mutations':" text
static const struct {
	const char *text, *ptr, *msg;
} bad[] = {
	{HEAD ",'early_terminate':{'type':'pbt','perturbation_interval':5}}", AT,
	 "type \"pbt\" needs the sweep's \"run_cap\": it is the size of the population"},
	{HEAD ",'run_cap':1,'early_terminate':{'type':'pbt','perturbation_interval':5}}", AT,
	 "type \"pbt\" needs a \"run_cap\" of 2 or more: it is the size of the population"},
	{DRIVEN(MUT("['lr','wd']")), AT "/hyperparam_mutations/1",
	 "hyperparam_mutations \"wd\": no parameter of that name (there are lr, k, g.wd)"},
	{DRIVEN(MUT("['g.wx']")), AT "/hyperparam_mutations/0",
	 "hyperparam_mutations \"g.wx\": no parameter of that name; did you mean \"g.wd\"? (there "
	 "are lr, k, g.wd)"},
	{DRIVEN(MUT("['lr','lr']")), AT "/hyperparam_mutations/1", "\"lr\" is there twice"},
	{DRIVEN(MUT("['k']")), AT "/hyperparam_mutations/0",
	 "\"k\" is a constant: it cannot change"},
	{"{" METRIC
	 ",'run_cap':8,'parameters':{'k':{'value':3}},'early_terminate':{'type':'pbt'" FIVE "}}",
	 AT "/hyperparam_mutations",
	 "no parameter can change from one member to the next: each is a constant, in the model's "
	 "layers, the optimizer or the epochs"},
	{TRAINED(27, MUT("['opt']")), AT "/hyperparam_mutations/0",
	 "\"opt\" is the optimizer: a checkpoint holds the state of one"},
	{"{'method':'random','metric':{'name':'val_loss'},'run_cap':8,'parameters':{'epochs':{'min'"
	 ":"
	 "3,'max':9},'lr':{'min':0.1,'max':1.0}},'trainer':{'dataset':{'name':'d'},'model':[{"
	 "'linear':9}]},'early_terminate':{'type':'pbt'" MUT("['lr','epochs']") "}}",
	 AT "/hyperparam_mutations/1",
	 "\"epochs\" is how long a trial trains, which is the same for all members"},
	/* keys of others */
	{DRIVEN(",'perturb_interval':3"), AT "/perturb_interval",
	 "unknown key \"perturb_interval\"; did you mean \"perturbation_interval\"?"},
};

TEST_ROWS(pbt_that_is_wrong_is_refused_at_its_place, bad)
{
	check_refused(bad[_i].text, bad[_i].ptr, bad[_i].msg);
}

static const struct {
	const char *text, *want[2];
} warned[] = {
	{TRAINED(5, FIVE),
	 {AT "/perturbation_interval", "trials are never compared: a trial has 5 epochs, and the "
				       "first comparison would be at step 5"}},
	{TRAINED(6, FIVE), {NULL}},
	{TRAINED(9, FIVE ",'burn_in_period':20"),
	 {AT "/perturbation_interval", "trials are never compared: a trial has 9 epochs, and the "
				       "first comparison would be at step 20"}},
};

TEST_ROWS(pbt_without_a_comparison_is_warned_of, warned)
{
	check_warned(warned[_i].text, warned[_i].want, ROWS(warned[_i].want));
}

RUN_TESTS(NULL, NULL)
