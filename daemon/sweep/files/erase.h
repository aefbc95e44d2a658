/*
 * daemon/sweep/files/erase.h — a sweep that has ended is deleted: a mark, its files, its rows, the
 * last mark.
 *
 * From the commit of the first mark on nobody sees the sweep, so that a crash leaves all of it or
 * nothing: a start that finds the mark goes on. Its row stays for good, empty, because numbers of
 * sweeps are dense and never given again. What others have from it (warm_start, refine) are copies.
 * As long as a file cannot be removed the first mark stands, and it is tried again. One is under
 * way at a time; the next begins once no worker is busy with a trial of it.
 */
#ifndef SW_DAEMON_SWEEP_FILES_ERASE_H
#define SW_DAEMON_SWEEP_FILES_ERASE_H

#include <stdbool.h>

struct sw_call;
struct sw_daemon;
struct sw_running;

/* keep_best: the best trial and its checkpoint stay, as a record. The call is answered with what
 * was freed once nothing is left, or refused: the sweep has not ended, it has no best trial. NULL:
 * the daemon itself wants it; a sweep that cannot be deleted stays. */
void sw_erase_begin(struct sw_running *live, bool keep_best, struct sw_call *call);
/* At start: those that were cut short. */
void sw_erase_start(struct sw_daemon *d);
/* Begins with the first that waits, if none is under way. */
void sw_erase_tick(struct sw_daemon *d);
/* The daemon is stopping: nobody is kept waiting. */
void sw_erase_stop(struct sw_daemon *d);
void sw_erase_free(struct sw_daemon *d); /* after the loop has ended */

#endif
