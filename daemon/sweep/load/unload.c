#include "daemon/sweep/load/unload.h"
#include "daemon/daemon.h"
#include "daemon/slot/slot.h"
#include "daemon/sweep/running.h"
#include "daemon/sweep/search/suggest.h"

#define AFTER_US ((int64_t)10 * 1000000) /* when it was needed last */
#define EVERY_US ((int64_t)5 * 1000000)

/* Has it ended, and will nobody come back to it? */
static bool is_quiet(const struct sw_running *live)
{
	bool waits = live->due || live->end.settling || live->lookups > 0 || sw_suggest_busy(live);

	for (size_t i = 0; i < SW_WAIT_REASONS; i++)
		waits |= live->waits[i].n > 0;
	return !waits && !sw_slot_holds(live->d, live->sweep, 0);
}

void sw_unload_tick(struct sw_daemon *d, int64_t now_us)
{
	/* Changes that wait for a stuck disk come back, too. */
	if (now_us < d->sweep.unload_us || sw_store_stuck(d->store) != NULL)
		return;
	d->sweep.unload_us = now_us + EVERY_US;
	for (size_t i = 0; i < d->sweep.sweep_n; i++) {
		struct sw_running *live = d->sweep.sweeps[i];

		if (live->sched == NULL)
			continue;
		if (live->ended_ms == 0 || live->needed_us == 0) {
			live->needed_us = now_us;
		} else if ((sw_row_is_gone(live->gone) || now_us - live->needed_us >= AFTER_US) &&
			   is_quiet(live)) {
			sw_suggest_free(live);
			sw_running_unload(live);
		}
	}
}
