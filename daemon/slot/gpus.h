/*
 * daemon/slot/gpus.h — the GPUs of this daemon: readings of NVML as they come, what is judged from
 * them (daemon/slot/card.h).
 *
 * The readings are made on a thread of its own (daemon/slot/card_poll.h); everything here is the
 * loop's. A GPU that was not read for limit_ms counts as DOWN: the driver hangs.
 */
#ifndef SW_DAEMON_SLOT_GPUS_H
#define SW_DAEMON_SLOT_GPUS_H

#include "base/status.h"
#include "daemon/slot/card.h"
#include "proto/json.h"

struct sw_card_poll;
struct sw_daemon;
struct sw_slot;

#define SW_GPUS_EVERY_MS 2000  /* between two readings */
#define SW_GPUS_LIMIT_MS 10000 /* a reading that takes longer hangs */
#define SW_GPUS_FIRST_MS 30000 /* the first one, which starts the driver */
#define SW_GPUS_IDLE     2     /* between these two a trial that waited for the first begins */
#define SW_GPUS_FREE_MS  30000 /* for the memory of a worker that ended to come back */

struct sw_gpus {
	struct sw_card_poll *poll; /* NULL: nobody asked for GPUs, or NVML does not work */
	struct sw_err err;         /* why it does not; SW_OK: it does, or was not asked */
	bool hidden;               /* see struct sw_card_ours */
	int64_t every_ms, limit_ms, first_ms, free_ms;
	int64_t begun_us, heard_us; /* of the last reading */
	int64_t wanted_us;          /* a trial may begin by a reading that began later */
	unsigned idle; /* readings in a row with nothing to look for; SW_GPUS_IDLE: no more */
	struct sw_nvml_view view; /* the last reading */
	struct sw_card card[SW_NVML_CARDS];
};

/* If --devices speaks of GPUs, starts the readings and waits for the first. That NVML does not
 * work is no error: sw_gpus_view() is NULL then, and one line is logged. SWEEPD_NVML_MS in the
 * environment, "every,limit,free", stands for the times above. SW_NOMEM. */
SW_NODISCARD sw_status sw_gpus_start(struct sw_daemon *d, struct sw_err *err);
void sw_gpus_stop(struct sw_daemon *d);
void sw_gpus_free(struct sw_daemon *d);

/* The last reading of NVML; NULL: NVML does not work, or was not asked. */
const struct sw_nvml_view *sw_gpus_view(const struct sw_daemon *d);

/* Takes the new reading, if any, and judges by it. False: no reading. */
bool sw_gpus_on_reading(struct sw_daemon *d);
/* Judges the cards of all slots by the last reading. False: NVML says nothing. */
bool sw_gpus_judge(struct sw_daemon *d);
void sw_gpus_tick(struct sw_daemon *d, int64_t now_us);

/* The card of a slot; NULL: a CPU slot, or NVML does not work. */
struct sw_card *sw_gpus_card(struct sw_daemon *d, const struct sw_slot *s);

/* How near the GPUs of two slots are to each other: the more the nearer, 0 not known. */
int sw_gpus_link(const struct sw_daemon *d, const struct sw_slot *a, const struct sw_slot *b);

/* May a worker be started there? False: why says what is awaited. */
bool sw_gpus_may_start(struct sw_daemon *d, const struct sw_slot *s, const char **why);
/* May a new trial be begun there? */
bool sw_gpus_may_begin(struct sw_daemon *d, const struct sw_slot *s, const char **why);

/* Does the last reading say what is so now? A laptop's GPU is powered down while nobody has it
 * open, so nothing is read there while no trial runs or waits: false, and d->slot.due comes with
 * the reading that was asked for. */
bool sw_gpus_is_fresh(struct sw_daemon *d, const struct sw_slot *s);

/* Is its card lost, by the last reading? */
bool sw_gpus_lost(struct sw_daemon *d, const struct sw_slot *s);

/* The program of a slot's trial ended: its cards are looked at anew, and not given out before that,
 * unless others run there: whose memory it is can then not be told. */
void sw_gpus_program_ended(struct sw_daemon *d, const struct sw_slot *s);
/* The worker of a slot ended: its card is looked at anew, and not given out before that. */
void sw_gpus_worker_ended(struct sw_daemon *d, const struct sw_slot *s, int64_t session);
/* Has the card been read since then? *failed: it is the hardware that is to blame. */
bool sw_gpus_looked_at(struct sw_daemon *d, const struct sw_slot *s, int64_t since_us,
		       bool *failed);

/* device.list's "gpus": one object a card that has a slot, or null with "nvml" saying why. */
void sw_gpus_write(struct sw_daemon *d, struct sw_jw *w);

#endif
