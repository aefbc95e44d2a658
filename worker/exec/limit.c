#include "worker/exec/limit.h"
#include "base/clock.h"
#include "proto/json.h"

#define NO_LIMIT 1e9                /* the most that a spec may say */
#define COUNT_US ((int64_t)1000000) /* between two looks at /proc */

/* Microseconds that are left of a key of `run`. */
static int64_t left_us(struct sw_limit *l, const cJSON *run, const char *key, int64_t since_us,
		       int64_t now_us)
{
	const int64_t most_us = (int64_t)(sw_json_number(run, key, NO_LIMIT) * 1e6);
	const int64_t left = since_us + most_us - now_us;

	if (left <= 0)
		l->overdue = key;
	return left;
}

/* Looks whether the program has more processes than it may. */
static void count_processes(struct sw_limit *l, const cJSON *run, const struct sw_program *p,
			    int64_t now_us)
{
	const double most = sw_json_number(run, "max_processes", NO_LIMIT);

	if (most >= NO_LIMIT || now_us - l->counted_us < COUNT_US)
		return; /* a look at /proc costs: once a second, and only for a spec that asks */
	l->counted_us = now_us;
	if ((double)sw_program_signal(p, 0) > most)
		l->overdue = "max_processes";
}

int sw_limit_left_ms(struct sw_limit *l, const cJSON *run, const struct sw_program *p,
		     int64_t heard_us)
{
	const int64_t now_us = sw_clock_mono_us();
	const int64_t silent_us = left_us(l, run, "silence_s", heard_us, now_us);
	const int64_t run_us = left_us(l, run, "timeout_s", l->started_us, now_us);
	const int64_t us = run_us < silent_us ? run_us : silent_us;

	count_processes(l, run, p, now_us);
	if (l->overdue)
		return 0; /* the run ends now */
	return us < INT32_MAX ? (int)(us / 1000) + 1 : INT32_MAX / 1000;
}
