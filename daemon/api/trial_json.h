/* daemon/api/trial_json.h — a trial as the JSON that methods.json promises. */
#ifndef SW_DAEMON_API_TRIAL_JSON_H
#define SW_DAEMON_API_TRIAL_JSON_H

#include "proto/json.h"
#include "store/rows.h"
#include <stdint.h>

/* A member whose value is stored as the text of a JSON object; NULL writes null. What a damaged
 * database has in its place must not make a line that no client can read: null is written, and a
 * line goes to the log. trial 0: the sweep's own. O(length). */
void sw_trial_json_stored(struct sw_jw *w, const char *key, const char *json, int64_t sweep,
			  int64_t trial);

/* The members of a Trial, inside an object that the caller opened. A running one's seconds run on
 * to now_ms. */
void sw_trial_json(struct sw_jw *w, const struct sw_row_trial *row, int64_t now_ms);

void sw_trial_json_obj(struct sw_jw *w, const struct sw_row_trial *row, int64_t now_ms);

#endif
