/*
 * daemon/slot/card.h — one GPU as the daemon judges it: may it be given out?
 *
 *   UNKNOWN  NVML does not work here: nothing is known, the worker's own word counts
 *   OK       may be given out
 *   HOT      at its slowdown temperature; new trials wait until it is SW_CARD_COOL below
 *   HELD     a process of somebody else has memory there
 *   FREEING  a worker, or the last program, ended there, and its memory is not yet seen to be free
 *   DOWN     lost, silent, uncorrected ECC errors, or memory that did not come back
 *
 * Each reading of NVML is judged. DOWN ends when the readings are good again; that for ECC
 * errors ends with the daemon or a reset of the count, and that for an error after which the GPU
 * must be reset (daemon/slot/xid.h) with the daemon, or when it was lost and is there again.
 * Pure     No clock, no I/O; times are given, in microseconds of the monotonic clock.
 */
#ifndef SW_DAEMON_SLOT_CARD_H
#define SW_DAEMON_SLOT_CARD_H

#include "daemon/slot/nvml.h"

#define SW_CARD_SMALL                                                                              \
	((int64_t)256                                                                              \
	 << 20)        /* bytes of a stranger that are let pass, and of rest                 \ */
#define SW_CARD_COOL 5 /* degrees below the slowdown temperature */

enum sw_card_state {
	SW_CARD_UNKNOWN,
	SW_CARD_OK,
	SW_CARD_HOT,
	SW_CARD_HELD,
	SW_CARD_FREEING,
	SW_CARD_DOWN
};

/* The processes of a card that are workers of this daemon, or were started by them. */
struct sw_card_ours {
	const int64_t *session; /* [n]: of all workers; each leads a session of its own */
	size_t n;
	size_t here;   /* workers on this card */
	bool programs; /* a program of a trial runs there, or still ends */
	bool hidden;   /* NVML's process numbers mean nothing here (a container with its own): while
			one of ours runs on the card, its processes count as ours */
};

struct sw_card {
	struct sw_nvml_card now;
	int64_t taken_us; /* when; 0: never */
	enum sw_card_state state;
	char why[200]; /* "" when OK */

	int64_t ours, strangers; /* bytes */
	int64_t rest;           /* bytes that no process has, as last seen while none of ours ran */
	int64_t ecc_first, ecc; /* uncorrected errors at the start and as last read; -1: never */
	int64_t dead;           /* session of the worker that ended last; 0: none */
	int64_t freeing_us;     /* since when its memory is awaited; 0: it is not */
	bool program;           /* it is a program that ended, not a worker */
	int64_t level; /* bytes that neither strangers nor workers have, as last seen without a
			  program; -1: never */
	unsigned xid;  /* after this error it works again only when it was reset; 0: none */
	bool hot;
};

void sw_card_init(struct sw_card *c);

/* A reading at now_us. free_us: how long memory may take to come back. True: the state changed. */
bool sw_card_take(struct sw_card *c, const struct sw_nvml_card *reading,
		  const struct sw_card_ours *ours, int64_t now_us, int64_t free_us);
/* There is no reading. True: the state changed. */
bool sw_card_silent(struct sw_card *c, const char *why);
/* A worker on it ended: its memory is awaited from the next reading on. */
void sw_card_worker_ended(struct sw_card *c, int64_t session, int64_t now_us);
/* The only program there ended, and its worker goes on: the same. */
void sw_card_program_ended(struct sw_card *c, int64_t now_us);

/* Is it lost, by the last reading or by an error since the start? */
bool sw_card_is_lost(const struct sw_card *c);
/* Is this process of the last reading one of ours? */
bool sw_card_is_ours(const struct sw_nvml_proc *p, const struct sw_card_ours *ours);
const char *sw_card_state_name(enum sw_card_state state);

#endif
