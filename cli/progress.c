#include "cli/progress.h"
#include "base/clock.h"
#include <inttypes.h>
#include <stdio.h>

#define APART_US 200000

void sw_progress_draw(struct sw_progress *p)
{
	const int64_t now = sw_clock_mono_us();

	if (!p->on || (p->drawn_us != 0 && now - p->drawn_us < APART_US))
		return;
	p->drawn_us = now;
	(void)fprintf(stderr, "\r%" PRIu64 " of %" PRIu64 " trials, %" PRIu64 " reports", p->trials,
		      p->total, p->reports);
}

void sw_progress_clear(struct sw_progress *p)
{
	if (p->drawn_us != 0)
		(void)fprintf(stderr, "\r%*s\r", 72, "");
	p->drawn_us = 0;
}
