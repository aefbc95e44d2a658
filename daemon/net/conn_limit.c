/* daemon/net/conn_limit.c — limits of connections: time, and the memory of all of them. */
#include "base/log.h"
#include "daemon/daemon.h"
#include "daemon/net/conn_internal.h"

#define SLOW_LIMIT_US    ((int64_t)10 * 1000000)
#define PARTIAL_LIMIT_US ((int64_t)60 * 1000000)
#define IDLE_LIMIT_US    ((int64_t)600 * 1000000)
#define TREE_FACTOR      8 /* a parsed request takes about so many times its text */

/* --- memory --- */

void sw_conn_charge(struct sw_conn *c)
{
	const size_t bytes = c->closing ? 0
					: sw_frame_bytes(&c->frame) + c->asked * TREE_FACTOR +
						  c->ready_bytes + sw_conn_backlog(c);

	/* Unsigned arithmetic: a connection that takes less now makes the sum smaller. */
	c->d->net.bytes += bytes - c->bytes;
	c->bytes = bytes;
}

/* Cuts the connections that take most: a client that reads its answers and ends its lines holds
 * little. */
void sw_conn_shed(struct sw_daemon *d)
{
	while (d->net.bytes > SW_CONN_MAX_HELD) {
		struct sw_conn *c, *next;
		size_t most = 0;

		/* Not the greediest alone: a crowd of equals is cut in one pass, and not by a
		 * search for each. */
		LIST_FOREACH (c, &d->net.conns, link)
			most = c->bytes > most ? c->bytes : most;
		for (c = LIST_FIRST(&d->net.conns); c != NULL && d->net.bytes > SW_CONN_MAX_HELD;
		     c = next) {
			/* sw_conn_close() takes c off this list. It closes no other one: `gone` of
			 * the rooms above ends holds and slots, never connections. */
			next = LIST_NEXT(c, link);
			/* Half as much as the greediest is little: those are cut only if the others
			 * were not enough. */
			if (c->bytes <= most / 2)
				continue;
			sw_conn_close(c);
			d->net.shed_n++;
		}
	}
}

/* --- time --- */

static const char *overdue(struct sw_conn *c, int64_t now_us)
{
	const size_t backlog = sw_conn_backlog(c);

	/* So little unread is no sign of a slow reader. Measured by bytes that the peer has taken,
	 * not by its silence: one that reads a large answer in small pieces is slow, yet it
	 * moves. */
	if (backlog < SW_CONN_MAX_BACKLOG / 4) {
		c->slow_us = 0;
	} else if (c->slow_us == 0 || c->sent - backlog > c->slow_taken) {
		c->slow_us = now_us; /* it still reads, however slowly */
		c->slow_taken = c->sent - backlog;
	} else if (now_us - c->slow_us > SLOW_LIMIT_US) {
		return "it reads too slowly";
	}
	if (c->partial_us != 0 && now_us - c->partial_us > PARTIAL_LIMIT_US)
		return "its line was never finished";
	/* A worker, a watcher and a client that holds a trial are silent by nature. */
	if (c->n_open == 0 && backlog == 0 && now_us - c->active_us > IDLE_LIMIT_US &&
	    !c->d->net.events->busy(c))
		return "idle";
	return NULL;
}

void sw_conn_tick(struct sw_daemon *d, int64_t now_us)
{
	struct sw_conn *c, *next;

	if (d->net.shed_n > 0)
		sw_log(SW_LOG_WARN, "conn.shed",
		       "n=%zu why=\"all clients together took too much memory; those that took "
		       "most of it were cut\"",
		       d->net.shed_n);
	d->net.shed_n = 0;
	for (c = LIST_FIRST(&d->net.conns); c != NULL; c = next) {
		const char *why = overdue(c, now_us);

		next = LIST_NEXT(c, link);
		if (why == NULL)
			continue;
		sw_log(SW_LOG_INFO, "conn.cut", "pid=%ld why=\"%s\"", (long)c->pid, why);
		sw_conn_close(c);
	}
}
