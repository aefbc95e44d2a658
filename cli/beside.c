#include "cli/beside.h"
#include <errno.h>
#include <libgen.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

extern char **environ;

void sw_beside_path(const char *name, const char *given, char out[SW_BESIDE_MAX])
{
	const char *value = getenv(given);
	char self[PATH_MAX];
	/* Not argv[0], which says nothing of the folder where the PATH found this program. */
	const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

	if (value != NULL && *value != '\0') {
		(void)snprintf(out, SW_BESIDE_MAX, "%s", value);
		return;
	}
	self[n < 0 ? 0 : n] = '\0';
	(void)snprintf(out, SW_BESIDE_MAX, "%s/%s", n < 0 ? "." : dirname(self), name);
}

int sw_beside_spawn(const char *path, char *const argv[], int in, pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	int rc = posix_spawn_file_actions_init(&actions);

	if (rc != 0)
		return rc;
	if (in >= 0)
		rc = posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
	if (rc == 0)
		rc = posix_spawn(pid, path, &actions, NULL, argv, environ);
	(void)posix_spawn_file_actions_destroy(&actions);
	return rc;
}

int sw_beside_validate(int *fd)
{
	char path[SW_BESIDE_MAX], self[] = "sweepd", verb[] = "validate";
	char *const argv[] = {self, verb, NULL};
	int pair[2];
	pid_t pid;

	sw_beside_path("sweepd", "SWEEPD_DAEMON", path);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
		return errno;
	const int rc = sw_beside_spawn(path, argv, pair[1], &pid);
	/* The child's copy must be the last one, or its end would not be seen here. */
	(void)close(pair[1]);
	if (rc != 0)
		(void)close(pair[0]);
	else
		*fd = pair[0];
	return rc;
}
