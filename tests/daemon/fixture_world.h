/*
 * tests/daemon/fixture_world.h — what a daemon in a story meets instead of a machine: a clock,
 * timers and a pool of threads that the story turns by hand, workers without processes, a store
 * without threads.
 *
 * The daemon is given the clock and the workers. The rest takes the place of the real thing at link
 * time (libuv's timers and its pool, card_poll.c, speccheck.c, store.c and its threads). Nothing
 * here waits.
 */
#ifndef SW_TESTS_DAEMON_FIXTURE_WORLD_H
#define SW_TESTS_DAEMON_FIXTURE_WORLD_H

#include "base/clock.h"
#include "base/status.h"
#include "daemon/slot/speccheck.h"
#include "tests/run.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sw_store;

/* --- text: what came of a line --- */

struct fixture_text {
	char s[16000];
	size_t n;
};

void fixture_say(struct fixture_text *t, const char *fmt, ...) SW_PRINTF(2, 3);
/* Another of the things that a line causes, after "; ". */
void fixture_happens(const char *fmt, ...) SW_PRINTF(1, 2);
extern struct fixture_text fixture_seen; /* all that the present line has caused */

/* --- time --- */

extern const struct sw_clock fixture_clock;
extern struct fixture_time {
	int64_t now_us;
	int64_t look_us; /* that a look at the clock takes: a daemon that is slow */
	int64_t set_ms;  /* the wall clock was set ahead by so much */
} fixture_time;

/* The moment of the next timer, at most until_us; then that timer alone runs. False: none is
 * due. */
bool fixture_timer_next(int64_t until_us);
void fixture_timers_forget(void);

/* --- libuv's pool --- */

extern bool fixture_pool_holds; /* jobs wait until the story says otherwise */
bool fixture_pool_one(void);    /* does the first job and reports it; false: there is none */

extern bool fixture_moved; /* something happened: the loop must turn again */

/* --- the disk --- */

enum fixture_disk_state {
	FIXTURE_DISK_WORKS,
	FIXTURE_DISK_HOLDS, /* commits and what waits for them take for ever */
	FIXTURE_DISK_FULL,
	FIXTURE_DISK_BROKEN, /* the next commit fails for good */
	FIXTURE_DISK_BLINKS  /* full until reads were let go, and for no longer */
};

extern struct fixture_disk {
	enum fixture_disk_state state;
	bool behind;      /* too much waits */
	bool removed;     /* the database is no longer where it was */
	bool lost;        /* the machine is off: nothing more reaches the disk */
	int commits_left; /* it breaks after so many; -1: it does not */
	struct sw_store *store;
} fixture_disk;

bool fixture_store_turn(void);
/* Changes the file in dir behind the back of a daemon that is down. */
void fixture_store_alter(const char *dir, const char *sql);
void fixture_store_ask(const char *sql, struct fixture_text *out);

/* --- workers: what the executor has started lives on when the daemon dies --- */

#define FIXTURE_WORKERS 8
#define FIXTURE_CORES   3

extern const struct sw_executor fixture_executor;

struct fixture_worker {
	bool lives;
	int slot;
	int lanes;            /* slots that it speaks for, this one the first */
	char handle[30];      /* by which a later daemon finds it */
	char id[40];          /* that the daemon gave it; "": it was not told to begin */
	struct sw_proc *proc; /* NULL: no daemon knows of it */
};

extern struct fixture_worker fixture_workers[FIXTURE_WORKERS]; /* by slot */
extern bool fixture_workers_stubborn;                          /* a soft word does not end one */
extern bool fixture_workers_fail;                              /* none can be started */
extern long fixture_worker_pid;                                /* of all; that of this process */

/* The process of that slot ends by itself. */
void fixture_worker_ends(int slot, const char *cause, const char *said);
/* Tells the daemon of those that it has asked to end. True: there was one. */
bool fixture_workers_turn(void);

/* --- GPUs: two, each of 16 GiB --- */

void fixture_cards_init(void);
/* fine, lost, ecc (an error that cannot be corrected), held (by a stranger), kept (by a process of
 * a worker), leaks (memory that no process has), small (2 GiB), silent (NVML hangs). */
void fixture_card_is(size_t card, const char *what);
bool fixture_cards_turn(void); /* true: there was a reading */

/* --- the check of a spec's model and data --- */

extern struct fixture_check {
	bool holds;
	char refusal[100]; /* "": it passes */
	struct sw_speccheck facts;
} fixture_check;

bool fixture_checks_turn(void);

/* --- the end of the process --- */

extern bool fixture_daemon_runs; /* _exit() ends it and not the test */
_Noreturn void fixture_daemon_exits(int status);

#endif
