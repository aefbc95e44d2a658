/*
 * spec/trainer_options.h — the trainer's options: one table for the spec check, the worker and
 * docs/spec.md.
 *
 * An option stands in "trainer" as a literal or as the name of a parameter, or it is a parameter
 * itself: then each trial has its own value.
 */
#ifndef SW_SPEC_TRAINER_OPTIONS_H
#define SW_SPEC_TRAINER_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

enum sw_option_kind { SW_OPTION_REAL, SW_OPTION_INTEGER, SW_OPTION_BOOLEAN, SW_OPTION_CHOICE };

struct sw_trainer_option {
	const char *name;
	enum sw_option_kind kind;
	double min, max;            /* of numbers: the range, ends included unless open */
	bool min_open, max_open;    /* that end itself is not allowed */
	const char *const *choices; /* of a choice: NULL-terminated */
	double fallback;            /* the default; NaN: see doc */
	const char
		*fallback_text; /* the default as docs/spec.md prints it; of a choice, the word */
	bool searched;          /* may be a parameter, or name one */
	const char *doc;
};

#define SW_TRAINER_OPTION_N ((size_t)22)
extern const struct sw_trainer_option sw_trainer_options[SW_TRAINER_OPTION_N];

/* By name, or NULL. */
const struct sw_trainer_option *sw_trainer_option_find(const char *name);

/* The default of "lr" depends on the optimizer. */
#define SW_TRAINER_LR_SGD  0.01
#define SW_TRAINER_LR_ADAM 0.001

#endif
