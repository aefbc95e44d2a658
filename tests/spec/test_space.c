/* tests/spec/test_space.c — groups, "when" and "constraints" of a spec, and Ray's words. */
#include "proto/json.h"
#include "spec/param_value.h"
#include "tests/spec/spec_text.h"
#include <math.h>

/* ---- groups ---- */

TEST(spec_groups_are_flattened_in_their_order)
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

	ck_assert_uint_eq(s->n_params, ROWS(want));
	ck_assert_uint_eq(s->n_groups, 3);
	for (size_t i = 0; i < ROWS(want); i++) {
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
}

static const struct {
	const char *param, *values;
	double weights[3];
	const char *warning;
} repeats[] = {
	{"{'values':[3,'a',1,3.0]}", "[3,\"a\",1]", {2, 1, 1}, "value 4 is listed before"},
	{"{'values':['a','b','a','a','b']}", "[\"a\",\"b\"]", {3, 2}, "value 3 is listed before"},
	{"{'values':[[1,[2,'a']],[1,[2]],[1,[2.0,'a']]]}",
	 "[[1,[2,\"a\"]],[1,[2]]]",
	 {2, 1},
	 "value 3 is listed before"},
	{"{'values':[1,2,1],'probabilities':[0.25,0.5,0.125]}",
	 "[1,2]",
	 {0.375, 0.5},
	 "value 3 is listed before"},
	{"{'distribution':'choice','categories':[1,1]}", "[1]", {2}, "value 2 is listed before"},
};

TEST_ROWS(spec_value_that_is_listed_twice_is_one, repeats)
{
	char text[400], printed[100];

	(void)snprintf(text, sizeof text, SPACE("'x':%s"), repeats[_i].param);
	struct sw_spec *s = read_spec(text);
	const struct sw_spec_param *p = &s->params[0];

	ck_assert(cJSON_PrintPreallocated((cJSON *)p->values, printed, sizeof printed, false));
	ck_assert_str_eq(printed, repeats[_i].values);
	for (size_t i = 0; i < p->n_values; i++) {
		ck_assert_double_eq(p->weights[i], repeats[_i].weights[i]);
		ck_assert_uint_eq(sw_spec_value_find(p, cJSON_GetArrayItem(p->values, (int)i)), i);
	}
	ck_assert_uint_eq(s->n_warnings, 1);
	ck_assert_str_eq(s->warnings[0].ptr, "/parameters/x");
	ck_assert_ptr_nonnull(strstr(s->warnings[0].msg, repeats[_i].warning));
	/* The spec itself is as it was given. */
	ck_assert_ptr_ne(
		p->values,
		sw_json_get(sw_json_get(sw_json_get(s->tree, "parameters"), "x"), "values"));
}

/* As a look at each of the values would find it. */
TEST(spec_value_is_found_among_values_of_every_kind)
{
	struct sw_spec *s = read_spec(SPACE("'x':{'values':['b',7,true,'','7',null,[7],-2.5,false,'"
					    "a',[],0,[7,7],[[7],7],1e3,'ab',2]}"));
	cJSON *asked = parse("['a','ab','b','','7',7,7.0,-0.0,0,1000,-2.5,2,2.5,true,false,null,"
			     "'c','B',1,{},[],[7],{'a':7}]");
	const struct sw_spec_param *p = &s->params[0];
	const cJSON *v, *one;

	cJSON_ArrayForEach (v, asked) {
		size_t want = 0;

		cJSON_ArrayForEach (one, p->values) {
			if (sw_spec_same(one, v))
				break;
			want++;
		}
		ck_assert_uint_eq(sw_spec_value_find(p, v), want);
	}
	cJSON_Delete(asked);
}

TEST(spec_value_of_a_grouped_parameter_is_found_by_its_whole_name)
{
	cJSON *v = parse("{'a':{'b':{'c':1},'b.d':2},'a.b.e':3,'x.y':4,'s':'text'}");

	ck_assert_double_eq(sw_param_value(v, "a.b.c")->valuedouble, 1);
	ck_assert_double_eq(sw_param_value(v, "a.b.d")->valuedouble, 2);
	ck_assert_double_eq(sw_param_value(v, "a.b.e")->valuedouble, 3);
	ck_assert_double_eq(sw_param_value(v, "x.y")->valuedouble, 4);
	ck_assert_ptr_null(sw_param_value(v, "a.b.f"));
	ck_assert_ptr_null(sw_param_value(v, "s.t"));
	ck_assert_ptr_null(sw_param_value(v, "."));
	ck_assert_ptr_null(sw_param_value(NULL, "a.b"));
	cJSON_Delete(v);
}

/* ---- when ---- */

TEST(spec_conditions_name_child_parent_and_values)
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

	ck_assert_uint_eq(s->n_conds, ROWS(want));
	for (size_t i = 0; i < ROWS(want); i++) {
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
}

/* ---- constraints ---- */

/* The two sides written out again: "2*a*b+1 < b". */
static void print_sum(struct sw_buf *b, const struct sw_spec *s, const struct sw_sum *sum)
{
	for (size_t i = 0; i < sum->n_terms; i++) {
		const struct sw_term *t = &sum->terms[i];

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

TEST_ROWS(spec_constraint_becomes_two_sums, constraints)
{
	static const char *const ops[] = {[SW_LT] = "<",  [SW_LE] = "<=", [SW_GT] = ">",
					  [SW_GE] = ">=", [SW_EQ] = "==", [SW_NE] = "!="};
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
	print_sum(&b, s, &c->rule.left);
	(void)sw_buf_addf(&b, " %s ", ops[c->rule.op]);
	print_sum(&b, s, &c->rule.right);
	ck_assert_str_eq(b.data, constraints[_i].want);
	sw_buf_fini(&b);
	sw_spec_destroy(s);
}

RUN_TESTS(NULL, NULL)
