#include "worker/exec/ranks.h"
#include "base/memory.h"
#include "spec/spec.h"
#include "worker/link/session.h"
#include <arpa/inet.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

_Static_assert(4 + 3 * (SW_SPEC_MAX_RANKS - 1) <= SW_SESSION_FDS, "each rank has three to watch");

sw_status sw_ranks_init(struct sw_ranks *r, size_t world, struct sw_err *err)
{
	*r = (struct sw_ranks){0};
	if (world < 2)
		return SW_OK;
	if (world > SW_SPEC_MAX_RANKS)
		return sw_err_set(err, SW_INVALID, "%zu ranks: at most %d", world,
				  SW_SPEC_MAX_RANKS);
	r->v = sw_calloc(world - 1, sizeof *r->v);
	if (!r->v)
		return sw_err_set(err, SW_NOMEM, "no memory for a program");
	r->n = world - 1;
	sw_ranks_reset(r);
	return SW_OK;
}

void sw_ranks_reset(struct sw_ranks *r)
{
	for (size_t i = 0; i < r->n; i++) {
		struct sw_rank *k = &r->v[i];

		sw_program_init(&k->program);
		sw_lines_init(&k->out);
		sw_lines_init(&k->err);
		k->last_words[0] = '\0';
	}
}

void sw_ranks_fini(struct sw_ranks *r)
{
	free(r->v);
	*r = (struct sw_ranks){0};
}

/* --- where they meet --- */

/* 0: none. */
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
	if (rank > 0) /* nobody would answer there */
		sw_environment_set(e, "SWEEPD_METRICS_FD", NULL);
}

/* --- what they write --- */

static void watch(struct pollfd *fds, size_t *n, int fd, bool ended)
{
	if (!ended && fd >= 0)
		fds[(*n)++] = (struct pollfd){.fd = fd, .events = POLLIN};
}

void sw_ranks_watch(const struct sw_ranks *r, struct pollfd *fds, size_t *n)
{
	for (size_t i = 0; i < r->n; i++) {
		const struct sw_rank *k = &r->v[i];

		watch(fds, n, k->program.pidfd, k->program.ended);
		watch(fds, n, k->program.out, k->out.ended);
		watch(fds, n, k->program.err, k->err.ended);
	}
}

bool sw_ranks_read(struct sw_ranks *r)
{
	bool more = false;

	for (size_t i = 0; i < r->n; i++) {
		struct sw_rank *k = &r->v[i];

		if (k->program.pid == 0)
			continue;
		(void)sw_program_has_ended(&k->program);
		more |= !k->out.ended && sw_lines_read(&k->out, k->program.out);
		more |= !k->err.ended && sw_lines_read(&k->err, k->program.err);
	}
	return more;
}

void sw_ranks_end_lines(struct sw_ranks *r)
{
	for (size_t i = 0; i < r->n; i++)
		r->v[i].out.ended = r->v[i].err.ended = true;
}

/* --- their end --- */

size_t sw_ranks_failed(const struct sw_ranks *r)
{
	for (size_t i = 0; i < r->n; i++) {
		const struct sw_program *p = &r->v[i].program;

		if (p->ended && (p->code != 0 || p->signal != 0))
			return i + 1;
	}
	return 0;
}

bool sw_ranks_are_left(const struct sw_ranks *r)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->v[i].program.pid != 0 && sw_program_is_left(&r->v[i].program))
			return true;
	return false;
}

void sw_ranks_close(struct sw_ranks *r)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->v[i].program.pid != 0)
			sw_program_close(&r->v[i].program);
}
