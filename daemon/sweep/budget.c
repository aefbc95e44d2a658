#include "daemon/sweep/budget.h"
#include "daemon/daemon.h"
#include "daemon/slot/slot.h"
#include "daemon/sweep/driver.h"
#include "daemon/sweep/host.h"
#include "proto/json.h"
#include <math.h>
#include <stdio.h>

#define HOUR_MS 3600000.0

void sw_budget_state(struct sw_budget *b, bool running, int64_t now_ms)
{
	if (running == (b->since_ms != 0))
		return;
	if (!running) {
		b->ran_ms = sw_budget_ran_ms(b, now_ms);
		b->since_ms = 0;
	} else {
		b->since_ms = now_ms;
	}
}

int64_t sw_budget_ran_ms(const struct sw_budget *b, int64_t now_ms)
{
	return b->ran_ms + (b->since_ms != 0 && now_ms > b->since_ms ? now_ms - b->since_ms : 0);
}

int64_t sw_budget_gpu_ms(const struct sw_host *h, int64_t now_ms)
{
	int64_t ms = h->budget.gpu_ms;

	for (size_t i = 0; i < h->d->slot_n; i++) {
		const struct sw_slot *s = &h->d->slots[i];

		if (s->state != SW_SLOT_BUSY || s->sweep != h->sweep)
			continue;
		const struct sw_run *run = &h->runs[s->trial - 1];
		if (run->started_ms != 0 && now_ms > run->started_ms)
			ms += (now_ms - run->started_ms) * run->gpu / SW_RUN_GPU;
	}
	return ms;
}

static bool has_budget(const struct sw_host *h)
{
	return h->ended_ms == 0 && h->sched != NULL && !sw_sweep_settling(h->sched) &&
	       (h->budget.time_s > 0 || h->budget.gpu_hours > 0);
}

bool sw_budget_check(struct sw_host *h)
{
	const struct sw_budget *b = &h->budget;
	const int64_t now_ms = h->d->clock->wall_ms();
	char cause[SW_CAUSE_MAX];

	if (!has_budget(h))
		return false;
	/* What a stuck disk cannot take would be lost: the budget is looked at again after it. */
	if (sw_store_stuck(h->d->store) != NULL || h->d->phase != SW_UP)
		return false;
	if (b->time_s > 0 && (double)sw_budget_ran_ms(b, now_ms) >= b->time_s * 1e3)
		(void)snprintf(cause, sizeof cause, "time budget of %.10g s is spent", b->time_s);
	else if (b->gpu_hours > 0 && (double)sw_budget_gpu_ms(h, now_ms) >= b->gpu_hours * HOUR_MS)
		(void)snprintf(cause, sizeof cause, "GPU budget of %.10g hours is spent",
			       b->gpu_hours);
	else
		return false;
	sw_driver_end(h, SW_EVENT_STOP, cause);
	return true;
}

void sw_budget_tick(struct sw_daemon *d)
{
	for (size_t i = 0; i < d->host_n; i++)
		(void)sw_budget_check(d->hosts[i]);
}

void sw_budget_changed(struct sw_host *h)
{
	if (h->budget_dirty || !has_budget(h))
		return;
	h->budget_dirty = true;
	h->next_dirty = h->d->budget_dirty;
	h->d->budget_dirty = h;
}

void sw_budget_flush(struct sw_daemon *d)
{
	while (d->budget_dirty != NULL) {
		struct sw_host *h = d->budget_dirty;

		d->budget_dirty = h->next_dirty;
		h->budget_dirty = false;
		(void)sw_budget_check(h);
	}
}

static void limit(struct sw_jw *w, const char *key, double v)
{
	if (v > 0)
		sw_jw_knum(w, key, v);
	else
		sw_jw_knull(w, key);
}

void sw_budget_write(const struct sw_host *h, int64_t now_ms, struct sw_jw *w)
{
	const int64_t ran_ms = sw_budget_ran_ms(&h->budget, now_ms);
	const int64_t gpu_ms = sw_budget_gpu_ms(h, now_ms);

	sw_jw_key(w, "budget");
	sw_jw_obj(w);
	limit(w, "time_s", h->budget.time_s);
	sw_jw_knum(w, "time_used_s", (double)ran_ms / 1e3);
	limit(w, "gpu_hours", h->budget.gpu_hours);
	sw_jw_knum(w, "gpu_used_hours", round((double)gpu_ms / HOUR_MS * 1e6) / 1e6);
	sw_jw_obj_end(w);
}
