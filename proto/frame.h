/*
 * proto/frame.h — one message, one line: cuts a byte stream into lines.
 *
 * A line ends with '\n' (a '\r' before it is dropped, empty lines are skipped). A line over
 * SW_FRAME_MAX is reported once as SW_TOO_BIG, and its bytes are skipped up to its end, so the
 * connection can go on.
 */
#ifndef SW_PROTO_FRAME_H
#define SW_PROTO_FRAME_H

#include "base/buf.h"
#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>

#define SW_FRAME_MAX ((size_t)1024 * 1024) /* bytes of one line, its newline excluded */

struct sw_frame {
	struct sw_buf in;
	size_t scanned; /* bytes of `in` known to hold no newline */
	size_t taken;   /* bytes of `in` already given out */
	bool skipping;  /* inside an over-long line */
};

void sw_frame_init(struct sw_frame *f);
void sw_frame_fini(struct sw_frame *f);

/* Room to read into: *at[*n], n >= 1, at most 64 KiB. SW_NOMEM: try again later. SW_TOO_BIG: over
 * SW_FRAME_MAX bytes wait for sw_frame_next(). */
SW_NODISCARD sw_status sw_frame_room(struct sw_frame *f, char **at, size_t *n);
/* n bytes were put there. */
void sw_frame_fed(struct sw_frame *f, size_t n);

/* The next whole line: borrowed (NUL-terminated in place of its newline), valid until the next
 * sw_frame_room(). *line NULL and SW_OK: no whole line yet. SW_TOO_BIG: a line was over the
 * limit. */
SW_NODISCARD sw_status sw_frame_next(struct sw_frame *f, char **line, size_t *len);

/* Are there bytes that sw_frame_next() may still turn into a line without more input? */
bool sw_frame_pending(const struct sw_frame *f);

/* Call it when reading stops for a while: the rest behind the last line given out is moved into as
 * much memory as it needs. Borrowed lines end here. */
void sw_frame_rest(struct sw_frame *f);
size_t sw_frame_bytes(const struct sw_frame *f); /* of memory */
/* Does an unfinished line wait for more input, be it one that is skipped? */
bool sw_frame_unfinished(const struct sw_frame *f);

#endif
