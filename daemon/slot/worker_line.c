#include "daemon/slot/worker_line.h"
#include "daemon/daemon.h"
#include "daemon/slot/room.h"
#include "daemon/slot/slot.h"
#include <stdio.h>
#include <string.h>

/* May trials on several GPUs have it? */
static bool is_whole(const struct sw_device *device)
{
	return device->kind->gpu && device->kind->several && device->uuid[0] != '\0';
}

/* The GPUs that the slot's worker sees. One that is broken may hinder CUDA's start on the others,
 * so that it is left out. */
static void write_visible(const struct sw_slot *s, struct sw_worker_line *l)
{
	const struct sw_daemon *d = s->d;
	size_t n = (size_t)snprintf(l->visible, sizeof l->visible, "CUDA_VISIBLE_DEVICES=%s",
				    s->device.uuid);

	for (size_t i = 0; i < d->slot.worker_n && is_whole(&s->device); i++) {
		const struct sw_worker *w = &d->slot.workers[i];
		const char *uuid = w->slots->device.uuid;

		if (w != s->worker && is_whole(&w->slots->device) && sw_room_comes_back(w) &&
		    n + strlen(uuid) + 1 < sizeof l->visible)
			n += (size_t)snprintf(l->visible + n, sizeof l->visible - n, ",%s", uuid);
	}
}

void sw_worker_line_write(const struct sw_slot *s, struct sw_worker_line *l)
{
	const struct sw_config *config = &s->d->config;
	const bool known = s->device.uuid[0] != '\0';
	const int64_t most = sw_device_memory(&s->device, config);
	size_t n = 0;

	(void)snprintf(l->slot, sizeof l->slot, "%d", s->index);
	(void)snprintf(l->cores, sizeof l->cores, "%u", s->device.cores);
	(void)snprintf(l->memory, sizeof l->memory, "%lld", (long long)most);
	(void)snprintf(l->lanes, sizeof l->lanes, "%u", s->device.lanes);
	/* A GPU that is known by its UUID is the first that its worker sees. */
	(void)snprintf(l->device, sizeof l->device, "%s:%u", s->device.kind->word,
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
	/* No id among them: arguments can be read by every user of the machine (/proc). */
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
		write_visible(s, l);
		l->env[n++] = l->visible;
	}
	if (s->device.kind->env != NULL)
		l->env[n++] = (char *)s->device.kind->env;
	l->env[n] = NULL;
}
