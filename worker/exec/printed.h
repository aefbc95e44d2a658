/*
 * worker/exec/printed.h — remembers what a program printed in place of the metric, for one that
 * ends without a report of it: the first line that was nearly one and what is wrong there, or else
 * the names of its numbers.
 *
 * Memory   The struct is the caller's, zeroed at first; nothing is allocated.
 */
#ifndef SW_WORKER_EXEC_PRINTED_H
#define SW_WORKER_EXEC_PRINTED_H

#include "worker/exec/words.h"
#include <stdint.h>

struct sw_printed {
	char names[6][65]; /* whole, as a report has them */
	size_t n;
	char odd[SW_WORDS_MAX]; /* "line 3: why"; "": no line was odd */
	bool sure;              /* it has the metric's name */
	bool text;              /* set by the caller: texts are read, too */
};

/* Notes the name of a number, while there is room. */
void sw_printed_name(struct sw_printed *p, const char *name, size_t len);
/* The names of numbers in a line of text (worker/exec/pairs.h). */
void sw_printed_text(struct sw_printed *p, const char *line, const char *metric);
/* A line that is no report, and why. sure: it has the metric's name. The first counts, of those
 * with the name if there are any. */
void sw_printed_odd(struct sw_printed *p, uint64_t line, const char *why, bool sure);
/* Says why a program that ended well has no metric. Returns out. */
const char *sw_printed_say(const struct sw_printed *p, const char *metric, char out[SW_WORDS_MAX]);

#endif
