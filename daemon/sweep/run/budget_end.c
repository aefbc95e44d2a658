#include "daemon/sweep/run/budget_end.h"
#include "daemon/daemon.h"
#include "daemon/sweep/run/driver.h"
#include "daemon/sweep/running.h"
#include <stdio.h>
#include <string.h>

/* The first of the trials that did; 0: none did. */
static uint64_t fails_alike(const struct sw_running *live, const char **cause, const char **kind)
{
	return !live->driven && live->state == SW_SWEEP_RUNNING
		       ? sw_sweep_fails(live->sched, cause, kind)
		       : 0;
}

static bool goes_on(char c)
{
	return ((unsigned char)c & 0xC0) == 0x80;
}

static void pause_alike(struct sw_running *live, uint64_t trial, const char *why, const char *kind)
{
	char cause[SW_CAUSE_MAX], hint[160];
	const int after = snprintf(hint, sizeof hint,
				   " (%s; sweep log %lld/%llu has more, sweep "
				   "resume %lld goes on, sweep retry runs one again)",
				   kind, (long long)live->sweep, (unsigned long long)trial,
				   (long long)live->sweep);
	/* The hint is never cut: it names the commands that the user needs next. */
	const size_t room = sizeof cause - (size_t)after, len = strlen(why);
	const char *tail = why + len;
	size_t head = len;

	/* A long one is cut in its middle, before a character: it says what, and at its end why. */
	if (len >= room) {
		head = (room - sizeof "...") / 2;
		tail -= head;
		while (head > 0 && goes_on(why[head]))
			head--;
		while (goes_on(*tail))
			tail++;
	}
	(void)snprintf(cause, sizeof cause, "%.*s%s%s%s", (int)head, why, head < len ? "..." : "",
		       tail, hint);
	sw_driver_end(live, SW_EVENT_PAUSE, cause);
}

/* In a change of its own. Failures come first: they say what to mend. */
void sw_budget_end_check(struct sw_running *live)
{
	const struct sw_settings *s = &live->settings;
	const int64_t now_ms = live->d->clock->wall_ms();
	char cause[SW_CAUSE_MAX];
	const char *why, *kind;

	/* It has ended, or its end is under way. An unloaded sweep has ended, and one that settles
	 * has its end already: a second event would be refused by the state machine. */
	if (live->ended_ms != 0 || live->sched == NULL || sw_sweep_settling(live->sched))
		return;
	const uint64_t trial = fails_alike(live, &why, &kind);
	/* Most sweeps have neither a budget nor failures. */
	if (trial == 0 && s->time_s <= 0 && s->gpu_hours <= 0)
		return;
	/* A stuck disk would lose the end: the budget is looked at again after it. */
	if (sw_store_stuck(live->d->store) != NULL || live->d->phase != SW_UP)
		return;
	/* PAUSE, not STOP: what fails alike is mended by the user, and the trials so far are worth
	 * keeping. */
	if (trial != 0)
		pause_alike(live, trial, why, kind);
	else if (sw_budget_spent(live, now_ms, cause))
		sw_driver_end(live, SW_EVENT_STOP, cause);
}

void sw_budget_end_tick(struct sw_daemon *d)
{
	for (size_t i = 0; i < d->sweep.sweep_n; i++)
		sw_budget_end_check(d->sweep.sweeps[i]);
}
