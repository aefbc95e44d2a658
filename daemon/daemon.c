#include "daemon/daemon.h"
#include "base/commit.h"
#include "base/log.h"
#include "daemon/api/handlers.h"
#include "daemon/api/watch.h"
#include "daemon/die.h"
#include "daemon/net/conn.h"
#include "daemon/net/dispatch.h"
#include "daemon/net/server.h"
#include "daemon/pilot/pilot.h"
#include "daemon/slot/gpus.h"
#include "daemon/slot/speccheck.h"
#include "daemon/slot/supervisor.h"
#include "daemon/statedir.h"
#include "daemon/sweep/files/erase.h"
#include "daemon/sweep/files/files.h"
#include "daemon/sweep/files/quota.h"
#include "daemon/sweep/give/ask.h"
#include "daemon/sweep/give/place.h"
#include "daemon/sweep/give/want.h"
#include "daemon/sweep/load/adopt.h"
#include "daemon/sweep/load/recover.h"
#include "daemon/sweep/load/unload.h"
#include "daemon/sweep/run/budget_end.h"
#include "daemon/sweep/run/driver.h"
#include "daemon/sweep/run/hold.h"
#include "daemon/sweep/run/settle.h"
#include "daemon/sweep/running.h"
#include "daemon/sweep/search/suggest.h"
#include "daemon/sweep/wait.h"
#include "proto/methods.h"
#include <assert.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STOOD_STILL_US ((int64_t)2 * 1000000) /* between two ticks: the process was stopped */
/* Workers get this long to end by themselves: SW_SESSION_LEAVE_US for their trials, and more. The
 * sum of both is what --help says. */
#define STOP_SOFT_US  ((int64_t)12 * 1000000)
#define STOP_STORE_US ((int64_t)6 * 1000000)
#define STOP_STUCK_US ((int64_t)2 * 1000000) /* of all, for a full disk */
#define CLOCK_STEP_MS 1000                   /* less is not worth a line */

/* --- the store's side --- */

static void on_wake(void *user)
{
	struct sw_daemon *d = user;

	(void)uv_async_send(
		&d->store_wake); /* safe from any thread; fails only on a closed handle */
}

static void on_fatal(void *user, const struct sw_err *e)
{
	(void)user;
	/* Never tried again: after a failed fsync nobody can say what reached the disk. The next
	 * start reads what did, and goes on from there. */
	sw_log(SW_LOG_ERROR, "store.fatal", "why=\"%s\"", e->msg);
	_exit(SW_EXIT_LOST);
}

static void on_store(uv_async_t *a)
{
	struct sw_daemon *d = a->data;

	if (d->store != NULL)
		sw_store_poll(d->store);
}

static void on_gpus(uv_async_t *a)
{
	sw_supervisor_on_reading(a->data);
}

/* --- the connections' side --- */

static const struct sw_handler handlers[] = {
#define ENTRY(name, function)      {.method = (name), .fn = sw_handle_##function},
#define GATED(name, way, function) {.method = (name), .gate = (way), .then = (function)},
	SW_HANDLERS(ENTRY, GATED)
#undef ENTRY
#undef GATED
};

static void end_validate(struct sw_daemon *d);

static bool on_conn_busy(struct sw_conn *c)
{
	return c->slot != NULL || sw_hold_any(c);
}

static void on_conn_gone(struct sw_conn *c)
{
	sw_hold_drop_conn(c);
	sw_slot_conn_gone(c);
	if (c->d->config.validate)
		end_validate(c->d);
}

static const struct sw_conn_events conn_events = {.line = sw_dispatch_line,
						  .request = sw_dispatch_request,
						  .busy = on_conn_busy,
						  .gone = on_conn_gone};

/* --- the driver's side --- */

/* Each only notes it: what follows is done at the end of this turn of the loop, or after the
 * commit. */
static void on_stepped(struct sw_change *c, struct sw_running *h)
{
	h->d->slot.due |= !h->driven;
	sw_running_due(h);
	sw_suggest_changed(h);
	sw_settle_stepped(c, h);
}

static const struct sw_driver_events driver_events = {.stepped = on_stepped,
						      .ready = sw_ask_answer_now};

/* --- the loop's own beats --- */

static void serve_due(struct sw_daemon *d)
{
	struct sw_running *live = d->sweep.due, *next;

	d->sweep.due = NULL; /* what comes to the list from here on is for the next turn */
	for (; live != NULL; live = next) {
		next = live->next_due;
		live->due = false;
		sw_budget_end_check(live);
		sw_suggest_go_on(live);
		sw_ask_serve(live);
	}
	if (d->sweep.due != NULL)
		(void)uv_async_send(&d->store_wake);
}

static void on_flush(uv_prepare_t *p)
{
	sw_conn_go_on(p->data);
	sw_conn_flush_all(p->data); /* answers first */
	sw_server_turn(p->data);
	sw_place_flush(p->data);
	serve_due(p->data);
	sw_conn_flush_all(p->data);
}

static void close_handle(uv_handle_t *h)
{
	if (!uv_is_closing(h))
		uv_close(h, NULL);
}

/* The last act: every answer that is due has its commit; the connections get what is ready. */
static void close_everything(struct sw_daemon *d)
{
	d->phase = SW_CLOSING;
	sw_conn_flush_all(d);
	while (!LIST_EMPTY(&d->net.conns))
		sw_conn_close(LIST_FIRST(&d->net.conns));
	close_handle((uv_handle_t *)&d->tick);
	close_handle((uv_handle_t *)&d->sweep.suggest_timer);
	close_handle((uv_handle_t *)&d->watch);
	close_handle((uv_handle_t *)&d->flush);
	close_handle((uv_handle_t *)&d->sigterm);
	close_handle((uv_handle_t *)&d->sigint);
	close_handle((uv_handle_t *)&d->sighup);
	close_handle((uv_handle_t *)&d->store_wake);
	sw_pilot_close(d);
	sw_gpus_stop(d); /* it wakes the loop until then */
	close_handle((uv_handle_t *)&d->slot.gpu_wake);
}

/* The one client of `sweepd validate` has gone. */
static void end_validate(struct sw_daemon *d)
{
	if (d->phase == SW_CLOSING)
		return;
	sw_server_stop(d);
	sw_speccheck_stop_all(d);
	close_everything(d);
}

static void tick_stopping(struct sw_daemon *d, int64_t now_us)
{
	/* Workers first: their last reports, and the checkpoints in them, are changes to store. */
	const bool late = now_us > d->stop_deadline_us;

	sw_pilot_tick(d, now_us);
	if (!sw_supervisor_all_down(d)) {
		if (late && sw_slot_busy_n(d, 0) > 0)
			sw_log(SW_LOG_WARN, "daemon.late", "running=%zu why=\"not ended in %d s\"",
			       sw_slot_busy_n(d, 0), (int)(STOP_SOFT_US / 1000000));
		if (late)
			sw_supervisor_stop_all(d, true);
		return;
	}
	/* Idle before the poll: what finishes after a look at the queue would be lost with its
	 * answer. */
	const bool idle = sw_store_queued(d->store) == 0 && d->pool[SW_POOL_LINE].running == 0 &&
			  d->pool[SW_POOL_LONG].running == 0;
	sw_store_poll(d->store);
	const bool stuck = sw_store_stuck(d->store) != NULL;
	if ((!idle || sw_store_queued(d->store) > 0) &&
	    now_us < d->stop_deadline_us + (stuck ? STOP_STUCK_US - STOP_SOFT_US : STOP_STORE_US))
		return;
	close_everything(d);
}

/* Work that is acknowledged in a state that was taken away or replaced would be lost. */
static void check_state(const struct sw_daemon *d)
{
	const bool there = sw_statedir_holds(d->config.state, d->lock_fd);

	if (there && sw_store_in_place(d->store))
		return;
	sw_log(SW_LOG_ERROR, "daemon.die", "what=\"%s %s was removed or replaced\"",
	       there ? "the database in" : "the state directory",
	       there ? d->config.database : d->config.state);
	_exit(SW_EXIT_LOST);
}

/* From here on the log's times and the store's differ, so the log says by how much. */
static void note_clock(struct sw_daemon *d)
{
	const int64_t set_ms = d->clock->set_ms();

	/* Small steps are those of NTP. */
	if (llabs(set_ms - d->clock_set_ms) < CLOCK_STEP_MS)
		return;
	d->clock_set_ms = set_ms;
	sw_log(SW_LOG_WARN, "daemon.clock",
	       "ahead_s=%.3f why=\"the wall clock was set: until the next start stored times go on "
	       "from what it was at this one\"",
	       (double)set_ms / 1e3);
}

static void on_tick(uv_timer_t *t)
{
	struct sw_daemon *d = t->data;
	const int64_t now_us = d->clock->mono_us();

	sw_systemd_tick(&d->config.systemd, now_us);
	if (d->phase == SW_STOPPING) {
		tick_stopping(d, now_us);
		return;
	}
	check_state(d);
	note_clock(d);
	sw_server_tick(d, now_us);
	/* Silence proves nothing while the daemon stood still: what refutes it is not read yet. */
	const bool stood_still = now_us - d->tick_us > STOOD_STILL_US;
	d->tick_us = now_us;
	if (stood_still)
		d->awake_us = now_us;
	sw_hold_tick(d, now_us);
	sw_budget_end_tick(d);
	sw_gpus_tick(d, now_us);
	if (!stood_still) { /* else what peers, and the store, said meanwhile is read first */
		sw_conn_tick(d, now_us);
		sw_supervisor_tick(d, now_us);
		sw_pilot_tick(d, now_us);
		sw_unload_tick(d, now_us);
	}
	sw_ask_tick(d, now_us);
	sw_suggest_tick(d, now_us);
	sw_erase_tick(d);
	sw_files_tick(d, now_us);
	sw_quota_tick(d, now_us);
	if (d->drain_stop && sw_slot_busy_n(d, 0) == 0)
		sw_daemon_stop(d);
}

static void on_signal(uv_signal_t *s, int sig)
{
	struct sw_daemon *d = s->data;

	sw_log(SW_LOG_INFO, "daemon.signal", "signal=%d", sig);
	if (d->phase == SW_UP)
		sw_daemon_stop(d);
	else
		sw_supervisor_stop_all(d, true); /* asked twice: at once */
}

/* The log was rotated, or the terminal of the start is gone, which is no reason to end. */
static void on_hangup(uv_signal_t *s, int sig)
{
	const struct sw_daemon *d = s->data;
	struct sw_err err = SW_ERR_INIT;

	(void)sig;
	if (*d->config.log == '\0')
		sw_log(SW_LOG_INFO, "daemon.hangup", "ignored=\"there is no --log to open again\"");
	else if (sw_log_reopen(d->config.log, &err) == SW_OK)
		sw_log(SW_LOG_INFO, "daemon.hangup", "log=\"%s\"", d->config.log);
	else
		sw_log(SW_LOG_WARN, "daemon.hangup", "why=\"%s\"", err.msg);
}

void sw_daemon_stop(struct sw_daemon *d)
{
	/* A second word changes nothing; on_signal() handles a second signal. */
	if (d->phase != SW_UP)
		return;
	sw_log(SW_LOG_INFO, "daemon.stop", "running=%zu most_s=%d again=\"ends it at once\"",
	       sw_slot_busy_n(d, 0), (int)(STOP_SOFT_US / 1000000));
	/* First: what is told to stop below may call back, and begins nothing more then. */
	d->phase = SW_STOPPING;
	sw_systemd_tell(&d->config.systemd, "STOPPING=1");
	d->stop_deadline_us = d->clock->mono_us() + STOP_SOFT_US;
	sw_server_stop(d);
	sw_supervisor_stop_all(d, false);
	sw_speccheck_stop_all(d);
	sw_wait_refuse_all(d, SW_WAIT_SUGGESTION, "the daemon is stopping");
	sw_wait_refuse_all(d, SW_WAIT_TRIAL, "the daemon is stopping");
	sw_watch_stop(d);
	sw_ask_end_all(d);
	sw_erase_stop(d);
	sw_wait_refuse_all(d, SW_WAIT_END,
			   "the daemon is stopping; the sweep's end goes on when it is started "
			   "again");
	(void)uv_timer_start(&d->tick, on_tick, 0, 20);
}

/* --- start --- */

static void init_handles(struct sw_daemon *d)
{
	/* None of these can fail on Linux but uv_async_init (no descriptors), and that is asserted:
	 * nothing has been promised to anyone yet. */
	(void)uv_pipe_init(d->loop, &d->net.listener, 0);
	(void)uv_timer_init(d->loop, &d->tick);
	(void)uv_timer_init(d->loop, &d->sweep.suggest_timer);
	(void)uv_timer_init(d->loop, &d->watch);
	(void)uv_prepare_init(d->loop, &d->flush);
	(void)uv_signal_init(d->loop, &d->sigterm);
	(void)uv_signal_init(d->loop, &d->sigint);
	(void)uv_signal_init(d->loop, &d->sighup);
	int rc = uv_async_init(d->loop, &d->store_wake, on_store);
	assert(rc == 0);
	rc = uv_async_init(d->loop, &d->slot.gpu_wake, on_gpus);
	assert(rc == 0);
	d->net.listener.data = d->tick.data = d->watch.data = d->sweep.suggest_timer.data =
		d->flush.data = d;
	d->sigterm.data = d->sigint.data = d->sighup.data = d->store_wake.data =
		d->slot.gpu_wake.data = d;
}

static sw_status start_beats(struct sw_daemon *d, struct sw_err *err)
{
	int rc = uv_prepare_start(&d->flush, on_flush);

	if (rc == 0)
		rc = uv_timer_start(&d->tick, on_tick, SW_TICK_MS, SW_TICK_MS);
	if (rc == 0)
		rc = uv_signal_start(&d->sigterm, on_signal, SIGTERM);
	if (rc == 0)
		rc = uv_signal_start(&d->sigint, on_signal, SIGINT);
	if (rc == 0)
		rc = uv_signal_start(&d->sighup, on_hangup, SIGHUP);
	return rc == 0 ? SW_OK
		       : sw_err_set(err, SW_IO, "cannot start the loop: %s", uv_strerror(rc));
}

/* `sweepd validate`: answers sweep.validate alone, to the client whose socket is stdin, and by the
 * devices of this machine. There is no store, no worker, no socket of its own. */
static sw_status start_validate(struct sw_daemon *d, struct sw_err *err)
{
	static const struct sw_handler only = {.method = "sweep.validate",
					       .fn = sw_handle_sweep_validate};
	sw_status rc = sw_supervisor_open(d, err);

	d->net.handlers = &only;
	d->net.handler_n = 1;
	d->net.conn_max = 1;
	if (rc == SW_OK && uv_prepare_start(&d->flush, on_flush) != 0)
		rc = sw_err_set(err, SW_IO, "cannot start the loop");
	if (rc == SW_OK)
		sw_conn_adopt(d, STDIN_FILENO, "");
	if (LIST_EMPTY(&d->net.conns))
		end_validate(d);
	return rc;
}

/* The state directory, and the database's where that is another. */
static sw_status open_state(struct sw_daemon *d, struct sw_err *err)
{
	struct sw_config *c = &d->config;
	const bool apart = *c->database != '\0';
	char old[PATH_MAX + 16];
	sw_status rc = sw_statedir_open(c->state, sizeof c->state, !apart, &d->lock_fd, err);

	if (rc == SW_OK && !apart)
		memcpy(c->database, c->state, sizeof c->database);
	if (rc != SW_OK || !apart)
		return rc;
	(void)snprintf(old, sizeof old, "%s/sweepd.db", c->state);
	if (access(old, F_OK) == 0) /* all that is in it would seem to be lost */
		return sw_err_set(err, SW_CONFLICT, "%s is there: with --database, move it to %s",
				  old, c->database);
	return sw_statedir_open(c->database, sizeof c->database, true, &d->database_fd, err);
}

/* The order: the lock before the database, which may have one writer; all sweeps before the beats,
 * by which the loop acts alone; the socket before its path is told; old workers adopted before any
 * is started, or a slot would have two. What was opened before a failure the caller's loop
 * closes. */
sw_status sw_daemon_start(struct sw_daemon *d, uv_loop_t *loop, const struct sw_clock *clock,
			  const struct sw_executor *executor, const struct sw_config *config,
			  struct sw_err *err)
{
	const struct sw_store_hooks hooks = {.wake = on_wake, .fatal = on_fatal, .user = d};
	sw_status rc;

	*d = (struct sw_daemon){
		.loop = loop,
		.clock = clock,
		.config = *config,
		.lock_fd = -1,
		.database_fd = -1,
		.net = {.events = &conn_events,
			.handlers = handlers,
			.handler_n = sizeof handlers / sizeof handlers[0]},
		.slot = {.executor = executor,
			 .pilots = &sw_executor_pilot,
			 .on_lost = sw_place_lost},
		.pilot = {.wanted = sw_want_slots},
		.sweep = {.driver_events = &driver_events, .reserve_us = sw_place_reserve_us()}};
	d->started_us = d->clock->mono_us();
	d->tick_us = d->sweep.hold_tick_us = d->started_us;
	TAILQ_INIT(&d->net.later);
	(void)d->clock->wall_ms(); /* stored times count from here */
	init_handles(d);
	rc = sw_methods_load(&d->net.methods, err);
	if (rc == SW_OK && config->validate)
		return start_validate(d, err);
	if (rc == SW_OK)
		rc = sw_dispatch_verify(d, err);
	if (rc == SW_OK)
		rc = open_state(d, err);
	if (rc == SW_OK)
		rc = sw_store_open(&d->store, d->config.database, &hooks, err);
	if (rc == SW_OK)
		rc = sw_recover_all(d, err);
	if (rc == SW_OK) {
		sw_statedir_reserve(d->config.database, true);
		sw_files_start(d);
	}
	if (rc == SW_OK)
		rc = start_beats(d, err);
	/* The socket before the workers: they dial it at once. */
	if (rc == SW_OK)
		rc = sw_server_start(d, err);
	if (rc == SW_OK)
		sw_statedir_tell(d->lock_fd, d->config.socket);
	if (rc == SW_OK)
		rc = sw_supervisor_open(d, err);
	if (rc == SW_OK)
		rc = sw_pilot_open(d, err);
	if (rc == SW_OK)
		rc = sw_adopt_workers(d, err);
	if (rc == SW_OK)
		sw_erase_start(d); /* of a sweep whose program still ends it waits for that */
	if (rc != SW_OK) {
		sw_server_stop(d);
		close_everything(d);
		return rc;
	}
	sw_supervisor_start(d);
	sw_log(SW_LOG_INFO, "daemon.start",
	       "version=%s commit=%s pid=%ld socket=%s state=%s slots=%zu sweeps=%zu", SW_VERSION,
	       sw_commit, (long)getpid(), d->config.socket, d->config.state, d->slot.slot_n,
	       d->sweep.sweep_n);
	sw_settle_go(d); /* what the last stop interrupted */
	sw_systemd_tell(&d->config.systemd, "READY=1");
	return SW_OK;
}

void sw_daemon_fini(struct sw_daemon *d)
{
	/* First: it joins the store's threads, whose callbacks point into everything below. */
	sw_store_close(d->store);
	d->store = NULL;
	sw_supervisor_free(d);
	sw_pilot_free(d);
	sw_gpus_free(d);
	sw_suggest_free_all(d);
	sw_running_free_all(d);
	sw_files_free(d);
	sw_erase_free(d);
	sw_methods_destroy(d->net.methods);
	if (d->lock_fd >= 0)
		(void)close(d->lock_fd);
	if (d->database_fd >= 0)
		(void)close(d->database_fd);
}
