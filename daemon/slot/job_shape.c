#include "daemon/slot/job_shape.h"
#include "daemon/daemon.h"
#include <stdlib.h>

struct sw_job_shape *sw_job_shape_find(struct sw_daemon *d, uint64_t id)
{
	for (size_t i = 0; i < SW_JOB_SHAPES; i++)
		if (d->slot.shapes[i].id == id)
			return &d->slot.shapes[i];
	return NULL;
}

struct sw_job_shape *sw_job_shape_open(struct sw_daemon *d, uint64_t id)
{
	struct sw_job_shape *sh = sw_job_shape_find(d, id);

	if (sh == NULL && (sh = sw_job_shape_find(d, 0)) != NULL)
		*sh = (struct sw_job_shape){
			.id = id,
			.time_s = d->config.pilots.time_s,
			.wanted_us = d->clock->mono_us(),
		};
	return sh;
}

void sw_job_shape_close(struct sw_job_shape *sh)
{
	free(sh->options);
	*sh = (struct sw_job_shape){0};
}
