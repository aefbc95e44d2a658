/* daemon/api/gang_json.h — what a gang gains, as sweep.validate tells it, and as a warning. */
#ifndef SW_DAEMON_API_GANG_JSON_H
#define SW_DAEMON_API_GANG_JSON_H

#include "proto/json.h"

struct sw_daemon;
struct sw_spec;
struct sw_speccheck;

/* The member "gang": null without a gang, or if its cost is not known. */
void sw_gang_json(struct sw_jw *w, const struct sw_daemon *d, const struct sw_spec *spec,
		  const struct sw_speccheck *facts);
/* One line if a step takes a gang no less than one slot. */
void sw_gang_json_warning(struct sw_jw *w, const struct sw_daemon *d, const struct sw_spec *spec,
			  const struct sw_speccheck *facts);

#endif
