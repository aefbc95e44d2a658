/*
 * worker/exec/output.h — keeps a program's output in a file of bounded size: at
 * SW_OUTPUT_MAX bytes it becomes `<path>.1` in place of an older one, and a new file begins.
 *
 * Errors   A line that cannot be written (a full disk, no folder) is lost; the trial goes on.
 */
#ifndef SW_WORKER_EXEC_OUTPUT_H
#define SW_WORKER_EXEC_OUTPUT_H

#include <stddef.h>
#include <sys/types.h>

#define SW_OUTPUT_MAX    ((off_t)256 * 1024)
#define SW_OUTPUT_GATHER ((size_t)128 * 1024) /* more than any line */

struct sw_output {
	const char *path; /* borrowed */
	int fd;           /* -1: not open; it is made for the first line */
	off_t size;       /* with what is gathered */
	size_t n;
	char gathered[SW_OUTPUT_GATHER]; /* n bytes: whole lines that are not in the file yet */
};

void sw_output_init(struct sw_output *o, const char *path);
/* who: a prefix, as "[rank 1] ". The line is in the file after the next flush. */
void sw_output_line(struct sw_output *o, const char *who, const char *line, size_t len);
void sw_output_flush(struct sw_output *o);
void sw_output_close(struct sw_output *o);

#endif
