#include "daemon/sweep/unload.h"
#include "daemon/daemon.h"
#include "daemon/sweep/erase.h"
#include "daemon/sweep/running.h"
#include "daemon/sweep/suggest.h"

#define AFTER_US ((int64_t)10 * 1000000)
#define TRIAL_US ((int64_t)10000) /* more for each: they cost time to read again */
#define MOST_US  ((int64_t)600 * 1000000)
#define EVERY_US ((int64_t)5 * 1000000)

/* When it was needed last, it stays for so long. */
static int64_t stays_us(const struct sw_running *live)
{
	const int64_t us = AFTER_US + (int64_t)sw_sweep_trial_n(live->sched) * TRIAL_US;

	if (sw_row_is_gone(live->gone))
		return 0;
	return us < MOST_US ? us : MOST_US;
}

/* Has it ended, and will nobody come back to it? */
static bool is_quiet(const struct sw_running *live)
{
	bool waits = live->due || live->end.settling || live->view.watchers != NULL ||
		     live->view.feeding || live->lookups > 0 || sw_suggest_busy(live);

	for (size_t i = 0; i < SW_WAIT_REASONS; i++)
		waits |= live->waits[i].n > 0;
	return !waits && !sw_erase_has_worker(live->d, live->sweep);
}

void sw_unload_tick(struct sw_daemon *d, int64_t now_us)
{
	/* What waits for a stuck disk comes back, too. */
	if (now_us < d->sweep.unload_us || sw_store_stuck(d->store) != NULL)
		return;
	d->sweep.unload_us = now_us + EVERY_US;
	for (size_t i = 0; i < d->sweep.sweep_n; i++) {
		struct sw_running *live = d->sweep.sweeps[i];

		if (live->sched == NULL)
			continue;
		if (live->ended_ms == 0 || live->needed_us == 0) {
			live->needed_us = now_us;
		} else if (now_us - live->needed_us >= stays_us(live) && is_quiet(live)) {
			sw_suggest_free(live);
			sw_running_unload(live);
		}
	}
}
