#include "trainer/comm/comm.h"
#include "base/beat.h"
#include "base/clock.h"
#include "base/memory.h"
#include "trainer/comm/comm_internal.h"
#include "trainer/comm/nccl.h"
#include <assert.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* So often a rank looks for a move before it sleeps: some tens of microseconds. */
#define LOOKS 1000

/* --- beginning and end --- */

/* Only with a core for each of the ranks a look is worth more than sleep. */
static bool has_cores(unsigned world)
{
	cpu_set_t cores;

	return sched_getaffinity(0, sizeof cores, &cores) == 0 && CPU_COUNT(&cores) >= (int)world;
}

static void lock_init(struct comm_shared *all)
{
	pthread_condattr_t clock;

	(void)pthread_mutex_init(&all->lock, NULL);
	(void)pthread_condattr_init(&clock);
	/* Waits count by a clock that nobody sets. */
	(void)pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&all->moved, &clock);
	(void)pthread_condattr_destroy(&clock);
}

sw_status sw_comm_meet(struct sw_comm **out, unsigned world, bool devices, struct sw_err *err)
{
	struct comm_shared *all = sw_calloc(1, sizeof *all);

	assert(world >= 1 && world <= SW_COMM_WORLD_MAX);
	if (all != NULL)
		all->rank = sw_calloc(world, sizeof *all->rank);
	if (all == NULL || all->rank == NULL) {
		free(all);
		return sw_err_set(err, SW_NOMEM, "no memory for the ranks of a trial");
	}
	all->world = world;
	all->devices = devices;
	all->spins = has_cores(world);
	all->set = devices ? sw_nccl_set(world) : 0;
	/* All are counted before one runs: a rank that closes at once must not free what the others
	 * have yet to reach. */
	atomic_init(&all->open, world);
	lock_init(all);
	for (unsigned r = 0; r < world; r++) {
		struct sw_comm *c = out[r] = &all->rank[r];

		c->all = all;
		c->rank = r;
		c->groups = 1;
		/* From now on, so that one whose thread is not yet there is not taken for
		 * silent. */
		atomic_init(&c->beaten_us, sw_clock_mono_us());
	}
	return SW_OK;
}

void sw_comm_close(struct sw_comm *c)
{
	if (c == NULL)
		return;
	struct comm_shared *all = c->all;

	/* First: the end of NCCL asks what ended the comm. */
	(void)sw_comm_devices_end(c);
	atomic_store(&c->beaten_us, INT64_MAX); /* from now on it may be silent */
	if (atomic_fetch_sub(&all->open, 1) > 1)
		return; /* the last one frees what they share */
	sw_nccl_unset(all->set);
	(void)pthread_cond_destroy(&all->moved);
	(void)pthread_mutex_destroy(&all->lock);
	free(all->rank);
	free(all);
}

unsigned sw_comm_rank(const struct sw_comm *c)
{
	return c->rank;
}

unsigned sw_comm_world(const struct sw_comm *c)
{
	return c->all->world;
}

void sw_comm_groups(struct sw_comm *c, unsigned groups)
{
	assert(groups >= 1 && c->all->world % groups == 0 && c->nccl == NULL);
	c->groups = groups;
}

/* --- devices --- */

sw_status sw_comm_devices(struct sw_comm *c, struct sw_err *err)
{
	if (!c->all->devices || c->nccl != NULL)
		return SW_OK; /* sums are the host's, or NCCL's already */
	return sw_nccl_open(&c->nccl, c, err);
}

sw_status sw_comm_devices_end(struct sw_comm *c)
{
	sw_nccl_close(c->nccl);
	c->nccl = NULL;
	return c->stuck ? SW_DEVICE_LOST : SW_OK;
}

void sw_comm_records(struct sw_comm *c, bool records)
{
	if (c != NULL)
		c->records = records;
}

bool sw_comm_on_devices(const struct sw_comm *c)
{
	return c->all->devices;
}

void sw_comm_describe(const struct sw_comm *c, char *text, size_t cap)
{
	if (c->nccl != NULL)
		sw_nccl_describe(c->nccl, text, cap);
	else if (cap > 0)
		*text = '\0';
}

/* --- signs of life --- */

void sw_comm_beat(struct sw_comm *c)
{
	if (c != NULL)
		atomic_store_explicit(&c->beaten_us, sw_clock_mono_us(), memory_order_relaxed);
}

/* Of a rank that waits. It is quiet while another one hangs, so that the worker is. */
static void beat_if_all_live(struct sw_comm *c)
{
	const int64_t since_us = sw_clock_mono_us() - COMM_LIMIT_US;

	sw_comm_beat(c);
	for (unsigned r = 0; r < c->all->world; r++)
		if (atomic_load(&c->all->rank[r].beaten_us) < since_us)
			return;
	sw_beat();
}

sw_status sw_comm_look(void *comm)
{
	struct sw_comm *c = comm;

	beat_if_all_live(c);
	if (comm_failed(c) == SW_OK && c->nccl != NULL)
		sw_nccl_look(c->nccl);
	return comm_failed(c);
}

/* --- errors --- */

sw_status comm_failed(struct sw_comm *c)
{
	const sw_status rc = (sw_status)atomic_load(&c->all->failed);

	if (rc == SW_OK)
		return SW_OK;
	sw_nccl_abort(c->nccl); /* or its stream waits for a rank that is gone */
	/* Invariant 2: who is inside may still read buffers that this rank is about to free. */
	while (atomic_load(&c->all->inside) > 0)
		sched_yield();
	return rc;
}

sw_status comm_fail(struct sw_comm *c, sw_status why, const char *line)
{
	struct comm_shared *all = c->all;

	assert(why != SW_OK);
	pthread_mutex_lock(&all->lock);
	if (atomic_load(&all->failed) == SW_OK) { /* the first error stands */
		/* Both before `failed`: who sees that reads them without the lock. */
		(void)snprintf(all->why, sizeof all->why, "%s", line);
		all->blamed = c->rank;
		atomic_store(&all->failed, (int)why);
	}
	pthread_mutex_unlock(&all->lock);
	/* Outside of the lock, which it takes itself. */
	comm_move_on(c);
	return comm_failed(c);
}

void sw_comm_give_up(struct sw_comm *c, sw_status why, const char *msg)
{
	char line[sizeof c->all->why];

	if (c->rank > 0)
		(void)snprintf(line, sizeof line, "rank %u: %s", c->rank, msg);
	else
		(void)snprintf(line, sizeof line, "%s", msg);
	(void)comm_fail(c, why, line);
}

const char *sw_comm_why(const struct sw_comm *c)
{
	return atomic_load(&c->all->failed) != SW_OK ? c->all->why : "";
}

unsigned sw_comm_blamed(const struct sw_comm *c)
{
	return atomic_load(&c->all->failed) != SW_OK ? c->all->blamed : 0;
}

sw_status comm_enter(struct sw_comm *c)
{
	/* Counted first, then asked: one that fails the comm after the question waits for this
	 * rank, and an earlier failure is seen here. */
	(void)atomic_fetch_add(&c->all->inside, 1);
	if (atomic_load(&c->all->failed) == SW_OK)
		return SW_OK;
	comm_leave(c);
	return comm_failed(c);
}

void comm_leave(struct sw_comm *c)
{
	(void)atomic_fetch_sub(&c->all->inside, 1);
}

/* --- waits --- */

void comm_move_on(struct sw_comm *c)
{
	struct comm_shared *all = c->all;

	/* Invariant 3, the side that counts. */
	(void)atomic_fetch_add(&all->moves, 1);
	if (atomic_load(&all->asleep) == 0)
		return;
	pthread_mutex_lock(&all->lock);
	pthread_cond_broadcast(&all->moved);
	pthread_mutex_unlock(&all->lock);
}

/* Until something has moved since `seen`, or for COMM_LOOK_US. */
static void await_move(struct comm_shared *all, unsigned seen)
{
	struct timespec until;

	for (unsigned i = 0; all->spins && i < LOOKS; i++) {
		if (atomic_load_explicit(&all->moves, memory_order_relaxed) != seen)
			return;
#if defined(__x86_64__)
		__builtin_ia32_pause();
#endif
	}
	(void)clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += (long)COMM_LOOK_US * 1000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&all->lock);
	/* Invariant 3, the side that waits; the lock is held until the wait has begun, so that no
	 * broadcast falls between. */
	(void)atomic_fetch_add(&all->asleep, 1);
	if (atomic_load(&all->moves) == seen)
		(void)pthread_cond_timedwait(&all->moved, &all->lock, &until);
	(void)atomic_fetch_sub(&all->asleep, 1);
	pthread_mutex_unlock(&all->lock);
}

sw_status comm_until(struct sw_comm *c, bool (*ready)(const struct sw_comm *c, size_t k), size_t k)
{
	for (;;) {
		/* Before the question: what moves after it ends the wait below at once. */
		const unsigned seen = atomic_load(&c->all->moves);

		comm_sums_go_on(c); /* others may wait for them */
		const sw_status rc = comm_failed(c);

		if (rc != SW_OK || ready(c, k))
			return rc;
		await_move(c->all, seen);
		beat_if_all_live(c);
	}
}

static bool is_over(const struct sw_comm *c, size_t turn)
{
	return atomic_load(&c->all->turn) != (unsigned)turn;
}

/* All ranks have come to this call. */
static sw_status comm_meet(struct sw_comm *c)
{
	struct comm_shared *all = c->all;
	const unsigned turn = atomic_load(&all->turn);

	if (atomic_fetch_add(&all->arrived, 1) + 1 < all->world)
		return comm_until(c, is_over, turn);
	/* the last one: before the turn is over nobody arrives for the next */
	atomic_store(&all->arrived, 0);
	(void)atomic_fetch_add(&all->turn, 1);
	comm_move_on(c);
	return comm_failed(c);
}

/* --- what all say to each other --- */

sw_status comm_say(struct sw_comm *c, const void *p, size_t bytes)
{
	c->said++;
	c->p = (void *)p;
	if (bytes > 0 && bytes <= COMM_CELL)
		/* Two cells: this rank may be in its next call while a slower one still reads
		 * this. */
		memcpy(c->cell[c->said % 2], p, bytes);
	return comm_meet(c);
}

void *comm_said(const struct sw_comm *c, unsigned rank, size_t bytes)
{
	struct sw_comm *r = &c->all->rank[rank];

	return bytes <= COMM_CELL ? r->cell[c->said % 2] : r->p;
}

sw_status comm_heard(struct sw_comm *c, size_t bytes)
{
	/* a cell is written again only after the next call's meeting */
	return bytes <= COMM_CELL ? comm_failed(c) : comm_meet(c);
}

sw_status sw_comm_broadcast(struct sw_comm *c, unsigned from, void *p, size_t bytes)
{
	sw_status rc;

	assert(from < c->all->world);
	if (c->all->world == 1)
		return comm_failed(c);
	/* A listener's p may hold nothing yet: it is not copied into its cell. */
	rc = comm_say(c, p, from == c->rank || bytes > COMM_CELL ? bytes : 0);
	if (rc == SW_OK && from != c->rank && bytes > 0 && (rc = comm_enter(c)) == SW_OK) {
		memcpy(p, comm_said(c, from, bytes), bytes);
		comm_leave(c);
	}
	return rc == SW_OK ? comm_heard(c, bytes) : rc;
}

sw_status sw_comm_all_gather(struct sw_comm *c, const void *mine, void *all, size_t bytes)
{
	sw_status rc = comm_say(c, mine, bytes);

	if (rc == SW_OK && bytes > 0 && (rc = comm_enter(c)) == SW_OK) {
		for (unsigned r = 0; r < c->all->world; r++)
			memcpy((char *)all + r * bytes, comm_said(c, r, bytes), bytes);
		comm_leave(c);
	}
	return rc == SW_OK ? comm_heard(c, bytes) : rc;
}

sw_status sw_comm_barrier(struct sw_comm *c)
{
	return comm_meet(c);
}
