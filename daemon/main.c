/* daemon/main.c — sweepd: the tuning service of one machine. */
#include "base/commit.h"
#include "daemon/config.h"
#include "daemon/daemon.h"
#include "daemon/slot/executor.h"
#include "daemon/statedir.h"
#include "daemon/verify/replay_main.h"
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define EXIT_USAGE 2
#define EXIT_START 3 /* the state directory, the socket, threads or memory could not be had */

#define POOL_THREADS "4" /* of libuv, whatever UV_THREADPOOL_SIZE says: they are counted here */
/* One for each of those and the loop's: the threads that may be in OpenBLAS at once. */
#define BLAS_BUFFERS 5
/* Address space that must be left: so many buffers, and the threads' stacks. */
#define BUFFER_MIB 128
#define STACKS_MIB 64

/* Instead of OpenBLAS's own, which reads OPENBLAS_NUM_THREADS: it makes its threads while it is
 * loaded, and again after each fork, and one that it cannot make ends the process with SIGINT.
 * sched/bayes uses one in any case. */
int openblas_num_threads_env(void);
int openblas_num_threads_env(void)
{
	return 1;
}

/* OpenBLAS's own, from outside its headers. A buffer that was had once is used again; one that is
 * not to be had is asked for again without end, so they are had at the start. */
void *blas_memory_alloc(int unused);
void blas_memory_free(void *buffer);

static void take_buffers(void)
{
	/* All are held before the first is given back, or each call would get the same one. */
	void *buffer[BLAS_BUFFERS];

	for (int i = 0; i < BLAS_BUFFERS; i++)
		buffer[i] = blas_memory_alloc(0);
	for (int i = 0; i < BLAS_BUFFERS; i++)
		blas_memory_free(buffer[i]);
}

static sw_status open_log(const struct sw_config *c, struct sw_err *err)
{
	if (*c->log == '\0')
		return sw_log_open(NULL, c->log_level, err);
	/* Its folder may be the state directory, which is made later. */
	const sw_status rc = sw_statedir_parents(c->log, err);
	return rc == SW_OK ? sw_log_open(c->log, c->log_level, err) : rc;
}

static void on_no_thread(int sig)
{
	static const char line[] =
		"sweepd: the system gives it no more threads (see ulimit -u and ulimit -v)\n";

	(void)sig;
	(void)!write(STDERR_FILENO, line, sizeof line - 1);
	_exit(EXIT_START);
}

static void no_work(uv_work_t *work)
{
	(void)work;
}

/* As OpenBLAS takes it: the kernel may refuse one call what it gives several. */
static bool has_space(void)
{
	void *space[BLAS_BUFFERS + 1];
	bool all = true;

	for (int i = 0; i <= BLAS_BUFFERS; i++) {
		space[i] = mmap(NULL, (size_t)(i > 0 ? BUFFER_MIB : STACKS_MIB) << 20,
				PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		all = all && space[i] != MAP_FAILED;
	}
	for (int i = 0; i <= BLAS_BUFFERS; i++)
		if (space[i] != MAP_FAILED)
			(void)munmap(space[i], (size_t)(i > 0 ? BUFFER_MIB : STACKS_MIB) << 20);
	return all;
}

/* libuv makes its pool's threads with the first job, and aborts if the system refuses one. It does
 * so here, where nothing has been promised to anyone. */
static bool make_threads(uv_loop_t *loop)
{
	static uv_work_t first;

	if (!has_space())
		return false;
	take_buffers();
	const char *size = getenv("UV_THREADPOOL_SIZE");
	char *const users = size != NULL ? strdup(size) : NULL; /* the programs get it back */

	(void)signal(SIGABRT, on_no_thread);
	(void)setenv("UV_THREADPOOL_SIZE", POOL_THREADS, 1);
	const int rc = uv_queue_work(loop, &first, no_work, NULL);
	(void)(users != NULL ? setenv("UV_THREADPOOL_SIZE", users, 1)
			     : unsetenv("UV_THREADPOOL_SIZE"));
	free(users);
	(void)signal(SIGABRT, SIG_DFL);
	return rc == 0;
}

int main(int argc, char **argv)
{
	static struct sw_daemon daemon;
	struct sw_config config;
	struct sw_err err = SW_ERR_INIT;
	uv_loop_t *loop = uv_default_loop();
	int rc = EXIT_SUCCESS;

	sw_commit = sw_commit_of_build;
	if (argc > 1 && strcmp(argv[1], "replay") == 0)
		return sw_replay_main(argc - 1, argv + 1, stdout, stderr);
	(void)setlocale(LC_CTYPE, "C.UTF-8"); /* for wcwidth(): plots as text */
	/* A peer that closes while it is written to is an error of that write alone. */
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGHUP, SIG_IGN); /* until the loop takes it; workers get the default back */
	if (sw_config_parse(&config, argc, argv, &err) != SW_OK) {
		(void)fprintf(stderr, "sweepd: %s (see sweepd --help)\n", err.msg);
		return EXIT_USAGE;
	}
	if (config.help || config.version) {
		if (config.help)
			(void)printf("%s", sw_config_usage);
		else
			(void)printf("sweepd " SW_VERSION " (commit %s)\n", sw_commit);
		return EXIT_SUCCESS;
	}
	/* Before anything opens a file: what systemd passed is descriptor 3, by number. */
	if (sw_systemd_take(&config.systemd, config.socket, sizeof config.socket, &err) != SW_OK ||
	    open_log(&config, &err) != SW_OK) {
		(void)fprintf(stderr, "sweepd: %s\n", err.msg);
		return EXIT_START;
	}
	if (loop == NULL) {
		(void)fprintf(stderr, "sweepd: cannot create the event loop\n");
		return EXIT_START;
	}
	if (!make_threads(loop)) {
		(void)fprintf(stderr,
			      "sweepd: it needs %d MiB of address space (see ulimit -v; "
			      "/proc/sys/vm/overcommit_memory)\n",
			      BLAS_BUFFERS * BUFFER_MIB + STACKS_MIB);
		return EXIT_START;
	}
	if (sw_daemon_start(&daemon, loop, &sw_clock_system, &sw_executor_local, &config, &err) !=
	    SW_OK) {
		(void)fprintf(stderr, "sweepd: %s\n", err.msg);
		/* The loop runs all the same: close_everything() has closed the handles, and their
		 * callbacks free what they own. */
		rc = EXIT_START;
	}
	(void)uv_run(loop, UV_RUN_DEFAULT);
	sw_daemon_fini(&daemon);
	(void)uv_run(loop, UV_RUN_DEFAULT); /* what the end itself closed */
	(void)uv_loop_close(loop);
	return rc;
}
