#include "daemon/sweep/budget.h"
#include "daemon/daemon.h"
#include "daemon/slot/slot.h"
#include "daemon/sweep/running.h"
#include "proto/json.h"
#include <math.h>
#include <stdio.h>

void sw_budget_state(struct sw_budget *b, bool running, int64_t now_ms)
{
	/* Each step of a sweep tells its state again; only a change may begin or end a stretch. */
	if (running == (b->since_ms != 0))
		return;
	b->ran_ms = sw_budget_ran_ms(b, now_ms);
	b->since_ms = running ? now_ms : 0;
}

int64_t sw_budget_ran_ms(const struct sw_budget *b, int64_t now_ms)
{
	/* The next start takes the wall clock as it finds it: one that went back adds nothing, and
	 * takes nothing away. */
	return b->ran_ms + (b->since_ms != 0 && now_ms > b->since_ms ? now_ms - b->since_ms : 0);
}

int64_t sw_budget_gpu_ms(const struct sw_running *live, int64_t now_ms)
{
	int64_t ms = live->budget.gpu_ms;

	/* Attempts that ended are in gpu_ms; those that run have only their start, so their part is
	 * counted anew each time it is asked for. */
	for (size_t i = 0; i < live->d->slot.slot_n; i++) {
		const struct sw_slot *s = &live->d->slot.slots[i];

		/* Slots, not trials: a live attempt with a GPU holds a slot, and slots are few. */
		if (s->state != SW_SLOT_BUSY || s->sweep != live->sweep)
			continue;
		const struct sw_run *run = &live->runs[s->trial - 1];
		if (run->started_ms != 0 && now_ms > run->started_ms)
			ms += (now_ms - run->started_ms) * run->gpu / SW_RUN_GPU;
	}
	return ms;
}

bool sw_budget_spent(const struct sw_running *live, int64_t now_ms, char *cause)
{
	const struct sw_settings *s = &live->settings;

	*cause = '\0';
	if (s->time_s > 0 && (double)sw_budget_ran_ms(&live->budget, now_ms) >= s->time_s * 1e3)
		(void)snprintf(cause, SW_CAUSE_MAX, "time budget of %.10g s is spent", s->time_s);
	else if (s->gpu_hours > 0 &&
		 (double)sw_budget_gpu_ms(live, now_ms) >= s->gpu_hours * SW_BUDGET_HOUR_MS)
		(void)snprintf(cause, SW_CAUSE_MAX, "GPU budget of %.10g hours is spent",
			       s->gpu_hours);
	return *cause != '\0';
}

void sw_budget_write(const struct sw_running *live, int64_t now_ms, struct sw_jw *w)
{
	const struct sw_settings *s = &live->settings;
	const int64_t ran_ms = sw_budget_ran_ms(&live->budget, now_ms);
	const int64_t gpu_ms = sw_budget_gpu_ms(live, now_ms);

	/* 0 is how the daemon keeps "no limit"; outside, null says so. */
	sw_jw_kobj(w, "budget");
	sw_jw_knum_opt(w, "time_s", s->time_s > 0, s->time_s);
	sw_jw_knum(w, "time_used_s", (double)ran_ms / 1e3);
	sw_jw_knum_opt(w, "gpu_hours", s->gpu_hours > 0, s->gpu_hours);
	/* A millionth of an hour is below what a row's milliseconds can tell. */
	sw_jw_knum(w, "gpu_used_hours", round((double)gpu_ms / SW_BUDGET_HOUR_MS * 1e6) / 1e6);
	sw_jw_obj_end(w);
}
