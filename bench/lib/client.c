#include "bench/lib/client.h"
#include "bench/lib/table.h"
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define CHUNK ((size_t)65536)

/* A connected socket; -1: nothing accepts. */
static int dial(const char *path)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || strlen(path) >= sizeof at.sun_path)
		return -1;
	memcpy(at.sun_path, path, strlen(path) + 1);
	if (connect(fd, (const struct sockaddr *)&at, sizeof at) != 0) {
		(void)close(fd);
		return -1;
	}
	return fd;
}

int bench_client_connect(struct bench_client *c, const char *path)
{
	const double end = bench_now() + 20;

	memset(c, 0, sizeof *c);
	while ((c->fd = dial(path)) < 0) {
		if (bench_now() > end)
			return -1;
		(void)nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
	}
	return 0;
}

void bench_client_close(struct bench_client *c)
{
	if (c->fd >= 0)
		(void)close(c->fd);
	free(c->in);
	free(c->out);
	memset(c, 0, sizeof *c);
	c->fd = -1;
}

static void room(char **p, size_t *cap, size_t len, size_t more)
{
	if (len + more <= *cap)
		return;
	*cap = (len + more) * 2;
	*p = realloc(*p, *cap);
	assert(*p != NULL);
}

void bench_client_put(struct bench_client *c, const char *line, size_t len)
{
	room(&c->out, &c->out_cap, c->out_len, len + 1);
	memcpy(c->out + c->out_len, line, len);
	c->out[c->out_len + len] = '\n';
	c->out_len += len + 1;
}

int bench_client_flush(struct bench_client *c)
{
	size_t done = 0;

	while (done < c->out_len) {
		const ssize_t n = send(c->fd, c->out + done, c->out_len - done, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		done += (size_t)n;
	}
	c->out_len = 0;
	return 0;
}

/* NULL: no whole line is here. */
static char *line_end(const struct bench_client *c)
{
	return c->in_len > c->in_taken ? memchr(c->in + c->in_taken, '\n', c->in_len - c->in_taken)
				       : NULL;
}

int bench_client_ready(const struct bench_client *c)
{
	return line_end(c) != NULL;
}

const char *bench_client_line(struct bench_client *c)
{
	for (;;) {
		char *start = c->in + c->in_taken, *end = line_end(c);

		if (end != NULL) {
			*end = '\0';
			c->in_taken = (size_t)(end - c->in) + 1;
			return start;
		}
		if (c->in_taken > 0) {
			memmove(c->in, start, c->in_len - c->in_taken);
			c->in_len -= c->in_taken;
			c->in_taken = 0;
		}
		room(&c->in, &c->in_cap, c->in_len, CHUNK);
		const ssize_t n = recv(c->fd, c->in + c->in_len, CHUNK, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return NULL;
		c->in_len += (size_t)n;
	}
}

size_t bench_request(char *line, size_t cap, const char *method, const char *params)
{
	const int n = snprintf(line, cap,
			       "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":{%s}}",
			       method, params);

	assert(n > 0 && (size_t)n < cap);
	return (size_t)n;
}

const char *bench_call(struct bench_client *c, const char *method, const char *params)
{
	char line[4 * BENCH_LINE];

	bench_client_put(c, line, bench_request(line, sizeof line, method, params));
	const char *answer = bench_client_flush(c) == 0 ? bench_client_line(c) : NULL;

	if (answer != NULL && strstr(answer, "\"error\"") != NULL)
		(void)fprintf(stderr, "%s: unexpected answer: %.300s\n", method, answer);
	return answer == NULL || strstr(answer, "\"result\"") == NULL ? NULL : answer;
}

double bench_number(const char *line, const char *key)
{
	const char *at = strstr(line, key);

	return at != NULL ? strtod(at + strlen(key), NULL) : 0;
}

long bench_submit(struct bench_client *c, const char *spec)
{
	char params[3 * BENCH_LINE];

	(void)snprintf(params, sizeof params, "\"spec\":%s", spec);
	const char *answer = bench_call(c, "sweep.submit", params);

	if (answer != NULL)
		return (long)bench_number(answer, "\"sweep\":");
	(void)fprintf(stderr, "the sweep was not taken\n");
	return -1;
}
