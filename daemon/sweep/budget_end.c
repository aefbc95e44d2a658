#include "daemon/sweep/budget_end.h"
#include "daemon/daemon.h"
#include "daemon/sweep/driver.h"
#include "daemon/sweep/running.h"
#include <stdio.h>
#include <string.h>

static bool fails_alike(const struct sw_running *live, const char **cause)
{
	return !live->driven && live->state == SW_SWEEP_RUNNING &&
	       sw_sweep_fails(live->sched, cause);
}

static bool has_budget(const struct sw_running *live)
{
	const char *cause;

	return live->ended_ms == 0 && live->sched != NULL && !sw_sweep_settling(live->sched) &&
	       (live->budget.time_s > 0 || live->budget.gpu_hours > 0 || fails_alike(live, &cause));
}

static void pause_alike(struct sw_running *live, const char *why)
{
	char cause[SW_CAUSE_MAX];
	char hint[100];
	const int after = snprintf(hint, sizeof hint,
				   " (sweep trials %lld lists them, sweep resume %lld goes on)",
				   (long long)live->sweep, (long long)live->sweep);
	const int n = snprintf(cause, sizeof cause, "%d trials FAILED alike: ", SW_SWEEP_FIRST);
	const size_t room = sizeof cause - (size_t)n - (size_t)after, len = strlen(why);
	size_t keep = len < room ? len : room - sizeof "...";

	/* The reason is cut before a character, not in it. */
	while (keep < len && keep > 0 && ((unsigned char)why[keep] & 0xC0) == 0x80)
		keep--;
	(void)snprintf(cause + n, sizeof cause - (size_t)n, "%.*s%s%s", (int)keep, why,
		       keep < len ? "..." : "", hint);
	sw_driver_end(live, SW_EVENT_PAUSE, cause);
}

/* In a change of its own. Failures come first: they say what to mend. */
void sw_budget_end_look(struct sw_running *live)
{
	const struct sw_budget *b = &live->budget;
	const int64_t now_ms = live->d->clock->wall_ms();
	char cause[SW_CAUSE_MAX] = "";
	const char *why;

	/* Nothing that could end it. Most sweeps have neither a budget nor failures. */
	if (!has_budget(live))
		return;
	/* A stuck disk would lose the end: the budget is looked at again after it. */
	if (sw_store_stuck(live->d->store) != NULL || live->d->phase != SW_UP)
		return;
	if (fails_alike(live, &why))
		pause_alike(live, why);
	else if (b->time_s > 0 && (double)sw_budget_ran_ms(b, now_ms) >= b->time_s * 1e3)
		(void)snprintf(cause, sizeof cause, "time budget of %.10g s is spent", b->time_s);
	else if (b->gpu_hours > 0 &&
		 (double)sw_budget_gpu_ms(live, now_ms) >= b->gpu_hours * SW_BUDGET_HOUR_MS)
		(void)snprintf(cause, sizeof cause, "GPU budget of %.10g hours is spent",
			       b->gpu_hours);
	if (*cause != '\0')
		sw_driver_end(live, SW_EVENT_STOP, cause);
}

void sw_budget_end_tick(struct sw_daemon *d)
{
	for (size_t i = 0; i < d->sweep.sweep_n; i++)
		sw_budget_end_look(d->sweep.sweeps[i]);
}
