#include "daemon/sweep/marks.h"
#include "base/memory.h"
#include "sched/sweep/sweep.h"
#include <stdlib.h>
#include <string.h>

#define LATEST 64 /* of the names, where a trial is looked for before it is named again */

void sw_marks_note(struct sw_marks *c, uint64_t trial)
{
	c->any = true;
	/* The sweep itself; or nobody will read it; or all is told anew anyhow. */
	if (trial == 0 || !c->watched || c->overflowed)
		return;
	for (size_t i = c->n; i > 0 && i + LATEST > c->n; i--)
		if (c->trials[i - 1] == trial)
			return; /* a few of the latest are enough to catch a chatty trial */
	if (c->n == SW_MARKS_MAX ||
	    !sw_array_reserve(&c->trials, &c->cap, c->n + 1, sizeof *c->trials)) {
		c->overflowed = true;
		c->n = 0;
		return;
	}
	c->trials[c->n++] = trial;
}

void sw_marks_stepped(struct sw_marks *c, const struct sw_event *event,
		      const struct sw_actions *step)
{
	for (size_t i = 0; i < step->n; i++)
		sw_marks_note(c, step->v[i].kind == SW_ACTION_SWEEP ? 0 : step->v[i].trial);
	if (event->kind == SW_EVENT_REPORT)
		sw_marks_note(c, event->trial);
}

void sw_marks_seen(struct sw_marks *c, size_t n, bool all)
{
	c->any = false;
	if (all) {
		c->overflowed = false;
		n = c->n;
	}
	c->n -= n;
	if (c->n > 0)
		memmove(c->trials, c->trials + n, c->n * sizeof *c->trials);
}

void sw_marks_fini(struct sw_marks *c)
{
	free(c->trials);
	*c = (struct sw_marks){.trials = NULL};
}
