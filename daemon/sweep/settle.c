#include "daemon/sweep/settle.h"
#include "base/log.h"
#include "daemon/daemon.h"
#include "daemon/die.h"
#include "daemon/net/call.h"
#include "daemon/sweep/driver.h"
#include "daemon/sweep/host.h"
#include "proto/json.h"
#include <assert.h>

void sw_settle_recovered(struct sw_host *h)
{
	struct sw_host **at = &h->d->settling;

	if (h->settling || !sw_sweep_settling(h->sched))
		return;
	while (*at != NULL)
		at = &(*at)->next_settling;
	*at = h;
	h->settling = true;
}

static void on_stored(void *arg)
{
	sw_settle_go(arg);
}

void sw_settle_stepped(struct sw_change *c, struct sw_host *h)
{
	sw_settle_recovered(h);
	if (h->settling && !h->d->slice_busy)
		sw_change_after(c, on_stored, h->d);
}

/* sweep.cancel's answer: its number and its state. */
static void settle_answer(const struct sw_host *h, struct sw_buf *out)
{
	struct sw_jw w;

	sw_jw_init(&w, out);
	sw_jw_obj(&w);
	sw_jw_kint(&w, "sweep", h->sweep);
	sw_jw_kstr(&w, "state", sw_sweep_state_name(h->state));
	sw_jw_obj_end(&w);
}

void sw_settle_wait(struct sw_host *h, struct sw_call *call)
{
	assert(h->settle_call == NULL);
	h->settle_call = call;
}

static void on_slice(void *arg)
{
	struct sw_daemon *d = arg;

	d->slice_busy = false;
	sw_settle_go(d);
}

void sw_settle_go(struct sw_daemon *d)
{
	static const struct sw_event event = {.kind = SW_EVENT_SETTLE};
	struct sw_host *h = d->settling;
	struct sw_err err = SW_ERR_INIT;

	if (h == NULL || d->slice_busy || d->phase != SW_UP)
		return;
	d->slice_busy = true; /* from before the step, which would else ask for another slice */
	struct sw_change *c = sw_change_begin(d, NULL);
	if (sw_driver_step(c, h, &event, -1, &err) != SW_OK)
		sw_daemon_die("end a sweep", err.code); /* it said that it wants one */
	if (!sw_sweep_settling(h->sched)) {
		d->settling = h->next_settling;
		h->next_settling = NULL;
		h->settling = false;
		c->call = h->settle_call;
		h->settle_call = NULL;
		if (c->call != NULL)
			settle_answer(h, &c->reply);
		sw_changes_note(&h->changes, 0);
	}
	sw_change_after(c, on_slice, d);
	sw_change_commit(c);
}

void sw_settle_refuse_all(struct sw_daemon *d)
{
	struct sw_err err = SW_ERR_INIT;

	(void)sw_err_set(
		&err, SW_BUSY,
		"the daemon is stopping; the sweep's end goes on when it is started again");
	for (struct sw_host *h = d->settling; h != NULL; h = h->next_settling) {
		struct sw_call *call = h->settle_call;

		h->settle_call = NULL;
		if (call != NULL)
			sw_call_error(call, &err);
	}
}
