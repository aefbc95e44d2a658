/* tests/worker/test_pilot.c — `sweep-worker pilot` as a process, and a small daemon that it dials.
 */
#include "tests/worker/link/session_daemon.h"
#include "tests/worker/trial.h"
#include "tls/listen.h"
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#define NAME "sweepd-0123456789ab-4.0"
#define HEX  "4142434445464748494a4b4c4d4e4f505152535455565758595a303132333435"

static struct sw_tls_listener *listener;
static unsigned port;
static int joined[2]; /* a pipe of descriptors */
static pid_t pilot;
static char errors[4096]; /* of the pilot's stderr, once it has ended */

static bool on_key(void *user, const char *identity, unsigned char key[32])
{
	(void)user;
	memcpy(key, "ABCDEFGHIJKLMNOPQRSTUVWXYZ012345", 32);
	return strcmp(identity, NAME) == 0;
}

static void on_joined(void *user, const char *identity, int fd)
{
	(void)user;
	(void)identity;
	(void)fcntl(fd, F_SETFL, 0);
	(void)!write(joined[1], &fd, sizeof fd);
}

static void on_refused(void *user, const char *from, const char *why)
{
	(void)user;
	problem(from, why);
}

static void listen_now(void)
{
	static const struct sw_tls_events events = {on_key, on_joined, on_refused};
	struct sw_err err = SW_ERR_INIT;

	ck_assert_msg(sw_tls_listen(&listener, "127.0.0.1", port, &events, NULL, &err) == SW_OK,
		      "%s", err.msg);
	port = sw_tls_listener_port(listener);
}

static const char *in_folder(const char *name)
{
	static char path[2][200];
	static unsigned i;

	i = !i;
	snprintf(path[i], sizeof path[i], "%s/%s", folder, name);
	return path[i];
}

static void setup(void)
{
	(void)signal(SIGPIPE, SIG_IGN);
	trial_setup();
	memset(&d, 0, sizeof d);
	d.listener = d.fd = -1;
	ck_assert_int_eq(pipe(joined), 0);
	listen_now();
	ck_assert_int_eq(mkdir(in_folder("tmp"), 0700), 0);
	ck_assert_int_eq(mkdir(in_folder("c"), 0700), 0);
	setenv("TMPDIR", in_folder("tmp"), 1);
	setenv("SLURMD_NODENAME", "n7", 1);
}

static void teardown(void)
{
	char name[256], path[500];

	sw_tls_listener_close(listener);
	while (names_in(in_folder("c"), name) > 0) {
		snprintf(path, sizeof path, "%s/%s", in_folder("c"), name);
		ck_assert_int_eq(unlink(path), 0);
	}
	trial_teardown();
}

static void start_pilot(const char *lines)
{
	char *argv[] = {"sweep-worker", "pilot", NULL};
	const int in = open(in_folder("in"), O_RDWR | O_CREAT | O_TRUNC, 0600);
	posix_spawn_file_actions_t actions;

	ck_assert_int_eq(write(in, lines, strlen(lines)), (ssize_t)strlen(lines));
	lseek(in, 0, SEEK_SET);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, in_folder("err"),
					 O_WRONLY | O_CREAT | O_TRUNC, 0600);
	ck_assert_int_eq(posix_spawn(&pilot, SW_TEST_WORKER, &actions, NULL, argv, environ), 0);
	posix_spawn_file_actions_destroy(&actions);
	close(in);
}

/* All that it needs, and `more`. */
static void start_told(const char *more)
{
	char lines[1024];

	snprintf(lines, sizeof lines,
		 "dial 127.0.0.1 %u\nname " NAME "\nkey " HEX "\nworker w9\nslot 3\ndevice cpu:0\n"
		 "cores 1\nmemory 0\nlater words are passed over\n%s",
		 port, more);
	start_pilot(lines);
}

/* Its exit status, when it has ended; nothing of it is left then. */
static int end_of_pilot(void)
{
	size_t n;
	int status;
	char *text;

	ck_assert_int_eq(waitpid(pilot, &status, 0), pilot);
	text = (char *)file_read(in_folder("err"), &n);
	snprintf(errors, sizeof errors, "%.*s", (int)n, text);
	free(text);
	ck_assert_str_eq(d.problem, "");
	ck_assert_uint_eq(names_in(in_folder("tmp"), NULL), 0);
	ck_assert_ptr_null(strstr(errors, HEX));
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void accept_pilot(void)
{
	ck_assert_int_eq(read(joined[0], &d.fd, sizeof d.fd), sizeof d.fd);
	d.in = fdopen(dup(d.fd), "r");
}

/* Its hello, with these two words in it; answered. */
static void greet(const char *node, bool files, bool has_trial)
{
	cJSON *m;
	const int id = expect_message("worker.hello", &m);
	const cJSON *params = sw_json_get(m, "params");

	ck_assert_str_eq(d.problem, "");
	ck_assert_str_eq(cJSON_GetStringValue(sw_json_get(params, "worker")), "w9");
	ck_assert_str_eq(cJSON_GetStringValue(sw_json_get(params, "node")), node);
	ck_assert_int_eq(cJSON_IsTrue(sw_json_get(params, "files")), files);
	ck_assert_int_eq(sw_json_get(params, "trial") != NULL, has_trial);
	cJSON_Delete(m);
	answer(id, "{\"ok\":true,\"run\":true}");
}

/* A trial whose epochs take some milliseconds, and which does not end by itself. */
static void give_trial(void)
{
	char job[800];

	snprintf(job, sizeof job,
		 "{\"sweep\":1,\"trial\":7,\"attempt\":2,\"seed\":9,\"data_seed\":5,\"params\":"
		 "{\"lr\":0.01},\"max_t\":10000000,\"metric\":\"val_loss\",\"goal\":\"minimize\","
		 "\"resume_step\":0,\"checkpoint_stop\":true,\"checkpoint_dir\":\"%s\",\"trainer\":"
		 "{\"dataset\":{\"format\":\"synthetic\",\"features\":10,\"rows\":10000},"
		 "\"optimizer\":\"sgd\",\"batch_size\":10,\"model\":[{\"linear\":10}]}}",
		 in_folder("c"));
	answer(expect("worker.next", NULL, NULL), job);
}

/* Answers reports until another message comes, its method in method; how many there were, and
 * whether the last of them has a checkpoint. */
static bool take_reports(size_t most, size_t *n, char method[64], char cause[120])
{
	bool saved = false;
	char line[4096];

	for (*n = 0; *n < most && fgets(line, sizeof line, d.in);) {
		cJSON *m = *line == '\n' ? NULL : cJSON_Parse(line);
		const char *is = m ? cJSON_GetStringValue(sw_json_get(m, "method")) : "worker.log";
		const cJSON *params = sw_json_get(m, "params");
		const char *why = cJSON_GetStringValue(sw_json_get(params, "cause"));

		snprintf(method, 64, "%s", is);
		snprintf(cause, 120, "%s", why ? why : "");
		if (strcmp(is, "worker.report") == 0) {
			++*n;
			saved = cJSON_IsTrue(sw_json_get(params, "checkpoint"));
			answer(sw_json_get(m, "id")->valueint, "{\"decision\":\"continue\"}");
		}
		cJSON_Delete(m);
		if (strcmp(method, "worker.report") != 0 && strcmp(method, "worker.log") != 0 &&
		    strcmp(method, "worker.progress") != 0)
			break;
	}
	return saved;
}

/* The trial is saved and reported, then the pilot says so much. */
static void expect_orderly_end(const char *cause)
{
	char method[64] = "", why[120] = "";
	size_t n;

	const bool saved = take_reports(SIZE_MAX, &n, method, why);

	ck_assert_str_eq(method, "worker.bye");
	ck_assert_str_eq(why, cause);
	ck_assert_msg(saved, "the last of %zu reports has no checkpoint", n);
	ck_assert_int_eq(end_of_pilot(), 0);
	ck_assert_uint_eq(names_in(in_folder("c"), NULL), 1);
}

static const struct {
	const char *in_file;
	bool files;
} probes[] = {{"token-1\n", true}, {"token-2\n", false}, {"tok", false}, {NULL, false}};

TEST_ROWS(pilot_says_where_it_is_and_what_it_sees, probes)
{
	char more[300], cmdline[64];

	if (probes[_i].in_file)
		file_write(in_folder("a file"), (const unsigned char *)probes[_i].in_file,
			   strlen(probes[_i].in_file));
	snprintf(more, sizeof more, "probe %s token-1\n", in_folder("a file"));
	start_told(more);
	accept_pilot();
	greet("n7", probes[_i].files, false);
	snprintf(cmdline, sizeof cmdline, "/proc/%d/cmdline", (int)pilot);
	const int fd = open(cmdline, O_RDONLY);

	ck_assert_int_eq(read(fd, cmdline, sizeof cmdline), sizeof "sweep-worker pilot");
	ck_assert_mem_eq(cmdline, "sweep-worker\0pilot", sizeof "sweep-worker pilot");
	close(fd);
	(void)expect("worker.next", NULL, NULL);
	say("{\"jsonrpc\":\"2.0\",\"method\":\"worker.exit\",\"params\":{}}\n");
	(void)expect("worker.bye", NULL, NULL);
	ck_assert_int_eq(end_of_pilot(), 0);
}

TEST(pilot_leaves_before_its_time_with_its_trial_saved)
{
	char method[64], why[120];
	size_t n;

	unsetenv("SLURMD_NODENAME");
	char node[256] = "";

	gethostname(node, sizeof node - 1);
	start_told("time 4\nstagger 1000\n"); /* 2.5 s; then 1.25 s to save */
	accept_pilot();
	greet(node, false, false);
	give_trial();
	(void)take_reports(1, &n, method, why);
	expect_orderly_end("the job's time is nearly up");
}

TEST(pilot_goes_on_with_another_daemon_and_ends_by_sigterm)
{
	char method[64], why[120];
	size_t n;

	start_told("time 100000\n");
	accept_pilot();
	greet("n7", false, false);
	give_trial();
	(void)take_reports(3, &n, method, why);
	hang_up();
	accept_pilot();
	greet("n7", false, true);
	(void)take_reports(300, &n, method, why);
	ck_assert_msg(n == 300, "%zu, then %s %s", n, method, why);
	hang_up();
	sw_tls_listener_close(listener);
	listen_now();
	accept_pilot();
	greet("n7", false, true);
	(void)take_reports(3, &n, method, why);
	kill(pilot, SIGTERM);
	expect_orderly_end("told to end: SIGTERM");
}

TEST(pilot_without_a_daemon_saves_and_ends_well)
{
	char method[64], why[120];
	size_t n;

	start_told("time 12\n"); /* 9 s; then 2.5 s to save */
	accept_pilot();
	greet("n7", false, false);
	give_trial();
	(void)take_reports(1, &n, method, why);
	hang_up();
	sw_tls_listener_close(listener);
	listener = NULL;
	ck_assert_int_eq(end_of_pilot(), 0);
	ck_assert_uint_eq(names_in(in_folder("c"), NULL), 1);
}

/* As Slurm ends a job: each process of it gets the signal, the program perhaps first. */
TEST(pilot_does_not_blame_a_program_that_was_signalled_with_it)
{
	char job[1000], pid[32];
	size_t n;

	start_told("");
	accept_pilot();
	greet("n7", false, false);
	ck_assert_int_eq(mkfifo(in_folder("pid"), 0600), 0);
	snprintf(job, sizeof job,
		 "{\"sweep\":1,\"trial\":7,\"attempt\":2,\"seed\":1,\"data_seed\":1,\"params\":{},"
		 "\"metric\":\"loss\",\"goal\":\"minimize\",\"checkpoint_dir\":\"%s/c\",\"log\":"
		 "\"%s/log\",\"cookie\":\"test\",\"command\":[\"/bin/sh\",\"-c\",\"echo $$ > pid; "
		 "exec sleep 1000\"],\"run\":{\"cwd\":\"%s\"}}",
		 folder, folder, folder);
	answer(expect("worker.next", NULL, NULL), job);
	const int fd = open(in_folder("pid"), O_RDONLY);

	n = (size_t)read(fd, pid, sizeof pid - 1);
	pid[n] = '\0';
	close(fd);
	kill(atoi(pid), SIGTERM);
	while (kill(atoi(pid), 0) == 0)
		; /* until the pilot has seen its end, and no moment longer */
	kill(pilot, SIGTERM);
	(void)expect("worker.bye", NULL, NULL); /* and no worker.tell before it */
	ck_assert_int_eq(end_of_pilot(), 0);
}

static const struct {
	const char *lines, *says;
} bad[] = {
	{"", "standard input lacks dial"},
	{"dial host 1\nname a\nworker w\nslot 1\ndevice cpu:0\n", "standard input lacks key"},
	{"dial host 1\nname a\nkey " HEX "\nworker w\ndevice cpu:0\n", "standard input lacks slot"},
	{"key " HEX "0\n", "standard input: no such value for key"},
	{"dial host\n", "standard input: no such value for dial"},
	{"dial host 70000\n", "standard input: no such value for dial"},
	{"slot -1\n", "standard input: no such value for slot"},
	{"dial h 1\nname a b\nkey " HEX "\nworker w\nslot 1\ndevice cpu:0\n",
	 "no such host, port or identity: h:1 a b"},
};

TEST_ROWS(pilot_that_is_told_nonsense_says_so_in_a_line, bad)
{
	char line[200];

	snprintf(line, sizeof line, "sweep-worker: pilot: %s\n", bad[_i].says);
	start_pilot(bad[_i].lines);
	ck_assert_int_eq(end_of_pilot(), 2);
	ck_assert_str_eq(errors, line);
}

RUN_TESTS(setup, teardown)
