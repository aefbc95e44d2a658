#include "worker/link/session.h"
#include "base/beat.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"
#include "proto/json.h"
#include "proto/rpc.h"
#include "proto/silence.h"
#include "worker/link/session_internal.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#define LOGS_MAX  ((size_t)64 * 1024)
#define LOG_MAX   1000
#define OUT_MAX   ((size_t)4 * 1024 * 1024)
#define TELL_US   ((int64_t)1000000) /* between two words on the progress of a step */
#define WAIT_MS   1000               /* the longest sleep in one round */
#define DEF_RETRY 200
#define DEF_AWAY  120000

sw_status sw_session_create(struct sw_session **out, const struct sw_session_config *config,
			    struct sw_err *err)
{
	struct sockaddr_un at;
	struct sw_session *s;

	*out = NULL;
	if (strlen(config->socket) >= sizeof at.sun_path)
		return sw_err_set(err, SW_INVALID, "the path of the socket is over %zu bytes",
				  sizeof at.sun_path - 1);
	s = sw_calloc(1, sizeof *s);
	if (s)
		s->spool = sw_calloc(SW_SESSION_SPOOL, sizeof *s->spool);
	if (!s || !s->spool) {
		free(s);
		return sw_err_set(err, SW_NOMEM, "no memory for the session");
	}
	s->config = *config;
	s->config.retry_ms = config->retry_ms ? config->retry_ms : DEF_RETRY;
	s->config.away_ms = config->away_ms ? config->away_ms : DEF_AWAY;
	s->retry_ms = s->config.retry_ms;
	s->fd = -1;
	s->lost_at = sw_clock_mono_us();
	/* Several signs of life in the time after which the daemon takes a worker for hung. */
	s->beat_us = sw_silent_us() / 6;
	sw_frame_init(&s->in);
	sw_buf_init(&s->out, OUT_MAX);
	sw_buf_init(&s->logs, LOGS_MAX);
	*out = s;
	return SW_OK;
}

void sw_session_destroy(struct sw_session *s)
{
	if (!s)
		return;
	sw_session_release(s);
	if (s->fd >= 0)
		close(s->fd);
	sw_frame_fini(&s->in);
	sw_buf_fini(&s->out);
	sw_buf_fini(&s->logs);
	free(s->spool);
	free(s);
}

enum sw_session_end sw_session_ended(const struct sw_session *s)
{
	return s->end;
}

const char *sw_session_why(const struct sw_session *s)
{
	return s->why;
}

int64_t sw_session_leaving(const struct sw_session *s)
{
	if (s->leave_us == 0 || s->end != SW_SESSION_OPEN)
		return 0; /* it is asked before each batch: no look at the clock for that */
	const int64_t left = s->leave_us + s->leave_for_us - sw_clock_mono_us();

	return left > 0 ? left : 1;
}

const char *sw_session_leaving_why(const struct sw_session *s)
{
	return s->leave_why ? s->leave_why : "the daemon ends";
}

bool sw_session_may_begin(struct sw_session *s)
{
	return sw_session_go_on(s) && sw_session_leaving(s) == 0;
}

const char *sw_session_dropped(const struct sw_session *s)
{
	return s->drop;
}

const char *sw_session_refused(const struct sw_session *s)
{
	return s->failed;
}

size_t sw_session_waiting(const struct sw_session *s)
{
	return s->n;
}

/* Milliseconds until the session gives up: away_ms after `since` or after its loss, whichever is
 * later. 0: it has ended now. */
static int64_t patience_left(struct sw_session *s, int64_t since)
{
	const int64_t from = s->lost_at > since ? s->lost_at : since;
	const int64_t left = (from - sw_clock_mono_us()) / 1000 + (int64_t)s->config.away_ms;

	if (left <= 0)
		sw_session_quit(s, SW_SESSION_LOST, "no daemon at %s for %u s", s->config.socket,
				s->config.away_ms / 1000);
	return left < 0 ? 0 : left;
}

/* Waits for one round, at most `wait` milliseconds. since: as sw_session_wait() has it. */
static void wait_round_with(struct sw_session *s, struct pollfd *fds, size_t n, int64_t wait,
			    int64_t since)
{
	const int64_t beat = s->beat_us / 1000 + 1;

	/* Never longer than until the next sign of life is due. */
	wait = beat < wait ? beat : wait;
	if (!s->greeted && since != 0) {
		const int64_t left = patience_left(s, since);

		if (left == 0)
			return; /* it has given up just now */
		wait = left < wait ? left : wait;
	}
	if (s->greeted && s->resend_at > sw_clock_mono_us()) {
		const int64_t left = (s->resend_at - sw_clock_mono_us()) / 1000 + 1;

		wait = left < wait ? left : wait;
	}
	sw_session_pump(s, fds, n, (int)wait);
	/* for ranks that wait for this one; after what came was read, or it would be waited for */
	sw_beat();
}

static void wait_round(struct sw_session *s, int64_t since)
{
	wait_round_with(s, NULL, 0, WAIT_MS, since);
}

/* Asks for a trial; a job that the machine could not begin is given back with it. */
static void next_request(struct sw_session *s)
{
	struct sw_buf params;
	struct sw_jw w;

	sw_buf_init(&params, 4096);
	sw_jw_init_obj(&w, &params);
	if (*s->refused)
		sw_jw_kstr(&w, "refused", s->refused);
	sw_jw_obj_end(&w);
	if (params.failed == SW_OK)
		s->next_id = sw_session_request(s, "worker.next", params.data);
	sw_buf_fini(&params);
}

bool sw_session_next(struct sw_session *s, const struct sw_job **job)
{
	const int64_t since = sw_clock_mono_us();

	*job = NULL;
	/* The trial before is over: the reply that its job points into is given back. */
	sw_session_release(s);
	if (s->leave_us != 0)
		sw_session_quit(s, SW_SESSION_EXIT, "%s",
				s->leave_why ? s->leave_why : "told to end");
	while (s->end == SW_SESSION_OPEN && !s->has_job) {
		if (s->greeted && s->next_id == 0 && sw_clock_mono_us() >= s->resend_at)
			next_request(s);
		wait_round(s, since);
	}
	if (s->end != SW_SESSION_OPEN)
		return false;
	*job = &s->job;
	return true;
}

static bool going(const struct sw_session *s)
{
	return s->end == SW_SESSION_OPEN && !*s->drop && !*s->failed;
}

bool sw_session_go_on(struct sw_session *s)
{
	sw_session_pump(s, NULL, 0, 0);
	return going(s);
}

bool sw_session_wait(struct sw_session *s, struct pollfd *fds, size_t n, int timeout_ms,
		     int64_t since_us)
{
	/* the caller's descriptors count after the end, too: a program is still to be ended */
	if (s->end == SW_SESSION_OPEN) {
		wait_round_with(s, fds, n, timeout_ms < WAIT_MS ? timeout_ms : WAIT_MS, since_us);
		return going(s);
	}
	(void)poll(fds, (nfds_t)n, timeout_ms);
	return false;
}

/* Begins the params of a message on the trial at hand: {"sweep":..,"trial":..,"attempt":.. and no
 * end */
static void job_params(struct sw_buf *params, struct sw_jw *w, const struct sw_job *j)
{
	sw_buf_init(params, SW_FRAME_MAX / 2);
	sw_jw_init_obj(w, params);
	sw_jw_kint(w, "sweep", (int64_t)j->sweep);
	sw_jw_kint(w, "trial", (int64_t)j->trial);
	sw_jw_kint(w, "attempt", (int64_t)j->attempt);
}

static void add_left_out(struct sw_session *s, struct sw_jw *w)
{
	if (s->left_out == 0)
		return;
	sw_jw_kint(w, "left_out", (int64_t)s->left_out);
	sw_jw_kstr(w, "left_why", s->left_why);
	s->left_out = 0;
}

bool sw_session_report(struct sw_session *s, uint64_t step, const char *metrics, bool checkpoint)
{
	const int64_t since = sw_clock_mono_us();
	struct sw_buf params;
	struct sw_jw w;
	struct report *r;

	/* with a daemon the window is the bound, which slows the trial; without one the spool */
	while (going(s) &&
	       s->n >= (s->greeted ? (size_t)SW_SESSION_OUTSTANDING : (size_t)SW_SESSION_SPOOL))
		wait_round(s, since);
	if (!going(s))
		return false;
	job_params(&params, &w, &s->job);
	sw_jw_kint(&w, "seq", (int64_t)++s->seq);
	sw_jw_kint(&w, "step", (int64_t)step);
	sw_jw_kraw(&w, "metrics", metrics);
	if (checkpoint)
		sw_jw_kbool(&w, "checkpoint", true);
	add_left_out(s, &w);
	sw_jw_obj_end(&w);
	/* Kept until it is answered: after a lost connection it is sent again, and the daemon knows
	 * it by its seq. */
	r = sw_session_report_at(s, s->n);
	*r = (struct report){.seq = s->seq, .params = sw_buf_take(&params, NULL)};
	sw_buf_fini(&params);
	if (!r->params) {
		sw_session_quit(s, SW_SESSION_BROKEN, "no memory for a report");
		return false;
	}
	s->n++;
	sw_session_pump(s, NULL, 0, 0);
	return going(s);
}

bool sw_session_settle(struct sw_session *s)
{
	const int64_t since = sw_clock_mono_us();

	while (going(s) && s->n > 0)
		wait_round(s, since);
	return going(s);
}

/* Queues a notification; takes params. One that does not fit is lost, and the next that does is
 * taken again. */
static void notify(struct sw_session *s, const char *method, struct sw_buf *params)
{
	struct sw_buf line;

	sw_buf_init(&line, LOGS_MAX);
	if (params->failed == SW_OK) {
		sw_rpc_write_notification(&line, method, params->data);
		/* Whole lines alone: half of one would spoil the next. */
		if (sw_buf_adds(&line, "\n") == SW_OK &&
		    sw_buf_add(&s->logs, line.data, line.len) != SW_OK)
			s->logs.failed = SW_OK;
	}
	sw_buf_fini(&line);
	sw_buf_fini(params);
	sw_session_flush(s);
}

void sw_session_progress(struct sw_session *s, uint64_t done, uint64_t total)
{
	const int64_t now_us = sw_clock_mono_us();
	struct sw_buf params;
	struct sw_jw w;

	if (now_us - s->progress_us < TELL_US || !s->greeted || !s->has_job)
		return; /* not yet, or nobody hears it */
	if (s->out.len > 0 || s->logs.len > 0)
		return; /* the daemon does not read: reports and the log need the room */
	s->progress_us = now_us;
	job_params(&params, &w, &s->job);
	sw_jw_kint(&w, "done", (int64_t)done);
	sw_jw_kint(&w, "total", (int64_t)total);
	sw_jw_obj_end(&w);
	notify(s, "worker.progress", &params);
}

void sw_session_launcher(struct sw_session *s, uint64_t bytes)
{
	struct sw_buf params;
	struct sw_jw w;

	sw_buf_init(&params, LOGS_MAX);
	sw_jw_init_obj(&w, &params);
	sw_jw_kint(&w, "bytes", (int64_t)bytes);
	sw_jw_obj_end(&w);
	notify(s, "worker.launcher", &params);
}

void sw_session_log(struct sw_session *s, const char *fmt, ...)
{
	char text[LOG_MAX + 1];
	struct sw_buf params;
	struct sw_jw w;
	va_list args;

	if (!s->has_job)
		return; /* the lines are a trial's: there is nothing to add them to */
	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	job_params(&params, &w, &s->job);
	sw_jw_kstr(&w, "text", text);
	sw_jw_obj_end(&w);
	notify(s, "worker.log", &params);
}

/* Makes s->tell. false: no memory, the session has ended. */
static bool tell_make(struct sw_session *s, const char *state, const char *cause)
{
	struct sw_buf params;
	struct sw_jw w;

	job_params(&params, &w, &s->job);
	sw_jw_kstr(&w, "state", state);
	if (cause)
		sw_jw_kstr(&w, "cause", cause);
	add_left_out(s, &w);
	sw_jw_obj_end(&w);
	s->tell = sw_buf_take(&params, NULL);
	sw_buf_fini(&params);
	if (!s->tell)
		sw_session_quit(s, SW_SESSION_BROKEN, "no memory to tell how a trial ended");
	return s->tell != NULL;
}

/* Copies at most max bytes, not through the middle of a UTF-8 sequence. */
static void copy_cut(char *to, size_t max, const char *text)
{
	size_t n = strnlen(text, max + 1);

	if (n > max)
		for (n = max; n > 0 && (text[n] & 0xC0) == 0x80; n--)
			;
	memcpy(to, text, n);
	to[n] = '\0';
}

void sw_session_left_out(struct sw_session *s, const char *why)
{
	if (s->left_out++ == 0)
		copy_cut(s->left_why, sizeof s->left_why - 1, why);
}

void sw_session_finish(struct sw_session *s, const char *state, const char *cause)
{
	const int64_t since = sw_clock_mono_us();
	char cut[180];

	/* An answer may still stop or refuse the trial, which counts for more than its own end. */
	while (s->end == SW_SESSION_OPEN && !*s->drop && s->n > 0)
		wait_round(s, since);
	/* a report that was refused outweighs how the trial itself ended */
	if (*s->failed) {
		state = "FAILED";
		cause = s->failed;
	}
	if (cause)
		copy_cut(cut, sizeof cut - 1, cause);
	if (s->end == SW_SESSION_OPEN && !*s->drop && tell_make(s, state, cause ? cut : NULL))
		while (s->end == SW_SESSION_OPEN && !*s->drop && !s->told)
			wait_round(s, since);
}

bool sw_session_told(const struct sw_session *s)
{
	return s->told;
}

void sw_session_refuse(struct sw_session *s, const char *why)
{
	copy_cut(s->refused, sizeof s->refused - 1, why);
	sw_text_plain(s->refused);
	sw_session_release(s);
}

void sw_session_bye(struct sw_session *s, const char *cause, unsigned rank)
{
	struct sw_buf params;
	struct sw_jw w;

	if (!s->greeted)
		return; /* the daemon finds out by the connection that it has lost */
	if (*s->refused && s->next_id == 0)
		next_request(s); /* or the trial that it gave back would count as lost */
	sw_buf_init(&params, 4096);
	sw_jw_init_obj(&w, &params);
	sw_jw_kstr(&w, "cause", cause);
	if (s->end == SW_SESSION_EXIT && s->leave_why)
		sw_jw_kstr(&w, "end", s->leave_told ? "told" : "time");
	sw_jw_kint(&w, "rank", rank);
	sw_jw_obj_end(&w);
	/* Written at once, for no round comes after this; no answer is waited for. */
	if (params.failed == SW_OK && sw_session_request(s, "worker.bye", params.data) != 0)
		sw_session_write(s);
	sw_buf_fini(&params);
}
