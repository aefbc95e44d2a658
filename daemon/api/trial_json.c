#include "daemon/api/trial_json.h"
#include "base/log.h"
#include "sched/sweep/trial.h"
#include <math.h>
#include <string.h>

void sw_trial_json_stored(struct sw_jw *w, const char *key, const char *json, int64_t sweep,
			  int64_t trial)
{
	struct sw_err err = SW_ERR_INIT;

	sw_jw_key(w, key);
	/* It goes into the answer as it is, so it is checked: a damaged row must not break the
	 * line. */
	if (json == NULL || (sw_json_check(json, strlen(json), &err) == SW_OK && *json == '{')) {
		sw_jw_raw(w, json);
		return;
	}
	sw_log(SW_LOG_ERROR, "store.damaged", "trial=%lld/%lld %s=null why=\"%s\"",
	       (long long)sweep, (long long)trial, key,
	       err.code != SW_OK ? err.msg : "no JSON object");
	sw_jw_null(w);
}

void sw_trial_json(struct sw_jw *w, const struct sw_row_trial *row, int64_t now_ms)
{
	double seconds = row->seconds;

	/* The row has the time of attempts that ended; the one that runs is added. */
	if (row->ended_ms == 0 && row->started_ms != 0 && now_ms > row->started_ms &&
	    strcmp(row->state, sw_trial_state_name(SW_TRIAL_RUNNING)) == 0)
		seconds += (double)(now_ms - row->started_ms) / 1000.0;
	sw_jw_kint(w, "trial", row->trial);
	sw_jw_kint(w, "attempt", row->attempt);
	sw_jw_kstr(w, "state", row->state);
	sw_jw_kstr(w, "cause", row->cause);
	sw_trial_json_stored(w, "params", row->params, row->sweep, row->trial);
	sw_jw_kint(w, "step", row->step);
	sw_trial_json_stored(w, "metrics", row->metrics, row->sweep, row->trial);
	sw_jw_knum_opt(w, "value", row->has_value, row->value);
	sw_jw_key(w, "best");
	if (row->has_best_value) {
		sw_jw_obj(w);
		sw_jw_kint(w, "step", row->best_step);
		sw_jw_knum(w, "value", row->best_value);
		sw_jw_obj_end(w);
	} else {
		sw_jw_null(w);
	}
	sw_jw_knum(w, "seconds", round(seconds * 1000.0) / 1000.0);
	sw_jw_kint(w, "resume_step", row->resume_step);
	sw_jw_kint(w, "left_out", row->left_out);
	sw_jw_kstr(w, "left_why", row->left_why);
	sw_jw_kint_opt(w, "parent", row->parent != 0, row->parent);
	sw_jw_kint_opt(w, "heard_ms", row->heard_ms != 0, row->heard_ms);
	sw_jw_kint(w, "created_ms", row->created_ms);
	sw_jw_kint_opt(w, "ended_ms", row->ended_ms != 0, row->ended_ms);
}

void sw_trial_json_obj(struct sw_jw *w, const struct sw_row_trial *row, int64_t now_ms)
{
	sw_jw_obj(w);
	sw_trial_json(w, row, now_ms);
	sw_jw_obj_end(w);
}
