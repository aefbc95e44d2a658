#include "daemon/slot/leftover.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/process.h"
#include "daemon/daemon.h"
#include "daemon/die.h"
#include "daemon/slot/slot.h"
#include <stdio.h>
#include <stdlib.h>

struct leftover {
	uv_work_t work;
	struct sw_worker *worker;
	void (*done)(struct sw_worker *w);
};

void sw_leftover_end_now(const struct sw_daemon *d, int32_t slot)
{
	char cookie[64], entry[96];
	size_t n;

	sw_slot_cookie(d, slot, cookie);
	(void)snprintf(entry, sizeof entry, "SWEEPD_COOKIE=%s", cookie);
	n = sw_process_end_marked(entry);
	if (n > 0)
		sw_log(SW_LOG_WARN, "program.left", "slot=%d killed=%zu", slot, n);
}

static void run_end(uv_work_t *work)
{
	const struct leftover *l = work->data;
	const struct sw_worker *w = l->worker;

	/* Nothing of the slots changes meanwhile: the worker has no process, and gets no trial. */
	for (unsigned k = 0; k < w->slot_n; k++)
		if (w->slots[k].program)
			sw_leftover_end_now(w->slots[k].d, w->slots[k].index);
}

static void on_end(uv_work_t *work, int status)
{
	struct leftover *l = work->data;
	struct sw_worker *w = l->worker;

	(void)status; /* never cancelled */
	for (unsigned k = 0; k < w->slot_n; k++)
		w->slots[k].program = false;
	l->done(w);
	free(l);
}

bool sw_leftover_end(struct sw_worker *w, void (*done)(struct sw_worker *w))
{
	bool program = false;

	for (unsigned k = 0; k < w->slot_n; k++)
		program = program || w->slots[k].program;
	if (!program)
		return false;
	struct leftover *l = sw_calloc(1, sizeof *l);
	if (l == NULL)
		sw_daemon_die("end what a worker left", SW_NOMEM);
	l->work.data = l;
	l->worker = w;
	l->done = done;
	if (uv_queue_work(w->slots->d->loop, &l->work, run_end, on_end) != 0)
		sw_daemon_die("end what a worker left", SW_INTERNAL);
	return true;
}
