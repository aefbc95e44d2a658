#include "worker/exec/pump.h"
#include "base/clock.h"
#include "proto/json.h"
#include "worker/exec/launcher.h"
#include <signal.h>

#define REAP_US     ((int64_t)1000000)
#define DRAIN_READS 32 /* enough for a full pipe; a bound for one that is written for ever */
#define GRACE_S     10.0
#define EXIT_US     ((int64_t)2000000)  /* of an end without the daemon */
#define REPORT_US   ((int64_t)2000000)  /* of the time to leave: for the report of what it kept */
#define OWN_US      ((int64_t)3000000)  /* for what leads a session of its own */
#define KILL_US     ((int64_t)10000000) /* then a process that SIGKILL does not end is given up */
#define PAUSE_MAX   50                  /* milliseconds between two looks at /proc */

/* Once a second: reaps what the program's processes left, and looks for a bar on its stderr. */
static void reap_at_times(struct sw_ranks *r, const struct sw_asked *a)
{
	const struct sw_lines *err = &r->v[0].err;
	const int64_t now_us = sw_clock_mono_us();

	if (now_us - r->reaped_us < REAP_US)
		return; /* a second at the most passes until a zombie is gone */
	r->reaped_us = now_us;
	/* a bar's line has no end yet */
	const int percent = sw_words_percent(err->data + err->from, err->n - err->from);

	if (percent >= 0)
		sw_session_progress(a->session, (uint64_t)percent, 100);
	sw_program_reap();
	if (a->site->launchers)
		sw_launchers_look(a->site->launchers, a->session);
}

void sw_pump_once(struct sw_reports *r, int timeout_ms)
{
	struct sw_asked *a = r->asked;
	const struct sw_program *p = &r->ranks->v[0].program;
	struct pollfd fds[SW_SESSION_FDS];
	const bool waits = sw_reports_wait(r) && !p->ended;
	const short in = r->ranks->metrics.ended || waits ? 0 : POLLIN;
	size_t n = 0;

	sw_ranks_watch(r->ranks, (short)(in | (r->answers.n > 0 ? POLLOUT : 0)),
		       sw_reports_may_print(r), fds, &n);
	/* while the program waits for an answer, so does the session: then it gives up in time */
	a->going = sw_session_wait(a->session, fds, n, timeout_ms, waits ? r->since_us : 0);
	for (size_t i = 0; i < n; i++) {
		if (fds[i].revents == 0)
			continue;
		if (fds[i].fd == p->metrics && r->answers.n > 0)
			sw_answers_send(&r->answers, fds[i].fd);
		/* a socket that is only written to is not read: its line waits for an answer */
		if (fds[i].events & POLLIN)
			sw_ranks_take(r->ranks, fds[i].fd);
	}
	sw_reports_take(r);
	reap_at_times(r->ranks, a);
}

void sw_pump_drain(struct sw_reports *r)
{
	bool more = true;

	for (int i = 0; more && i < DRAIN_READS; i++) {
		/* Lines are taken between two reads, or the rooms for them would fill up. */
		more = sw_ranks_read(r->ranks);
		sw_reports_take(r);
	}
}

/* Waits until a part of what is left is gone, at most so long; each look is followed by a signal to
 * it where sig is not 0. true: nothing at all is left. */
static bool wait_gone(struct sw_reports *r, enum sw_program_part part, int sig,
		      struct sw_told *told, int64_t us)
{
	const struct sw_program *p = &r->ranks->v[0].program;
	const int64_t until = sw_clock_mono_us() + us;
	int pause_ms = 1;

	while (sw_ranks_are_left(r->ranks)) {
		const int64_t left = until - sw_clock_mono_us();

		/* of all a look may miss what is left, or fail: then it is looked for again */
		if (left <= 0 || (sig != 0 && sw_program_signal(p, part, sig, told) == 0 &&
				  part != SW_PROGRAM_ALL))
			return false;
		/* only the program itself says that it has ended */
		if (p->ended || sig != 0)
			pause_ms = pause_ms * 2 < PAUSE_MAX ? pause_ms * 2 : PAUSE_MAX;
		else
			pause_ms = 1000;
		sw_pump_once(r, left / 1000 + 1 < pause_ms ? (int)(left / 1000 + 1) : pause_ms);
	}
	return true;
}

/* Ends the program and the other ranks alone. */
static void end_ranks(struct sw_reports *r, int sig, int64_t us)
{
	const int64_t until = sw_clock_mono_us() + us;
	int64_t left;

	(void)sw_ranks_signal(r->ranks, sig);
	/* Its pipes are read meanwhile: a program that saves may print, and must not wait for
	 * room. */
	while (sw_ranks_signal(r->ranks, 0) > 0 && (left = until - sw_clock_mono_us()) > 0)
		sw_pump_once(r, left < 1000000 ? (int)(left / 1000 + 1) : 1000);
}

/* Microseconds from SIGTERM to SIGKILL, of the program. */
static int64_t grace_us(const struct sw_asked *a)
{
	const int64_t us = (int64_t)(sw_json_number(a->job->run, "grace_s", GRACE_S) * 1e6);
	const int64_t left_us = sw_session_leaving(a->session);
	const int64_t most_us = sw_session_ended(a->session) == SW_SESSION_EXIT ? EXIT_US
				: left_us > REPORT_US ? left_us - REPORT_US
				: left_us != 0        ? 0
						      : INT64_MAX;

	return us < most_us ? us : most_us;
}

/* The rest of the grace, for helpers: OWN_US at least, unless the worker is to end, too, and
 * reports have to be sent before. */
static int64_t helpers_us(const struct sw_asked *a, int64_t until)
{
	const int64_t left_us = until - sw_clock_mono_us();
	const bool ends = sw_session_leaving(a->session) != 0 ||
			  sw_session_ended(a->session) == SW_SESSION_EXIT;

	return left_us > OWN_US || ends ? left_us : OWN_US;
}

/* A program may share memory with its helpers, which has to be whole while it saves: each helper
 * gets SIGTERM when its parent has ended, by itself or by SIGKILL at the end of the grace. Leaders
 * of sessions of their own come last: torch_shm_manager frees memory 2 s after its clients, and
 * ends. true: nothing is left. */
static bool end_in_order(struct sw_reports *r)
{
	const struct sw_program *p = &r->ranks->v[0].program;
	const int64_t until = sw_clock_mono_us() + grace_us(r->asked);
	struct sw_told told = {.n = 0};
	int64_t us;

	end_ranks(r, SIGTERM, until - sw_clock_mono_us());
	end_ranks(r, SIGKILL, KILL_US);
	return wait_gone(r, SW_PROGRAM_TOPS, SIGTERM, &told, helpers_us(r->asked, until)) ||
	       wait_gone(r, SW_PROGRAM_HELPERS, SIGKILL, NULL, KILL_US) ||
	       wait_gone(r, SW_PROGRAM_ALL, 0, NULL,
			 (us = helpers_us(r->asked, until)) < OWN_US ? us : OWN_US) ||
	       (sw_program_signal(p, SW_PROGRAM_ALL, SIGTERM, &told) > 0 &&
		wait_gone(r, SW_PROGRAM_ALL, 0, NULL, helpers_us(r->asked, until)));
}

void sw_pump_end(struct sw_reports *r, int64_t patience_us, bool has_grace)
{
	const bool gone = wait_gone(r, SW_PROGRAM_ALL, 0, NULL, patience_us);

	sw_ranks_blame(r->ranks); /* a signal that ended one until now was another's */
	if (!gone && !(has_grace && end_in_order(r)) &&
	    !wait_gone(r, SW_PROGRAM_ALL, SIGKILL, NULL, KILL_US))
		sw_session_log(
			r->asked->session, "%zu processes of it cannot be ended",
			sw_program_signal(&r->ranks->v[0].program, SW_PROGRAM_ALL, SIGKILL, NULL));
	/* After the end only what lies in the pipes is left. */
	sw_pump_drain(r);
	sw_ranks_end_lines(r->ranks); /* also a last line without an end counts now */
	sw_reports_take(r);
	sw_ranks_close(r->ranks);
}
