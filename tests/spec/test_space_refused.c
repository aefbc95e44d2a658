/* tests/spec/test_space_refused.c — groups, "when" and "constraints" that are wrong or too
 * many. */
#include "base/buf.h"
#include "tests/spec/spec_text.h"
#include "tests/walk.h"

/* ---- refused ---- */

#define WHEN(when) SPACE(ABC ",'x':{'min':0,'max':1,'when':" when "}")
#define LOSES_DIGITS                                                                               \
	"a whole number of 2^53 or more would lose digits: put quotes around it, or write it as "  \
	"a "                                                                                       \
	"real (1.0e18)"
#define CONSTRAINT(text) RULED(ABC, "['a < b','" text "']")

static const struct {
	const char *text, *ptr, *msg;
} bad[] = {
	/* groups */
	{SPACE("'g':{'parameters':{}}"), "/parameters/g/parameters",
	 "\"parameters\" is empty: a group needs at least one"},
	{SPACE("'g':{'parameters':[1]}"), "/parameters/g/parameters",
	 "\"parameters\" must be an object of parameters by name, not an array"},
	{SPACE("'g':{'parameters':{'a':{'value':1}},'value':1}"), "/parameters/g/value",
	 "\"value\" does not go with \"parameters\": this is a group, which has \"when\" beside it "
	 "alone"},
	{SPACE("'g':{'parameters':{'a':{'min':1}}}"), "/parameters/g/parameters/a/max",
	 "\"max\" is missing (\"min\" needs it)"},
	{SPACE("'-g':{'parameters':{'a':{'value':1}}}"), "/parameters/-g",
	 "a parameter's name is 1 to 128 of the characters a-z A-Z 0-9 _ - . / and starts with a "
	 "letter, a digit or _, or with + or ++ before it"},
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
	{WHEN("{'something_else':1}"), "/parameters/x/when/something_else",
	 "no parameter is called \"something_else\""},
	{WHEN("{'x':1}"), "/parameters/x/when/x", "\"x\" cannot depend on itself"},
	{WHEN("{'c-d':0.5}"), "/parameters/x/when/c-d",
	 "\"c-d\" is continuous: a condition needs values that can be listed (values, integers, "
	 "pow2 or a q)"},
	{WHEN("{'opt':[]}"), "/parameters/x/when/opt", "the list is empty: it would never hold"},
	{WHEN("{'opt':['sgd','adam']}"), "/parameters/x/when/opt/1",
	 "\"opt\" never is \"adam\"; did you mean \"adamw\"?"},
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
	{CONSTRAINT("a <"), "/constraints/1",
	 "column 4: the text ends where a number or a parameter must stand"},
	{CONSTRAINT("a = b"), "/constraints/1", "column 3: a single = ; write == , <= or >="},
	{CONSTRAINT("a <> b"), "/constraints/1",
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
	{CONSTRAINT("a < b)"), "/constraints/1",
	 "column 6: the constraint should end here, or go on with + - * /"},
	{CONSTRAINT("`a < b"), "/constraints/1", "column 1: a ` without another one"},
	{CONSTRAINT("`` < b"), "/constraints/1", "column 1: a name is missing between ` and `"},
	{CONSTRAINT("a / b < 1"), "/constraints/1", "column 3: only a number can be divided by"},
	{CONSTRAINT("a / 0 < 1"), "/constraints/1", "column 3: division by 0"},
	{CONSTRAINT("a * a * a * a * a < 1"), "/constraints/1",
	 "column 15: more than 4 parameters multiplied"},
	{CONSTRAINT("a - a < 2"), "/constraints/1", "the constraint names no parameter"},
	{CONSTRAINT("a < 1e999"), "/constraints/1",
	 "column 5: 1e999 is beyond what a number can hold"},
	{CONSTRAINT("a < 9007199254740993"), "/constraints/1",
	 "column 5: 9007199254740993 is 2^53 or more, and would lose digits: write a real"},
	{CONSTRAINT("a * 1e300 * 1e300 < 1"), "/constraints/1",
	 "the numbers are beyond what a number can hold"},
	{CONSTRAINT("((((((((((((((((((a))))))))))))))))))<1"), "/constraints/1",
	 "column 17: more than 16 parentheses open"},
	{CONSTRAINT("ä < 1"), "/constraints/1",
	 "column 1: a number or a parameter must stand here"},
	/* what a double does not hold */
	{PARAM "{'value':12345678901234567890}}}", "/parameters/x/value", LOSES_DIGITS},
	{PARAM "{'values':[1,-9007199254740992]}}}", "/parameters/x/values", LOSES_DIGITS},
	{PARAM "{'values':[[1.0],{'a':[0,9007199254740993]}]}}}", "/parameters/x/values",
	 LOSES_DIGITS},
	{PARAM "{'grid_search':[9007199254740992]}}}", "/parameters/x/grid_search", LOSES_DIGITS},
	{PARAM "{'value':1}},'command':['a',9007199254740992],'run':{'cwd':'/'}}", "/command",
	 LOSES_DIGITS},
	/* Ray's words */
	{PARAM "{'distribution':'randint','lower':2,'upper':2}}}", "/parameters/x/upper",
	 "randint leaves \"upper\" out: it must be above \"lower\" (int_uniform and "
	 "int_log_uniform include it)"},
	{PARAM "{'distribution':'qrandint','lower':2,'upper':5,'q':0.5}}}", "/parameters/x/q",
	 "\"q\" of qrandint must be an integer below 2^53"},
};

TEST_ROWS(spec_bad_space_is_refused_at_its_place, bad)
{
	check_refused(bad[_i].text, bad[_i].ptr, bad[_i].msg);
}

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

TEST(spec_name_with_its_groups_has_a_limit)
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

TEST(spec_over_a_limit_of_its_rules_is_refused)
{
	struct sw_err many = SW_ERR_INIT, terms = SW_ERR_INIT, values = SW_ERR_INIT;
	struct sw_buf b;

	sw_buf_init(&b, 1 << 20);
	(void)sw_buf_adds(&b, "{" METRIC ",'parameters':{" ABC "},'constraints':[");
	for (size_t i = 0; i <= SW_SPACE_MAX_CONSTRAINTS; i++)
		(void)sw_buf_adds(&b, i > 0 ? ",'a<b'" : "'a<b'");
	(void)sw_buf_adds(&b, "]}");
	ck_assert_int_eq(read_text(b.data, &many), SW_INVALID);
	ck_assert_str_eq(many.msg, "\"constraints\" has 257 of them: it takes 0 to 256");

	sw_buf_fini(&b);
	sw_buf_init(&b, 1 << 20);
	(void)sw_buf_adds(&b, "{" METRIC ",'parameters':{'y':{'value':1}");
	for (size_t i = 0; i <= SW_SPACE_MAX_TERMS; i++)
		(void)sw_buf_addf(&b, ",'x%zu':{'value':1}", i);
	(void)sw_buf_adds(&b, "},'constraints':['0");
	for (size_t i = 0; i <= SW_SPACE_MAX_TERMS; i++)
		(void)sw_buf_addf(&b, "+x%zu", i);
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

TEST(spec_space_without_memory_is_a_clean_error)
{
	WALK (SW_FAULT_MALLOC, 1) {
		struct sw_err err = SW_ERR_INIT;
		struct sw_spec *s = NULL;
		cJSON *tree = parse(RULED("'o':{'values':[1,2],'probabilities':[1,2]},'g':{'when':{"
					  "'o':1},'parameters':{'a':{'min':1,'max':2}}}",
					  "['g.a < 2','o <= g.a']"));

		walk_arm();
		const sw_status rc = sw_spec_read(&s, tree, &err);
		const unsigned fired = walk_disarm();
		ck_assert_int_eq(rc, fired != 0 ? SW_NOMEM : SW_OK);
		ck_assert_int_eq(err.code, rc);
		ck_assert((s != NULL) == (rc == SW_OK));
		sw_spec_destroy(s);
		cJSON_Delete(tree);
	}
}

RUN_TESTS(NULL, NULL)
