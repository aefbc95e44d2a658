/* tests/spec/test_parallel.c — "parallel": the slots that work on one trial. */
#include "tests/run.h"
#include "tests/spec/spec_text.h"

#define TRAINED                                                                                    \
	"{" METRIC ",'parameters':{'lr':{'value':0.1}},'trainer':{'dataset':{'name':'digits'},'"   \
	"model':[{'linear':10}]}"

START_TEST(parallel_ranks_are_as_many_as_the_slots)
{
	struct sw_spec *two =
		read_spec(TRAINED ",'parallel':{'data':2},'resources':{'cpu_slots':2}}");
	struct sw_spec *gpus = read_spec(TRAINED ",'parallel':{'data':2},'resources':{'gpu':2}}");
	struct sw_spec *most = read_spec(
		TRAINED ",'parallel':{'data':64,'transport':'tcp'},'resources':{'cpu_slots':64}}");
	struct sw_spec *none = read_spec(TRAINED "}");
	struct sw_spec *synced = read_spec(
		TRAINED
		",'parallel':{'data':2,'sync_batchnorm':true},'resources':{'cpu_slots':2}}");
	struct sw_spec *one = read_spec(
		TRAINED
		",'parallel':{'data':1,'sync_batchnorm':false},'resources':{'cpu_slots':1}}");

	ck_assert_uint_eq(two->data_ranks, 2);
	ck_assert_uint_eq(two->cpu_slots, 2);
	ck_assert_ptr_null(two->transport);
	ck_assert(two->gpu < 0);
	ck_assert_uint_eq(gpus->data_ranks, 2);
	ck_assert(gpus->gpu == 2.0);
	sw_spec_destroy(gpus);
	ck_assert_uint_eq(most->data_ranks, 64);
	ck_assert_str_eq(most->transport, "tcp");
	ck_assert(!most->sync_batchnorm);
	ck_assert_uint_eq(none->data_ranks, 0);
	ck_assert_ptr_null(none->transport);
	ck_assert(synced->sync_batchnorm && !one->sync_batchnorm && !none->sync_batchnorm);
	sw_spec_destroy(synced);
	sw_spec_destroy(one);
	sw_spec_destroy(two);
	sw_spec_destroy(most);
	sw_spec_destroy(none);
}
END_TEST

#define SLOTS_NEED                                                                                 \
	"\"cpu_slots\" needs \"command\" or \"program\", or, with a trainer, \"parallel\""

static const struct {
	const char *text, *ptr, *msg;
} refused[] = {
	{HEAD ",'parallel':2}", "/parallel",
	 "\"parallel\" must be an object like {\"data\": 2}, not a number"},
	{HEAD ",'parallel':{}}", "/parallel/data",
	 "\"data\" is missing: how many slots share each batch of a trial"},
	{HEAD ",'parallel':{'data':65}}", "/parallel/data", "\"data\" must be at most 64"},
	{HEAD ",'parallel':{'data':0}}", "/parallel/data", "\"data\" must be at least 1"},
	{HEAD ",'parallel':{'data':2,'stages':2}}", "/parallel/stages",
	 "unknown key \"stages\"; known here: data, transport, sync_batchnorm"},
	{HEAD ",'parallel':{'data':2,'transport':'nccl'}}", "/parallel/transport",
	 "\"transport\" must be \"shm\" or \"tcp\""},
	{HEAD ",'parallel':{'data':2,'transport':1}}", "/parallel/transport",
	 "\"transport\" must be \"shm\" or \"tcp\""},
	{HEAD ",'parallel':{'data':2,'sync_batchnorm':1}}", "/parallel/sync_batchnorm",
	 "\"sync_batchnorm\" must be true or false, not a number"},
	{HEAD ",'parallel':{'data':1,'sync_batchnorm':true}}", "/parallel/sync_batchnorm",
	 "\"sync_batchnorm\" needs \"data\" of 2 or more"},
	{"{" METRIC ",'parameters':{'lr':{'value':0.1}},'trainer':{'dataset':{'name':'digits'},"
	 "'micro_batch':4,'model':[{'linear':10}]},'parallel':{'data':2,'sync_batchnorm':true},"
	 "'resources':{'cpu_slots':2}}",
	 "/trainer/micro_batch",
	 "\"micro_batch\" does not go with \"sync_batchnorm\": each rank's rows are one part"},
	{HEAD ",'parallel':{'data':2}}", "/parallel", "\"parallel\" needs \"trainer\""},
	{HEAD ",'parallel':{'data':2},'resources':{'cpu_slots':2},'program':'a.py',"
	      "'run':{'cwd':'/'}}",
	 "/parallel",
	 "\"parallel\" is for \"trainer\": a program has ranks by \"run\": {\"launch\": "
	 "\"rank\"}"},
	{TRAINED ",'parallel':{'data':2}}", "/parallel",
	 "\"parallel\" needs a slot for each rank: \"resources\": {\"cpu_slots\": 2} or {\"gpu\": "
	 "2}"},
	{TRAINED ",'parallel':{'data':2},'resources':{'gpu':1}}", "/parallel/data",
	 "\"data\" is 2 and \"gpu\" is 1: each rank has one GPU"},
	{TRAINED ",'parallel':{'data':2},'resources':{'gpu':4}}", "/parallel/data",
	 "\"data\" is 2 and \"gpu\" is 4: each rank has one GPU"},
	{TRAINED ",'parallel':{'data':2,'transport':'shm'},'resources':{'gpu':2}}",
	 "/parallel/transport", "\"transport\" is for CPU slots: GPUs exchange gradients by NCCL"},
	{TRAINED ",'parallel':{'data':2},'resources':{'cpu_slots':1}}", "/parallel/data",
	 "\"data\" is 2 and \"cpu_slots\" is 1: each rank has one slot"},
	{TRAINED ",'parallel':{'data':2},'resources':{'cpu_slots':4}}", "/parallel/data",
	 "\"data\" is 2 and \"cpu_slots\" is 4: each rank has one slot"},
	{TRAINED ",'resources':{'cpu_slots':2}}", "/resources/cpu_slots", SLOTS_NEED},
	{HEAD ",'resources':{'cpu_slots':2}}", "/resources/cpu_slots", SLOTS_NEED},
};

START_TEST(parallel_row_is_refused_with_one_line)
{
	check_refused(refused[_i].text, refused[_i].ptr, refused[_i].msg);
}
END_TEST

SUITE(tcase)
{
	tcase_add_test(tcase, parallel_ranks_are_as_many_as_the_slots);
	tcase_add_rows(tcase, parallel_row_is_refused_with_one_line, refused);
}
