#include "cli/allowed.h"
#include <stddef.h>
#include <string.h>

#define PAGE    SW_ALLOWED_PAGE
#define TOOL    SW_ALLOWED_TOOL
#define CHANGES SW_ALLOWED_CHANGES
#define ENDS    SW_ALLOWED_ENDS
#define SLOW    SW_ALLOWED_SLOW

const struct sw_allowed sw_allowed[] = {
	{"sweep.list", PAGE | TOOL | SLOW},
	{"sweep.get", PAGE | TOOL},
	{"sweep.best", PAGE | TOOL | SLOW},
	{"sweep.plot", PAGE | TOOL | SLOW},
	{"sweep.watch", PAGE},
	{"trial.list", PAGE | TOOL | SLOW},
	{"trial.get", PAGE | TOOL},
	{"trial.why", PAGE | TOOL},
	{"trial.log", PAGE | TOOL},
	{"trial.output", PAGE | SLOW},
	{"trial.checkpoint", PAGE},
	{"device.list", PAGE},
	{"sweep.validate", TOOL}, /* of the page specs are text: /spec/validate, as the next */
	{"sweep.submit", TOOL | CHANGES},
	{"sweep.pause", PAGE | TOOL | CHANGES},
	{"sweep.resume", PAGE | TOOL | CHANGES},
	{"sweep.extend", PAGE | TOOL | CHANGES},
	{"sweep.edit", PAGE | CHANGES},
	{"sweep.annotate", PAGE | CHANGES},
	{"trial.enqueue", PAGE | TOOL | CHANGES},
	{"trial.retry", PAGE | CHANGES},
	{"trial.cancel", PAGE | CHANGES},
	{"sweep.cancel", PAGE | TOOL | CHANGES | ENDS},
	{"sweep.delete", PAGE | CHANGES | ENDS},
	{NULL, 0},
};

const struct sw_allowed *sw_allowed_find(const char *method, unsigned is)
{
	for (const struct sw_allowed *a = sw_allowed; a->method != NULL; a++)
		if (strcmp(a->method, method) == 0)
			return (a->is & is) == is ? a : NULL;
	return NULL;
}
