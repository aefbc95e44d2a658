/*
 * daemon/sweep/handed.h — state/handed: up to which trial each sweep was handed out before the
 * commit.
 *
 * Written with plain writes and never synced: it is there for the daemon that follows one that was
 * killed, not for one that follows a loss of power, and says which of the two it is read after. The
 * file of one run is replaced by that of the next.
 *
 * Format   "SwHanded", the run (u64), the kernel's boot id (36 characters, padded to 48 with NUL);
 *          then a u64 for each sweep by its number, from 0. In the machine's byte order.
 */
#ifndef SW_DAEMON_SWEEP_HANDED_H
#define SW_DAEMON_SWEEP_HANDED_H

#include <stdbool.h>
#include <stdint.h>

struct sw_handed {
	int fd;       /* -1: nothing can be noted, or there is no such file */
	uint64_t run; /* a random number above 0, below 2^63; 0: no file */
};

/* What the last run left in this directory, if the machine has been up since. */
void sw_handed_open(struct sw_handed *past, const char *dir);
uint64_t sw_handed_up_to(const struct sw_handed *past, int64_t sweep); /* 0: none */

/* A run draws its number, and later replaces the file by its own. Without room or randomness
 * nothing can be noted. */
void sw_handed_draw(struct sw_handed *now);
void sw_handed_begin(struct sw_handed *now, const char *dir);

/* One write. False: it is not noted. */
bool sw_handed_note(const struct sw_handed *now, int64_t sweep, uint64_t trial);

void sw_handed_close(struct sw_handed *handed);

#endif
