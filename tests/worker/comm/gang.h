/*
 * tests/worker/comm/gang.h — ranks as processes, each with a function, and what became of each. The
 * parent is no rank: it may stop and kill any of them.
 */
#ifndef SW_TESTS_WORKER_COMM_GANG_H
#define SW_TESTS_WORKER_COMM_GANG_H

#include "base/clock.h"
#include "tests/run.h"
#include "worker/comm/comm.h"
#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define GANG_MAX      4
#define GANG_LIMIT_MS 20000 /* of a whole gang; nothing here takes a second */

struct gang_rank {
	sw_status rc;   /* of open, or of what the function returned */
	char why[320];  /* the line */
	char bad[256];  /* what the function found wrong; "" */
	int64_t end_us; /* when the function was back */
	size_t fds;     /* descriptors that are more than before open */
	pid_t pid;
	int status;       /* of its end */
	atomic_uint done; /* how far it is: the function's own count */
};

struct gang {
	unsigned world;
	struct sw_comm_seat place;
	struct gang_rank *rank; /* [world], shared with the ranks */
};

typedef sw_status gang_main(struct sw_comm *c, struct gang_rank *me, void *ctx);

static inline size_t gang_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	size_t n = 0;

	while (readdir(dir) != NULL)
		n++;
	closedir(dir);
	return n;
}

/* What a rank finds wrong. */
#define GANG_BAD(me, ...) ((void)snprintf((me)->bad, sizeof(me)->bad, __VA_ARGS__))

static inline void gang_live(struct gang *g, unsigned r, gang_main *run, void *ctx)
{
	struct gang_rank *me = &g->rank[r];
	struct sw_err err = SW_ERR_INIT;
	struct sw_comm_seat place = g->place;
	struct sw_comm *c;
	size_t fds;

	place.rank = r;
	fds = gang_fds();
	me->rc = sw_comm_open(&c, &place, &err);
	if (me->rc != SW_OK) {
		(void)snprintf(me->why, sizeof me->why, "%s", err.msg);
		if (c != NULL)
			GANG_BAD(me, "an error with a comm");
	} else {
		me->rc = run(c, me, ctx);
		(void)snprintf(me->why, sizeof me->why, "%s", sw_comm_why(c));
	}
	me->end_us = sw_clock_mono_us();
	sw_comm_close(c);
	me->fds = gang_fds() - fds;
	_exit(0);
}

static inline void gang_fork(struct gang *g, unsigned r, gang_main *run, void *ctx)
{
	g->rank[r].rc = SW_INTERNAL;
	const pid_t pid = fork();
	if (pid == 0 && run == NULL)
		_exit(0);
	if (pid == 0)
		gang_live(g, r, run, ctx);
	ck_assert_int_gt(pid, 0);
	g->rank[r].pid = pid; /* shared: the child must not write it */
}

/* absent: a rank that ends before it has come, or world. */
static inline void gang_start_but(struct gang *g, const char *transport, unsigned world,
				  unsigned absent, gang_main *run, void *ctx)
{
	struct sw_err err = SW_ERR_INIT;

	g->world = world;
	g->rank = mmap(NULL, world * sizeof *g->rank, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(g->rank, MAP_FAILED);
	ck_assert_msg(sw_comm_meet(&g->place, transport, world, &err) == SW_OK, "%s", err.msg);
	for (unsigned r = 0; r < world; r++)
		gang_fork(g, r, r == absent ? NULL : run, ctx);
	close(g->place.fd);
}

static inline void gang_start(struct gang *g, const char *transport, unsigned world, gang_main *run,
			      void *ctx)
{
	gang_start_but(g, transport, world, world, run, ctx);
}

/* All have ended by themselves, or by each other, within the limit. */
static inline void gang_wait(struct gang *g)
{
	const int64_t until_us = sw_clock_mono_us() + (int64_t)GANG_LIMIT_MS * 1000;

	for (unsigned r = 0; r < g->world; r++) {
		struct pollfd end = {.events = POLLIN};

		end.fd = (int)syscall(SYS_pidfd_open, g->rank[r].pid, 0);
		const int64_t left_us = until_us - sw_clock_mono_us();
		if (poll(&end, 1, left_us > 0 ? (int)(left_us / 1000) : 0) != 1) {
			for (unsigned k = 0; k < g->world; k++)
				kill(g->rank[k].pid, SIGKILL);
			ck_abort_msg("rank %u of %u does not end", r, g->world);
		}
		close(end.fd);
		ck_assert_int_eq(waitpid(g->rank[r].pid, &g->rank[r].status, 0), g->rank[r].pid);
	}
	ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1); /* no other child */
}

static inline void gang_fini(struct gang *g)
{
	munmap(g->rank, g->world * sizeof *g->rank);
}

/* Rank r ended by itself, with this status and line (NULL: any), and left no descriptor. */
static inline void gang_check(const struct gang *g, unsigned r, sw_status rc, const char *why)
{
	const struct gang_rank *k = &g->rank[r];

	ck_assert_msg(WIFEXITED(k->status) && WEXITSTATUS(k->status) == 0,
		      "%s: rank %u of %u ended with status %x", g->place.transport, r, g->world,
		      (unsigned)k->status);
	ck_assert_msg(*k->bad == '\0', "%s: rank %u of %u: %s", g->place.transport, r, g->world,
		      k->bad);
	ck_assert_msg(k->rc == rc, "%s: rank %u of %u: %s (%s), not %s", g->place.transport, r,
		      g->world, sw_status_str(k->rc), k->why, sw_status_str(rc));
	if (why != NULL)
		ck_assert_str_eq(k->why, why);
	ck_assert_uint_eq(k->fds, 0);
}

/* A gang from its start to its end, without a fault. */
static inline void gang_run(const char *transport, unsigned world, gang_main *run, void *ctx)
{
	struct gang g;
	const size_t fds = gang_fds();

	gang_start(&g, transport, world, run, ctx);
	gang_wait(&g);
	for (unsigned r = 0; r < world; r++)
		gang_check(&g, r, SW_OK, "");
	gang_fini(&g);
	ck_assert_uint_eq(gang_fds(), fds);
}

/* Until a rank has done so much; a millisecond between two looks. */
static inline void gang_await(const struct gang *g, unsigned r, unsigned done)
{
	const int64_t until_us = sw_clock_mono_us() + (int64_t)GANG_LIMIT_MS * 1000;

	while (atomic_load(&g->rank[r].done) < done) {
		ck_assert_msg(sw_clock_mono_us() < until_us, "rank %u does not get so far", r);
		(void)poll(NULL, 0, 1);
	}
}

#endif
