/* tests/spec/test_executor.c — "executor": the options of a sweep's own jobs. */
#include "tests/spec/spec_text.h"

#define SLURM(options) HEAD ",'executor':{'slurm':{" options "}}}"
#define OF(key)        "/executor/slurm/" key

static const struct {
	const char *text, *executor, *options;
} taken[] = {
	{HEAD "}", NULL, NULL},
	{SLURM(""), "slurm", NULL},
	{SLURM("'time':'4:00:00','partition':'gpu','account':'x'"), "slurm",
	 "account=x\npartition=gpu\ntime=14400\n"},
	{SLURM("'time':60,'qos.A_b-1':'a=b c','nice':-1.5,'exclusive':true,'comment':false"),
	 "slurm", "comment=\nexclusive=yes\nnice=-1.5\nqos.A_b-1=a=b c\ntime=60\n"},
	{HEAD ",'executor':{'my-own_1':{'time':'3600'}}}", "my-own_1", "time=3600\n"},
};

TEST_ROWS(executor_given_reaches_the_struct_in_the_order_of_its_keys, taken)
{
	struct sw_spec *s = read_spec(taken[_i].text);

	ck_assert_pstr_eq(s->executor, taken[_i].executor);
	ck_assert_pstr_eq(s->job_options, taken[_i].options);
	ck_assert_int_eq(s->job_shape == SW_SPEC_SHAPE_USUAL, taken[_i].options == NULL);
}

TEST(executor_options_that_mean_the_same_are_one_shape_and_others_another)
{
	struct sw_spec *a = read_spec(SLURM("'time':'1:00:00','a':1")),
		       *b = read_spec(SLURM("'a':'1','time':3600")),
		       *c = read_spec(SLURM("'a':'2','time':3600"));

	ck_assert_uint_eq(a->job_shape, b->job_shape);
	ck_assert_uint_ne(a->job_shape, c->job_shape);
	ck_assert_uint_gt(c->job_shape, SW_SPEC_SHAPE_USUAL);
}

#define ONE_MEMBER                                                                                 \
	"\"executor\" must be an object of one member, the executor's name: {\"slurm\": "          \
	"{\"partition\": \"gpu\"}}"
#define NAME "an executor's name has at most 10 small letters, digits, \"-\" and \"_\""
#define KEY  "the name of an option has letters, digits, \"-\", \"_\" and \".\", at most 64"
#define TIME "\"time\" must be \"H:MM:SS\" or seconds, from a minute to a year"
#define TEN  "'a0':1,'a1':1,'a2':1,'a3':1,'a4':1,'a5':1,'a6':1,'a7':1,'a8':1,'a9':1,"

static const struct {
	const char *text, *ptr, *msg;
} bad[] = {
	{HEAD ",'executor':{}}", "/executor", ONE_MEMBER},
	{HEAD ",'executor':{'slurm':{},'ssh':{}}}", "/executor", ONE_MEMBER},
	{HEAD ",'executor':{'slurm':true}}", "/executor/slurm",
	 "\"slurm\" must be an object of options, not true or false"},
	{HEAD ",'executor':{'':{}}}", "/executor/", NAME},
	{HEAD ",'executor':{'../x':{}}}", "/executor/..~1x", NAME},
	{HEAD ",'executor':{'Slurm':{}}}", "/executor/Slurm", NAME},
	{HEAD ",'executor':{'abcdefghijk':{}}}", "/executor/abcdefghijk", NAME},
	{SLURM("'gpus':1"), OF("gpus"),
	 "\"gpus\" is the daemon's, for all its jobs: it stands in the file of --executor-options"},
	{SLURM("'':1"), OF(""), KEY},
	{SLURM("'a b':1"), OF("a b"), KEY},
	{SLURM("'a=b':1"), OF("a=b"), KEY},
	{SLURM("'a\\nb':1"), OF("a?b"), KEY},
	{SLURM("'partition':'gpu\\nwrap=x'"), OF("partition"),
	 "\"partition\" has a control character in it"},
	{SLURM("'partition':''"), OF("partition"), "\"partition\" must have 1 to 900 bytes"},
	{SLURM("'partition':['gpu']"), OF("partition"),
	 "\"partition\" must be a string, a number, true or false, not an array"},
	{SLURM("'time':59"), OF("time"), TIME},
	{SLURM("'time':90.5"), OF("time"), TIME},
	{SLURM("'time':true"), OF("time"), TIME},
	{SLURM("'time':false"), OF("time"), TIME},
	{SLURM("'time':'1:60:00'"), OF("time"), TIME},
	{SLURM("'time':1e9"), OF("time"), TIME},
	{SLURM(TEN "'b':{}"), OF("b"),
	 "\"b\" must be a string, a number, true or false, not an object"},
};

TEST_ROWS(executor_that_is_wrong_is_refused_at_its_place, bad)
{
	check_refused(bad[_i].text, bad[_i].ptr, bad[_i].msg);
}

/* n options, each with a value of so many bytes. */
static void check_many(int n, int bytes, const char *ptr, const char *msg)
{
	char text[40000] = HEAD ",'executor':{'slurm':{";

	for (int i = 0; i < n; i++)
		(void)snprintf(text + strlen(text), sizeof text - strlen(text), "%s'k%02d':'%0*d'",
			       i > 0 ? "," : "", i, bytes, 0);
	strcat(text, "}}}");
	if (msg != NULL)
		check_refused(text, ptr, msg);
	else
		(void)read_spec(text);
}

TEST(executor_options_have_bounds)
{
	check_many(32, 100, NULL, NULL);
	check_many(33, 1, "/executor/slurm", "at most 32 options");
	check_many(4, 900, NULL, NULL);
	check_many(1, 901, "/executor/slurm/k00", "\"k00\" must have 1 to 900 bytes");
	check_many(5, 900, "/executor/slurm", "the options are longer than 4 KiB together");
}

RUN_TESTS(NULL, NULL)
