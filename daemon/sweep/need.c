#include "daemon/sweep/need.h"
#include "daemon/sweep/running.h"
#include "daemon/sweep/suggest.h"
#include "spec/spec.h"

struct sw_room_need sw_need_of_spec(const struct sw_spec *spec)
{
	/* A trainer's trial uses the cores of its slots, whatever they are. */
	return (struct sw_room_need){
		.gpu = spec->gpu,
		.gpus = spec->gpu > 1 ? (unsigned)spec->gpu : 0,
		.cores = spec->command != NULL ? spec->cpu : 0,
		.cpu_slots = spec->cpu_slots,
		.precision = spec->precision != NULL && spec->precision_param < 0,
	};
}

struct sw_room_need sw_need_of_next(const struct sw_running *live)
{
	struct sw_room_need need = sw_need_of_spec(live->spec);

	need.bytes = live->bytes;
	need.data_bytes = live->data_bytes;
	need.sweep = live->sweep;
	need.precision = sw_need_precision(live) != NULL;
	return need;
}

const char *sw_need_precision(const struct sw_running *live)
{
	const struct sw_spec *spec = live->spec;
	struct sw_value values[SW_SPACE_MAX_PARAMS];
	bool active[SW_SPACE_MAX_PARAMS];
	struct sw_suggestion *ready;

	/* The same for all trials; NULL where any slot will do. */
	if (spec->precision_param < 0)
		return spec->precision;
	const size_t i = (size_t)spec->precision_param;
	const struct sw_spec_param *p = &spec->params[i];

	/* Which trial is next is not known yet: any slot may ask, and is looked at again. */
	if (!sw_suggest_peek(live, &ready) || sw_sweep_next(live->sched, ready, values) != SW_OK)
		return NULL;
	sw_space_active(sw_sweep_space(live->sched), values, active);
	/* Without the parameter the trainer's default counts, which is fp32. */
	if (!active[i])
		return NULL;
	const cJSON *v = p->value != NULL ? p->value
					  : cJSON_GetArrayItem(p->values, (int)values[i].choice);
	return sw_spec_is_precise(v) ? v->valuestring : NULL;
}
