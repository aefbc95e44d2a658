/*
 * daemon/sweep/standby.h — suggestions that are stored before anyone asks for them.
 *
 * An ask is answered after its commit, like everything. Where a client drives the sweep and its
 * suggestions are made ahead of time, the commit may come first: a prepared suggestion is stored
 * with the number of its trial. Once that is on disk, and nothing else of the sweep waits to be,
 * whoever asks has it at once; the hand-out's own rows follow. What the client was given cannot be
 * lost: trial and parameters stand in the store.
 *
 * Which of the prepared ones were handed out is noted in a small file, state/handed, before the
 * answer leaves: written, not synced, since it has to outlive this process alone. A start that
 * finds the file of the run that prepared them, on a machine that has been up since, hands out
 * again (an ASK) what was handed out, and forgets the rest. Otherwise the machine went down, and
 * the clients with it: what was prepared is handed out and released, so that whoever asks next has
 * it as attempt 2 and nobody else can hold the same attempt.
 *
 * Threads  The loop's.
 */
#ifndef SW_DAEMON_SWEEP_STANDBY_H
#define SW_DAEMON_SWEEP_STANDBY_H

#include "base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sw_change;
struct sw_daemon;
struct sw_host;
struct sw_suggester;

/* What of a sweep stands in the store ahead of its time. Zeroed: nothing. */
struct sw_standby {
	bool busy;         /* some are on their way */
	uint64_t from, to; /* trials whose rows may be in the store; to 0: none */
};

/* Sends what the queue holds and the store does not; no more than one commit at a time. */
void sw_standby_store(struct sw_suggester *s);

/* A step has changed the sweep: the rows of what left the queue go with the step's change. */
void sw_standby_changed(struct sw_change *c, struct sw_suggester *s);

/* Notes that the sweep's trials up to this one are handed out. False: it cannot be noted, so that
 * the answer has to wait for its commit. One write of 8 bytes. */
bool sw_standby_note(const struct sw_host *h, uint64_t trial);

/* At start, when every sweep is recovered. An error where what was handed out cannot be read back
 * or does not fit what is stored: going on would give it to somebody else. */
SW_NODISCARD sw_status sw_standby_recover(struct sw_daemon *d, struct sw_err *err);

/* The daemon stops and hands out no more: nothing that is prepared was handed out. */
void sw_standby_forget(struct sw_daemon *d);
void sw_standby_free(struct sw_daemon *d); /* after the loop has ended */

#endif
