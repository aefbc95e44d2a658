#include "worker/comm/comm.h"
#include "base/clock.h"
#include "base/process.h"
#include "worker/comm/comm_internal.h"
#include "worker/comm/nccl.h"
#include <assert.h>
#include <stdio.h>
#include <string.h>

#define AT_WORK 7 /* of the limit of silence, for a rank that computes or waits for a disk */

static bool is_transport(const char *name)
{
	return strcmp(name, "shm") == 0 || strcmp(name, "nccl") == 0;
}

static int64_t silent_us(void)
{
	const char *given = getenv("SWEEPD_COMM_SILENT_MS");
	const long ms = given != NULL ? strtol(given, NULL, 10) : 0;

	return ms > 0 && ms <= SW_COMM_SILENT_US / 1000 ? (int64_t)ms * 1000 : SW_COMM_SILENT_US;
}

sw_status sw_comm_meet(struct sw_comm_seat *at, const char *transport, unsigned world,
		       struct sw_err *err)
{
	assert(world >= 1 && world <= SW_COMM_WORLD_MAX);
	*at = (struct sw_comm_seat){.world = world, .fd = -1};
	if (!is_transport(transport))
		return sw_err_set(err, SW_UNSUPPORTED, "no transport is called %s", transport);
	(void)snprintf(at->transport, sizeof at->transport, "%s", transport);
	return comm_shm_meet(at, err);
}

sw_status sw_comm_open(struct sw_comm **out, const struct sw_comm_seat *at, struct sw_err *err)
{
	struct sw_comm *c = NULL;

	*out = NULL;
	assert(at->world >= 1 && at->world <= SW_COMM_WORLD_MAX && at->rank < at->world);
	if (!is_transport(at->transport))
		return sw_err_set(err, SW_UNSUPPORTED, "no transport is called %s", at->transport);
	sw_status rc = comm_shm_open(&c, at, silent_us(), err);
	if (rc != SW_OK)
		return rc;
	c->devices = strcmp(at->transport, "nccl") == 0;
	c->groups = 1;
	c->beaten_us = c->awake_us = sw_clock_mono_us();
	rc = sw_comm_barrier(c);
	if (rc != SW_OK) {
		(void)sw_err_set(err, rc, "%s", c->why);
		sw_comm_close(c);
		return rc;
	}
	*out = c;
	return SW_OK;
}

void sw_comm_close(struct sw_comm *c)
{
	if (c == NULL)
		return;
	sw_nccl_close(c->nccl); /* whoever closes ends anyway */
	comm_shm_close(c);
}

/* --- devices --- */

sw_status sw_comm_devices(struct sw_comm *c, struct sw_err *err)
{
	if (!c->devices || c->nccl != NULL)
		return SW_OK; /* sums are the host's, or NCCL's already */
	return sw_nccl_open(&c->nccl, c, err);
}

sw_status sw_comm_devices_end(struct sw_comm *c)
{
	sw_nccl_close(c->nccl);
	c->nccl = NULL;
	return c->stuck ? SW_DEVICE_LOST : SW_OK;
}

bool sw_comm_on_devices(const struct sw_comm *c)
{
	return c->devices;
}

void sw_comm_describe(const struct sw_comm *c, char *text, size_t cap)
{
	if (c->nccl != NULL)
		sw_nccl_describe(c->nccl, text, cap);
	else if (cap > 0)
		*text = '\0';
}

sw_status sw_comm_look(void *comm)
{
	struct sw_comm *c = comm;
	unsigned lost = c->world;

	if (c->failed == SW_OK)
		comm_shm_look(c, &lost);
	if (c->failed == SW_OK && lost < c->world)
		(void)comm_lose(c, lost, false);
	if (c->failed == SW_OK && c->nccl != NULL)
		sw_nccl_look(c->nccl);
	return c->failed;
}

/* --- */

unsigned sw_comm_rank(const struct sw_comm *c)
{
	return c->rank;
}

unsigned sw_comm_world(const struct sw_comm *c)
{
	return c->world;
}

void sw_comm_groups(struct sw_comm *c, unsigned groups)
{
	assert(groups >= 1 && c->world % groups == 0 && c->nccl == NULL);
	assert(c->failed != SW_OK || c->sums_done == c->sums_begun);
	c->groups = groups;
}

const char *sw_comm_why(const struct sw_comm *c)
{
	return c->why;
}

void sw_comm_beat(struct sw_comm *c)
{
	const int64_t now_us = sw_clock_mono_us();

	if (c == NULL)
		return;
	if (now_us - c->beaten_us > c->silent_us / 4)
		c->awake_us = now_us;
	c->beaten_us = now_us;
	comm_shm_beat(c);
}

void sw_comm_abort(struct sw_comm *c, sw_status why, const char *line)
{
	assert(why != SW_OK);
	(void)comm_fail(c, why, line);
}

void sw_comm_give_up(struct sw_comm *c, sw_status why, const char *msg)
{
	char line[sizeof c->why];

	if (c->rank > 0)
		(void)snprintf(line, sizeof line, "rank %u: %s", c->rank, msg);
	else
		(void)snprintf(line, sizeof line, "%s", msg);
	sw_comm_abort(c, why, line);
}

sw_status comm_fail(struct sw_comm *c, sw_status why, const char *line)
{
	if (c->failed == SW_OK) { /* the first error stands */
		c->failed = why;
		(void)snprintf(c->why, sizeof c->why, "%s", line);
		comm_shm_abort(c);      /* first: no rank is to take this one for silent */
		sw_nccl_abort(c->nccl); /* or streams wait for a rank that is gone */
	}
	return c->failed;
}

/* One long operation, or a disk that is slow, gives no sign of life, but is no standstill. */
static bool is_at_work(pid_t tid)
{
	struct sw_process p;

	return tid != 0 && sw_process_read(tid, &p) && (p.state == 'R' || p.state == 'D');
}

bool comm_is_silent(const struct sw_comm *c, int64_t since_us, int64_t now_us, pid_t tid)
{
	const int64_t us = now_us - (since_us > c->awake_us ? since_us : c->awake_us);

	if (us < c->silent_us)
		return false; /* not for long enough */
	return us >= AT_WORK * c->silent_us || !is_at_work(tid);
}

sw_status comm_lose(struct sw_comm *c, unsigned rank, bool silent)
{
	char line[sizeof c->why];

	if (silent)
		(void)snprintf(line, sizeof line, "rank %u of %u is silent for %g s", rank,
			       c->world, (double)c->silent_us / 1e6);
	else
		(void)snprintf(line, sizeof line, "rank %u of %u has ended", rank, c->world);
	return comm_fail(c, SW_PEER_LOST, line);
}

sw_status comm_expect(struct sw_comm *c, unsigned from, const struct comm_chunk *chunk,
		      enum comm_kind kind, size_t bytes)
{
	static const char *const names[] = {[COMM_SUM] = "a sum",
					    [COMM_BROADCAST] = "a broadcast",
					    [COMM_GATHER] = "all_gather",
					    [COMM_MOVE] = "an exchange"};
	char line[sizeof c->why];

	if (chunk->kind == (uint32_t)kind && chunk->bytes == bytes)
		return SW_OK;
	(void)snprintf(line, sizeof line,
		       "rank %u sends %u bytes of %s where rank %u expects %zu of %s", from,
		       chunk->bytes,
		       chunk->kind < sizeof names / sizeof *names ? names[chunk->kind] : "nothing",
		       c->rank, bytes, names[kind]);
	return comm_fail(c, SW_INTERNAL, line);
}

void comm_wait(struct sw_comm *c, unsigned *lost)
{
	if (*lost < c->world)
		(void)comm_lose(c, *lost, false);
	else
		comm_shm_idle(c, lost);
}

/* Waits for a free cell. */
static sw_status comm_room(struct sw_comm *c, void **out)
{
	unsigned lost = c->world;

	while ((*out = comm_shm_room(c)) == NULL && c->failed == SW_OK)
		comm_wait(c, &lost);
	return c->failed;
}

/* Waits for a chunk of that kind and size. */
static sw_status comm_await(struct sw_comm *c, unsigned from, enum comm_kind kind, size_t bytes,
			    struct comm_chunk *out)
{
	unsigned lost = c->world;

	while (c->failed == SW_OK && !comm_shm_peek(c, from, out))
		comm_wait(c, &lost);
	return c->failed != SW_OK ? c->failed : comm_expect(c, from, out, kind, bytes);
}

/* Every rank's bit. */
static uint64_t comm_all(const struct sw_comm *c)
{
	return UINT64_MAX >> (SW_COMM_WORLD_MAX - c->world);
}

static sw_status send_chunk(struct sw_comm *c, enum comm_kind kind, const char *p, size_t n)
{
	void *to;

	if (comm_room(c, &to) != SW_OK)
		return c->failed;
	if (n > 0)
		memcpy(to, p, n);
	comm_shm_publish(c, kind, n, comm_all(c));
	return SW_OK;
}

static sw_status take_chunk(struct sw_comm *c, unsigned from, enum comm_kind kind, char *p,
			    size_t n)
{
	struct comm_chunk chunk;

	if (comm_await(c, from, kind, n, &chunk) != SW_OK)
		return c->failed;
	if (n > 0)
		memcpy(p, chunk.data, n);
	comm_shm_release(c, from);
	return SW_OK;
}

sw_status sw_comm_broadcast(struct sw_comm *c, unsigned from, void *p, size_t bytes)
{
	assert(from < c->world && (c->failed != SW_OK || c->sums_done == c->sums_begun));
	for (size_t at = 0; at < bytes && c->failed == SW_OK && c->world > 1; at += COMM_CHUNK) {
		const size_t n = bytes - at < COMM_CHUNK ? bytes - at : COMM_CHUNK;

		if (from == c->rank)
			(void)send_chunk(c, COMM_BROADCAST, (const char *)p + at, n);
		else
			(void)take_chunk(c, from, COMM_BROADCAST, (char *)p + at, n);
	}
	return c->failed;
}

/* Of nothing at all it is a barrier. */
sw_status sw_comm_all_gather(struct sw_comm *c, const void *mine, void *all, size_t bytes)
{
	size_t at = 0;

	assert(c->failed != SW_OK || c->sums_done == c->sums_begun);
	do {
		const size_t n = bytes - at < COMM_CHUNK ? bytes - at : COMM_CHUNK;

		(void)send_chunk(c, COMM_GATHER, n > 0 ? (const char *)mine + at : NULL, n);
		for (unsigned r = 0; r < c->world && c->failed == SW_OK; r++)
			if (r != c->rank)
				(void)take_chunk(c, r, COMM_GATHER,
						 n > 0 ? (char *)all + r * bytes + at : NULL, n);
		at += n;
	} while (at < bytes && c->failed == SW_OK);
	if (bytes > 0)
		memcpy((char *)all + c->rank * bytes, mine, bytes);
	return c->failed;
}

sw_status sw_comm_barrier(struct sw_comm *c)
{
	return sw_comm_all_gather(c, NULL, NULL, 0);
}
