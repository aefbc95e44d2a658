/*
 * base/buf.h — a byte buffer that grows up to a limit.
 *
 * Memory   The struct is the caller's (init/fini); the bytes are the buffer's until taken.
 * Errors   A failed append (no memory, or over max) leaves the bytes as they were and latches
 *          `failed`, so a writer may append many times and check once.
 */
#ifndef SW_BASE_BUF_H
#define SW_BASE_BUF_H

#include "base/status.h"
#include <stddef.h>

struct sw_buf {
	char *data;       /* NULL while cap is 0; data[len] is always '\0' otherwise */
	size_t len;       /* bytes in use */
	size_t cap;       /* bytes allocated, the NUL included */
	size_t max;       /* most bytes in use */
	sw_status failed; /* SW_OK, SW_NOMEM or SW_TOO_BIG: the first append that failed */
};

void sw_buf_init(struct sw_buf *b, size_t max);
void sw_buf_fini(struct sw_buf *b); /* frees the bytes; the struct may be initialised again */

/* Amortised O(n). Returns b->failed. */
sw_status sw_buf_add(struct sw_buf *b, const void *bytes, size_t n);
sw_status sw_buf_adds(struct sw_buf *b, const char *text);
sw_status sw_buf_addf(struct sw_buf *b, const char *fmt, ...) SW_PRINTF(2, 3);

/* Makes room for n more bytes: writes to data[len..len+n) are then allowed, len is the caller's. */
sw_status sw_buf_reserve(struct sw_buf *b, size_t n);

void sw_buf_drop(struct sw_buf *b, size_t n); /* removes the first n <= len bytes; O(len) */
void sw_buf_clear(struct sw_buf *b);          /* len = 0 and failed = SW_OK; keeps the memory */

/* Gives the bytes (NUL-terminated, len of them) to the caller, who frees them; b is then empty.
 * NULL when an append failed or nothing could be allocated. */
char *sw_buf_take(struct sw_buf *b, size_t *len);

#endif
