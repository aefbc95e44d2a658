/* worker/link/session_state.c — the state of a session and of its trial, below socket and
 * replies. */
#include "base/clock.h"
#include "worker/link/session_internal.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void sw_session_leave(struct sw_session *s)
{
	s->leave_us = sw_clock_mono_us();
	s->leave_for_us = SW_SESSION_LEAVE_US;
	if (s->config.leave)
		s->leave_why = s->config.leave(&s->leave_for_us, &s->leave_told);
}

void sw_session_quit(struct sw_session *s, enum sw_session_end end, const char *fmt, ...)
{
	va_list args;

	if (s->end != SW_SESSION_OPEN)
		return; /* the first reason says more than what follows from it */
	s->end = end;
	va_start(args, fmt);
	vsnprintf(s->why, sizeof s->why, fmt, args);
	va_end(args);
}

void sw_session_drop(struct sw_session *s, const char *fmt, ...)
{
	va_list args;

	if (*s->drop)
		return; /* as above */
	va_start(args, fmt);
	vsnprintf(s->drop, sizeof s->drop, fmt, args);
	va_end(args);
	/* no reply is waited for: reports of a dropped trial are fenced anyway */
	while (s->n)
		sw_session_report_pop(s);
}

struct report *sw_session_report_at(struct sw_session *s, size_t i)
{
	return &s->spool[(s->head + i) % SW_SESSION_SPOOL];
}

void sw_session_report_pop(struct sw_session *s)
{
	struct report *r = sw_session_report_at(s, 0);

	free(r->params);
	r->params = NULL;
	s->head = (s->head + 1) % SW_SESSION_SPOOL;
	s->n--;
	s->sent -= s->sent > 0;
}

void sw_session_release(struct sw_session *s)
{
	while (s->n)
		sw_session_report_pop(s);
	free(s->tell);
	cJSON_Delete(s->job_tree);
	s->job_tree = NULL;
	s->tell = NULL;
	s->tell_id = 0;
	s->told = false;
	s->has_job = false;
	s->left_out = 0;
	s->seq = 0;
	/* Verdicts are a trial's: the next one begins without them. */
	s->drop[0] = s->failed[0] = '\0';
	s->job = (struct sw_job){0};
}
