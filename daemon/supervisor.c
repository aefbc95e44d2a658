#include "daemon/supervisor.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "daemon/adopt.h"
#include "daemon/call.h"
#include "daemon/conn.h"
#include "daemon/daemon.h"
#include "daemon/driver.h"
#include "daemon/executor.h"
#include "daemon/host.h"
#include "daemon/suggest.h"
#include "daemon/work.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define HOLD_US ((int64_t)20 * 1000000) /* a worker.next is held no longer */
#define HELLO_US                                                                                   \
	((int64_t)60 * 1000000) /* from the start of a process, or the loss of its link            \
				 */
#define RETRY_MAX_US ((int64_t)30 * 1000000)
#define YOUNG_US     ((int64_t)10 * 1000000)
#define EARLY_MAX    3 /* young ends in a row that are tried again at once */

static const struct sw_executor *const executor = &sw_executor_local;

const char *sw_slot_state_name(enum sw_slot_state state)
{
	static const char *const names[] = {"DOWN", "STARTING", "IDLE", "BUSY"};

	return names[state];
}

long sw_slot_pid(const struct sw_slot *s)
{
	return s->proc != NULL ? executor->pid(s->proc) : 0;
}

bool sw_supervisor_suits(const struct sw_slot *s, bool needs_gpu)
{
	return !needs_gpu || s->device.gpu;
}

bool sw_supervisor_short(const struct sw_daemon *d, bool needs_gpu, char *out, size_t cap)
{
	const struct sw_slot *down = NULL;

	for (size_t i = 0; i < d->slot_n; i++) {
		if (!sw_supervisor_suits(&d->slots[i], needs_gpu))
			continue;
		if (d->slots[i].state != SW_SLOT_DOWN)
			return false;
		down = &d->slots[i];
	}
	if (down != NULL)
		(void)snprintf(out, cap, "waits for a slot: %s is down%s%s", down->device.name,
			       down->cause[0] != '\0' ? ": " : "", down->cause);
	else if (d->slot_n == 0)
		(void)snprintf(out, cap, "waits for a slot: this daemon has none (--devices none)");
	else
		(void)snprintf(out, cap, "waits for a GPU: none of the %zu slots has one",
			       d->slot_n);
	return true;
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

static void forget_trial(struct sw_slot *s)
{
	s->sweep = s->trial = s->attempt = 0;
	s->heard_ms = 0;
}

/* The live attempt on this slot is over through its worker's end. */
static void lose_trial(struct sw_slot *s, enum sw_event_kind kind, const char *cause)
{
	const int64_t sweep = s->sweep, trial = s->trial, attempt = s->attempt;
	const int64_t heard_ms = s->heard_ms;

	if (s->state != SW_SLOT_BUSY)
		return;
	s->state = SW_SLOT_STARTING; /* before the step, which frees slots by their trial */
	forget_trial(s);
	sw_driver_attempt_over(s->d->hosts[sweep - 1], kind, (uint64_t)trial, (uint32_t)attempt,
			       cause, heard_ms);
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

static void on_ended(void *user, const char *cause, const char *said)
{
	struct sw_slot *s = user;
	struct sw_daemon *d = s->d;
	const int64_t now_us = sw_clock_mono_us();
	/* One that ends young and has finished nothing is a fault that will come again. */
	const bool early = !s->useful && now_us - s->started_us < YOUNG_US;

	sw_log(d->phase == SW_UP ? SW_LOG_WARN : SW_LOG_INFO, "worker.exit",
	       "slot=%d device=%s cause=%s said=\"%s\"", s->index, s->device.name, cause, said);
	s->proc = NULL;
	s->early = early ? s->early + 1 : 0;
	(void)snprintf(s->cause, sizeof s->cause, "%s%s%s", cause, *said != '\0' ? ": " : "", said);
	lose_trial(s, SW_EVENT_LOST, cause);
	drop_next(s);
	if (s->conn != NULL) {
		s->conn->slot = NULL;
		sw_conn_close(s->conn);
		s->conn = NULL;
	}
	s->state = SW_SLOT_DOWN;
	s->worker[0] = '\0';
	int64_t wait_us = 0;
	if (s->early > EARLY_MAX) {
		wait_us = (int64_t)1000000 << (s->early - EARLY_MAX < 6 ? s->early - EARLY_MAX : 5);
		if (wait_us > RETRY_MAX_US)
			wait_us = RETRY_MAX_US;
	}
	s->retry_us = now_us + wait_us;
	struct sw_change *c = sw_change_begin(d, NULL);
	sw_tx_slot_delete(c->tx, s->index);
	sw_change_commit(c);
	if (wait_us == 0)
		start(s);
	sw_supervisor_feed(d); /* its trial may suit another slot that waits */
}

static void new_worker_id(char out[33])
{
	unsigned char raw[16];

	if (getrandom(raw, sizeof raw, 0) != (ssize_t)sizeof raw)
		sw_daemon_die("draw a worker's id", SW_IO);
	for (size_t i = 0; i < sizeof raw; i++)
		(void)snprintf(out + 2 * i, 3, "%02x", raw[i]);
}

static void record(struct sw_slot *s, const char *handle)
{
	struct sw_change *c = sw_change_begin(s->d, NULL);
	const struct sw_row_slot row = {
		.slot = s->index, .device = s->device.name, .worker = s->worker, .handle = handle};

	sw_tx_slot_put(c->tx, &row);
	sw_change_commit(c);
}

static void start(struct sw_slot *s)
{
	struct sw_daemon *d = s->d;
	const bool capped = !s->device.gpu && d->config.cpu_memory != 0;
	char slot[16], cores[16], memory[24], log[PATH_MAX + 32], handle[128];
	struct sw_err err = SW_ERR_INIT;

	if (d->phase != SW_UP)
		return;
	new_worker_id(s->worker);
	(void)snprintf(slot, sizeof slot, "%d", s->index);
	(void)snprintf(cores, sizeof cores, "%u", s->device.cores);
	(void)snprintf(memory, sizeof memory, "%lld", (long long)d->config.cpu_memory);
	(void)snprintf(log, sizeof log, "%s/worker-%d.log", d->config.state, s->index);
	char *const argv[] = {d->config.worker,
			      "--socket",
			      d->config.socket,
			      "--worker",
			      s->worker,
			      "--slot",
			      slot,
			      "--device",
			      s->device.name,
			      "--cores",
			      cores,
			      capped ? "--memory" : NULL,
			      memory,
			      NULL};
	s->starts++;
	s->useful = false;
	s->since_us = s->started_us = sw_clock_mono_us();
	if (executor->start(d->loop, argv, log, on_ended, s, &s->proc, handle, sizeof handle,
			    &err) != SW_OK) {
		sw_log(SW_LOG_ERROR, "worker.start", "slot=%d why=\"%s\"", s->index, err.msg);
		(void)snprintf(s->cause, sizeof s->cause, "%s", err.msg);
		s->worker[0] = '\0';
		s->state = SW_SLOT_DOWN;
		s->retry_us = s->since_us + RETRY_MAX_US;
		return;
	}
	s->state = SW_SLOT_STARTING;
	sw_log(SW_LOG_INFO, "worker.start", "slot=%d device=%s pid=%ld", s->index, s->device.name,
	       executor->pid(s->proc));
	record(s, handle);
}

/* --- start --- */

sw_status sw_supervisor_start(struct sw_daemon *d, struct sw_err *err)
{
	struct sw_device *devices = NULL;
	sw_status rc = sw_device_parse(d->config.devices, &devices, &d->slot_n, err);

	if (rc != SW_OK)
		return rc;
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
	}
	free(devices);
	rc = sw_adopt_workers(d, executor, on_ended, err);
	if (rc != SW_OK)
		return rc;
	for (size_t i = 0; i < d->slot_n; i++)
		if (d->slots[i].state == SW_SLOT_DOWN)
			start(&d->slots[i]);
	return SW_OK;
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

void sw_supervisor_hello(struct sw_slot *s, struct sw_conn *c)
{
	if (s->conn != NULL && s->conn != c) { /* a new link of the same worker takes over */
		struct sw_conn *old = s->conn;

		sw_conn_close(old);
	}
	s->conn = c;
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
	s->since_us = sw_clock_mono_us();
	if (s->state == SW_SLOT_IDLE)
		s->state = SW_SLOT_STARTING;
	drop_next(s); /* its answer goes nowhere, but every call must be answered */
}

void sw_supervisor_next(struct sw_slot *s, struct sw_call *call)
{
	drop_next(s);
	/* It asks for a new trial, so it has none: one that the daemon still counts as its own
	 * ended without a word (its START never arrived, or its worker dropped it). */
	lose_trial(s, SW_EVENT_RELEASE, "dropped by its worker");
	s->state = SW_SLOT_IDLE;
	s->next = call;
	s->next_since_us = sw_clock_mono_us();
	sw_supervisor_feed(s->d);
}

void sw_supervisor_done(struct sw_slot *s)
{
	if (s->state != SW_SLOT_BUSY)
		return;
	s->useful = true;
	s->cause[0] = '\0';
	forget_trial(s);
	s->state = s->conn != NULL ? SW_SLOT_IDLE : SW_SLOT_STARTING;
	s->since_us = sw_clock_mono_us();
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

/* --- work --- */

static struct sw_host *pick(struct sw_daemon *d, const struct sw_slot *s)
{
	struct sw_host *best[64];
	struct sw_share share[64];
	size_t n = 0;

	for (size_t i = 0; i < d->host_n; i++) {
		struct sw_host *h = d->hosts[i];

		if (h->driven || h->ended_ms != 0 || h->sched == NULL ||
		    !sw_sweep_has_work(h->sched) || !sw_supervisor_suits(s, h->spec->needs_gpu) ||
		    !sw_suggest_ready(h, 1))
			continue;
		if (n == sizeof best / sizeof best[0]) { /* keep the one that would be served */
			best[0] = best[sw_share_pick(share, n)];
			share[0] = best[0]->share;
			n = 1;
		}
		best[n] = h;
		share[n++] = h->share;
	}
	return n > 0 ? best[sw_share_pick(share, n)] : NULL;
}

void sw_supervisor_feed(struct sw_daemon *d)
{
	if (d->draining || d->phase != SW_UP)
		return;
	for (size_t i = 0; i < d->slot_n; i++) {
		struct sw_slot *s = &d->slots[i];
		struct sw_host *h;

		while (s->next != NULL && (h = pick(d, s)) != NULL) {
			struct sw_call *call = s->next;

			s->next = NULL;
			if (sw_work_hand_out(h, s, call))
				break;
			s->next = call; /* nothing after all; look again */
			if (sw_sweep_has_work(h->sched))
				break;
		}
	}
}

/* --- time, and the end --- */

static void tick_slot(struct sw_slot *s, int64_t now_us)
{
	if (s->next != NULL && now_us - s->next_since_us > HOLD_US)
		drop_next(s);
	if (s->state == SW_SLOT_DOWN && s->d->phase == SW_UP && now_us >= s->retry_us)
		start(s);
	else if (s->proc != NULL && s->conn == NULL && now_us - s->since_us > HELLO_US) {
		sw_log(SW_LOG_WARN, "worker.silent", "slot=%d pid=%ld", s->index,
		       executor->pid(s->proc));
		s->since_us = now_us;
		executor->stop(s->proc, true);
	}
}

void sw_supervisor_tick(struct sw_daemon *d, int64_t now_us)
{
	for (size_t i = 0; i < d->slot_n; i++)
		tick_slot(&d->slots[i], now_us);
}

void sw_supervisor_stop_all(struct sw_daemon *d, bool hard)
{
	for (size_t i = 0; i < d->slot_n; i++) {
		struct sw_slot *s = &d->slots[i];

		lose_trial(s, SW_EVENT_RELEASE, "shutdown");
		drop_next(s);
		if (s->proc != NULL)
			executor->stop(s->proc, hard);
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
			executor->forget(d->slots[i].proc);
	free(d->slots);
	d->slots = NULL;
	d->slot_n = 0;
}
