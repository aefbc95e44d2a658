#include "trainer/allowance.h"
#include "base/memory.h"
#include "trainer/model/stages.h"
#include <stdlib.h>

size_t sw_allowance_of_data(const struct sw_runner *r)
{
	size_t most = r->memory, free_bytes, total;

	if (!r->streams)
		return 0; /* on a CPU the host's memory is the device's */
	if (most == 0 && r->ops->memory(&free_bytes, &total) == SW_OK)
		most = free_bytes;
	/* 0 would say that there is no limit. */
	return most / 2 ? most / 2 : 1;
}

static unsigned lanes_of(const struct sw_runner *r)
{
	return r->lanes ? r->lanes : 1;
}

sw_status sw_allowance_of_trial(const struct sw_runner *r, const struct sw_data *data,
				struct sw_trainer *t, struct sw_err *err)
{
	if (r->memory == 0)
		return SW_OK; /* without a cap the device's own memory is the bound */
	if (data->bytes >= r->memory)
		return sw_err_set(err, SW_NOMEM, "the data set has %zu bytes, a trial may have %zu",
				  data->bytes, r->memory);
	t->memory = (r->memory - data->bytes) / lanes_of(r);
	return SW_OK;
}

/* The model of t's stage, or m; *own is the caller's to free. NULL: there is no memory for it, or
 * no such stage. */
static const struct sw_model *stage_of(const struct sw_model *m, const struct sw_trainer *t,
				       struct sw_model **own)
{
	size_t first[SW_STAGES_MAX + 1], weights, running;

	*own = NULL;
	if (t->stages <= 1)
		return m;
	if (sw_stages_cut(m, t, first, NULL) == SW_OK)
		*own = sw_malloc(sizeof **own);
	if (*own)
		sw_stages_model(*own, m, first[t->stage], first[t->stage + 1], &weights, &running);
	return *own;
}

/* The arena's bytes and the library's; SIZE_MAX: no address holds them. */
static size_t arena_bytes(const struct sw_runner *r, const struct sw_model *m, struct sw_trainer t,
			  const struct sw_data *data)
{
	struct sw_model *own;
	struct sw_layout at;
	size_t bytes = SIZE_MAX;

	t.feed_row = data->streamed ? sw_data_row_bytes(data) : 0;
	m = stage_of(m, &t, &own);
	if (m &&
	    sw_layout_make(&at, m, &t, data->train.rows, data->val.rows, r->ops, NULL) == SW_OK)
		bytes = at.bytes + at.library;
	free(own);
	return bytes;
}

void sw_allowance_make_room(const struct sw_runner *r, const struct sw_model *m,
			    const struct sw_trainer *t, const struct sw_data *data)
{
	size_t free_bytes, total;

	/* Only for want of room: a data set that stays saves the next trial its reading. */
	if (r->ops->memory(&free_bytes, &total) == SW_OK &&
	    arena_bytes(r, m, *t, data) > free_bytes)
		sw_data_cache_trim(r->cache, 0);
}

void sw_allowance_trim(const struct sw_runner *r, const struct sw_trainer *t,
		       const struct sw_net *net)
{
	const size_t arenas = net->at.bytes + net->at.library + (lanes_of(r) - 1) * t->memory;

	if (r->memory)
		sw_data_cache_trim(r->cache, r->memory > arenas ? r->memory - arenas : 0);
}

bool sw_allowance_would_do(const struct sw_runner *r, const struct sw_model *m,
			   const struct sw_trainer *t, const struct sw_data *data)
{
	struct sw_trainer least = *t;
	size_t free_bytes, total, bytes = 0;

	least.micro_batch = t->sync_batchnorm ? 0 : 1; /* there a rank's rows stay together */
	least.memory = 1;                              /* evaluation, too, a row at a time */
	/* of a pipeline the largest stage counts, whichever rank lacked the memory */
	least.stage = 0;
	do {
		const size_t mine = arena_bytes(r, m, least, data);

		bytes = mine > bytes ? mine : bytes;
	} while (++least.stage < least.stages);
	if (t->memory && bytes > t->memory)
		return false; /* over its own share: more room on the device would not help */
	/* In this order nothing wraps: what arenas need is at most the total. */
	return r->ops->memory(&free_bytes, &total) == SW_OK && bytes <= total &&
	       data->bytes <= total - bytes;
}
