#include "bench/lib/server.h"
#include <assert.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

struct reply {
	uv_write_t req;
	uv_buf_t buf;
};

static void on_alloc(uv_handle_t *h, size_t hint, uv_buf_t *buf)
{
	(void)h;
	buf->base = malloc(hint);
	buf->len = buf->base != NULL ? hint : 0;
}

static void on_closed(uv_handle_t *h)
{
	free(h);
}

static void on_written(uv_write_t *req, int status)
{
	struct reply *r = (struct reply *)req;

	(void)status;
	free(r->buf.base);
	free(r);
}

static void on_read(uv_stream_t *s, ssize_t n, const uv_buf_t *buf)
{
	struct reply *r;

	if (n <= 0) {
		free(buf->base);
		if (n < 0)
			uv_close((uv_handle_t *)s, on_closed);
		return;
	}
	r = malloc(sizeof *r);
	assert(r != NULL);
	r->buf = uv_buf_init(buf->base, (unsigned)n);
	if (uv_write(&r->req, s, &r->buf, 1, on_written) != 0) {
		free(r->buf.base);
		free(r);
	}
}

static void on_connection(uv_stream_t *listener, int status)
{
	uv_pipe_t *peer = malloc(sizeof *peer);

	assert(peer != NULL);
	if (status != 0) {
		free(peer);
		return;
	}
	(void)uv_pipe_init(listener->loop, peer, 0);
	if (uv_accept(listener, (uv_stream_t *)peer) != 0)
		uv_close((uv_handle_t *)peer, on_closed);
	else
		(void)uv_read_start((uv_stream_t *)peer, on_alloc, on_read);
}

static int echo(const char *path)
{
	uv_loop_t loop;
	uv_pipe_t listener;

	if (uv_loop_init(&loop) != 0 || uv_pipe_init(&loop, &listener, 0) != 0 ||
	    uv_pipe_bind(&listener, path) != 0 ||
	    uv_listen((uv_stream_t *)&listener, 16, on_connection) != 0)
		return 1;
	return uv_run(&loop, UV_RUN_DEFAULT);
}

pid_t bench_echo_start(const char *socket_path)
{
	const pid_t pid = fork();

	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(echo(socket_path));
	}
	return pid;
}

#define FIXED 9 /* arguments that each sweepd has */

static pid_t start_sweepd(struct bench_rig *r, const char *const more[])
{
	char program[PATH_MAX + 16], log[PATH_MAX + 8];
	const char *argv[24] = {"sweepd", "--state", r->dir,        "--socket", r->socket,
				"--log",  log,       "--log-level", "warn"};
	const ssize_t n = readlink("/proc/self/exe", program, PATH_MAX - 1);
	pid_t pid;

	if (n < 0)
		return -1;
	program[n] = '\0';
	char *slash = strrchr(program, '/');

	assert(slash != NULL);
	memcpy(slash, "/sweepd", sizeof "/sweepd");
	(void)snprintf(log, sizeof log, "%s/log", r->dir);
	for (size_t i = 0; more[i] != NULL; i++) {
		assert(FIXED + i + 1 < sizeof argv / sizeof *argv);
		argv[FIXED + i] = more[i];
	}
	pid = fork();
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)execv(program, (char **)argv);
		perror(program);
		_exit(127);
	}
	return pid;
}

int bench_server_stop(pid_t pid)
{
	int status = 0;

	if (pid <= 0 || kill(pid, SIGTERM) != 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* ---- the rig ---- */

int bench_rig_make(struct bench_rig *r, const char *where)
{
	char full[PATH_MAX];

	*r = (struct bench_rig){.c = {.fd = -1}};
	(void)snprintf(r->sockets, sizeof r->sockets, "/tmp/sw-bench-XXXXXX");
	if (realpath(where, full) == NULL ||
	    snprintf(r->dir, sizeof r->dir, "%s/bench-XXXXXX", full) >= (int)sizeof r->dir ||
	    mkdtemp(r->dir) == NULL || mkdtemp(r->sockets) == NULL) {
		perror(where);
		return -1;
	}
	(void)snprintf(r->socket, sizeof r->socket, "%s/s", r->sockets);
	return 0;
}

int bench_rig_start(struct bench_rig *r, const char *const args[])
{
	r->pid = start_sweepd(r, args);
	if (bench_client_connect(&r->c, r->socket) == 0)
		return 0;
	(void)fprintf(stderr, "sweepd did not start\n");
	return -1;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

int bench_rig_close(struct bench_rig *r)
{
	bench_client_close(&r->c);
	if (r->pid > 0 && bench_server_stop(r->pid) != 0) {
		(void)fprintf(stderr, "sweepd did not end cleanly, see %s/log\n", r->dir);
		return -1;
	}
	(void)nftw(r->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	(void)nftw(r->sockets, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	return 0;
}
