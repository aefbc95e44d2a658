#include "daemon/neighbours.h"
#include "base/log.h"
#include "daemon/daemon.h"
#include "daemon/slot/slot.h"
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define PREFIX    "sweepd/"
#define NAME_SIZE 64

/* What a slot is on: all CPU slots share the cores. "": nobody can tell. */
static const char *slot_name(const struct sw_slot *s)
{
	return s->device.away ? "" : s->device.gpu ? s->device.uuid : "cpu";
}

/* The socket is never closed: the kernel takes the name back when the process ends. Of slots that
 * share a name the first has it. */
static void bind_name(const char *name)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	const int n = snprintf(addr.sun_path + 1, sizeof addr.sun_path - 1, PREFIX "%ld/%lu/%.*s",
			       (long)getpid(), (unsigned long)getuid(), NAME_SIZE - 1, name);

	if (fd >= 0 &&
	    bind(fd, (const struct sockaddr *)&addr,
		 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)) != 0)
		(void)close(fd);
}

/* Has a slot of ours the name? Then what people call it. */
static const char *ours(const struct sw_daemon *d, const char *name)
{
	for (size_t i = 0; i < d->slot.slot_n; i++)
		if (strncmp(slot_name(&d->slot.slots[i]), name, NAME_SIZE - 1) == 0)
			return d->slot.slots[i].device.gpu ? d->slot.slots[i].device.card
							   : "the CPU's cores";
	return NULL;
}

void sw_neighbours_look(const struct sw_daemon *d)
{
	char line[256], name[NAME_SIZE];
	unsigned long uid;
	long pid;

	/* First the names, then the look: of two that start at once, one sees the other. */
	for (size_t i = 0; i < d->slot.slot_n; i++)
		if (slot_name(&d->slot.slots[i])[0] != '\0')
			bind_name(slot_name(&d->slot.slots[i]));
	FILE *f = fopen("/proc/net/unix", "re");
	while (f != NULL && fgets(line, sizeof line, f) != NULL) {
		const char *at = strstr(line, " @" PREFIX), *what;

		if (at == NULL ||
		    sscanf(at, " @" PREFIX "%ld/%lu/%63[^\n]", &pid, &uid, name) != 3 ||
		    pid == (long)getpid() || (what = ours(d, name)) == NULL)
			continue;
		sw_log(SW_LOG_WARN, "device.shared",
		       "pid=%ld uid=%lu why=\"another sweepd has slots on %s, too: trials there "
		       "slow "
		       "each other; give each daemon devices of its own (--devices), or share one "
		       "daemon\"",
		       pid, uid, what);
		break;
	}
	if (f != NULL)
		(void)fclose(f);
}
