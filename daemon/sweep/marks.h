/*
 * daemon/sweep/marks.h — what has changed in a sweep after which change.
 *
 * Changes are numbered. The last ones are kept with the trial that each was of, a trial once; who
 * knows all up to a number gets those behind it, or is told that too much has changed since. The
 * number goes on rising over a restart, as it begins at the clock's microseconds. Trials are named
 * only while somebody looks now and then.
 *
 * Memory   Zeroed but for number and dropped is empty; then sw_marks_fini(). Without memory for a
 *          name what has changed is dropped.
 */
#ifndef SW_DAEMON_SWEEP_MARKS_H
#define SW_DAEMON_SWEEP_MARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SW_MARKS_MAX   2048
#define SW_MARKS_LOOKS 2 /* so many times its older half is dropped before a look is forgotten */

struct sw_actions;
struct sw_event;

struct sw_mark {
	uint64_t number, trial;
};

struct sw_marks {
	struct sw_mark *v; /* by number */
	size_t n, cap;
	uint64_t number;  /* of the last change, be it the sweep itself */
	uint64_t dropped; /* the names of changes up to this one are not all there */
	unsigned looks;   /* SW_MARKS_LOOKS after a look; 0: no trial is named */
};

/* The trial has changed; 0: the sweep itself. O(1). */
void sw_marks_note(struct sw_marks *m, uint64_t trial);
/* Notes the trials that a step has changed, and the sweep. */
void sw_marks_stepped(struct sw_marks *m, const struct sw_event *event,
		      const struct sw_actions *step);
/* All may have changed. */
void sw_marks_drop(struct sw_marks *m);
/* The changes after `since`, the oldest first, in out[most]; *next: the number that they lead up
 * to. False: not all of them are known, or since is of no number so far. */
bool sw_marks_since(const struct sw_marks *m, uint64_t since, struct sw_mark *out, size_t most,
		    size_t *n, uint64_t *next);
void sw_marks_fini(struct sw_marks *m); /* the numbers go on */

#endif
