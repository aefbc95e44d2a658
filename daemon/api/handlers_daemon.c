/* daemon/api/handlers_daemon.c — rpc.discover, device.list, pilot.cancel, daemon.*. */
#include "base/commit.h"
#include "base/log.h"
#include "daemon/api/handlers.h"
#include "daemon/daemon.h"
#include "daemon/pilot/pilot.h"
#include "daemon/slot/gpus.h"
#include "daemon/slot/slot.h"
#include "daemon/sweep/running.h"
#include "daemon/sweep/wait.h"
#include "proto/json.h"
#include "proto/methods.h"
#include <math.h>
#include <unistd.h>

void sw_handle_rpc_discover(struct sw_call *call)
{
	struct sw_buf out;
	size_t n;
	const char *document = sw_methods_openrpc(&n);

	sw_buf_init(&out, SW_REPLY_MAX);
	(void)sw_buf_add(&out, document, n);
	sw_call_result(call, &out);
}

static void write_slot(struct sw_jw *w, const struct sw_slot *s, int64_t now_us)
{
	const bool busy = s->state == SW_SLOT_BUSY;

	sw_jw_obj(w);
	sw_jw_kint(w, "slot", s->index);
	sw_jw_kstr(w, "device", s->device.name);
	sw_jw_kstr(w, "state", sw_slot_state_name(s->state));
	sw_jw_kint(w, "cores", s->device.cores);
	sw_jw_kint_opt(w, "pid", sw_slot_pid(s) != 0, sw_slot_pid(s));
	sw_jw_kint_opt(w, "sweep", busy, s->sweep);
	sw_jw_kint_opt(w, "trial", busy, s->trial);
	sw_jw_kint_opt(w, "attempt", busy, s->attempt);
	sw_jw_knum_opt(w, "seconds", busy, round((double)(now_us - s->busy_since_us) / 1e3) / 1e3);
	sw_jw_kint(w, "starts", s->worker->starts);
	const char *cause = sw_slot_cause(s);
	sw_jw_kstr(w, "cause", *cause != '\0' ? cause : NULL);
	sw_jw_kint_opt(w, "done", busy && s->total > 0, s->done);
	sw_jw_kint_opt(w, "total", busy && s->total > 0, s->total);
	sw_jw_kint_opt(w, "holder", s->holder >= 0, s->holder);
	sw_jw_kint_opt(w, "launcher_bytes", s->launcher_bytes > 0, s->launcher_bytes);
	sw_pilot_write_slot(s, w);
	sw_jw_obj_end(w);
}

void sw_handle_device_list(struct sw_call *call)
{
	struct sw_daemon *d = call->d;
	struct sw_jw *w = sw_call_reply(call);

	sw_jw_kbool(w, "draining", d->draining);
	sw_gpus_write(d, w);
	sw_pilot_write(d, w);
	sw_jw_karr(w, "slots");
	for (size_t i = 0; i < d->slot.slot_n; i++)
		write_slot(w, &d->slot.slots[i], d->clock->mono_us());
	sw_jw_arr_end(w);
	sw_call_reply_end(call);
}

void sw_handle_pilot_cancel(struct sw_call *call)
{
	const char *prefix = sw_call_str(call, "prefix", "");
	struct sw_err err = SW_ERR_INIT;
	size_t n;

	if (sw_pilot_cancel_others(call->d, prefix, &n, &err) != SW_OK) {
		sw_call_error(call, &err);
		return;
	}
	struct sw_jw *w = sw_call_reply(call);
	sw_jw_kint(w, "jobs", (int64_t)n);
	sw_call_reply_end(call);
}

/* Sweeps that were deleted do not count. */
static int64_t count_sweeps(const struct sw_daemon *d)
{
	int64_t n = 0;

	for (size_t i = 0; i < d->sweep.sweep_n; i++)
		n += !sw_row_is_gone(d->sweep.sweeps[i]->gone);
	return n;
}

void sw_handle_daemon_info(struct sw_call *call)
{
	const struct sw_daemon *d = call->d;
	struct sw_jw *w = sw_call_reply(call);

	sw_jw_kstr(w, "name", "sweepd");
	sw_jw_kstr(w, "version", SW_VERSION);
	sw_jw_kstr(w, "commit", sw_commit);
	sw_jw_kint(w, "pid", getpid());
	sw_jw_knum(w, "uptime_s", round((double)(d->clock->mono_us() - d->started_us) / 1e3) / 1e3);
	sw_jw_kstr(w, "state_dir", d->config.state);
	sw_jw_kstr(w, "socket", d->config.socket);
	sw_jw_kstr(w, "devices", d->config.devices);
	sw_jw_kint(w, "slots", (int64_t)d->slot.slot_n);
	sw_jw_kint(w, "sweeps", count_sweeps(d));
	sw_jw_kbool(w, "draining", d->draining);
	sw_jw_kint(w, "running", (int64_t)sw_slot_busy_n(d, 0));
	sw_jw_kstr(w, "stuck", sw_store_stuck(d->store));
	sw_jw_kstr(w, "libuv", uv_version_string());
	sw_jw_kstr(w, "sqlite", sw_store_engine());
	sw_call_reply_end(call);
}

void sw_handle_daemon_stats(struct sw_call *call)
{
	struct sw_daemon *d = call->d;
	struct sw_jw *w = sw_call_reply(call);

	sw_jw_kint(w, "connections", (int64_t)d->net.conn_n);
	sw_jw_kint(w, "requests", (int64_t)d->net.n_requests);
	sw_jw_kint(w, "errors", (int64_t)d->net.n_errors);
	sw_jw_kint(w, "reports", (int64_t)d->sweep.n_reports);
	sw_jw_kint(w, "queued", (int64_t)sw_store_queued(d->store));
	sw_jw_kint(w, "asks_waiting", (int64_t)sw_wait_n(d, SW_WAIT_TRIAL));
	sw_jw_kint(w, "sweeps", count_sweeps(d));
	sw_call_reply_end(call);
}

void sw_handle_daemon_drain(struct sw_call *call)
{
	static const char why[] = "the daemon is draining: it hands out no more trials";
	struct sw_daemon *d = call->d;

	const bool on = !cJSON_IsFalse(sw_json_get(call->params, "on"));

	/* Said once, however often it is asked for. */
	if (d->draining != on)
		sw_log(SW_LOG_INFO, "daemon.drain", "on=%d running=%zu", on, sw_slot_busy_n(d, 0));
	d->draining = on;
	/* The tick ends the daemon once no slot is busy. */
	d->drain_stop = on && !cJSON_IsFalse(sw_json_get(call->params, "stop"));
	if (on) {
		/* Those that wait for a trial are told at once: none would come for hours. */
		sw_wait_refuse_all(d, SW_WAIT_SUGGESTION, why);
		sw_wait_refuse_all(d, SW_WAIT_TRIAL, why);
	}
	d->slot.due = true;
	for (size_t i = 0; i < d->sweep.sweep_n; i++) {
		sw_marks_note(&d->sweep.sweeps[i]->view.changes, 0); /* it has another cause */
		if (!on && d->sweep.sweeps[i]->ended_ms == 0)
			sw_running_due(d->sweep.sweeps[i]); /* suggestions are made again */
	}
	struct sw_jw *w = sw_call_reply(call);
	sw_jw_kbool(w, "draining", on);
	sw_jw_kint(w, "running", (int64_t)sw_slot_busy_n(d, 0));
	sw_call_reply_end(call);
}
