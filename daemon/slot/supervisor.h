/*
 * daemon/slot/supervisor.h — the slots: the worker process of each, its trial, its end.
 *
 * A slot has a process of its own, but for the lanes of one GPU, which are slots one after the
 * other and share that of the first, their lead. What follows for
 * the sweeps is told by a table, struct sw_slot_events.
 *
 *   DOWN -> STARTING (process started) -> IDLE (said hello) -> BUSY (has a trial) -> IDLE ...
 *   any -> DOWN (the process ended); started again at once, later if it ends early again and again.
 *
 * A worker that outlived an earlier daemon is found again by the handle that the executor gave, and
 * adopted: its slot is STARTING (or BUSY) until it says hello.
 */
#ifndef SW_DAEMON_SLOT_SUPERVISOR_H
#define SW_DAEMON_SLOT_SUPERVISOR_H

#include "base/buf.h"
#include "base/status.h"
#include "daemon/slot/device.h"
#include "daemon/slot/gpus.h"
#include <stdbool.h>
#include <stdint.h>

struct sw_call;
struct sw_conn;
struct sw_daemon;
struct sw_proc; /* daemon/slot/executor.h */

#define SW_SLOT_EARLY_MAX 3 /* young ends in a row that are tried again at once */

enum sw_slot_state { SW_SLOT_DOWN, SW_SLOT_STARTING, SW_SLOT_IDLE, SW_SLOT_BUSY };

struct sw_slot {
	struct sw_daemon *d;
	int32_t index;
	int32_t lead;      /* the slot whose process this is: its own index, or its first lane's */
	unsigned suspects; /* of a lead: trials that ran there when its process ended, if several
			      did: which of them ended it nobody can tell */
	unsigned solo;     /* of a lead: as many trials run one at a time, to find out */
	int64_t cleared_for; /* of a lead: the sweep that its lanes are kept for; 0: none */
	int32_t holder;      /* the slot whose trial has this lane, too; -1: none */
	struct sw_device device;
	enum sw_slot_state state;
	char worker[33];      /* the id of its process; "" when DOWN */
	struct sw_proc *proc; /* the lead's; NULL in other lanes */
	struct sw_conn *conn; /* NULL: not connected */
	bool beats;           /* its worker said that it is never silent for long */
	struct sw_call *next; /* a held worker.next */
	int64_t next_since_us;
	int64_t sweep, trial, attempt; /* BUSY */
	int64_t busy_since_us;
	unsigned lanes_used;       /* BUSY: lanes that its trial has, this one among them */
	struct sw_gpu_usage usage; /* BUSY: of its trial */
	int64_t died_us;    /* BUSY: when the process ended; whose fault it was, a look at the card
			       says; 0: it lives */
	char died[32];      /* the cause */
	int64_t heard_ms;   /* BUSY, adopted: when the attempt was last heard of; 0: the worker
			       has said hello since */
	int64_t since_us;   /* of STARTING, or of losing the connection */
	int64_t retry_us;   /* DOWN: when to start again */
	int64_t started_us; /* the process */
	bool useful;        /* it finished a trial */
	unsigned starts, early; /* processes started; those in a row that ended young and useless */
	unsigned unstored;      /* of those started, how many no later daemon would find yet */
	char cause[320];        /* why the last process ended */
};

/* An attempt whose worker ended, or dropped it. */
struct sw_slot_lost {
	int64_t sweep, trial, attempt;
	bool blamed;       /* the trial may have ended its worker; else it is not to blame */
	const char *cause; /* "signal:9" */
	int64_t heard_ms; /* when it was last heard of, if it ended while no daemon looked; 0: now */
};

/* How the rooms above are told; d->slot_events, none of them NULL. */
struct sw_slot_events {
	/* A slot may have become free, or may take trials again. */
	void (*free)(struct sw_daemon *d);
	/* The slot has let go of it. */
	void (*lost)(struct sw_daemon *d, const struct sw_slot_lost *lost);
};

/* Reads the devices: slots, all DOWN. */
SW_NODISCARD sw_status sw_supervisor_open(struct sw_daemon *d, struct sw_err *err);
/* Before sw_supervisor_start(): a worker of an earlier daemon is the slot's again, by the handle that
 * the store has of it. SW_NOT_FOUND: it is gone. */
SW_NODISCARD sw_status sw_supervisor_adopt(struct sw_slot *lead, const char *handle,
					   struct sw_err *err);
/* Ends a worker of an earlier daemon that is no slot's any more. False: it is gone. */
bool sw_supervisor_dismiss(struct sw_daemon *d, int64_t slot, const char *handle);
/* Starts the workers of the slots that have none. */
void sw_supervisor_start(struct sw_daemon *d);
/* There is a new reading of the GPUs: those that are lost end their workers. */
void sw_supervisor_on_reading(struct sw_daemon *d);
void sw_supervisor_tick(struct sw_daemon *d, int64_t now_us);
void sw_supervisor_drop_conn(struct sw_daemon *d, struct sw_conn *c);

/* The worker of a connection, or NULL with SW_DENIED in err. */
struct sw_slot *sw_supervisor_of(struct sw_conn *c, struct sw_err *err);
struct sw_slot *sw_supervisor_find(struct sw_daemon *d, int64_t slot, const char *worker);
/* beats: see worker.hello; a worker of an earlier version, found again, does not, and is let be. */
void sw_supervisor_hello(struct sw_slot *s, struct sw_conn *c, bool beats);
void sw_supervisor_next(struct sw_slot *s, struct sw_call *call);
/* The slot's trial is over (told, or decided): the slot is free for the next. */
void sw_supervisor_done(struct sw_slot *s);
/* After a commit: tells the slot's worker to drop this attempt, if it still has it. */
void sw_supervisor_stop_trial(struct sw_daemon *d, int32_t slot, int64_t sweep, int64_t trial,
			      int64_t attempt);

/* The end: releases what runs and ends the workers; then true once none is left. */
void sw_supervisor_stop_all(struct sw_daemon *d, bool hard);
bool sw_supervisor_all_down(const struct sw_daemon *d);
void sw_supervisor_free(struct sw_daemon *d);

size_t sw_supervisor_busy(const struct sw_daemon *d, int64_t sweep); /* 0: of any sweep */
const char *sw_slot_state_name(enum sw_slot_state state);
long sw_slot_pid(const struct sw_slot *s); /* 0: none */
/* Why it is down, or why its GPU takes no trial; "" for no reason. */
const char *sw_slot_cause(const struct sw_slot *s);

#endif
