/*
 * web/events.h — what changes, as server-sent events (WHATWG HTML, section 9.2).
 *
 * A stream names sweeps, and whether it wants the list of all. Each half second the daemon is asked
 * what has changed since (sweep.watch, without a wait): one event a sweep with its changed rows. If
 * the daemon is away that is said once, and once more when it is back.
 *
 * Bounds   SW_EVENTS_STREAMS streams, each of SW_EVENTS_SWEEPS sweeps; a reader who is more than
 *          SW_EVENTS_BYTES behind, or takes nothing for as long as any connection may be idle
 *          (web/http.h), is disconnected, and comes back for a snapshot.
 * Threads  `lock` guards the streams: libmicrohttpd's thread and the link's see them.
 */
#ifndef SW_WEB_EVENTS_H
#define SW_WEB_EVENTS_H

#include "web/http.h"
#include "web/link.h"

#define SW_EVENTS_STREAMS 32
#define SW_EVENTS_SWEEPS  8
#define SW_EVENTS_BYTES   ((size_t)8 << 20)
#define SW_EVENTS_MS      500

struct sw_stream;

/* Zero but for the lock, which is initialised. */
struct sw_events {
	pthread_mutex_t lock;
	struct sw_stream *first;
	size_t n;
	unsigned ticks;
};

/* Answers a request with a stream that goes on. */
enum MHD_Result sw_events_open(struct sw_events *e, struct sw_request *r);
/* sw_link.tick; arg: the struct sw_events. */
void sw_events_tick(struct sw_link *link, void *arg);

#endif
