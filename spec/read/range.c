/* Checks a new range of a parameter, of a sweep that goes on, against what the trainer uses it
 * for. */
#include "base/memory.h"
#include "spec/read/read.h"
#include <stdlib.h>
#include <string.h>

sw_status sw_spec_range_check(const struct sw_spec *s, size_t param, double min, double max,
			      struct sw_err *err)
{
	/* A program or a client takes what it is given. */
	if (s->trainer == NULL)
		return SW_OK;
	struct sw_spec *with =
		sw_malloc(sizeof *with); /* its warnings make it too large for the stack */
	struct sw_spec_param *params = sw_malloc(s->n_params * sizeof *params);
	struct sw_err first;
	struct sw_faults f = {&first, 1, 0};
	sw_status rc = SW_NOMEM;

	if (with != NULL && params != NULL) {
		/* The trainer's check reads a spec, so it gets a copy with the new range. */
		memcpy(params, s->params, s->n_params * sizeof *params);
		params[param].min = min;
		params[param].max = max;
		*with = *s;
		with->params = params;
		sw_spec_trainer_check(with, &f);
		rc = sw_spec_first(&f, err);
	} else {
		rc = sw_err_set(err, SW_NOMEM, "no memory to check a range");
	}
	free(params);
	free(with);
	return rc;
}
