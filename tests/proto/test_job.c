/* tests/proto/test_job.c — the trial that a worker is given: what is written is read, and each key
 * that is wrong is named. */
#include "base/fault.h"
#include "base/memory.h"
#include "proto/job.h"
#include "proto/json.h"
#include "tests/run.h"
#include <stdio.h>
#include <string.h>

#define RECORD                                                                                     \
	"\"checkpoint_stop\":true,\"checkpoint_best\":true,\"checkpoint_record\":true,\"record\":" \
	"-0.1,"
#define PARAMS "{\"lr\":0.1}"

/* Every field has a value of its own. */
#define FULL                                                                                       \
	"{\"sweep\":1,\"trial\":2,\"attempt\":3,\"seed\":9007199254740991,\"data_seed\":5,"        \
	"\"data_sum\":4,"                                                                          \
	"\"params\":" PARAMS ",\"resume_step\":6,\"parent\":7,\"checkpoint\":\"/c/7-6.ckpt\","     \
	"\"until\":8,\"checkpoint_every\":9,\"checkpoint_s\":10,\"checkpoint_end\":true," RECORD   \
	"\"checkpoint_dir\":\"/c\",\"trainer\":{\"epochs\":11},\"max_t\":12,\"metric\":\"loss\","  \
	"\"goal\":\"minimize\"}"
#define EMPTY                                                                                      \
	"{\"sweep\":0,\"trial\":0,\"attempt\":0,\"seed\":0,\"data_seed\":0,\"params\":" PARAMS     \
	",\"resume_step\":0,\"parent\":null,\"checkpoint\":null,\"until\":0,\"checkpoint_every\":" \
	"0,\"checkpoint_s\":0,\"checkpoint_end\":false,\"checkpoint_stop\":false,\"checkpoint_"    \
	"best\":false,\"checkpoint_"                                                               \
	"record\":false,\"record\":null,\"checkpoint_dir\":null,\"trainer\":null,"                 \
	"\"max_t\":null,\"metric\":null,\"goal\":null}"
#define COMMAND "[\"${env}\",\"${program}\",\"${args}\"]"
#define RUN     "{\"cwd\":\"/home/me\",\"env\":{\"A\":\"b\"}}"
#define PROGRAM                                                                                    \
	"{\"sweep\":1,\"trial\":2,\"attempt\":3,\"seed\":9007199254740991,\"data_seed\":5,"        \
	"\"data_sum\":4,"                                                                          \
	"\"params\":" PARAMS ",\"resume_step\":6,\"parent\":7,\"checkpoint\":\"/c/7-6.ckpt\","     \
	"\"until\":8,\"checkpoint_every\":9,\"checkpoint_s\":10,\"checkpoint_end\":true," RECORD   \
	"\"checkpoint_dir\":\"/c\",\"trainer\":null,\"max_t\":12,\"metric\":\"loss\","             \
	"\"goal\":\"minimize\",\"command\":" COMMAND ",\"program\":\"train.py\",\"run\":" RUN      \
	",\"log\":\"/s/logs/1/2.log\",\"cookie\":\"1f-2-0\",\"env_file\":\"/s/env/"                \
	"1\",\"trial_dir\":\"/c/2.dir\",\"cores\":13,\"ranks\":3,"                                 \
	"\"visible\":\"GPU-1,GPU-2\",\"gpu_percent\":25,\"gpu_mib\":2048}"

/* A trainer's, with ranks; and with stages, where a row has them. */
#define RANKS(more)                                                                                \
	"{\"sweep\":1,\"trial\":2,\"attempt\":3,\"seed\":9007199254740991,\"data_seed\":5,"        \
	"\"data_sum\":4,"                                                                          \
	"\"params\":" PARAMS ",\"resume_step\":6,\"parent\":7,\"checkpoint\":\"/c/7-6.ckpt\","     \
	"\"until\":8,\"checkpoint_every\":9,\"checkpoint_s\":10,\"checkpoint_end\":true," RECORD   \
	"\"checkpoint_dir\":\"/c\",\"trainer\":{\"epochs\":11},\"max_t\":12,\"metric\":\"loss\","  \
	"\"goal\":\"minimize\",\"ranks\":4,\"visible\":null" more "}"

#define STAGES ",\"stages\":2,\"microbatches\":8"

#define SYNC ",\"sync_batchnorm\":true"

static cJSON *parsed(const char *text)
{
	struct sw_err err = SW_ERR_INIT;
	cJSON *v = NULL;

	ck_assert_int_eq(sw_json_parse(&v, text, strlen(text), &err), SW_OK);
	return v;
}

static const double record = -0.1;

static struct sw_job full(const cJSON *trainer)
{
	return (struct sw_job){.sweep = 1,
			       .trial = 2,
			       .attempt = 3,
			       .seed = 9007199254740991,
			       .data_seed = 5,
			       .data_sum = 4,
			       .resume_step = 6,
			       .parent = 7,
			       .checkpoint = "/c/7-6.ckpt",
			       .until = 8,
			       .checkpoint_every = 9,
			       .checkpoint_s = 10,
			       .checkpoint_end = true,
			       .checkpoint_stop = true,
			       .checkpoint_best = true,
			       .checkpoint_record = true,
			       .record = &record,
			       .checkpoint_dir = "/c",
			       .trainer = trainer,
			       .max_t = 12,
			       .metric = "loss",
			       .goal = "minimize"};
}

static void written(const struct sw_job *job, const char *want)
{
	struct sw_buf b;

	sw_buf_init(&b, 10000);
	sw_job_write(&b, job, PARAMS);
	ck_assert_int_eq(b.failed, SW_OK);
	ck_assert_str_eq(b.data, want);
	sw_buf_fini(&b);
}

TEST(job_is_written_and_read_back)
{
	cJSON *tree = parsed(FULL);
	struct sw_err err = SW_ERR_INIT;
	struct sw_job job = full(sw_json_get(tree, "trainer"));

	written(&job, FULL);
	written(&(struct sw_job){0}, EMPTY);
	ck_assert_int_eq(sw_job_read(&job, tree, &err), SW_OK);
	written(&job, FULL);
	ck_assert_ptr_eq(job.params, sw_json_get(tree, "params"));
	cJSON_Delete(tree);
}

TEST(job_of_a_program_is_written_and_read_back)
{
	cJSON *tree = parsed(PROGRAM);
	struct sw_err err = SW_ERR_INIT;
	struct sw_job job = full(NULL);

	job.command = sw_json_get(tree, "command");
	job.program = "train.py";
	job.run = sw_json_get(tree, "run");
	job.log = "/s/logs/1/2.log";
	job.cookie = "1f-2-0";
	job.env_file = "/s/env/1";
	job.trial_dir = "/c/2.dir";
	job.cores = 13;
	job.ranks = 3;
	job.visible = "GPU-1,GPU-2";
	job.gpu_percent = 25;
	job.gpu_mib = 2048;
	written(&job, PROGRAM);
	memset(&job, 0xa5, sizeof job);
	ck_assert_int_eq(sw_job_read(&job, tree, &err), SW_OK);
	written(&job, PROGRAM);
	cJSON_Delete(tree);
}

/* _i: without sync_batchnorm, and with it */
TEST_LOOP(job_of_several_ranks_is_written_and_read_back, 0, 2)
{
	const char *text = _i ? RANKS(SYNC) : RANKS("");
	cJSON *tree = parsed(text);
	struct sw_err err = SW_ERR_INIT;
	struct sw_job job = full(sw_json_get(tree, "trainer"));

	job.ranks = 4;
	job.sync_batchnorm = _i;
	written(&job, text);
	memset(&job, 0xa5, sizeof job);
	ck_assert_int_eq(sw_job_read(&job, tree, &err), SW_OK);
	ck_assert(job.sync_batchnorm == _i);
	written(&job, text);
	cJSON_Delete(tree);
}

TEST(job_of_a_pipeline_is_written_and_read_back)
{
	cJSON *tree = parsed(RANKS(STAGES));
	struct sw_err err = SW_ERR_INIT;
	struct sw_job job = full(sw_json_get(tree, "trainer"));

	job.ranks = 4;
	job.stages = 2;
	job.microbatches = 8;
	written(&job, RANKS(STAGES));
	memset(&job, 0xa5, sizeof job);
	ck_assert_int_eq(sw_job_read(&job, tree, &err), SW_OK);
	ck_assert_uint_eq(job.stages, 2);
	ck_assert_uint_eq(job.microbatches, 8);
	written(&job, RANKS(STAGES));
	cJSON_Delete(tree);
}

/* What a job may lack, or have as null, and how it is written then. */
static const struct {
	const char *key, *value;
} optional[] = {
	{"resume_step", "0"},
	{"parent", "null"},
	{"checkpoint", "null"},
	{"until", "0"},
	{"checkpoint_every", "0"},
	{"checkpoint_s", "0"},
	{"checkpoint_end", "false"},
	{"checkpoint_stop", "false"},
	{"checkpoint_best", "false"},
	{"checkpoint_record", "false"},
	{"record", "null"},
	{"checkpoint_dir", "null"},
	{"max_t", "null"},
	{"metric", "null"},
	{"goal", "null"},
};

static void read_as(const cJSON *tree, const char *want)
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_job job;

	memset(&job, 0xa5, sizeof job);
	ck_assert_int_eq(sw_job_read(&job, tree, &err), SW_OK);
	written(&job, want);
}

TEST_ROWS(job_without_an_optional_key_is_read, optional)
{
	const char *key = optional[_i].key;
	cJSON *tree = parsed(FULL), *zero = parsed(optional[_i].value);
	struct sw_buf want;
	struct sw_jw w;

	sw_buf_init(&want, 10000);
	sw_jw_init(&w, &want);
	cJSON_ReplaceItemInObjectCaseSensitive(tree, key, zero);
	sw_jw_cjson(&w, tree);
	cJSON_ReplaceItemInObjectCaseSensitive(tree, key, cJSON_CreateNull());
	read_as(tree, want.data);
	cJSON_DeleteItemFromObjectCaseSensitive(tree, key);
	read_as(tree, want.data);
	sw_buf_fini(&want);
	cJSON_Delete(tree);
}

#define NUMBER "an integer of at least 0"

struct bad_key {
	const char *key, *value, *must; /* value NULL: the key is missing */
};

static const struct bad_key bad[] = {
	{"sweep", NULL, NULL},
	{"trial", NULL, NULL},
	{"attempt", NULL, NULL},
	{"seed", NULL, NULL},
	{"data_seed", NULL, NULL},
	{"params", NULL, NULL},
	{"trainer", NULL, NULL},
	{"sweep", "\"1\"", NUMBER},
	{"trial", "null", NUMBER},
	{"attempt", "1.5", NUMBER},
	{"seed", "9007199254740992", NUMBER},
	{"data_seed", "-1", NUMBER},
	{"data_sum", "-1", NUMBER},
	{"params", "[]", "an object"},
	{"resume_step", "-1", NUMBER},
	{"parent", "true", NUMBER},
	{"checkpoint", "\"7-6.ckpt\"", "an absolute path"},
	{"until", "\"9\"", NUMBER},
	{"checkpoint_every", "{}", NUMBER},
	{"checkpoint_s", "0.5", NUMBER},
	{"checkpoint_end", "1", "true or false"},
	{"checkpoint_best", "1", "true or false"},
	{"record", "\"1\"", "a number"},
	{"checkpoint_dir", "\"\"", "an absolute path"},
	{"trainer", "[]", "an object"},
	{"max_t", "-1", NUMBER},
	{"metric", "1", "a string"},
	{"goal", "true", "a string"},
	{"ranks", "1.5", NUMBER},
	{"stages", "-2", NUMBER},
	{"microbatches", "\"8\"", NUMBER},
};

static const struct bad_key bad_of_program[] = {
	{"run", NULL, NULL},           {"log", NULL, NULL},
	{"cookie", NULL, NULL},        {"command", "{}", "an array"},
	{"run", "[]", "an object"},    {"log", "\"2.log\"", "an absolute path"},
	{"cookie", "1", "a string"},   {"program", "1", "a string"},
	{"cores", "-1", NUMBER},       {"ranks", "1.5", NUMBER},
	{"visible", "[]", "a string"},
};

static void refused(const char *text, const struct bad_key *k)
{
	char want[120], ptr[40];
	struct sw_err err = SW_ERR_INIT;
	struct sw_job job;
	cJSON *tree = parsed(text);

	if (k->value == NULL) {
		cJSON_DeleteItemFromObjectCaseSensitive(tree, k->key);
		(void)snprintf(want, sizeof want, "\"%s\" is missing", k->key);
	} else {
		cJSON_ReplaceItemInObjectCaseSensitive(tree, k->key, parsed(k->value));
		(void)snprintf(want, sizeof want, "\"%s\" must be %s", k->key, k->must);
	}
	(void)snprintf(ptr, sizeof ptr, "/%s", k->key);
	ck_assert_int_eq(sw_job_read(&job, tree, &err), SW_INVALID);
	ck_assert_str_eq(err.msg, want);
	ck_assert_str_eq(err.ptr, ptr);
	written(&job, EMPTY);
	cJSON_Delete(tree);
}

TEST_ROWS(job_with_a_bad_key_is_refused_by_its_name, bad)
{
	refused(RANKS(STAGES), &bad[_i]);
}

TEST_ROWS(job_of_a_program_with_a_bad_key_is_refused_by_its_name, bad_of_program)
{
	refused(PROGRAM, &bad_of_program[_i]);
}

TEST(job_with_a_trainer_and_a_command_is_refused)
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_job job;
	cJSON *tree = parsed(PROGRAM);

	cJSON_ReplaceItemInObjectCaseSensitive(tree, "trainer", parsed("{}"));
	ck_assert_int_eq(sw_job_read(&job, tree, &err), SW_INVALID);
	ck_assert_str_eq(err.msg, "\"trainer\" beside \"command\"");
	written(&job, EMPTY);
	cJSON_Delete(tree);
}

#ifdef SW_FAULTS
TEST(job_without_memory_latches_in_the_buffer)
{
	const struct sw_job job = full(NULL);
	unsigned fired = 1;

	for (unsigned nth = 1; fired != 0; nth++) {
		struct sw_buf b;

		ck_assert_uint_lt(nth, 100);
		sw_buf_init(&b, 10000);
		sw_fault_arm(SW_FAULT_MALLOC, nth, false);
		sw_job_write(&b, &job, PARAMS);
		fired = sw_fault_fired(SW_FAULT_MALLOC);
		sw_fault_arm(SW_FAULT_MALLOC, 0, false);
		ck_assert_int_eq(b.failed, fired ? SW_NOMEM : SW_OK);
		sw_buf_fini(&b);
	}
}
#endif

RUN_TESTS(NULL, NULL)
