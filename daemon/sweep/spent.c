#include "daemon/sweep/spent.h"
#include "daemon/daemon.h"
#include "daemon/sweep/driver.h"
#include "daemon/sweep/host.h"
#include <stdio.h>

static bool has_budget(const struct sw_host *h)
{
	return h->ended_ms == 0 && h->sched != NULL && !sw_sweep_settling(h->sched) &&
	       (h->budget.time_s > 0 || h->budget.gpu_hours > 0);
}

/* In a change of its own. */
static void end_if_spent(struct sw_host *h)
{
	const struct sw_budget *b = &h->budget;
	const int64_t now_ms = h->d->clock->wall_ms();
	char cause[SW_CAUSE_MAX];

	if (!has_budget(h))
		return;
	/* What a stuck disk cannot take would be lost: the budget is looked at again after it. */
	if (sw_store_stuck(h->d->store) != NULL || h->d->phase != SW_UP)
		return;
	if (b->time_s > 0 && (double)sw_budget_ran_ms(b, now_ms) >= b->time_s * 1e3)
		(void)snprintf(cause, sizeof cause, "time budget of %.10g s is spent", b->time_s);
	else if (b->gpu_hours > 0 &&
		 (double)sw_budget_gpu_ms(h, now_ms) >= b->gpu_hours * SW_BUDGET_HOUR_MS)
		(void)snprintf(cause, sizeof cause, "GPU budget of %.10g hours is spent",
			       b->gpu_hours);
	else
		return;
	sw_driver_end(h, SW_EVENT_STOP, cause);
}

void sw_spent_tick(struct sw_daemon *d)
{
	for (size_t i = 0; i < d->host_n; i++)
		end_if_spent(d->hosts[i]);
}

void sw_spent_changed(struct sw_host *h)
{
	if (h->budget_dirty || !has_budget(h))
		return;
	h->budget_dirty = true;
	h->next_dirty = h->d->budget_dirty;
	h->d->budget_dirty = h;
}

void sw_spent_flush(struct sw_daemon *d)
{
	while (d->budget_dirty != NULL) {
		struct sw_host *h = d->budget_dirty;

		d->budget_dirty = h->next_dirty;
		h->budget_dirty = false;
		end_if_spent(h);
	}
}
