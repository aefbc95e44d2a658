#include "daemon/slot/worker_line.h"
#include "daemon/daemon.h"
#include "daemon/slot/slot.h"
#include <stdio.h>
#include <string.h>

void sw_worker_line_write(const struct sw_slot *s, struct sw_worker_line *l)
{
	const struct sw_config *config = &s->d->config;
	const bool known = s->device.uuid[0] != '\0';
	const int64_t most = s->device.gpu ? config->gpu_memory : config->cpu_memory;
	size_t n = 0;

	(void)snprintf(l->slot, sizeof l->slot, "%d", s->index);
	(void)snprintf(l->cores, sizeof l->cores, "%u", s->device.cores);
	(void)snprintf(l->memory, sizeof l->memory, "%lld", (long long)most);
	(void)snprintf(l->lanes, sizeof l->lanes, "%u", s->device.lanes);
	/* Of a GPU that is known by its UUID the worker sees no other: it is its number 0. */
	(void)snprintf(l->device, sizeof l->device, "%s:%u", s->device.gpu ? "gpu" : "cpu",
		       known ? 0 : s->device.index);
	char *const always[] = {(char *)config->worker,
				"--socket",
				(char *)config->socket,
				"--slot",
				l->slot,
				"--device",
				l->device,
				"--cores",
				l->cores};
	memcpy(l->argv, always, sizeof always);
	n = sizeof always / sizeof always[0];
	if (known) { /* in its messages it has the number that users know */
		l->argv[n++] = "--name";
		l->argv[n++] = (char *)s->device.name;
	}
	if (s->device.lanes > 1) {
		l->argv[n++] = "--lanes";
		l->argv[n++] = l->lanes;
	}
	/* Without a limit the worker takes what is free. */
	if (most != 0) {
		l->argv[n++] = "--memory";
		l->argv[n++] = l->memory;
	}
	l->argv[n] = NULL;
	n = 0;
	if (known) {
		(void)snprintf(l->visible, sizeof l->visible, "CUDA_VISIBLE_DEVICES=%s",
			       s->device.uuid);
		l->env[n++] = l->visible;
	}
	/* By itself CUDA numbers the fastest first; --devices counts as the bus does. */
	if (s->device.gpu)
		l->env[n++] = "CUDA_DEVICE_ORDER=PCI_BUS_ID";
	l->env[n] = NULL;
}
