#include "daemon/sweep/run/crowd.h"
#include "daemon/daemon.h"
#include "daemon/slot/slot.h"
#include "daemon/sweep/running.h"
#include "proto/json.h"
#include <string.h>

/* How its worker says that memory ran out. The trainer has reckoned whether an empty GPU would be
 * enough, and says "oom" where none would. */
static bool lacked_memory(const struct sw_running *live, const char *cause)
{
	static const char now[] = "no memory now: ";

	return cause != NULL &&
	       (live->spec->trainer != NULL ? strncmp(cause, now, sizeof now - 1) == 0
					    : strcmp(cause, "oom") == 0);
}

bool sw_crowd_had_its_memory(const struct sw_running *live, const struct sw_event *tell)
{
	const struct sw_daemon *d = live->d;
	const struct sw_run *run = &live->runs[tell->trial - 1];

	/* A client's trial has no slot; and one that has run alone had the memory. */
	if (run->slot < 0 || (size_t)run->slot >= d->slot.slot_n || run->alone ||
	    !lacked_memory(live, tell->cause))
		return false;
	const struct sw_slot *s = &d->slot.slots[run->slot];
	/* On a part of a GPU its worker has not halved the parameter: it does so on a whole one. */
	const bool halves = sw_json_get(live->spec->run, "on_oom") != NULL &&
			    s->lanes_used < s->worker->slot_n;
	return s->device.kind->gpu && (s->beside || halves);
}
