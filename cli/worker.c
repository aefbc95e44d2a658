#include "cli/worker.h"
#include "cli/client.h"
#include "proto/json.h"
#include <errno.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* $SWEEPD_WORKER, else the program beside this one. */
static void worker_path(char out[PATH_MAX + 16])
{
	const char *given = getenv("SWEEPD_WORKER");
	char self[PATH_MAX];
	const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

	if (given != NULL && *given != '\0') { /* a test's, or one beside another build */
		(void)snprintf(out, PATH_MAX + 16, "%s", given);
		return;
	}
	self[n < 0 ? 0 : n] = '\0';
	(void)snprintf(out, PATH_MAX + 16, "%s/sweep-worker", n < 0 ? "." : dirname(self));
}

/* A file without a name that holds the text, read from its start; -1: none can be made. */
static int text_file(const char *text)
{
	FILE *file = tmpfile();
	int fd = -1;

	if (file == NULL)
		return -1;
	if (fputs(text, file) >= 0 && fflush(file) == 0) {
		fd = dup(fileno(file));
		if (fd >= 0 && lseek(fd, 0, SEEK_SET) != 0) {
			(void)close(fd);
			fd = -1;
		}
	}
	(void)fclose(file);
	return fd;
}

/* 0 or an errno; *status is waitpid's. */
static int spawn(const char *worker, char *const argv[], int in, int *status)
{
	posix_spawn_file_actions_t actions;
	pid_t pid;
	int rc = posix_spawn_file_actions_init(&actions);

	if (rc != 0)
		return rc;
	if (in >= 0)
		rc = posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
	if (rc == 0)
		rc = posix_spawn(&pid, worker, &actions, NULL, argv, environ);
	(void)posix_spawn_file_actions_destroy(&actions);
	while (rc == 0 && waitpid(pid, status, 0) < 0 && errno == EINTR)
		continue;
	return rc;
}

int sw_worker_run(struct sw_cli *c, const char *const *words, const char *input)
{
	/* under this program's name, with which its errors then begin */
	char worker[PATH_MAX + 16], self[] = "sweep", *argv[SW_WORKER_WORDS + 2] = {self};
	const int in = input != NULL ? text_file(input) : -1;
	int status = -1, rc = 0;

	worker_path(worker);
	if (input != NULL && in < 0)
		rc = errno != 0 ? errno : EIO;
	for (size_t i = 0; rc == 0 && i < SW_WORKER_WORDS && words[i] != NULL; i++) {
		argv[i + 1] = strdup(words[i]);
		rc = argv[i + 1] != NULL ? 0 : ENOMEM;
	}
	if (rc == 0)
		rc = spawn(worker, argv, in, &status);
	if (rc != 0)
		sw_cli_say(c, "cannot run %s: %s", worker, strerror(rc));
	else if (WIFSIGNALED(status))
		sw_cli_say(c, "%s was ended by signal %d", worker, WTERMSIG(status));
	if (in >= 0)
		(void)close(in);
	for (size_t i = 1; i <= SW_WORKER_WORDS; i++)
		free(argv[i]);
	return rc == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? SW_EXIT_DONE
									: SW_EXIT_REFUSED;
}

int sw_worker_trial(struct sw_cli *c)
{
	struct sw_reply r = SW_REPLY_INIT;
	int status;

	if (c->trial != 0)
		return SW_EXIT_DONE;
	status = sw_cli_fetch_ref(c, "sweep.best", 0, &r);
	if (status == SW_EXIT_DONE) {
		const cJSON *trials = sw_json_get(r.result, "trials");

		if (!cJSON_IsArray(trials) ||
		    !sw_json_u64(sw_json_get(trials->child, "trial"), &c->trial)) {
			sw_cli_say(c, "no trial has a value yet");
			status = SW_EXIT_REFUSED;
		}
	}
	sw_client_reply_fini(&r);
	return status;
}
