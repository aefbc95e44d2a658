/*
 * worker/exec/output.h — what a trial's program prints, in a file of bounded size: at
 * SW_OUTPUT_MAX bytes it becomes `<path>.1` in place of an older one, and a new file begins.
 *
 * Errors   A line that cannot be written (a full disk, no folder) is lost; the trial goes on.
 */
#ifndef SW_WORKER_EXEC_OUTPUT_H
#define SW_WORKER_EXEC_OUTPUT_H

#include <stddef.h>
#include <sys/types.h>

#define SW_OUTPUT_MAX ((off_t)256 * 1024)

struct sw_output {
	const char *path; /* borrowed */
	int fd;           /* -1: not open; it is made for the first line */
	off_t size;
};

void sw_output_init(struct sw_output *o, const char *path);
/* who: what stands before the line, as "[rank 1] ". One write(2). */
void sw_output_line(struct sw_output *o, const char *who, const char *line, size_t len);
void sw_output_close(struct sw_output *o);

#endif
