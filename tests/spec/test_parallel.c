/* tests/spec/test_parallel.c — "parallel": the slots that work on one trial. */
#include "tests/spec/spec_text.h"

#define TRAINED                                                                                    \
	"{" METRIC ",'parameters':{'lr':{'value':0.1}},'trainer':{'dataset':{'name':'digits'},'"   \
	"model':[{'linear':10}]}"

#define TWO_DATA(more) TRAINED ",'parallel':{'data':2" more "},'resources':{'cpu_slots':2}}"

TEST(parallel_keys_reach_the_struct)
{
	struct sw_spec *two = read_spec(TWO_DATA(""));
	struct sw_spec *sync = read_spec(TWO_DATA(",'sync_batchnorm':true"));
	struct sw_spec *gpus = read_spec(TRAINED ",'parallel':{'data':2},'resources':{'gpu':2}}");

	ck_assert_uint_eq(two->cpu_slots, 2);
	ck_assert(two->gpu < 0 && !two->sync_batchnorm);
	ck_assert(sync->sync_batchnorm);
	ck_assert_uint_eq(gpus->data_ranks, 2);
	ck_assert(gpus->gpu == 2.0);
}

#define STAGED TRAINED ",'parallel':{'pipeline':"

/* The stages, the data ranks and the micro-batches of each row. */
static const struct {
	const char *text;
	unsigned data, stages, microbatches, ranks;
} staged[] = {
	{STAGED "2},'resources':{'cpu_slots':2}}", 1, 2, 8, 2},
	{STAGED "4},'resources':{'gpu':4}}", 1, 4, 16, 4},
	{STAGED "2,'microbatches':3,'data':1},'resources':{'cpu_slots':2}}", 1, 2, 3, 2},
	{STAGED "2,'microbatches':1024,'data':3},'resources':{'cpu_slots':6}}", 3, 2, 1024, 6},
	{STAGED "8,'data':8},'resources':{'cpu_slots':64}}", 8, 8, 32, 64},
	{STAGED "64},'resources':{'cpu_slots':64}}", 1, 64, 256, 64},
	{STAGED "1},'resources':{'cpu_slots':1}}", 1, 1, 0, 1},
	{STAGED "1,'data':2},'resources':{'cpu_slots':2}}", 2, 1, 0, 2},
	{TRAINED ",'parallel':{'data':2},'resources':{'cpu_slots':2}}", 2, 1, 0, 2},
	{TRAINED "}", 0, 0, 0, 0},
};

TEST_ROWS(parallel_row_has_these_stages, staged)
{
	struct sw_spec *s = read_spec(staged[_i].text);

	ck_assert_uint_eq(s->data_ranks, staged[_i].data);
	ck_assert_uint_eq(s->stages, staged[_i].stages);
	ck_assert_uint_eq(s->microbatches, staged[_i].microbatches);
	ck_assert_uint_eq(sw_spec_ranks(s), staged[_i].ranks);
}

#define SLOTS_NEED                                                                                 \
	"\"cpu_slots\" needs \"command\" or \"program\", or, with a trainer, \"parallel\""

static const struct {
	const char *text, *ptr, *msg;
} refused[] = {
	{HEAD ",'parallel':{}}", "/parallel",
	 "\"parallel\" needs \"data\", how many slots share each batch, or \"pipeline\", how many "
	 "share the layers"},
	{HEAD ",'parallel':{'pipeline':13,'data':5}}", "/parallel/pipeline",
	 "13 stages of 5 data ranks are 65 ranks: at most 64"},
	{HEAD ",'parallel':{'pipeline':1,'microbatches':4}}", "/parallel/microbatches",
	 "\"microbatches\" needs a \"pipeline\" of 2 stages or more"},
	{STAGED "2},'resources':{'cpu_slots':3}}", "/parallel/pipeline",
	 "\"pipeline\" is 2 and \"cpu_slots\" is 3: each rank has one slot"},
	{STAGED "3,'data':2},'resources':{'cpu_slots':3}}", "/parallel",
	 "\"data\" 2 times \"pipeline\" 3 is 6, and \"cpu_slots\" is 3: each rank has one slot"},
	{STAGED "2,'data':2},'resources':{'gpu':2}}", "/parallel",
	 "\"data\" 2 times \"pipeline\" 2 is 4, and \"gpu\" is 2: each rank has one GPU"},
	{HEAD ",'parallel':{'data':1,'sync_batchnorm':true}}", "/parallel/sync_batchnorm",
	 "\"sync_batchnorm\" needs \"data\" of 2 or more"},
	{HEAD ",'parallel':{'data':2,'pipeline':2,'sync_batchnorm':true}}",
	 "/parallel/sync_batchnorm", "\"sync_batchnorm\" is not for a pipeline"},
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
	{TRAINED ",'parallel':{'data':2},'resources':{'cpu_slots':4}}", "/parallel/data",
	 "\"data\" is 2 and \"cpu_slots\" is 4: each rank has one slot"},
	{TRAINED ",'resources':{'cpu_slots':2}}", "/resources/cpu_slots", SLOTS_NEED},
	{HEAD ",'resources':{'cpu_slots':2}}", "/resources/cpu_slots", SLOTS_NEED},
};

TEST_ROWS(parallel_row_is_refused_with_one_line, refused)
{
	check_refused(refused[_i].text, refused[_i].ptr, refused[_i].msg);
}

RUN_TESTS(NULL, NULL)
