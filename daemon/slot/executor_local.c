/* daemon/slot/executor_local.c — workers as processes of this machine: fork and exec through
 * libuv. */
#include "base/memory.h"
#include "base/process.h"
#include "daemon/daemon.h"
#include "daemon/slot/executor.h"
#include "daemon/slot/worker_env.h"
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOG_MAX_BYTES ((off_t)1024 * 1024)

struct sw_proc {
	union { /* uv_close() takes either */
		uv_process_t child;
		uv_poll_t watch; /* of an adopted one's pidfd */
	} h;
	int pidfd; /* of an adopted one; else -1 */
	int input; /* to a child that has not been told; else -1 */
	pid_t pid;
	char log[PATH_MAX]; /* a child's; "" for an adopted one */
	off_t log_from;     /* where the log ended when it was started */
	sw_ended_cb *ended; /* NULL once forgotten */
	void *user;
};

static void read_boot_id(char out[40])
{
	const int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	const ssize_t n = fd < 0 ? 0 : read(fd, out, 36);

	if (fd >= 0)
		(void)close(fd);
	out[n > 0 ? n : 0] = '\0';
}

/* --- the end of one --- */

static void on_closed(uv_handle_t *h)
{
	struct sw_proc *p = h->data;

	if (p->pidfd >= 0)
		(void)close(p->pidfd);
	if (p->input >= 0)
		(void)close(p->input);
	free(p);
}

/* The last line that the worker printed since it was started. */
static void read_last_line(const struct sw_proc *p, char *out, size_t cap)
{
	char text[1024];
	struct stat st;
	const int fd = *p->log == '\0' ? -1 : open(p->log, O_RDONLY | O_CLOEXEC);
	ssize_t n = -1;

	*out = '\0';
	/* An adopted worker's log is not known, and a missing one says nothing. */
	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && st.st_size > p->log_from) {
		const off_t room = (off_t)sizeof text - 1;
		const off_t from = st.st_size - p->log_from > room ? st.st_size - room
								   : p->log_from;

		n = pread(fd, text, sizeof text - 1, from);
	}
	(void)close(fd);
	while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == '\r'))
		n--;
	/* It printed nothing. */
	if (n <= 0)
		return;
	text[n] = '\0';
	const char *line = strrchr(text, '\n');
	(void)snprintf(out, cap, "%.255s", line != NULL ? line + 1 : text);
}

static void end_proc(struct sw_proc *p, const char *cause)
{
	sw_ended_cb *ended = p->ended;
	char said[256];

	/* Before `ended`, which may start the next worker: that one writes to the same file. */
	read_last_line(p, said, sizeof said);
	p->ended = NULL;
	/* The worker led its own process group: what it left behind ends with it. libuv has reaped
	 * the child by now, but the number of a group is not given again while one of its processes
	 * lives. */
	(void)kill(-p->pid, SIGKILL);
	/* Before `ended`, which may start the next worker for the same slot: p is libuv's from here
	 * on. */
	uv_close((uv_handle_t *)&p->h, on_closed);
	if (ended != NULL)
		ended(p->user, cause, said);
}

static void on_child_exit(uv_process_t *child, int64_t status, int sig)
{
	char cause[32];

	(void)snprintf(cause, sizeof cause, sig != 0 ? "signal:%d" : "exit:%d",
		       sig != 0 ? sig : (int)status);
	end_proc(child->data, cause);
}

static void on_gone(uv_poll_t *watch, int status, int events)
{
	(void)status;
	(void)events;
	(void)uv_poll_stop(watch);
	/* It is no child of this daemon: its status goes to the process that reaps it. */
	end_proc(watch->data, "lost");
}

/* --- the beginning of one --- */

static int open_log(const char *path)
{
	struct stat st;
	const int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);

	/* The output of earlier workers is kept up to a limit, so that a crash can be read. */
	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size > LOG_MAX_BYTES && ftruncate(fd, 0) != 0)
		(void)0;
	return fd;
}

static sw_status local_start(uv_loop_t *loop, char *const argv[], char *const more[],
			     const char *log, sw_ended_cb *ended, void *user, struct sw_proc **out,
			     char *handle, size_t handle_cap, struct sw_err *err)
{
	struct sw_proc *p = sw_calloc(1, sizeof *p);
	char *env[SW_WORKER_ENV_MAX + 1], boot[40];
	uv_stdio_container_t stdio[3] = {{.flags = UV_IGNORE}};
	struct sw_process self = {0};

	*out = NULL;
	if (p == NULL)
		return sw_err_set(err, SW_NOMEM, "out of memory");
	sw_worker_env_fill(env, more);
	/* Without a pipe the worker reads the end of its input, and ends with a line. Without a log
	 * it runs all the same. */
	int in[2] = {-1, -1};
	const int fd = open_log(log);
	struct stat st;

	if (pipe2(in, O_CLOEXEC) == 0) {
		stdio[0].flags = UV_INHERIT_FD;
		stdio[0].data.fd = in[0];
	}
	if (fd >= 0 && fstat(fd, &st) == 0) {
		(void)snprintf(p->log, sizeof p->log, "%s", log);
		p->log_from = st.st_size;
	}
	for (int i = 1; i < 3; i++)
		if (fd >= 0) {
			stdio[i].flags = UV_INHERIT_FD;
			stdio[i].data.fd = fd;
		}
	const uv_process_options_t options = {
		.exit_cb = on_child_exit,
		.file = argv[0],
		.args = (char **)argv,
		.env = env,
		.flags = UV_PROCESS_DETACHED, /* a session of its own: it outlives the daemon */
		.stdio = stdio,
		.stdio_count = 3,
	};
	p->pidfd = -1;
	p->input = in[1];
	p->ended = ended;
	p->user = user;
	const int rc = uv_spawn(loop, &p->h.child, &options);
	if (fd >= 0)
		(void)close(fd);
	if (in[0] >= 0)
		(void)close(in[0]);
	/* After uv_spawn(), which sets the handle anew. It needs its close even if it failed. */
	p->h.child.data = p;
	if (rc != 0) {
		uv_close((uv_handle_t *)&p->h.child, on_closed);
		return sw_err_set(err, SW_IO, "cannot start %s: %s", argv[0], uv_strerror(rc));
	}
	p->pid = p->h.child.pid;
	/* A process number comes again, after a while or after a boot. */
	read_boot_id(boot);
	(void)sw_process_read(p->pid, &self);
	(void)snprintf(handle, handle_cap, "%ld:%llu:%s", (long)p->pid,
		       (unsigned long long)self.start, boot);
	*out = p;
	return SW_OK;
}

static void local_tell(struct sw_proc *p, const char *input)
{
	/* It was told, or was adopted. */
	if (p->input < 0)
		return;
	/* far below what a pipe takes, so nobody waits; a worker that has ended is told nothing */
	(void)!write(p->input, input, strlen(input));
	(void)close(p->input);
	p->input = -1;
}

static sw_status local_adopt(uv_loop_t *loop, const char *handle, sw_ended_cb *ended, void *user,
			     struct sw_proc **out, struct sw_err *err)
{
	char boot[40], now_boot[40];
	unsigned long long ticks;
	struct sw_process now;
	struct sw_proc *p;
	long pid;

	*out = NULL;
	if (sscanf(handle, "%ld:%llu:%39s", &pid, &ticks, boot) != 3)
		return sw_err_set(err, SW_INVALID, "not a handle of this executor");
	read_boot_id(now_boot);
	/* No process outlives a boot, and its number may be another's by now. */
	if (strcmp(boot, now_boot) != 0)
		return sw_err_set(err, SW_NOT_FOUND, "the machine was restarted since");
	const int fd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
	/* The time is read after the descriptor: it then speaks of the process that the descriptor
	 * holds. */
	if (fd < 0 || !sw_process_read((pid_t)pid, &now) || now.start != ticks) {
		if (fd >= 0)
			(void)close(fd);
		return sw_err_set(err, SW_NOT_FOUND, "process %ld has ended", pid);
	}
	p = sw_calloc(1, sizeof *p);
	if (p == NULL || uv_poll_init(loop, &p->h.watch, fd) != 0) {
		(void)close(fd);
		free(p);
		return sw_err_set(err, SW_NOMEM, "cannot watch process %ld", pid);
	}
	/* A pidfd becomes readable when its process ends, whoever is its parent. */
	p->pidfd = fd;
	p->input = -1;
	p->pid = (pid_t)pid;
	p->ended = ended;
	p->user = user;
	p->h.watch.data = p;
	if (uv_poll_start(&p->h.watch, UV_READABLE, on_gone) != 0) {
		uv_close((uv_handle_t *)&p->h.watch, on_closed);
		return sw_err_set(err, SW_IO, "cannot watch process %ld", pid);
	}
	*out = p;
	return SW_OK;
}

static void local_stop(struct sw_proc *p, bool hard)
{
	/* The process is not reaped before `ended`, or is held by its pidfd: the number is its
	 * own. */
	if (hard) /* the group: what it started, too */
		(void)kill(-p->pid, SIGKILL);
	else
		(void)kill(p->pid, SIGTERM);
}

static void local_forget(struct sw_proc *p)
{
	/* Its process runs on; nobody is told of its end. */
	p->ended = NULL;
	uv_close((uv_handle_t *)&p->h, on_closed);
}

static long local_pid(const struct sw_proc *p)
{
	return (long)p->pid;
}

static bool local_dismiss(struct sw_daemon *d, const char *handle)
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_proc *p;

	/* It has ended by itself. */
	if (local_adopt(d->loop, handle, NULL, NULL, &p, &err) != SW_OK || p == NULL)
		return false;
	local_stop(p, true);
	local_forget(p);
	return true;
}

const struct sw_executor sw_executor_local = {
	.start = local_start,
	.tell = local_tell,
	.adopt = local_adopt,
	.dismiss = local_dismiss,
	.stop = local_stop,
	.forget = local_forget,
	.pid = local_pid,
};
