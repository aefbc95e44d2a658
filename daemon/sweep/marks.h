/*
 * daemon/sweep/marks.h — what has changed in a sweep since somebody looked last.
 *
 * Trials are named only while somebody watches, and no more than SW_MARKS_MAX of them; beyond, it
 * is known that too many changed to name.
 *
 * Memory   Zeroed is empty; then sw_marks_fini(). Without memory for a name it overflows, too.
 */
#ifndef SW_DAEMON_SWEEP_MARKS_H
#define SW_DAEMON_SWEEP_MARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SW_MARKS_MAX 2048

struct sw_actions;
struct sw_event;

struct sw_marks {
	uint64_t *trials; /* [n], the oldest change first */
	size_t n, cap;
	bool watched;    /* somebody watches: trials are to be named */
	bool any;        /* something changed, be it the sweep itself */
	bool overflowed; /* too many trials to name */
};

/* The trial has changed; 0: the sweep itself. O(1). */
void sw_marks_note(struct sw_marks *c, uint64_t trial);
/* Notes the trials that a step has changed, and the sweep. */
void sw_marks_stepped(struct sw_marks *c, const struct sw_event *event,
		      const struct sw_actions *step);
/* Somebody looks now: the oldest n of the trials are no longer changed; with `all`, none is. */
void sw_marks_seen(struct sw_marks *c, size_t n, bool all);
void sw_marks_fini(struct sw_marks *c);

#endif
