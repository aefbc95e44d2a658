/* worker/exec/exec_report.c — what a program writes: reports, and lines that are only kept. */
#include "base/clock.h"
#include "proto/json.h"
#include "worker/exec/exec_internal.h"
#include "worker/exec/oom.h"
#include "worker/exec/reported.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Reports by stdout that may wait for their answers: below what would make the session wait. */
#define WAITING_MAX (SW_SESSION_OUTSTANDING / 2)
#define ODD_NAMED   3 /* lines of each kind that the trial's log names */

/* --- answers --- */

static void say(struct sw_exec *t, const char *line)
{
	sw_answers_add(&t->answers, line);
	if (t->program.metrics >= 0)
		sw_answers_send(&t->answers, t->program.metrics);
}

/* NULL: without that key. */
static void say_object(struct sw_exec *t, const char *decision, const char *key, const char *value)
{
	struct sw_buf b;
	struct sw_jw w;

	sw_buf_init(&b, 4096);
	sw_jw_init(&w, &b);
	sw_jw_obj(&w);
	if (decision)
		sw_jw_kstr(&w, "decision", decision);
	if (key)
		sw_jw_kstr(&w, key, value);
	sw_jw_obj_end(&w);
	if (sw_buf_adds(&b, "\n") == SW_OK)
		say(t, b.data);
	sw_buf_fini(&b);
}

static void say_end(struct sw_exec *t)
{
	const char *why = sw_session_dropped(t->session), *refused = sw_session_refused(t->session);
	const bool pause = strcmp(why, "decision pause") == 0;

	if (*refused)
		say_object(t, NULL, "error", refused);
	else
		say_object(t, pause ? "pause" : "stop", NULL, NULL);
}

bool sw_exec_tell_end(struct sw_exec *t)
{
	const bool told = t->asked && !t->program.ended;

	if (told)
		say_end(t);
	t->asked = t->held = false;
	return told;
}

bool sw_exec_answer(struct sw_exec *t)
{
	if (!t->going || !(t->asked || t->held) || sw_session_waiting(t->session) > 0)
		return false;
	if (t->asked)
		say(t, SW_ANSWERS_GOON);
	t->heard_us = sw_clock_mono_us();
	t->asked = t->held = false;
	return true;
}

/* --- reports --- */

bool sw_exec_keep(struct sw_exec *t, uint64_t step)
{
	struct sw_err err = SW_ERR_INIT;

	if (sw_folder_is_empty(&t->live))
		return false;
	if (sw_folder_keep(&t->live, step, &err) == SW_OK)
		return true;
	sw_session_log(t->session, "%s", err.msg);
	return false;
}

/* Must what the program keeps be at rest before this step is reported? */
static bool must_rest(const struct sw_exec *t, uint64_t step, bool at_until)
{
	const struct sw_job *j = t->job;

	return at_until || (j->checkpoint_every && step % j->checkpoint_every == 0) ||
	       (j->checkpoint_end && j->max_t && step >= j->max_t);
}

static void report_step(struct sw_exec *t, struct sw_reported *r, uint64_t step, bool socket)
{
	const bool at_until = t->job->until && step >= t->job->until && !t->until_met;
	const bool rest = must_rest(t, step, at_until);
	bool kept;

	t->until_met |= at_until;
	if (rest && !socket && !t->program.ended && !sw_folder_is_empty(&t->live)) {
		t->saving = true;
		t->saving_step = step;
		t->saving_metrics = r->text;
		sw_buf_init(&r->text, 0);
		return;
	}
	kept = (rest || r->checkpoint) && sw_exec_keep(t, step);
	t->told = step;
	t->going = sw_session_report(t->session, step, r->text.data, kept);
	t->asked = socket;
	t->held = !socket && at_until;
	t->since_us = sw_clock_mono_us();
}

/* A line that is no report: the answer says why, and for the first of each kind the trial's log. */
static void leave_out(struct sw_exec *t, enum sw_exec_odd kind, const char *why, bool socket)
{
	const uint64_t line = socket ? t->metrics.number : t->out.number;
	char text[200];

	(void)snprintf(text, sizeof text, "line %" PRIu64 ": %s", line, why);
	if (t->odd[kind]++ < ODD_NAMED)
		sw_session_log(t->session, "reports: left out of %s: %s%s",
			       socket ? "the socket" : "stdout", text,
			       t->odd[kind] == ODD_NAMED ? "; more of this kind are not named"
							 : "");
	if (socket)
		say_object(t, "continue", "not_stored", text);
}

/* A report that was read. */
static void take_step(struct sw_exec *t, struct sw_reported *r, bool socket)
{
	const uint64_t step = r->has_step ? r->step : t->step + 1, last = t->step;
	char why[80];

	t->heard_us = sw_clock_mono_us();
	t->has_metric |= r->has_metric || (socket && !t->job->metric);
	if (*r->left_out && !t->odd_value)
		sw_session_log(t->session, "reports: %s is left out: it is no number", r->left_out);
	t->odd_value |= *r->left_out != '\0';
	t->step = step > last ? step : last;
	if (step > t->told) {
		report_step(t, r, step, socket);
		return;
	}
	(void)snprintf(why, sizeof why,
		       step ? "step %" PRIu64 " after step %" PRIu64 ": steps rise"
			    : "steps begin with 1",
		       step, last);
	if (step > t->repeat_to || step == 0)
		leave_out(t, SW_EXEC_ODD_STEP, why, socket);
	else if (socket)
		say(t, SW_ANSWERS_GOON);
}

/* A line of the socket; of stdout one that may be a report. */
static void take_report(struct sw_exec *t, const char *line, size_t len, bool socket)
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_reported r;

	if (socket ? t->metrics.cut : t->out.cut) {
		leave_out(t, SW_EXEC_ODD_LENGTH, "a report has at most 65536 bytes", socket);
		return;
	}
	const sw_status rc = sw_reported_read(&r, line, len, t->job->metric, &err);

	if (rc == SW_OK && (socket || r.has_metric))
		take_step(t, &r, socket);
	else if (socket || r.has_metric)
		leave_out(t, SW_EXEC_ODD_LINE, *err.msg ? err.msg : sw_status_str(rc), socket);
	sw_reported_fini(&r);
}

/* --- lines --- */

static void take_metrics(struct sw_exec *t)
{
	char *line;
	size_t len;

	while ((t->program.ended || !(t->asked || t->held)) &&
	       sw_lines_next(&t->metrics, &line, &len)) {
		t->by_socket = true;
		if (t->going && !t->saving)
			take_report(t, line, len, true);
		else
			say_end(t);
	}
}

bool sw_exec_may_print(const struct sw_exec *t)
{
	/* of one that has ended every line counts, and what is left is bounded */
	return t->program.ended || (!t->held && (sw_session_waiting(t->session) < WAITING_MAX ||
						 t->by_socket || !t->going));
}

static void take_stdout(struct sw_exec *t)
{
	char *line;
	size_t len;

	while (sw_exec_may_print(t) && sw_lines_next(&t->out, &line, &len)) {
		sw_output_line(&t->log, "", line, len);
		if (t->going && !t->saving && !t->by_socket && line[strspn(line, " \t")] == '{')
			take_report(t, line, len, false);
	}
}

static void take_stderr(struct sw_exec *t, struct sw_lines *from, const char *who,
			char last_words[200])
{
	char *line;
	size_t len;

	while (sw_lines_next(from, &line, &len)) {
		sw_output_line(&t->log, who, line, len);
		t->said_oom = t->said_oom || sw_oom_said(line);
		if (line[strspn(line, " \t")] != '\0')
			(void)snprintf(last_words, 200, "%s", line);
	}
}

/* Of the ranks after the first: none of it is a report. */
static void take_others(struct sw_exec *t)
{
	for (size_t i = 0; i < t->others.n; i++) {
		struct sw_rank *r = &t->others.v[i];
		char who[32], *line;
		size_t len;

		(void)snprintf(who, sizeof who, "[rank %zu] ", i + 1);
		take_stderr(t, &r->err, who, r->last_words);
		while (sw_lines_next(&r->out, &line, &len))
			sw_output_line(&t->log, who, line, len);
	}
}

void sw_exec_take_lines(struct sw_exec *t)
{
	take_stderr(t, &t->err, "", t->last_words);
	take_others(t);
	take_metrics(t);
	take_stdout(t);
	sw_output_flush(&t->log);
}
