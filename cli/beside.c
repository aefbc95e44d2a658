#include "cli/beside.h"
#include "base/buf.h"
#include "base/process.h"
#include "cli/cli.h"
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define BESIDE_MAX (PATH_MAX + 16)

extern char **environ;

/* The path of `name` in this program's folder; the value of the variable `given` counts more (a
 * test's, or another build's). */
static void path_beside(const char *name, const char *given, char out[BESIDE_MAX])
{
	const char *value = getenv(given);
	char self[PATH_MAX];
	/* Not argv[0], which says nothing of the folder where the PATH found this program. */
	const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

	if (value != NULL && *value != '\0') {
		(void)snprintf(out, BESIDE_MAX, "%s", value);
		return;
	}
	self[n < 0 ? 0 : n] = '\0';
	(void)snprintf(out, BESIDE_MAX, "%s/%s", n < 0 ? "." : dirname(self), name);
}

/* in, out: its stdin and stdout, -1: this program's. 0 or an errno. */
static int spawn_beside(const char *path, char *const argv[], int in, int out, pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	int rc = posix_spawn_file_actions_init(&actions);

	if (rc != 0)
		return rc;
	if (in >= 0)
		rc = posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
	if (rc == 0 && out >= 0)
		rc = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	if (rc == 0)
		rc = posix_spawn(pid, path, &actions, NULL, argv, environ);
	(void)posix_spawn_file_actions_destroy(&actions);
	return rc;
}

static void take_output(int fd, struct sw_buf *out)
{
	ssize_t n = 1;

	for (off_t at = 0; n > 0 && sw_buf_reserve(out, 4096) == SW_OK; at += n) {
		n = pread(fd, out->data + out->len, 4096, at);
		out->len += n > 0 ? (size_t)n : 0;
	}
}

int sw_beside_worker(struct sw_cli *c, const char *const *words, const char *input,
		     struct sw_buf *out)
{
	/* under this program's name, with which its errors then begin */
	char worker[BESIDE_MAX], self[] = "sweep", *argv[SW_BESIDE_WORDS + 2] = {self};
	const int in = input != NULL ? sw_process_input(input, strlen(input)) : -1;
	const int to = out != NULL ? sw_process_input("", 0) : -1; /* a file of no name, too */
	int status = -1, rc = 0;
	pid_t pid;

	path_beside("sweep-worker", "SWEEPD_WORKER", worker);
	if ((input != NULL && in < 0) || (out != NULL && to < 0))
		rc = errno != 0 ? errno : EIO;
	for (size_t i = 0; i < SW_BESIDE_WORDS && words[i] != NULL; i++)
		argv[i + 1] = (char *)words[i]; /* which it does not change */
	if (rc == 0)
		rc = spawn_beside(worker, argv, in, to, &pid);
	while (rc == 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	if (rc != 0)
		sw_cli_say(c, "cannot run %s: %s", worker, strerror(rc));
	else if (WIFSIGNALED(status))
		sw_cli_say(c, "%s was ended by signal %d", worker, WTERMSIG(status));
	if (in >= 0)
		(void)close(in);
	if (to >= 0) {
		take_output(to, out);
		(void)close(to);
	}
	return rc == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? SW_EXIT_DONE
									: SW_EXIT_REFUSED;
}

int sw_beside_validate(int *fd)
{
	char path[BESIDE_MAX], self[] = "sweepd", verb[] = "validate";
	char *const argv[] = {self, verb, NULL};
	int pair[2];
	pid_t pid;

	path_beside("sweepd", "SWEEPD_DAEMON", path);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
		return errno;
	const int rc = spawn_beside(path, argv, pair[1], -1, &pid);
	/* The child's copy must be the last one, or its end would not be seen here. */
	(void)close(pair[1]);
	if (rc != 0)
		(void)close(pair[0]);
	else
		*fd = pair[0];
	return rc;
}

int sw_beside_web(char *const *words)
{
	char path[BESIDE_MAX];

	path_beside("sweep-web", "SWEEPD_WEB", path);
	(void)execv(path, words);
	return errno;
}
