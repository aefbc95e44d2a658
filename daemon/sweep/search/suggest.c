#include "daemon/sweep/search/suggest.h"
#include "base/memory.h"
#include "daemon/daemon.h"
#include "daemon/die.h"
#include "daemon/net/call.h"
#include "daemon/sweep/run/driver.h"
#include "daemon/sweep/running.h"
#include "daemon/sweep/search/suggest_internal.h"
#include "sched/sweep/samplers.h"
#include <assert.h>
#include <stdlib.h>

#define QUEUE_MAX    2048 /* prepared suggestions of a sweep: what one ask may want, and some */
#define RESERVE_MOST 16
#define EXTEND_MAX   64 /* how far a stale chain is drawn out before the model is made anew */

static struct sw_sweep *sweep_of(const struct sw_suggester *s)
{
	return s->live->sched;
}

/* The user's own points come before all suggestions; this many of them are still to come. */
static uint64_t init_left(const struct sw_suggester *s)
{
	const uint64_t made = sw_sweep_made(sweep_of(s));
	const uint64_t n = sw_sweep_sampler_config(sweep_of(s))->n_init;

	return made < n ? n - made : 0;
}

/* The next trial that needs a suggestion, and the number of that. */
static uint64_t next_trial(const struct sw_suggester *s)
{
	return sw_sweep_trial_n(sweep_of(s)) + 1 + init_left(s);
}

static uint64_t next_made(const struct sw_suggester *s)
{
	return sw_sweep_made(sweep_of(s)) + 1 + init_left(s);
}

/* Does the front of the queue know all that is known? */
static bool is_fresh(const struct sw_suggester *s)
{
	return s->queue.n > 0 && s->queue.v[0]->known == sw_sweep_history(sweep_of(s))->n_obs;
}

/* An edited range drops what was made for the old space. The job in work may still use the sampler
 * and the copy of the history, so forget_model() frees these later. */
static void check_epoch(struct sw_suggester *s)
{
	const uint64_t epoch = sw_sweep_epoch(sweep_of(s));

	/* The space is the one that all this was made for. */
	if (s->epoch == epoch)
		return;
	s->epoch = epoch;
	/* on_job() then throws away what comes of the job, and begin_chain() frees both before the
	 * next. */
	s->is_void = true;
	s->chain = false;
	sw_suggest_queue_drop(&s->queue);
}

/* Suggestions that were handed out leave the queue. All of it leaves when a trial came that it did
 * not know. */
static void trim_queue(struct sw_suggester *s)
{
	check_epoch(s);
	if (!sw_suggest_queue_trim(&s->queue, next_trial(s), next_made(s)))
		s->chain = false;
}

static void push_queue(struct sw_suggester *s, struct sw_suggestion *one)
{
	if (sw_suggest_queue_push(&s->queue, one, next_trial(s), next_made(s)) != SW_OK)
		sw_daemon_die("keep a suggestion", SW_NOMEM);
}

/* --- the job --- */

static void run_job(uv_work_t *work)
{
	struct sw_suggester *s = work->data;

	/* Everything it touches is the job's own while `busy` is set; the sweep's history goes on
	 * growing on the loop. */
	s->rc = sw_sampler_suggest(s->sampler, &s->history, s->made, s->out, &s->err);
	/* The next suggestion of the chain then counts this one as pending. */
	if (s->rc == SW_OK)
		s->rc = sw_history_add_trial(&s->history, s->out->values);
}

/* The trial that the suggestion in work is for. Those that the chain made so far are before it. */
static uint64_t job_trial(const struct sw_suggester *s)
{
	return s->history.trials; /* the new one was added to the copy */
}

static void on_job(uv_work_t *work, int status)
{
	struct sw_suggester *s = work->data;
	struct sw_suggestion *out = s->out;

	(void)status; /* never cancelled */
	/* First: each way out of here may plan the next job. */
	s->busy = false;
	s->out = NULL;
	/* A daemon that stops has refused the asks that waited for it. */
	if (s->live->d->phase != SW_UP) {
		sw_suggest_queue_free(out);
		return;
	}
	if (s->rc == SW_NOMEM)
		/* A sampler without memory would leave its sweep waiting without a word. */
		sw_daemon_die("make a suggestion", SW_NOMEM);
	if (s->is_void) { /* it was made for a space that an edit has replaced */
		sw_suggest_queue_free(out);
	} else if (s->rc != SW_OK) {
		sw_suggest_queue_free(out);
		/* No point can be found: the same as for a sampler that suggests inside the
		 * step. */
		sw_driver_fail(s->live, s->err.msg);
	} else if (s->fresh_start && job_trial(s) == next_trial(s)) {
		/* Only now are the stale ones dropped: an ask that could not wait may take them
		 * while the fresh one is being made. */
		sw_suggest_queue_drop(&s->queue);
		push_queue(s, out);
		s->chain = true;
	} else if (!s->fresh_start && s->chain && job_trial(s) == next_trial(s) + s->queue.n) {
		push_queue(s, out);
	} else { /* overtaken: its trial was made from the reserve, or enqueued */
		sw_suggest_queue_free(out);
		s->chain = false;
	}
	sw_suggest_serve(s);
	/* Slots get theirs before the next job is planned: see on_flush() in daemon.c. */
	s->live->d->slot.due = true;
	sw_suggest_changed(s->live);
}

/* Does the copy of the history end with the queue's trials, so that the chain can go on? */
static bool can_extend(const struct sw_suggester *s)
{
	/* The copy has to end exactly with the queue's last: a suggestion that does not count those
	 * before it as pending would repeat them. */
	return s->chain && s->history.trials + 1 == next_trial(s) + s->queue.n &&
	       s->queue.n < QUEUE_MAX;
}

/* Brings the copy of the history up to the sweep's, and adds the user's points that are still to
 * come: they are trials before the next suggestion, so it counts them as pending. */
static sw_status follow(struct sw_suggester *s)
{
	const struct sw_sampler_config *config = sw_sweep_sampler_config(sweep_of(s));
	const struct sw_history *now = sw_sweep_history(sweep_of(s));
	sw_status rc = sw_history_follow(&s->history, now, s->real);

	/* Above this the copy is guessed: sw_history_follow() drops that and takes what really
	 * came. */
	s->real = now->trials;
	/* They are the sweep's own trials to come, with values that are known: only their results
	 * are pending. */
	for (uint64_t left = init_left(s); rc == SW_OK && left > 0; left--)
		rc = sw_history_add_trial(&s->history,
					  config->init + (config->n_init - left) * now->n_params);
	return rc;
}

static void forget_model(struct sw_suggester *s)
{
	sw_sampler_destroy(s->sampler);
	s->sampler = NULL;
	sw_history_fini(&s->history);
	s->real = 0;
	s->chain = false;
	s->is_void = false;
}

/* An ended sweep frees its model, which is megabytes, since a daemon keeps its sweeps for as long
 * as it runs. The suggester stays, because the sweep may be extended. */
static void let_go(struct sw_suggester *s)
{
	sw_suggest_queue_fini(&s->queue);
	forget_model(s);
	s->since_us = 0;
}

static void begin_chain(struct sw_suggester *s)
{
	struct sw_err err = SW_ERR_INIT;
	size_t n;

	if (s->is_void)
		forget_model(s);
	const unsigned char *state = sw_sweep_sampler_state(sweep_of(s), &n);
	sw_status rc = follow(s);

	if (rc == SW_OK && s->sampler == NULL)
		rc = sw_samplers_create(&s->sampler, sw_sweep_sampler_config(sweep_of(s)), &err);
	/* It goes on from the state that was stored with the last trial, not from where a chain
	 * that went stale has brought the sampler. */
	if (rc == SW_OK)
		rc = sw_sampler_restore(s->sampler, state, n, &err);
	if (rc != SW_OK)
		sw_daemon_die("make a suggestion", rc);
	s->chain = false;
	/* EXTEND_MAX counts from the last time that the model was made of all that was known. */
	s->drawn = 0;
}

static void start_job(struct sw_suggester *s, bool fresh_start)
{
	if (fresh_start)
		begin_chain(s);
	/* The number fixes the random numbers of the suggestion, so a replay with the same history
	 * makes the same one. */
	s->made = next_made(s) + (fresh_start ? 0 : s->queue.n);
	s->fresh_start = fresh_start;
	s->err = (struct sw_err)SW_ERR_INIT;
	s->out = sw_daemon_calloc(1, sizeof *s->out, "make a suggestion");
	s->busy = true;
	if (uv_queue_work(s->live->d->loop, &s->work, run_job, on_job) != 0)
		sw_daemon_die("make a suggestion", SW_INTERNAL);
}

/* --- planning and serving --- */

/* How many to hold ready for asks that have not come yet: the workers that run a trial now may all
 * come back before the model knows one more result. */
static size_t queue_room(const struct sw_suggester *s)
{
	uint64_t counts[SW_TRIAL_STATE_N];

	sw_sweep_counts(sweep_of(s), counts);
	return counts[SW_TRIAL_RUNNING] < RESERVE_MOST ? 1 + (size_t)counts[SW_TRIAL_RUNNING]
						       : RESERVE_MOST;
}

/* Starts the job that is most worth doing now, if one is. */
void sw_suggest_plan(struct sw_suggester *s)
{
	size_t wanted = queue_room(s);

	/* One job at a time: on_job() comes back here. A daemon that hands out nothing needs no
	 * job. One a sweep, because the pool has four threads and the model itself is one thread's
	 * work. */
	if (s->busy || s->live->d->phase != SW_UP || s->live->d->draining)
		return;
	if (s->live->ended_ms != 0) {
		/* Not while its job runs, which is why this stands behind `busy`. */
		let_go(s);
		return;
	}
	for (const struct sw_wait *w = sw_suggest_asks(s)->head; w != NULL && wanted < QUEUE_MAX;
	     w = w->next)
		wanted += (size_t)sw_suggest_count(w->call);
	/* A sweep near its run_cap, or with a trial to run again, needs fewer. */
	wanted = (size_t)sw_sweep_wants_suggestions(sweep_of(s), wanted);
	/* Nothing that the sweep will still ask for depends on the model. */
	if (wanted == 0)
		return;
	if (is_fresh(s)) {
		/* Fresh and too few: the chain goes on where it ends. If a trial has broken it, a
		 * new one begins. */
		if (s->queue.n < wanted && !sw_suggest_rests(s))
			start_job(s, !can_extend(s));
		return;
	}
	/* A stale queue is made anew, unless an ask has waited too long and one more of the old
	 * chain comes sooner. EXTEND_MAX bounds how long a busy sweep may go on with an old
	 * model. */
	if (sw_suggest_is_late(s, sw_suggest_oldest(s)) && can_extend(s) &&
	    s->drawn < EXTEND_MAX + wanted) {
		s->drawn++;
		start_job(s, false);
	} else {
		start_job(s, true);
	}
}

/* Is there enough for n ASKs of somebody who has waited since then? Stale suggestions are enough
 * for one who has waited for suggest_wait_ms. */
static bool enough(struct sw_suggester *s, uint64_t n, int64_t since_us)
{
	const uint64_t wanted = sw_sweep_wants_suggestions(sweep_of(s), n);

	return wanted == 0 ||
	       (s->queue.n >= wanted && (is_fresh(s) || sw_suggest_is_late(s, since_us)));
}

void sw_suggest_serve(struct sw_suggester *s)
{
	const int64_t now_us = s->live->d->clock->mono_us();
	struct sw_waits *asks = sw_suggest_asks(s);

	for (const struct sw_wait *w = asks->head; w != NULL; w = asks->head) {
		/* The first that must wait holds up those behind it, so that asks are answered in
		 * the order in which they came. */
		if (!sw_call_gone(w->call) && s->live->ended_ms == 0 &&
		    !enough(s, sw_suggest_count(w->call), w->since_us) &&
		    now_us - w->since_us < SW_SUGGEST_MAX_US)
			return;
		/* It is off the list before it is answered: the hand-out comes back here through
		 * on_stepped(). */
		s->live->d->sweep.driver_events->ready(s->live, sw_wait_take(asks, &asks->head));
	}
}

bool sw_suggest_has(struct sw_running *live, const struct sw_call *call)
{
	struct sw_suggester *s = live->suggest;

	return s == NULL || (sw_suggest_asks(s)->n == 0 &&
			     enough(s, sw_suggest_count(call), live->d->clock->mono_us()));
}

bool sw_suggest_ready(struct sw_running *live)
{
	struct sw_suggester *s = live->suggest;

	if (s == NULL)
		return true;
	if (sw_suggest_asks(s)->n == 0 && enough(s, 1, s->since_us)) {
		s->since_us = 0;
		return true;
	}
	/* Slots wait as one: the moment at which the first of them began makes all of them late. */
	if (s->since_us == 0)
		s->since_us = live->d->clock->mono_us();
	sw_suggest_arm(s);
	sw_suggest_plan(s);
	return false;
}

bool sw_suggest_peek(const struct sw_running *live, struct sw_suggestion **out)
{
	const struct sw_suggester *s = live->suggest;

	*out = NULL;
	/* The step makes the values itself. */
	if (s == NULL || !sw_sweep_wants_suggestion(live->sched))
		return true;
	if (s->queue.n == 0)
		return false;
	/* trim_queue() has followed every step, so the front is the next trial's or the queue is
	 * empty. */
	assert(s->queue.first == next_trial(s));
	*out = s->queue.v[0];
	return true;
}

void sw_suggest_changed(struct sw_running *live)
{
	struct sw_suggester *s = live->suggest;

	if (s == NULL)
		return;
	const size_t had = s->queue.n;
	trim_queue(s);
	/* For sw_suggest_rests(): the client that took it may be about to come again. */
	if (s->queue.n < had)
		s->handed_us = live->d->clock->mono_us();
	/* Planned at the end of the turn, so that many steps in one turn start one job. */
	sw_running_due(live);
}

void sw_suggest_go_on(struct sw_running *live)
{
	if (live->suggest == NULL)
		return;
	sw_suggest_serve(live->suggest);
	sw_suggest_plan(live->suggest);
}

/* --- life --- */

sw_status sw_suggest_attach(struct sw_running *live)
{
	const struct sw_sampler_config *config = sw_sweep_sampler_config(live->sched);

	if (config->kind != SW_SAMPLER_BAYES)
		return SW_OK;
	struct sw_suggester *s = sw_calloc(1, sizeof *s);
	if (s == NULL)
		return SW_NOMEM;
	s->live = live;
	s->work.data = s;
	s->epoch = sw_sweep_epoch(live->sched);
	sw_history_init(&s->history, sw_space_size(config->space), config->n_metrics);
	live->suggest = s;
	sw_suggest_changed(live); /* the first one is made before anyone asks */
	return SW_OK;
}

bool sw_suggest_busy(const struct sw_running *live)
{
	return live->suggest != NULL && live->suggest->busy;
}

void sw_suggest_free(struct sw_running *live)
{
	struct sw_suggester *s = live->suggest;

	if (s == NULL)
		return;
	/* After the loop's end libuv has run all its jobs; before it sw_unload_tick() asks
	 * sw_suggest_busy(). */
	assert(!s->busy && sw_suggest_asks(s)->n == 0);
	let_go(s);
	free(s);
	live->suggest = NULL;
}

void sw_suggest_free_all(struct sw_daemon *d)
{
	for (size_t i = 0; i < d->sweep.sweep_n; i++)
		sw_suggest_free(d->sweep.sweeps[i]);
}
