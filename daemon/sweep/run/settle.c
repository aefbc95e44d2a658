#include "daemon/sweep/run/settle.h"
#include "daemon/daemon.h"
#include "daemon/die.h"
#include "daemon/net/call.h"
#include "daemon/sweep/run/driver.h"
#include "daemon/sweep/running.h"
#include <assert.h>

void sw_settle_recovered(struct sw_running *live)
{
	struct sw_running **at = &live->d->sweep.settling;

	/* In the list already, or its end is over in one step. */
	if (live->end.settling || !sw_sweep_settling(live->sched))
		return;
	/* At the end: sweeps end in the order in which they were told to, however long each
	 * takes. */
	while (*at != NULL)
		at = &(*at)->end.next;
	/* A list and not a flag a sweep: cancelling a thousand of them takes a slice of one at a
	 * time. */
	*at = live;
	live->end.settling = true;
}

static void on_stored(void *arg)
{
	sw_settle_go(arg);
}

void sw_settle_stepped(struct sw_change *c, struct sw_running *live)
{
	sw_settle_recovered(live);
	/* Not before the commit: a slice changes rows that this step has just written, and would
	 * hold up its answer. */
	if (live->end.settling && !live->d->sweep.slice_busy)
		sw_change_after(c, on_stored, live->d);
}

void sw_settle_wait(struct sw_running *live, struct sw_call *call)
{
	assert(live->waits[SW_WAIT_END].n == 0);
	if (sw_wait_add(&live->waits[SW_WAIT_END], call) == NULL)
		/* The step that ends the sweep is in the change already: it is too late to refuse
		 * its caller. */
		sw_daemon_die("end a sweep", SW_NOMEM);
}

static void on_slice(void *arg)
{
	struct sw_daemon *d = arg;

	d->sweep.slice_busy = false;
	sw_settle_go(d);
}

void sw_settle_go(struct sw_daemon *d)
{
	static const struct sw_event event = {.kind = SW_EVENT_SETTLE};
	struct sw_running *live = d->sweep.settling;
	struct sw_err err = SW_ERR_INIT;

	/* on_slice() comes back; a daemon that stops leaves the rest to its next start. */
	if (live == NULL || d->sweep.slice_busy || d->phase != SW_UP)
		return;
	d->sweep.slice_busy =
		true; /* from before the step, which would else ask for another slice */
	struct sw_change *c = sw_change_begin(d, NULL);
	if (sw_driver_step(c, live, &event, -1, &err) != SW_OK)
		sw_daemon_die("end a sweep", err.code); /* it said that it wants one */
	if (!sw_sweep_settling(live->sched)) {
		/* The answer to the cancel that began it goes with the last slice's commit, which
		 * is what makes it true. */
		d->sweep.settling = live->end.next;
		live->end.next = NULL;
		live->end.settling = false;
		c->call = sw_wait_take(&live->waits[SW_WAIT_END], &live->waits[SW_WAIT_END].head);
		if (c->call != NULL)
			sw_running_write_state(live, false, &c->reply);
		sw_marks_note(&live->view.changes, 0); /* its state, which no trial's mark tells */
	}
	/* After the answer, so that a client hears of the end of its sweep before the next one's
	 * slice begins. */
	sw_change_after(c, on_slice, d);
	sw_change_commit(c);
}
