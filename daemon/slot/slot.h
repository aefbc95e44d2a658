/*
 * daemon/slot/slot.h — a slot and its worker: the trial that runs there, and the link to it.
 *
 * A slot is room for one trial. A worker is the process that runs it. The lanes of one GPU are
 * slots one after the other that share a worker; every other slot has its own.
 *
 *   DOWN -> STARTING (process started) -> IDLE (said hello) -> BUSY (has a trial) -> IDLE ...
 *   IDLE -> STARTING (lost its connection);  any -> DOWN (the process ended)
 *
 * daemon/slot/supervisor.h starts and ends the processes. Whose trial runs is not known here:
 * sweep, trial and attempt are numbers, and what becomes of an attempt is told by d->slot.on_lost.
 * Memory   d owns slots and workers (sw_supervisor_open(), sw_supervisor_free()).
 */
#ifndef SW_DAEMON_SLOT_SLOT_H
#define SW_DAEMON_SLOT_SLOT_H

#include "base/buf.h"
#include "base/status.h"
#include "daemon/net/conn.h"
#include "daemon/slot/device.h"
#include "daemon/slot/gpu_usage.h"
#include "daemon/slot/losses.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sw_call;
struct sw_conn;
struct sw_daemon;
struct sw_executor; /* daemon/slot/executor.h */
struct sw_proc;

#define SW_WORKER_EARLY_MAX 3 /* young ends in a row that are tried again at once */

/* A GPU that gave trials of the trainer back: it did not open, or sums with others wrongly. */
struct sw_shut {
	unsigned n;       /* tries in a row */
	int64_t since_us; /* of the last of them */
	int64_t until_us; /* no more before this moment; 0: it takes them */
};

enum sw_slot_state { SW_SLOT_DOWN, SW_SLOT_STARTING, SW_SLOT_IDLE, SW_SLOT_BUSY };

/* A process, and what is remembered from one to the next. */
struct sw_worker {
	struct sw_slot *slots; /* [slot_n]: one, or the lanes of a GPU */
	unsigned slot_n;
	const struct sw_executor *executor; /* starts it */
	struct sw_proc *proc;               /* NULL: it does not run */
	char id[33]; /* what it shows in worker.hello; "" while it does not run */
	int64_t started_us;
	int64_t retry_us;       /* when to start the next one */
	bool useful;            /* it finished a trial */
	unsigned starts, early; /* processes started; those in a row that ended young and useless */
	unsigned unstored;      /* started, but not yet in the slot table */
	char cause[320];        /* why the last one ended */
	unsigned suspects; /* trials that ran when it ended: which of several did it nobody knows */
	unsigned solo;     /* as many trials run one at a time, to find out */
	/* what its programs left is being ended: no next process, no lost trial yet */
	bool clearing;
	struct sw_losses losses; /* of a GPU */
	/* of a GPU for the trainer's trials: on it alone, and on several, it being the first */
	struct sw_shut shut[2];
	/* Of a pilot (daemon/pilot/pilot.h). */
	char peer[SW_CONN_PEER]; /* whom its connections must be of; "": it is of this machine */
	int64_t process;         /* of the last hello: a job may be begun twice */
	bool blameless;          /* what ended its process is no trial's fault */
	bool no_files;           /* its node does not see the daemon's files */
	uint64_t shape;          /* of its job (daemon/slot/job_shape.h), while it has one */
	/* the sweep that its lanes are reserved for; 0: none. Set by daemon/sweep/give/place.h */
	int64_t reserved_for;
};

struct sw_slot {
	struct sw_daemon *d;
	struct sw_worker *worker;
	int32_t index; /* in d->slot.slots: its number everywhere */
	struct sw_device device;
	enum sw_slot_state state;

	/* the link: a worker has a connection for each of its slots */
	struct sw_conn *conn; /* NULL: not connected */
	struct sw_call *next; /* a held worker.next */
	int64_t next_since_us;
	struct sw_buf job; /* BUSY, and `next` is held still: its answer (sw_slot_defer_job()) */
	int64_t rest_us;   /* it takes no trial before this moment; 0: it does */
	unsigned refusals; /* starts of a program in a row that the machine refused there */
	unsigned failures; /* trials in a row that FAILED there without a report */
	int64_t since_us;  /* of STARTING, or of losing the connection */

	/* BUSY: the trial */
	int64_t sweep, trial, attempt;
	int64_t busy_since_us;
	bool stepped;       /* it has begun a step, as its worker says */
	unsigned lost_rank; /* of a trial on several: that which ended first, as its worker says */
	bool program; /* it is the user's own; or its last one was, and the worker still ends it */
	bool beside;  /* others have had a part of its GPU's memory since it began */
	int64_t last_sweep, last_trial; /* which one; 0: an earlier daemon's, not known */
	/* that one is over, and its worker, which has not asked since, may still write a file */
	bool writes;
	int64_t heard_ms;    /* adopted: when it was last heard of; 0: the worker has said hello */
	unsigned lanes_used; /* that it has, this slot among them */
	int64_t bytes;       /* that it takes at most; 0: not known */
	int64_t data_bytes;  /* of these its data set's; 0: not known */
	/* Of its trial's step that is under way, as the worker said last; 0: nothing is known. */
	int64_t done, total;
	int64_t launcher_bytes;    /* of what its Python programs are forked from; 0: none */
	struct sw_gpu_usage usage; /* stays until the next trial */
	/* when its worker ended: the trial waits for a look at its GPU, or until the worker's last
	 * words are read; 0: the worker lives */
	int64_t died_us;
	char died[32]; /* the cause of that */

	int32_t holder; /* the slot whose trial has this lane, too; -1: none */
};

/* An attempt whose worker ended, or dropped it. */
struct sw_slot_lost {
	int64_t sweep, trial, attempt;
	bool blamed;       /* the trial may have ended its worker; else it is not to blame */
	const char *cause; /* "signal:9" */
	int64_t heard_ms;  /* when it was last heard of; 0: now */
};

const char *sw_slot_state_name(enum sw_slot_state state);
long sw_slot_pid(const struct sw_slot *s); /* 0: none */
/* Why it is down, or why its GPU takes no trial; "" for no reason. */
const char *sw_slot_cause(const struct sw_slot *s);
/* By this (SWEEPD_COOKIE, base/process.h) all that the slot's trial forked is found. It is the
 * same for each daemon on this state directory, and for no other slot. */
void sw_slot_cookie(const struct sw_daemon *d, int32_t slot, char out[64]);
size_t sw_slot_busy_n(const struct sw_daemon *d, int64_t sweep); /* 0: of any sweep */

/* --- its trial --- */

/* The slot, whose worker runs, has this trial from now on. program: it is the user's own. */
void sw_slot_begin(struct sw_slot *s, int64_t sweep, int64_t trial, int64_t attempt, bool program);
bool sw_slot_has(const struct sw_slot *s, int64_t sweep, int64_t trial, int64_t attempt);
/* Another slot whose worker still ends the program of the trial's attempt before; NULL: none. */
const struct sw_slot *sw_slot_ending(const struct sw_daemon *d, int64_t sweep, int64_t trial);
/* Is there one, or one that has the trial? trial 0: any of the sweep's. Then a worker may still
 * write, or speak, for it. */
bool sw_slot_holds(const struct sw_daemon *d, int64_t sweep, int64_t trial);
/* The slot has a trial that must not begin yet: the answer to its worker.next waits, and is taken
 * over with what `job` holds. A trial that ends meanwhile ends the call. */
void sw_slot_defer_job(struct sw_slot *s, struct sw_call *call, struct sw_buf *job);
/* The slot's trial is over (told, or decided): the slot is free for the next. */
void sw_slot_done(struct sw_slot *s);
/* Nothing of its last trial's program is left, nor writes: what that had is free. */
void sw_slot_program_ended(struct sw_slot *s);
/* After it: the trial FAILED and had reported nothing. From the SW_SLOT_FAILURES-th in a row on,
 * while others work, the slot rests, longer each time: what is broken there would use up the
 * sweep. */
void sw_slot_failed(struct sw_slot *s, const char *cause);
#define SW_SLOT_FAILURES 5
/* The same through its worker, and told as lost. Nothing happens to a slot without a trial. */
void sw_slot_lose(struct sw_slot *s, bool blamed, const char *cause);
/* After a commit: tells the worker to drop this attempt, if it still has it. slot: -1 for none. */
void sw_slot_stop_trial(struct sw_daemon *d, int32_t slot, int64_t sweep, int64_t trial,
			int64_t attempt);

/* --- the link to its worker --- */

/* The slot that the call's connection speaks for. NULL: the call was refused. */
struct sw_slot *sw_slot_of(struct sw_call *call);
/* NULL: there is no such slot, or its worker has another id. */
struct sw_slot *sw_slot_find(struct sw_daemon *d, int64_t slot, const char *id);
void sw_slot_hello(struct sw_slot *s, struct sw_conn *c); /* see worker.hello */
/* How long a slot waits after a failure, by how many were before it: 1, 2, 4 ... 30 s. */
int64_t sw_slot_wait_us(unsigned before);
/* May it begin a trial? *why: why not (its GPU, or a start that the machine refused). */
bool sw_slot_may_begin(const struct sw_slot *s, const char **why);
/* Takes the call: it is answered with a trial, or with none after a while. refused: why the machine
 * let its trial not begin, which is no fault of the trial; NULL: it did not refuse. */
void sw_slot_next(struct sw_slot *s, struct sw_call *call, const char *refused);
/* Answers a held worker.next with none, if there is one. */
void sw_slot_next_end(struct sw_slot *s);
/* Its worker has said that it ends: no trial is for that process, though it asked for one. */
void sw_slot_leaves(struct sw_slot *s);
/* Closes its connection, if it has one. */
void sw_slot_disconnect(struct sw_slot *s);
/* The connection closes, from either end. */
void sw_slot_conn_gone(struct sw_conn *c);

#endif
