/* cli/verb_dial.c — `dial`: `sweep --host` runs it on the daemon's machine. Bytes go both ways,
 * each way with a buffer: stdin to the daemon, the daemon to stdout. A side that reads nothing
 * stops the other. */
#include "cli/verb.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

struct direction {
	int from, to;
	bool ready; /* `from` can be read; stdin would block else */
	bool over;  /* it has no more */
	size_t at, len;
	char bytes[65536];
};

static bool passes(ssize_t n)
{
	return n < 0 && (errno == EINTR || errno == EAGAIN);
}

/* False: `to` takes no more. */
static bool move_bytes(struct direction *l)
{
	ssize_t n;

	if (l->ready && l->len == 0 && !l->over) {
		n = read(l->from, l->bytes, sizeof l->bytes);
		if (passes(n))
			return true;
		l->over = n <= 0;
		l->len = n > 0 ? (size_t)n : 0;
		l->at = 0;
	}
	if (l->len == 0)
		return true;
	n = write(l->to, l->bytes + l->at, l->len);
	if (n < 0)
		return passes(n);
	l->at += (size_t)n;
	l->len -= (size_t)n;
	return true;
}

/* Sleeps until one of them can move. False: stdout is gone. */
static bool await_either(struct direction *in, struct direction *out)
{
	struct pollfd fds[] = {
		{.fd = in->len == 0 && !in->over ? in->from : -1, .events = POLLIN},
		{.fd = in->len > 0 ? in->to : -1, .events = POLLOUT},
		{.fd = out->len == 0 ? out->from : -1, .events = POLLIN},
		/* also when nothing is to be written: that nobody reads is seen by it */
		{.fd = out->to, .events = out->len > 0 ? POLLOUT : 0},
	};

	in->ready = out->ready = false;
	if (poll(fds, sizeof fds / sizeof *fds, -1) < 0)
		return errno == EINTR;
	in->ready = fds[0].revents != 0;
	out->ready = fds[2].revents != 0;
	return !(fds[3].revents & (POLLERR | POLLHUP | POLLNVAL));
}

int sw_verb_dial(struct sw_cli *c)
{
	static struct direction in, out; /* one call a process, and large */
	struct sw_err err = SW_ERR_INIT;
	const int status = sw_cli_failed(c, sw_cli_connect(c, &c->client, &err), &err);

	if (status != SW_EXIT_DONE)
		return status;
	const int fd = sw_client_fd(c->client); /* which does not block */
	in.from = STDIN_FILENO;
	in.to = out.from = fd;
	out.to = STDOUT_FILENO;
	(void)signal(SIGPIPE, SIG_IGN);
	if (!isatty(STDOUT_FILENO)) /* a terminal would stay so after this */
		(void)fcntl(STDOUT_FILENO, F_SETFL, fcntl(STDOUT_FILENO, F_GETFL) | O_NONBLOCK);
	while (!out.over && await_either(&in, &out)) {
		if (!move_bytes(&in)) { /* it has closed: what it said before is still to come */
			in.over = true;
			in.len = 0;
		} else if (in.over && in.len == 0) {
			break;
		}
		if (!move_bytes(&out))
			break;
	}
	return SW_EXIT_DONE;
}
