/* tests/proto/test_spec_space.c — groups, "when" and "constraints" of a spec, and Ray's words. */
#include "base/buf.h"
#include "base/fault.h"
#include "tests/proto/spec_text.h"
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SPACE(params)         "{" METRIC ",'parameters':{" params "}}"
#define RULED(params, ruling) "{" METRIC ",'parameters':{" params "},'constraints':" ruling "}"

/* For the tables: what "when" and "constraints" may name. */
#define ABC                                                                                        \
	"'a':{'min':1,'max':9},'b':{'min':1,'max':9},'c-d':{'min':0.0,'max':1.0},"                 \
	"'opt':{'values':['sgd','adamw',7,null,true]},'n':{'values':[16,32]},"                     \
	"'k':{'value':3},'g':{'parameters':{'wd':{'min':0.0,'max':1.0}}},'2e1':{'min':0,'max':2}"

static struct sw_spec *read_spec(const char *text)
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_spec *s = NULL;
	cJSON *tree = parse(text);

	ck_assert_msg(sw_spec_read(&s, tree, &err) == SW_OK, "%s: %s", err.ptr, err.msg);
	ck_assert_ptr_nonnull(s);
	cJSON_Delete(tree);
	return s;
}

/* ---- groups ---- */

START_TEST(spec_groups_are_flattened_in_their_order)
{
	static const struct {
		const char *name, *key, *ptr;
	} want[] = {
		{"lr", "lr", "/parameters/lr"},
		{"opt.kind", "kind", "/parameters/opt/parameters/kind"},
		{"opt.sgd.momentum", "momentum",
		 "/parameters/opt/parameters/sgd/parameters/momentum"},
		{"opt.wd", "wd", "/parameters/opt/parameters/wd"},
		{"dot.ted", "dot.ted", "/parameters/dot.ted"},
		{"a/b.x/y", "x/y", "/parameters/a~1b/parameters/x~1y"},
	};
	struct sw_spec *s = read_spec(SPACE(
		"'lr':{'min':0.1,'max':1.0},'opt':{'parameters':{'kind':{'values':['sgd','adam']},"
		"'sgd':{'parameters':{'momentum':{'min':0.0,'max':1.0}}},'wd':{'value':0}}},"
		"'dot.ted':{'value':[1]},'a/b':{'parameters':{'x/y':{'value':1}}}"));

	ck_assert_uint_eq(s->n_params, N(want));
	ck_assert_uint_eq(s->n_groups, 3);
	for (size_t i = 0; i < N(want); i++) {
		char ptr[160];

		ck_assert_str_eq(s->params[i].name, want[i].name);
		ck_assert_str_eq(s->params[i].key, want[i].key);
		ck_assert_int_eq(sw_spec_param_find(s, want[i].name), (int)i);
		sw_spec_param_pointer(&s->params[i], ptr, sizeof ptr);
		ck_assert_str_eq(ptr, want[i].ptr);
	}
	ck_assert_str_eq(s->params[2].group->key, "sgd");
	ck_assert_str_eq(s->params[2].group->parent->key, "opt");
	ck_assert_ptr_null(s->params[2].group->parent->parent);
	sw_spec_destroy(s);
}
END_TEST

START_TEST(spec_value_of_a_grouped_parameter_is_found_by_its_whole_name)
{
	cJSON *v = parse("{'a':{'b':{'c':1},'b.d':2},'a.b.e':3,'x.y':4,'s':'text'}");

	ck_assert_double_eq(sw_spec_param_value(v, "a.b.c")->valuedouble, 1);
	ck_assert_double_eq(sw_spec_param_value(v, "a.b.d")->valuedouble, 2);
	ck_assert_double_eq(sw_spec_param_value(v, "a.b.e")->valuedouble, 3);
	ck_assert_double_eq(sw_spec_param_value(v, "x.y")->valuedouble, 4);
	ck_assert_ptr_null(sw_spec_param_value(v, "a.b.f"));
	ck_assert_ptr_null(sw_spec_param_value(v, "s.t"));
	ck_assert_ptr_null(sw_spec_param_value(v, "."));
	ck_assert_ptr_null(sw_spec_param_value(NULL, "a.b"));
	cJSON_Delete(v);
}
END_TEST

/* ---- when ---- */

START_TEST(spec_conditions_name_child_parent_and_values)
{
	struct sw_spec *s = read_spec(SPACE(
		"'m':{'min':0.0,'max':1.0,'when':{'opt':'sgd','n':[2,3]}},'n':{'min':1,'max':4},"
		"'opt':{'values':['sgd','adamw']},"
		"'adam':{'when':{'opt':['adamw']},'parameters':{'b1':{'min':0.0,'max':1.0},"
		"'b2':{'min':0.0,'max':1.0,'when':{'n':4}}}}"));
	static const struct {
		const char *child, *parent, *ptr;
		size_t n;
	} want[] = {
		{"m", "opt", "/parameters/m/when/opt", 1},
		{"m", "n", "/parameters/m/when/n", 2},
		{"adam.b1", "opt", "/parameters/adam/when/opt", 1},
		{"adam.b2", "opt", "/parameters/adam/when/opt", 1},
		{"adam.b2", "n", "/parameters/adam/parameters/b2/when/n", 1},
	};

	ck_assert_uint_eq(s->n_conds, N(want));
	for (size_t i = 0; i < N(want); i++) {
		const struct sw_spec_cond *c = &s->conds[i];
		char ptr[160];

		ck_assert_str_eq(s->params[c->child].name, want[i].child);
		ck_assert_str_eq(s->params[c->parent].name, want[i].parent);
		ck_assert_uint_eq(c->n, want[i].n);
		sw_spec_cond_pointer(s, c, ptr, sizeof ptr);
		ck_assert_str_eq(ptr, want[i].ptr);
	}
	ck_assert(sw_spec_param_conditional(s, 0));
	ck_assert(!sw_spec_param_conditional(s, 1));
	sw_spec_destroy(s);
}
END_TEST

/* ---- constraints ---- */

/* The two sides written out again: "2*a*b+1 < b". */
static void print_sum(struct sw_buf *b, const struct sw_spec *s, const struct sw_spec_sum *sum)
{
	for (size_t i = 0; i < sum->n_terms; i++) {
		const struct sw_spec_term *t = &sum->terms[i];

		(void)sw_buf_addf(b, "%s%g", i > 0 ? " + " : "", t->coef);
		for (size_t k = 0; k < t->n_factors; k++)
			(void)sw_buf_addf(b, "*%s", s->params[t->factor[k]].name);
	}
	if (sum->n_terms == 0 || sum->constant != 0)
		(void)sw_buf_addf(b, "%s%g", sum->n_terms > 0 ? " + " : "", sum->constant);
}

static const struct {
	const char *text, *want;
} constraints[] = {
	{"a <= b", "1*a <= 1*b"},
	{"a<b", "1*a < 1*b"},
	{"  a + b   <= 5 ", "1*a + 1*b <= 5"},
	{"2*a < b", "2*a < 1*b"},
	{"a * 2 - b / 4 + 1 >= 0", "2*a + -0.25*b + 1 >= 0"},
	{"a * n <= 64", "1*a*n <= 64"},
	{"n * a <= 64", "1*a*n <= 64"},
	{"2 * (a + 3) * (b - 1) != 6", "-2*a + 6*b + 2*a*b + -6 != 6"},
	{"c-d < 0.5", "1*c-d < 0.5"},
	{"`c-d`<.5", "1*c-d < 0.5"},
	{"c-d - a < 1e-3", "1*c-d + -1*a < 0.001"},
	{"g.wd > 1.5e+1", "1*g.wd > 15"},
	{"2e1 <= 3", "20 <= 3 names nothing"},
	{"`2e1` <= 3", "1*2e1 <= 3"},
	{"-a == - -k", "-1*a == 1*k"},
	{"-(a - b) < +3", "-1*a + 1*b < 3"},
	{"a + a + a < b", "3*a < 1*b"},
	{"a - a + b < 3", "1*b < 3"},
	{"3 > a", "3 > 1*a"},
	{"((((a)))) < (2)", "1*a < 2"},
	{"a*a*a*a < 99", "1*a*a*a*a < 99"},
};

START_TEST(spec_constraint_becomes_two_sums)
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_spec *s = NULL;
	struct sw_buf b;
	char text[800];

	(void)snprintf(text, sizeof text, RULED(ABC, "['a < 99','%s']"), constraints[_i].text);
	cJSON *tree = parse(text);
	const sw_status rc = sw_spec_read(&s, tree, &err);
	cJSON_Delete(tree);
	if (strstr(constraints[_i].want, "names nothing") != NULL) {
		ck_assert_int_eq(rc, SW_INVALID);
		ck_assert_str_eq(err.msg, "the constraint names no parameter");
		return;
	}
	ck_assert_msg(rc == SW_OK, "%s: %s", err.ptr, err.msg);
	ck_assert_uint_eq(s->n_constraints, 2);
	const struct sw_spec_constraint *c = &s->constraints[1];
	ck_assert_str_eq(c->text, constraints[_i].text);
	sw_buf_init(&b, 1000);
	print_sum(&b, s, &c->left);
	(void)sw_buf_addf(&b, " %s ", c->op);
	print_sum(&b, s, &c->right);
	ck_assert_str_eq(b.data, constraints[_i].want);
	sw_buf_fini(&b);
	sw_spec_destroy(s);
}
END_TEST

/* ---- Ray's words ---- */

static const struct {
	const char *text, *dist;
	double min, max, q, mu, sigma;
	size_t n_values;
} rays[] = {
	{"{'distribution':'uniform','lower':1,'upper':2}", "uniform", 1, 2, 1, 0, 1, 0},
	{"{'distribution':'quniform','lower':1,'upper':2,'q':0.5}", "q_uniform", 1, 2, 0.5, 0, 1,
	 0},
	{"{'distribution':'loguniform','lower':1,'upper':2}", "log_uniform_values", 1, 2, 1, 0, 1,
	 0},
	{"{'distribution':'qloguniform','lower':1,'upper':2,'q':0.5}", "q_log_uniform_values", 1, 2,
	 0.5, 0, 1, 0},
	{"{'distribution':'randint','lower':0,'upper':10}", "int_uniform", 0, 9, 1, 0, 1, 0},
	{"{'distribution':'randint','min':-3,'max':-2}", "int_uniform", -3, -3, 1, 0, 1, 0},
	{"{'distribution':'qrandint','lower':0,'upper':10}", "q_uniform", 0, 10, 1, 0, 1, 0},
	{"{'distribution':'qrandint','lower':0,'upper':10,'q':5}", "q_uniform", 0, 10, 5, 0, 1, 0},
	{"{'distribution':'lograndint','lower':1,'upper':10}", "int_log_uniform", 1, 9, 1, 0, 1, 0},
	{"{'distribution':'qlograndint','lower':2,'upper':10,'q':2}", "q_log_uniform_values", 2, 10,
	 2, 0, 1, 0},
	{"{'distribution':'randn','mean':3,'sd':2}", "normal", NAN, NAN, 1, 3, 2, 0},
	{"{'distribution':'qrandn','mean':3,'sd':2,'q':0.5}", "q_normal", NAN, NAN, 0.5, 3, 2, 0},
	{"{'distribution':'choice','categories':[1,2,3]}", "categorical", NAN, NAN, 1, 0, 1, 3},
	{"{'distribution':'grid_search','values':[1,2]}", "categorical", NAN, NAN, 1, 0, 1, 2},
	{"{'grid_search':[1,2]}", "categorical", NAN, NAN, 1, 0, 1, 2},
	{"{'distribution':'int_log_uniform','min':1,'max':9}", "int_log_uniform", 1, 9, 1, 0, 1, 0},
	{"{'min':1,'max':9,'log':true}", "int_log_uniform", 1, 9, 1, 0, 1, 0},
	{"{'min':1.0,'max':9,'log':true}", "log_uniform_values", 1, 9, 1, 0, 1, 0},
};

START_TEST(spec_rays_distribution_is_what_its_name_promises)
{
	char text[400];

	(void)snprintf(text, sizeof text, PARAM "%s}}", rays[_i].text);
	struct sw_spec *s = read_spec(text);
	const struct sw_spec_param *p = &s->params[0];
	ck_assert_str_eq(p->dist, rays[_i].dist);
	ck_assert_int_eq(p->has_min && p->has_max, !isnan(rays[_i].min));
	if (p->has_min) {
		ck_assert_double_eq(p->min, rays[_i].min);
		ck_assert_double_eq(p->max, rays[_i].max);
	}
	ck_assert_double_eq(p->q, rays[_i].q);
	ck_assert_double_eq(p->mu, rays[_i].mu);
	ck_assert_double_eq(p->sigma, rays[_i].sigma);
	ck_assert_uint_eq(p->n_values, rays[_i].n_values);
	ck_assert_int_eq((int)s->n_warnings, strstr(rays[_i].text, "grid_search") != NULL);
	sw_spec_destroy(s);
}
END_TEST

START_TEST(spec_layer_of_a_conditional_parameter_is_warned_of)
{
	struct sw_spec *s = read_spec(
		"{'method':'random','metric':{'name':'val_loss'},'parameters':{'depth':{'min':1,"
		"'max':2},'w2':{'min':4,'max':8,'when':{'depth':2}},'optimizer':{'values':['sgd',"
		"'adamw']},'momentum':{'min':0.0,'max':0.9,'when':{'optimizer':'sgd'}}},'trainer':{"
		"'dataset':{'name':'d'},'batch_size':'depth','model':[{'linear':4},{'linear':'w2'}]"
		"}}");

	ck_assert_uint_eq(s->n_warnings, 1); /* momentum has a default for the rest */
	ck_assert_str_eq(s->warnings[0].ptr, "/trainer/model/1/linear");
	ck_assert_str_eq(s->warnings[0].msg,
			 "\"w2\" is conditional (\"when\"): a trial where it is not active has no "
			 "number for this layer, and fails");
	sw_spec_destroy(s);
}
END_TEST

/* ---- refused ---- */

#define WHEN(when)       SPACE(ABC ",'x':{'min':0,'max':1,'when':" when "}")
#define CONSTRAINT(text) RULED(ABC, "['a < b','" text "']")

static const struct {
	const char *text, *ptr, *msg;
} bad[] = {
	/* groups */
	{SPACE("'g':{'parameters':{}}"), "/parameters/g/parameters",
	 "\"parameters\" is empty: a group needs at least one"},
	{SPACE("'g':{'parameters':[1]}"), "/parameters/g/parameters",
	 "\"parameters\" must be an object of parameters by name, not an array"},
	{SPACE("'g':{'parameters':null}"), "/parameters/g/parameters",
	 "\"parameters\" must be an object of parameters by name, not null"},
	{SPACE("'g':{'parameters':{'a':{'value':1}},'value':1}"), "/parameters/g/value",
	 "\"value\" does not go with \"parameters\": this is a group"},
	{SPACE("'g':{'parameters':{'a':{'value':1}},'wenn':{}}"), "/parameters/g/wenn",
	 "unknown key \"wenn\"; did you mean \"when\"?"},
	{SPACE("'g':{'parameters':{'a':{'min':1}}}"), "/parameters/g/parameters/a/max",
	 "\"max\" is missing (\"min\" needs it)"},
	{SPACE("'g':{'parameters':{'a b':{'value':1}}}"), "/parameters/g/parameters/a b",
	 "a parameter's name is 1 to 128 of the characters a-z A-Z 0-9 _ - . / and starts with a "
	 "letter, a digit or _"},
	{SPACE("'-g':{'parameters':{'a':{'value':1}}}"), "/parameters/-g",
	 "a parameter's name is 1 to 128 of the characters a-z A-Z 0-9 _ - . / and starts with a "
	 "letter, a digit or _"},
	{SPACE("'g.a':{'value':1},'g':{'parameters':{'a':{'value':1}}}"),
	 "/parameters/g/parameters/a", "there is another parameter called \"g.a\""},
	{SPACE("'g':{'parameters':{'a':{'value':1}}},'g.a':{'value':1}"), "/parameters/g.a",
	 "there is another parameter called \"g.a\""},
	/* when */
	{WHEN("[]"), "/parameters/x/when",
	 "\"when\" must be an object like {\"optimizer\": [\"sgd\"]}, not an array"},
	{WHEN("{}"), "/parameters/x/when", "\"when\" is empty"},
	{WHEN("{'op':'sgd'}"), "/parameters/x/when/op",
	 "no parameter is called \"op\"; did you mean \"opt\"?"},
	{WHEN("{'wd':1}"), "/parameters/x/when/wd",
	 "no parameter is called \"wd\"; did you mean \"g.wd\"?"},
	{WHEN("{'something_else':1}"), "/parameters/x/when/something_else",
	 "no parameter is called \"something_else\""},
	{WHEN("{'x':1}"), "/parameters/x/when/x", "\"x\" cannot depend on itself"},
	{WHEN("{'c-d':0.5}"), "/parameters/x/when/c-d",
	 "\"c-d\" is continuous: a condition needs values that can be listed (values, integers, "
	 "pow2 or a q)"},
	{WHEN("{'opt':[]}"), "/parameters/x/when/opt", "the list is empty: it would never hold"},
	{WHEN("{'opt':['sgd','adam']}"), "/parameters/x/when/opt/1",
	 "\"opt\" never is \"adam\"; did you mean \"adamw\"?"},
	{WHEN("{'opt':'lion_and_more'}"), "/parameters/x/when/opt",
	 "\"opt\" never is \"lion_and_more\""},
	{WHEN("{'opt':false}"), "/parameters/x/when/opt", "\"opt\" never has this value"},
	{WHEN("{'opt':'7'}"), "/parameters/x/when/opt", "\"opt\" never is \"7\""},
	{WHEN("{'n':[16,17]}"), "/parameters/x/when/n/1", "\"n\" never has this value"},
	{WHEN("{'k':4}"), "/parameters/x/when/k", "\"k\" never has this value"},
	{WHEN("{'a':'1'}"), "/parameters/x/when/a", "\"a\" is a number, never a string"},
	{SPACE("'a':{'min':0,'max':1,'when':{'b':1}},'b':{'min':0,'max':1,'when':{'c':1}},'c':{"
	       "'min':0,'max':1,'when':{'a':0}}"),
	 "/parameters/c/when/a",
	 "the conditions run in a circle: \"a\" needs \"b\" needs \"c\" needs \"a\""},
	{SPACE("'g':{'when':{'g.a':1},'parameters':{'a':{'min':0,'max':1}}}"),
	 "/parameters/g/when/g.a", "\"g.a\" cannot depend on itself"},
	{SPACE("'o':{'min':0,'max':1},'g':{'when':{'o':1},'parameters':{'a':{'min':0,'max':1,"
	       "'when':{'o':0}}}}"),
	 "/parameters/g/parameters/a/when/o", "a group around \"g.a\" depends on \"o\" already"},
	{SPACE("'o':{'min':0,'max':1},'g':{'when':7,'parameters':{'a':{'min':0,'max':1}}}"),
	 "/parameters/g/when",
	 "\"when\" must be an object like {\"optimizer\": [\"sgd\"]}, not a number"},
	/* constraints */
	{RULED(ABC, "'a < b'"), "/constraints",
	 "\"constraints\" must be an array like [\"l2 <= l1\"], not a string"},
	{RULED(ABC, "[7]"), "/constraints/0", "a constraint is a string, not a number"},
	{CONSTRAINT(""), "/constraints/1",
	 "column 1: the text ends where a number or a parameter must stand"},
	{CONSTRAINT("a"), "/constraints/1",
	 "column 2: a comparison is missing: < <= > >= == or !="},
	{CONSTRAINT("a <"), "/constraints/1",
	 "column 4: the text ends where a number or a parameter must stand"},
	{CONSTRAINT("a = b"), "/constraints/1", "column 3: a single = ; write == , <= or >="},
	{CONSTRAINT("a => b"), "/constraints/1", "column 3: a single = ; write == , <= or >="},
	{CONSTRAINT("a <> b"), "/constraints/1",
	 "column 3: no such comparison: < <= > >= == and != are known"},
	{CONSTRAINT("a === b"), "/constraints/1",
	 "column 3: no such comparison: < <= > >= == and != are known"},
	{CONSTRAINT("a < b < 3"), "/constraints/1",
	 "column 7: a second comparison: write two constraints"},
	{CONSTRAINT("a < b and b < 3"), "/constraints/1",
	 "column 7: the constraint should end here, or go on with + - * /"},
	{CONSTRAINT("a b < 3"), "/constraints/1",
	 "column 3: a comparison must stand here (< <= > >= == or !=), or + - * /"},
	{CONSTRAINT("aa < b"), "/constraints/1",
	 "column 1: no parameter is called \"aa\"; did you mean \"a\"?"},
	{CONSTRAINT("a < wd"), "/constraints/1",
	 "column 5: no parameter is called \"wd\"; did you mean \"g.wd\"?"},
	{CONSTRAINT("a < hidden-units"), "/constraints/1",
	 "column 5: no parameter is called \"hidden-units\" (a - or / that is meant as an operator "
	 "needs spaces around it)"},
	{CONSTRAINT("a < opt"), "/constraints/1",
	 "column 5: a constraint compares numbers, and \"opt\" can be a string"},
	{CONSTRAINT("(a < b"), "/constraints/1", "column 1: a ( without its )"},
	{CONSTRAINT("a < (b"), "/constraints/1", "column 5: a ( without its )"},
	{CONSTRAINT("a < b)"), "/constraints/1",
	 "column 6: the constraint should end here, or go on with + - * /"},
	{CONSTRAINT("`a < b"), "/constraints/1", "column 1: a ` without another one"},
	{CONSTRAINT("`` < b"), "/constraints/1", "column 1: a name is missing between ` and `"},
	{CONSTRAINT("a / b < 1"), "/constraints/1", "column 3: only a number can be divided by"},
	{CONSTRAINT("a / 0 < 1"), "/constraints/1", "column 3: division by 0"},
	{CONSTRAINT("a * a * a * a * a < 1"), "/constraints/1",
	 "column 15: more than 4 parameters multiplied"},
	{CONSTRAINT("1 < 2"), "/constraints/1", "the constraint names no parameter"},
	{CONSTRAINT("a - a < 2"), "/constraints/1", "the constraint names no parameter"},
	{CONSTRAINT("a < 1e999"), "/constraints/1",
	 "column 5: 1e999 is beyond what a number can hold"},
	{CONSTRAINT("a * 1e300 * 1e300 < 1"), "/constraints/1",
	 "the numbers are beyond what a number can hold"},
	{CONSTRAINT("a < %"), "/constraints/1",
	 "column 5: a number or a parameter must stand here"},
	{CONSTRAINT("((((((((((((((((((a))))))))))))))))))<1"), "/constraints/1",
	 "column 17: more than 16 parentheses open"},
	{CONSTRAINT("ä < 1"), "/constraints/1",
	 "column 1: a number or a parameter must stand here"},
	{CONSTRAINT("a < ü"), "/constraints/1",
	 "column 5: a number or a parameter must stand here"},
	/* Ray's words */
	{PARAM "{'min':1,'upper':2}}}", "/parameters/x/upper",
	 "unknown key \"upper\"; did you mean \"max\"?"},
	{PARAM "{'distribution':'int_uniform','lower':1,'max':2}}}", "/parameters/x/lower",
	 "unknown key \"lower\"; did you mean \"min\"?"},
	{PARAM "{'distribution':'randint','min':1,'lower':1,'upper':2}}}", "/parameters/x/lower",
	 "\"min\" and \"lower\" mean the same: give one"},
	{PARAM "{'distribution':'randint','lower':2,'upper':2}}}", "/parameters/x/upper",
	 "randint leaves \"upper\" out: it must be above \"lower\" (int_uniform and "
	 "int_log_uniform include it)"},
	{PARAM "{'distribution':'randint','lower':2.5,'upper':5}}}", "/parameters/x/lower",
	 "\"lower\" of randint must be an integer below 2^53"},
	{PARAM "{'distribution':'qrandint','lower':2,'upper':5,'q':0.5}}}", "/parameters/x/q",
	 "\"q\" of qrandint must be an integer below 2^53"},
	{PARAM "{'distribution':'randint','lower':2}}}", "/parameters/x/max",
	 "\"max\" is missing (distribution \"randint\" needs it)"},
	{PARAM "{'grid_search':7}}}", "/parameters/x/grid_search",
	 "\"grid_search\" must be an array, not a number"},
	{PARAM "{'grid_search':[1,1]}}}", "/parameters/x/grid_search/1",
	 "a value that stands twice; to favour it use \"probabilities\""},
	{PARAM "{'grid_search':[1],'values':[1]}}}", "/parameters/x/grid_search",
	 "\"values\" and \"grid_search\" mean the same: give one"},
	{PARAM "{'distribution':'randn','mean':'x'}}}", "/parameters/x/mean",
	 "\"mean\" must be a number, not a string"},
};

START_TEST(spec_bad_space_is_refused_at_its_place)
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

/* ---- limits ---- */

static sw_status read_text(const char *text, struct sw_err *err)
{
	struct sw_spec *s = NULL;
	cJSON *tree = parse(text);
	const sw_status rc = sw_spec_read(&s, tree, err);

	sw_spec_destroy(s);
	cJSON_Delete(tree);
	return rc;
}

START_TEST(spec_name_with_its_groups_has_a_limit)
{
	char inner[200], text[400];

	for (int over = 0; over < 2; over++) {
		struct sw_err err = SW_ERR_INIT;

		memset(inner, 'x', sizeof inner);
		inner[SW_SPEC_MAX_PARAM_NAME - 2 + over] = '\0'; /* "g." before it */
		(void)snprintf(text, sizeof text, SPACE("'g':{'parameters':{'%s':{'value':1}}}"),
			       inner);
		ck_assert_int_eq(read_text(text, &err), over ? SW_INVALID : SW_OK);
		if (over)
			ck_assert_str_eq(err.msg, "the name is 129 bytes long with those of its "
						  "groups; at most 128 are allowed");
	}
}
END_TEST

START_TEST(spec_over_a_limit_of_its_rules_is_refused)
{
	struct sw_err many = SW_ERR_INIT, terms = SW_ERR_INIT, values = SW_ERR_INIT;
	struct sw_buf b;

	sw_buf_init(&b, 1 << 20);
	(void)sw_buf_adds(&b, "{" METRIC ",'parameters':{" ABC "},'constraints':[");
	for (int i = 0; i <= SW_SPEC_MAX_CONSTRAINTS; i++)
		(void)sw_buf_adds(&b, i > 0 ? ",'a<b'" : "'a<b'");
	(void)sw_buf_adds(&b, "]}");
	ck_assert_int_eq(read_text(b.data, &many), SW_INVALID);
	ck_assert_str_eq(many.msg, "more than 256 constraints");

	sw_buf_fini(&b);
	sw_buf_init(&b, 1 << 20);
	(void)sw_buf_adds(&b, "{" METRIC ",'parameters':{'y':{'value':1}");
	for (int i = 0; i <= SW_SPEC_MAX_TERMS; i++)
		(void)sw_buf_addf(&b, ",'x%d':{'value':1}", i);
	(void)sw_buf_adds(&b, "},'constraints':['0");
	for (int i = 0; i <= SW_SPEC_MAX_TERMS; i++)
		(void)sw_buf_addf(&b, "+x%d", i);
	(void)sw_buf_adds(&b, "<1']}");
	ck_assert_int_eq(read_text(b.data, &terms), SW_INVALID);
	ck_assert_str_eq(terms.ptr, "/constraints/0");
	ck_assert_msg(strstr(terms.msg, "more than 64 terms") != NULL, "%s", terms.msg);

	/* A group's list counts once for each parameter in it. */
	sw_buf_fini(&b);
	sw_buf_init(&b, 1 << 20);
	(void)sw_buf_adds(&b, "{" METRIC ",'parameters':{'y':{'min':0,'max':99999},'g':{'when':{"
			      "'y':[0");
	for (int i = 1; i < 200; i++)
		(void)sw_buf_addf(&b, ",%d", i);
	(void)sw_buf_adds(&b, "]},'parameters':{'z':{'value':1}");
	for (int i = 0; i < 100; i++)
		(void)sw_buf_addf(&b, ",'x%d':{'value':1}", i);
	(void)sw_buf_adds(&b, "}}}}");
	ck_assert_int_eq(read_text(b.data, &values), SW_INVALID);
	ck_assert_str_eq(values.ptr, "/parameters/g/parameters/x99");
	sw_buf_fini(&b);
}
END_TEST

#ifdef SW_FAULTS
START_TEST(spec_space_without_memory_is_a_clean_error)
{
	unsigned fired = 1;

	for (unsigned nth = 1; fired != 0; nth++) {
		struct sw_err err = SW_ERR_INIT;
		struct sw_spec *s = NULL;
		cJSON *tree = parse(RULED("'o':{'values':[1,2],'probabilities':[1,2]},'g':{'when':{"
					  "'o':1},'parameters':{'a':{'min':1,'max':2}}}",
					  "['g.a < 2','o <= g.a']"));

		ck_assert_uint_lt(nth, 60);
		sw_fault_arm(SW_FAULT_MALLOC, nth, false);
		const sw_status rc = sw_spec_read(&s, tree, &err);
		fired = sw_fault_fired(SW_FAULT_MALLOC);
		sw_fault_arm(SW_FAULT_MALLOC, 0, false);
		ck_assert_int_eq(rc, fired != 0 ? SW_NOMEM : SW_OK);
		ck_assert_int_eq(err.code, rc);
		ck_assert((s != NULL) == (rc == SW_OK));
		sw_spec_destroy(s);
		cJSON_Delete(tree);
	}
}
END_TEST
#endif

int main(void)
{
	Suite *suite = suite_create("proto");
	TCase *tcase = tcase_create("spec_space");
	SRunner *runner = srunner_create(suite);

	suite_add_tcase(suite, tcase);
	tcase_add_test(tcase, spec_groups_are_flattened_in_their_order);
	tcase_add_test(tcase, spec_value_of_a_grouped_parameter_is_found_by_its_whole_name);
	tcase_add_test(tcase, spec_conditions_name_child_parent_and_values);
	tcase_add_loop_test(tcase, spec_constraint_becomes_two_sums, 0, N(constraints));
	tcase_add_loop_test(tcase, spec_rays_distribution_is_what_its_name_promises, 0, N(rays));
	tcase_add_test(tcase, spec_layer_of_a_conditional_parameter_is_warned_of);
	tcase_add_loop_test(tcase, spec_bad_space_is_refused_at_its_place, 0, N(bad));
	tcase_add_test(tcase, spec_name_with_its_groups_has_a_limit);
	tcase_add_test(tcase, spec_over_a_limit_of_its_rules_is_refused);
#ifdef SW_FAULTS
	tcase_add_test(tcase, spec_space_without_memory_is_a_clean_error);
#endif
	srunner_run_all(runner, CK_ENV);
	const int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
