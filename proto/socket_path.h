/*
 * proto/socket_path.h — where daemon and client meet when nobody says where, and whom a client
 * takes for its daemon there.
 *
 * The first of: $XDG_RUNTIME_DIR/sweepd/sweepd.sock (when that variable is an absolute path),
 * /run/user/UID/sweepd/sweepd.sock (when /run/user/UID is a directory of this user),
 * /tmp/sweepd-UID/sweepd.sock. The daemon makes the last folder (0700); nothing is made here.
 * Threads  sw_socket_path_default() reads the environment: not while another thread changes it.
 */
#ifndef SW_PROTO_SOCKET_PATH_H
#define SW_PROTO_SOCKET_PATH_H

#include "base/status.h"
#include <stddef.h>

/* Bytes of a unix socket's path, its NUL included (sun_path on Linux). */
#define SW_SOCKET_PATH_MAX 108

/* Writes the path, NUL-terminated. SW_TOO_BIG: it does not fit into out[cap], or no socket could
 * have so long a path; out is then "". */
SW_NODISCARD sw_status sw_socket_path_default(char *out, size_t cap);

/* Finds where the daemon of the default state folder listens, by that folder's file `lock` (the
 * pid, then the path), so from cron, too, or another session. SW_NOT_FOUND: no daemon has told.
 * *pid: that of the daemon, 0 where it has ended since. */
SW_NODISCARD sw_status sw_socket_path_told(char *out, size_t cap, long *pid);

/* The default state folder: $XDG_STATE_HOME/sweepd, or $HOME/.local/state/sweepd. SW_NOT_FOUND:
 * neither variable is an absolute path. SW_TOO_BIG. */
SW_NODISCARD sw_status sw_state_path_default(char *out, size_t cap);

/* Call it before the first byte is sent on fd, a socket that is connected to path. SW_DENIED: the
 * process that listens is neither this user's nor root's; the line names its uid. Jobs of a
 * stranger's daemon would run as this user. */
SW_NODISCARD sw_status sw_socket_server_check(int fd, const char *path, struct sw_err *err);

#endif
