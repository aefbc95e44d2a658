/*
 * daemon/sweep/run/rows.c — a step of the state machine leaves rows for the store, and changes the
 * accounts of the running sweep and of the slots.
 */
#include "daemon/sweep/run/rows.h"
#include "base/log.h"
#include "daemon/daemon.h"
#include "daemon/die.h"
#include "daemon/net/call.h"
#include "daemon/plan/plan.h"
#include "daemon/slot/slot.h"
#include "daemon/sweep/names.h"
#include "daemon/sweep/run/suggest_state.h"
#include "daemon/sweep/run/suggest_why.h"
#include "daemon/sweep/running.h"
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WHY_MAX   ((size_t)64 * 1024)
#define STATE_MAX ((size_t)16 * 1024 * 1024)

/* An attempt whose worker is told that it is over. The word waits for the commit: a daemon that
 * crashed before it would come back without that decision. */
struct stop {
	struct sw_daemon *d;
	int32_t slot;
	int64_t sweep, trial, attempt;
};

static void send_stop(void *arg)
{
	struct stop *s = arg;

	sw_slot_stop_trial(s->d, s->slot, s->sweep, s->trial, s->attempt);
	free(s);
}

static void stop_after(struct sw_change *c, int32_t slot, const struct sw_running *live,
		       const struct sw_action *a)
{
	/* A client hears of it by the answer to its next word. */
	if (slot < 0)
		return;
	struct stop *s = sw_daemon_calloc(1, sizeof *s, "stop a trial");
	*s = (struct stop){.d = c->d,
			   .slot = slot,
			   .sweep = live->sweep,
			   .trial = (int64_t)a->trial,
			   .attempt = a->attempt};
	sw_change_after(c, send_stop, s);
}

static void add_log(struct sw_change *c, const struct sw_running *live, const struct sw_action *a,
		    const char *what, const char *text)
{
	char line[SW_CAUSE_MAX + 64]; /* of both there is no longer one */
	const struct sw_row_log row = {.sweep = live->sweep,
				       .trial = (int64_t)a->trial,
				       .attempt = a->attempt,
				       .time_ms = c->now_ms,
				       .line = line};

	(void)snprintf(line, sizeof line, "%s%s%s", what, *text != '\0' ? ": " : "", text);
	sw_tx_log(c->tx, &row);
}

static char *take_text(struct sw_buf *b)
{
	char *text = sw_buf_take(b, NULL);

	/* The step is taken, so there is no way back. */
	if (text == NULL)
		sw_daemon_die("record a trial", SW_NOMEM);
	return text;
}

/* Stores how the trial came about, and what the sampler needs to go on from there: a replay reads
 * it back and does not run the model again. */
static void add_suggestion(struct sw_change *c, const struct sw_running *live,
			   const struct sw_action *a)
{
	const struct sw_suggestion *s = a->suggestion;
	struct sw_buf why, state;

	sw_buf_init(&why, WHY_MAX);
	/* The history as it is now: `unseen` is what has come since the suggestion was computed. */
	sw_suggest_why(s, sw_sweep_history(live->sched)->n_obs, live->spec, &why);
	char *text = take_text(&why);
	const struct sw_row_suggestion row = {.sweep = live->sweep,
					      .trial = (int64_t)a->trial,
					      .known = (int64_t)s->known,
					      .why = text};
	sw_tx_suggestion(c->tx, &row);
	free(text);
	/* A sampler without a state of its own follows from the history. Stored anew with each
	 * suggestion, and in a row a sweep that replaces the one before: 16 MiB at most, of which
	 * the last alone is needed. */
	if (s->state_n == 0)
		return;
	sw_buf_init(&state, STATE_MAX);
	sw_suggest_state_write(s->state, s->state_n, &state);
	text = take_text(&state);
	const struct sw_row_sampler sampler = {
		.sweep = live->sweep, .trial = (int64_t)a->trial, .state = text};
	sw_tx_sampler(c->tx, &sampler);
	free(text);
}

static void on_create(struct sw_change *c, struct sw_running *live, const struct sw_action *a)
{
	struct sw_buf params;

	/* Trials are created by number, one after the other, so the room grows by doubling. */
	if (sw_running_runs(live, a->trial) != SW_OK)
		sw_daemon_die("record a trial", SW_NOMEM);
	sw_buf_init(&params, SW_REPLY_MAX);
	sw_plan_params(live->spec, sw_sweep_space(live->sched), a->values, &params);
	char *text = take_text(&params);
	const struct sw_row_trial row = {.sweep = live->sweep,
					 .trial = (int64_t)a->trial,
					 .state = sw_trial_state_name(SW_TRIAL_PENDING),
					 .params = text,
					 .created_ms = c->now_ms,
					 .parent = (int64_t)a->parent,
					 .resume_step = (int64_t)a->resume_step};
	sw_tx_trial_insert(c->tx, &row);
	free(text);
	/* The others draw by (seed, trial) alone: a replay draws again, and compares. */
	if (a->suggestion != NULL && sw_sweep_learns(live->sched))
		add_suggestion(c, live, a);
}

/* The part of the slot's GPU that the trial has, or how many; 0: no GPU. */
static double share_of(const struct sw_running *live, const struct sw_run *run, int32_t slot)
{
	if (slot < 0 || !live->d->slot.slots[slot].device.kind->gpu)
		return 0.0;
	const struct sw_slot *s = &live->d->slot.slots[slot];
	if (live->spec->gpu > 1)
		return live->spec->gpu;
	if (run->alone)
		return 1.0;
	return (double)sw_device_lanes(&s->device, live->spec->gpu) / s->device.lanes;
}

static void on_start(struct sw_change *c, struct sw_running *live, const struct sw_action *a,
		     int32_t slot)
{
	struct sw_run *run = &live->runs[a->trial - 1];
	/* Noted at the start: a restart with fewer lanes must not change what the attempt is
	 * billed. */
	const double share = share_of(live, run, slot);
	const struct sw_row_attempt attempt = {.sweep = live->sweep,
					       .trial = (int64_t)a->trial,
					       .attempt = a->attempt,
					       .ev = (int64_t)c->ev,
					       .slot = slot,
					       .started_ms = c->now_ms,
					       .state = "RUNNING",
					       .resume_step = (int64_t)a->resume_step,
					       .gpu = share > 0.0,
					       .share = share};
	const struct sw_row_trial trial = {.sweep = live->sweep,
					   .trial = (int64_t)a->trial,
					   .state = sw_trial_state_name(SW_TRIAL_RUNNING),
					   .attempt = a->attempt,
					   .started_ms = c->now_ms,
					   .seconds = (double)run->seconds};

	*run = (struct sw_run){.started_ms = c->now_ms,
			       .heard_us = live->d->clock->mono_us(),
			       .seconds = run->seconds,
			       .slot = (int16_t)slot,
			       .alone = run->alone,
			       .gpu = (uint32_t)lround(share * SW_RUN_GPU)};
	/* A trial that was resumed may be older than all that run. */
	if (a->trial < live->oldest)
		live->oldest = a->trial;
	if (slot >= 0)
		live->claim.share.running++;
	sw_tx_attempt_start(c->tx, &attempt);
	sw_tx_trial_state(c->tx, &trial);
}

/* Adds the attempt's use of its GPU. A slot that has let go of it keeps the figures till its
 * next. */
static void add_usage(struct sw_row_attempt *row, const struct sw_slot *s)
{
	const bool its = sw_slot_has(s, row->sweep, row->trial, row->attempt);

	/* A core has no such figures, and those of another trial are not its own. */
	if (!s->device.kind->gpu || (!its && s->sweep != 0))
		return;
	const struct sw_gpu_usage u = its ? sw_gpu_usage_end(s) : s->usage;
	row->has_gpu_bytes = row->has_gpu_util = row->has_joules = u.any;
	row->gpu_bytes = (double)u.peak;
	row->gpu_util = u.seconds > 0.0 ? u.util_seconds / u.seconds : 0.0;
	row->joules = u.millijoules / 1e3;
}

/* The live attempt of a trial, if there is one, is over: rows and accounts. */
static void end_attempt(struct sw_change *c, struct sw_running *live, const struct sw_action *a,
			const char *state)
{
	struct sw_run *run = &live->runs[a->trial - 1];
	const struct sw_daemon *d = live->d;
	/* NULL: a client has it, or an earlier daemon had that slot. */
	struct sw_slot *s = run->slot >= 0 && (size_t)run->slot < d->slot.slot_n
				    ? &d->slot.slots[run->slot]
				    : NULL;
	const int64_t ended_ms = c->over_ms != 0 && c->over_ms < c->now_ms ? c->over_ms : c->now_ms;
	struct sw_row_attempt row = {.sweep = live->sweep,
				     .trial = (int64_t)a->trial,
				     .attempt = a->attempt,
				     .ended_ms = ended_ms,
				     .state = state,
				     .cause = *a->cause != '\0' ? a->cause : NULL};

	/* It was PENDING or PAUSED: no attempt to end. */
	if (run->started_ms == 0)
		return;
	if (s != NULL)
		add_usage(&row, s);
	sw_tx_attempt_end(c->tx, &row);
	/* Wall clock against wall clock of a restart: it may have gone back, and no attempt took
	 * less than nothing. */
	const int64_t ms = ended_ms > run->started_ms ? ended_ms - run->started_ms : 0;
	run->seconds += (float)ms / 1000.0f;
	run->started_ms = 0;
	run->conn = 0;
	/* Clients' trials take no slot time and no GPU. */
	if (run->slot < 0)
		return;
	assert(live->claim.share.running > 0);
	live->claim.share.running--;
	/* If its slot is gone, nobody knows how many it had. */
	sw_running_account(&live->claim.share, ms * 1000, s != NULL ? s->lanes_used : 0);
	/* By the same figure as sw_budget_gpu_ms() showed it while it ran: the sum does not jump at
	 * its end. */
	live->budget.gpu_ms += ms * run->gpu / SW_RUN_GPU;
	/* The slot let go of it first (sw_slot_lose()), and may have another. */
	if (s == NULL || !sw_slot_has(s, live->sweep, (int64_t)a->trial, a->attempt))
		return;
	sw_slot_done(s);
	/* A failure after a step has shown that the slot can train: only those before the first
	 * count against it. */
	if (strcmp(state, "FAILED") != 0 || sw_sweep_trial(live->sched, a->trial)->step > 0)
		s->failures = 0;
	else
		sw_slot_failed(s, a->cause);
}

static void on_over(struct sw_change *c, struct sw_running *live, const struct sw_action *a,
		    enum sw_trial_state state, bool counts)
{
	const bool retry = a->kind == SW_ACTION_RETRY;
	const bool open = !sw_trial_ended(state);
	const char *name = sw_trial_state_name(state);

	/* The attempt's row says LOST or RELEASED, the trial's PENDING: the same end in the words
	 * of each. */
	end_attempt(c, live, a, retry ? (counts ? "LOST" : "RELEASED") : name);
	const struct sw_row_trial row = {.sweep = live->sweep,
					 .trial = (int64_t)a->trial,
					 .state = name,
					 .cause = *a->cause != '\0' ? a->cause : NULL,
					 .attempt = a->attempt,
					 .seconds = (double)live->runs[a->trial - 1].seconds,
					 .ended_ms = open ? 0 : c->now_ms};
	sw_tx_trial_state(c->tx, &row);
	if (retry)
		add_log(c, live, a, "the attempt ended, another one follows", a->cause);
	else if (state == SW_TRIAL_FAILED || state == SW_TRIAL_INFEASIBLE)
		add_log(c, live, a, name, a->cause);
}

static void on_sweep(struct sw_change *c, struct sw_running *live, const struct sw_action *a)
{
	const bool ended = a->sweep != SW_SWEEP_RUNNING && a->sweep != SW_SWEEP_PAUSED;

	live->state = a->sweep;
	live->ended_ms = ended ? c->now_ms : 0;
	/* The time budget runs while the sweep does: a pause stops its clock. */
	sw_budget_state(&live->budget, live->state == SW_SWEEP_RUNNING, c->now_ms);
	if (live->state == SW_SWEEP_RUNNING) { /* it was paused or had ended: it gets no backlog */
		sw_running_level(live);
		live->asked_us = live->d->clock->mono_us();
	}
	sw_tx_sweep_state(c->tx, live->sweep, sw_sweep_state_name(a->sweep),
			  *a->cause != '\0' ? a->cause : NULL, live->ended_ms, live->run_cap);
	sw_log(SW_LOG_INFO, "sweep.state",
	       *a->cause != '\0' ? "sweep=%lld state=%s cause=\"%s\"" : "sweep=%lld state=%s%s",
	       (long long)live->sweep, sw_sweep_state_name(a->sweep), a->cause);
}

static void on_decide(struct sw_change *c, const struct sw_running *live,
		      const struct sw_event *event, const struct sw_action *a)
{
	const struct sw_judgement *j = &a->judgement;

	/* No rung has judged it. Most reports lie between rungs: a row for each would double what a
	 * report costs. */
	if (j->rung == 0)
		return;
	const struct sw_row_decision row = {.sweep = live->sweep,
					    .trial = (int64_t)a->trial,
					    .attempt = event->attempt,
					    .seq = (int64_t)event->seq,
					    .verdict = sw_names_decision(a->decision),
					    .bracket = j->bracket,
					    .rung = (int64_t)j->rung,
					    .n = (int64_t)j->n,
					    .better = (int64_t)j->better,
					    .keep = (int64_t)j->keep,
					    .has_cutoff = isfinite(j->cutoff),
					    .cutoff = j->cutoff,
					    .value = j->value};
	sw_tx_decision(c->tx, &row);
}

void sw_rows_action(struct sw_change *c, struct sw_running *live, const struct sw_event *event,
		    int32_t slot, const struct sw_action *a)
{
	switch (a->kind) {
	case SW_ACTION_CREATE:
		on_create(c, live, a);
		break;
	case SW_ACTION_START:
		on_start(c, live, a, slot);
		break;
	case SW_ACTION_DECIDE:
		on_decide(c, live, event, a);
		break;
	case SW_ACTION_RETRY:
		on_over(c, live, a, SW_TRIAL_PENDING, event->kind == SW_EVENT_LOST);
		break;
	case SW_ACTION_PAUSE:
		on_over(c, live, a, SW_TRIAL_PAUSED, false);
		break;
	case SW_ACTION_END:
		on_over(c, live, a, a->end, false);
		break;
	case SW_ACTION_STOP:
		stop_after(c, live->runs[a->trial - 1].slot, live, a);
		break;
	case SW_ACTION_SWEEP:
		on_sweep(c, live, a);
		break;
	}
}
