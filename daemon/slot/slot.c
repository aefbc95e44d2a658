#include "daemon/slot/slot.h"
#include "base/buf.h"
#include "base/log.h"
#include "daemon/daemon.h"
#include "daemon/net/call.h"
#include "daemon/net/conn.h"
#include "daemon/slot/executor.h"
#include "daemon/slot/gpus.h"
#include "daemon/slot/losses.h"
#include "daemon/slot/room.h"
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define WAIT_MAX_US ((int64_t)30 * 1000000)
#define SHUTS_MAX   30 /* of doubled seconds: 34 years */

const char *sw_slot_state_name(enum sw_slot_state state)
{
	static const char *const names[] = {"DOWN", "STARTING", "IDLE", "BUSY"};

	return names[state];
}

long sw_slot_pid(const struct sw_slot *s)
{
	return s->worker->proc != NULL ? s->worker->executor->pid(s->worker->proc) : 0;
}

const char *sw_slot_cause(const struct sw_slot *s)
{
	const char *why;

	/* The GPU's reason comes first: a worker that is down there waits for that. */
	return sw_slot_may_begin(s, &why) ? s->worker->cause : why;
}

bool sw_slot_may_begin(const struct sw_slot *s, const char **why)
{
	if (!sw_gpus_may_begin(s->d, s, why))
		return false;
	*why = s->worker->cause;
	return s->rest_us == 0;
}

void sw_slot_cookie(const struct sw_daemon *d, int32_t slot, char out[64])
{
	struct stat lock = {.st_dev = 0};

	/* Device and inode of the lock name the state folder: two daemons of one machine must not
	 * end one another's programs. */
	(void)fstat(d->lock_fd, &lock); /* the state directory's, for as long as it is there */
	(void)snprintf(out, 64, "%llx-%llx-%d", (unsigned long long)lock.st_dev,
		       (unsigned long long)lock.st_ino, slot);
}

size_t sw_slot_busy_n(const struct sw_daemon *d, int64_t sweep)
{
	size_t n = 0;

	for (size_t i = 0; i < d->slot.slot_n; i++)
		n += d->slot.slots[i].state == SW_SLOT_BUSY &&
		     (sweep == 0 || d->slot.slots[i].sweep == sweep);
	return n;
}

/* --- its trial --- */

void sw_slot_begin(struct sw_slot *s, int64_t sweep, int64_t trial, int64_t attempt, bool program)
{
	s->state = SW_SLOT_BUSY;
	s->sweep = sweep;
	s->trial = trial;
	s->attempt = attempt;
	s->lost_rank = 0;
	s->done = s->total = 0;
	s->stepped = false;
	s->program = program;
	s->beside = false;
	for (unsigned k = 0; k < s->worker->slot_n; k++) {
		struct sw_slot *o = &s->worker->slots[k];

		if (o != s && (o->state == SW_SLOT_BUSY || o->program))
			s->beside = o->beside = true;
	}
	s->busy_since_us = s->d->clock->mono_us();
	/* Anew for each attempt, as the row that it goes into. */
	s->usage = (struct sw_gpu_usage){.any = false};
}

bool sw_slot_has(const struct sw_slot *s, int64_t sweep, int64_t trial, int64_t attempt)
{
	return s->sweep == sweep && s->trial == trial && s->attempt == attempt;
}

static bool has_left(const struct sw_slot *s, int64_t sweep, int64_t trial)
{
	if (s->state == SW_SLOT_BUSY)
		return s->sweep == sweep && (trial == 0 || s->trial == trial);
	/* 0: an adopted worker's, which may be ending the program of any trial. */
	return s->program && (s->last_trial == 0 ||
			      (s->last_sweep == sweep && (trial == 0 || s->last_trial == trial)));
}

const struct sw_slot *sw_slot_ending(const struct sw_daemon *d, int64_t sweep, int64_t trial)
{
	for (size_t i = 0; i < d->slot.slot_n; i++) {
		const struct sw_slot *s = &d->slot.slots[i];

		if (s->state != SW_SLOT_BUSY && has_left(s, sweep, trial))
			return s;
	}
	return NULL;
}

bool sw_slot_holds(const struct sw_daemon *d, int64_t sweep, int64_t trial)
{
	for (size_t i = 0; i < d->slot.slot_n; i++) {
		const struct sw_slot *s = &d->slot.slots[i];
		const bool last = s->last_sweep == sweep && (trial == 0 || s->last_trial == trial);

		/* a trainer, too, may be on its way from a look for a stop to a write */
		if (has_left(s, sweep, trial) || (s->state != SW_SLOT_BUSY && s->writes && last))
			return true;
	}
	return false;
}

void sw_slot_defer_job(struct sw_slot *s, struct sw_call *call, struct sw_buf *job)
{
	s->next = call;
	s->job = *job;
	/* Taken out of the change, whose end frees its reply. */
	*job = (struct sw_buf){.max = job->max};
}

static void forget_trial(struct sw_slot *s)
{
	struct sw_worker *w = s->worker;

	sw_slot_next_end(s); /* it never began */
	s->last_sweep = s->sweep;
	s->last_trial = s->trial;
	s->writes = w->proc != NULL || w->clearing; /* else all of it has ended */
	s->sweep = s->trial = s->attempt = 0;
	s->heard_ms = 0;
	/* One that its worker outlived has shown that it ends no worker. */
	if (s->died_us == 0 && w->solo > 0)
		w->solo--;
	s->died_us = 0;
	/* Else with the end of its program: until then that has its memory. */
	if (!s->program)
		sw_room_leave(s);
}

void sw_slot_program_ended(struct sw_slot *s)
{
	const bool program = s->program;

	s->program = s->writes = false;
	if (!program)
		return;
	sw_gpus_program_ended(s->d, s);
	/* One whose worker died waits for a look at all GPUs that it has. */
	if (s->state != SW_SLOT_BUSY)
		sw_room_leave(s);
}

/* The state of a slot without a trial. */
static enum sw_slot_state rest_state(const struct sw_slot *s)
{
	if (s->worker->proc == NULL)
		return SW_SLOT_DOWN;
	return s->conn != NULL ? SW_SLOT_IDLE : SW_SLOT_STARTING;
}

int64_t sw_slot_wait_us(unsigned before)
{
	return before < 5 ? (int64_t)1000000 << before : WAIT_MAX_US;
}

static void rest_slot(struct sw_slot *s, int64_t *until_us, int64_t us, const char *why)
{
	*until_us = s->d->clock->mono_us() + us;
	(void)snprintf(s->worker->cause, sizeof s->worker->cause, "%s", why);
	sw_log(SW_LOG_WARN, "worker.rest", "slot=%d rest_s=%lld why=\"%s\"", s->index,
	       (long long)(us / 1000000), why);
}

/* Its GPU does not open for the trainer (no CUDA module, or an old driver), and may never: so twice
 * as long each time, without a bound, since each try is an attempt. Programs need none of that. */
static void shut_gpu(struct sw_slot *s, const char *why)
{
	/* A trial on several may have been given back for another of them, or for want of a way
	 * between them: that says nothing of this one alone. */
	struct sw_shut *shut = &s->worker->shut[sw_room_gpu(s, 1) != NULL];

	/* Trials that other lanes began before the last was given back are the same try. */
	if (s->busy_since_us <= shut->since_us)
		return;
	const unsigned n = shut->n++;
	shut->since_us = s->d->clock->mono_us();
	rest_slot(s, &shut->until_us, (int64_t)1000000 << (n < SHUTS_MAX ? n : SHUTS_MAX), why);
}

void sw_slot_done(struct sw_slot *s)
{
	/* Its worker has ended meanwhile, and the trial was let go of then. */
	if (s->state != SW_SLOT_BUSY)
		return;
	/* Before the trial is let go of: which GPUs it had is known by its slot. */
	sw_losses_none(s);
	s->worker->useful = true;
	s->refusals = 0;
	if (!s->program)
		s->worker->shut[sw_room_gpu(s, 1) != NULL].n = 0;
	s->worker->cause[0] = '\0';
	forget_trial(s);
	s->state = rest_state(s);
	s->since_us = s->d->clock->mono_us();
}

/* Did the last trial of some other slot end otherwise than by such a failure? */
static bool others_work(const struct sw_slot *s)
{
	const struct sw_slot *o = s->d->slot.slots;

	for (size_t i = 0; i < s->d->slot.slot_n; i++, o++)
		if (o != s && o->last_trial != 0 && o->failures == 0)
			return true;
	return false;
}

void sw_slot_failed(struct sw_slot *s, const char *cause)
{
	char why[sizeof s->worker->cause];

	/* A few may be the trials' own fault; and where all slots fail, it is the sweep's. */
	if (++s->failures < SW_SLOT_FAILURES || !others_work(s))
		return;
	(void)snprintf(why, sizeof why,
		       "%u trials in a row failed there before they reported: %.100s", s->failures,
		       cause);
	rest_slot(s, &s->rest_us, sw_slot_wait_us(s->failures - SW_SLOT_FAILURES), why);
}

void sw_slot_lose(struct sw_slot *s, bool blamed, const char *cause)
{
	const struct sw_slot_lost lost = {.sweep = s->sweep,
					  .trial = s->trial,
					  .attempt = s->attempt,
					  .blamed = blamed,
					  .cause = cause,
					  .heard_ms = s->heard_ms};

	/* It has none to lose. */
	if (s->state != SW_SLOT_BUSY)
		return;
	/* The row of the attempt is written when it is told, and then the slot has let go of it. */
	s->usage = sw_gpu_usage_end(s);
	/* STARTING, not IDLE, even if it is connected: it asks for the next trial by itself. */
	s->state = s->worker->proc == NULL ? SW_SLOT_DOWN : SW_SLOT_STARTING;
	/* Before it is told: the end of an attempt frees the slot that has it (sw_slot_done()),
	 * which would call this worker useful. */
	forget_trial(s);
	s->d->slot.on_lost(s->d, &lost);
}

void sw_slot_stop_trial(struct sw_daemon *d, int32_t slot, int64_t sweep, int64_t trial,
			int64_t attempt)
{
	char params[128];

	if (slot < 0 || (size_t)slot >= d->slot.slot_n || d->slot.slots[slot].conn == NULL)
		return; /* a worker without a link is told when it says hello */
	(void)snprintf(params, sizeof params, "{\"sweep\":%lld,\"trial\":%lld,\"attempt\":%lld}",
		       (long long)sweep, (long long)trial, (long long)attempt);
	/* With the attempt: by the time it arrives the worker may have the next trial. */
	sw_conn_push(d->slot.slots[slot].conn, "worker.stop", params);
}

/* --- the link to its worker --- */

struct sw_slot *sw_slot_of(struct sw_call *call)
{
	struct sw_slot *s = call->conn->slot;

	if (s == NULL) /* the call ends with that */
		sw_call_refuse(call, SW_DENIED, "",
			       "this method is for sweepd's own workers: worker.hello comes first");
	return s;
}

struct sw_slot *sw_slot_find(struct sw_daemon *d, int64_t slot, const char *id)
{
	/* A slot without a process has the id "", which must let nobody in. */
	if (slot < 0 || (uint64_t)slot >= d->slot.slot_n || *id == '\0')
		return NULL;
	struct sw_slot *s = &d->slot.slots[slot];
	return strcmp(s->worker->id, id) == 0 ? s : NULL;
}

void sw_slot_hello(struct sw_slot *s, struct sw_conn *c)
{
	/* A new link of the same worker takes over: it has given up the old one. */
	if (s->conn != c)
		sw_slot_disconnect(s);
	s->conn = c;
	s->heard_ms = 0; /* it is there: from now on its attempt ends when it ends */
	c->slot = s;
	if (s->state == SW_SLOT_STARTING)
		s->state = SW_SLOT_IDLE;
}

void sw_slot_next_end(struct sw_slot *s)
{
	/* Its worker does not wait. */
	if (s->next == NULL)
		return;
	/* An empty answer: the worker asks again. A call that is never answered would keep its
	 * connection's memory. */
	(void)sw_call_reply(s->next);
	sw_call_reply_end(s->next);
	sw_buf_fini(&s->job);
	s->next = NULL;
}

void sw_slot_leaves(struct sw_slot *s)
{
	if (s->state == SW_SLOT_IDLE)
		s->state = SW_SLOT_STARTING; /* the next process's hello ends that */
	sw_slot_next_end(s);
}

void sw_slot_disconnect(struct sw_slot *s)
{
	if (s->conn != NULL)
		sw_conn_close(s->conn); /* comes to sw_slot_conn_gone() */
}

void sw_slot_conn_gone(struct sw_conn *c)
{
	struct sw_slot *s = c->slot;

	/* A client's connection. */
	if (s == NULL)
		return;
	s->conn = NULL;
	c->slot = NULL;
	s->since_us = s->d->clock->mono_us();
	if (s->state == SW_SLOT_IDLE)
		s->state = SW_SLOT_STARTING;
	sw_slot_next_end(s); /* its answer goes nowhere, but every call must be answered */
}

void sw_slot_next(struct sw_slot *s, struct sw_call *call, const char *refused)
{
	sw_slot_next_end(s);
	/* A worker that refuses (no memory, no device) would be given the next trial at once, and
	 * refuse that. */
	if (refused != NULL && s->state == SW_SLOT_BUSY && !s->program && s->device.kind->gpu &&
	    !s->device.kind->away) /* the next pilot of a slot has another GPU */
		shut_gpu(s, refused);
	else if (refused != NULL)
		rest_slot(s, &s->rest_us, sw_slot_wait_us(s->refusals++), refused);
	/* It asks for a new trial, so it has none: one that the daemon still counts as its own
	 * ended without a word (its START never arrived, or its worker dropped it). */
	sw_slot_lose(s, false, refused != NULL ? refused : "dropped by its worker");
	/* Before a worker asks it has ended all that its last one was. */
	sw_slot_program_ended(s);
	s->state = SW_SLOT_IDLE;
	s->next = call;
	s->next_since_us = s->d->clock->mono_us();
	s->d->slot.due = true;
}
