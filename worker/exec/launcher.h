/*
 * worker/exec/launcher.h — Python programs that start warm: a slot's launcher has imported what its
 * sweep's script imports, and forks a child for each trial (launcher.py).
 *
 *   worker --spawns--> launcher --forks--> process between --forks--> spare
 *      ^                                      (ends at once)           |  waits for an order
 *      '----- it is a subreaper: a spare, and so the program, is its own child, as a cold one is
 *
 * A launcher is for one interpreter, folder, script and environment, but for the variables that are
 * each trial's own. A slot keeps two, so that two sweeps that take turns there are both warm; for a
 * third the one goes that was asked longest ago. It is no part of any trial: it and its spares have
 * a session of their own (worker/exec/program.h). Each program gets one when its script begins.
 *
 * Bounds   An order is answered by until_us (in SW_LAUNCHER_ANSWER_S, or when the attempt's own
 *          time is over, if that is sooner), or the program starts cold. A launcher that no trial
 *          has asked for SW_LAUNCHER_IDLE_S goes, while one runs, too.
 * Threads  A lane's own.
 */
#ifndef SW_WORKER_EXEC_LAUNCHER_H
#define SW_WORKER_EXEC_LAUNCHER_H

#include "base/buf.h"
#include "worker/exec/program.h"
#include "worker/link/session.h"
#include <stdint.h>

#define SW_LAUNCHER_ANSWER_S 300
#define SW_LAUNCHER_IDLE_S   300
#define SW_LAUNCHER_WHY      200 /* bytes of a reason */
#define SW_LAUNCHERS         2

struct sw_launcher {
	struct sw_program program; /* pid 0: none */
	char mark[80];             /* its processes' own */
	struct sw_buf key;         /* the words of its start, by which it is found */
	char why[SW_LAUNCHER_WHY]; /* why programs of this key start cold; "": they do not */
	int64_t asked_us;          /* when a program was asked for last */
};

/* Those of a slot. */
struct sw_launchers {
	struct sw_launcher of[SW_LAUNCHERS];
	uint64_t told; /* the memory that the daemon knows of */
};

/* The start of a program, all of it borrowed: as sw_program_start() takes it. */
struct sw_launch {
	char *const *argv, *const *env;
	const char *path; /* of env */
	const char *cwd, *mark;
	const char *from; /* the launcher's folder: cwd, if all trials have the same */
	int mask;
	struct sw_session *session; /* heard while it waits */
	int64_t until_us;           /* and until when it does */
};

void sw_launchers_init(struct sw_launchers *all);
/* Ends them, and waits for that; a program that one has forked runs on. */
void sw_launchers_close(struct sw_launchers *all);

/* Starts a Python script as sw_program_start() does, by a fork. false: it must start cold, and why
 * (of SW_LAUNCHER_WHY bytes) says why; "": it is no Python script, or the cold start will say what
 * is wrong. Waits while packages are imported, unless the trial is dropped. */
bool sw_launchers_start(struct sw_launchers *all, struct sw_program *p, const struct sw_launch *of,
			char *why);

/* Ends one that has been idle for long, or has been killed; tells the daemon the memory that they
 * have, if that changed. Costs a look at two files: call it once a second. */
void sw_launchers_look(struct sw_launchers *all, struct sw_session *s);

#endif
