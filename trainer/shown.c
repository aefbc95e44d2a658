#include "trainer/shown.h"
#include "base/clock.h"
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#define EVERY_US ((int64_t)200000)

static int64_t shown_us; /* when the line was written last; 0: no line stands there */

void sw_shown(const char *fmt, ...)
{
	const int64_t now_us = sw_clock_mono_us();
	va_list args;

	/* A terminal that is slow, or far away, must not slow the work. */
	if (now_us - shown_us < EVERY_US || !isatty(STDERR_FILENO))
		return; /* not yet, or nobody waits */
	shown_us = now_us;
	va_start(args, fmt);
	(void)fputs("\r", stderr);
	(void)vfprintf(stderr, fmt, args);
	(void)fputs("\033[K", stderr);
	va_end(args);
}

void sw_shown_end(void)
{
	if (shown_us != 0)
		(void)fputs("\r\033[K", stderr);
	shown_us = 0;
}
