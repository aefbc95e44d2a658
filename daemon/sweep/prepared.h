/*
 * daemon/sweep/prepared.h — suggestions that wait to be handed out, those of consecutive trials.
 *
 * Memory   Owns the suggestions that were pushed. Zeroed is empty.
 * Threads  None of its own.
 */
#ifndef SW_DAEMON_SWEEP_PREPARED_H
#define SW_DAEMON_SWEEP_PREPARED_H

#include "base/status.h"
#include "sched/sampler/sampler.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sw_host;

/* What is stored of a suggestion. Owned; NULL: not written yet. */
struct sw_prepared_text {
	char *params; /* JSON object */
	char *why;    /* JSON object, as of a moment at which it knew all observations there were */
	char *state;  /* the sampler's, hexadecimal */
};

struct sw_prepared_one {
	struct sw_suggestion suggestion;
	struct sw_prepared_text text;
	bool sent;   /* its row is on its way (daemon/sweep/standby.h) */
	bool stored; /* and committed */
};

struct sw_prepared {
	struct sw_prepared_one **v; /* [n], for trials first, first + 1, ... */
	size_t n, cap;
	uint64_t first, first_made; /* trial and number of v[0]; meaningless while n is 0 */
};

/* Writes the texts. Dies without memory: see sw_daemon_die(). */
void sw_prepared_write(const struct sw_host *h, const struct sw_suggestion *s, uint64_t seen,
		       struct sw_prepared_text *out);
void sw_prepared_text_fini(struct sw_prepared_text *text);
/* The state back from its text, into a new block (NULL for ""). SW_INVALID: it is none;
 * SW_NOMEM. */
SW_NODISCARD sw_status sw_prepared_state(const char *text, unsigned char **state, size_t *n);

void sw_prepared_free(struct sw_prepared_one *one); /* one from the heap; NULL is allowed */
void sw_prepared_drop(struct sw_prepared *q);
void sw_prepared_fini(struct sw_prepared *q);

/* Takes one. trial, made: the next trial that needs a suggestion and the number of that, which an
 * empty queue begins with. SW_NOMEM. */
SW_NODISCARD sw_status sw_prepared_push(struct sw_prepared *q, struct sw_prepared_one *one,
					uint64_t trial, uint64_t made);

/* Drops what was handed out before that trial. If a trial came that the queue did not know (the
 * user enqueued it) all of it goes, for the suggestions took other trials for pending: then
 * false. */
bool sw_prepared_trim(struct sw_prepared *q, uint64_t trial, uint64_t made);

#endif
