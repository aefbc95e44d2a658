/* daemon/die.h — the daemon's end where it cannot go on. */
#ifndef SW_DAEMON_DIE_H
#define SW_DAEMON_DIE_H

#include "base/status.h"
#include <stddef.h>

#define SW_EXIT_LOST 70 /* the store can no longer be relied on; sysexits.h: EX_SOFTWARE */

/* A change could not be recorded: state in memory and on disk would part. Logs a line and ends the
 * process, by status 70 where the store is lost (SW_IO) and by abort() for want of memory; the next
 * start rebuilds everything from the store. */
_Noreturn void sw_daemon_die(const char *what, sw_status why);

/* As sw_calloc(); without memory the daemon dies of `what`. */
void *sw_daemon_calloc(size_t n, size_t size, const char *what);

#endif
