/*
 * cli/fmt.h — values as text for people and for CSV.
 *
 * Pure but for sw_fmt_time() (the local time zone). All that comes from the daemon is untrusted for
 * a terminal: control characters, C1 controls, direction overrides and broken UTF-8 become '?'.
 * Errors   Appends latch in the buffer (b->failed).
 */
#ifndef SW_CLI_FMT_H
#define SW_CLI_FMT_H

#include "base/buf.h"
#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

/* The abilities of the terminal or file that is written to. */
struct sw_look {
	bool utf8;  /* else anything over 0x7e becomes '?' and bars are ASCII */
	bool color; /* SGR colours are welcome */
	int width;  /* columns of a terminal; 0: no limit (a pipe, a file) */
	int height; /* its lines */
};

/* At most 7 characters or so: the shortest exact text when it is that short, else 4 digits. */
void sw_fmt_short(double v, char out[32]);
/* "0.5s" "12.5s" "2m05s" "1h02m" "3d04h"; "-" for what is negative or not finite. */
void sw_fmt_duration(double seconds, char out[32]);
/* "2026-11-21 10:31:07", local time, of a number of ms; "-" of any other value. */
void sw_fmt_time(const cJSON *wall_ms, char out[32]);

/* A JSON value in a cell: a string as it is, a number short (or, with exact, in the shortest text
 * that reads back equal), null or NULL as "-" (as "" with exact), anything else as JSON. */
void sw_fmt_value(struct sw_buf *b, const cJSON *v, bool exact, bool utf8);
/* Is it one of these names, or a group of such, which are named in full ("opt.wd")? */
bool sw_fmt_is_named(const cJSON *names, const char *name);
/* "lr=0.01 l1=32": in the order of names (an array of strings) where given, then the rest. */
void sw_fmt_params(struct sw_buf *b, const cJSON *params, const cJSON *names, bool utf8);
/* Indented JSON for reading, each line after `indent`; arrays of plain values stay on one line. */
void sw_fmt_json(struct sw_buf *b, const cJSON *v, const char *indent, bool utf8);

/* A bar of `columns` columns, ratio in [0, 1] of it full; eighths with UTF-8, # and . without. */
void sw_fmt_bar(struct sw_buf *b, double ratio, int columns, bool utf8);

/* For qsort() of names (char *) of metrics: by bytes, and those of time ("seconds",
 * "samples_per_s", "epoch_ms"), which differ between two runs of the same sweep, last. */
int sw_fmt_times_last(const void *a, const void *b);

#endif
