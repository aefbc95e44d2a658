/* daemon/api/gang_json.h — a gang as sweep.validate shows it, and a warning where it is of no
 * use. */
#ifndef SW_DAEMON_API_GANG_JSON_H
#define SW_DAEMON_API_GANG_JSON_H

#include "proto/json.h"

struct sw_spec;
struct sw_speccheck;

/* The member "gang": null without one. Of a pipeline what the worker has counted of its stages. */
void sw_gang_json(struct sw_jw *w, const struct sw_spec *spec, const struct sw_speccheck *facts);
/* One line if a step is too little work for CPU slots to share. */
void sw_gang_json_warning(struct sw_jw *w, const struct sw_spec *spec,
			  const struct sw_speccheck *facts);

#endif
