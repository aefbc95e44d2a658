#include "base/clock.h"
#include <time.h>

static int64_t read_us(clockid_t id)
{
	struct timespec t;

	(void)clock_gettime(id, &t); /* cannot fail for these two clocks and a valid pointer */
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

int64_t sw_clock_mono_us(void)
{
	return read_us(CLOCK_MONOTONIC);
}

int64_t sw_clock_wall_ms(void)
{
	return read_us(CLOCK_REALTIME) / 1000;
}
