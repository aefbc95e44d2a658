/* daemon/api/row_json.h — rows and sweeps as the JSON that methods.json promises. */
#ifndef SW_DAEMON_API_ROW_JSON_H
#define SW_DAEMON_API_ROW_JSON_H

#include "proto/json.h"
#include "sched/sweep/sweep.h"
#include "store/rows.h"
#include <stdint.h>

struct sw_daemon;
struct sw_live;

/* A member whose value is stored as the text of a JSON object; NULL writes null. What a damaged
 * database has in its place must not make a line that no client can read: null is written, and a
 * line goes to the log. trial 0: the sweep's own. O(length). */
void sw_row_json_stored(struct sw_jw *w, const char *key, const char *json, int64_t sweep,
			int64_t trial);

/* The members of a Trial, inside an object that the caller opened. A running one's seconds run on
 * to now_ms. */
void sw_row_json_trial(struct sw_jw *w, const struct sw_row_trial *row, int64_t now_ms);

void sw_row_json_trial_obj(struct sw_jw *w, const struct sw_row_trial *row, int64_t now_ms);
void sw_row_json_counts(struct sw_jw *w, const uint64_t counts[SW_TRIAL_STATE_N]); /* "counts" */
/* The members "counts", "rungs" and "max_t" of a sweep whose state machine is there. */
void sw_row_json_progress(struct sw_jw *w, const struct sw_live *live);

/* The members that sweep.get and sweep.watch share. */
void sw_row_json_sweep(struct sw_jw *w, const struct sw_live *live,
		       int64_t now_ms); /* its state machine is loaded */

double sw_row_json_seconds(const struct sw_live *live, int64_t now_ms); /* since it was submitted */

#endif
