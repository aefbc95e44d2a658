#include "cli/pager.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static volatile sig_atomic_t pager; /* its process; 0: none */

/* Not before the pager has ended: it and the shell would read from the terminal at once. */
static void on_signal(int sig)
{
	(void)close(STDOUT_FILENO); /* the end of what it reads */
	(void)waitpid(pager, NULL, 0);
	_exit(sig == SIGPIPE ? 0 : 128 + sig);
}

/* A plain name is started as it is, so that its lack is seen; anything else is for the shell, as
 * POSIX has it for PAGER. */
static int spawn_pager(const char *command, const posix_spawn_file_actions_t *files, pid_t *pid)
{
	char line[1024];
	char *shell[] = {(char *)"sh", (char *)"-c", line, NULL};
	char *plain[] = {(char *)command, NULL};

	if (strlen(command) > sizeof line - 64)
		return E2BIG;
	/* one that cannot be run has read nothing */
	(void)snprintf(line, sizeof line, "%s\ncase $? in 126|127) cat ;; esac", command);
	if (strpbrk(command, "|&;<>()$`\\\"' \t\n*?[#~=%") != NULL)
		return posix_spawnp(pid, "sh", files, NULL, shell, environ);
	return posix_spawnp(pid, command, files, NULL, plain, environ);
}

void sw_pager_start(void)
{
	const char *term = getenv("TERM"), *command = getenv("PAGER");
	posix_spawn_file_actions_t files;
	pid_t pid = 0;
	int ends[2];

	if (command == NULL)
		command = "less";
	if (pager != 0 || isatty(STDOUT_FILENO) != 1 || term == NULL || strcmp(term, "dumb") == 0 ||
	    *command == '\0' || strcmp(command, "cat") == 0 || pipe2(ends, O_CLOEXEC) != 0)
		return;
	/* 0: what the user has set stays. */
	(void)setenv("LESS", "FRX", 0);
	if (posix_spawn_file_actions_init(&files) == 0) {
		if (posix_spawn_file_actions_adddup2(&files, ends[0], STDIN_FILENO) != 0 ||
		    spawn_pager(command, &files, &pid) != 0)
			pid = 0;
		(void)posix_spawn_file_actions_destroy(&files);
	}
	if (pid > 0 && dup2(ends[1], STDOUT_FILENO) >= 0) {
		pager = pid;
		(void)signal(SIGINT, on_signal);
		(void)signal(SIGPIPE, on_signal);
	}
	/* Our own copies go: the pager sees the end of its input only when no writer is left. */
	(void)close(ends[0]);
	(void)close(ends[1]);
}

void sw_pager_end(void)
{
	if (pager == 0)
		return;
	(void)fclose(stdout);
	(void)waitpid(pager, NULL, 0); /* no handler returns, so nothing interrupts it */
}
