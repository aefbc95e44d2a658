/* worker/link/session_reply.c — the daemon's replies and notifications change the session. */
#include "base/clock.h"
#include "proto/json.h"
#include "proto/rpc.h"
#include "worker/link/session_internal.h"
#include <stdio.h>
#include <string.h>

#define BUSY_WAIT_US 200000

static int error_code(const cJSON *error)
{
	const cJSON *code = sw_json_get(error, "code");

	return cJSON_IsNumber(code) ? code->valueint : 0;
}

static const char *error_text(const cJSON *error)
{
	const cJSON *text = sw_json_get(error, "message");

	return cJSON_IsString(text) ? text->valuestring : "no reason given";
}

static bool fenced(int code)
{
	/* The attempt is no longer this worker's: another has it, or it has ended. */
	return code == SW_RPC_NOT_FOUND || code == SW_RPC_CONFLICT;
}

static bool passing(int code)
{
	/* The same request is sent again, a little later. */
	return code == SW_RPC_BUSY || code == SW_RPC_DISK_FULL || code == SW_RPC_LIMIT;
}

/* The daemon knows this worker now, and says whether it still has its trial. */
static void on_hello(struct sw_session *s, const cJSON *result, const cJSON *error)
{
	const cJSON *run = sw_json_get(result, "run");

	s->hello_id = 0;
	if (error) {
		sw_session_quit(s, SW_SESSION_REFUSED, "the daemon refuses this worker: %s",
				error_text(error));
		return;
	}
	s->greeted = true;
	s->retry_ms = s->config.retry_ms;
	/* meanwhile the daemon may have taken the trial for lost and given it to another worker */
	if (s->has_job && run && !cJSON_IsTrue(run))
		sw_session_drop(s, "no longer this worker's");
}

/* Takes a trial, or an empty answer: none came up in time. */
static void on_next(struct sw_session *s, cJSON **message, const cJSON *result, const cJSON *error)
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_job job;

	s->next_id = 0;
	if (error && passing(error_code(error))) {
		s->resend_at = sw_clock_mono_us() + BUSY_WAIT_US;
		return;
	}
	s->refused[0] = '\0'; /* the daemon knows it now */
	if (error) {
		sw_session_quit(s, SW_SESSION_REFUSED, "the daemon gives no trial: %s",
				error_text(error));
		return;
	}
	if (cJSON_IsObject(result) && !result->child)
		return; /* nothing yet: ask again */
	if (sw_job_read(&job, result, &err) != SW_OK) {
		sw_session_quit(s, SW_SESSION_BROKEN,
				"the daemon gave a trial that cannot be read: %s", err.msg);
		return;
	}
	sw_session_release(s);
	s->job_tree = *message; /* the job points into it */
	*message = NULL;
	s->job = job;
	s->has_job = true;
	s->progress_us = sw_clock_mono_us(); /* a step of under a second says nothing */
}

/* The oldest report has its answer: a decision, or why it was refused. */
static void on_report(struct sw_session *s, const cJSON *result, const cJSON *error)
{
	const cJSON *decision = sw_json_get(result, "decision");
	uint64_t until;
	const int code = error_code(error);

	if (error && passing(code)) {
		/* the daemon refuses those sent after it, too; their ids are then unknown */
		for (size_t i = 0; i < s->sent; i++)
			sw_session_report_at(s, i)->id = 0;
		s->sent = 0;
		s->resend_at = sw_clock_mono_us() + BUSY_WAIT_US;
		return;
	}
	sw_session_report_pop(s);
	if (error && fenced(code)) {
		sw_session_drop(s, "report refused: %s", error_text(error));
	} else if (error) {
		/* The first refusal is told; those after it follow from it. */
		if (!*s->failed)
			snprintf(s->failed, sizeof s->failed, "report refused: %.150s",
				 error_text(error));
	} else if (!cJSON_IsString(decision)) {
		sw_session_quit(s, SW_SESSION_BROKEN,
				"the daemon answered a report with no decision");
	} else if (strcmp(decision->valuestring, "continue") != 0) {
		s->told = strcmp(decision->valuestring, "stop") == 0; /* it has ended the trial */
		sw_session_drop(s, "decision %s", decision->valuestring);
	} else if (sw_json_u64(sw_json_get(result, "until"), &until)) {
		s->job.until = until; /* the last one is behind it */
	}
}

/* The daemon knows the end of the trial. */
static void on_tell(struct sw_session *s, const cJSON *result, const cJSON *error)
{
	s->tell_id = 0;
	if (error && passing(error_code(error))) {
		s->resend_at = sw_clock_mono_us() + BUSY_WAIT_US;
		return;
	}
	if (error)
		sw_session_drop(s, "end refused: %s", error_text(error));
	else if (strcmp(sw_json_text(result, "state", ""), "PENDING") == 0)
		sw_session_drop(s, "given back"); /* its next attempt needs what it has kept */
	else
		s->told = true;
}

/* A word that answers no request: to end, or to stop the trial. */
static void on_notification(struct sw_session *s, const char *method, const cJSON *params)
{
	uint64_t sweep, trial, attempt;

	if (strcmp(method, "worker.exit") == 0) {
		sw_session_quit(s, SW_SESSION_EXIT, "the daemon says so");
		return;
	}
	if (strcmp(method, "worker.stop") != 0 || !s->has_job)
		return; /* a notification that this version does not know is no error */
	/* it may have been sent for a trial that has ended since */
	if (sw_json_u64(sw_json_get(params, "sweep"), &sweep) && sweep == s->job.sweep &&
	    sw_json_u64(sw_json_get(params, "trial"), &trial) && trial == s->job.trial &&
	    sw_json_u64(sw_json_get(params, "attempt"), &attempt) && attempt == s->job.attempt)
		sw_session_drop(s, "the daemon stopped it");
}

/* Finds the request that was answered, by its id. */
static void on_reply(struct sw_session *s, cJSON **message)
{
	const cJSON *id = sw_json_get(*message, "id"), *error = sw_json_get(*message, "error");
	const cJSON *result = sw_json_get(*message, "result");
	uint64_t n;

	if (!sw_json_u64(id, &n)) {
		if (error) /* to a request whose id could not be read: ours can */
			sw_session_quit(s, SW_SESSION_BROKEN,
					"the daemon understood no message: %s", error_text(error));
		return;
	}
	if (n == 0)
		return; /* no request has it: 0 marks the absence of one */
	if ((int64_t)n == s->hello_id)
		on_hello(s, result, error);
	else if ((int64_t)n == s->next_id)
		on_next(s, message, result, error);
	else if ((int64_t)n == s->tell_id)
		on_tell(s, result, error);
	else if (s->sent > 0 && (int64_t)n == sw_session_report_at(s, 0)->id)
		on_report(s, result, error); /* replies come in the order of the requests */
}

void sw_session_line(struct sw_session *s, const char *line, size_t len)
{
	struct sw_err err = SW_ERR_INIT;
	cJSON *message = NULL;
	const sw_status rc = sw_json_parse(&message, line, len, &err);
	const cJSON *method;

	if (rc != SW_OK) {
		sw_session_quit(s, SW_SESSION_BROKEN, "the daemon sent no JSON: %s", err.msg);
		return;
	}
	method = sw_json_get(message, "method");
	if (cJSON_IsString(method))
		on_notification(s, method->valuestring, sw_json_get(message, "params"));
	else
		on_reply(s, &message);
	cJSON_Delete(message);
}
