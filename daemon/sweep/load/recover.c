#include "daemon/sweep/load/recover.h"
#include "base/log.h"
#include "base/memory.h"
#include "daemon/daemon.h"
#include "daemon/net/call.h"
#include "daemon/net/conn.h"
#include "daemon/sweep/load/replay.h"
#include "daemon/sweep/run/crowd.h"
#include "daemon/sweep/run/settle.h"
#include "daemon/sweep/running.h"
#include "daemon/sweep/search/suggest.h"
#include "store/read.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A replay, and the runs of its trials. */
struct rebuild {
	struct sw_running *live;
	struct sw_replay replay;
	struct sw_run *runs; /* of every trial */
	struct sw_row_use use;
};

static bool take_attempt(const struct sw_row_attempt *row, void *arg)
{
	struct sw_run *run = arg;

	run->slot = (int16_t)row->slot; /* the last attempt's stays */
	run->gpu = row->gpu ? (uint32_t)lround(row->share * SW_RUN_GPU) : 0;
	run->alone = run->alone || (row->cause != NULL && strcmp(row->cause, SW_CROWD_CAUSE) == 0);
	return true;
}

static bool take_run(const struct sw_row_trial *row, void *arg)
{
	struct rebuild *b = arg;
	const struct sw_sweep *sched = b->replay.sched;
	const uint64_t n = sw_sweep_trial_n(sched);

	/* Rows are not trusted to agree with the events, from which the machine was built. */
	if (row->trial < 1 || (uint64_t)row->trial > n)
		return true;
	struct sw_run *run = &b->runs[row->trial - 1];
	run->seconds = (float)row->seconds;
	const struct sw_trial *t = sw_sweep_trial(sched, (uint64_t)row->trial);
	if (t->state == SW_TRIAL_RUNNING) {
		run->started_ms = row->started_ms;
		/* Nobody could be heard while no daemon was up: graces and leases begin anew. */
		run->heard_us = b->live->d->clock->mono_us();
	}
	return true;
}

/* Can it have had an attempt that ended and left it to run? Of those that are paused none is looked
 * at: they may be thousands, and one that was crowded and is again runs once more. */
static bool is_under_way(const struct sw_trial *t)
{
	return t->state == SW_TRIAL_RUNNING || (t->state == SW_TRIAL_PENDING && t->attempt > 0);
}

/* Reads where each running trial runs, and since when. */
static void read_runs(struct rebuild *b, struct sw_db *db)
{
	static const char *const states[] = {"RUNNING", "PENDING", "PAUSED"};
	struct sw_replay *r = &b->replay;
	const uint64_t n = sw_sweep_trial_n(r->sched);

	b->runs = sw_calloc(n + 1, sizeof *b->runs);
	if (b->runs == NULL)
		r->rc = sw_err_set(&r->err, SW_NOMEM, "out of memory");
	for (size_t i = 0; r->rc == SW_OK && i < sizeof states / sizeof states[0]; i++)
		r->rc = sw_read_trials(db, r->sweep, states[i], 0, INT64_MAX, take_run, b, &r->err);
	for (uint64_t trial = 1; r->rc == SW_OK && trial <= n; trial++)
		if (is_under_way(sw_sweep_trial(r->sched, trial)))
			/* One read a trial, of which there are as many as slots: the rows
			 * of all attempts may be a million. */
			r->rc = sw_read_attempts(db, r->sweep, (int64_t)trial, take_attempt,
						 &b->runs[trial - 1], &r->err);
	if (r->rc == SW_OK)
		r->rc = sw_read_use(db, r->sweep, &b->use, &r->err);
}

/* On the reader's thread, or at start. */
static void run_rebuild(struct sw_db *db, void *arg)
{
	struct rebuild *b = arg;

	/* Both in one read, hence in one snapshot of the database: rows and events agree. */
	sw_replay_run(&b->replay, db);
	if (b->replay.rc == SW_OK)
		read_runs(b, db);
}

static void free_rebuild(struct rebuild *b)
{
	sw_replay_fini(&b->replay);
	free(b->runs);
	free(b);
}

/* Moves what was rebuilt into the sweep. */
static sw_status attach(struct rebuild *b)
{
	struct sw_running *live = b->live;
	struct sw_replay *r = &b->replay;
	const uint64_t n = sw_sweep_trial_n(r->sched);
	const sw_status rc = sw_running_runs(live, n);

	if (rc != SW_OK)
		return sw_err_set(&r->err, rc, "out of memory");
	/* Room came first: from here on all is moved. */
	if (n > 0)
		memcpy(live->runs, b->runs, n * sizeof *live->runs);
	/* Not before: a load that fails leaves the sweep unloaded, as it was. */
	live->spec = r->spec;
	live->sched = r->sched;
	live->next_ev = r->next_ev;
	live->metric_seen = live->metric == NULL || r->metric_seen;
	live->state = sw_sweep_state(r->sched);
	live->run_cap = (int64_t)sw_sweep_asked_cap(r->sched);
	for (uint64_t i = 0; i < n; i++)
		if (live->runs[i].started_ms != 0 && live->runs[i].slot >= 0)
			live->claim.share.running++;
	/* used_us stays as it is, 0 after a start: all sweeps begin level, and what was used before
	 * is no debt. */
	live->claim.share.ended = (uint64_t)b->use.attempts;
	live->claim.share.ended_us = b->use.ms * 1000;
	live->budget = r->budget;
	live->budget.gpu_ms = b->use.gpu_ms;
	sw_settings_use(live, &r->settings);
	r->spec = NULL; /* the sweep's now: sw_replay_fini() must not free them */
	r->sched = NULL;
	/* If its end had begun, sw_settle_go() does the next slice once the daemon is up. */
	sw_settle_recovered(live);
	return sw_suggest_attach(live);
}

static struct rebuild *new_rebuild(struct sw_running *live)
{
	struct rebuild *b = sw_calloc(1, sizeof *b);

	if (b != NULL) {
		b->live = live;
		b->replay.sweep = live->sweep;
	}
	return b;
}

/* --- on demand --- */

static void on_loaded(void *arg)
{
	struct rebuild *b = arg;
	struct sw_running *live = b->live;
	/* Taken first: what they go on with may need the sweep again. */
	struct sw_waits waits = live->waits[SW_WAIT_LOAD];
	struct sw_replay *r = &b->replay;
	/* attach() finds the sweep still unloaded: only one load of it is under way, and nothing
	 * else loads one. */
	const sw_status rc = r->rc == SW_OK ? attach(b) : r->rc;

	live->waits[SW_WAIT_LOAD] = (struct sw_waits){.n = 0};
	while (waits.head != NULL) {
		void (*then)(struct sw_running *, struct sw_call *) = waits.head->then;
		struct sw_call *call = sw_wait_take(&waits, &waits.head);

		if (rc != SW_OK)
			sw_call_error(call, &r->err);
		else if (live->gone != SW_GONE_NOT)
			sw_call_refuse(call, SW_NOT_FOUND, "/sweep", "sweep %lld was deleted",
				       (long long)live->sweep);
		else if (live->d->phase == SW_UP)
			then(live, call);
		else
			sw_call_refuse(call, SW_BUSY, "", "the daemon is stopping");
	}
	free_rebuild(b);
}

/* Begins a load. SW_NOMEM, SW_BUSY: too much waits for the store. */
static sw_status start_load(struct sw_running *live, const struct sw_call *call)
{
	struct rebuild *b = new_rebuild(live);

	if (b == NULL)
		return SW_NOMEM;
	const sw_status rc = sw_store_read(live->d->store, SW_READ_LONG, &call->conn->reads,
					   run_rebuild, on_loaded, b);
	if (rc != SW_OK)
		free_rebuild(b);
	return rc;
}

void sw_recover_need(struct sw_call *call,
		     void (*then)(struct sw_running *live, struct sw_call *call))
{
	struct sw_running *live = sw_running_of(call);

	/* The call is answered. */
	if (live == NULL)
		return;
	if (sw_running_refuse_record(live, call))
		return;
	live->needed_us = live->d->clock->mono_us();
	/* At once, so that what a connection asks in a row of a loaded sweep keeps its order. */
	if (live->sched != NULL) {
		then(live, call);
		return;
	}
	struct sw_waits *waits = &live->waits[SW_WAIT_LOAD];
	const bool first = waits->n == 0; /* else a load is under way */
	struct sw_wait *w = sw_wait_add(waits, call);
	sw_status rc = SW_NOMEM;
	if (w != NULL) {
		w->then = then;
		rc = first ? start_load(live, call) : SW_OK;
		if (rc == SW_OK)
			return;
		/* It is the only one: had another been waiting, no load would have been begun for
		 * this. */
		(void)sw_wait_take(waits, &waits->head);
	}
	if (rc == SW_BUSY)
		sw_call_refuse(call, SW_BUSY, "", SW_CALL_BUSY);
	else
		sw_call_refuse(call, SW_BUSY, "", "cannot load sweep %lld now; try again",
			       (long long)live->sweep);
}

/* --- at start --- */

struct restore {
	struct sw_daemon *d;
	sw_status rc;
};

static bool restore_row(const struct sw_row_sweep *row, void *arg)
{
	struct restore *r = arg;

	/* Numbers are places in the array: with a gap every later sweep would be found under
	 * another's number. */
	if (row->sweep != (int64_t)r->d->sweep.sweep_n + 1 || row->name == NULL ||
	    row->method == NULL || row->state == NULL)
		r->rc = SW_IO; /* the file is damaged */
	else if (sw_running_restore(r->d, row) == NULL)
		r->rc = SW_NOMEM;
	return r->rc == SW_OK;
}

static void run_restore(struct sw_db *db, void *arg)
{
	struct restore *r = arg;
	struct sw_err err = SW_ERR_INIT;
	const sw_status rc = sw_read_sweeps(db, 0, restore_row, r, &err);

	if (r->rc == SW_OK)
		r->rc = rc;
}

static sw_status recover(struct sw_running *live, struct sw_err *err)
{
	struct rebuild *b = new_rebuild(live);
	sw_status rc;

	if (b == NULL)
		return sw_err_set(err, SW_NOMEM, "out of memory");
	/* A start refuses to go on without one that has not ended: its workers may be training for
	 * it. */
	sw_store_read_now(live->d->store, run_rebuild, b);
	rc = b->replay.rc == SW_OK ? attach(b) : b->replay.rc;
	if (rc != SW_OK)
		(void)sw_err_set(err, rc, "cannot rebuild sweep %lld from the store: %s",
				 (long long)live->sweep, b->replay.err.msg);
	else
		sw_log(SW_LOG_INFO, "sweep.recovered", "sweep=%lld trials=%llu events=%llu",
		       (long long)live->sweep, (unsigned long long)sw_sweep_trial_n(live->sched),
		       (unsigned long long)live->next_ev - 1);
	free_rebuild(b);
	return rc;
}

sw_status sw_recover_all(struct sw_daemon *d, struct sw_err *err)
{
	struct restore r = {.d = d, .rc = SW_OK};
	sw_status rc = SW_OK;

	sw_store_read_now(d->store, run_restore, &r);
	if (r.rc != SW_OK)
		return sw_err_set(err, r.rc, "cannot read the sweeps from the store: %s",
				  sw_status_str(r.rc));
	/* One that has ended is rebuilt when it is asked for: a start costs what goes on, not what
	 * was. */
	for (size_t i = 0; rc == SW_OK && i < d->sweep.sweep_n; i++)
		if (d->sweep.sweeps[i]->ended_ms == 0)
			rc = recover(d->sweep.sweeps[i], err);
	return rc;
}
