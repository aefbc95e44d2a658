/*
 * worker/comm/comm_tcp_meet.c — how ranks find each other. Rank 0 listens; the others connect to it,
 * each with the port of a socket of its own, and get the addresses of all; then each connects to
 * those of lower rank. Any process of the machine may connect to these ports, so both sides of a
 * connection show the secret first; who does not is dropped, and holds up nobody.
 */
#include "base/beat.h"
#include "base/clock.h"
#include "base/fault.h"
#include "worker/comm/comm_tcp.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC     0x31706374u
#define STRANGERS 32 /* connections that have not shown the secret */
#define SHY_US    ((int64_t)2 * 1000000)
#define BOOT_ID_N 36

struct hello {
	uint32_t magic, rank, world;
	unsigned char secret[SW_COMM_SECRET_N];
	uint32_t port; /* where it listens, in network order */
	int32_t pid;
	uint64_t start, pid_space; /* of its process; 0: not known */
	char boot_id[BOOT_ID_N];
};

struct meeting {
	struct tcp *t;
	struct hello self;
	struct sockaddr_in address[SW_COMM_WORLD_MAX];
	int listen;
	int64_t until_us;
	struct stranger {
		int fd;
		size_t n;
		int64_t until_us;
		struct hello hello;
	} stranger[STRANGERS];
	size_t strangers;
};

static int new_socket(void)
{
	return sw_fault_hit(SW_FAULT_IO)
		       ? -1
		       : socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

/* On the address of *at, at a free port, which it gets. */
static int new_listener(struct sockaddr_in *at)
{
	const int fd = new_socket();
	socklen_t len = sizeof *at;

	at->sin_port = 0;
	if (fd >= 0 &&
	    (bind(fd, (struct sockaddr *)at, len) != 0 || listen(fd, SW_COMM_WORLD_MAX) != 0 ||
	     getsockname(fd, (struct sockaddr *)at, &len) != 0)) {
		(void)close(fd);
		return -1;
	}
	return fd;
}

sw_status tcp_meet(struct sw_comm_place *at, struct sw_err *err)
{
	struct sockaddr_in here = {.sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	if (getrandom(at->secret, sizeof at->secret, 0) != (ssize_t)sizeof at->secret ||
	    (at->fd = new_listener(&here)) < 0)
		return sw_err_set(err, SW_IO, "no socket on which the ranks can meet: %s",
				  strerror(errno));
	(void)snprintf(at->at, sizeof at->at, "127.0.0.1:%u", ntohs(here.sin_port));
	return SW_OK;
}

/* --- who is who --- */

static void introduce(struct hello *h, const struct sw_comm_place *at)
{
	const int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	struct sw_process self;
	struct stat space;

	*h = (struct hello){
		.magic = MAGIC, .rank = at->rank, .world = at->world, .pid = (int32_t)getpid()};
	memcpy(h->secret, at->secret, sizeof h->secret);
	if (sw_process_read(getpid(), &self))
		h->start = self.start;
	if (stat("/proc/self/ns/pid", &space) == 0)
		h->pid_space = space.st_ino;
	if (fd >= 0) {
		if (read(fd, h->boot_id, BOOT_ID_N) != BOOT_ID_N)
			h->start = 0;
		(void)close(fd);
	}
}

static bool is_ours(const struct meeting *m, const struct hello *h)
{
	unsigned char other = 0; /* as long for any secret: its bytes cannot be found one by one */

	for (size_t i = 0; i < sizeof h->secret; i++)
		other = (unsigned char)(other | (h->secret[i] ^ m->self.secret[i]));
	return other == 0 && h->magic == MAGIC && h->world == m->self.world && h->rank < h->world;
}

/* From now on fd is the connection to that rank. */
static void acquaint(struct meeting *m, const struct hello *h, int fd)
{
	struct tcp_peer *p = &m->t->peer[h->rank];
	const int on = 1;

	p->fd = fd;
	if (h->start != 0 && h->pid_space != 0 && h->pid_space == m->self.pid_space &&
	    memcmp(h->boot_id, m->self.boot_id, BOOT_ID_N) == 0)
		p->process = (struct sw_process){.pid = h->pid, .start = h->start};
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

/* --- waits: each until m->until_us at most --- */

static sw_status not_come(const struct meeting *m, unsigned rank, struct sw_err *err)
{
	return sw_err_set(err, SW_PEER_LOST, "rank %u of %u is silent for %g s", rank,
			  m->self.world, (double)m->t->comm.silent_us / 1e6);
}

/* False: the time is over. */
static bool await_fds(const struct meeting *m, struct pollfd *fds, nfds_t n)
{
	for (;;) {
		const int64_t left_us = m->until_us - sw_clock_mono_us();

		if (left_us <= 0)
			return false;
		sw_beat();
		if (poll(fds, n,
			 left_us < COMM_LOOK_US ? 1 + (int)(left_us / 1000)
						: (int)(COMM_LOOK_US / 1000)) > 0)
			return true;
	}
}

/* A few bytes, for which a new connection always has room; or it is broken. */
static bool tell(int fd, const void *p, size_t n)
{
	return send(fd, p, n, MSG_NOSIGNAL) == (ssize_t)n;
}

static bool hear(const struct meeting *m, int fd, void *p, size_t n)
{
	for (size_t got = 0; got < n;) {
		struct pollfd in = {.fd = fd, .events = POLLIN};

		if (!await_fds(m, &in, 1))
			return false;
		const ssize_t k = recv(fd, (char *)p + got, n - got, 0);
		if (k == 0 || (k < 0 && errno != EAGAIN && errno != EINTR))
			return false;
		got += k > 0 ? (size_t)k : 0;
	}
	return true;
}

/* --- the one side --- */

static sw_status dial(struct meeting *m, unsigned rank, struct sw_err *err)
{
	const struct sockaddr_in *to = &m->address[rank];
	const int fd = new_socket();
	struct pollfd out = {.fd = fd, .events = POLLOUT};
	struct hello other;
	int why = 0;
	socklen_t len = sizeof why;

	if (fd < 0)
		return sw_err_set(err, SW_IO, "no socket to rank %u: %s", rank, strerror(errno));
	bool there = connect(fd, (const struct sockaddr *)to, sizeof *to) == 0;
	if (!there && errno == EINPROGRESS)
		there = await_fds(m, &out, 1) &&
			getsockopt(fd, SOL_SOCKET, SO_ERROR, &why, &len) == 0 && why == 0;
	if (there && tell(fd, &m->self, sizeof m->self) && hear(m, fd, &other, sizeof other) &&
	    is_ours(m, &other) && other.rank == rank) {
		acquaint(m, &other, fd);
		return SW_OK;
	}
	(void)close(fd);
	if (sw_clock_mono_us() >= m->until_us)
		return not_come(m, rank, err);
	return sw_err_set(err, SW_PEER_LOST, "rank %u of %u has ended", rank, m->self.world);
}

/* --- the other --- */

static void drop(struct meeting *m, size_t i)
{
	(void)close(m->stranger[i].fd);
	m->stranger[i] = m->stranger[--m->strangers];
}

static void let_in(struct meeting *m)
{
	const int fd = accept4(m->listen, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd < 0)
		return;
	if (m->strangers == STRANGERS) /* one of those who say nothing: no rank is so slow */
		drop(m, 0);
	m->stranger[m->strangers++] =
		(struct stranger){.fd = fd, .until_us = sw_clock_mono_us() + SHY_US};
}

/* What a stranger says. True: it is a rank, and no stranger any more. */
static bool listen_to(struct meeting *m, size_t i)
{
	struct stranger *s = &m->stranger[i];
	const ssize_t k =
		recv(s->fd, (char *)&s->hello + s->n, sizeof s->hello - s->n, MSG_DONTWAIT);

	if (k < 0 && (errno == EAGAIN || errno == EINTR) && sw_clock_mono_us() < s->until_us)
		return false;
	s->n += k > 0 ? (size_t)k : 0;
	if (k > 0 && s->n < sizeof s->hello)
		return false;
	if (k > 0 && is_ours(m, &s->hello) && s->hello.rank > m->self.rank &&
	    m->t->peer[s->hello.rank].fd < 0 && tell(s->fd, &m->self, sizeof m->self)) {
		struct sockaddr_in *from = &m->address[s->hello.rank];
		socklen_t len = sizeof *from;

		(void)getpeername(s->fd, (struct sockaddr *)from, &len);
		from->sin_port = (in_port_t)s->hello.port;
		acquaint(m, &s->hello, s->fd);
		m->stranger[i] = m->stranger[--m->strangers];
		return true;
	}
	drop(m, i);
	return false;
}

/* All ranks above this one. */
static sw_status receive_ranks(struct meeting *m, struct sw_err *err)
{
	unsigned missing = m->self.world - 1 - m->self.rank;

	while (missing > 0) {
		struct pollfd fds[1 + STRANGERS] = {{.fd = m->listen, .events = POLLIN}};
		const size_t n = m->strangers;

		for (size_t i = 0; i < n; i++)
			fds[1 + i] = (struct pollfd){.fd = m->stranger[i].fd, .events = POLLIN};
		if (!await_fds(m, fds, (nfds_t)(1 + n))) {
			unsigned r = m->self.rank + 1;

			while (m->t->peer[r].fd >= 0)
				r++;
			return not_come(m, r, err);
		}
		for (size_t i = n; i-- > 0;) /* from the end: who goes is replaced by the last */
			missing -= listen_to(m, i);
		if (fds[0].revents != 0)
			let_in(m);
	}
	return SW_OK;
}

/* --- both --- */

static sw_status connect_rank_0(struct meeting *m, const struct sw_comm_place *at,
				struct sw_err *err)
{
	m->listen = at->fd;
	const sw_status rc = receive_ranks(m, err);
	m->listen = -1; /* borrowed */
	for (unsigned r = 1; rc == SW_OK && r < m->self.world; r++)
		if (!tell(m->t->peer[r].fd, m->address, sizeof m->address))
			return sw_err_set(err, SW_PEER_LOST, "rank %u of %u has ended", r,
					  m->self.world);
	return rc;
}

static sw_status connect_other(struct meeting *m, const struct sw_comm_place *at,
			       struct sw_err *err)
{
	char host[sizeof at->at];
	unsigned port;
	struct sockaddr_in here = {.sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	if (sscanf(at->at, "%63[^:]:%u", host, &port) != 2 || port == 0 || port > 65535 ||
	    inet_pton(AF_INET, host, &m->address[0].sin_addr) != 1)
		return sw_err_set(err, SW_INVALID, "no address of rank 0: %s", at->at);
	m->address[0].sin_family = AF_INET;
	m->address[0].sin_port = htons((uint16_t)port);
	if (m->address[0].sin_addr.s_addr != here.sin_addr.s_addr)
		here.sin_addr.s_addr = htonl(INADDR_ANY);
	if ((m->listen = new_listener(&here)) < 0)
		return sw_err_set(err, SW_IO, "no socket for the other ranks: %s", strerror(errno));
	m->self.port = here.sin_port;
	sw_status rc = dial(m, 0, err);
	if (rc == SW_OK && !hear(m, m->t->peer[0].fd, m->address, sizeof m->address))
		rc = sw_clock_mono_us() < m->until_us
			     ? sw_err_set(err, SW_PEER_LOST, "rank 0 of %u has ended", at->world)
			     : sw_err_set(err, SW_PEER_LOST, "a rank of %u has not come",
					  at->world);
	for (unsigned r = 1; rc == SW_OK && r < at->rank; r++)
		rc = dial(m, r, err);
	return rc != SW_OK ? rc : receive_ranks(m, err);
}

sw_status tcp_connect(struct tcp *t, const struct sw_comm_place *at, struct sw_err *err)
{
	struct meeting m = {
		.t = t, .listen = -1, .until_us = sw_clock_mono_us() + t->comm.silent_us};
	const bool first = at->rank == 0;

	introduce(&m.self, at);
	const sw_status rc = first ? connect_rank_0(&m, at, err) : connect_other(&m, at, err);
	while (m.strangers > 0)
		drop(&m, 0);
	if (m.listen >= 0)
		(void)close(m.listen);
	return rc;
}
