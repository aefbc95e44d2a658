#include "worker/exec/reports.h"
#include "base/clock.h"
#include "proto/json.h"
#include "worker/exec/reported.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Reports by stdout that may wait for their answers: below what would make the session wait. */
#define WAITING_MAX (SW_SESSION_OUTSTANDING / 2)
#define ODD_NAMED   3 /* lines of each kind that the trial's log names */

static const struct sw_program *program_of(const struct sw_reports *r)
{
	return &r->ranks->v[0].program;
}

void sw_reports_begin(struct sw_reports *r)
{
	sw_answers_init(&r->answers);
	r->heard_us = sw_clock_mono_us();
	r->step = r->asked->folder.step;
	r->by_socket = r->due = r->held = false;
}

/* --- answers --- */

/* Sends an answer at once, as far as the socket takes it. */
static void say(struct sw_reports *r, const char *line)
{
	sw_answers_add(&r->answers, line);
	if (program_of(r)->metrics >= 0)
		sw_answers_send(&r->answers, program_of(r)->metrics);
}

/* decision, key: NULL leaves it out. */
static void say_object(struct sw_reports *r, const char *decision, const char *key,
		       const char *value)
{
	struct sw_buf b;
	struct sw_jw w;

	sw_buf_init(&b, 4096);
	sw_jw_init_obj(&w, &b);
	if (decision)
		sw_jw_kstr(&w, "decision", decision);
	if (key)
		sw_jw_kstr(&w, key, value);
	sw_jw_obj_end(&w);
	if (sw_buf_adds(&b, "\n") == SW_OK)
		say(r, b.data);
	sw_buf_fini(&b);
}

/* Says how the trial ends: it pauses, it stops, or its report was refused. */
static void say_end(struct sw_reports *r)
{
	const char *why = sw_session_dropped(r->asked->session);
	const char *refused = sw_session_refused(r->asked->session);
	const bool pause = strcmp(why, "decision pause") == 0;

	if (*refused)
		say_object(r, NULL, "error", refused);
	else
		say_object(r, pause ? "pause" : "stop", NULL, NULL);
}

bool sw_reports_wait(const struct sw_reports *r)
{
	return r->due || r->held;
}

bool sw_reports_tell_end(struct sw_reports *r)
{
	const bool told = r->due && !program_of(r)->ended;

	if (told)
		say_end(r);
	r->due = r->held = false;
	return told;
}

/* Answers the program if the daemon has answered, so that further lines may be taken. */
static bool answer(struct sw_reports *r)
{
	/* an answer means that the daemon has the report, on its disk */
	if (!r->asked->going || !sw_reports_wait(r) || sw_session_waiting(r->asked->session) > 0)
		return false;
	/* its worker is to end: it goes on later, as after a pause */
	if (r->due && sw_session_leaving(r->asked->session))
		say_object(r, "pause", NULL, NULL);
	else if (r->due)
		say(r, SW_ANSWERS_GOON);
	r->heard_us = sw_clock_mono_us();
	r->due = r->held = false;
	return true;
}

/* --- reports --- */

/* Makes the folder a checkpoint if there is something in it. */
static bool keep_folder(struct sw_reports *r, uint64_t step)
{
	struct sw_asked *a = r->asked;
	struct sw_err err = SW_ERR_INIT;

	if (!sw_folder_is_empty(&a->folder) && sw_folder_keep(&a->folder, step, &err) == SW_OK) {
		if (*a->folder.is_open)
			sw_session_log(a->session,
				       "checkpoint of step %" PRIu64 ": %s is still open for "
				       "writing: close it before the report, or it changes",
				       step, a->folder.is_open);
		return true;
	}
	if (*err.msg || !r->said_empty) /* a program that keeps nothing is told once */
		sw_session_log(a->session, "no checkpoint of step %" PRIu64 ": %s", step,
			       *err.msg ? err.msg : "SWEEPD_CHECKPOINT_DIR is empty");
	r->said_empty = true;
	return false;
}

/* Must nothing write into the folder before this step is reported? */
static bool must_rest(const struct sw_job *j, uint64_t step, bool at_until)
{
	return at_until || (j->checkpoint_every && step % j->checkpoint_every == 0) ||
	       (j->checkpoint_end && j->max_t && step >= j->max_t);
}

static void report_step(struct sw_reports *r, uint64_t step, const char *metrics, bool kept)
{
	r->told = step;
	r->asked->going = sw_session_report(r->asked->session, step, metrics, kept);
}

/* Reports a step that the daemon does not know yet, with a checkpoint where one is due. */
static void take_new_step(struct sw_reports *r, struct sw_reported *line, uint64_t step,
			  bool socket)
{
	struct sw_asked *a = r->asked;
	/* The answer has the next `until`. A report without the metric is not judged: it has none,
	 * and the next one is at it again. */
	const bool at_until = a->job->until && step >= a->job->until && line->has_metric;
	const bool rest = must_rest(a->job, step, at_until);

	if (rest && !socket && !program_of(r)->ended && !sw_folder_is_empty(&a->folder)) {
		/* It does not wait for an answer, and may be writing: sw_reports_save() goes on. */
		r->saving = true;
		r->saving_step = step;
		r->saving_metrics = line->text;
		sw_buf_init(&line->text, 0);
		return;
	}
	/* The folder is a checkpoint before its report is sent, which promises it. */
	report_step(r, step, line->text.data, (rest || line->checkpoint) && keep_folder(r, step));
	/* stdout has no answers; at `until` it is not read on before the decision is known */
	r->due = socket;
	r->held = !socket && at_until;
	r->since_us = sw_clock_mono_us();
}

void sw_reports_save(struct sw_reports *r)
{
	if (r->asked->going)
		report_step(r, r->saving_step, r->saving_metrics.data,
			    keep_folder(r, r->saving_step));
	sw_buf_fini(&r->saving_metrics);
	r->saving = false;
}

/* A line that is no report: the answer says why, and for the first of each kind the trial's log. */
static void leave_out(struct sw_reports *r, enum sw_reports_odd kind, const char *why, bool socket)
{
	const uint64_t line = socket ? r->ranks->metrics.number : r->ranks->v[0].out.number;
	char text[200];

	(void)snprintf(text, sizeof text, "line %" PRIu64 ": %s", line, why);
	sw_session_left_out(r->asked->session, text);
	sw_printed_odd(&r->printed, line, why, true);
	if (r->odd[kind]++ < ODD_NAMED)
		sw_session_log(r->asked->session, "reports: left out of %s: %s%s",
			       socket ? "the socket" : "stdout", text,
			       r->odd[kind] == ODD_NAMED ? "; more of this kind are not named"
							 : "");
	if (socket)
		say_object(r, "continue", "not_stored", text);
}

/* Takes a report, unless the daemon knows its step or its step falls. */
static void take_step(struct sw_reports *r, struct sw_reported *line, bool socket)
{
	const uint64_t step = line->has_step ? line->step : r->step + 1, last = r->step;
	char why[80];

	r->heard_us = sw_clock_mono_us();
	/* A step that is repeated counts, too: the daemon has its metric. */
	r->has_metric |= line->has_metric && (step > r->told || (step > 0 && step <= r->repeat_to));
	if (*line->left_out && !r->odd_value)
		sw_session_log(r->asked->session, "reports: %s is left out: it is no number",
			       line->left_out);
	r->odd_value |= *line->left_out != '\0';
	r->step = step > last ? step : last;
	if (step > r->told) {
		take_new_step(r, line, step, socket);
		return;
	}
	(void)snprintf(why, sizeof why,
		       step ? "step %" PRIu64 " after step %" PRIu64 ": steps rise"
			    : "steps begin with 1",
		       step, last);
	if (step > r->repeat_to || step == 0)
		leave_out(r, SW_REPORTS_ODD_STEP, why, socket);
	else if (socket)
		say(r, SW_ANSWERS_GOON); /* an earlier run reported this step: the daemon has it */
}

/* {"progress":[40,128]}: how far the step is. It is no report, and has no answer. */
static bool take_progress(struct sw_reports *r, const char *line, size_t len)
{
	cJSON *tree = NULL;

	if (!strstr(line, "\"progress\"") || sw_json_parse(&tree, line, len, NULL) != SW_OK)
		return false;
	const cJSON *of = sw_json_get(tree, "progress");
	const bool is = cJSON_IsArray(of) && !tree->child->next;
	uint64_t done, total;

	if (is && cJSON_GetArraySize(of) == 2 && sw_json_u64(of->child, &done) &&
	    sw_json_u64(of->child->next, &total) && done <= total && total > 0)
		sw_session_progress(r->asked->session, done, total);
	else if (is && r->odd[SW_REPORTS_ODD_PROGRESS]++ == 0)
		sw_session_log(r->asked->session,
			       "reports: line %" PRIu64 " of the socket is no progress: that is "
			       "[done, total], whole numbers, 0 <= done <= total, total above 0",
			       r->ranks->metrics.number);
	cJSON_Delete(tree);
	return is;
}

/* A line of the socket, or of stdout one that may be a report. */
static void take_line(struct sw_reports *r, const char *line, size_t len, bool socket)
{
	struct sw_err err = SW_ERR_INIT;
	struct sw_reported read;

	if (socket ? r->ranks->metrics.cut : r->ranks->v[0].out.cut) {
		leave_out(r, SW_REPORTS_ODD_LENGTH, "a report has at most 65536 bytes", socket);
		return;
	}
	const sw_status rc = sw_reported_read(&read, line, len, r->asked->job->metric,
					      r->has_metric ? NULL : &r->printed, &err);
	const char *why = rc == SW_OK ? read.why : *err.msg ? err.msg : sw_status_str(rc);

	if (rc == SW_OK && (socket || read.has_metric))
		take_step(r, &read, socket);
	else if (socket || read.has_metric)
		leave_out(r, SW_REPORTS_ODD_LINE, why, socket);
	if (*why)
		sw_printed_odd(&r->printed,
			       socket ? r->ranks->metrics.number : r->ranks->v[0].out.number, why,
			       rc == SW_OK || read.has_metric);
	sw_reported_fini(&read);
}

/* A printed line that may be a report as people write it. False: it is none. Programs count from 0,
 * and steps begin with 1. */
static bool take_text(struct sw_reports *r, const char *line)
{
	struct sw_reported read;
	const bool is = sw_reported_text(&read, line, r->asked->job->metric) == SW_OK &&
			read.has_metric;

	if (is && read.has_step && read.step == 0)
		sw_folder_counts_from_zero(&r->asked->folder);
	read.step += r->asked->folder.from_zero;
	if (is)
		take_step(r, &read, false);
	sw_reported_fini(&read);
	return is;
}

/* A printed line that begins otherwise than a report does. */
static void note_text(struct sw_reports *r, const char *line, size_t len)
{
	const char *open = memchr(line, '{', len);
	struct sw_err err = SW_ERR_INIT;
	struct sw_reported read;

	if (r->has_metric)
		return; /* there is nothing to explain */
	sw_printed_text(&r->printed, line, r->asked->job->metric);
	if (!open)
		return;
	if (sw_reported_read(&read, open, len - (size_t)(open - line), r->asked->job->metric, NULL,
			     &err) == SW_OK &&
	    read.has_metric)
		sw_printed_odd(&r->printed, r->ranks->v[0].out.number,
			       "text stands before the object: a report begins its line", true);
	sw_reported_fini(&read);
}

/* --- lines --- */

/* Takes the lines of the socket: each is a report, and the next is not read before its answer. */
static void take_socket(struct sw_reports *r)
{
	char *line;
	size_t len;

	while ((program_of(r)->ended || !sw_reports_wait(r)) &&
	       sw_lines_next(&r->ranks->metrics, &line, &len)) {
		if (take_progress(r, line, len))
			continue;
		r->by_socket = true;
		if (r->asked->going && !r->saving)
			take_line(r, line, len, true);
		else
			say_end(r);
	}
}

bool sw_reports_may_print(const struct sw_reports *r)
{
	/* of one that has ended every line counts, and what is left is bounded */
	return program_of(r)->ended ||
	       (!r->held && (sw_session_waiting(r->asked->session) < WAITING_MAX || r->by_socket ||
			     !r->asked->going));
}

static bool is_json(const char *object, size_t len)
{
	cJSON *tree = NULL;
	const bool is = sw_json_parse(&tree, object, len, NULL) == SW_OK;

	cJSON_Delete(tree);
	return is;
}

/* Takes a line of what it prints: a report, or not. */
static void take_printed(struct sw_reports *r, const char *line, size_t len)
{
	const bool takes = r->asked->going && !r->saving && !r->by_socket;
	const char *object = sw_reported_object(line, &len);

	if (takes && r->ranks->text && !(object && is_json(object, len)) && take_text(r, line))
		return;
	if (object && takes)
		take_line(r, object, len, false);
	else if (!object)
		note_text(r, line, len);
}

/* Takes the lines of its stdout, and of its stderr where reports may stand there. All are kept. */
static void take_prints(struct sw_reports *r)
{
	struct sw_rank *k = &r->ranks->v[0];
	char *line;
	size_t len;

	while (sw_reports_may_print(r) && sw_lines_next(&k->out, &line, &len)) {
		sw_output_line(&r->ranks->log, "", line, len);
		take_printed(r, line, len);
	}
	while (r->ranks->text && sw_reports_may_print(r) && sw_lines_next(&k->err, &line, &len)) {
		sw_output_line(&r->ranks->log, "", line, len);
		sw_words_take(&k->words, line);
		if (r->asked->going && !r->saving && !r->by_socket)
			(void)take_text(r, line);
	}
}

void sw_reports_take(struct sw_reports *r)
{
	/* An answer may let more lines be taken, and these be answered at once. */
	do {
		sw_ranks_keep_lines(r->ranks);
		take_socket(r);
		take_prints(r);
		sw_output_flush(&r->ranks->log);
	} while (answer(r));
}
