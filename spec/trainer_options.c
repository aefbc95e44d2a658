#include "spec/trainer_options.h"
#include <string.h>

const struct sw_form_key *sw_trainer_option_find(const char *name)
{
	for (size_t i = 0; i < sw_trainer_options.n; i++)
		if (strcmp(sw_trainer_options.keys[i].name, name) == 0)
			return &sw_trainer_options.keys[i];
	return NULL;
}

double sw_trainer_option_fallback(const struct sw_form_key *o, const char *optimizer)
{
	return o->other.optimizer != NULL && strcmp(o->other.optimizer, optimizer) == 0
		       ? o->other.fallback
		       : o->fallback;
}
