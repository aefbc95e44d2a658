#include "daemon/api/watch_head.h"
#include "daemon/api/sweep_json.h"
#include "daemon/daemon.h"
#include "daemon/slot/slot.h"
#include "daemon/sweep/hold.h"
#include "daemon/sweep/place.h"
#include "daemon/sweep/running.h"
#include "proto/json.h"
#include "spec/query.h"
#include <math.h>

/* Slots that a trial of the sweep has, each of several; 0: of any sweep. */
static int64_t count_taken(const struct sw_daemon *d, int64_t sweep)
{
	int64_t n = 0;

	for (size_t i = 0; i < d->slot.slot_n; i++) {
		const struct sw_slot *s = &d->slot.slots[i];
		const struct sw_slot *lead = s->holder >= 0 ? &d->slot.slots[s->holder] : s;

		n += lead->state == SW_SLOT_BUSY && (sweep == 0 || lead->sweep == sweep);
	}
	return n;
}

static void write_slots(struct sw_jw *w, const struct sw_running *live)
{
	sw_jw_kobj(w, "slots");
	sw_jw_kint(w, "mine", count_taken(live->d, live->sweep));
	sw_jw_kint(w, "busy", count_taken(live->d, 0));
	sw_jw_kint(w, "total", (int64_t)live->d->slot.slot_n);
	sw_jw_obj_end(w);
}

/* How far the steps are that are under way on slots. */
static void write_progress(struct sw_jw *w, const struct sw_running *live)
{
	sw_jw_karr(w, "progress");
	for (size_t i = 0; i < live->d->slot.slot_n; i++) {
		const struct sw_slot *s = &live->d->slot.slots[i];

		if (s->state != SW_SLOT_BUSY || s->sweep != live->sweep || s->total == 0)
			continue;
		sw_jw_obj(w);
		sw_jw_kint(w, "trial", s->trial);
		sw_jw_kint(w, "done", s->done);
		sw_jw_kint(w, "total", s->total);
		sw_jw_obj_end(w);
	}
	sw_jw_arr_end(w);
}

/* How many trials' work is done: of those that run on slots their part of the most steps. */
static double count_done(const struct sw_running *live)
{
	const uint64_t max_t = sw_spec_max_t(live->spec);
	const double most = (double)(max_t > 0 ? max_t : sw_spec_epochs(live->spec));
	uint64_t counts[SW_TRIAL_STATE_N], ended = 0;
	double running = 0.0;

	sw_sweep_counts(live->sched, counts);
	for (int i = 0; i < SW_TRIAL_STATE_N; i++)
		if (sw_trial_ended((enum sw_trial_state)i))
			ended += counts[i];
	for (size_t i = 0; most > 0.0 && i < live->d->slot.slot_n; i++) {
		const struct sw_slot *s = &live->d->slot.slots[i];

		if (s->state != SW_SLOT_BUSY || s->sweep != live->sweep)
			continue;
		const double steps = (double)sw_sweep_trial(live->sched, (uint64_t)s->trial)->step +
				     (s->total > 0 ? (double)s->done / (double)s->total : 0.0);
		running += steps < most ? steps / most : 1.0;
	}
	return (double)ended + running;
}

/* Does it go on? Not while a client does not ask, or no slot takes its next trial. */
static bool is_moving(const struct sw_running *live)
{
	const struct sw_daemon *d = live->d;
	char why[480];

	if (live->state != SW_SWEEP_RUNNING || sw_sweep_settling(live->sched) || d->draining ||
	    sw_hold_idle_min(live) > 0)
		return false;
	return live->driven || live->claim.share.running > 0 ||
	       (!sw_place_short(live, why, sizeof why) &&
		count_taken(d, 0) < (int64_t)d->slot.slot_n);
}

/* The time left, when the trials to come take as long as those so far. */
static void write_eta(struct sw_jw *w, const struct sw_running *live, double seconds)
{
	const double cap = (double)sw_sweep_run_cap(live->sched), done = count_done(live);

	sw_jw_knum_opt(w, "eta_s", cap > 0.0 && done > 0.0 && is_moving(live),
		       floor(seconds * (done < cap ? cap - done : 0.0) / done * 10.0) / 10.0);
}

void sw_watch_head(struct sw_buf *out, const struct sw_running *live, int64_t now_ms)
{
	const double seconds = sw_sweep_json_seconds(live, now_ms);
	struct sw_jw w;

	sw_jw_init_obj(&w, out);
	sw_sweep_json(&w, live, now_ms);
	sw_sweep_json_progress(&w, live);
	write_slots(&w, live);
	write_progress(&w, live);
	sw_jw_kint(&w, "created_ms", live->created_ms);
	sw_jw_knum(&w, "seconds", seconds);
	write_eta(&w, live, seconds);
	sw_jw_karr(&w, "parameters");
	for (size_t i = 0; i < live->spec->n_params; i++)
		sw_jw_str(&w, live->spec->params[i].name);
	sw_jw_arr_end(&w);
}
