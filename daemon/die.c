#include "daemon/die.h"
#include "base/log.h"
#include "base/memory.h"
#include <stdlib.h>
#include <unistd.h>

_Noreturn void sw_daemon_die(const char *what, sw_status why)
{
	sw_log(SW_LOG_ERROR, "daemon.die", "what=\"%s\" why=\"%s\"", what, sw_status_str(why));
	/* The writer's thread marks the store dead before it says so to on_fatal(), and the loop
	 * may come between: one end, whichever is first. Only what should not happen leaves a
	 * core. */
	if (why == SW_IO || why == SW_DAMAGED)
		_exit(SW_EXIT_LOST);
	abort();
}

void *sw_daemon_calloc(size_t n, size_t size, const char *what)
{
	void *p = sw_calloc(n, size);

	if (p == NULL)
		sw_daemon_die(what, SW_NOMEM);
	return p;
}
