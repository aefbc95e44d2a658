/*
 * bench/lib/client.h — a blocking client of a line protocol over a unix socket: the same code
 * against every server that is compared. And requests to sweepd.
 *
 * Memory   The struct is the caller's (connect/close). Lines are borrowed until the next read.
 */
#ifndef SW_BENCH_LIB_CLIENT_H
#define SW_BENCH_LIB_CLIENT_H

#include <stddef.h>

struct bench_client {
	int fd;
	char *in;
	size_t in_len, in_taken, in_cap;
	char *out; /* lines that wait for bench_client_flush() */
	size_t out_len, out_cap;
};

/* Tries again until something accepts, at most 20 s. 0 or -1. */
int bench_client_connect(struct bench_client *c, const char *path);
void bench_client_close(struct bench_client *c);

/* Appends a line (its newline is added). */
void bench_client_put(struct bench_client *c, const char *line, size_t len);
/* Sends what was put. 0 or -1. */
int bench_client_flush(struct bench_client *c);
/* The next line, NUL-terminated without its newline; NULL when the server is gone. */
const char *bench_client_line(struct bench_client *c);
/* Is a whole line here without reading? */
int bench_client_ready(const struct bench_client *c);

/* ---- sweepd's protocol ---- */

#define BENCH_LINE ((size_t)512)

/* The text of a request, its length; params: the members of the object, JSON. */
size_t bench_request(char *line, size_t cap, const char *method, const char *params);
/* Asks and waits. The answer; NULL: the link has ended, or it is an error, told on stderr. */
const char *bench_call(struct bench_client *c, const char *method, const char *params);
/* The number behind the key ("\"trial\":") in a line; 0: there is none. */
double bench_number(const char *line, const char *key);
/* Submits the spec (JSON). The sweep's number; below 0: refused, with a line on stderr. */
long bench_submit(struct bench_client *c, const char *spec);

#endif
