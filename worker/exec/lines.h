/*
 * worker/exec/lines.h — the lines that a program writes, each cut at a limit.
 *
 * A carriage return begins a line anew, as a terminal shows it: of a progress bar its last state is
 * left. What looks like a report there, an object, is a line nevertheless. What is over
 * SW_LINES_MAX bytes of a line is never kept.
 *
 * Memory   The struct is the caller's, and all there is. A line is valid until the next call.
 */
#ifndef SW_WORKER_EXEC_LINES_H
#define SW_WORKER_EXEC_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SW_LINES_MAX ((size_t)64 * 1024)

struct sw_lines {
	size_t from, n; /* data[from..n) is not taken yet */
	bool skip;      /* up to the next newline: the rest of a line that was cut */
	bool ended;     /* nothing more comes */
	bool returned;  /* a carriage return ended the last line: a newline behind it ends none */
	/* of the line that was given last: */
	uint64_t number; /* from 1 */
	bool cut;        /* it was over the limit */
	char data[SW_LINES_MAX + 1];
};

void sw_lines_init(struct sw_lines *l);

/* Reads once what a descriptor that does not block has, if there is room. false: nothing came. */
bool sw_lines_read(struct sw_lines *l, int fd);

/* Gives the next line, without its end, and a NUL behind it; once nothing more comes, also one
 * without an end. false: there is none yet, and there is room. */
bool sw_lines_next(struct sw_lines *l, char **line, size_t *len);

#endif
