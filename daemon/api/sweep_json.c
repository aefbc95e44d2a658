#include "daemon/api/sweep_json.h"
#include "daemon/daemon.h"
#include "daemon/slot/slot.h"
#include "daemon/sweep/files/quota.h"
#include "daemon/sweep/give/place.h"
#include "daemon/sweep/run/hold.h"
#include "daemon/sweep/running.h"
#include "proto/json.h"
#include "spec/query.h"
#include <math.h>
#include <stdio.h>

void sw_sweep_json_counts(struct sw_jw *w, const uint64_t counts[SW_TRIAL_STATE_N])
{
	sw_jw_kobj(w, "counts");
	for (int i = 0; i < SW_TRIAL_STATE_N; i++)
		sw_jw_kint(w, sw_trial_state_name((enum sw_trial_state)i), (int64_t)counts[i]);
	sw_jw_obj_end(w);
}

/* Bands without an upper end are shown up to the first that no trial has come to. */
static bool is_past_bands(const struct sw_pruner *p, size_t k)
{
	return sw_pruner_kind(p) == SW_PRUNER_HYPERBAND && k > 0 &&
	       sw_pruner_rung_count(p, 0, k - 1) == 0 && sw_pruner_rung_count(p, 0, k) == 0;
}

static void write_rungs(struct sw_jw *w, const struct sw_running *live)
{
	const struct sw_pruner *p = sw_sweep_pruner(live->sched);
	const uint32_t brackets = p != NULL ? sw_pruner_bracket_n(p) : 0;

	sw_jw_karr(w, "rungs");
	for (uint32_t b = 0; b < brackets; b++)
		for (size_t k = 0; k < sw_pruner_rung_n(p, b) && !is_past_bands(p, k); k++) {
			const double cutoff = sw_pruner_rung_cutoff(p, b, k);

			sw_jw_obj(w);
			sw_jw_kint(w, "bracket", b);
			sw_jw_kint(w, "step", (int64_t)sw_pruner_rung_step(p, b, k));
			sw_jw_kint(w, "n", (int64_t)sw_pruner_rung_count(p, b, k));
			sw_jw_knum_opt(w, "cutoff", isfinite(cutoff),
				       live->maximize ? -cutoff : cutoff);
			sw_jw_obj_end(w);
		}
	sw_jw_arr_end(w);
}

void sw_sweep_json_progress(struct sw_jw *w, const struct sw_running *live)
{
	const uint64_t max_t = sw_spec_max_t(live->spec);
	uint64_t counts[SW_TRIAL_STATE_N];

	sw_sweep_counts(live->sched, counts);
	sw_sweep_json_counts(w, counts);
	write_rungs(w, live);
	sw_jw_kint_opt(w, "max_t", max_t > 0, (int64_t)max_t);
}

double sw_sweep_json_seconds(const struct sw_running *live, int64_t now_ms)
{
	const int64_t end = live->ended_ms != 0 ? live->ended_ms : now_ms;

	return end > live->created_ms ? (double)(end - live->created_ms) / 1000.0 : 0.0;
}

static void write_settings(struct sw_jw *w, const struct sw_running *live)
{
	const struct sw_settings *s = &live->settings;

	sw_jw_kint_opt(w, "max_concurrent", s->max_concurrent > 0, (int64_t)s->max_concurrent);
	sw_jw_knum(w, "weight", s->weight);
	sw_jw_knum_opt(w, "target", s->has_target, s->target);
}

int64_t sw_sweep_json_silent_min(const struct sw_running *live, int64_t trial)
{
	const int64_t us = live->d->clock->mono_us() - live->runs[trial - 1].heard_us;

	return us < 120000000 ? 0 : us / 60000000;
}

void sw_sweep_json_past(const struct sw_running *live, uint64_t step, char *text, size_t cap)
{
	(void)snprintf(
		text, cap,
		"its first report is of step %llu, and max_t is %llu: no rung could stop it. "
		"Steps count reports (1, 2, ...); or raise max_t",
		(unsigned long long)step, (unsigned long long)sw_spec_max_t(live->spec));
}

const char *sw_sweep_json_cause(const struct sw_running *live, char *text, size_t cap, bool *ending)
{
	const bool ended = live->ended_ms != 0;

	*ending = false;
	if (!ended && sw_store_stuck(live->d->store) != NULL)
		return sw_store_stuck(live->d->store);
	if (live->state == SW_SWEEP_PAUSED && *sw_sweep_cause(live->sched) != '\0')
		return sw_sweep_cause(live->sched);
	/* A fault comes before news of the end. */
	if (!ended && live->note[0] != '\0')
		return live->note;
	if (!ended && sw_sweep_settling(live->sched)) {
		const char *why = sw_sweep_end_cause(live->sched);

		*ending = true;
		(void)snprintf(text, cap, "about to be %s%s%s: %llu trials are still to end",
			       sw_sweep_state_name(sw_sweep_end_state(live->sched)),
			       *why != '\0' ? ", " : "", why,
			       (unsigned long long)sw_sweep_unsettled(live->sched));
		return text;
	}
	if (!ended && sw_quota_full(live->d) != NULL)
		return sw_quota_full(live->d);
	/* Target or plateau: trials that run may end by themselves first. */
	if (!ended && *sw_sweep_end_cause(live->sched) != '\0') {
		*ending = true;
		(void)snprintf(text, cap, "about to end: %s", sw_sweep_end_cause(live->sched));
		return text;
	}
	if (sw_hold_idle_min(live) > 0) {
		(void)snprintf(text, cap, "no client has asked for %lld min",
			       (long long)sw_hold_idle_min(live));
		return text;
	}
	if (!ended && live->d->draining)
		return "the daemon is draining: it hands out no more trials";
	const char *cause = sw_sweep_cause(live->sched);
	/* Only while none runs: a sweep that goes on, however slowly, has no cause. */
	if (*cause == '\0' && live->state == SW_SWEEP_RUNNING && !live->driven &&
	    live->claim.share.running == 0 && sw_place_short(live, text, cap))
		return text;
	uint64_t step, past = sw_sweep_past(live->sched, &step);
	if (*cause == '\0' && past != 0) {
		const int n = snprintf(text, cap, "trial %llu: ", (unsigned long long)past);

		sw_sweep_json_past(live, step, text + n, cap - (size_t)n);
		return text;
	}
	return cause;
}

void sw_sweep_json(struct sw_jw *w, const struct sw_running *live, int64_t now_ms)
{
	char text[480];
	bool ending;
	const char *cause = sw_sweep_json_cause(live, text, sizeof text, &ending);

	sw_jw_kint(w, "sweep", live->sweep);
	sw_jw_kstr(w, "name", live->name);
	sw_jw_kstr(w, "state", sw_sweep_state_name(live->state));
	sw_jw_kstr(w, "cause", *cause != '\0' ? cause : NULL);
	/* A user's pause has no cause of its own; what is wrong may be noted beside it. */
	sw_jw_kbool(w, "halted",
		    live->state == SW_SWEEP_PAUSED && *sw_sweep_cause(live->sched) != '\0' &&
			    !sw_sweep_settling(live->sched));
	sw_jw_kbool(w, "ending", ending);
	sw_jw_kstr(w, "method", live->method);
	sw_jw_kstr(w, "metric", live->metric);
	sw_jw_kstr(w, "goal", live->maximize ? "maximize" : "minimize");
	sw_jw_kint_opt(w, "run_cap", live->run_cap > 0, live->run_cap);
	sw_jw_kint_opt(w, "points", sw_sweep_points(live->sched) > 0,
		       (int64_t)sw_sweep_points(live->sched));
	write_settings(w, live);
	sw_budget_write(live, now_ms, w);
}

/* --- what its watchers are told beside it --- */

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
	    sw_store_stuck(d->store) != NULL || sw_hold_idle_min(live) > 0)
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

void sw_sweep_json_head(struct sw_buf *out, const struct sw_running *live, int64_t now_ms)
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
