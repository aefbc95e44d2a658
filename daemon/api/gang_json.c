#include "daemon/api/gang_json.h"
#include "daemon/slot/speccheck.h"
#include "spec/spec.h"
#include <stdio.h>

/* Of a step: two slots of one core gained 13% there (docs/parallel.md). */
#define LITTLE_FLOPS 3.3e6

void sw_gang_json_warning(struct sw_jw *w, const struct sw_spec *spec,
			  const struct sw_speccheck *facts)
{
	char line[200];

	/* The figure was measured with CPU slots that share a batch, and says nothing of GPUs or of
	 * a pipeline alone. */
	if (spec->gpu > 1 || spec->data_ranks < 2 || facts->flops <= 0 ||
	    facts->flops > LITTLE_FLOPS)
		return;
	(void)snprintf(
		line, sizeof line,
		"/parallel: a step of the largest configuration is %.2g million operations, too "
		"few for %u slots to gain by sharing it: %u trials at once get more done",
		facts->flops / 1e6, sw_spec_ranks(spec), sw_spec_ranks(spec));
	sw_jw_str(w, line);
}

void sw_gang_json(struct sw_jw *w, const struct sw_spec *spec, const struct sw_speccheck *facts)
{
	if (sw_spec_ranks(spec) <= 1) {
		sw_jw_knull(w, "gang");
		return;
	}
	sw_jw_kobj(w, "gang");
	sw_jw_kint(w, "ranks", sw_spec_ranks(spec));
	if (spec->stages > 1 && facts->stage_flops > 0 && facts->parts > 0) {
		sw_jw_kint(w, "stages", spec->stages);
		sw_jw_knum(w, "heaviest", facts->stage_flops / facts->flops);
		sw_jw_knum(w, "bubble",
			   (spec->stages - 1.0) / ((double)facts->parts + spec->stages - 1.0));
	}
	sw_jw_obj_end(w);
}
