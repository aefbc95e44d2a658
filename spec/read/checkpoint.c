/* "checkpoint": when the workers write the state of a trial, and which of these files stay. */
#include "proto/json.h"
#include "spec/forms.h"
#include "spec/read/read.h"

sw_status sw_spec_checkpoint_read(struct sw_spec *s, const cJSON *v, struct sw_err *err)
{
	const bool every = sw_json_get(v, "every") != NULL, most = sw_json_get(v, "max_mb") != NULL;

	sw_form_fill(&sw_form_checkpoint, v, &s->checkpoint);
	if (sw_spec_driven(s))
		return sw_err_at(
			err, SW_INVALID, "/checkpoint",
			"\"checkpoint\" needs \"trainer\" or \"command\": if you drive the trials, "
			"you keep their state too");
	/* Two keys that contradict each other: one of them is a mistake. */
	if (s->checkpoint.keep == SW_SPEC_KEEP_NONE && (every || most))
		return sw_err_at(err, SW_INVALID, "/checkpoint/keep",
				 "with \"keep\": \"none\" there is nothing for \"%s\" to do",
				 every ? "every" : "max_mb");
	if (s->command != NULL && every)
		return sw_err_at(
			err, SW_INVALID, "/checkpoint/every",
			"\"every\" is for trainers: a program says itself when its state is "
			"whole");
	return SW_OK;
}
