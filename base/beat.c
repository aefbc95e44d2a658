#include "base/beat.h"
#include "base/clock.h"
#include <errno.h>
#include <stddef.h>

/* A thread's own: a hook that each reader of data would have to be given would reach them all. */
static _Thread_local struct {
	void (*listen)(void *ctx);
	void *ctx;
	int64_t every_us, next_us;
} listener;

void sw_beat_to(void (*listen)(void *ctx), void *ctx, int64_t every_us)
{
	listener.listen = listen;
	listener.ctx = ctx;
	listener.every_us = every_us;
	/* The first beat is told at once. */
	listener.next_us = 0;
}

void sw_beat(void)
{
	const int saved = errno; /* a loop may beat between a call and its error */
	int64_t now_us;

	/* Nobody listens on this thread. */
	if (listener.listen == NULL)
		return;
	now_us = sw_clock_mono_us();
	/* Loops beat far more often than anybody wants to hear. */
	if (now_us < listener.next_us)
		return;
	listener.next_us = now_us + listener.every_us;
	listener.listen(listener.ctx);
	errno = saved;
}
