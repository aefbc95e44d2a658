/*
 * tests/fake/nvml_state.h — what the stand-in for NVML says: read anew at each call, so that a test
 * changes it while the program runs (by a rename, so that no half is read).
 *
 * The file is the one that SWEEPD_FAKE_NVML names. A line is a word and pairs key=value:
 *   init code=9                        nvmlInit fails
 *   hang                               every call waits until the line is gone
 *   card uuid=.. name=.. bus=.. total=MiB used=MiB util= temp= slow= power=mW limit=mW ecc=
 *        throttle= energy=mJ cc=75 lost=CODE island=1 unlisted=1 (it lists no processes)
 *        need=1 (its recovery action); what is left out is not supported; cards of one island
 *        are linked by NVLink, those without are not asked
 *   part card=0 uuid=.. name=.. total=MiB used=MiB   of a GPU that is divided (MIG) by it; the
 *                                      numbers of the parts are those of all in the file
 *   proc card=0 pid=1 mib=10 graphics=1              of a part: part=0 instead of card=
 *   xid card=0 xid=79 instance=1       an event: each line is told once, by its place
 */
#ifndef SW_TESTS_FAKE_NVML_STATE_H
#define SW_TESTS_FAKE_NVML_STATE_H

#include <stdbool.h>

#define CARDS 8
#define PROCS 64
#define PARTS 8
#define XIDS  32
#define PART  1000 /* handles of parts begin there */

struct card {
	char uuid[96], name[96], bus[32];
	long long total, used, util, temp, slow, power, limit, ecc, throttle, energy, cc, lost,
		island, unlisted, need;
	long long of; /* a part: its card */
};

struct proc {
	long long card, part, pid, mib, graphics;
};

struct xid {
	long long card, xid, instance;
};

struct state {
	int init;
	bool hang;
	unsigned n, proc_n, part_n, xid_n;
	struct card card[CARDS], part[PARTS];
	struct xid xid[XIDS];
	struct proc proc[PROCS];
};

extern bool fake_up; /* nvmlInit has worked, and nvmlShutdown has not been called since */

/* The state now; returns once no line says "hang". A file that cannot be read: init is 9. */
void fake_now(struct state *s);

/* Handles are numbers from 1, of parts from PART. Fills s, and, while it is up, has the card or
 * part of one in *out, inside s; else returns the code why not. */
int fake_card_of(struct state *s, void *device, struct card **out);

#endif
