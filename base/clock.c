#include "base/clock.h"
#include <pthread.h>
#include <time.h>

static pthread_once_t anchored = PTHREAD_ONCE_INIT;
static int64_t boot_us; /* what CLOCK_BOOTTIME lacks to the wall clock of the first call */

static int64_t read_us(clockid_t id)
{
	struct timespec t;

	(void)clock_gettime(id, &t); /* cannot fail for these clocks and a valid pointer */
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

int64_t sw_clock_mono_us(void)
{
	return read_us(CLOCK_MONOTONIC);
}

static void anchor(void)
{
	/* BOOTTIME and not MONOTONIC, which stands still while the machine sleeps: a budget's time
	 * goes on. */
	boot_us = read_us(CLOCK_REALTIME) - read_us(CLOCK_BOOTTIME);
}

int64_t sw_clock_wall_ms(void)
{
	(void)pthread_once(&anchored, anchor);
	return (boot_us + read_us(CLOCK_BOOTTIME)) / 1000;
}

static int64_t wall_set_ms(void)
{
	return read_us(CLOCK_REALTIME) / 1000 - sw_clock_wall_ms();
}

const struct sw_clock sw_clock_system = {
	.mono_us = sw_clock_mono_us, .wall_ms = sw_clock_wall_ms, .set_ms = wall_set_ms};
