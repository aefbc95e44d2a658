#include "bench/lib/train_peer.h"
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static void become(const char *what, const char *python, unsigned threads, int end)
{
	static const char *const pools[] = {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS",
					    "MKL_NUM_THREADS"};
	char n[16];

	snprintf(n, sizeof n, "%u", threads);
	for (size_t i = 0; i < sizeof pools / sizeof *pools; i++)
		setenv(pools[i], n, 1);
	if (dup2(end, 0) >= 0 && dup2(end, 1) >= 0)
		execlp(python, python, "bench/train_peer.py", what, n, (char *)NULL);
	_exit(127);
}

/* The line without its end; "" when there is none. */
static void line_of(struct train_peer *p, char *out, size_t cap)
{
	if (!fgets(out, (int)cap, p->in))
		*out = '\0';
	out[strcspn(out, "\n")] = '\0';
}

void train_peer_start(struct train_peer *p, const char *what, const char *python, unsigned threads)
{
	int ends[2]; /* ours, and the peer's */
	char line[160];

	memset(p, 0, sizeof *p);
	snprintf(p->why, sizeof p->why, "no Python is named for it");
	if (!python || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
		return;
	(void)signal(SIGPIPE, SIG_IGN);
	fflush(stdout);
	p->pid = fork();
	if (p->pid == 0)
		become(what, python, threads, ends[1]);
	close(ends[1]);
	p->in = fdopen(ends[0], "r");
	p->out = fdopen(fcntl(ends[0], F_DUPFD_CLOEXEC, 0), "w");
	if (p->pid < 0 || !p->in || !p->out) {
		snprintf(p->why, sizeof p->why, "%s cannot be run", python);
		train_peer_stop(p);
		return;
	}
	line_of(p, line, sizeof line);
	if (*line && *line != '-') {
		snprintf(p->name, sizeof p->name, "%.79s", line);
		return;
	}
	snprintf(p->why, sizeof p->why, "%s: %s", python, *line ? line + 2 : "cannot be run");
	train_peer_stop(p);
}

double train_peer_rate(struct train_peer *p, const char *net, size_t batch, double seconds)
{
	char line[64];

	if (p->pid <= 0 || fprintf(p->out, "%s %zu %g\n", net, batch, seconds) < 0 ||
	    fflush(p->out) != 0)
		return 0;
	line_of(p, line, sizeof line);
	return strtod(line, NULL);
}

void train_peer_stop(struct train_peer *p)
{
	if (p->out)
		fclose(p->out);
	if (p->in)
		fclose(p->in);
	if (p->pid > 0)
		(void)waitpid(p->pid, NULL, 0);
	p->in = p->out = NULL;
	p->pid = 0;
}
