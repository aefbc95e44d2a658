/* daemon/api/why_words.h — decisions, queues and waits in words, for trial.why. Values are as
 * reported, not oriented. */
#ifndef SW_DAEMON_API_WHY_WORDS_H
#define SW_DAEMON_API_WHY_WORDS_H

#include "base/buf.h"
#include "sched/pruner/pruner.h"
#include "store/rows.h"
#include <stdbool.h>

struct sw_running;

/* "at rung 9: rank 5 of 12, cutoff 0.413, value 0.447": what the pruner of that kind looked at, in
 * its own words. brackets: there are several, so the row's is named. Any thread. */
void sw_why_decision(enum sw_pruner_kind kind, bool brackets, const struct sw_row_decision *row,
		     char *out, size_t cap);

/* "waits at rung 9: rank 2 of 12, of which the best 4 go on; 1 comes before it"; a population's
 * members take turns whatever their rank. */
void sw_why_place(enum sw_pruner_kind kind, const struct sw_pruner_turn *p, struct sw_buf *out);

/* " on cpu:0 with cpu:1, cpu:2" of a trial that runs on several slots; or what one waits
 * for whose attempt before has not ended; else nothing. */
void sw_why_slots(const struct sw_running *live, int64_t trial, struct sw_buf *out);
/* A trial whose sweep is settling (sched/sweep/sweep.h) waits for its end. */
void sw_why_settling(const struct sw_running *live, struct sw_buf *out);

/* The thing that a trial waits for, and which trial has it. */
void sw_why_waiting(const struct sw_running *live, struct sw_buf *out);

#endif
