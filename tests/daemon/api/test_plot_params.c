/* A trial's stored parameters as numbers, by the short way and by the long one. */
#include "daemon/api/plot_params.h"
#include "tests/spec/spec_text.h"
#include <math.h>

#define NO NAN

static const struct {
	const char *params, *text; /* of the spec, of a trial; ' for " */
	double out[3];
} rows[] = {
	{"'a':{'min':0.0,'max':1.0},'b':{'values':['x','y','xy']},'c':{'min':1,'max':9}",
	 "{'a':0.25,'b':'xy','c':7}",
	 {.25, 2, 7}},
	/* not active: the key is not there */
	{"'a':{'values':[1,2]},'b':{'min':0.0,'max':1.0,'when':{'a':1}},'c':{'value':5}",
	 "{'a':2,'c':5}",
	 {1, NO, 0}},
	/* numbers and words that look alike */
	{"'a':{'values':['1',1,true,'true']},'b':{'values':[1,'1']},'c':{'values':[null,[1,2]]}",
	 "{'a':1,'b':'1','c':[1,2]}",
	 {1, 1, 1}},
	{"'a':{'values':['1',1,true,'true']},'b':{'values':[1,'1']},'c':{'values':[0.5,0.25]}",
	 "{'a':'true','b':1,'c':0.25}",
	 {3, 0, 1}},
	/* an escape, an order of its own, blanks: the long way */
	{"'a':{'values':['x\\n','x']},'b':{'min':0.0,'max':1.0},'c':{'min':0.0,'max':1.0}",
	 "{'a':'x\\n','b':1e-3,'c':1}",
	 {0, 1e-3, 1}},
	{"'a':{'min':0.0,'max':1.0},'b':{'min':0.0,'max':1.0},'c':{'min':0.0,'max':1.0}",
	 "{'c': 0.1, 'a': 0.5}",
	 {.5, NO, .1}},
	/* a group */
	{"'o':{'parameters':{'a':{'min':0.0,'max':1.0},'b':{'values':['x','y']}}},'c':{'min':1,'"
	 "max':3}",
	 "{'o':{'a':0.5,'b':'y'},'c':2}",
	 {.5, 1, 2}},
	/* what no plot should fall over */
	{"'a':{'min':0.0,'max':1.0},'b':{'values':['x','y']},'c':{'min':1,'max':3}",
	 "{'a':'x','b':'z','d':2}",
	 {NO, NO, NO}},
};

TEST_ROWS(params_are_numbers_as_the_spec_says, rows)
{
	char text[400];
	double out[3];
	struct sw_plot_param *params;

	(void)snprintf(text, sizeof text, SPACE("%s"), rows[_i].params);
	const struct sw_spec *spec = read_spec(text);
	ck_assert_int_eq(sw_plot_params_describe(spec, &params, NULL), SW_OK);
	sw_plot_params_read(spec, params, quoted(rows[_i].text), out);
	for (size_t k = 0; k < 3; k++) {
		if (isnan(rows[_i].out[k]))
			ck_assert_msg(isnan(out[k]), "%s: %zu is %g", rows[_i].text, k, out[k]);
		else
			ck_assert_msg(out[k] == rows[_i].out[k], "%s: %zu is %g", rows[_i].text, k,
				      out[k]);
	}
	sw_plot_params_free(spec, params);
}

TEST(a_long_list_is_a_value_with_its_text)
{
	struct sw_plot_param *params;
	struct sw_spec *spec;
	cJSON *tree = parse(SPACE("'a':{'value':1}")), *list = cJSON_CreateArray();

	for (int i = 0; i < 5000; i++)
		(void)cJSON_AddItemToArray(list, cJSON_CreateNumber(i));
	(void)cJSON_ReplaceItemInObject(
		cJSON_GetObjectItem(cJSON_GetObjectItem(tree, "parameters"), "a"), "value", list);
	ck_assert_int_eq(sw_spec_read(&spec, tree, NULL), SW_OK);
	ck_assert_int_eq(sw_plot_params_describe(spec, &params, NULL), SW_OK);
	ck_assert_str_eq(params[0].names[0] + strlen(params[0].names[0]) - 11, ",4998,4999]");
	sw_plot_params_free(spec, params);
	sw_spec_destroy(spec);
	cJSON_Delete(tree);
}

RUN_TESTS(NULL, NULL)
