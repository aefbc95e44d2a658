/* daemon/net/server.h — the listening socket: a unix socket, mode 0600, in a folder of its own. */
#ifndef SW_DAEMON_NET_SERVER_H
#define SW_DAEMON_NET_SERVER_H

#include "base/status.h"
#include <stdint.h>

struct sw_daemon;

/* Binds config.socket, or takes the descriptor that a service manager bound to it, and accepts. A
 * socket file that nobody answers is removed; one that a daemon answers is SW_CONFLICT; a folder
 * that others may write in, SW_DENIED. */
SW_NODISCARD sw_status sw_server_start(struct sw_daemon *d, struct sw_err *err);

/* Each turn of the loop: some more may be accepted. */
void sw_server_turn(struct sw_daemon *d);

/* Makes the file again, by the rules of the start, within a second of when it went (a logout, a
 * cleaner of /tmp) or became another daemon's. */
void sw_server_tick(struct sw_daemon *d, int64_t now_us);

/* Stops accepting and removes the socket file. */
void sw_server_stop(struct sw_daemon *d);

#endif
