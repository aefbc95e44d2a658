/* daemon/api/handlers_worker.c — worker.*: what sweep-worker speaks. */
#include "base/log.h"
#include "daemon/api/handlers.h"
#include "daemon/daemon.h"
#include "daemon/net/conn.h"
#include "daemon/pilot/pilot.h"
#include "daemon/slot/slot.h"
#include "daemon/sweep/run/driver.h"
#include "daemon/sweep/run/report.h"
#include "daemon/sweep/running.h"
#include "proto/json.h"
#include <string.h>

/* Does the slot hold what its worker says that it runs? */
static bool holds_trial(const struct sw_slot *s, const struct sw_call *call)
{
	return s->state == SW_SLOT_BUSY &&
	       sw_slot_has(s, sw_call_int(call, "sweep", 0), sw_call_int(call, "trial", 0),
			   sw_call_int(call, "attempt", 0));
}

void sw_handle_worker_hello(struct sw_call *call)
{
	const int64_t slot = sw_call_int(call, "slot", -1);
	struct sw_slot *s = sw_slot_find(call->d, slot, sw_call_str(call, "worker", ""));

	/* A daemon that stops takes no worker back; the next one does. */
	if (s == NULL || call->d->phase != SW_UP) {
		sw_call_refuse(call, SW_DENIED, "",
			       "slot %lld is not yours: this daemon did not start you",
			       (long long)slot);
		return;
	}
	/* One that an earlier daemon started, or whose machine has another installation. */
	if (strcmp(sw_call_str(call, "version", ""), SW_VERSION) != 0) {
		sw_call_refuse(call, SW_DENIED, "",
			       "slot %lld has a worker of sweepd %s, and this is sweepd " SW_VERSION
			       ": install the same version",
			       (long long)slot, sw_call_str(call, "version", ""));
		return;
	}
	/* The id alone is not enough where the process is known. */
	if (sw_slot_pid(s) != 0 && sw_slot_pid(s) != (long)call->conn->pid) {
		sw_call_refuse(call, SW_DENIED, "", "slot %lld belongs to another process",
			       (long long)slot);
		return;
	}
	/* Nor where it is known by its key. */
	if (strcmp(s->worker->peer, call->conn->peer) != 0) {
		sw_log(SW_LOG_WARN, "port.denied", "pilot=\"%s\" slot=%lld", call->conn->peer,
		       (long long)slot);
		sw_call_refuse(call, SW_DENIED, "", "slot %lld belongs to another pilot",
			       (long long)slot);
		return;
	}
	/* Two processes of one job would take the slot from each other for ever. */
	const int64_t process = sw_call_int(call, "process", 0);
	if (s->conn != NULL && s->conn != call->conn && process != s->worker->process) {
		sw_log(SW_LOG_WARN, "port.denied", "pilot=\"%s\" why=\"a second process of it\"",
		       call->conn->peer);
		sw_call_refuse(call, SW_DENIED, "", "slot %lld has another process of this job",
			       (long long)slot);
		return;
	}
	if (call->conn->slot != NULL && call->conn->slot != s) {
		sw_call_refuse(call, SW_CONFLICT, "", "this connection speaks for slot %d already",
			       call->conn->slot->index);
		return;
	}
	s->worker->process = process;
	sw_slot_hello(s, call->conn);
	sw_pilot_hello(s, sw_call_str(call, "node", ""),
		       !cJSON_IsFalse(sw_json_get(call->params, "files")));
	/* If the daemon has given the trial away meanwhile, the worker must drop it. */
	const bool run = sw_call_int(call, "trial", 0) != 0 && holds_trial(s, call);
	sw_log(SW_LOG_INFO, "worker.hello", "slot=%d pid=%ld trial=%lld/%lld run=%d", s->index,
	       sw_slot_pid(s), (long long)sw_call_int(call, "sweep", 0),
	       (long long)sw_call_int(call, "trial", 0), run);
	struct sw_jw *w = sw_call_reply(call);
	sw_jw_kbool(w, "ok", true);
	sw_jw_kbool(w, "run", run);
	sw_call_reply_end(call);
}

void sw_handle_worker_next(struct sw_call *call)
{
	struct sw_slot *s = sw_slot_of(call);

	if (s != NULL)
		sw_slot_next(s, call, sw_call_str(call, "refused", NULL));
}

void sw_handle_worker_report(struct sw_running *live, struct sw_call *call)
{
	call->conn->slot->done = call->conn->slot->total = 0; /* of the step that is over */
	call->conn->slot->stepped = true;
	sw_report_answer(live, call);
}

void sw_handle_worker_log(struct sw_running *live, struct sw_call *call)
{
	const struct sw_row_log row = {
		.sweep = live->sweep,
		.trial = sw_call_int(call, "trial", 0),
		.attempt = sw_call_int(call, "attempt", 0),
		.time_ms = call->d->clock->wall_ms(),
		.line = sw_call_str(call, "text", ""),
	};
	/* The worker's word is not trusted: lines of trials that are not there would have no
	 * bound. */
	if (sw_sweep_trial(live->sched, (uint64_t)row.trial) == NULL) {
		sw_call_refuse(call, SW_NOT_FOUND, "/trial", "there is no trial %lld",
			       (long long)row.trial);
		return;
	}
	struct sw_change *c = sw_change_begin(live->d, call);
	sw_tx_log(c->tx, &row);
	(void)sw_buf_adds(&c->reply, "{\"ok\":true}");
	sw_change_commit(c); /* answered after it: a worker that logs too much is not read on */
}

static void answer_ok(struct sw_call *call)
{
	sw_jw_kbool(sw_call_reply(call), "ok", true);
	sw_call_reply_end(call);
}

void sw_handle_worker_progress(struct sw_running *live, struct sw_call *call)
{
	struct sw_slot *s = call->conn->slot;

	if (holds_trial(s, call)) {
		s->done = sw_call_int(call, "done", 0);
		s->total = sw_call_int(call, "total", 0);
		s->stepped = true;
		sw_marks_note(&live->view.changes, 0);
	}
	answer_ok(call);
}

void sw_handle_worker_launcher(struct sw_call *call)
{
	struct sw_slot *s = sw_slot_of(call);

	if (s == NULL)
		return;
	s->launcher_bytes = sw_call_int(call, "bytes", 0);
	answer_ok(call);
}

void sw_handle_worker_bye(struct sw_call *call)
{
	struct sw_slot *s = sw_slot_of(call);

	if (s == NULL)
		return;
	/* Before its process ends, which reads this (sw_losses_attempt()). */
	s->lost_rank = (unsigned)sw_call_int(call, "rank", 0);
	sw_log(SW_LOG_INFO, "worker.bye", "slot=%d cause=\"%s\"", s->index,
	       sw_call_str(call, "cause", ""));
	sw_slot_leaves(s);
	sw_pilot_bye(s, sw_call_str(call, "cause", ""), sw_call_str(call, "end", NULL));
	answer_ok(call);
}
