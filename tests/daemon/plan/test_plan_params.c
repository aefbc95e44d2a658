/* tests/daemon/plan/test_plan_params.c — a trial's values as JSON and back: exact, and clear where
 * what is given is no point of the space. */
#include "base/buf.h"
#include "daemon/plan/plan.h"
#include "sched/num/rng.h"
#include "spec/param_value.h"
#include "tests/spec/spec_text.h"
#include "tests/walk.h"

/* rest: "parameters" and what follows it. */
static struct sw_spec *read_with(const char *rest)
{
	char text[8192];

	(void)snprintf(text, sizeof text, "{" METRIC ",%s}", rest);
	return read_spec(text);
}

static struct sw_space *space_of(const struct sw_spec *spec)
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_space *space = NULL;

	ck_assert_msg(sw_plan_space(&space, spec, &err) == SW_OK, "%s at %s", err.msg, err.ptr);
	ck_assert_ptr_nonnull(space);
	return space;
}

/* Every distribution, under every kind of condition. */
#define EVERY                                                                                      \
	"'const':{'value':[1,{'a':2}]},'cat':{'values':['sgd','a\\\"b',null,true,7,0.1]},"         \
	"'weighed':{'values':[1,2,3],'probabilities':[0.1,3,0.5],'when':{'cat':['sgd',7,null]}},"  \
	"'int':{'distribution':'int_uniform','min':-5,'max':9007199254740991},"                    \
	"'intlog':{'distribution':'int_log_uniform','min':1,'max':1000000,'when':{'cat':'sgd'}},"  \
	"'real':{'distribution':'uniform','min':-1.5,'max':2},"                                    \
	"'group':{'when':{'weighed':[1,3]},'parameters':{"                                         \
	"'log':{'distribution':'log_uniform_values','min':1e-9,'max':1},"                          \
	"'inv':{'distribution':'inv_log_uniform_values','min':0.5,'max':1000},"                    \
	"'deep':{'parameters':{'q':{'distribution':'q_uniform','min':-1,'max':1,'q':0.1},"         \
	"'pow':{'distribution':'pow2','min':0.125,'max':1024},"                                    \
	"'c':{'value':'fix','when':{'group.deep.q':[0.1,-0.3,0.7]}}}},"                            \
	"'after':{'min':0,'max':3}}},"                                                             \
	"'qlog':{'distribution':'q_log_uniform_values','min':0.001,'max':1,'q':0.001},"            \
	"'norm':{'distribution':'normal','mu':3,'sigma':0.1,'when':{'group.deep.pow':[1,2,4]}},"   \
	"'qnorm':{'distribution':'q_normal','mu':-1,'sigma':4,'q':0.1},"                           \
	"'lognorm':{'distribution':'log_normal','mu':-2,'sigma':1.5},"                             \
	"'qlognorm':{'distribution':'q_log_normal','mu':1,'sigma':1,'q':0.5}},"                    \
	"'constraints':['qlog < 0.9']"

static struct sw_spec *read_every(void)
{
	return read_with("'parameters':{" EVERY);
}

static void check_same(const struct sw_spec *spec, const struct sw_space *space,
		       const struct sw_value *values, const char *text)
{
	struct sw_value back[SW_SPACE_MAX_PARAMS];
	bool given[SW_SPACE_MAX_PARAMS], active[SW_SPACE_MAX_PARAMS];
	struct sw_err err = SW_ERR_INIT;
	cJSON *v = NULL;

	ck_assert_int_eq(sw_json_parse(&v, text, strlen(text), NULL), SW_OK);
	ck_assert_msg(sw_plan_read(spec, space, v, back, given, &err) == SW_OK, "%s at %s in %s",
		      err.msg, err.ptr, text);
	sw_space_active(space, values, active);
	for (size_t i = 0; i < spec->n_params; i++) {
		const char *name = spec->params[i].name;

		ck_assert_msg(back[i].number == values[i].number &&
				      back[i].choice == values[i].choice,
			      "%s: %.17g became %.17g in %s", name, values[i].number,
			      back[i].number, text);
		ck_assert_msg(given[i] == (active[i] || spec->params[i].value != NULL), "%s", name);
		ck_assert_int_eq(sw_param_value(v, name) != NULL, active[i]);
	}
	ck_assert_uint_eq(sw_plan_missing(space, back, given), spec->n_params);
	cJSON_Delete(v);
}

TEST(plan_any_point_comes_back_from_its_json_bit_for_bit)
{
	struct sw_spec *spec = read_every();
	struct sw_space *space = space_of(spec);
	struct sw_value values[SW_SPACE_MAX_PARAMS];
	double unit[SW_SPACE_MAX_PARAMS];
	struct sw_buf text;

	for (uint64_t t = 1; t <= 5000; t++) {
		for (size_t i = 0; i < spec->n_params; i++)
			unit[i] = sw_rng_unit(11, SW_RNG_SAMPLE, t, (uint32_t)i);
		sw_space_decode(space, unit, values);
		sw_space_canonical(space, values);
		sw_buf_init(&text, 4096);
		sw_plan_params(spec, space, values, &text);
		ck_assert_int_eq(text.failed, SW_OK);
		check_same(spec, space, values, text.data);
		sw_buf_fini(&text);
	}
	sw_space_destroy(space);
}

#define READ                                                                                       \
	"'opt':{'values':['sgd','adam',3]},'m':{'min':0.0,'max':1.0,'when':{'opt':'sgd'}},"        \
	"'n':{'min':1,'max':8,'when':{'opt':['adam',3]}},'q':{'min':0.0,'max':1.0,'q':0.1},"       \
	"'p':{'distribution':'pow2','min':4,'max':64},'k':{'value':[1]},'g':{'parameters':{"       \
	"'wd':{'min':0.0,'max':1.0},'deep':{'when':{'n':8},'parameters':{'x':{'min':0,'max':1}}}}" \
	"}"

/* missing: the first active parameter that was not given; NULL: the point is whole. */
static const struct {
	const char *text, *missing;
} taken[] = {
	{"{'opt':'sgd','m':0.5,'q':0.3,'p':8,'g':{'wd':0}}", NULL},
	{"{'opt':'sgd','m':0.5,'q':0.3,'p':8,'g.wd':0,'k':[1]}", NULL},
	{"{'opt':'adam','n':8,'q':0.3,'p':8,'g':{'wd':0,'deep.x':1}}", NULL},
	{"{'opt':'adam','n':8,'q':0.3,'p':8,'g.deep.x':1,'g':{'wd':0}}", NULL},
	{"{'g.deep.x':1,'g':{'wd':0},'p':8,'q':0.3,'n':8,'opt':3}", NULL},
	{"{'opt':'adam','n':8,'q':0.3,'p':8,'g':{'wd':0}}", "g.deep.x"},
	{"{'opt':'sgd','q':0.3,'p':8,'g':{'wd':0}}", "m"},
	/* whether these two are active hangs on what is not given */
	{"{'m':0.5,'q':0.3,'p':8,'g':{'wd':0}}", "opt"},
	{"{'n':3,'q':0.3,'p':8,'g':{'wd':0}}", "opt"},
	{"{}", "opt"},
	{"{'g':{}}", "opt"},
};

TEST_ROWS(plan_point_may_be_given_in_part_and_in_either_form, taken)
{
	struct sw_spec *spec = read_with("'parameters':{" READ "}");
	struct sw_space *space = space_of(spec);
	struct sw_value values[SW_SPACE_MAX_PARAMS];
	bool given[SW_SPACE_MAX_PARAMS];
	struct sw_err err = SW_ERR_INIT;
	cJSON *v = parse(taken[_i].text);

	ck_assert_msg(sw_plan_read(spec, space, v, values, given, &err) == SW_OK, "%s at %s",
		      err.msg, err.ptr);
	const size_t i = sw_plan_missing(space, values, given);
	ck_assert_pstr_eq(i < spec->n_params ? spec->params[i].name : NULL, taken[_i].missing);
	cJSON_Delete(v);
	sw_space_destroy(space);
}

/* What comes, and what is written of it: an integer and a real are two values to a program. */
static const struct {
	const char *param, *given, *written;
} numbers[] = {
	{"'min':0.0,'max':2.0", "1", "1.0"},
	{"'min':0,'max':2.0", "1", "1.0"},
	{"'min':0,'max':2", "1.0", "1"},
	{"'distribution':'uniform','min':0,'max':2", "1", "1.0"},
	{"'min':1,'max':9,'log':true", "3", "3"},
	{"'min':1.0,'max':9,'log':true", "3", "3.0"},
	{"'distribution':'log_uniform','min':0,'max':9", "1", "1.0"},
	{"'distribution':'inv_log_uniform_values','min':1,'max':9", "3", "3.0"},
	{"'distribution':'randint','lower':0,'upper':9", "3", "3"},
	/* on a grid: as all its numbers are written */
	{"'min':0.5,'max':2.0,'q':0.5", "1", "1.0"},
	{"'min':0,'max':8,'q':2", "4.0", "4"},
	{"'min':0,'max':8,'q':2.0", "4", "4.0"},
	{"'min':0,'max':8.0,'q':2", "4", "4.0"},
	{"'min':1,'max':8,'q':2,'log':true", "4", "4"},
	{"'min':1,'max':8.0,'q':2,'log':true", "4", "4.0"},
	{"'distribution':'q_uniform','min':0,'max':8", "4", "4"},
	{"'distribution':'q_log_uniform','min':0.5,'max':8.5,'q':2", "4", "4"},
	{"'distribution':'quniform','lower':0,'upper':8,'q':2", "4", "4.0"},
	{"'distribution':'qrandint','lower':0,'upper':8,'q':2", "4", "4"},
	{"'distribution':'q_normal','mu':0.5", "4", "4"},
	{"'distribution':'q_normal','q':0.5", "4", "4.0"},
	{"'distribution':'pow2','min':1,'max':8", "4", "4"},
	{"'distribution':'pow2','min':0.5,'max':8", "4", "4.0"},
	{"'distribution':'normal'", "3", "3.0"},
	{"'distribution':'log_normal'", "3", "3.0"},
	/* of a list: as it was given */
	{"'values':[0.9,1.0]", "1", "1.0"},
	{"'values':[1,2]", "1.0", "1"},
	{"'values':[1,1.5,2]", "1", "1"},
	{"'value':2.0", "2", "2.0"},
	{"'value':2", "2.0", "2"},
	/* beside its grid, or its bounds, by less than anyone means */
	{"'min':0.0,'max':0.6,'q':0.1", "0.6000000000000001", "0.6"},
	{"'min':0.0,'max':0.6,'q':0.1", "0.30000001192092896", "0.3"},
	{"'min':0.0,'max':0.19999999999999998,'q':0.1", "0.2", "0.19999999999999998"},
	{"'min':0.30000000000000004,'max':0.9,'q':0.1", "0.3", "0.30000000000000004"},
	{"'min':0.0,'max':0.3", "0.30000000000000004", "0.3"},
};

TEST_ROWS(plan_number_is_written_as_what_its_parameter_draws, numbers)
{
	char text[400], want[80];
	struct sw_value values[SW_SPACE_MAX_PARAMS];
	bool given[SW_SPACE_MAX_PARAMS];
	struct sw_err err = SW_ERR_INIT;
	struct sw_buf out;

	(void)snprintf(text, sizeof text, "'parameters':{'x':{%s}}", numbers[_i].param);
	struct sw_spec *spec = read_with(text);
	struct sw_space *space = space_of(spec);
	(void)snprintf(text, sizeof text, "{'x':%s}", numbers[_i].given);
	cJSON *v = parse(text);
	ck_assert_msg(sw_plan_read(spec, space, v, values, given, &err) == SW_OK, "%s at %s in %s",
		      err.msg, err.ptr, numbers[_i].param);
	sw_buf_init(&out, 1000);
	sw_plan_params(spec, space, values, &out);
	(void)snprintf(want, sizeof want, "{\"x\":%s}", numbers[_i].written);
	ck_assert_str_eq(out.data, want);
	sw_buf_fini(&out);
	cJSON_Delete(v);
	sw_space_destroy(space);
}

static const struct {
	const char *text, *ptr, *msg;
} refused[] = {
	{"[]", "", "the parameters must be an object, not an array"},
	{"7", "", "the parameters must be an object, not a number"},
	{"{'op':'sgd'}", "/op", "no parameter is called \"op\"; did you mean \"opt\"?"},
	{"{'g':{'wdd':1}}", "/g/wdd", "no parameter is called \"wdd\"; did you mean \"wd\"?"},
	{"{'g':{'deep':{'completely':1}}}", "/g/deep/completely",
	 "no parameter is called \"completely\""},
	{"{'g':3}", "/g", "\"g\" is a group of parameters: an object, not a number"},
	{"{'opt':'sgdd'}", "/opt",
	 "\"sgdd\" is not one of the values of \"opt\"; did you mean \"sgd\"?"},
	{"{'opt':4}", "/opt", "this is not one of the values of \"opt\""},
	{"{'opt':{'a':1}}", "/opt", "this is not one of the values of \"opt\""},
	{"{'k':[2]}", "/k", "\"k\" is a constant, and this is not its value"},
	{"{'q':'0.1'}", "/q", "\"q\" is a number, not a string"},
	{"{'q':null}", "/q", "\"q\" is a number, not null"},
	{"{'q':0.25}", "/q", "0.25 is not a multiple of q 0.1; 0.3 is the nearest"},
	{"{'q':1.1}", "/q", "1.1 is above max 1"},
	{"{'p':12}", "/p", "12 is not a power of two; 16 is"},
	{"{'p':2}", "/p", "2 is below min 4"},
	{"{'opt':'adam','n':2.5}", "/n", "2.5 is not an integer"},
	{"{'opt':'adam','n':9}", "/n", "9 is above max 8"},
	{"{'g':{'wd':-1}}", "/g/wd", "-1 is below min 0"},
	{"{'g':{'wd':1},'g.wd':1}", "/g.wd", "\"g.wd\" is given twice"},
	{"{'opt':'adam','m':0.5}", "/m",
	 "\"m\" is not active here: its \"when\" asks for another \"opt\""},
	{"{'opt':'adam','n':8,'m':0.5,'q':0.3,'p':8,'g':{'wd':0,'deep':{'x':1}}}", "/m",
	 "\"m\" is not active here: its \"when\" asks for another \"opt\""},
	/* its parent is not active either, whatever its value would be */
	{"{'opt':'sgd','g':{'deep':{'x':1}}}", "/g/deep/x",
	 "\"g.deep.x\" is not active here: its \"when\" asks for another \"n\""},
};

TEST_ROWS(plan_what_is_no_point_is_refused_at_its_place, refused)
{
	struct sw_spec *spec = read_with("'parameters':{" READ "}");
	struct sw_space *space = space_of(spec);
	struct sw_value values[SW_SPACE_MAX_PARAMS];
	bool given[SW_SPACE_MAX_PARAMS];
	struct sw_err err = SW_ERR_INIT;
	cJSON *v = parse(refused[_i].text);

	ck_assert_int_eq(sw_plan_read(spec, space, v, values, given, &err), SW_INVALID);
	ck_assert_str_eq(err.msg, refused[_i].msg);
	ck_assert_str_eq(err.ptr, refused[_i].ptr);
	ck_assert_int_eq(sw_plan_read(spec, space, v, values, given, NULL), SW_INVALID);
	cJSON_Delete(v);
	sw_space_destroy(space);
}

/* What the spec alone cannot see, told at its place in the spec. */
static const struct {
	const char *params, *ptr, *msg;
} bad[] = {
	{"'parameters':{'a':{'min':1,'max':4},'b':{'min':0,'max':1,'when':{'a':[2,5]}}}",
	 "/parameters/b/when/a/1", "5 is above max 4"},
	{"'parameters':{'a':{'distribution':'pow2','min':4,'max':64},'g':{'when':{'a':12},'"
	 "parameters':{'b':{"
	 "'min':0,'max':1}}}}",
	 "/parameters/g/when/a", "12 is not a power of two; 16 is"},
	{"'parameters':{'a':{'min':0.0,'max':1.0,'q':0.25},'b':{'min':0,'max':1,'when':{'a':0.3}}}",
	 "/parameters/b/when/a",
	 "0.29999999999999999 is not a multiple of q 0.25; 0.25 is the nearest"},
	{"'parameters':{'g':{'parameters':{'b':{'min':3.0,'max':1.0}}}}",
	 "/parameters/g/parameters/b/min", "min 3 is above max 1"},
};

TEST_ROWS(plan_space_that_cannot_be_is_refused_at_its_place, bad)
{
	struct sw_spec *spec = read_with(bad[_i].params);
	struct sw_err err = SW_ERR_INIT;
	struct sw_space *space = NULL;

	ck_assert_int_eq(sw_plan_space(&space, spec, &err), SW_INVALID);
	ck_assert_ptr_null(space);
	ck_assert_str_eq(err.msg, bad[_i].msg);
	ck_assert_str_eq(err.ptr, bad[_i].ptr);
}

TEST(plan_constraint_of_the_spec_rules_the_space)
{
	static const struct {
		double a, b;
		uint32_t n;
		const char *msg;
	} rows[] = {
		{8, 4, 0, NULL},
		{4, 8, 0, "the constraint \"b <= a\" does not hold"},
		{8, 8, 3, "the constraint \"a * n + 2*k <= 512\" does not hold"},
		{8, 8, 2, NULL},
		{100, 8, 3, NULL}, /* n is not active where a is 100: the second does not apply */
	};
	struct sw_spec *spec =
		read_with("'parameters':{'a':{'min':1,'max':100},'b':{'min':1,'max':100},"
			  "'n':{'values':[16,61,62,64],'when':{'a':[1,2,4,8]}},"
			  "'k':{'value':8}},'constraints':['b <= a','a * n + 2*k <= "
			  "512']");
	struct sw_space *space = space_of(spec);

	for (size_t i = 0; i < ROWS(rows); i++) {
		const struct sw_value values[] = {{.number = rows[i].a},
						  {.number = rows[i].b},
						  {.choice = rows[i].n},
						  {.choice = 0}};
		struct sw_err err = SW_ERR_INIT;

		ck_assert_int_eq(sw_plan_feasible(spec, space, values, &err),
				 rows[i].msg == NULL ? SW_OK : SW_INVALID);
		ck_assert_str_eq(err.msg, rows[i].msg == NULL ? "" : rows[i].msg);
	}
	sw_space_destroy(space);
}

TEST(plan_space_without_memory_is_a_clean_error)
{
	struct sw_spec *spec = read_every();

	WALK (SW_FAULT_MALLOC, 1) {
		struct sw_err err = SW_ERR_INIT;
		struct sw_space *space = NULL;

		walk_arm();
		const sw_status rc = sw_plan_space(&space, spec, &err);
		const unsigned fired = walk_disarm();
		ck_assert_int_eq(rc, fired != 0 ? SW_NOMEM : SW_OK);
		ck_assert_int_eq(err.code, rc);
		ck_assert((space != NULL) == (rc == SW_OK));
		sw_space_destroy(space);
	}
}

RUN_TESTS(NULL, NULL)
