/* daemon/net/server.h — the listening socket: a unix socket, mode 0600, in a folder of its own. */
#ifndef SW_DAEMON_NET_SERVER_H
#define SW_DAEMON_NET_SERVER_H

#include "base/status.h"

struct sw_daemon;

/* Binds config.socket, or takes the descriptor that a service manager bound to it, and accepts. A
 * socket file that nobody answers is removed; one that a daemon answers is SW_CONFLICT; a folder
 * that others may write in, SW_DENIED. */
SW_NODISCARD sw_status sw_server_start(struct sw_daemon *d, struct sw_err *err);

/* Each turn of the loop: some more may be accepted. */
void sw_server_turn(struct sw_daemon *d);

/* Stops accepting and removes the socket file. */
void sw_server_stop(struct sw_daemon *d);

#endif
