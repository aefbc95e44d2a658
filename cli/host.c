#include "cli/host.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define END_MS 5000

/* The user's own configuration may hold more for that host than this needs: ports to forward, which
 * are taken already, and a command to run. A link that went dead in silence is noticed after a
 * minute. */
static const char *const words[] = {"ssh",
				    "-T",
				    "-oClearAllForwardings=yes",
				    "-oRemoteCommand=none",
				    "-oServerAliveInterval=20",
				    "-oBatchMode=yes", /* the QUIET-th, or no word at all */
				    "--",
				    NULL, /* the HOST-th */
				    "sweep",
				    "dial",
				    NULL};
#define N_WORDS (sizeof words / sizeof *words)
enum { QUIET = 5, HOST = 7 };

bool sw_host_is_name(const char *host)
{
	for (const char *c = host; *c != '\0'; c++)
		if ((unsigned char)*c <= ' ' || *c == 0x7f)
			return false;
	return host[0] != '\0' && host[0] != '-';
}

/* In the child. Ctrl-C is for this program, which may have more to say to the daemon; at a password
 * it ends this program, and that ends ssh. */
static _Noreturn void run_ssh(const char *host, bool quiet, int fd, pid_t parent)
{
	const char *argv[N_WORDS];
	size_t n = 0;
	sigset_t none;

	for (size_t i = 0; i < N_WORDS; i++)
		if (i != QUIET || quiet)
			argv[n++] = i == HOST ? host : words[i];
	(void)signal(SIGINT, SIG_IGN);
	(void)sigemptyset(&none);
	/* A live table blocks signals while it draws, and a mask is inherited across exec. */
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	/* If the parent died before prctl(), no signal will come: then it must not start at all. */
	if (getppid() == parent && dup2(fd, STDIN_FILENO) >= 0 && dup2(fd, STDOUT_FILENO) >= 0)
		(void)execvp(argv[0], (char *const *)argv);
	(void)fprintf(stderr, "sweep: cannot run ssh: %s\n", strerror(errno));
	/* ssh's own status for "no connection", which sw_host_lost() explains. */
	_exit(255);
}

sw_status sw_host_start(const char *host, bool quiet, int *fd, pid_t *ssh, struct sw_err *err)
{
	const pid_t self = getpid();
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
		return sw_err_set(err, SW_IO, "socketpair: %s", strerror(errno));
	*ssh = fork();
	if (*ssh == 0)
		run_ssh(host, quiet, pair[1], self);
	(void)close(pair[1]);
	*fd = pair[0];
	if (*ssh > 0)
		return SW_OK;
	(void)close(pair[0]);
	return sw_err_set(err, SW_NOMEM, "cannot start ssh: %s", strerror(errno));
}

int sw_host_end(pid_t ssh)
{
	int status = 0;

	/* By looking, since a wait with a limit would need SIGCHLD or a thread. */
	for (int ms = 0; ms < END_MS; ms += 5) {
		if (waitpid(ssh, &status, WNOHANG) != 0)
			return status;
		(void)poll(NULL, 0, 5);
	}
	(void)kill(ssh, SIGKILL);
	(void)waitpid(ssh, &status, 0);
	return status;
}

sw_status sw_host_lost(const char *host, int status, bool up, struct sw_err *err)
{
	const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;

	/* `sweep dial` ends well when the daemon has closed, since this side has not. */
	if (code == 0)
		return sw_err_set(err, SW_IO, "%s: the daemon there closed the connection", host);
	if (up)
		return sw_err_set(err, SW_PEER_LOST, "%s: the connection was lost", host);
	if (code == 255)
		return sw_err_set(
			err, SW_PEER_LOST,
			"%s: no connection; ssh's own line says why, and `ssh %s` tries it", host,
			host);
	if (code == 127)
		return sw_err_set(
			err, SW_PEER_LOST,
			"%s: its shell finds no `sweep`: install sweepd there, or add its "
			"folder to PATH at the top of ~/.bashrc (zsh: ~/.zshenv) there",
			host);
	if (code == 3)
		return sw_err_set(err, SW_PEER_LOST,
				  "%s: the line above is from there: start its daemon, or set "
				  "SWEEPD_SOCKET there",
				  host);
	return sw_err_set(err, SW_PEER_LOST, "%s: `sweep dial` there ended with %s %d", host,
			  code < 0 ? "signal" : "status", code < 0 ? WTERMSIG(status) : code);
}
