/* daemon/api/why_source.h — how a trial came about, as JSON and in words, for trial.why. */
#ifndef SW_DAEMON_API_WHY_SOURCE_H
#define SW_DAEMON_API_WHY_SOURCE_H

#include "base/buf.h"
#include <stdint.h>

struct sw_running;

/* json: the "suggestion" of trial.why (docs/protocol.md), of every trial that was made. text: the
 * same in words, to go on from what was said before: "; suggested by gp (bayes), which knew 21
 * results: expected 0.43, deviation 0.02, expected improvement 0.01". facts: what
 * sw_why_facts_read() wrote. The sweep's state machine is loaded. */
void sw_why_source(const struct sw_running *live, uint64_t trial, const char *facts,
		   struct sw_buf *json, struct sw_buf *text);

#endif
