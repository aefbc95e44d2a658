#include "trainer/spec/options.h"
#include <string.h>

const struct sw_form_key *sw_trainer_option_find(const char *name)
{
	return sw_form_find(&sw_trainer_options, name);
}

double sw_trainer_option_fallback(const struct sw_form_key *o, const char *optimizer)
{
	return o->other.optimizer != NULL && strcmp(o->other.optimizer, optimizer) == 0
		       ? o->other.fallback
		       : o->fallback;
}
