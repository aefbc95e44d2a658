#include "daemon/sweep/marks.h"
#include "base/memory.h"
#include "sched/sweep/sweep.h"
#include <stdlib.h>
#include <string.h>

#define LATEST 64 /* of the names, where a trial is looked for before it is named again */

static void forget(struct sw_marks *m, size_t i, size_t n)
{
	memmove(&m->v[i], &m->v[i + n], (m->n - i - n) * sizeof *m->v);
	m->n -= n;
}

void sw_marks_drop(struct sw_marks *m)
{
	/* A number of its own: a watcher that has seen everything until now is behind by this, and
	 * gets a snapshot. */
	m->dropped = ++m->number;
	m->n = 0;
}

static void drop_half(struct sw_marks *m)
{
	/* Half at a time, so that the move of the rest costs O(1) a mark. A watcher that is further
	 * behind than the oldest mark gets a snapshot instead. */
	m->dropped = m->v[SW_MARKS_MAX / 2 - 1].number;
	forget(m, 0, SW_MARKS_MAX / 2);
	/* Marks are made only while somebody has looked lately: SW_MARKS_LOOKS times this is how
	 * long a sweep that nobody watches goes on paying for them. */
	m->looks--;
}

void sw_marks_note(struct sw_marks *m, uint64_t trial)
{
	m->number++;
	if (trial == 0)
		return;
	if (m->n == SW_MARKS_MAX)
		drop_half(m);
	/* Nobody will ask for it, or there is no memory. */
	if (m->looks == 0 || !sw_array_reserve(&m->v, &m->cap, m->n + 1, sizeof *m->v)) {
		m->dropped = m->number;
		m->n = 0;
		return;
	}
	for (size_t i = m->n; i > 0 && i + LATEST > m->n; i--)
		if (m->v[i - 1].trial == trial) {
			forget(m, i - 1, 1);
			break; /* a few of the latest are enough to catch a chatty trial */
		}
	m->v[m->n++] = (struct sw_mark){.number = m->number, .trial = trial};
}

void sw_marks_stepped(struct sw_marks *m, const struct sw_event *event,
		      const struct sw_actions *step)
{
	for (size_t i = 0; i < step->n; i++)
		sw_marks_note(m, step->v[i].kind == SW_ACTION_SWEEP ? 0 : step->v[i].trial);
	if (event->kind == SW_EVENT_REPORT)
		sw_marks_note(m, event->trial);
}

bool sw_marks_since(const struct sw_marks *m, uint64_t since, struct sw_mark *out, size_t most,
		    size_t *n, uint64_t *next)
{
	*n = 0;
	*next = m->number;
	/* Above the number: it was given by another daemon, whose clock was ahead. */
	if (since < m->dropped || since > m->number)
		return false;
	for (size_t i = sw_array_place(m->v, m->n, sizeof *m->v, since + 1); i < m->n; i++) {
		/* The answer ends at the last that fits, so the watcher's next call begins there
		 * and misses none. */
		if (*n == most) {
			*next = out[most - 1].number;
			break;
		}
		out[(*n)++] = m->v[i];
	}
	return true;
}

void sw_marks_fini(struct sw_marks *m)
{
	free(m->v);
	*m = (struct sw_marks){.number = m->number, .dropped = m->number};
}
