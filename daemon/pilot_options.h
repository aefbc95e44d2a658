/*
 * daemon/pilot_options.h — the options of --executor: what a job asks its cluster for, and where
 * pilots dial.
 *
 * A file of lines `key = value`; # begins a comment. Keys that are not known here are the
 * executor's.
 */
#ifndef SW_DAEMON_PILOT_OPTIONS_H
#define SW_DAEMON_PILOT_OPTIONS_H

#include "base/status.h"
#include <stdint.h>

#define SW_PILOT_MAX     1000
#define SW_PILOT_OPTIONS 8192 /* bytes of the lines of both, with the NUL */

struct sw_pilot_options {
	char executor[11]; /* "": there are no pilots, and the rest is nothing */
	unsigned max;      /* pilots at a time */
	unsigned time_s;   /* of a job; 0: the cluster's own limit, which is not known */
	unsigned gpus, cpus;
	int64_t mem;       /* bytes; 0: the cluster's own */
	unsigned idle_s;   /* a pilot without a trial goes after so long */
	char listen[256];  /* host */
	unsigned port;     /* 0: any, and the same again at the next start */
	char address[256]; /* what pilots dial; "": this machine's name */
	char other[4096];  /* lines key=value */
};

void sw_pilot_options_init(struct sw_pilot_options *o);
/* SW_INVALID: one line, which begins with "FILE:LINE: ". Pure. */
SW_NODISCARD sw_status sw_pilot_options_parse(struct sw_pilot_options *o, const char *text,
					      const char *file, struct sw_err *err);
/* The same of a file of at most 64 KiB. */
SW_NODISCARD sw_status sw_pilot_options_read(struct sw_pilot_options *o, const char *file,
					     struct sw_err *err);
/* Merges a sweep's own options over the daemon's of the same key.
 * lines: key=value, each with its line end, as those of struct sw_spec; an empty value takes the
 * key away. Pure. */
void sw_pilot_options_over(const struct sw_pilot_options *o, const char *lines, unsigned *time_s,
			   char out[SW_PILOT_OPTIONS]);

#endif
