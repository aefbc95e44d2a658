/* tests/spec/test_spec.c — sweep specs: what the good ones become, and what they are warned of. */
#include "base/memory.h"
#include "tests/spec/spec_text.h"
#include "tests/walk.h"
#include <math.h>

/* One parameter each, and what it becomes: q, mu and sigma where they are not 1, 0 and 1; and
 * whether it is warned of. */
static const struct {
	const char *text, *want;
} params[] = {
	{"{'value':[1,{'a':2}]}", "constant"},
	{"{'distribution':'constant','value':1}", "constant"},
	{"{'values':[1,'a',true,false,null,'1']}", "categorical of 6"},
	{"{'distribution':'categorical','values':[1]}", "categorical of 1"},
	{"{'distribution':'categorical_w_probabilities','values':[1,2],'probabilities':[1,3]}",
	 "categorical of 2"},
	{"{'min':1,'max':8}", "int_uniform 1..8"},
	{"{'min':1.0,'max':8}", "uniform 1..8"},
	{"{'min':0,'max':1e1}", "uniform 0..10"},
	{"{'min':0,'max':0.5}", "uniform 0..0.5"},
	{"{'min':0,'max':8,'q':2}", "q_uniform 0..8 q2"},
	{"{'distribution':'int_uniform','min':1.0,'max':8}", "int_uniform 1..8"},
	{"{'distribution':'uniform','min':1,'max':8}", "uniform 1..8"},
	{"{'distribution':'q_uniform','min':1,'max':8}", "q_uniform 1..8"},
	{"{'distribution':'log_uniform_values','min':0.001,'max':1}",
	 "log_uniform_values 0.001..1"},
	{"{'distribution':'log_uniform','min':0,'max':0}", "log_uniform_values 1..1"},
	{"{'distribution':'inv_log_uniform','min':0,'max':0}", "inv_log_uniform_values 1..1"},
	{"{'distribution':'inv_log_uniform_values','min':1,'max':2}",
	 "inv_log_uniform_values 1..2"},
	{"{'distribution':'q_log_uniform','min':0,'max':0,'q':3}", "q_log_uniform_values 1..1 q3"},
	{"{'distribution':'qloguniform','min':1,'max':9,'q':3}",
	 "q_log_uniform_values 1..9 q3 warned"},
	{"{'min':0.1,'max':1,'log':true}", "log_uniform_values 0.1..1"},
	{"{'min':1,'max':9,'log':true,'q':1}", "q_log_uniform_values 1..9"},
	{"{'min':1,'max':9,'log':false}", "int_uniform 1..9"},
	{"{'distribution':'pow2','min':4,'max':256}", "pow2 4..256"},
	{"{'distribution':'normal'}", "normal"},
	{"{'distribution':'q_normal','mu':3,'q':0.5}", "q_normal q0.5 mu3"},
	{"{'distribution':'log_normal','sigma':2}", "log_normal sigma2"},
	{"{'distribution':'q_log_normal'}", "q_log_normal"},
	/* Ray's words */
	{"{'distribution':'uniform','lower':1,'upper':2}", "uniform 1..2"},
	{"{'distribution':'quniform','lower':1,'upper':2,'q':0.5}", "q_uniform 1..2 q0.5"},
	{"{'distribution':'loguniform','lower':1,'upper':2}", "log_uniform_values 1..2"},
	{"{'distribution':'qloguniform','lower':1,'upper':2,'q':0.5}",
	 "q_log_uniform_values 1..2 q0.5"},
	{"{'distribution':'randint','lower':0,'upper':10}", "int_uniform 0..9"},
	{"{'distribution':'randint','min':-3,'max':-2}", "int_uniform -3..-3"},
	{"{'distribution':'qrandint','lower':0,'upper':10}", "q_uniform 0..10"},
	{"{'distribution':'qrandint','lower':0,'upper':10,'q':5}", "q_uniform 0..10 q5"},
	{"{'distribution':'lograndint','lower':1,'upper':10}", "int_log_uniform 1..9"},
	{"{'distribution':'qlograndint','lower':2,'upper':10,'q':2}",
	 "q_log_uniform_values 2..10 q2"},
	{"{'distribution':'randn','mean':3,'sd':2}", "normal mu3 sigma2"},
	{"{'distribution':'qrandn','mean':3,'sd':2,'q':0.5}", "q_normal q0.5 mu3 sigma2"},
	{"{'distribution':'choice','categories':[1,2,3]}", "categorical of 3"},
	{"{'distribution':'grid_search','values':[1,2]}", "categorical of 2 warned"},
	{"{'grid_search':[1,2]}", "categorical of 2 warned"},
	{"{'distribution':'int_log_uniform','min':1,'max':9}", "int_log_uniform 1..9"},
	{"{'min':1,'max':9,'log':true}", "int_log_uniform 1..9"},
	{"{'min':1.0,'max':9,'log':true}", "log_uniform_values 1..9"},
};

static void show(const struct sw_spec *s, char *out, size_t cap)
{
	const struct sw_spec_param *p = &s->params[0];
	int n = snprintf(out, cap, "%s", sw_dist_name(p->dist));

	ck_assert_int_eq(p->has_min, p->has_max);
	if (p->has_min)
		n += snprintf(out + n, cap - (size_t)n, " %g..%g", p->min, p->max);
	if (p->q != 1)
		n += snprintf(out + n, cap - (size_t)n, " q%g", p->q);
	if (p->mu != 0)
		n += snprintf(out + n, cap - (size_t)n, " mu%g", p->mu);
	if (p->sigma != 1)
		n += snprintf(out + n, cap - (size_t)n, " sigma%g", p->sigma);
	if (p->n_values > 0)
		n += snprintf(out + n, cap - (size_t)n, " of %zu", p->n_values);
	n += snprintf(out + n, cap - (size_t)n, "%s", s->n_warnings > 0 ? " warned" : "");
	ck_assert_uint_lt((size_t)n, cap);
}

TEST_ROWS(spec_parameter_becomes_its_distribution, params)
{
	char text[400], shown[100];

	(void)snprintf(text, sizeof text, PARAM "%s}}", params[_i].text);
	struct sw_spec *s = read_spec(text);
	const struct sw_spec_param *p = &s->params[0];

	show(s, shown, sizeof shown);
	ck_assert_str_eq(shown, params[_i].want);
	ck_assert_uint_eq(s->n_params, 1);
	ck_assert_str_eq(p->name, "x");
	ck_assert_int_eq(p->values != NULL, p->dist == SW_DIST_CATEGORICAL);
	ck_assert_int_eq(p->value != NULL, p->dist == SW_DIST_CONSTANT);
	ck_assert_int_eq(p->weights != NULL, strstr(text, "probabilities':") != NULL);
}

TEST(spec_exponents_become_values_and_warn_where_they_look_like_values)
{
	struct sw_spec *s = read_spec(
		"{" METRIC ",'parameters':{'a':{'distribution':'log_uniform','min':-7,'max':0},"
		"'b':{'distribution':'log_uniform','min':0.001,'max':0.1}}}");

	ck_assert_double_eq(s->params[0].min, exp(-7));
	ck_assert_double_eq(s->params[0].max, 1);
	ck_assert_uint_eq(s->n_warnings, 1);
	ck_assert_str_eq(s->warnings[0].ptr, "/parameters/b");
	ck_assert_str_eq(s->warnings[0].msg,
			 "min and max of log_uniform are exponents of e: values go from 1.001 to "
			 "1.10517; log_uniform_values takes the values themselves");
}

TEST(spec_defaults_are_those_of_the_docs)
{
	struct sw_spec *s = read_spec(HEAD ",'early_terminate':{'type':'asha'}}");

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
	ck_assert_double_eq(s->gpu, 0.0); /* not said */
	ck_assert_uint_eq(s->cpu, 1);
	ck_assert_ptr_null(s->trainer);
	ck_assert_int_eq(s->pruner.kind, SW_PRUNER_ASHA);
	ck_assert_uint_eq(s->n_warnings, 0);
	sw_spec_destroy(NULL);
}

static const char whole[] =
	"{'name':'n','description':'d','method':'grid','seed':7,'metric':{'name':'acc','goal':"
	"'maximize'},'parameters':{'l1':{'distribution':'pow2','min':4,'max':64},'lr':{'min':0.01,"
	"'max':0.1},'opt':{'values':['sgd','adamw'],'probabilities':[1,2]},'drop':{'min':0.0,'max':"
	"0.5},'batch_size':{'distribution':'q_uniform','min':1,'max':64,'q':8}},'run_cap':9,"
	"'max_concurrent':3,'retries':0,'lease_s':1.5,'resources':{'gpu':1,'cpu':4},"
	"'early_terminate':{'type':'asha','variant':'stop','min_iter':2,'eta':3,'brackets':2,"
	"'min_results':5},'trainer':{'dataset':{'format':'csv','path':'p.csv','label':3,'header':"
	"false},'model':[{'linear':'l1'},'tanh',{'dropout':'drop'},{'linear':3}],'epochs':27,"
	"'optimizer':'opt','nesterov':true,'split_seed':1,'scale':'none','loss':'mse',"
	"'val_fraction':0.25,'weight_decay':0.1}}";

TEST(spec_every_key_reaches_the_struct)
{
	struct sw_spec *s = read_spec(whole);

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
	ck_assert_double_eq(s->gpu, 1.0);
	ck_assert_uint_eq(s->cpu, 4);
	ck_assert_ptr_eq(s->trainer, sw_json_get(s->tree, "trainer"));
}

static const char *const fine[] = {
	HEAD ",'name':'Größe \xe2\x9c\x93'}",
	HEAD ",'seed':9007199254740991}",
};

TEST_ROWS(spec_good_one_is_taken, fine)
{
	(void)read_spec(fine[_i]);
}

#define NAMED(name)                                                                                \
	"{'method':'random','metric':{'name':'" name                                               \
	"','goal':'minimize'},'parameters':{'lr':{'min':0.1,'max':1.0}},"                          \
	"'trainer':{'dataset':{'name':'d'},'model':[{'linear':9}]"
/* ptr and msg of each warning in turn; none after the last. */
static const struct {
	const char *text, *want[8];
} warned[] = {
	{HEAD ",'resources':{'gpu':1}}", {NULL}},
	{HEAD ",'project':'p','entity':7,'controller':{},'resources':{'cpu':2}}",
	 {"/project", "\"project\" has no effect here", "/entity", "\"entity\" has no effect here",
	  "/controller", "\"controller\" has no effect here", "/resources/cpu",
	  "\"cpu\" has no effect without \"command\""}},
	{HEAD ",'scheduler':{'engine':'wandb'}}",
	 {"/scheduler", "\"scheduler\" has no effect here"}},
	{"{'method':'random','parameters':{'x':{'min':2,'max':3}},'apiVersion':'v1','kind':'sweep',"
	 "'metric':{'name':'m','impute':'worst','impute_while_running':'false'}}",
	 {"/apiVersion", "\"apiVersion\" has no effect here", "/kind",
	  "\"kind\" has no effect here", "/metric",
	  "\"impute\" has no effect: samplers learn from a trial without a value by a rule of "
	  "their own",
	  "/metric",
	  "\"impute_while_running\" has no effect: samplers learn from a trial without a value by "
	  "a rule of their own"}},
	{HEAD ",'lease_s':5,'early_terminate':{'type':'asha'}}", {NULL}},
	{HEAD ",'name':'a/50'}",
	 {"/name", "`sweep` reads \"a/50\" as a trial, not as this name: give it the sweep's "
		   "number"}},
	{HEAD ",'name':'50'}",
	 {"/name", "`sweep` reads \"50\" as a sweep's number, not as this name: give it the "
		   "sweep's number"}},
	{HEAD ",'name':'a/5b'}", {NULL}},
	{HEAD ",'name':'5/'}", {NULL}},
	{HEAD ",'suggest_wait_ms':5}",
	 {"/suggest_wait_ms",
	  "\"suggest_wait_ms\" has no effect: method \"random\" has its suggestions at once"}},
	/* Without a method it is bayes, which this key is for. */
	{"{'metric':{'name':'m'},'parameters':{'x':{'min':0,'max':2}},'suggest_wait_ms':5}",
	 {NULL}},
	{"{'method':'bayes','metric':{'name':'m'},'parameters':{'a':{'min':-5,'max':5},"
	 "'b':{'min':0,'max':1},'g':{'parameters':{'c':{'min':-1,'max':0}}},"
	 "'d':{'min':-5.0,'max':5},'e':{'min':-5,'max':5,'distribution':'int_uniform'},"
	 "'f':{'min':1,'max':9,'log':true},'h':{'min':-5,'max':5,'q':1}}}",
	 {"/parameters/a",
	  "whole numbers from -5 to 5 are drawn; for reals write -5.0, or \"distribution\": "
	  "\"uniform\"; for whole numbers \"int_uniform\" says so",
	  "/parameters/b",
	  "whole numbers from 0 to 1 are drawn; for reals write 0.0, or \"distribution\": "
	  "\"uniform\"; for whole numbers \"int_uniform\" says so",
	  "/parameters/g/parameters/c",
	  "whole numbers from -1 to 0 are drawn; for reals write -1.0, or \"distribution\": "
	  "\"uniform\"; for whole numbers \"int_uniform\" says so"}},
	{"{'method':'random','metric':{'name':'m'},'parameters':{'a':{'min':1,'max':9,'q':2},"
	 "'b':{'min':2,'max':9,'q':2},'c':{'min':0.05,'max':0.5,'q':0.1},"
	 "'d':{'min':0.30000000000000004,'max':0.5,'q':0.1},'e':{'min':3,'max':9,'q':2,'log':true},"
	 "'f':{'distribution':'q_log_uniform','min':0.5,'max':9,'q':2},"
	 "'g':{'distribution':'quniform','lower':-3,'upper':9,'q':2}}}",
	 {"/parameters/a", "min 1 is no multiple of q 2: the first value is 2", "/parameters/c",
	  "min 0.05 is no multiple of q 0.1: the first value is 0.1", "/parameters/e",
	  "min 3 is no multiple of q 2: the first value is 4", "/parameters/g",
	  "min -3 is no multiple of q 2: the first value is -2"}},
	{NAMED("val_loss") "},'lease_s':5}",
	 {"/lease_s", "\"lease_s\" has no effect: trials on slots have no lease"}},
	{NAMED("val_loss") ",'epochs':3},'early_terminate':{'type':'asha'}}", {NULL}},
};

TEST_ROWS(spec_likely_mistake_is_warned_of, warned)
{
	check_warned(warned[_i].text, warned[_i].want, ROWS(warned[_i].want));
}

TEST(spec_warnings_over_the_limit_are_dropped)
{
	struct sw_buf b;

	sw_buf_init(&b, 1 << 16);
	(void)sw_buf_adds(&b, "{" METRIC ",'parameters':{");
	for (int i = 0; i <= SW_SPEC_MAX_WARNINGS; i++)
		(void)sw_buf_addf(&b,
				  "%s'x%d':{'distribution':'log_uniform','min':0.001,'max':0.1}",
				  i > 0 ? "," : "", i);
	(void)sw_buf_adds(&b, "}}");
	struct sw_spec *s = read_spec(b.data);
	ck_assert_uint_eq(s->n_warnings, SW_SPEC_MAX_WARNINGS);
	ck_assert_str_eq(s->warnings[SW_SPEC_MAX_WARNINGS - 1].ptr, "/parameters/x15");
	sw_buf_fini(&b);
}

TEST(spec_with_reals_of_any_size_is_read)
{
	static const char *const texts[] = {
		PARAM "{'min':1,'max':9007199254740991}}}",
		PARAM "{'min':1.0,'max':1e18}}}",
		PARAM "{'min':0.0,'max':1152921504606846976}}}",
		PARAM "{'min':0,'max':1152921504606846976,'q':1e6}}}",
	};

	for (size_t i = 0; i < ROWS(texts); i++) {
		struct sw_spec *s = read_spec(texts[i]);

		ck_assert_int_eq(s->params[0].dist == SW_DIST_INT_UNIFORM, i == 0);
	}
}

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

TEST(spec_over_a_limit_is_refused)
{
	const char *const open = "{" METRIC ",'parameters':{";

	ck_assert_int_eq(read_many(open, "'x", "':{'value':1}", SW_SPACE_MAX_PARAMS), SW_OK);
	ck_assert_int_eq(read_many(open, "'x", "':{'value':1}", SW_SPACE_MAX_PARAMS + 1),
			 SW_INVALID);
	ck_assert_int_eq(read_many(PARAM "{'values':[", "", "", SW_SPACE_MAX_CHOICES), SW_OK);
	ck_assert_int_eq(read_many(PARAM "{'values':[", "", "", SW_SPACE_MAX_CHOICES + 1),
			 SW_INVALID);
}

TEST(spec_without_memory_fails_cleanly_at_each_call)
{
	cJSON_Hooks hooks = {.malloc_fn = sw_malloc, .free_fn = free};
	cJSON *tree = parse(whole);

	cJSON_InitHooks(&hooks);
	WALK (SW_FAULT_MALLOC, 1) {
		struct sw_err err = SW_ERR_INIT;
		struct sw_spec *s = NULL;

		walk_arm();
		const sw_status rc = sw_spec_read(&s, tree, &err);
		const unsigned fired = walk_disarm();
		ck_assert_int_eq(rc, fired ? SW_NOMEM : SW_OK);
		ck_assert_int_eq(err.code, rc);
		ck_assert_int_eq(s == NULL, fired);
		sw_spec_destroy(s);
	}
	cJSON_InitHooks(NULL);
	cJSON_Delete(tree);
}

#define PRECISE(more)                                                                              \
	"{" METRIC ",'parameters':{'lr':{'min':0.01,'max':0.1}},'trainer':{'dataset':{"            \
	"'name':'digits'},'model':[{'linear':10}]" more "}}"

static const struct {
	const char *text, *precision;
} precise[] = {
	{PRECISE(""), NULL},
	{PRECISE(",'precision':'fp32'"), NULL},
	{PRECISE(",'precision':'bf16'"), "bf16"},
};

TEST_ROWS(spec_precision_is_that_of_the_trainer_unless_fp32, precise)
{
	struct sw_spec *s = read_spec(precise[_i].text);

	ck_assert_pstr_eq(s->precision, precise[_i].precision);
}

RUN_TESTS(NULL, NULL)
