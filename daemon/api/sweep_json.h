/* daemon/api/sweep_json.h — a sweep as the JSON that methods.json promises. */
#ifndef SW_DAEMON_API_SWEEP_JSON_H
#define SW_DAEMON_API_SWEEP_JSON_H

#include "proto/json.h"
#include "sched/sweep/sweep.h"
#include <stdint.h>

struct sw_running;

void sw_sweep_json_counts(struct sw_jw *w, const uint64_t counts[SW_TRIAL_STATE_N]); /* "counts" */
/* The members "counts", "rungs" and "max_t" of a sweep whose state machine is there. */
void sw_sweep_json_progress(struct sw_jw *w, const struct sw_running *live);

/* Why it ended; of one that goes on what is wrong, or what will end it. "" for nothing. Its state
 * machine is loaded; the text is that one's, or in text[cap]. *ending: it is news of its end. */
const char *sw_sweep_json_cause(const struct sw_running *live, char *text, size_t cap,
				bool *ending);
/* Says what is wrong with a trial whose first report is of such a step (sw_sweep_is_past()). */
void sw_sweep_json_past(const struct sw_running *live, uint64_t step, char *text, size_t cap);

/* Whole minutes since the trial that runs last reported, or its attempt began; 0: less than two. */
int64_t sw_sweep_json_silent_min(const struct sw_running *live, int64_t trial);

/* The members that sweep.get and sweep.watch share. */
void sw_sweep_json(struct sw_jw *w, const struct sw_running *live,
		   int64_t now_ms); /* its state machine is loaded */

/* For a watcher: an object without its end, a View (methods.json) but for its trials. O(slots). */
void sw_sweep_json_head(struct sw_buf *out, const struct sw_running *live, int64_t now_ms);

double sw_sweep_json_seconds(const struct sw_running *live,
			     int64_t now_ms); /* since it was submitted */

#endif
