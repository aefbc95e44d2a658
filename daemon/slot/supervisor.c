#include "daemon/slot/supervisor.h"
#include "base/log.h"
#include "base/memory.h"
#include "daemon/daemon.h"
#include "daemon/die.h"
#include "daemon/net/conn.h"
#include "daemon/slot/executor.h"
#include "daemon/slot/gpus.h"
#include "daemon/slot/leftover.h"
#include "daemon/slot/losses.h"
#include "daemon/slot/room.h"
#include "daemon/slot/worker_line.h"
#include "daemon/slot/worker_row.h"
#include "proto/silence.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define HOLD_US  ((int64_t)20 * 1000000) /* a worker.next is held no longer */
#define YOUNG_US ((int64_t)10 * 1000000)
#define LOOK_US  ((int64_t)30 * 1000000) /* a GPU is looked at no longer */

/* --- a process starts --- */

static void on_ended(void *user, const char *cause, const char *said);

/* From here on a later daemon finds the worker, so it may work. Before, it would be nobody's if the
 * daemon were killed. */
static void on_recorded(void *arg)
{
	struct sw_worker *w = arg;

	/* The process may have ended meanwhile, and another one been started: its own row comes. */
	if (--w->unstored > 0 || w->proc == NULL)
		return;
	for (unsigned k = 0; k < w->slot_n; k++)
		w->slots[k].since_us = w->slots->d->clock->mono_us();
	w->executor->tell(w->proc, w->id);
}

static void draw_id(char out[33])
{
	unsigned char raw[16];

	if (getrandom(raw, sizeof raw, 0) != (ssize_t)sizeof raw)
		sw_daemon_die("draw a worker's id", SW_IO);
	for (size_t i = 0; i < sizeof raw; i++)
		(void)snprintf(out + 2 * i, 3, "%02x", raw[i]);
}

static void set_slots(struct sw_worker *w, enum sw_slot_state state, int64_t now_us)
{
	for (unsigned k = 0; k < w->slot_n; k++) {
		w->slots[k].state = state;
		w->slots[k].since_us = now_us;
	}
}

/* After the end of its process: those that wait for a look at its GPU. */
static unsigned count_trials(const struct sw_worker *w)
{
	unsigned n = 0;

	for (unsigned k = 0; k < w->slot_n; k++)
		n += w->slots[k].state == SW_SLOT_BUSY;
	return n;
}

/* In how long the next process is started: at once, then after 2, 4 ... up to 30 s. */
static int64_t retry_wait_us(const struct sw_worker *w)
{
	return w->early <= SW_WORKER_EARLY_MAX ? 0
					       : sw_slot_wait_us(w->early - SW_WORKER_EARLY_MAX);
}

void sw_supervisor_start_one(struct sw_worker *w)
{
	const struct sw_slot *first = w->slots;
	struct sw_daemon *d = first->d;
	char log[PATH_MAX + 32], handle[128];
	struct sw_err err = SW_ERR_INIT;
	const char *why;
	struct sw_worker_line line;

	if (d->phase != SW_UP || w->clearing || count_trials(w) > 0 ||
	    !sw_gpus_may_start(d, first, &why))
		return; /* the tick comes again */
	draw_id(w->id);
	w->started_us = d->clock->mono_us();
	set_slots(w, SW_SLOT_STARTING, w->started_us);
	sw_worker_line_write(first, &line);
	(void)snprintf(log, sizeof log, "%s/worker-%d.log", d->config.state, first->index);
	w->starts++;
	w->useful = false;
	/* An error here is one of the machine (no memory, no descriptor): it is tried again, later
	 * each time. */
	if (w->executor->start(d->loop, line.argv, line.env, log, on_ended, w, &w->proc, handle,
			       sizeof handle, &err) != SW_OK) {
		sw_log(SW_LOG_ERROR, "worker.start", "slot=%d why=\"%s\"", first->index, err.msg);
		(void)snprintf(w->cause, sizeof w->cause, "%s", err.msg);
		w->id[0] = '\0';
		set_slots(w, SW_SLOT_DOWN, w->started_us);
		w->early++;
		w->retry_us = w->started_us + retry_wait_us(w);
		return;
	}
	sw_log(SW_LOG_INFO, "worker.start", "slot=%d device=%s pid=%ld", first->index,
	       first->device.name, w->executor->pid(w->proc));
	w->unstored++;
	sw_worker_row_put(w, handle, on_recorded);
}

/* --- a process ends --- */

/* If several ran, any of them may have ended the process: none is blamed, and as many trials run
 * alone there now. The one that does it again is, unless it is the GPU that does so. */
static void lose_to_end(struct sw_slot *s, const char *cause)
{
	const bool blamed = s->state == SW_SLOT_BUSY && s->worker->suspects <= 1 &&
			    !s->worker->blameless;
	const struct sw_worker *out = blamed ? sw_losses_attempt(s) : NULL;
	char said[96];

	if (out != NULL)
		(void)snprintf(said, sizeof said, "%s is taken out: %s", out->slots->device.card,
			       cause);
	else if (sw_losses_before(s))
		(void)snprintf(said, sizeof said, "%s in NCCL's start, or before it", cause);
	else
		(void)snprintf(said, sizeof said, "%s", cause);
	sw_slot_lose(s, blamed && out == NULL, said);
}

/* All GPUs of the slot's trial are looked at anew, and not given out before that. */
static void look_at_gpus(const struct sw_slot *s, int64_t session)
{
	struct sw_daemon *d = s->d;

	for (size_t i = 0; i < d->slot.worker_n; i++)
		if (&d->slot.workers[i] != s->worker && sw_room_has(s, &d->slot.workers[i]))
			sw_gpus_worker_ended(d, d->slot.workers[i].slots, session);
}

/* Have all of them been looked at since its worker's end? *failed: one of them, by its hardware. */
static bool gpus_looked_at(const struct sw_slot *s, const char **failed)
{
	struct sw_daemon *d = s->d;
	bool all = true, bad;

	*failed = NULL;
	for (size_t i = 0; i < d->slot.worker_n; i++) {
		const struct sw_worker *w = &d->slot.workers[i];

		/* A GPU that the trial has not. */
		if (!sw_room_has(s, w))
			continue;
		all = sw_gpus_looked_at(d, w->slots, s->died_us, &bad) && all;
		if (bad)
			*failed = w == s->worker ? s->device.name : w->slots->device.card;
	}
	return all;
}

/* One slot of a process that ended. Its trial is lost at once, or once its GPU was looked at and
 * what a program left is ended: else the next attempt would run beside it. With several GPUs
 * what the worker said last is read before that, too: which rank was lost. */
static void end_slot(struct sw_slot *s, const char *cause, int64_t now_us)
{
	/* It ended because it was told to: the trial goes on with the next daemon. */
	if (s->d->phase != SW_UP)
		sw_slot_lose(s, false, "shutdown");
	const bool gang = sw_room_gpu(s, 1) != NULL,
		   waits = s->state == SW_SLOT_BUSY &&
			   (s->program || gang || sw_gpus_card(s->d, s) != NULL);

	sw_slot_next_end(s);
	s->launcher_bytes = 0; /* it ended with its worker */
	if (!waits || !gang)
		sw_slot_disconnect(s);
	/* Set while the trial is let go of: it does not count as one that its worker outlived. */
	s->died_us = now_us;
	if (waits) {
		(void)snprintf(s->died, sizeof s->died, "%s", cause);
		return;
	}
	lose_to_end(s, cause);
	s->died_us = 0;
	s->state = SW_SLOT_DOWN;
}

static void settle_dying(struct sw_daemon *d, int64_t now_us);

/* A worker of this machine, unless it runs or is not to be started yet. A pilot is started when one
 * is wanted. */
static void start_local(struct sw_worker *w, int64_t now_us)
{
	if (!w->slots->device.kind->away && w->proc == NULL && now_us >= w->retry_us)
		sw_supervisor_start_one(w);
}

static void on_cleared(struct sw_worker *w)
{
	struct sw_daemon *d = w->slots->d;
	const int64_t now_us = d->clock->mono_us();

	w->clearing = false;
	settle_dying(d, now_us);
	if (d->phase == SW_UP) /* else the store may be closed; the next start looks again */
		sw_worker_row_delete(w);
	start_local(w, now_us);
	d->slot.due = true;
}

static void on_ended(void *user, const char *cause, const char *said)
{
	struct sw_worker *w = user;
	const struct sw_slot *first = w->slots;
	struct sw_daemon *d = first->d;
	const int64_t now_us = d->clock->mono_us();
	const int64_t pid = sw_slot_pid(first);
	/* One that ends young and has finished nothing is a fault that will come again. */
	const bool early = !w->useful && now_us - w->started_us < YOUNG_US;

	sw_log(d->phase == SW_UP && !w->blameless ? SW_LOG_WARN : SW_LOG_INFO, "worker.exit",
	       "slot=%d device=%s cause=%s said=\"%s\"", first->index, first->device.name, cause,
	       said);
	w->proc = NULL;
	w->id[0] = '\0';
	w->early = early ? w->early + 1 : 0;
	/* Why it rests says more: a worker that has given its trial back may end afterwards. */
	if (first->rest_us == 0 && w->shut[0].until_us == 0 && w->shut[1].until_us == 0)
		(void)snprintf(w->cause, sizeof w->cause, "%s%s%s", cause,
			       *said != '\0' ? ": " : "", said);
	sw_gpus_worker_ended(d, first, pid);
	/* All are counted before the first is let go of: each is blamed only if it was alone. */
	w->suspects = count_trials(w);
	if (w->suspects > 1)
		w->solo = w->suspects;
	w->clearing = sw_leftover_end(w, on_cleared);
	for (unsigned k = 0; k < w->slot_n; k++) {
		w->slots[k].writes = w->slots[k].writes && w->clearing;
		if (w->slots[k].state == SW_SLOT_BUSY)
			look_at_gpus(&w->slots[k], pid);
		end_slot(&w->slots[k], cause, now_us);
	}
	if (!w->clearing)
		sw_worker_row_delete(w);
	/* At once, unless it ends young again and again. */
	w->retry_us = now_us + retry_wait_us(w);
	start_local(w, now_us);
	d->slot.due = true; /* its trial may suit another slot that waits */
}

/* Trials whose worker ended go on elsewhere once their GPU was looked at, and nothing of them is
 * left. */
static void settle_dying(struct sw_daemon *d, int64_t now_us)
{
	for (size_t i = 0; i < d->slot.slot_n; i++) {
		struct sw_slot *s = &d->slot.slots[i];
		char lost[64];
		const char *failed;

		if (s->state != SW_SLOT_BUSY || s->died_us == 0 || s->worker->clearing)
			continue;
		const bool known = gpus_looked_at(s, &failed) && s->conn == NULL;
		/* A driver that hangs must not keep the trial for ever. */
		if (!known && now_us - s->died_us < LOOK_US)
			continue;
		sw_slot_disconnect(s);
		(void)snprintf(lost, sizeof lost, "%s failed", failed != NULL ? failed : "");
		if (failed != NULL)
			sw_slot_lose(s, false, lost);
		else
			lose_to_end(s, s->died);
	}
}

/* The worker's GPU is lost: the process is ended, the trials there are not to blame. */
static void end_on_lost_gpu(struct sw_worker *w)
{
	char lost[64];
	struct sw_slot *lead = w->slots->holder >= 0 ? &w->slots->d->slot.slots[w->slots->holder]
						     : NULL;

	/* What only ends there was let go of at an earlier reading: that is no second loss. */
	if (lead != NULL && lead->state != SW_SLOT_BUSY)
		lead = NULL;
	if (lead != NULL || count_trials(w) > 0)
		sw_losses_gpu(w);
	(void)snprintf(lost, sizeof lost, "%s is lost", w->slots->device.card);
	/* It is one of several of a trial: that ends everywhere. */
	if (lead != NULL && lead->worker != w) {
		look_at_gpus(lead, sw_slot_pid(lead));
		sw_slot_lose(lead, false, lost);
		if (lead->worker->proc != NULL)
			lead->worker->executor->stop(lead->worker->proc, true);
	}
	for (unsigned k = 0; k < w->slot_n; k++)
		sw_slot_lose(&w->slots[k], false, lost);
	if (w->proc != NULL)
		w->executor->stop(w->proc, true);
}

/* Acts on the last reading of the GPUs. */
static void act_on_gpus(struct sw_daemon *d)
{
	for (size_t i = 0; i < d->slot.worker_n; i++)
		if (sw_gpus_lost(d, d->slot.workers[i].slots))
			end_on_lost_gpu(&d->slot.workers[i]);
	settle_dying(d, d->clock->mono_us());
	d->slot.due = true; /* a GPU may have cooled down, or its memory come back */
}

void sw_supervisor_on_reading(struct sw_daemon *d)
{
	if (sw_gpus_on_reading(d))
		act_on_gpus(d);
}

/* --- the daemon's start --- */

static sw_status make_slots(struct sw_daemon *d, const struct sw_device *devices, size_t n,
			    struct sw_err *err)
{
	d->slot.slots = sw_calloc(n + 1, sizeof *d->slot.slots);
	d->slot.workers = sw_calloc(n + 1, sizeof *d->slot.workers);
	if (d->slot.slots == NULL || d->slot.workers == NULL)
		return sw_err_set(err, SW_NOMEM, "out of memory");
	for (size_t i = 0; i < n; i++) {
		struct sw_slot *s = &d->slot.slots[i];

		if (devices[i].lane == 0)
			d->slot.workers[d->slot.worker_n++].slots = s;
		s->d = d;
		s->worker = &d->slot.workers[d->slot.worker_n - 1];
		s->worker->slot_n++;
		s->index = (int32_t)i;
		s->device = devices[i];
		s->worker->executor = s->device.kind->away ? d->slot.pilots : d->slot.executor;
		s->holder = -1;
	}
	d->slot.slot_n = n;
	return SW_OK;
}

sw_status sw_supervisor_open(struct sw_daemon *d, struct sw_err *err)
{
	struct sw_device *devices = NULL;
	size_t n = 0;
	sw_status rc = sw_gpus_start(d, err);
	char left_out[240];

	d->slot.silent_us = sw_silent_us();
	if (rc == SW_OK)
		rc = sw_device_parse(d->config.devices, sw_gpus_view(d), &devices, &n, err);
	if (rc == SW_OK && d->config.pilots.max > 0)
		rc = sw_device_add_pilots(&d->config.pilots, &devices, &n, err);
	if (rc == SW_OK &&
	    sw_device_left_out(d->config.devices, sw_gpus_view(d), left_out, sizeof left_out))
		sw_log(SW_LOG_WARN, "device.auto", "why=\"%s\"", left_out);
	if (rc == SW_OK)
		rc = make_slots(d, devices, n, err);
	free(devices);
	return rc;
}

sw_status sw_supervisor_adopt(struct sw_worker *w, const char *id, const char *handle,
			      struct sw_err *err)
{
	struct sw_daemon *d = w->slots->d;
	const sw_status rc = w->executor->adopt(d->loop, handle, on_ended, w, &w->proc, err);

	/* Gone, or of another boot: the caller gives its trial back. */
	if (rc != SW_OK)
		return rc;
	(void)snprintf(w->id, sizeof w->id, "%s", id);
	w->starts = 1;
	set_slots(w, SW_SLOT_STARTING, d->clock->mono_us());
	return SW_OK;
}

bool sw_supervisor_dismiss(struct sw_daemon *d, int64_t slot, const char *handle)
{
	const bool away = strncmp(handle, SW_PILOT_HANDLE, strlen(SW_PILOT_HANDLE)) == 0;
	const struct sw_executor *x = away ? d->slot.pilots : d->slot.executor;

	if (!x->dismiss(d, handle))
		return false;
	sw_log(SW_LOG_INFO, "worker.dismissed", "slot=%lld handle=\"%s\"", (long long)slot, handle);
	return true;
}

void sw_supervisor_start(struct sw_daemon *d)
{
	/* The first reading was taken before there were slots: what it says of their GPUs, and
	 * whether a worker may be started there, is known from here on. */
	if (sw_gpus_judge(d))
		act_on_gpus(d);
	for (size_t i = 0; i < d->slot.worker_n; i++)
		start_local(&d->slot.workers[i], INT64_MAX);
}

/* --- time, and the end --- */

/* Since when nothing came from a worker that has something to say: a greeting, a beat. */
static int64_t silent_since(const struct sw_slot *s, int64_t now_us)
{
	const struct sw_conn *c = s->conn;
	const int64_t last_us = c != NULL ? c->active_us : s->since_us;

	if (c != NULL && c->stopped) /* what it sends is not read */
		return now_us;
	if (s->worker->unstored > 0) /* it was told nothing yet */
		return now_us;
	/* whatever stopped this process may have stopped its workers, too */
	return last_us > s->d->awake_us ? last_us : s->d->awake_us;
}

static void tick_slot(struct sw_slot *s, int64_t now_us)
{
	struct sw_worker *w = s->worker;

	if (s->next != NULL && s->state != SW_SLOT_BUSY && now_us - s->next_since_us > HOLD_US)
		sw_slot_next_end(s);
	if (s->rest_us != 0 && now_us >= s->rest_us) {
		s->rest_us = 0;
		s->d->slot.due = true;
	}
	for (size_t i = 0; i < 2; i++)
		if (w->shut[i].until_us != 0 && now_us >= w->shut[i].until_us) {
			w->shut[i].until_us = 0;
			s->d->slot.due = true;
		}
	/* Only the cluster can say what became of a job whose pilot is silent. */
	if (s->device.kind->away) {
		if (s->conn != NULL && now_us - silent_since(s, now_us) > s->d->slot.silent_us) {
			sw_log(SW_LOG_WARN, "worker.silent", "slot=%d pilot=%s", s->index, w->peer);
			sw_slot_disconnect(s);
		}
		return;
	}
	/* Each lane has a connection of its own, and each must be heard of. */
	if (w->proc != NULL && now_us - silent_since(s, now_us) > s->d->slot.silent_us) {
		sw_log(SW_LOG_WARN, "worker.silent", "slot=%d pid=%ld", s->index, sw_slot_pid(s));
		sw_slot_disconnect(s);
		s->since_us = now_us; /* one line, not one a tick, until on_ended() */
		w->executor->stop(w->proc, true);
	}
}

void sw_supervisor_tick(struct sw_daemon *d, int64_t now_us)
{
	settle_dying(d, now_us);
	for (size_t i = 0; i < d->slot.slot_n; i++)
		tick_slot(&d->slot.slots[i], now_us);
	for (size_t i = 0; i < d->slot.worker_n; i++)
		start_local(&d->slot.workers[i], now_us);
}

void sw_supervisor_stop_all(struct sw_daemon *d, bool hard)
{
	for (size_t i = 0; i < d->slot.slot_n; i++) {
		/* A pilot's may run on, and is given to nobody else before its job is over. */
		if (hard && !d->slot.slots[i].device.kind->away)
			sw_slot_lose(&d->slot.slots[i], false, "shutdown");
		if (hard || d->slot.slots[i].state != SW_SLOT_BUSY)
			sw_slot_next_end(&d->slot.slots[i]);
	}
	for (size_t i = 0; i < d->slot.worker_n; i++)
		if (d->slot.workers[i].proc != NULL)
			d->slot.workers[i].executor->stop(d->slot.workers[i].proc, hard);
}

bool sw_supervisor_all_down(const struct sw_daemon *d)
{
	for (size_t i = 0; i < d->slot.worker_n; i++)
		if (d->slot.workers[i].proc != NULL)
			return false;
	return true;
}

void sw_supervisor_free(struct sw_daemon *d)
{
	for (size_t i = 0; i < d->slot.worker_n; i++)
		if (d->slot.workers[i].proc != NULL)
			d->slot.workers[i].executor->forget(d->slot.workers[i].proc);
	free(d->slot.slots);
	free(d->slot.workers);
	d->slot.slots = NULL;
	d->slot.workers = NULL;
	d->slot.slot_n = d->slot.worker_n = 0;
}
