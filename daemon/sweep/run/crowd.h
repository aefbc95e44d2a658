/*
 * daemon/sweep/run/crowd.h — a trial that ran out of a GPU's memory: was it its own fault?
 *
 * Not if others had a part of that memory while it ran (struct sw_slot: beside). Then its attempt
 * is released, and from the next one on it takes all lanes of a GPU (struct sw_run: alone). If it
 * runs out of memory again, it ends as it is told.
 */
#ifndef SW_DAEMON_SWEEP_RUN_CROWD_H
#define SW_DAEMON_SWEEP_RUN_CROWD_H

#include <stdbool.h>

struct sw_event;
struct sw_running;

/* The cause of such an attempt. By the stored ones a start knows which trials run alone. */
#define SW_CROWD_CAUSE "oom beside others"

/* For the TELL of the trial's live attempt. */
bool sw_crowd_had_its_memory(const struct sw_running *live, const struct sw_event *tell);

#endif
