#include "worker/gang.h"
#include "base/beat.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/process.h"
#include "proto/frame.h"
#include "worker/exec/environment.h"
#include "worker/rank.h"
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define END_US  ((int64_t)2000000) /* for a rank that knows that it ends */
#define HOW_US  ((int64_t)200000)  /* for one that has closed its connections */
#define TURN_MS 100

extern char **environ;

struct child {
	pid_t pid;        /* 0: not started, or reaped */
	int pidfd;        /* -1: none */
	int code, signal; /* once reaped */
};

struct sw_gang {
	struct sw_comm *comm;
	struct child *child; /* [n]; rank 1 is the first */
	size_t n;
};

/* --- the start --- */

/* Makes the file that a rank reads on its standard input. -1 with errno. */
static int write_start(const struct sw_rank_start *start, const struct sw_buf *job)
{
	/* no pipe: a job may be larger than one holds, and nobody reads before the rank is there */
	const int fd = memfd_create("sweepd-rank", MFD_CLOEXEC);

	if (fd < 0)
		return -1;
	if (write(fd, start, sizeof *start) == (ssize_t)sizeof *start &&
	    write(fd, job->data, job->len) == (ssize_t)job->len)
		return fd;
	close(fd);
	errno = ENOMEM;
	return -1;
}

/* The worker's environment, with another GPU: one malloc()ed block, whose strings are borrowed.
 * NULL: no memory. */
static char **environment_with(char *visible)
{
	static const char name[] = "CUDA_VISIBLE_DEVICES=";
	size_t n = 0, kept = 0;
	char **out;

	while (environ[n])
		n++;
	out = sw_malloc((n + 2) * sizeof *out);
	for (size_t i = 0; out && i < n; i++)
		if (strncmp(environ[i], name, sizeof name - 1) != 0)
			out[kept++] = environ[i];
	if (out) {
		out[kept++] = visible;
		out[kept] = NULL;
	}
	return out;
}

/* In the worker's group, unlike a program (worker/exec/program.h): it starts nothing. gpu: its own,
 * NULL: the worker's. Returns 0 or errno's code. */
static int spawn_rank(struct child *c, int input, int meeting, char *gpu)
{
	static char *const argv[] = {"sweep-worker", "rank", NULL};
	posix_spawn_file_actions_t actions;
	char **env = gpu ? environment_with(gpu) : environ;
	int code = env ? posix_spawn_file_actions_init(&actions) : ENOMEM;

	if (code != 0)
		goto out;
	if (posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO) |
	    posix_spawn_file_actions_adddup2(&actions, meeting, SW_RANK_FD) |
	    posix_spawn_file_actions_addclosefrom_np(&actions, SW_RANK_FD + 1))
		code = ENOMEM;
	else
		/* the same program, even if a newer one has taken its place on the disk */
		code = posix_spawn(&c->pid, "/proc/self/exe", &actions, NULL, argv, env);
	posix_spawn_file_actions_destroy(&actions);
	if (code != 0) {
		c->pid = 0;
		goto out;
	}
	c->pidfd = (int)syscall(SYS_pidfd_open, c->pid, 0);
	code = c->pidfd < 0 ? errno : 0;
out:
	if (gpu)
		free(env);
	return code;
}

/* visible: the GPUs of all ranks; NULL: they have none. */
static sw_status start_ranks(struct sw_gang *g, const struct sw_runner *r,
			     const struct sw_comm_seat *lead, const char *visible,
			     const struct sw_buf *job, struct sw_err *err)
{
	struct sw_rank_start start = {.seat = *lead,
				      .lead = getpid(),
				      .cores = r->cores,
				      .memory = r->memory,
				      .streams = r->streams};

	/* of several GPUs each rank sees its own alone */
	snprintf(start.device, sizeof start.device, "%s", visible ? "gpu:0" : r->opens);
	start.seat.fd = SW_RANK_FD;
	for (size_t i = 0; i < g->n; i++) {
		char gpu[160] = "CUDA_VISIBLE_DEVICES=";
		int input, code;

		if (visible)
			(void)sw_environment_nth(visible, i + 1, gpu + strlen(gpu),
						 sizeof gpu - strlen(gpu));
		start.seat.rank = (unsigned)i + 1;
		input = write_start(&start, job);
		code = input < 0 ? errno
				 : spawn_rank(&g->child[i], input, lead->fd, visible ? gpu : NULL);
		if (input >= 0)
			close(input);
		if (code != 0)
			return sw_err_set(err, sw_process_lacks(code) ? SW_BUSY : SW_IO,
					  "cannot start rank %zu: %s", i + 1, strerror(code));
	}
	return SW_OK;
}

/* The job as a rank gets it: rank 0 alone has to do with checkpoints. */
static sw_status write_job(struct sw_buf *out, const struct sw_job *job)
{
	struct sw_job theirs = *job;
	char *params = cJSON_PrintUnformatted(job->params);

	/* the others get its state by way of rank 0 (sw_net_state_share) */
	theirs.checkpoint = theirs.checkpoint_dir = NULL;
	if (params)
		sw_job_write(out, &theirs, params);
	free(params);
	return params ? out->failed : SW_NOMEM;
}

sw_status sw_gang_start(struct sw_gang **out, const struct sw_runner *r, const struct sw_job *job,
			struct sw_err *err)
{
	struct sw_gang *g = sw_calloc(1, sizeof *g);
	struct sw_comm_seat lead = {.fd = -1};
	struct sw_err why = SW_ERR_INIT;
	struct sw_buf text;
	sw_status rc;

	*out = NULL;
	sw_buf_init(&text, SW_FRAME_MAX);
	if (g)
		g->child = sw_calloc(job->ranks - 1, sizeof *g->child);
	if (!g || !g->child) {
		free(g);
		return sw_err_set(err, SW_NOMEM, "no memory for the ranks of a trial");
	}
	g->n = job->ranks - 1;
	for (size_t i = 0; i < g->n; i++)
		g->child[i].pidfd = -1;
	rc = write_job(&text, job);
	if (rc != SW_OK)
		rc = sw_err_set(err, rc, "no memory for the ranks of a trial");
	else
		rc = sw_comm_meet(&lead, job->transport ? job->transport : "shm",
				  (unsigned)job->ranks, err);
	if (rc == SW_OK)
		rc = start_ranks(g, r, &lead, job->visible, &text, err);
	if (rc == SW_OK) {
		rc = sw_comm_open(&g->comm, &lead, &why);
		if (rc == SW_PEER_LOST) /* one that ended before it came was only silent */
			sw_gang_say_how(g, &why);
		if (rc != SW_OK)
			rc = sw_err_set(err, rc, "%s", why.msg);
	}
	/* each rank has its own copy of it */
	if (lead.fd >= 0)
		close(lead.fd);
	sw_buf_fini(&text);
	if (rc == SW_OK)
		*out = g;
	else
		sw_gang_end(g, true);
	return rc;
}

struct sw_comm *sw_gang_comm(const struct sw_gang *g)
{
	return g ? g->comm : NULL;
}

/* --- the end --- */

/* Takes the status if it has ended. */
static void reap(struct child *c)
{
	siginfo_t info = {0};

	if (c->pid == 0 ||
	    (waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOHANG) == 0 && info.si_pid == 0))
		return; /* it was reaped before, or still runs */
	c->pid = 0;
	c->code = info.si_code == CLD_EXITED ? info.si_status : 0;
	c->signal = info.si_code == CLD_EXITED ? 0 : info.si_status;
}

/* The first rank that a signal has ended; 0: none. *all: all have ended. */
static size_t find_killed(struct sw_gang *g, bool *all)
{
	size_t killed = 0;

	*all = true;
	for (size_t i = 0; i < g->n; i++) {
		reap(&g->child[i]);
		*all = *all && g->child[i].pid == 0;
		if (killed == 0 && g->child[i].pid == 0 && g->child[i].signal)
			killed = i + 1;
	}
	return killed;
}

/* A connection is closed before its process is gone, and one that ends by itself may be gone before
 * one that was killed: so it waits a moment. */
void sw_gang_say_how(struct sw_gang *g, struct sw_err *err)
{
	const int64_t until_us = sw_clock_mono_us() + HOW_US;
	const unsigned named = sw_rank_named(err->msg);
	struct sw_err said = SW_ERR_INIT;
	bool all;
	size_t killed = find_killed(g, &all);

	for (; !all && killed == 0 && sw_clock_mono_us() < until_us; killed = find_killed(g, &all))
		(void)poll(NULL, 0, 1);
	if (killed > 0 && killed != named)
		(void)sw_err_set(&said, err->code, "rank %zu of %zu has ended (signal %d)", killed,
				 g->n + 1, g->child[killed - 1].signal);
	else if (killed > 0)
		(void)sw_err_set(&said, err->code, "%s (signal %d)", err->msg,
				 g->child[killed - 1].signal);
	else if (named > 0 && named <= g->n && g->child[named - 1].pid == 0)
		(void)sw_err_set(&said, err->code, "%s (exit status %d)", err->msg,
				 g->child[named - 1].code);
	else
		return; /* it is silent, or has not come */
	*err = said;
}

/* Waits for all, within the limit. */
static void await_all(struct sw_gang *g)
{
	const int64_t until_us = sw_clock_mono_us() + END_US;

	for (size_t i = 0; i < g->n; i++) {
		struct pollfd fd = {.fd = g->child[i].pidfd, .events = POLLIN};

		for (reap(&g->child[i]); g->child[i].pid != 0; reap(&g->child[i])) {
			if (sw_clock_mono_us() > until_us)
				break;
			(void)poll(&fd, 1, TURN_MS);
			sw_beat();
		}
	}
}

static void *reap_left(void *arg)
{
	pid_t *pid = arg;

	(void)waitpid(*pid, NULL, 0);
	free(pid);
	return NULL;
}

/* Reaps the process in a thread. A zombie that is left would hide those of programs from the idle
 * worker (sw_program_reap). */
static void leave(pid_t pid)
{
	pid_t *of = sw_malloc(sizeof *of);
	pthread_t thread;

	if (of == NULL)
		return; /* the zombie stays: without memory nothing better can be done */
	*of = pid;
	if (pthread_create(&thread, NULL, reap_left, of) == 0)
		(void)pthread_detach(thread);
	else
		free(of);
}

void sw_gang_end(struct sw_gang *g, bool at_once)
{
	if (!g)
		return;
	if (!at_once)
		await_all(g);
	for (size_t i = 0; i < g->n; i++)
		if (g->child[i].pid != 0)
			(void)kill(g->child[i].pid, SIGKILL);
	/* a killed process is not gone at once: a driver may still free its device */
	await_all(g);
	for (size_t i = 0; i < g->n; i++) {
		if (g->child[i].pid != 0)
			leave(g->child[i].pid);
		if (g->child[i].pidfd >= 0)
			close(g->child[i].pidfd);
	}
	/* not before: a rank that still waits would take this one for lost */
	sw_comm_close(g->comm);
	free(g->child);
	free(g);
}
