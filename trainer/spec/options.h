/*
 * trainer/spec/options.h — the trainer's options, with their ranges and defaults. The build makes
 * the table from trainer/schema.json.
 *
 * An option stands in "trainer" as a literal or as the name of a parameter, or it is a parameter
 * itself: then each trial has its own value.
 */
#ifndef SW_TRAINER_SPEC_OPTIONS_H
#define SW_TRAINER_SPEC_OPTIONS_H

#include "proto/form.h"

#define SW_TRAINER_OPTION_MAX 32 /* options at most */
extern const struct sw_form sw_trainer_options;
/* All keys of "trainer": these, and what is trained on and how. */
extern const struct sw_form sw_form_trainer;

/* By name, or NULL. */
const struct sw_form_key *sw_trainer_option_find(const char *name);

/* The default with an optimizer, a word of its choices. */
double sw_trainer_option_fallback(const struct sw_form_key *o, const char *optimizer);

#endif
