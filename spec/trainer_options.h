/*
 * spec/trainer_options.h — the trainer's options, with their ranges and defaults: one table for the
 * spec check and the worker. docs/spec.md says what each means; a test holds its ranges and
 * defaults to this table.
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
	/* The default. Of a choice it is the first. NaN: there is none that holds for all (of
	 * split_seed it is the sweep's seed), or the value must be given (of a layer). Before that
	 * of epochs comes the pruner's max_t. */
	double fallback;
	struct {
		const char *optimizer; /* NULL: the default is the same with each */
		double fallback;       /* with this one */
	} other;
	bool searched; /* may be a parameter, or name one */
};

#define SW_TRAINER_OPTION_N ((size_t)23)
extern const struct sw_trainer_option sw_trainer_options[SW_TRAINER_OPTION_N];

/* By name, or NULL. */
const struct sw_trainer_option *sw_trainer_option_find(const char *name);

/* The default with an optimizer, a word of its choices. */
double sw_trainer_option_fallback(const struct sw_trainer_option *o, const char *optimizer);

#endif
