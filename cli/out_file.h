/*
 * cli/out_file.h — a file that the user named: whole at the end, or as it was before. Until then
 * it lies beside its place under its name and six letters, which a program that is killed leaves.
 * What is no file, such as a pipe or one of /dev, is written as it is.
 *
 * Memory   The struct is the caller's; `to` is open between the two calls.
 * Errors   false: errno says why, and the part is gone.
 */
#ifndef SW_CLI_OUT_FILE_H
#define SW_CLI_OUT_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

struct sw_out_file {
	FILE *to;
	char path[PATH_MAX], part[PATH_MAX + 8]; /* part "": it is written as it is */
};

bool sw_out_file_open(struct sw_out_file *f, const char *path);
/* With keep it takes its place, else the part goes away. */
bool sw_out_file_close(struct sw_out_file *f, bool keep);

#endif
