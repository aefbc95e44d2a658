#include "worker/exec/ranks.h"
#include "base/memory.h"
#include "spec/spec.h"
#include "worker/exec/oom.h"
#include "worker/link/session.h"
#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

_Static_assert(1 + 3 * SW_SPEC_MAX_RANKS <= SW_SESSION_FDS, "each rank has three to watch");

sw_status sw_ranks_init(struct sw_ranks *r, size_t world, const char *log, struct sw_err *err)
{
	*r = (struct sw_ranks){.n = 0};
	sw_output_init(&r->log, log);
	if (world > SW_SPEC_MAX_RANKS)
		return sw_err_set(err, SW_INVALID, "%zu ranks: at most %d", world,
				  SW_SPEC_MAX_RANKS);
	world = world ? world : 1;
	r->v = sw_calloc(world, sizeof *r->v);
	if (!r->v)
		return sw_err_set(err, SW_NOMEM, "no memory for a program");
	r->n = world;
	sw_ranks_reset(r);
	return SW_OK;
}

void sw_ranks_reset(struct sw_ranks *r)
{
	sw_lines_init(&r->metrics);
	r->failed = 0;
	/* Before the start, to be compared with what it is after a SIGKILL. */
	r->kills = sw_oom_kills(SW_OOM_VMSTAT);
	for (size_t i = 0; i < r->n; i++) {
		struct sw_rank *k = &r->v[i];

		sw_program_init(&k->program);
		sw_lines_init(&k->out);
		sw_lines_init(&k->err);
		k->words = (struct sw_words){.after = 0};
	}
}

void sw_ranks_fini(struct sw_ranks *r)
{
	sw_output_close(&r->log);
	free(r->v);
	r->v = NULL;
	r->n = 0;
}

/* --- where they meet --- */

/* A free port, or 0. */
static unsigned free_port(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t n = sizeof at;
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	unsigned port = 0;

	if (fd >= 0 && bind(fd, (struct sockaddr *)&at, n) == 0 &&
	    getsockname(fd, (struct sockaddr *)&at, &n) == 0)
		port = ntohs(at.sin_port);
	if (fd >= 0)
		close(fd);
	return port;
}

sw_status sw_ranks_meet(struct sw_environment *e, size_t world, struct sw_err *err)
{
	const unsigned port = free_port();

	if (port == 0)
		return sw_err_set(err, SW_IO, "no port is free for the ranks of a program");
	sw_environment_set(e, "MASTER_ADDR", "127.0.0.1");
	sw_environment_set_number(e, "MASTER_PORT", port);
	sw_environment_set_number(e, "WORLD_SIZE", world);
	sw_environment_set_number(e, "LOCAL_WORLD_SIZE", world);
	sw_ranks_number(e, 0);
	return SW_OK;
}

void sw_ranks_number(struct sw_environment *e, size_t rank)
{
	sw_environment_set_number(e, "RANK", rank);
	sw_environment_set_number(e, "LOCAL_RANK", rank);
	if (rank > 0) /* its reports would have no reader */
		sw_environment_set(e, "SWEEPD_METRICS_FD", NULL);
}

/* --- what they write --- */

static void watch(struct pollfd *fds, size_t *n, int fd, short events)
{
	if (events && fd >= 0)
		fds[(*n)++] = (struct pollfd){.fd = fd, .events = events};
}

void sw_ranks_watch(const struct sw_ranks *r, short socket, bool prints, struct pollfd *fds,
		    size_t *n)
{
	watch(fds, n, r->v[0].program.metrics, socket);
	for (size_t i = 0; i < r->n; i++) {
		const struct sw_rank *k = &r->v[i];

		watch(fds, n, k->program.pidfd, k->program.ended ? 0 : POLLIN);
		const bool left = i == 0 && !prints;

		watch(fds, n, k->program.out, k->out.ended || left ? 0 : POLLIN);
		watch(fds, n, k->program.err, k->err.ended || (left && r->text) ? 0 : POLLIN);
	}
}

void sw_ranks_take(struct sw_ranks *r, int fd)
{
	for (size_t i = 0; i < r->n; i++) {
		struct sw_rank *k = &r->v[i];

		if (fd == k->program.pidfd)
			(void)sw_program_has_ended(&k->program);
		else if (fd == k->program.out)
			(void)sw_lines_read(&k->out, fd);
		else if (fd == k->program.err)
			(void)sw_lines_read(&k->err, fd);
		else if (fd == k->program.metrics && i == 0)
			(void)sw_lines_read(&r->metrics, fd);
	}
}

bool sw_ranks_read(struct sw_ranks *r)
{
	bool more = sw_lines_read(&r->metrics, r->v[0].program.metrics);

	for (size_t i = 0; i < r->n; i++) {
		struct sw_rank *k = &r->v[i];

		if (k->program.pid == 0) /* another rank could not be started */
			continue;
		(void)sw_program_has_ended(&k->program);
		more |= sw_lines_read(&k->out, k->program.out);
		more |= sw_lines_read(&k->err, k->program.err);
	}
	return more;
}

void sw_ranks_end_lines(struct sw_ranks *r)
{
	r->metrics.ended = true;
	for (size_t i = 0; i < r->n; i++)
		r->v[i].out.ended = r->v[i].err.ended = true;
}

void sw_ranks_keep_lines(struct sw_ranks *r)
{
	char *line;
	size_t len;

	for (size_t i = 0; i < r->n; i++) {
		struct sw_rank *k = &r->v[i];
		char who[32] = "";

		if (i > 0)
			(void)snprintf(who, sizeof who, "[rank %zu] ", i);
		while (!(i == 0 && r->text) && sw_lines_next(&k->err, &line, &len)) {
			sw_output_line(&r->log, who, line, len);
			sw_words_take(&k->words, line);
		}
		while (i > 0 && sw_lines_next(&k->out, &line, &len))
			sw_output_line(&r->log, who, line, len);
	}
}

/* --- their end --- */

bool sw_ranks_have_failed(struct sw_ranks *r)
{
	for (size_t i = 1; i < r->n && r->failed == 0; i++) {
		const struct sw_program *p = &r->v[i].program;

		/* Rank 0 is not asked: its end is the program's, which each run waits for. */
		if (p->ended && (p->code != 0 || p->signal != 0))
			r->failed = i;
	}
	return r->failed != 0;
}

/* Did a signal end it (or a shell's child), which no rank gets for the loss of another? One that
 * loses a peer may abort, as NCCL's watchdog does, or die of SIGPIPE or of its launcher's
 * SIGTERM. */
static bool was_struck(const struct sw_program *p)
{
	const int sig = p->signal ? p->signal : p->code - 128;

	return sig == SIGKILL || sig == SIGSEGV || sig == SIGBUS || sig == SIGFPE || sig == SIGILL;
}

void sw_ranks_blame(struct sw_ranks *r)
{
	const struct sw_program *p = &r->v[r->failed].program;

	if (!p->ended || (p->code == 0 && p->signal == 0) || was_struck(p))
		return; /* none has failed, or there is nobody else to blame */
	for (size_t i = 0; i < r->n; i++)
		if (r->v[i].program.ended && was_struck(&r->v[i].program)) {
			r->failed = i;
			return;
		}
}

bool sw_ranks_are_oom(const struct sw_ranks *r)
{
	for (size_t i = 0; i < r->n; i++) {
		const struct sw_words *w = &r->v[i].words;
		const int signal = r->v[i].program.signal, code = r->v[i].program.code;

		/* 137: of a shell's child; a DataLoader quotes the signal of its worker */
		if ((signal == SIGKILL || code == 128 + SIGKILL ||
		     strstr(sw_words_say(w), "by signal: Killed"))
			    ? sw_oom_kills(SW_OOM_VMSTAT) > r->kills
			    : (code != 0 || signal == SIGABRT) && sw_words_oom(w))
			return true;
	}
	return false;
}

bool sw_ranks_are_left(const struct sw_ranks *r)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->v[i].program.pid != 0 && sw_program_is_left(&r->v[i].program))
			return true;
	return false;
}

size_t sw_ranks_signal(const struct sw_ranks *r, int sig)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n; i++) {
		const struct sw_program *p = &r->v[i].program;

		/* not reaped: the number is its own */
		n += p->pid != 0 && !p->ended && kill(p->pid, sig) == 0;
	}
	return n;
}

void sw_ranks_close(struct sw_ranks *r)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->v[i].program.pid != 0)
			sw_program_close(&r->v[i].program);
}
