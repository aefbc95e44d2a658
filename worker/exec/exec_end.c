/* worker/exec/exec_end.c — the end of a program and of all that it started. */
#include "base/clock.h"
#include "proto/json.h"
#include "worker/exec/exec_internal.h"
#include <signal.h>
#include <string.h>

#define GRACE_S 10.0
#define EXIT_US                                                                                    \
	((int64_t)2 * 1000000) /* the daemon kills a worker that it has told to end after 3 s */
#define KILL_US   ((int64_t)10 * 1000000) /* until a process that SIGKILL does not end is given up */
#define PAUSE_MAX 50                      /* milliseconds between two looks at /proc */

static int64_t grace_us(const struct sw_exec *t)
{
	const cJSON *v = sw_json_get(t->job->run, "grace_s");
	const int64_t us = (int64_t)((cJSON_IsNumber(v) ? v->valuedouble : GRACE_S) * 1e6);

	/* one that forks and forks has none */
	if (t->overdue && strcmp(t->overdue, "max_processes") == 0)
		return 0;
	return sw_session_ended(t->session) == SW_SESSION_EXIT && us > EXIT_US ? EXIT_US : us;
}

static bool is_left(const struct sw_exec *t)
{
	return sw_program_is_left(&t->program) || sw_ranks_are_left(&t->others);
}

/* Waits until nothing is left, at most so long; each look is followed by a signal where sig is not
 * 0. true: nothing is left. */
static bool wait_gone(struct sw_exec *t, int64_t us, int sig)
{
	const int64_t until = sw_clock_mono_us() + us;
	int pause_ms = 1;

	while (is_left(t)) {
		const int64_t left = until - sw_clock_mono_us();

		if (left <= 0)
			return false;
		if (sig != 0)
			(void)sw_program_signal(&t->program, sig);
		/* only the program itself says that it has ended */
		if (t->program.ended || sig != 0)
			pause_ms = pause_ms * 2 < PAUSE_MAX ? pause_ms * 2 : PAUSE_MAX;
		else
			pause_ms = 1000;
		sw_exec_pump(t, left / 1000 + 1 < pause_ms ? (int)(left / 1000 + 1) : pause_ms);
	}
	return true;
}

void sw_exec_end(struct sw_exec *t, int64_t patience_us)
{
	if (wait_gone(t, patience_us, 0))
		return;
	(void)sw_program_signal(&t->program, SIGTERM);
	if (wait_gone(t, grace_us(t), 0) || wait_gone(t, KILL_US, SIGKILL))
		return;
	sw_session_log(t->session, "%zu processes of it cannot be ended",
		       sw_program_signal(&t->program, SIGKILL));
}
