#include "daemon/pilot_options.h"
#include "tests/run.h"

static struct sw_pilot_options o;
static struct sw_err err;

static void setup(void)
{
	sw_pilot_options_init(&o);
	err = (struct sw_err)SW_ERR_INIT;
}

TEST(pilot_options_known_keys_are_read_and_others_kept_in_order)
{
	ck_assert_int_eq(sw_pilot_options_parse(&o,
						"# a comment\n\n"
						"time = 4:00:00\r\n"
						"gpus=2\n"
						"  cpus\t=  8  \n"
						"mem = 4G\n"
						"idle = 60\n"
						"listen = [::1]:7010\n"
						"address = head.cluster\n"
						"partition = gpu\n"
						"extra = --qos high --comment a=b",
						"f", &err),
			 SW_OK);
	ck_assert_uint_eq(o.time_s, 14400);
	ck_assert_uint_eq(o.gpus, 2);
	ck_assert_uint_eq(o.cpus, 8);
	ck_assert_int_eq(o.mem, INT64_C(4) << 30);
	ck_assert_uint_eq(o.idle_s, 60);
	ck_assert_str_eq(o.listen, "::1");
	ck_assert_uint_eq(o.port, 7010);
	ck_assert_str_eq(o.address, "head.cluster");
	ck_assert_str_eq(o.other, "partition=gpu\nextra=--qos high --comment a=b\n");
}

TEST(pilot_options_without_a_file_are_one_core_and_five_minutes)
{
	ck_assert_uint_eq(o.cpus, 1);
	ck_assert_uint_eq(o.idle_s, 300);
	ck_assert_str_eq(o.listen, "0.0.0.0");
	ck_assert_uint_eq(o.port + o.gpus + o.time_s, 0);
}

static const struct {
	const char *text, *says;
} bad[] = {
	{"time = 4h", "f:1: time = 4h: a time is"},
	{"time = 59", "f:1: time"},
	{"time = 1:60:00", "f:1: time"},
	{"\n\ngpus = -1", "f:3: gpus"},
	{"cpus = 0", "f:1: cpus"},
	{"mem = 4X", "f:1: mem"},
	{"mem = 4GB", "f:1: mem"},
	{"mem = 99999999999999T", "f:1: mem"},
	{"idle = 0", "f:1: idle"},
	{"listen = 7010", "f:1: listen"},
	{"listen = host:70000", "f:1: listen"},
	{"listen = []:1", "f:1: listen"},
	{"address = two words", "f:1: address"},
	{"partition gpu", "f:1: a line is"},
	{"= gpu", "f:1: a line is"},
	{"two words = gpu", "f:1: a line is"},
	{"partition =", "f:1: a line is"},
};

TEST_ROWS(pilot_options_bad_line_is_refused_with_its_number, bad)
{
	ck_assert_int_eq(sw_pilot_options_parse(&o, bad[_i].text, "f", &err), SW_INVALID);
	ck_assert_msg(strncmp(err.msg, bad[_i].says, strlen(bad[_i].says)) == 0, "%s: %s",
		      bad[_i].says, err.msg);
}

TEST(pilot_options_too_many_for_the_environment_are_refused)
{
	char text[6000] = "";

	for (int i = 0; i < 5; i++)
		(void)snprintf(text + strlen(text), sizeof text - strlen(text), "k%d = %0900d\n", i,
			       0);
	ck_assert_int_eq(sw_pilot_options_parse(&o, text, "f", &err), SW_INVALID);
	ck_assert_msg(strstr(err.msg, "f:5: ") != NULL, "%s", err.msg);
}

static const struct {
	const char *lines;
	unsigned time_s;
	const char *other;
} over[] = {
	{"", 600, "partition=cpu\nqos=low\nqos-x=1\n"},
	{"time=14400\n", 14400, "partition=cpu\nqos=low\nqos-x=1\n"},
	{"account=x\npartition=gpu\n", 600, "qos=low\nqos-x=1\naccount=x\npartition=gpu\n"},
	{"partition=\nqos=\n", 600, "qos-x=1\n"},
	{"part=1\nnone=\n", 600, "partition=cpu\nqos=low\nqos-x=1\npart=1\n"},
};

TEST_ROWS(pilot_options_of_a_sweep_go_over_those_of_the_file, over)
{
	char out[SW_PILOT_OPTIONS];
	unsigned time_s;

	ck_assert_int_eq(sw_pilot_options_parse(&o, "time=600\npartition=cpu\nqos=low\nqos-x=1\n",
						"f", &err),
			 SW_OK);
	sw_pilot_options_over(&o, over[_i].lines, &time_s, out);
	ck_assert_uint_eq(time_s, over[_i].time_s);
	ck_assert_str_eq(out, over[_i].other);
}

RUN_TESTS(setup, NULL)
