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

void sw_leftover_end_now(const struct sw_daemon *d, const int32_t *slot, size_t n)
{
	char(*text)[96] = sw_calloc(n, sizeof *text), cookie[64];
	const char **entry = sw_calloc(n, sizeof *entry);

	if (text == NULL || entry == NULL)
		sw_daemon_die("end what a worker left", SW_NOMEM);
	for (size_t i = 0; i < n; i++) {
		sw_slot_cookie(d, slot[i], cookie);
		(void)snprintf(text[i], sizeof text[i], "SWEEPD_COOKIE=%s", cookie);
		entry[i] = text[i];
	}
	/* By a variable of their environment, which no fork loses: sessions and groups a program
	 * may change. */
	const size_t killed = sw_process_end_marked(entry, n);
	if (killed > 0)
		sw_log(SW_LOG_WARN, "program.left", "slot=%d slots=%zu killed=%zu", slot[0], n,
		       killed);
	free(text);
	free(entry);
}

static void run_end(uv_work_t *work)
{
	const struct leftover *l = work->data;
	const struct sw_worker *w = l->worker;

	/* Nothing of the slots changes meanwhile: the worker has no process, and gets no trial. */
	for (unsigned k = 0; k < w->slot_n; k++)
		if (w->slots[k].program)
			sw_leftover_end_now(w->slots[k].d, &w->slots[k].index, 1);
}

static void on_end(uv_work_t *work, int status)
{
	struct leftover *l = work->data;
	struct sw_worker *w = l->worker;

	(void)status; /* never cancelled */
	/* Only now may the slots be given trials again: what was left could have written into the
	 * next trial's folder. */
	for (unsigned k = 0; k < w->slot_n; k++)
		sw_slot_program_ended(&w->slots[k]);
	l->done(w);
	free(l);
}

bool sw_leftover_end(struct sw_worker *w, void (*done)(struct sw_worker *w))
{
	bool program = false;

	for (unsigned k = 0; k < w->slot_n; k++)
		program = program || w->slots[k].program;
	/* A trainer forks nothing, so there is nothing to look for. */
	if (!program)
		return false;
	struct leftover *l = sw_daemon_calloc(1, sizeof *l, "end what a worker left");
	l->work.data = l;
	l->worker = w;
	l->done = done;
	if (uv_queue_work(w->slots->d->loop, &l->work, run_end, on_end) != 0)
		sw_daemon_die("end what a worker left", SW_INTERNAL);
	return true;
}
