/*
 * daemon/slot/errand.h — one run of a program that is asked something, an executor or `sweep-worker
 * check`: argv, an end within 60 s, what it printed. Never a shell.
 *
 * Limits   1 MiB of its output; a program that prints more, or that is not over in time, is killed
 *          with its process group, and its run failed. Of what it complains 16 KiB are kept.
 */
#ifndef SW_DAEMON_SLOT_ERRAND_H
#define SW_DAEMON_SLOT_ERRAND_H

#include "base/status.h"
#include <stdbool.h>
#include <uv.h>

struct sw_errand_end {
	bool ok;         /* it ended with status 0 */
	bool late;       /* it was killed at its limit */
	const char *out; /* what it printed; "" for nothing */
	char why[240];   /* if not ok: its first line on stderr, or what became of it */
};

/* Once, on the loop, never from within sw_errand_start(). */
typedef void sw_errand_cb(void *user, const struct sw_errand_end *run);

struct sw_errand; /* there until `done` was called */

/* argv, env (NULL-terminated; all that it sees) and input (its stdin's text; NULL: none) are
 * borrowed for the call. NULL: no memory, or no descriptor; what else fails `done` is told. */
struct sw_errand *sw_errand_start(uv_loop_t *loop, char *const argv[], char *const env[],
				  const char *input, sw_errand_cb *done, void *user);
/* From now on it may take ms, in place of 60 s. */
void sw_errand_limit(struct sw_errand *p, unsigned ms);
/* Ends it; `done` follows. */
void sw_errand_kill(struct sw_errand *p);

/* The first line of a text, cut at cap and made harmless (base/text.h). */
void sw_errand_first_line(const char *text, char *out, size_t cap);

#endif
