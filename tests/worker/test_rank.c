/*
 * The ranks of a trial as processes: this program is each of them, as the worker is. What they
 * agree on, how they end, and what is left when one cannot be started.
 */
#include "base/fault.h"
#include "tests/run.h"
#include "tests/worker/trial.h"
#include "worker/gang.h"
#include "worker/rank.h"
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

static struct sw_err err;
static cJSON *trainer, *params;

static void setup(void)
{
	trainer = cJSON_Parse("{\"dataset\":{\"name\":\"wine\"},\"epochs\":3,\"batch_size\":10,"
			      "\"model\":[{\"linear\":6},\"relu\",{\"linear\":3}]}");
	params = cJSON_Parse("{}");
	err = (struct sw_err)SW_ERR_INIT;
}

static void teardown(void)
{
	cJSON_Delete(trainer);
	cJSON_Delete(params);
}

static const char *opens = "cpu:0", *visible;

static sw_status start(struct sw_gang **gang, unsigned world, const char *transport)
{
	const struct sw_runner runner = {.opens = opens, .cores = 1};
	const struct sw_job job = {.sweep = 1,
				   .trial = 1,
				   .attempt = 1,
				   .seed = 7,
				   .data_seed = 5,
				   .ranks = world,
				   .transport = transport,
				   .visible = visible,
				   .trainer = trainer,
				   .params = params};

	err = (struct sw_err)SW_ERR_INIT;
	return sw_gang_start(gang, &runner, &job, &err);
}

/* Are there any, the dead too? */
static bool has_children(void)
{
	siginfo_t info = {0};

	return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

static pid_t first_child(void)
{
	char text[100] = "";
	FILE *f = fopen("/proc/thread-self/children", "r");

	ck_assert_ptr_nonnull(f);
	ck_assert_ptr_nonnull(fgets(text, sizeof text, f));
	fclose(f);
	return (pid_t)strtol(text, NULL, 10);
}

static size_t descriptors(void)
{
	return names_in("/proc/self/fd", NULL);
}

/* --- they agree --- */

struct speaker {
	struct sw_comm_seat place;
	sw_status says, got;
	bool impossible;
	struct sw_err err;
};

static void *speak(void *arg)
{
	struct speaker *s = arg;
	struct sw_comm *comm = NULL;
	struct sw_err why = SW_ERR_INIT;

	s->got = sw_comm_open(&comm, &s->place, &why);
	if (s->got == SW_OK)
		s->got = sw_rank_agree(comm, s->says, &s->impossible, &s->err);
	sw_comm_close(comm);
	return NULL;
}

/* Each rank says its own; all must hear the same. */
static void agree(const sw_status says[3], sw_status want, const char *line, bool impossible)
{
	struct speaker speaker[3] = {0};
	pthread_t thread[3];

	ck_assert_int_eq(sw_comm_meet(&speaker[0].place, "shm", 3, &err), SW_OK);
	for (unsigned r = 0; r < 3; r++) {
		struct speaker *s = &speaker[r];

		s->place = speaker[0].place;
		s->place.rank = r;
		s->says = says[r];
		s->impossible = says[r] == SW_INVALID;
		if (says[r] != SW_OK)
			(void)sw_err_at(&s->err, says[r], "/trainer", "line of %u", r);
		ck_assert_int_eq(pthread_create(&thread[r], NULL, speak, s), 0);
	}
	for (unsigned r = 0; r < 3; r++)
		pthread_join(thread[r], NULL);
	for (unsigned r = 0; r < 3; r++) {
		ck_assert_int_eq(speaker[r].got, want);
		ck_assert_str_eq(speaker[r].err.msg, line);
		ck_assert_str_eq(speaker[r].err.ptr, *line ? "/trainer" : "");
		ck_assert_int_eq(speaker[r].impossible, impossible);
	}
	close(speaker[0].place.fd);
}

TEST(ranks_agree_on_the_first_that_is_not_ready)
{
	agree((sw_status[3]){SW_OK, SW_OK, SW_OK}, SW_OK, "", false);
	agree((sw_status[3]){SW_OK, SW_NOMEM, SW_INVALID}, SW_NOMEM, "rank 1: line of 1", false);
	agree((sw_status[3]){SW_OK, SW_OK, SW_INVALID}, SW_INVALID, "rank 2: line of 2", true);
	agree((sw_status[3]){SW_IO, SW_IO, SW_IO}, SW_IO, "line of 0", false);
}

TEST(ranks_are_named_by_the_lines_of_their_ends)
{
	static const struct {
		const char *line;
		unsigned rank;
	} lines[] = {{"rank 1 of 2 has ended", 1},
		     {"rank 63 of 64 is silent for 8 s", 63},
		     {"rank 2: CUDA: an illegal memory access", 2},
		     {"rank 0 of 2 has ended", 0},
		     {"a rank of 2 has not come", 0},
		     {"NCCL does not get done", 0},
		     {"rank 64: none has it", 0},
		     {"", 0}};

	for (size_t i = 0; i < ROWS(lines); i++)
		ck_assert_uint_eq(sw_rank_named(lines[i].line), lines[i].rank);
}

/* --- they start and end --- */

TEST(ranks_that_are_told_of_an_error_end_by_themselves)
{
	const size_t files = descriptors();
	bool impossible = false;
	struct sw_gang *gang;

	ck_assert_int_eq(start(&gang, 3, "shm"), SW_OK);
	ck_assert_uint_eq(sw_comm_world(sw_gang_comm(gang)), 3);
	ck_assert_int_eq(sw_rank_agree(sw_gang_comm(gang), SW_OK, &impossible, &err), SW_OK);
	sw_comm_abort(sw_gang_comm(gang), SW_CONFLICT, "enough");
	sw_gang_end(gang, false);
	ck_assert(!has_children());
	ck_assert_uint_eq(descriptors(), files);
}

TEST(rank_that_was_killed_is_lost_with_its_signal)
{
	siginfo_t info = {0};
	bool impossible = false;
	struct sw_gang *gang;
	bool on = true;
	sw_status rc;

	ck_assert_int_eq(start(&gang, 2, "shm"), SW_OK);
	ck_assert_int_eq(sw_rank_agree(sw_gang_comm(gang), SW_OK, &impossible, &err), SW_OK);
	ck_assert_int_eq(kill(first_child(), SIGKILL), 0);
	ck_assert_int_eq(waitid(P_ALL, 0, &info, WEXITED | WNOWAIT), 0);
	do
		rc = sw_comm_broadcast(sw_gang_comm(gang), 0, &on, sizeof on);
	while (rc == SW_OK && (rc = sw_comm_barrier(sw_gang_comm(gang))) == SW_OK);
	ck_assert_int_eq(rc, SW_PEER_LOST);
	ck_assert_uint_eq(sw_rank_named(sw_comm_why(sw_gang_comm(gang))), 1);
	ck_assert_int_eq(sw_err_set(&err, rc, "%s", sw_comm_why(sw_gang_comm(gang))), SW_PEER_LOST);
	sw_gang_say_how(gang, &err);
	ck_assert_str_eq(err.msg, "rank 1 of 2 has ended (signal 9)");
	sw_gang_end(gang, true);
	ck_assert(!has_children());
}

/* Rank 2 has found rank 1 lost, has ended for that, and is what rank 0 saw first. */
TEST(rank_that_was_killed_is_named_before_one_that_found_it_lost)
{
	bool impossible = false;
	struct sw_gang *gang;

	ck_assert_int_eq(start(&gang, 3, "shm"), SW_OK);
	ck_assert_int_eq(sw_rank_agree(sw_gang_comm(gang), SW_OK, &impossible, &err), SW_OK);
	ck_assert_int_eq(kill(first_child(), SIGKILL), 0);
	(void)sw_err_set(&err, SW_PEER_LOST, "rank 2 of 3 has ended");
	sw_gang_say_how(gang, &err);
	ck_assert_str_eq(err.msg, "rank 1 of 3 has ended (signal 9)");
	sw_gang_end(gang, true);
	ck_assert(!has_children());
}

TEST(transport_that_is_unknown_starts_none)
{
	struct sw_gang *gang;

	ck_assert_int_eq(start(&gang, 2, "post"), SW_UNSUPPORTED);
	ck_assert_ptr_null(gang);
	ck_assert(!has_children());
}

/* Whatever number rank 0's has. The stand-in has no other than gpu:0. */
TEST(rank_opens_the_only_gpu_that_it_sees)
{
	bool impossible = false;
	struct sw_gang *gang;
	char module[4096] = "";

	ck_assert_int_gt(readlink("/proc/self/exe", module, sizeof module - 40), 0);
	strcpy(strrchr(module, '/'), "/fake_cuda.so");
	ck_assert_int_eq(setenv("SWEEPD_CUDA_MODULE", module, 1), 0);
	opens = "gpu:2";
	visible = "GPU-a,GPU-b";
	ck_assert_int_eq(start(&gang, 2, "shm"), SW_OK);
	/* It has its GPU; what it says of the training behind that may be here already. */
	ck_assert_msg(sw_rank_agree(sw_gang_comm(gang), SW_OK, &impossible, &err) == SW_OK ||
			      strstr(err.msg, "several ranks on cuda") != NULL,
		      "%s", err.msg);
	sw_gang_end(gang, true);
}

int __real_kill(pid_t pid, int sig);
int __wrap_kill(pid_t pid, int sig);
static bool deathless;

int __wrap_kill(pid_t pid, int sig)
{
	return deathless && sig == SIGKILL ? 0 : __real_kill(pid, sig);
}

/* As one that waits for a driver that does not answer: a signal is for later. */
TEST(rank_that_does_not_die_is_left)
{
	struct sw_gang *gang;
	pid_t child;

	ck_assert_int_eq(start(&gang, 2, "shm"), SW_OK);
	child = first_child();
	ck_assert_int_eq(kill(child, SIGSTOP), 0);
	deathless = true;
	sw_gang_end(gang, true);
	deathless = false;
	ck_assert_int_eq(kill(child, SIGKILL), 0);
	while (has_children()) /* or its zombie hides a program's that the idle worker reaps */
		(void)poll(NULL, 0, 1);
}

int __wrap_posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
		       const posix_spawnattr_t *attr, char *const argv[], char *const env[]);
int __real_posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
		       const posix_spawnattr_t *attr, char *const argv[], char *const env[]);
static int spawn_code;

int __wrap_posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
		       const posix_spawnattr_t *attr, char *const argv[], char *const env[])
{
	return spawn_code ? spawn_code : __real_posix_spawn(pid, path, actions, attr, argv, env);
}

static const struct {
	int code;
	sw_status rc;
} spawns[] = {{EAGAIN, SW_BUSY}, {ENOMEM, SW_BUSY}, {EMFILE, SW_BUSY},
	      {ENFILE, SW_BUSY}, {EACCES, SW_IO},   {ENOENT, SW_IO}};

/* Only what passes is the machine's trouble, not the trial's. */
TEST_ROWS(rank_that_cannot_start_is_said, spawns)
{
	struct sw_gang *gang;

	spawn_code = spawns[_i].code;
	ck_assert_int_eq(start(&gang, 2, "shm"), spawns[_i].rc);
	ck_assert_msg(strncmp(err.msg, "cannot start rank 1: ", 21) == 0, "%s", err.msg);
}

#ifdef SW_FAULTS
TEST(start_without_memory_leaves_nothing)
{
	const size_t files = descriptors();
	struct sw_gang *gang;
	unsigned n = 0;
	sw_status rc;

	do {
		sw_fault_arm(SW_FAULT_MALLOC, ++n, false);
		rc = start(&gang, 2, "shm");
		if (rc != SW_OK)
			ck_assert_ptr_null(gang);
		if (rc == SW_OK)
			sw_gang_end(gang, true);
		ck_assert(!has_children());
		ck_assert_uint_eq(descriptors(), files);
	} while (sw_fault_fired(SW_FAULT_MALLOC) > 0);
	ck_assert_int_eq(rc, SW_OK);
	ck_assert_uint_gt(n, 2);
	sw_fault_arm(SW_FAULT_MALLOC, 0, false);
}
#endif

/* Before main: what the lead has started is no run of the tests. */
__attribute__((constructor)) static void be_rank(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "rank") == 0)
		_exit(sw_rank_serve());
}

RUN_TESTS(setup, teardown)
