#include "daemon/sweep/ask_wait.h"
#include "daemon/daemon.h"
#include "daemon/net/call.h"
#include "daemon/sweep/ask.h"
#include "daemon/sweep/running.h"

/* Serves only those that wait now: one that finds nothing is kept again, at the end of the list,
 * and would be met for ever. */
void sw_asks_serve(struct sw_running *live)
{
	struct sw_waits *all = &live->waits[SW_WAIT_TRIAL];

	for (size_t n = all->n; n > 0 && all->n > 0; n--) {
		if (live->ended_ms == 0 && !sw_sweep_has_work(live->sched))
			return;
		sw_ask_answer(live, sw_wait_take(all, &all->head));
	}
}

void sw_asks_tick(struct sw_daemon *d, int64_t now_us)
{
	for (size_t i = 0; i < d->sweep.sweep_n; i++) {
		struct sw_waits *all = &d->sweep.sweeps[i]->waits[SW_WAIT_TRIAL];

		for (struct sw_wait **at = &all->head; *at != NULL;) {
			if (now_us < (*at)->until_us && !sw_call_gone((*at)->call))
				at = &(*at)->next;
			else
				sw_ask_answer_now(d->sweep.sweeps[i], sw_wait_take(all, at));
		}
	}
}
