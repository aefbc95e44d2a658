/* tests/proto/test_job.c — the trial that a worker is given: what is written is read, and each key
 * that is wrong is named. */
#include "base/memory.h"
#include "proto/job.h"
#include "proto/json.h"
#include "tests/run.h"
#include "tests/walk.h"

#define PARAMS  "{\"lr\":0.1}"
#define TRAINER "{\"epochs\":11}"

/* Every field has a value of its own. */
#define JOB(trainer, more)                                                                         \
	"{\"sweep\":1,\"trial\":2,\"attempt\":3,\"seed\":9007199254740991,\"data_seed\":5,"        \
	"\"data_sum\":4,\"params\":" PARAMS ",\"resume_step\":6,\"parent\":7,"                     \
	"\"checkpoint\":\"/c/7-6.ckpt\",\"until\":8,\"checkpoint_every\":9,\"checkpoint_s\":10,"   \
	"\"checkpoint_end\":true,\"checkpoint_stop\":true,\"checkpoint_best\":true,"               \
	"\"checkpoint_record\":true,\"record\":-0.1,\"checkpoint_dir\":\"/c\","                    \
	"\"trainer\":" trainer ",\"max_t\":12,\"metric\":\"loss\",\"goal\":\"minimize\"" more "}"
#define EMPTY                                                                                      \
	"{\"sweep\":0,\"trial\":0,\"attempt\":0,\"seed\":0,\"data_seed\":0,\"params\":" PARAMS     \
	",\"resume_step\":0,\"parent\":null,\"checkpoint\":null,\"until\":0,"                      \
	"\"checkpoint_every\":0,\"checkpoint_s\":0,\"checkpoint_end\":false,"                      \
	"\"checkpoint_stop\":false,\"checkpoint_best\":false,\"checkpoint_record\":false,"         \
	"\"record\":null,\"checkpoint_dir\":null,\"trainer\":null,\"max_t\":null,"                 \
	"\"metric\":null,\"goal\":null}"
#define FULL   JOB(TRAINER, "")
#define RANKS  ",\"ranks\":4,\"visible\":null"
#define STAGES ",\"stages\":2,\"microbatches\":8"
#define PROGRAM                                                                                    \
	JOB("null", ",\"command\":[\"${env}\",\"${program}\",\"${args}\"],\"program\":"            \
		    "\"train.py\",\"run\":{\"cwd\":\"/home/me\",\"env\":{\"A\":\"b\"}},"           \
		    "\"log\":\"/s/logs/1/2.log\",\"cookie\":\"1f-2-0\",\"env_file\":\"/s/env/1\"," \
		    "\"trial_dir\":\"/c/2.dir\",\"cores\":13,\"ranks\":3,\"visible\":"             \
		    "\"GPU-1,GPU-2\",\"gpu_percent\":25,\"gpu_mib\":2048")

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

static void check_round_trip(struct sw_job *job, const cJSON *tree, const char *text)
{
	struct sw_err err = SW_ERR_INIT;

	written(job, text);
	memset(job, 0xa5, sizeof *job);
	ck_assert_int_eq(sw_job_read(job, tree, &err), SW_OK);
	ck_assert_ptr_eq(job->params, sw_json_get(tree, "params"));
	written(job, text);
}

static const struct {
	const char *text;
	uint64_t ranks, stages, microbatches;
	bool sync_batchnorm;
} trainers[] = {
	{FULL, 0, 0, 0, false},
	{JOB(TRAINER, RANKS), 4, 0, 0, false},
	{JOB(TRAINER, RANKS ",\"sync_batchnorm\":true"), 4, 0, 0, true},
	{JOB(TRAINER, RANKS STAGES), 4, 2, 8, false},
};

TEST_ROWS(job_of_a_trainer_is_written_and_read_back, trainers)
{
	cJSON *tree = parsed(trainers[_i].text);
	struct sw_job job = full(sw_json_get(tree, "trainer"));

	job.ranks = trainers[_i].ranks;
	job.stages = trainers[_i].stages;
	job.microbatches = trainers[_i].microbatches;
	job.sync_batchnorm = trainers[_i].sync_batchnorm;
	check_round_trip(&job, tree, trainers[_i].text);
	written(&(struct sw_job){0}, EMPTY);
	cJSON_Delete(tree);
}

TEST(job_of_a_program_is_written_and_read_back)
{
	cJSON *tree = parsed(PROGRAM);
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
	check_round_trip(&job, tree, PROGRAM);
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

/* What a key must be, by the value that it has in a good job. */
static const char *must_be(const cJSON *v)
{
	const char *text = cJSON_GetStringValue(v);

	if (text != NULL)
		return *text == '/' ? "an absolute path" : "a string";
	if (cJSON_IsNumber(v))
		return v->valuedouble < 0 ? "a number" : "an integer of at least 0";
	return cJSON_IsBool(v) ? "true or false" : cJSON_IsArray(v) ? "an array" : "an object";
}

/* value NULL: the key is missing. */
static void refused(const char *text, const char *key, const char *value)
{
	char want[120], ptr[40];
	struct sw_err err = SW_ERR_INIT;
	struct sw_job job;
	cJSON *tree = parsed(text);

	(void)snprintf(want, sizeof want, "\"%s\" %s%s", key,
		       value == NULL ? "is missing" : "must be ",
		       value == NULL ? "" : must_be(sw_json_get(tree, key)));
	if (value == NULL)
		cJSON_DeleteItemFromObjectCaseSensitive(tree, key);
	else
		cJSON_ReplaceItemInObjectCaseSensitive(tree, key, parsed(value));
	(void)snprintf(ptr, sizeof ptr, "/%s", key);
	ck_assert_int_eq(sw_job_read(&job, tree, &err), SW_INVALID);
	ck_assert_str_eq(err.msg, want);
	ck_assert_str_eq(err.ptr, ptr);
	written(&job, EMPTY);
	cJSON_Delete(tree);
}

/* The keys that must be there. */
static const struct {
	const char *text, *needed[8];
} texts[] = {
	{JOB(TRAINER, RANKS STAGES),
	 {"sweep", "trial", "attempt", "seed", "data_seed", "params", "trainer"}},
	{PROGRAM, {"run", "log", "cookie"}},
};

/* Each key with a value of every kind but its own; an integer and a path with bad ones of it. */
TEST_ROWS(job_with_a_bad_key_is_refused_by_its_name, texts)
{
	static const char *const wrong[] = {
		"-1", "1.5", "9007199254740992", "true", "\"2.log\"", "\"\"", "[]", "{}"};
	cJSON *tree = parsed(texts[_i].text);
	const cJSON *key;

	for (size_t i = 0; texts[_i].needed[i] != NULL; i++)
		refused(texts[_i].text, texts[_i].needed[i], NULL);
	for (size_t i = 0; i < 5 && _i == 0; i++)
		refused(texts[_i].text, texts[_i].needed[i], "null");
	cJSON_ArrayForEach (key, tree) {
		for (size_t i = 0; i < ROWS(wrong) && !cJSON_IsNull(key); i++) {
			cJSON *v = parsed(wrong[i]);
			const bool strict = strncmp(must_be(key), "an integer", 10) == 0 ||
					    strcmp(must_be(key), "an absolute path") == 0;

			if (strict || (v->type & 0xff) != (key->type & 0xff))
				refused(texts[_i].text, key->string, wrong[i]);
			cJSON_Delete(v);
		}
	}
	cJSON_Delete(tree);
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

TEST(job_without_memory_latches_in_the_buffer)
{
	const struct sw_job job = full(NULL);

	WALK (SW_FAULT_MALLOC, 1) {
		struct sw_buf b;

		sw_buf_init(&b, 10000);
		walk_arm();
		sw_job_write(&b, &job, PARAMS);
		const unsigned fired = walk_disarm();
		ck_assert_int_eq(b.failed, fired ? SW_NOMEM : SW_OK);
		sw_buf_fini(&b);
	}
}

RUN_TESTS(NULL, NULL)
