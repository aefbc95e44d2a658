#include "daemon/api/gang_json.h"
#include "daemon/daemon.h"
#include "daemon/slot/slot.h"
#include "daemon/sweep/gang_cost.h"
#include "spec/spec.h"
#include <stdbool.h>
#include <stdio.h>

/* By a slot that may take a trial of it. */
static bool gang_cost(const struct sw_daemon *d, const struct sw_spec *spec,
		      const struct sw_speccheck *facts, struct sw_gang_cost *out)
{
	for (size_t i = 0; i < d->slot_n; i++)
		if (d->slots[i].device.gpu == (spec->gpu > 1))
			return sw_gang_cost_of(spec, facts, d->slots[i].device.cores, out);
	return false;
}

void sw_gang_json_warning(struct sw_jw *w, const struct sw_daemon *d, const struct sw_spec *spec,
			  const struct sw_speccheck *facts)
{
	struct sw_gang_cost cost;
	char line[240];

	if (!gang_cost(d, spec, facts, &cost) || cost.gang_s < cost.alone_s)
		return;
	(void)snprintf(line, sizeof line,
		       "/parallel: a step of the largest configuration takes about %.2g ms on one "
		       "slot and %.2g ms on %u (estimated): %u trials at once get more done",
		       cost.alone_s * 1e3, cost.gang_s * 1e3, cost.ranks, cost.ranks);
	sw_jw_str(w, line);
}

void sw_gang_json(struct sw_jw *w, const struct sw_daemon *d, const struct sw_spec *spec,
		  const struct sw_speccheck *facts)
{
	struct sw_gang_cost cost;

	if (!gang_cost(d, spec, facts, &cost)) {
		sw_jw_knull(w, "gang");
		return;
	}
	sw_jw_kobj(w, "gang");
	sw_jw_kint(w, "ranks", cost.ranks);
	sw_jw_knum(w, "alone_s", cost.alone_s);
	sw_jw_knum(w, "step_s", cost.gang_s);
	sw_jw_obj_end(w);
}
