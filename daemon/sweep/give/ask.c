/* daemon/sweep/give/ask.c — handing out trials: trial.ask of clients, worker.next of the own
 * workers. */
#include "daemon/sweep/give/ask.h"
#include "base/log.h"
#include "daemon/daemon.h"
#include "daemon/die.h"
#include "daemon/net/call.h"
#include "daemon/plan/plan.h"
#include "daemon/slot/room.h"
#include "daemon/slot/slot.h"
#include "daemon/sweep/files/quota.h"
#include "daemon/sweep/give/program_job.h"
#include "daemon/sweep/run/driver.h"
#include "daemon/sweep/run/hold.h"
#include "daemon/sweep/running.h"
#include "daemon/sweep/search/suggest.h"
#include "proto/checkpoint_path.h"
#include "proto/job.h"
#include "proto/json.h"
#include "sched/num/rng.h"
#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#define ASK_MAX_BYTES ((size_t)512 * 1024)
#define CHECKPOINT_S  30 /* how old a trial's last checkpoint becomes, when nothing else is said */
#define ASK_FEW       50 /* trials that an ask may want without waiting for its turn */
#define ASK_TURN_US   ((int64_t)3000) /* how long an ask for many holds the loop at a time */

/* --- handing out --- */

/* The START of the step of an ASK that was taken. */
static const struct sw_action *start_of(const struct sw_actions *actions)
{
	const struct sw_action *start = sw_actions_find(actions, SW_ACTION_START);

	assert(start != NULL);
	return start;
}

/* A new trial's parameters are in its CREATE action. The scheduler knows those of a later attempt,
 * or makes them again. */
static void write_params(struct sw_running *live, uint64_t trial, const struct sw_actions *actions,
			 struct sw_buf *out)
{
	const struct sw_action *create = sw_actions_find(actions, SW_ACTION_CREATE);
	const struct sw_space *space = sw_sweep_space(live->sched);

	if (create != NULL) {
		sw_plan_params(live->spec, space, create->values, out);
		return;
	}
	struct sw_value values[SW_SPACE_MAX_PARAMS];
	if (sw_sweep_values(live->sched, trial, values) != SW_OK)
		out->failed = SW_INTERNAL;
	else
		sw_plan_params(live->spec, space, values, out);
}

/* The checkpoints that the worker is to write. A population sets its own: a child goes on from its
 * parent at the population's interval, whatever the spec says of time. A program says itself
 * when its state is whole. */
static void set_wanted(const struct sw_running *live, struct sw_job *job)
{
	const struct sw_spec_checkpoint *c = &live->spec->checkpoint;
	const uint64_t every = sw_pruner_every(sw_sweep_pruner(live->sched));
	const bool trainer = live->spec->trainer != NULL;

	job->checkpoint_every = every;
	job->checkpoint_end = c->keep != SW_SPEC_KEEP_NONE;
	/* With several metrics no trial is the best. */
	job->checkpoint_best = job->checkpoint_end && trainer && live->spec->n_metrics <= 1;
	job->checkpoint_record = job->checkpoint_best && every == 0;
	/* Even if none is kept: it goes on from there, and the file goes with its end. */
	job->checkpoint_stop = every == 0 && trainer;
	if (every == 0 && job->checkpoint_end && trainer) {
		job->checkpoint_every = c->every;
		job->checkpoint_s = c->every == 0 ? CHECKPOINT_S : 0;
	}
}

/* Room for the paths that a job points to until it is written. */
struct job_paths {
	char folder[SW_CHECKPOINT_FOLDER_MAX], checkpoint[PATH_MAX + 128];
};

/* Sets the checkpoint that the attempt goes on from, and the folder for those that it writes. */
static void set_resume(struct sw_running *live, const struct sw_slot *s,
		       const struct sw_action *start, struct job_paths *paths, struct sw_job *job)
{
	struct sw_err err = SW_ERR_INIT;

	job->resume_step = start->resume_step;
	job->parent = sw_sweep_parent(live->sched, start->trial);
	/* Two jobs until it is known whether there is a folder: without one the worker is asked for
	 * no checkpoint. */
	struct sw_job with = *job; /* the job of an attempt that keeps files */
	with.until = start->until;
	set_wanted(live, &with);
	const bool keeps = with.until != 0 || with.checkpoint_every != 0 || with.checkpoint_end;
	/* Nothing that it wrote would be found: it keeps nothing, as without a folder. */
	if (s->worker->no_files)
		return;
	sw_checkpoint_folder(live, paths->folder);
	if (keeps && sw_checkpoint_make_folder(live, &err) != SW_OK) {
		/* Without a folder nothing can be kept; the trial runs, and starts anew when it is
		 * resumed. */
		sw_log(SW_LOG_ERROR, "checkpoint.folder", "sweep=%lld why=\"%s\"",
		       (long long)live->sweep, err.msg);
		return;
	}
	/* `from` is another trial's number for a population's child, and its own for one that is
	 * resumed. */
	if (start->from != 0) {
		sw_checkpoint_path(paths->checkpoint, sizeof paths->checkpoint, paths->folder,
				   start->from, start->resume_step);
		job->checkpoint = with.checkpoint = paths->checkpoint;
	}
	/* No file of it would be kept. For one of a stop the worker makes the folder. */
	if (!keeps && !with.checkpoint_stop)
		return;
	/* As it is at this moment: a record that falls while the trial runs costs one checkpoint
	 * too many, never one too few. */
	with.record = live->files.record_trial != 0 ? &live->files.record : NULL;
	with.checkpoint_dir = paths->folder;
	*job = with;
}

static void write_job(struct sw_running *live, const struct sw_slot *s,
		      const struct sw_action *start, const char *params, struct sw_buf *out)
{
	const uint64_t ranks = sw_spec_ranks(live->spec);
	struct sw_job job = {
		.sweep = (uint64_t)live->sweep,
		.trial = start->trial,
		.attempt = start->attempt,
		/* 53 bits are all that a double keeps. By trial and not by attempt: one that is
		 * repeated begins with the same weights. */
		.seed = sw_rng_u64(live->seed, SW_RNG_TRIAL, start->trial, 0) >> 11,
		.data_seed = live->seed,
		.data_sum = s->device.kind->away ? (uint64_t)live->data_sum : 0,
		.trainer = live->spec->trainer,
		.max_t = sw_spec_max_t(live->spec),
		.metric = live->metric,
		.goal = live->maximize ? "maximize" : "minimize",
		.ranks = ranks > 1 ? ranks : 0,
		.stages = live->spec->stages > 1 ? live->spec->stages : 0,
		.microbatches = live->spec->microbatches,
		.sync_batchnorm = live->spec->sync_batchnorm,
	};
	struct job_paths paths;
	struct sw_program_job program;

	set_resume(live, s, start, &paths, &job);
	sw_program_job_fill(live, s, &program, &job);
	sw_job_write(out, &job, params);
}

/* The attempt before paused, and its program still has its grace on another slot: two of one trial
 * must not run at once. The job is given by sw_ask_give_deferred(). */
static void defer_job(struct sw_change *c, struct sw_slot *s, const struct sw_slot *before)
{
	char line[120];
	const struct sw_row_log row = {.sweep = s->sweep,
				       .trial = s->trial,
				       .attempt = s->attempt,
				       .time_ms = c->now_ms,
				       .line = line};

	(void)snprintf(line, sizeof line, "begins on %s once the attempt before has ended on %s",
		       s->device.name, before->device.name);
	sw_tx_log(c->tx, &row);
	sw_slot_defer_job(s, c->call, &c->reply);
	c->call = NULL;
}

void sw_ask_give_deferred(struct sw_slot *s)
{
	/* An empty change: its answer comes behind the hand-out, which may not be stored yet. */
	struct sw_change *c = sw_change_begin(s->d, s->next);

	sw_buf_fini(&c->reply);
	c->reply = s->job;
	s->job = (struct sw_buf){.max = 0};
	s->next = NULL;
	sw_change_commit(c);
}

bool sw_ask_hand_out(struct sw_running *live, struct sw_slot *s, const struct sw_room_need *need,
		     struct sw_call *call)
{
	struct sw_event event = {.kind = SW_EVENT_ASK};
	struct sw_suggestion *ready;
	struct sw_err err = SW_ERR_INIT;
	struct sw_buf params;

	/* The model is at work: the slot waits for it. */
	if (!sw_suggest_peek(live, &ready))
		return false;
	/* Borrowed: the step stores what it needs of it, and on_stepped() takes it off the
	 * queue. */
	event.suggestion = ready;
	struct sw_change *c = sw_change_begin(live->d, call);
	c->uid = -1; /* the daemon itself chose the trial, not the worker's user */
	if (sw_driver_step(c, live, &event, s->index, &err) != SW_OK) {
		sw_change_drop(c);
		if (err.code == SW_INVALID) /* no further point can be found */
			sw_driver_fail(live, err.msg);
		return false;
	}
	const struct sw_action *start = start_of(&c->actions);
	/* Before the commit: no other sweep may be given the slot meanwhile. The worker has no word
	 * of it until then. */
	sw_slot_begin(s, live->sweep, (int64_t)start->trial, start->attempt,
		      live->spec->command != NULL);
	sw_room_take(s, need); /* before the job is written: it names the GPUs */
	sw_buf_init(&params, SW_REPLY_MAX);
	write_params(live, start->trial, &c->actions, &params);
	if (params.failed != SW_OK)
		sw_daemon_die("hand out a trial", params.failed);
	write_job(live, s, start, params.data, &c->reply);
	sw_buf_fini(&params);
	/* A first attempt has no other before it. */
	const struct sw_slot *before = s->program && start->attempt > 1
					       ? sw_slot_ending(live->d, s->sweep, s->trial)
					       : NULL;
	if (before != NULL)
		defer_job(c, s, before);
	sw_change_commit(c);
	return true;
}

/* A trial.ask under way. */
struct sw_long_ask {
	struct sw_long_ask *next; /* d->sweep.long_asks */
	struct sw_running *live;
	struct sw_call *call;
	int64_t left;  /* trials still wanted */
	uint64_t last; /* the trial with which it ends; 0: any */
	int64_t given; /* trials in the reply */
	struct sw_buf reply;
	struct sw_jw w; /* writes into reply */
};

static void next_slice(void *arg);

/* Asks for many trials take turns. The next slice begins when this change is stored, so that one at
 * a time holds the loop, and no report waits for many of them at the disk. */
static void go_on_after(struct sw_change *c)
{
	/* One is due already, and it takes all that wait. */
	if (c->d->sweep.ask_slice)
		return;
	/* The flag is of the daemon, not of the sweep: it is the loop that is held. */
	c->d->sweep.ask_slice = true;
	sw_change_after(c, next_slice, c->d);
}

static void go_on_later(struct sw_long_ask *a)
{
	struct sw_long_ask **p = &a->live->d->sweep.long_asks;

	while (*p != NULL)
		p = &(*p)->next;
	a->next = NULL;
	*p = a;
}

static void write_trial(struct sw_long_ask *a, const struct sw_actions *actions)
{
	const struct sw_action *start = start_of(actions);

	sw_jw_obj(&a->w);
	sw_hold_take(a->call->conn, a->live, start->trial);
	sw_jw_kint(&a->w, "trial", (int64_t)start->trial);
	sw_jw_kint(&a->w, "attempt", start->attempt);
	sw_jw_key(&a->w, "params");
	/* write_params() writes a whole value behind the key, through the buffer and past the
	 * writer's state. */
	a->w.comma = false;
	write_params(a->live, start->trial, actions, &a->reply);
	a->w.comma = true;
	sw_jw_kint(&a->w, "resume_step", (int64_t)start->resume_step);
	const uint64_t parent = sw_sweep_parent(a->live->sched, start->trial);
	sw_jw_kint_opt(&a->w, "parent", parent != 0, (int64_t)parent);
	sw_jw_obj_end(&a->w);
	/* The caller counts this one off, so the ask ends with it. */
	if (start->trial == a->last)
		a->left = 1;
}

static const char *why_none(const struct sw_running *live)
{
	static const char *const words[] = {"waiting", "done", "paused", "busy", "waiting"};

	const enum sw_idle idle = sw_sweep_idle(live->sched);

	if (idle == SW_IDLE_NOT && sw_quota_full(live->d) != NULL)
		return "quota";
	return words[idle]; /* of SW_IDLE_NOT: for a suggestion */
}

static void finish_ask(struct sw_long_ask *a, struct sw_change *c)
{
	const bool many = a->given > ASK_FEW;

	sw_jw_arr_end(&a->w);
	if (a->given == 0)
		sw_jw_kstr(&a->w, "reason", why_none(a->live));
	sw_jw_obj_end(&a->w);
	sw_buf_fini(&c->reply);
	/* The text goes from ask to change; the change frees it, or sends it behind its commit. */
	c->reply = a->reply;
	free(a);
	if (c->d->phase == SW_UP && (many || c->d->sweep.long_asks != NULL))
		go_on_after(c);
	sw_change_commit(c); /* an empty one too: the answer keeps its place */
}

/* Adds one more trial to the answer. False: the sweep has none now. */
static bool ask_one(struct sw_long_ask *a, struct sw_change *c, struct sw_err *err)
{
	struct sw_event event = {.kind = SW_EVENT_ASK};
	struct sw_suggestion *ready;

	if (!sw_suggest_peek(a->live, &ready))
		return false;
	/* Several in one change are safe: each step takes its own off the front. */
	event.suggestion = ready;
	if (sw_driver_step(c, a->live, &event, -1, err) != SW_OK)
		return false;
	write_trial(a, &c->actions);
	a->given++;
	return true;
}

/* Keeps a call for which there is no trial now. False: it does not wish to wait (any longer), or
 * the sweep has ended: it is to be answered. */
static bool keep_asking(struct sw_running *live, struct sw_call *call)
{
	struct sw_waits *all = &live->waits[SW_WAIT_TRIAL];
	const int64_t until_us = call->since_us + (int64_t)(sw_call_num(call, "wait_s", 0.0) * 1e6);

	if (sw_call_gone(call) || live->ended_ms != 0 || live->d->draining ||
	    live->d->phase != SW_UP || all->n == SW_ASKS_MAX ||
	    live->d->clock->mono_us() >= until_us)
		return false;
	/* SW_ASKS_MAX bounds the list, which is gone through at each tick. */
	struct sw_wait *w = sw_wait_add(all, call);
	if (w == NULL)
		return false;
	w->until_us = until_us;
	return true;
}

/* Hands out for a while, then lets the loop turn; the rest follows once this much is stored.
 * Suggestions made ahead of time are handed out in one go, because a result that came between two
 * slices would make the prepared ones stale. */
static void hand_out(struct sw_long_ask *a)
{
	struct sw_running *live = a->live;
	const int64_t until_us = live->suggest != NULL ? INT64_MAX
						       : live->d->clock->mono_us() + ASK_TURN_US;
	struct sw_err err = SW_ERR_INIT;
	struct sw_change *c = sw_change_begin(live->d, a->call);
	bool more = !live->d->draining && sw_quota_full(live->d) == NULL &&
		    live->d->phase == SW_UP && !sw_call_gone(a->call);
	bool late = false;

	/* The answer must fit in one line of the wire. "At most count" allows fewer trials. */
	while (more && !late && a->left > 0 && a->reply.len < ASK_MAX_BYTES) {
		more = ask_one(a, c, &err);
		if (more)
			a->left--;
		late = live->d->clock->mono_us() >= until_us;
	}
	if (more && late && a->left > 0) {
		/* The trials of this slice are stored, and held by the connection: if that closes
		 * before the answer, they are released like any other. */
		c->call = NULL; /* answered with the last slice */
		go_on_later(a);
		go_on_after(c);
		sw_change_commit(c);
		return;
	}
	/* Nothing was handed out, so the change is empty and may go. */
	if (a->given == 0 && err.code != SW_INVALID && keep_asking(live, a->call)) {
		sw_change_drop(c);
		sw_buf_fini(&a->reply);
		free(a);
		return;
	}
	finish_ask(a, c);
	if (err.code == SW_INVALID)
		sw_driver_fail(live, err.msg);
}

static void next_slice(void *arg)
{
	struct sw_daemon *d = arg;

	/* Before the loop, since hand_out() sets it again where it has more to do. */
	d->sweep.ask_slice = false;
	while (d->sweep.long_asks != NULL && !d->sweep.ask_slice) {
		struct sw_long_ask *a = d->sweep.long_asks;

		d->sweep.long_asks = a->next;
		hand_out(a);
	}
}

void sw_ask_end_all(struct sw_daemon *d)
{
	while (d->sweep.long_asks != NULL) {
		struct sw_long_ask *a = d->sweep.long_asks;

		d->sweep.long_asks = a->next;
		/* The trials of earlier slices are stored: their client has to hear of them, or
		 * they would wait for their grace to end. */
		finish_ask(a, sw_change_begin(d, a->call));
	}
}

static void begin_ask(struct sw_running *live, struct sw_call *call, int64_t count, uint64_t last)
{
	struct sw_long_ask *a = sw_daemon_calloc(1, sizeof *a, "hand out trials");

	*a = (struct sw_long_ask){.live = live, .call = call, .left = count, .last = last};
	sw_buf_init(&a->reply, SW_REPLY_MAX);
	sw_jw_init_obj(&a->w, &a->reply);
	sw_jw_karr(&a->w, "trials");
	if (a->left > ASK_FEW && live->d->sweep.ask_slice)
		go_on_later(a);
	else
		hand_out(a);
}

void sw_ask_answer_now(struct sw_running *live, struct sw_call *call)
{
	begin_ask(live, call, sw_call_int(call, "count", 1), 0);
}

/* Those before it are few: trials that were lost, and what a person enqueued. */
void sw_ask_answer_given(struct sw_running *live, struct sw_call *call, uint64_t trial)
{
	begin_ask(live, call, ASK_FEW, trial);
}

void sw_ask_answer(struct sw_running *live, struct sw_call *call)
{
	if (sw_suggest_has(live, call))
		sw_ask_answer_now(live, call);
	else
		sw_suggest_wait(live, call);
}

/* --- those that wait for a trial --- */

/* Serves only those that wait now: one that finds nothing is kept again, at the end of the list,
 * and would be met for ever. */
void sw_ask_serve(struct sw_running *live)
{
	struct sw_waits *all = &live->waits[SW_WAIT_TRIAL];

	for (size_t n = all->n; n > 0 && all->n > 0; n--) {
		/* Once a sweep has ended, each is answered, with "done". */
		if (live->ended_ms == 0 && !sw_sweep_has_work(live->sched))
			return;
		sw_ask_answer(live, sw_wait_take(all, &all->head));
	}
}

void sw_ask_tick(struct sw_daemon *d, int64_t now_us)
{
	for (size_t i = 0; i < d->sweep.sweep_n; i++) {
		struct sw_waits *all = &d->sweep.sweeps[i]->waits[SW_WAIT_TRIAL];

		for (struct sw_wait **at = &all->head; *at != NULL;) {
			if (now_us < (*at)->until_us && !sw_call_gone((*at)->call))
				at = &(*at)->next;
			else
				sw_ask_answer_now(d->sweep.sweeps[i], sw_wait_take(all, at));
		}
	}
}
