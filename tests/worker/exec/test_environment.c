/* tests/worker/exec/test_environment.c — what a program sees: whose variable counts, and which card
 * it is shown. */
#include "proto/json.h"
#include "tests/run.h"
#include "tests/walk.h"
#include "worker/exec/ranks.h"

static struct sw_environment e;
static struct sw_folder folder;
static cJSON *run;
static struct sw_job job;
static struct sw_site site;

static void setup(void)
{
	run = cJSON_Parse("{\"cwd\":\"/w\",\"env\":{\"DATA\":\"/data\",\"HOME\":\"/"
			  "other\",\"SWEEPD_TRIAL\":\"9/9\"}}");
	job = (struct sw_job){.sweep = 1,
			      .trial = 7,
			      .attempt = 2,
			      .cookie = "1f-2-0",
			      .run = run,
			      .log = "/l/7.log"};
	site = (struct sw_site){.socket = "/run/s", .device = "cpu:0", .name = "cpu:0", .cores = 4};
	folder = (struct sw_folder){.path = "/live", .resume = "", .step = 0};
	clearenv();
	setenv("HOME", "/home/me", 1);
	setenv("PATH", "/bin", 1);
	setenv("SWEEPD_SECRET", "x", 1);
}

static void teardown(void)
{
	sw_environment_fini(&e);
	cJSON_Delete(run);
}

static void make(void)
{
	sw_environment_make(&e, &job, &site, "{\"x\":1}", &folder);
	ck_assert(!e.failed);
}

static void want(const char *name, const char *value)
{
	const char *got = sw_environment_get(&e, name);

	if (value)
		ck_assert_msg(got && strcmp(got, value) == 0, "%s: %s", name, got ? got : "none");
	else
		ck_assert_msg(!got, "%s: %s", name, got);
}

TEST(environment_has_ours_then_the_specs_then_the_workers)
{
	size_t home = 0;

	make();
	want("SWEEPD_COOKIE", "1f-2-0");
	want("SWEEPD_TRIAL", "1/7");
	want("SWEEPD_ATTEMPT", "2");
	want("SWEEPD_SOCKET", "/run/s");
	want("SWEEPD_PARAMS", "{\"x\":1}");
	want("SWEEPD_CHECKPOINT_DIR", "/live");
	want("SWEEPD_METRICS_FD", "3");
	want("SWEEPD_RESUME", NULL);
	want("SWEEPD_RESUME_STEP", NULL);
	want("SWEEPD_SECRET", NULL);
	want("DATA", "/data");
	want("HOME", "/other");
	want("PATH", "/bin");
	want("OMP_NUM_THREADS", "4");
	for (size_t i = 0; i < e.n; i++)
		home += strncmp(e.list[i], "HOME=", 5) == 0;
	ck_assert_uint_eq(home, 1);
	ck_assert_ptr_null(e.list[e.n]);
}

TEST(environment_names_what_it_goes_on_from)
{
	folder = (struct sw_folder){.path = "", .resume = "/dir/7-9.ckpt", .step = 9};
	job.cores = 2;
	make();
	want("SWEEPD_CHECKPOINT_DIR", NULL);
	want("SWEEPD_RESUME", "/dir/7-9.ckpt");
	want("SWEEPD_RESUME_STEP", "9");
	want("OMP_NUM_THREADS", "2");
}

TEST(environment_of_a_rank_has_its_number_once)
{
	struct sw_err err = SW_ERR_INIT;
	size_t ranks = 0, ports = 0;

	make();
	ck_assert_int_eq(sw_ranks_meet(&e, 3, &err), SW_OK);
	want("RANK", "0");
	want("LOCAL_RANK", "0");
	want("WORLD_SIZE", "3");
	want("LOCAL_WORLD_SIZE", "3");
	want("MASTER_ADDR", "127.0.0.1");
	ck_assert_int_gt(atoi(sw_environment_get(&e, "MASTER_PORT")), 1023);
	want("SWEEPD_METRICS_FD", "3");
	sw_ranks_number(&e, 2);
	want("RANK", "2");
	want("LOCAL_RANK", "2");
	want("WORLD_SIZE", "3");
	want("SWEEPD_METRICS_FD", NULL);
	for (size_t i = 0; i < e.n; i++) {
		ranks += strncmp(e.list[i], "RANK=", 5) == 0;
		ports += strncmp(e.list[i], "MASTER_PORT=", 12) == 0;
	}
	ck_assert_uint_eq(ranks, 1);
	ck_assert_uint_eq(ports, 1);
	ck_assert_ptr_null(e.list[e.n]);
}

static const bool where[] = {false, true};

TEST_ROWS(environment_of_a_submission_is_in_the_place_of_the_workers, where)
{
	char path[] = "/tmp/sw-env-XXXXXX";
	const int fd = mkstemp(path);
	FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;

	ck_assert_ptr_nonnull(f);
	(void)fputs("{\"KEY\":\"k\",\"DATA\":\"x\",\"PATH\":\"/p\",\"SWEEPD_TRIAL\":\"2/2\","
		    "\"OMP_NUM_THREADS\":\"3\",\"BASH_FUNC_f%%\":\"() {\\n a\\n}\","
		    "\"CUDA_VISIBLE_DEVICES\":\"5\",\"WANDB_SWEEP_PARAM_PATH\":\"x\"}",
		    f);
	ck_assert_int_eq(fclose(f), 0);
	job.env_file = path;
	setenv("DAEMONS", "x", 1);
	site.pilot = _i > 0; /* where the job's own counts, too */
	make();
	(void)unlink(path);
	want("KEY", "k");
	want("DATA", "/data");
	want("PATH", "/p");
	want("PWD", "/w");
	want("OMP_NUM_THREADS", "3");
	want("BASH_FUNC_f%%", "() {\n a\n}");
	want("CUDA_VISIBLE_DEVICES", "");
	want("DAEMONS", _i > 0 ? "x" : NULL);
	want("SWEEPD_TRIAL", "1/7");
	want("WANDB_SWEEP_PARAM_PATH", "/l/7.log.yaml");
	want("SWEEPD_METRIC", NULL);
	sw_environment_fini(&e);
	job.metric = "loss";
	make(); /* nothing came with it */
	want("KEY", NULL);
	want("DAEMONS", "x");
	want("SWEEPD_METRIC", "loss");
}

TEST(environment_names_the_trials_own_folder)
{
	make();
	want("SWEEPD_TRIAL_DIR", NULL);
	sw_environment_fini(&e);
	job.trial_dir = "/c/7.dir";
	make();
	want("SWEEPD_TRIAL_DIR", "/c/7.dir");
	want("PWD", "/w");
	sw_environment_fini(&e);
	ck_assert_ptr_nonnull(
		cJSON_SetValuestring(cJSON_GetObjectItem(run, "cwd"), "${trial_dir}"));
	make();
	want("PWD", "/c/7.dir");
}

TEST(environment_that_a_power_cut_damaged_is_not_taken)
{
	job.env_file = "/dev/null";
	make();
	ck_assert(e.unread);
}

TEST(part_of_a_gpu_is_told_unless_the_user_has_said_otherwise)
{
	job.gpu_percent = 25;
	job.gpu_mib = 2048;
	setenv("XLA_PYTHON_CLIENT_MEM_FRACTION", ".5", 1);
	make();
	want("XLA_PYTHON_CLIENT_MEM_FRACTION", ".5");
	want("TF_FORCE_GPU_ALLOW_GROWTH", "true");
	want("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "25");
	want("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "0=2048M");
	unsetenv("XLA_PYTHON_CLIENT_MEM_FRACTION");
	job.gpu_mib = 0;
	sw_environment_fini(&e);
	make();
	want("XLA_PYTHON_CLIENT_MEM_FRACTION", "0.225");
	want("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", NULL);
	job.gpu_percent = 0;
	sw_environment_fini(&e);
	make();
	want("TF_FORCE_GPU_ALLOW_GROWTH", NULL);
}

static const struct {
	const char *device, *worker, *program; /* CUDA_VISIBLE_DEVICES */
} cards[] = {
	{"cpu:0", NULL, ""},   {"cpu:0", "0,1", ""},          {"gpu:0", NULL, "0"},
	{"gpu:3", NULL, "3"},  {"gpu:0", "GPU-1f", "GPU-1f"}, {"gpu:1", "4,6", "6"},
	{"gpu:2", "4,6", "2"},
};

TEST_ROWS(environment_shows_the_card_of_the_slot, cards)
{
	site.device = cards[_i].device;
	if (cards[_i].worker)
		setenv("CUDA_VISIBLE_DEVICES", cards[_i].worker, 1);
	make();
	want("CUDA_VISIBLE_DEVICES", cards[_i].program);
}

TEST(environment_without_memory_says_so)
{
	WALK (SW_FAULT_MALLOC, 10) {
		walk_arm();
		sw_environment_make(&e, &job, &site, "{}", &folder);
		const bool fired = walk_disarm() != 0;
		ck_assert_int_eq(e.failed, fired);
		sw_environment_fini(&e);
	}
}

RUN_TESTS(setup, teardown)
