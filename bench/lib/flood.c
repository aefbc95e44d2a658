#include "bench/lib/flood.h"
#include "bench/lib/client.h"
#include "bench/lib/table.h"
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct conn {
	int fd;
	size_t flying; /* lines begun and not answered */
	size_t sent;   /* bytes of the one that is being sent; 0: none */
};

static bool has_more(const struct bench_flood *f, const struct conn *c, size_t begun)
{
	return c->sent > 0 || (c->flying < f->window && (f->most == 0 || begun < f->most));
}

/* -1: the server closed it. */
static int push(const struct bench_flood *f, struct conn *c, size_t *begun)
{
	while (has_more(f, c, *begun)) {
		const ssize_t n = send(c->fd, f->line + c->sent, f->len - c->sent,
				       MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -1;
		if (c->sent == 0) {
			c->flying++;
			++*begun;
		}
		c->sent = c->sent + (size_t)n < f->len ? c->sent + (size_t)n : 0;
	}
	return 0;
}

static int pull(struct conn *c)
{
	static char buf[1 << 18];
	const ssize_t n = recv(c->fd, buf, sizeof buf, MSG_DONTWAIT);

	if (n <= 0)
		return n < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
	for (const char *p = buf; (p = memchr(p, '\n', (size_t)(buf + n - p))) != NULL; p++)
		c->flying -= c->flying > 0;
	return 0;
}

/* One that was cut comes back. */
static int serve(const struct bench_flood *f, struct conn *c, short ready, size_t *begun)
{
	int rc = 0;

	if ((ready & (POLLIN | POLLHUP | POLLERR)) != 0 && !f->unread)
		rc = pull(c);
	else if ((ready & (POLLHUP | POLLERR)) != 0)
		rc = -1;
	if (rc == 0 && (ready & POLLOUT) != 0)
		rc = push(f, c, begun);
	if (rc == 0)
		return 0;
	(void)close(c->fd);
	*c = (struct conn){.fd = bench_client_dial(f->socket)};
	return c->fd < 0 ? -1 : 0;
}

int bench_flood(const struct bench_flood *f, double until)
{
	struct conn conns[BENCH_FLOOD_CONNS];
	struct pollfd at[BENCH_FLOOD_CONNS];
	size_t begun = 0;
	int rc = 0;

	assert(f->conns <= BENCH_FLOOD_CONNS);
	for (size_t i = 0; i < f->conns; i++)
		conns[i] = (struct conn){.fd = bench_client_dial(f->socket)};
	while (rc == 0 && bench_now() < until) {
		for (size_t i = 0; i < f->conns; i++) {
			at[i] = (struct pollfd){.fd = conns[i].fd};
			at[i].events = f->unread ? 0 : POLLIN;
			if (has_more(f, &conns[i], begun))
				at[i].events |= POLLOUT;
		}
		if (poll(at, f->conns, 20) <= 0)
			continue;
		for (size_t i = 0; rc == 0 && i < f->conns; i++)
			if (at[i].revents != 0)
				rc = serve(f, &conns[i], at[i].revents, &begun);
	}
	for (size_t i = 0; i < f->conns; i++)
		if (conns[i].fd >= 0)
			(void)close(conns[i].fd);
	return rc;
}

int bench_flood_churn(const struct bench_flood *f, double until)
{
	while (bench_now() < until) {
		const int fd = bench_client_dial(f->socket);

		if (fd < 0)
			return -1;
		if (f->len > 0)
			(void)!send(fd, f->line, f->len, MSG_NOSIGNAL | MSG_DONTWAIT);
		(void)close(fd);
	}
	return 0;
}
