/* "plateau": when a sweep ends. */
#include "spec/forms.h"
#include "spec/read/read.h"

sw_status sw_spec_plateau_read(struct sw_spec *s, const cJSON *v, struct sw_err *err)
{
	if (s->n_metrics > 1)
		return sw_err_at(err, SW_INVALID, "/plateau",
				 "\"plateau\" looks at one metric, and the sweep has %zu: leave it "
				 "out, or give one \"metric\"",
				 s->n_metrics);
	sw_form_fill(&sw_form_plateau, v, &s->plateau);
	return SW_OK;
}
