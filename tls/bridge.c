#include "tls/bridge.h"
#include "base/memory.h"
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define WAY_BYTES ((size_t)16 * 1024) /* a TLS record: so one read leaves none of it in OpenSSL */

/* A machine that vanished is noticed after a minute, whether or not bytes are on their way. */
static void set_options(int fd)
{
	static const int on = 1, idle_s = 30, every_s = 10, times = 3, lost_ms = 60000;

	/* an end that goes unnoticed for longer is all that it costs if one fails */
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every_s, sizeof every_s);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &times, sizeof times);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &lost_ms, sizeof lost_ms);
}

struct sw_bridge *sw_bridge_create(SSL_CTX *context, bool server, int far, int near)
{
	/* the ways' bytes behind it are not touched before they are used */
	struct sw_bridge *b = sw_malloc(sizeof *b + 2 * WAY_BYTES);

	if (b) {
		*b = (struct sw_bridge){.far = far, .near = near};
		b->in.bytes = (char *)(b + 1);
		b->out.bytes = b->in.bytes + WAY_BYTES;
		b->ssl = sw_tls_new(context, server, far, &b->party);
	}
	if (!b || !b->ssl) {
		close(far);
		if (near >= 0)
			close(near);
		free(b);
		return NULL;
	}
	set_options(far);
	return b;
}

void sw_bridge_destroy(struct sw_bridge *b)
{
	/* Before the descriptor, of which it has the number. */
	SSL_free(b->ssl);
	close(b->far);
	if (b->near >= 0)
		close(b->near);
	/* Plain text of a worker's link: metrics, and paths. */
	OPENSSL_cleanse(b->in.bytes, 2 * WAY_BYTES);
	free(b);
}

/* Notes what OpenSSL waits for. false: it does not wait, the connection has ended. */
static bool far_waits(struct sw_bridge *b, int result)
{
	const int kind = SSL_get_error(b->ssl, result);

	if (kind == SSL_ERROR_WANT_READ)
		b->far_wants |= EPOLLIN;
	else if (kind == SSL_ERROR_WANT_WRITE)
		b->far_wants |= EPOLLOUT;
	else
		return false;
	return true;
}

bool sw_bridge_shake(struct sw_bridge *b, bool *done)
{
	/* Anew with each step: TLS may want to write in order to read (a key update), and the other
	 * way round. */
	b->far_wants = 0;
	ERR_clear_error(); /* SSL_get_error() looks at what others left, too */
	errno = 0;
	const int rc = SSL_do_handshake(b->ssl);

	*done = rc == 1;
	if (rc == 1) {
		if (sw_tls_by_key(b->ssl))
			return true;
		snprintf(b->why, sizeof b->why, "the handshake did not use the key");
		return false;
	}
	if (far_waits(b, rc))
		return true;
	sw_tls_why(b->ssl, &b->party, rc, b->why, sizeof b->why);
	return false;
}

static void read_far(struct sw_bridge *b)
{
	if (b->far_over || b->in.len > 0)
		return;
	ERR_clear_error();
	const int n = SSL_read(b->ssl, b->in.bytes, (int)WAY_BYTES);

	if (n > 0) {
		b->in.at = 0;
		b->in.len = b->near_over ? 0 : (size_t)n; /* nobody is there to take it */
		/* Bytes that wait for near stop the reading of far: TCP passes that on to the
		 * sender. */
		b->far_wants |= b->in.len > 0 ? 0 : EPOLLIN;
	} else if (!far_waits(b, n)) {
		b->far_over = true;
	}
}

static void write_far(struct sw_bridge *b)
{
	if (b->far_over)
		b->out.len = 0;
	if (b->out.len == 0)
		return;
	ERR_clear_error();
	/* what did not go is tried again from the same place, as OpenSSL wants it */
	const int n = SSL_write(b->ssl, b->out.bytes + b->out.at, (int)b->out.len);

	if (n > 0) {
		b->out.at += (size_t)n;
		b->out.len -= (size_t)n;
		b->far_wants |= b->out.len > 0 ? EPOLLOUT : 0;
	} else if (!far_waits(b, n)) {
		b->far_over = true;
		b->out.len = 0;
	}
}

static void read_near(struct sw_bridge *b)
{
	if (b->near_over || b->far_over || b->out.len > 0)
		return;
	const ssize_t n = recv(b->near, b->out.bytes, WAY_BYTES, 0);

	if (n > 0) {
		b->out.at = 0;
		b->out.len = (size_t)n;
	} else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
		b->near_over = true;
		b->in.len = 0;
	}
}

static void write_near(struct sw_bridge *b)
{
	if (b->in.len == 0)
		return;
	const ssize_t n = send(b->near, b->in.bytes + b->in.at, b->in.len, MSG_NOSIGNAL);

	if (n > 0) {
		b->in.at += (size_t)n;
		b->in.len -= (size_t)n;
	} else if (n < 0 && errno != EAGAIN && errno != EINTR) {
		b->near_over = true;
		b->in.len = 0;
	}
}

enum sw_bridge_state sw_bridge_step(struct sw_bridge *b)
{
	b->far_wants = b->near_wants = 0;
	/* In this order each way moves at once what has just come. */
	read_far(b);
	write_near(b);
	read_near(b);
	write_far(b);
	if (b->far_over && b->in.len == 0)
		return SW_BRIDGE_OVER;
	/* Its end is said, then far's is waited for: to close with bytes that nobody has read would
	 * reset the connection, and far would lose what it has not read. */
	if (b->near_over && b->out.len == 0 && !b->said_end) {
		b->said_end = true;
		ERR_clear_error();
		(void)SSL_shutdown(b->ssl);
		(void)shutdown(b->far, SHUT_WR);
	}
	/* a side that is not waited for is not watched: its hang-up would be told for ever */
	if (!b->far_over && b->in.len == 0)
		b->far_wants |= EPOLLIN;
	if (!b->near_over)
		b->near_wants = (b->in.len > 0 ? EPOLLOUT : 0u) |
				(b->out.len == 0 && !b->far_over ? EPOLLIN : 0u);
	return b->far_over || b->near_over ? SW_BRIDGE_ENDING : b->state;
}
