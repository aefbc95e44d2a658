/* daemon/net/state.h — d->net: what the socket's room keeps of its own. */
#ifndef SW_DAEMON_NET_STATE_H
#define SW_DAEMON_NET_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>
#include <uv.h>

struct sw_daemon_net {
	uv_pipe_t listener;
	bool bound;       /* its file is this daemon's to remove, and the one below */
	dev_t socket_dev; /* the file as it was when listening began */
	ino_t socket_ino;
	int next_fd;          /* the socket that takes the listener's place when it is closed */
	int64_t look_us;      /* when the file is looked at next */
	char socket_why[320]; /* why it cannot be had for now, as the log has it */
	const struct sw_conn_events *events;
	const struct sw_handler *handlers; /* [handler_n] */
	size_t handler_n;
	struct sw_methods *methods;
	LIST_HEAD(, sw_conn) conns;
	size_t conn_n, conn_max;
	struct sw_port *port;        /* daemon/net/port.h; NULL: there are no pilots */
	bool accept_owed;            /* one waits that there was no memory or no time for */
	unsigned accepted_n;         /* in this turn of the loop */
	struct sw_conn *dirty;       /* conns with answers ready to be sent */
	TAILQ_HEAD(, sw_conn) later; /* conns whose requests go on in the next turn */
	int64_t turn_us;             /* that this turn of the loop spent on requests */
	size_t bytes;                /* that all conns hold in memory */
	size_t shed_n;               /* cut for want of memory since the last tick */
	uint32_t serial;             /* of the newest conn */
	uint64_t n_requests, n_errors;
};

#endif
