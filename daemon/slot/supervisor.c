#include "daemon/slot/supervisor.h"
#include "base/log.h"
#include "base/memory.h"
#include "daemon/daemon.h"
#include "daemon/die.h"
#include "daemon/net/call.h"
#include "daemon/net/conn.h"
#include "daemon/slot/executor.h"
#include "daemon/slot/worker_line.h"
#include "proto/silence.h"
#include "store/store.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define HOLD_US      ((int64_t)20 * 1000000) /* a worker.next is held no longer */
#define RETRY_MAX_US ((int64_t)30 * 1000000)
#define YOUNG_US     ((int64_t)10 * 1000000)
#define LOOK_US      ((int64_t)30 * 1000000) /* a GPU is looked at no longer */

const char *sw_slot_state_name(enum sw_slot_state state)
{
	static const char *const names[] = {"DOWN", "STARTING", "IDLE", "BUSY"};

	return names[state];
}

static struct sw_slot *lead_of(const struct sw_slot *s)
{
	return &s->d->slots[s->lead];
}

long sw_slot_pid(const struct sw_slot *s)
{
	const struct sw_slot *lead = lead_of(s);

	return lead->proc != NULL ? s->d->executor->pid(lead->proc) : 0;
}

const char *sw_slot_cause(const struct sw_slot *s)
{
	const char *why;

	if (!sw_gpus_may_begin(s->d, s, &why))
		return why;
	return lead_of(s)->cause;
}

size_t sw_supervisor_busy(const struct sw_daemon *d, int64_t sweep)
{
	size_t n = 0;

	for (size_t i = 0; i < d->slot_n; i++)
		n += d->slots[i].state == SW_SLOT_BUSY &&
		     (sweep == 0 || d->slots[i].sweep == sweep);
	return n;
}

/* --- the process of a slot --- */

static void start(struct sw_slot *s);

/* The slots that share the lead's process, the lead itself first: one, or a GPU's lanes. */
static size_t lanes_of(const struct sw_slot *lead)
{
	return lead->device.lanes > 0 ? lead->device.lanes : 1;
}

static void forget_trial(struct sw_slot *s)
{
	struct sw_slot *lead = lead_of(s);

	s->sweep = s->trial = s->attempt = 0;
	s->heard_ms = 0;
	if (s->died_us == 0 && lead->solo > 0)
		lead->solo--;
	s->died_us = 0;
	for (size_t k = 0; k < lanes_of(lead); k++)
		if (lead[k].holder == s->index)
			lead[k].holder = -1;
}

/* Where a slot without a trial is. */
static enum sw_slot_state rest_of(const struct sw_slot *s)
{
	if (lead_of(s)->proc == NULL)
		return SW_SLOT_DOWN;
	return s->conn != NULL ? SW_SLOT_IDLE : SW_SLOT_STARTING;
}

/* The live attempt on this slot is over through its worker's end. */
static void lose_trial(struct sw_slot *s, bool blamed, const char *cause)
{
	const struct sw_slot_lost lost = {.sweep = s->sweep,
					  .trial = s->trial,
					  .attempt = s->attempt,
					  .blamed = blamed,
					  .cause = cause,
					  .heard_ms = s->heard_ms};

	if (s->state != SW_SLOT_BUSY)
		return;
	s->usage = sw_gpu_usage_end(s->d, s);
	/* before it is told, because the end of an attempt frees the slot that has it */
	s->state = rest_of(s) == SW_SLOT_DOWN ? SW_SLOT_DOWN : SW_SLOT_STARTING;
	forget_trial(s);
	s->d->slot_events->lost(s->d, &lost);
}

static void drop_next(struct sw_slot *s)
{
	struct sw_buf none;

	if (s->next == NULL)
		return;
	sw_buf_init(&none, 16);
	(void)sw_buf_adds(&none, "{}");
	sw_call_result(s->next, &none);
	s->next = NULL;
}

/* Where several ran, any of them may have ended the process: none is blamed, and as many trials run
 * alone there now. The one that does it again is. */
static void lose_to(struct sw_slot *s, const char *cause)
{
	lose_trial(s, lead_of(s)->suspects <= 1, cause);
}

static void suspect(struct sw_slot *lead)
{
	unsigned n = 0;

	for (size_t k = 0; k < lanes_of(lead); k++)
		n += lead[k].state == SW_SLOT_BUSY;
	lead->suspects = n;
	if (n > 1)
		lead->solo = n;
}

/* One slot of a process that ended. Its trial is lost at once, or once its GPU was looked at. */
static void end_lane(struct sw_slot *s, const char *cause, int64_t now_us)
{
	drop_next(s);
	if (s->conn != NULL) {
		s->conn->slot = NULL;
		sw_conn_close(s->conn);
		s->conn = NULL;
	}
	s->worker[0] = '\0';
	s->died_us = now_us;
	if (s->state == SW_SLOT_BUSY && sw_gpus_card(s->d, s) != NULL) {
		(void)snprintf(s->died, sizeof s->died, "%s", cause);
		return;
	}
	lose_to(s, cause);
	s->died_us = 0;
	s->state = SW_SLOT_DOWN;
}

/* The store's rows of slots: by them a later daemon finds their workers. */
static struct sw_tx *begin_rows(void)
{
	struct sw_tx *tx;

	if (sw_tx_create(&tx) != SW_OK)
		sw_daemon_die("record a worker", SW_NOMEM);
	return tx;
}

static void commit_rows(struct sw_daemon *d, struct sw_tx *tx, sw_store_done_cb *done, void *arg)
{
	const sw_status rc = sw_store_commit(d->store, tx, done, arg);

	if (rc != SW_OK)
		sw_daemon_die("record a worker", rc);
}

/* In how long the next process is started. */
static int64_t wait_of(const struct sw_slot *s)
{
	if (s->early <= SW_SLOT_EARLY_MAX)
		return 0;
	const int64_t us = (int64_t)1000000
			   << (s->early - SW_SLOT_EARLY_MAX < 6 ? s->early - SW_SLOT_EARLY_MAX : 5);
	return us < RETRY_MAX_US ? us : RETRY_MAX_US;
}

static void on_ended(void *user, const char *cause, const char *said)
{
	struct sw_slot *s = user;
	struct sw_daemon *d = s->d;
	const int64_t now_us = d->clock->mono_us();
	const int64_t pid = sw_slot_pid(s);
	/* One that ends young and has finished nothing is a fault that will come again. */
	const bool early = !s->useful && now_us - s->started_us < YOUNG_US;

	sw_log(d->phase == SW_UP ? SW_LOG_WARN : SW_LOG_INFO, "worker.exit",
	       "slot=%d device=%s cause=%s said=\"%s\"", s->index, s->device.name, cause, said);
	s->proc = NULL;
	s->early = early ? s->early + 1 : 0;
	(void)snprintf(s->cause, sizeof s->cause, "%s%s%s", cause, *said != '\0' ? ": " : "", said);
	sw_gpus_worker_ended(d, s, pid);
	suspect(s);
	struct sw_tx *tx = begin_rows();
	for (size_t k = 0; k < lanes_of(s); k++) {
		end_lane(&s[k], cause, now_us);
		sw_tx_slot_delete(tx, s[k].index);
	}
	commit_rows(d, tx, NULL, NULL);
	s->retry_us = now_us + wait_of(s);
	if (s->retry_us == now_us)
		start(s);
	d->slot_events->free(d); /* its trial may suit another slot that waits */
}

/* Trials whose worker ended go on elsewhere once their GPU was looked at. */
static void settle(struct sw_daemon *d, int64_t now_us)
{
	for (size_t i = 0; i < d->slot_n; i++) {
		struct sw_slot *s = &d->slots[i];
		char lost[64];
		bool failed;

		if (s->state != SW_SLOT_BUSY || s->died_us == 0)
			continue;
		if (!sw_gpus_looked_at(d, s, s->died_us, &failed) && now_us - s->died_us < LOOK_US)
			continue;
		(void)snprintf(lost, sizeof lost, "%s failed", s->device.name);
		if (failed)
			lose_trial(s, false, lost);
		else
			lose_to(s, s->died);
	}
}

/* The GPU of these slots is lost: their worker is ended, the trials there are not to blame. */
static void end_on_lost_gpu(struct sw_slot *lead)
{
	char lost[64];

	(void)snprintf(lost, sizeof lost, "gpu:%u is lost", lead->device.index);
	for (size_t k = 0; k < lanes_of(lead); k++)
		lose_trial(&lead[k], false, lost);
	if (lead->proc != NULL)
		lead->d->executor->stop(lead->proc, true);
}

/* What follows from the last reading of the GPUs. */
static void act_on_gpus(struct sw_daemon *d)
{
	for (size_t i = 0; i < d->slot_n; i++)
		if (d->slots[i].lead == d->slots[i].index && sw_gpus_lost(d, &d->slots[i]))
			end_on_lost_gpu(&d->slots[i]);
	settle(d, d->clock->mono_us());
	d->slot_events->free(d);
}

void sw_supervisor_on_reading(struct sw_daemon *d)
{
	if (sw_gpus_on_reading(d))
		act_on_gpus(d);
}

static void new_worker_id(char out[33])
{
	unsigned char raw[16];

	if (getrandom(raw, sizeof raw, 0) != (ssize_t)sizeof raw)
		sw_daemon_die("draw a worker's id", SW_IO);
	for (size_t i = 0; i < sizeof raw; i++)
		(void)snprintf(out + 2 * i, 3, "%02x", raw[i]);
}

/* From here on a later daemon finds the worker, so it may work. Before, it would be nobody's if the
 * daemon were killed. */
static void on_recorded(void *arg)
{
	struct sw_slot *s = arg;

	if (--s->unstored > 0 || s->proc == NULL)
		return;
	s->since_us = s->d->clock->mono_us();
	s->d->executor->tell(s->proc, s->worker);
}

static void record(struct sw_slot *s, const char *handle)
{
	struct sw_tx *tx = begin_rows();

	s->unstored++;
	for (size_t k = 0; k < lanes_of(s); k++) {
		const struct sw_row_slot row = {.slot = s[k].index,
						.device = s[k].device.name,
						.worker = s[k].worker,
						.handle = handle};

		sw_tx_slot_put(tx, &row);
	}
	commit_rows(s->d, tx, on_recorded, s);
}

/* All lanes of a process that is there, or could not be started. */
static void set_lanes(struct sw_slot *s, enum sw_slot_state state, const char *worker)
{
	for (size_t k = 0; k < lanes_of(s); k++) {
		(void)snprintf(s[k].worker, sizeof s[k].worker, "%s", worker);
		s[k].state = state;
		s[k].since_us = s->since_us;
	}
}

static bool any_dying(const struct sw_slot *s)
{
	for (size_t k = 0; k < lanes_of(s); k++)
		if (s[k].state == SW_SLOT_BUSY)
			return true;
	return false;
}

static void start(struct sw_slot *s)
{
	struct sw_daemon *d = s->d;
	char log[PATH_MAX + 32], handle[128], id[33];
	struct sw_err err = SW_ERR_INIT;
	const char *why;
	struct sw_worker_line line;

	if (d->phase != SW_UP || any_dying(s) || !sw_gpus_may_start(d, s, &why))
		return; /* the tick comes again */
	new_worker_id(id);
	s->since_us = s->started_us = d->clock->mono_us();
	set_lanes(s, SW_SLOT_STARTING, id);
	sw_worker_line_write(s, &line);
	(void)snprintf(log, sizeof log, "%s/worker-%d.log", d->config.state, s->index);
	s->starts++;
	s->useful = false;
	if (d->executor->start(d->loop, line.argv, line.env, log, on_ended, s, &s->proc, handle,
			       sizeof handle, &err) != SW_OK) {
		sw_log(SW_LOG_ERROR, "worker.start", "slot=%d why=\"%s\"", s->index, err.msg);
		(void)snprintf(s->cause, sizeof s->cause, "%s", err.msg);
		set_lanes(s, SW_SLOT_DOWN, "");
		s->retry_us = s->since_us + RETRY_MAX_US;
		return;
	}
	sw_log(SW_LOG_INFO, "worker.start", "slot=%d device=%s pid=%ld", s->index, s->device.name,
	       d->executor->pid(s->proc));
	record(s, handle);
}

/* --- start --- */

sw_status sw_supervisor_open(struct sw_daemon *d, struct sw_err *err)
{
	struct sw_device *devices = NULL;
	sw_status rc = sw_gpus_start(d, err);
	char left_out[200];

	d->silent_us = sw_silent_us();
	if (rc == SW_OK)
		rc = sw_device_parse(d->config.devices, sw_gpus_view(d), &devices, &d->slot_n, err);
	if (rc != SW_OK)
		return rc;
	if (sw_device_left_out(d->config.devices, sw_gpus_view(d), left_out, sizeof left_out))
		sw_log(SW_LOG_WARN, "device.auto", "why=\"%s\"", left_out);
	d->slots = sw_calloc(d->slot_n + 1, sizeof *d->slots);
	if (d->slots == NULL) {
		free(devices);
		d->slot_n = 0;
		return sw_err_set(err, SW_NOMEM, "out of memory");
	}
	for (size_t i = 0; i < d->slot_n; i++) {
		d->slots[i].d = d;
		d->slots[i].index = (int32_t)i;
		d->slots[i].device = devices[i];
		d->slots[i].lead = (int32_t)(i - devices[i].lane);
		d->slots[i].holder = -1;
	}
	free(devices);
	return SW_OK;
}

sw_status sw_supervisor_adopt(struct sw_slot *lead, const char *handle, struct sw_err *err)
{
	return lead->d->executor->adopt(lead->d->loop, handle, on_ended, lead, &lead->proc, err);
}

bool sw_supervisor_dismiss(struct sw_daemon *d, int64_t slot, const char *handle)
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_proc *p = NULL;

	if (d->executor->adopt(d->loop, handle, NULL, NULL, &p, &err) != SW_OK)
		return false;
	sw_log(SW_LOG_INFO, "worker.dismissed", "slot=%lld pid=%ld", (long long)slot,
	       d->executor->pid(p));
	d->executor->stop(p, true);
	d->executor->forget(p);
	return true;
}

void sw_supervisor_start(struct sw_daemon *d)
{
	if (sw_gpus_judge(d))
		act_on_gpus(d);
	for (size_t i = 0; i < d->slot_n; i++)
		if (d->slots[i].lead == (int32_t)i && d->slots[i].proc == NULL)
			start(&d->slots[i]);
}

/* --- the link to a worker --- */

struct sw_slot *sw_supervisor_of(struct sw_conn *c, struct sw_err *err)
{
	if (c->slot == NULL)
		(void)sw_err_set(
			err, SW_DENIED,
			"this method is for sweepd's own workers: worker.hello comes first");
	return c->slot;
}

struct sw_slot *sw_supervisor_find(struct sw_daemon *d, int64_t slot, const char *worker)
{
	if (slot < 0 || (uint64_t)slot >= d->slot_n || *worker == '\0')
		return NULL;
	struct sw_slot *s = &d->slots[slot];
	return strcmp(s->worker, worker) == 0 ? s : NULL;
}

void sw_supervisor_hello(struct sw_slot *s, struct sw_conn *c, bool beats)
{
	if (s->conn != NULL && s->conn != c) { /* a new link of the same worker takes over */
		struct sw_conn *old = s->conn;

		sw_conn_close(old);
	}
	s->conn = c;
	s->beats = beats;
	s->heard_ms = 0;
	c->slot = s;
	if (s->state == SW_SLOT_STARTING)
		s->state = SW_SLOT_IDLE;
}

void sw_supervisor_drop_conn(struct sw_daemon *d, struct sw_conn *c)
{
	struct sw_slot *s = c->slot;

	(void)d;
	if (s == NULL || s->conn != c)
		return;
	s->conn = NULL;
	c->slot = NULL;
	s->since_us = s->d->clock->mono_us();
	if (s->state == SW_SLOT_IDLE)
		s->state = SW_SLOT_STARTING;
	drop_next(s); /* its answer goes nowhere, but every call must be answered */
}

void sw_supervisor_next(struct sw_slot *s, struct sw_call *call)
{
	drop_next(s);
	/* It asks for a new trial, so it has none: one that the daemon still counts as its own
	 * ended without a word (its START never arrived, or its worker dropped it). */
	lose_trial(s, false, "dropped by its worker");
	s->state = SW_SLOT_IDLE;
	s->next = call;
	s->next_since_us = s->d->clock->mono_us();
	s->d->slot_events->free(s->d);
}

void sw_supervisor_done(struct sw_slot *s)
{
	if (s->state != SW_SLOT_BUSY)
		return;
	lead_of(s)->useful = true;
	lead_of(s)->cause[0] = '\0';
	forget_trial(s);
	s->state = rest_of(s);
	s->since_us = s->d->clock->mono_us();
}

void sw_supervisor_stop_trial(struct sw_daemon *d, int32_t slot, int64_t sweep, int64_t trial,
			      int64_t attempt)
{
	char params[128];

	if (slot < 0 || (size_t)slot >= d->slot_n || d->slots[slot].conn == NULL)
		return; /* a worker without a link is told when it says hello */
	(void)snprintf(params, sizeof params, "{\"sweep\":%lld,\"trial\":%lld,\"attempt\":%lld}",
		       (long long)sweep, (long long)trial, (long long)attempt);
	sw_conn_push(d->slots[slot].conn, "worker.stop", params);
}

/* --- time, and the end --- */

/* Since when nothing came from a worker that has something to say: a greeting, a beat. */
static int64_t silent_since(const struct sw_slot *s, int64_t now_us)
{
	const struct sw_conn *c = s->conn;
	const int64_t last_us = c != NULL ? c->active_us : s->since_us;

	/* what it sends is not read, or it never promised anything */
	if (c != NULL && (c->stopped || !s->beats))
		return now_us;
	if (lead_of(s)->unstored > 0) /* it was told nothing yet */
		return now_us;
	/* whatever stopped this process may have stopped its workers, too */
	return last_us > s->d->awake_us ? last_us : s->d->awake_us;
}

static void tick_slot(struct sw_slot *s, int64_t now_us)
{
	if (s->next != NULL && now_us - s->next_since_us > HOLD_US)
		drop_next(s);
	struct sw_slot *lead = lead_of(s);
	if (lead->proc == NULL && s == lead && s->d->phase == SW_UP && now_us >= s->retry_us)
		start(s);
	else if (lead->proc != NULL && now_us - silent_since(s, now_us) > s->d->silent_us) {
		sw_log(SW_LOG_WARN, "worker.silent", "slot=%d pid=%ld", s->index,
		       s->d->executor->pid(lead->proc));
		if (s->conn != NULL)
			sw_conn_close(s->conn);
		s->since_us = now_us;
		s->d->executor->stop(lead->proc, true);
	}
}

void sw_supervisor_tick(struct sw_daemon *d, int64_t now_us)
{
	settle(d, now_us);
	for (size_t i = 0; i < d->slot_n; i++)
		tick_slot(&d->slots[i], now_us);
}

void sw_supervisor_stop_all(struct sw_daemon *d, bool hard)
{
	for (size_t i = 0; i < d->slot_n; i++) {
		struct sw_slot *s = &d->slots[i];

		lose_trial(s, false, "shutdown");
		drop_next(s);
		if (s->proc != NULL)
			s->d->executor->stop(s->proc, hard);
	}
}

bool sw_supervisor_all_down(const struct sw_daemon *d)
{
	for (size_t i = 0; i < d->slot_n; i++)
		if (d->slots[i].proc != NULL)
			return false;
	return true;
}

void sw_supervisor_free(struct sw_daemon *d)
{
	for (size_t i = 0; i < d->slot_n; i++)
		if (d->slots[i].proc != NULL)
			d->executor->forget(d->slots[i].proc);
	free(d->slots);
	d->slots = NULL;
	d->slot_n = 0;
}
