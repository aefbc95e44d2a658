/*
 * cli/host.h — the way to a daemon on another machine: `ssh HOST sweep dial`, whose stdin and
 * stdout are one end of a socket pair. Keys, ports and passwords are ssh's own affair: it asks on
 * the terminal, and its errors go to stderr.
 */
#ifndef SW_CLI_HOST_H
#define SW_CLI_HOST_H

#include "base/status.h"
#include <stdbool.h>
#include <sys/types.h>

/* Could it be what ssh calls a destination ("box", "me@box", "ssh://me@box:2222"), and is no option
 * of ssh's? */
bool sw_host_is_name(const char *host);

/* Starts ssh. *fd and the process are the caller's: fd is closed first, then sw_host_end() waits
 * for the process. quiet: it asks nobody for a password. It ends by itself when this process does.
 * SW_IO, SW_NOMEM. */
SW_NODISCARD sw_status sw_host_start(const char *host, bool quiet, int *fd, pid_t *ssh,
				     struct sw_err *err);
/* Waits for ssh, 5 s at most; then it is killed. Returns waitpid's status. */
int sw_host_end(pid_t ssh);
/* The line about a connection that ended: SW_IO where the daemon there closed it, SW_PEER_LOST in
 * all other cases. status: sw_host_end()'s; up: the daemon had answered before. */
SW_NODISCARD sw_status sw_host_lost(const char *host, int status, bool up, struct sw_err *err);

#endif
