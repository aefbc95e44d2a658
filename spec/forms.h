/* spec/forms.h — the keys of a spec's objects. The build makes them of schema.json
 * (scripts/gen-spec). Internal to spec/. */
#ifndef SW_SPEC_FORMS_H
#define SW_SPEC_FORMS_H

#include "proto/form.h"

extern const struct sw_form sw_form_top, sw_form_metric, sw_form_one_of_several, sw_form_refine,
	sw_form_plateau, sw_form_resources, sw_form_parallel, sw_form_run, sw_form_checkpoint;
/* A parameter's: Ray's names for arguments only Ray's distributions take. */
extern const struct sw_form sw_form_parameter, sw_form_rays;
extern const struct sw_forms sw_forms_pruner;
/* Of a trainer's trial, where neither the spec nor rungs say how many. */
extern const double sw_spec_usual_epochs;

#endif
