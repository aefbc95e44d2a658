/*
 * daemon/sweep/load/adopt.c — what an earlier daemon left running.
 *
 * A worker whose process still lives keeps its slot and its trial. A running trial that no living
 * worker holds lost its attempt while nobody looked. A living worker without a slot is ended.
 */
#include "daemon/sweep/load/adopt.h"
#include "base/log.h"
#include "base/memory.h"
#include "daemon/daemon.h"
#include "daemon/die.h"
#include "daemon/slot/executor.h"
#include "daemon/slot/leftover.h"
#include "daemon/slot/room.h"
#include "daemon/slot/supervisor.h"
#include "daemon/sweep/give/need.h"
#include "daemon/sweep/run/driver.h"
#include "daemon/sweep/running.h"
#include "store/read.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct slot_rows {
	struct sw_daemon *d;
	unsigned *lanes; /* [slot_n]: of the process whose first row is that slot's */
	char worker[33]; /* of the process that the last rows were about */
	int64_t first;   /* its first row */
	sw_row_slot_cb *cb;
	int32_t *gone; /* [gone_n]: slots whose worker is no longer that of their row */
	size_t gone_n;
	sw_status rc;
	struct sw_err err;
};

static struct sw_running *find_running_on(struct sw_daemon *d, int32_t slot, uint64_t *trial)
{
	for (size_t i = 0; i < d->sweep.sweep_n; i++) {
		struct sw_running *live = d->sweep.sweeps[i];

		/* It has ended, or its trials run at clients. */
		if (live->sched == NULL || live->driven)
			continue;
		/* O(trials) a slot, and only once: at the start there is no index by slot, and none
		 * is worth keeping. */
		for (uint64_t t = 1; t <= sw_sweep_trial_n(live->sched); t++)
			if (live->runs[t - 1].started_ms != 0 && live->runs[t - 1].slot == slot) {
				*trial = t;
				return live;
			}
	}
	return NULL;
}

/* Rows come in the order of slots, the lanes of a process one after the other. */
static bool count_row(const struct sw_row_slot *row, void *arg)
{
	struct slot_rows *r = arg;

	if (strcmp(row->worker, r->worker) != 0) {
		(void)snprintf(r->worker, sizeof r->worker, "%s", row->worker);
		r->first = row->slot;
	}
	if (r->first >= 0 && (uint64_t)r->first < r->d->slot.slot_n)
		r->lanes[r->first]++;
	return true;
}

static bool adopt_row(const struct sw_row_slot *row, void *arg)
{
	const struct slot_rows *r = arg;
	struct sw_daemon *d = r->d;
	struct sw_err err = SW_ERR_INIT;
	struct sw_slot *s;
	uint64_t trial = 0;

	/* A slot of an earlier --devices: dismiss_row() ends its worker. */
	if (row->slot < 0 || (uint64_t)row->slot >= d->slot.slot_n)
		return true;
	s = &d->slot.slots[row->slot];
	/* By place and name: with other --devices this number may be another device's. */
	if (strcmp(row->device, s->device.name) != 0 || strlen(row->worker) >= sizeof s->worker->id)
		return true;
	struct sw_worker *w = s->worker;
	/* A process is adopted by the row of its first slot; the rows of its other lanes follow. */
	if (s != w->slots) {
		/* The first lane's row was of another process, or of one that is gone. */
		if (w->proc == NULL || strcmp(w->id, row->worker) != 0)
			return true;
	} else if (r->lanes[row->slot] != w->slot_n) {
		return true; /* --devices gives the GPU another number of lanes now */
	} else if (sw_supervisor_adopt(w, row->worker, row->handle, &err) != SW_OK) {
		sw_log(SW_LOG_INFO, "worker.gone", "slot=%lld why=\"%s\"", (long long)row->slot,
		       err.msg);
		return true;
	}
	/* Until it asks for a trial, it may still end the program of one that has ended. */
	s->program = true;
	struct sw_running *live = find_running_on(d, s->index, &trial);
	/* The state machine says what should run there; what really runs the worker says in its
	 * hello. */
	if (live != NULL)
		sw_slot_begin(s, live->sweep, (int64_t)trial,
			      sw_sweep_trial(live->sched, trial)->attempt,
			      live->spec->command != NULL);
	sw_log(SW_LOG_INFO, "worker.adopted", "slot=%d pid=%ld trial=%lld/%lld", s->index,
	       sw_slot_pid(s), (long long)s->sweep, (long long)s->trial);
	return true;
}

static void end_attempt(struct sw_running *live, enum sw_event_kind kind, uint64_t trial,
			const char *cause, int64_t heard_ms)
{
	sw_driver_attempt_over(live, kind, trial, sw_sweep_trial(live->sched, trial)->attempt,
			       cause, heard_ms);
}

/* RELEASE, not LOST: the daemon itself ends the worker, so its trial is not to blame. */
static void release_trial_on(struct sw_daemon *d, int32_t slot)
{
	uint64_t trial = 0;
	struct sw_running *live = find_running_on(d, slot, &trial);

	if (live != NULL)
		end_attempt(live, SW_EVENT_RELEASE, trial, "slot removed", 0);
}

/* A worker whose slot is no longer there, or has another device now. */
static bool dismiss_row(const struct sw_row_slot *row, void *arg)
{
	struct slot_rows *r = arg;
	struct sw_daemon *d = r->d;

	if (row->slot >= 0 && (uint64_t)row->slot < d->slot.slot_n &&
	    strcmp(row->worker, d->slot.slots[row->slot].worker->id) == 0)
		return true;
	/* Another lane of one that was just ended, or one that is. */
	if (strcmp(row->worker, r->worker) == 0 ||
	    sw_supervisor_dismiss(d, row->slot, row->handle)) {
		release_trial_on(d, (int32_t)row->slot);
		(void)snprintf(r->worker, sizeof r->worker, "%s", row->worker);
	}
	if (!sw_array_resize(&r->gone, r->gone_n + 1, sizeof *r->gone))
		sw_daemon_die("adopt workers", SW_NOMEM);
	r->gone[r->gone_n++] = (int32_t)row->slot;
	return true;
}

/* Ends what programs left there, also of trials that had ended, before a slot has another. In one
 * look at all processes, which takes long where there are many. Then the rows go, even if the
 * process is gone, or the next start would find them again. */
static void clear_gone(struct slot_rows *r)
{
	if (r->gone_n > 0) {
		/* One transaction for all: a crash in between finds each row again, or none. */
		struct sw_change *c = sw_change_begin(r->d, NULL);

		/* Before the rows go: by them alone a later start would find these programs. */
		sw_leftover_end_now(r->d, r->gone, r->gone_n);
		for (size_t i = 0; i < r->gone_n; i++)
			sw_tx_slot_delete(c->tx, r->gone[i]);
		sw_change_commit(c);
	}
	free(r->gone);
}

static void read_slot_rows(struct sw_db *db, void *arg)
{
	struct slot_rows *r = arg;

	r->rc = sw_read_slots(db, r->cb, r, &r->err);
}

/* --- when an attempt was last heard of --- */

struct heard {
	const struct sw_running *live;
	uint64_t trial;
	int64_t ms;
};

static bool on_heard_row(const struct sw_row_report *row, void *arg)
{
	struct heard *q = arg;

	q->ms = row->time_ms > q->ms ? row->time_ms : q->ms;
	return true;
}

static void read_heard_row(struct sw_db *db, void *arg)
{
	struct heard *q = arg;
	const struct sw_trial *t = sw_sweep_trial(q->live->sched, q->trial);
	struct sw_err err = SW_ERR_INIT;

	if (t->seq != 0 && sw_read_report(db, q->live->sweep, (int64_t)q->trial, t->attempt,
					  (int64_t)t->seq, on_heard_row, q, &err) != SW_OK)
		q->ms = 0;
}

/* When the live attempt was last heard of, by what is stored. Budgets count up to
 * then. */
static int64_t stored_heard_ms(const struct sw_running *live, uint64_t trial)
{
	struct heard q = {.live = live, .trial = trial, .ms = live->runs[trial - 1].started_ms};

	/* On the loop's thread, which no client waits for yet. */
	sw_store_read_now(live->d->store, read_heard_row, &q);
	return q.ms;
}

/* A running trial that no adopted worker holds lost its attempt while no daemon looked. One that is
 * held may have ended too, but nobody knows until its worker says hello. */
static void release_orphans(struct sw_daemon *d)
{
	for (size_t i = 0; i < d->sweep.sweep_n; i++) {
		struct sw_running *live = d->sweep.sweeps[i];

		if (live->sched == NULL || live->driven)
			continue;
		for (uint64_t t = 1; t <= sw_sweep_trial_n(live->sched); t++) {
			const struct sw_run *run = &live->runs[t - 1];
			struct sw_slot *s = run->slot >= 0 && (size_t)run->slot < d->slot.slot_n
						    ? &d->slot.slots[run->slot]
						    : NULL;

			/* It does not run. */
			if (run->started_ms == 0)
				continue;
			if (s != NULL && s->sweep == live->sweep && s->trial == (int64_t)t)
				/* If its worker never says hello, its time ends here and not where
				 * that is found out. */
				s->heard_ms = stored_heard_ms(live, t);
			else
				end_attempt(live, SW_EVENT_LOST, t, "lost",
					    stored_heard_ms(live, t));
		}
	}
}

/* Comes after all running trials are known: one with several lanes gets them again, and none gets a
 * lane that another trial runs on. */
static void take_rooms(struct sw_daemon *d)
{
	for (size_t i = 0; i < d->slot.slot_n; i++) {
		struct sw_slot *s = &d->slot.slots[i];

		/* Nothing runs there. */
		if (s->state != SW_SLOT_BUSY)
			continue;
		const struct sw_running *live = d->sweep.sweeps[s->sweep - 1];
		struct sw_room_need need = sw_need_of_next(live);
		need.precision = false; /* it runs there */
		need.alone = live->runs[s->trial - 1].alone;
		/* A slot's row has no list of its other lanes, but a lane is as good as its
		 * neighbour: any free ones will do. Of whole GPUs each is used by name. */
		if (need.gpus <= 1) {
			sw_room_take(s, &need);
			continue;
		}
		/* The other GPUs that it has are not stored. */
		sw_slot_lose(s, false, "restart with several GPUs");
		if (s->worker->proc != NULL)
			s->worker->executor->stop(s->worker->proc, true);
	}
}

sw_status sw_adopt_workers(struct sw_daemon *d, struct sw_err *err)
{
	sw_row_slot_cb *const passes[] = {count_row, adopt_row, dismiss_row};
	struct slot_rows r = {.d = d, .lanes = sw_calloc(d->slot.slot_n + 1, sizeof *r.lanes)};

	if (r.lanes == NULL)
		return sw_err_set(err, SW_NOMEM, "out of memory");
	/* Three passes over the same rows: how many lanes each process has must be known before its
	 * first row is judged, and who was adopted before the rest is ended. */
	for (size_t i = 0; r.rc == SW_OK && i < sizeof passes / sizeof passes[0]; i++) {
		r.cb = passes[i];
		r.worker[0] = '\0';
		sw_store_read_now(d->store, read_slot_rows, &r);
	}
	clear_gone(&r);
	free(r.lanes);
	if (r.rc != SW_OK)
		return sw_err_set(err, SW_IO, "cannot read the slots from the store: %s",
				  r.err.msg);
	take_rooms(d);
	release_orphans(d);
	return SW_OK;
}
