/* worker/exec/exec_limit.c — for how long a program may run and be silent, and its processes. */
#include "base/clock.h"
#include "proto/json.h"
#include "worker/exec/exec_internal.h"

#define NO_LIMIT 1e9                /* the most that a spec may say */
#define COUNT_US ((int64_t)1000000) /* between two looks at /proc */

/* Microseconds that are left of a key of `run`. */
static int64_t left_us(struct sw_exec *t, const char *key, int64_t since_us, int64_t now_us)
{
	const int64_t most_us = (int64_t)(sw_json_number(t->job->run, key, NO_LIMIT) * 1e6);
	const int64_t left = since_us + most_us - now_us;

	if (left <= 0)
		t->overdue = key;
	return left;
}

static void count_processes(struct sw_exec *t, int64_t now_us)
{
	const double most = sw_json_number(t->job->run, "max_processes", NO_LIMIT);

	if (most >= NO_LIMIT || now_us - t->counted_us < COUNT_US)
		return;
	t->counted_us = now_us;
	if ((double)sw_program_signal(&t->program, 0) > most)
		t->overdue = "max_processes";
}

int sw_exec_left_ms(struct sw_exec *t)
{
	const int64_t now_us = sw_clock_mono_us();

	/* while it waits for the daemon it cannot report */
	if (t->asked || !sw_exec_may_print(t))
		t->heard_us = now_us;
	const int64_t silent_us = left_us(t, "silence_s", t->heard_us, now_us);
	const int64_t run_us = left_us(t, "timeout_s", t->started_us, now_us);
	const int64_t us = run_us < silent_us ? run_us : silent_us;

	count_processes(t, now_us);
	if (t->overdue)
		return 0;
	return us < INT32_MAX ? (int)(us / 1000) + 1 : INT32_MAX / 1000;
}
