/* daemon/slot/worker_row.h — the rows of a worker's slots, by which a later daemon finds it.
 *
 * Errors   None: a worker that cannot be recorded ends the daemon (sw_daemon_die()). */
#ifndef SW_DAEMON_SLOT_WORKER_ROW_H
#define SW_DAEMON_SLOT_WORKER_ROW_H

struct sw_worker;

/* handle: the executor's of its process. done(w) is called once the rows are stored. */
void sw_worker_row_put(struct sw_worker *w, const char *handle, void (*done)(void *w));
/* After the ends of the attempts, which are changes of their own, and of what programs left: a
 * daemon that is killed in between still finds the process, sees that it is gone, and ends both
 * itself. */
void sw_worker_row_delete(const struct sw_worker *w);

#endif
