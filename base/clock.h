/*
 * base/clock.h — the two clocks: of limits and waits, and of what is stored or shown; and a table
 * of them, so that tests can run a daemon on a time of their own.
 *
 * The second starts at the wall clock's time and then counts what passes (CLOCK_BOOTTIME, time in
 * which the machine slept included). It does not follow a wall clock that is set while the process
 * runs: budgets, a trial's seconds and the order of stored moments are differences of such times,
 * also in the next process, which reads them from the store. So a step of the wall clock, for good
 * or for a moment, spends no budget; between two processes the wall clock is all there is.
 */
#ifndef SW_BASE_CLOCK_H
#define SW_BASE_CLOCK_H

#include <stdint.h>

int64_t sw_clock_mono_us(void); /* CLOCK_MONOTONIC, microseconds; never steps back */
/* Milliseconds since the epoch (UTC); never steps. Any thread. */
int64_t sw_clock_wall_ms(void);

struct sw_clock {                 /* any thread */
	int64_t (*mono_us)(void); /* as the functions above */
	int64_t (*wall_ms)(void);
	int64_t (*set_ms)(void); /* the wall clock was set ahead so far since the first wall_ms() */
};

extern const struct sw_clock sw_clock_system; /* this machine's */

#endif
