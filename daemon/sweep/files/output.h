/*
 * daemon/sweep/files/output.h — what a trial's program wrote to stdout and stderr, a page at a
 * time.
 *
 * The worker keeps two files: FILE, and FILE.1, which was FILE before it grew too
 * long. A place in the output names its file by inode, so it stays right when FILE is renamed.
 * Threads  Any: it reads files, so it is no work for the loop.
 */
#ifndef SW_DAEMON_SWEEP_FILES_OUTPUT_H
#define SW_DAEMON_SWEEP_FILES_OUTPUT_H

#include "base/buf.h"
#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sw_output_place {
	uint64_t file; /* an inode; 0: the beginning */
	uint64_t offset;
};

struct sw_output_page {
	struct sw_output_place next; /* where the page after it begins */
	bool more;                   /* there is one already */
	bool lost;                   /* what stood between the places is no longer kept */
};

/* Appends up to `most` bytes from `at` on to text, as valid UTF-8 without NUL: what is not becomes
 * U+FFFD. No file is no output. SW_IO; SW_NOMEM. */
SW_NODISCARD sw_status sw_output_read(const char *path, const struct sw_output_place *at,
				      size_t most, struct sw_buf *text, struct sw_output_page *page,
				      struct sw_err *err);

#endif
