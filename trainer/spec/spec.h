/*
 * trainer/spec/spec.h — the trainer's part of a sweep spec: "trainer", which parameter feeds what
 * in it, and what other keys ask of a net. spec/ passes it on unread.
 *
 * Pure     Form alone: what the files hold, and whether the layers fit together, trainer/check.h
 *          finds out.
 * Errors   All faults are noted, with pointers relative to the spec ("/trainer/model/2").
 */
#ifndef SW_TRAINER_SPEC_SPEC_H
#define SW_TRAINER_SPEC_SPEC_H

#include "proto/form.h"
#include "spec/spec.h"

/* f: has the spec's own faults, which make none here of theirs. s has a trainer. */
void sw_trainer_spec_check(const struct sw_spec *s, struct sw_faults *f);
/* Adds to the spec's warnings; both have passed. */
void sw_trainer_spec_warn(struct sw_spec *s);

/* --- parts of the check: internal to trainer/spec --- */

/* The model's layers; marks used[] the parameters that they name. */
void sw_trainer_model_check(const struct sw_spec *s, const cJSON *model, bool *used,
			    struct sw_faults *f);
/* Marks sizes[] the parameters that are the size of a layer, as far as the layers can be read. */
void sw_trainer_model_sizes(const struct sw_spec *s, bool *sizes);
/* SW_INVALID at "/parameters/NAME..." unless every value of p suits the option o. */
SW_NODISCARD sw_status sw_trainer_param_suits(const struct sw_spec_param *p,
					      const struct sw_form_key *o, struct sw_err *err);

#endif
