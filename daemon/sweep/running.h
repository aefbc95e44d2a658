/*
 * daemon/sweep/running.h — a sweep as the daemon holds it: the spec, the state machine, and what
 * runs where.
 *
 * The state machine of a sweep that has ended is in memory only from when someone needs it
 * (daemon/sweep/load/recover.h) until nobody does (daemon/sweep/load/unload.h); everything
 * else about it comes from the store.
 */
#ifndef SW_DAEMON_SWEEP_RUNNING_H
#define SW_DAEMON_SWEEP_RUNNING_H

#include "base/status.h"
#include "daemon/sweep/budget.h"
#include "daemon/sweep/edit.h"
#include "daemon/sweep/files/files.h"
#include "daemon/sweep/marks.h"
#include "daemon/sweep/wait.h"
#include "sched/sweep/share.h"
#include "sched/sweep/sweep.h"
#include "spec/spec.h"
#include "store/rows.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sw_daemon;
struct sw_call;
struct sw_suggester;

#define SW_RUN_GPU 60000 /* a whole GPU: what parts are counted in */

/* A trial, as far as the scheduler does not know it: 32 bytes, one for each of the sweep. */
struct sw_run {
	int64_t started_ms; /* wall clock, of the live attempt; 0: it does not run */
	int64_t heard_us;   /* monotonic: when the live attempt began, was last spoken of, or lost
			       its connection (daemon/sweep/run/hold.h) */
	float seconds;      /* run time of the attempts that ended */
	int16_t slot;       /* -1: a client's */
	bool alone;         /* on a GPU it takes all lanes (daemon/sweep/run/crowd.h) */
	uint32_t gpu;       /* its part of the slot's GPU, or its GPUs, of SW_RUN_GPU; 0: none */
	uint32_t conn;      /* the connection that holds it (daemon/sweep/run/hold.h); 0: none */
};

struct sw_running {
	struct sw_daemon *d;
	int64_t sweep;
	char *name;
	char *metric; /* NULL: the spec names none */
	char *method;
	bool maximize, driven; /* driven: by a client's ask, report and tell */
	uint64_t seed;
	int64_t run_cap; /* sw_sweep_asked_cap(); 0: none */
	int64_t created_ms, ended_ms;
	int64_t bytes;      /* that a trial takes at most; 0: it runs a program, or at a client */
	int64_t data_bytes; /* of these its data set's */
	int64_t data_sum;   /* of its files; 0: no files */
	enum sw_sweep_state state;
	enum sw_gone gone; /* daemon/sweep/files/erase.h */
	int64_t spared;    /* the trial spared by `rm --keep-best`; 0: none */

	struct sw_spec *spec;   /* NULL while unloaded */
	struct sw_sweep *sched; /* NULL while unloaded */
	uint64_t next_ev;       /* number of the next event */
	struct sw_run *runs;    /* runs[trial - 1] */
	size_t run_cap_n;       /* room in runs */
	uint64_t oldest;        /* no trial below this one is RUNNING: where a scan starts */
	int64_t asked_us;       /* monotonic: when the client that drives it last spoke */
	int64_t needed_us;      /* monotonic: when its state machine was asked for, or went on */
	unsigned lookups;       /* that wait for the store and come back to it */
	int64_t hold_us;  /* no trial is given back before this moment of the monotonic clock */
	bool metric_seen; /* some report carried the metric */
	char note[240];   /* said as `cause` while the sweep runs; "" for none */
	bool due;         /* in d->sweep.due */
	struct sw_running *next_due;

	struct {
		struct sw_share share; /* running: trials on slots now */
		/* Monotonic times of its next trial: since when it is short of slots in its turn,
		 * and since when slots are reserved for it; 0: it is not, none are. */
		int64_t short_us, reserved_us;
	} claim; /* on slots; daemon/sweep/give/place.h */
	struct sw_budget budget;
	struct sw_settings settings; /* as edits have left them */
	struct sw_files_of files;
	struct {
		bool settling; /* in d->sweep.settling */
		struct sw_running *next;
	} end; /* in slices; daemon/sweep/run/settle.h */

	struct sw_suggester *suggest; /* NULL: its sampler needs none */
	struct sw_waits waits[SW_WAIT_REASONS];

	struct {
		struct sw_marks changes;
		bool stuck;       /* the store is, as those who watch know */
		int64_t idle_min; /* sw_hold_idle_min() as they know it */
	} view;                   /* daemon/api/watch.h */
};

/* Finds the sweep that the call names. NULL: not found, and the call was answered ("no sweep 9;
 * the last one is 3"). */
struct sw_running *sw_running_of(struct sw_call *call);

/* Refuses the call if the sweep is one that was deleted but for its best trial. */
bool sw_running_refuse_record(const struct sw_running *live, struct sw_call *call);

/* A new sweep; takes spec and sched. The caller stores it. NULL: no memory. */
struct sw_running *sw_running_add(struct sw_daemon *d, struct sw_spec *spec, struct sw_sweep *sched,
				  uint64_t seed, int64_t now_ms);
/* A stored sweep, without its state machine. */
struct sw_running *sw_running_restore(struct sw_daemon *d, const struct sw_row_sweep *row);
void sw_running_free_all(struct sw_daemon *d);
/* Frees what sw_recover_need() makes again, of one without a suggester. */
void sw_running_unload(struct sw_running *live);

/* Lifts its account of slot time to that of the least served of the sweeps that wait for slots: a
 * newcomer, or one that was paused, ended or held back, gets its share from now on and no backlog.
 * O(sweeps). */
void sw_running_level(struct sw_running *live);

/* An attempt on so many slots has ended: the time of each counts. */
void sw_running_account(struct sw_share *share, int64_t us, unsigned slots);

/* At the end of this turn of the loop its budget, its suggestions and its waiting asks are looked
 * at. */
void sw_running_due(struct sw_running *live);

/* The answer to a change of its state: the sweep, its state, and its run_cap if that is asked
 * for. */
void sw_running_write_state(const struct sw_running *live, bool run_cap, struct sw_buf *out);

/* Room for the run of every trial up to n. */
SW_NODISCARD sw_status sw_running_runs(struct sw_running *live, uint64_t n);

#endif
