/*
 * trainer/shown.h — how far a command is that a person waits for (fit, predict): one line on
 * stderr, written over, where stderr is a terminal; elsewhere nothing.
 */
#ifndef SW_TRAINER_SHOWN_H
#define SW_TRAINER_SHOWN_H

#include "base/status.h"

/* Shows the line, at most five times a second; else the call costs a look at the clock. */
void sw_shown(const char *fmt, ...) SW_PRINTF(1, 2);
/* Takes it away, before another line. */
void sw_shown_end(void);

#endif
