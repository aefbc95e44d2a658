/*
 * daemon/systemd.h — what a service manager gives a daemon, and wants to be told.
 *
 * The ways of sd_listen_fds(3), sd_notify(3) and sd_watchdog_enabled(3), without their library.
 * Where there is no such manager nothing happens.
 *
 * Memory   No heap. Threads: sw_systemd_take() before there are any; the rest on the loop's.
 */
#ifndef SW_DAEMON_SYSTEMD_H
#define SW_DAEMON_SYSTEMD_H

#include "base/status.h"
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

struct sw_systemd {
	int listen_fd; /* a unix socket that listens; 0: none was given */
	struct sockaddr_un notify;
	socklen_t notify_len; /* 0: nobody wants to be told */
	int64_t watchdog_us;  /* how often the manager wants to hear; 0: never */
	int64_t heard_us;     /* when it last did */
};

/* Reads the environment and takes these variables out of it, so that no child has them. SW_INVALID:
 * what was given is not one listening unix socket with a path, which goes to path[cap]. */
SW_NODISCARD sw_status sw_systemd_take(struct sw_systemd *s, char *path, size_t cap,
				       struct sw_err *err);

/* "READY=1", "STOPPING=1". A manager that does not listen is no reason to fail. */
void sw_systemd_tell(const struct sw_systemd *s, const char *state);

/* A timer of the loop calls it: a loop that is stuck does not come here, and the manager
 * notices. */
void sw_systemd_tick(struct sw_systemd *s, int64_t now_us);

#endif
