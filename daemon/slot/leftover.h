/*
 * daemon/slot/leftover.h — what the user's programs left running when their worker ended.
 *
 * A worker ends all that its program forked. One that was killed cannot; then the daemon does, by
 * the mark that the slot's cookie makes (base/process.h).
 */
#ifndef SW_DAEMON_SLOT_LEFTOVER_H
#define SW_DAEMON_SLOT_LEFTOVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sw_daemon;
struct sw_worker;

/* Ends what is left of the worker's slots, on libuv's pool; then calls done, on the loop. False:
 * none has a program, and done is not called. */
bool sw_leftover_end(struct sw_worker *w, void (*done)(struct sw_worker *w));
/* The same of these slots, at once: before the loop. Looks at all processes, for 20 ms at least. */
void sw_leftover_end_now(const struct sw_daemon *d, const int32_t *slot, size_t n);

#endif
