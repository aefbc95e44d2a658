/* worker/comm/comm_sum.c — sums: each of their ranks publishes its part chunk by chunk, and adds
 * the chunks of all in rank order into its own memory. What is published is a copy, so a chunk of p
 * is written only after it has left. */
#include "worker/comm/comm_internal.h"
#include "worker/comm/nccl.h"
#include <assert.h>
#include <string.h>

/* How far a rank that waits runs ahead of the others, in chunks. Ranks in step are one apart; where
 * one was taken off its core, the other has done so much when it comes back. More would leave the
 * cache. */
#define AHEAD 16

/* So many bytes are added at a time if the sum has a buffer of its own: it stays in the L1. */
#define BLOCK ((size_t)4096)

static size_t size_of(enum sw_comm_type type)
{
	static const size_t sizes[] = {[SW_COMM_F32] = sizeof(float),
				       [SW_COMM_F64] = sizeof(double),
				       [SW_COMM_I64] = sizeof(int64_t)};

	return sizes[type];
}

static size_t next_bytes(const struct comm_sum *s, size_t from)
{
	return s->bytes - from < COMM_CHUNK ? s->bytes - from : COMM_CHUNK;
}

/* This rank's number among the sum's ranks, from 0; the rank that is number i; all as bits. */
static unsigned number_in(const struct sw_comm *c, const struct comm_sum *s)
{
	return (c->rank - s->first) / s->stride;
}

static unsigned rank_of(const struct comm_sum *s, unsigned i)
{
	return s->first + i * s->stride;
}

static uint64_t all_of(const struct comm_sum *s)
{
	uint64_t all = 0;

	for (unsigned i = 0; i < s->n; i++)
		all |= UINT64_C(1) << rank_of(s, i);
	return all;
}

/* False: there is nothing to publish, or no room. */
static bool publish_one(struct sw_comm *c)
{
	while (c->sums_publishing < c->sums_begun) {
		struct comm_sum *s = &c->sum[c->sums_publishing % COMM_SUMS];

		if (number_in(c, s) < s->parts && s->published < s->bytes) {
			const size_t n = next_bytes(s, s->published);
			void *to = comm_shm_room(c);

			if (to == NULL)
				return false; /* no cell: others have yet to read */
			memcpy(to, s->p + s->published, n);
			comm_shm_publish(c, COMM_SUM, n, all_of(s));
			s->published += n;
			c->ahead++;
			return true;
		}
		c->sums_publishing++;
	}
	return false;
}

static const char *part_at(const struct comm_chunk *chunk, size_t at)
{
	assert(chunk->data != NULL);
	return (const char *)chunk->data + at;
}

/* mine: this rank's number in the sum. to: its part, if it has one. chunk: of the others. */
static void add_in_order(const struct comm_sum *s, unsigned mine, char *to, size_t bytes,
			 const struct comm_chunk *chunk)
{
	const unsigned before = mine < s->parts ? mine : s->parts;
	char sum[BLOCK] __attribute__((aligned(64)));

	for (size_t at = 0; at < bytes; at += BLOCK) {
		const size_t n = bytes - at < BLOCK ? bytes - at : BLOCK;
		char *const p = to + at;

		if (mine >= s->parts) { /* p gets the sum of the others */
			memcpy(p, part_at(&chunk[0], at), n);
			for (unsigned r = 1; r < before; r++)
				comm_add(s->type, p, part_at(&chunk[r], at), n);
			continue;
		}
		if (before == 1) {
			comm_add(s->type, p, part_at(&chunk[0], at), n);
		} else if (before > 1) { /* p may be added only to the sum of those before it */
			memcpy(sum, part_at(&chunk[0], at), n);
			for (unsigned r = 1; r < before; r++)
				comm_add(s->type, sum, part_at(&chunk[r], at), n);
			comm_add(s->type, p, sum, n);
		}
		for (unsigned r = before + 1; r < s->parts; r++)
			comm_add(s->type, p, part_at(&chunk[r], at), n);
	}
}

/* One chunk of the oldest sum. *moved false: it is not all there yet. */
static sw_status sum_one(struct sw_comm *c, bool *moved)
{
	struct comm_sum *s = &c->sum[c->sums_done % COMM_SUMS];
	struct comm_chunk chunk[SW_COMM_WORLD_MAX] = {{0}};
	const size_t n = next_bytes(s, s->done);
	const unsigned mine = number_in(c, s);

	*moved = false;
	if (mine < s->parts && n > 0 && s->published == s->done)
		return SW_OK; /* its own part has not left yet, and would be overwritten */
	for (unsigned i = 0; n > 0 && i < s->parts; i++) {
		if (i == mine)
			continue;
		if (!comm_shm_peek(c, rank_of(s, i), &chunk[i]))
			return c->failed; /* a part is not there yet */
		const sw_status rc = comm_expect(c, rank_of(s, i), &chunk[i], COMM_SUM, n);
		if (rc != SW_OK)
			return rc;
	}
	*moved = true;
	if (n > 0) {
		add_in_order(s, mine, s->p + s->done, n, chunk);
		for (unsigned i = 0; i < s->parts; i++)
			if (i != mine)
				comm_shm_release(c, rank_of(s, i));
		c->ahead -= mine < s->parts;
		s->done += n;
	}
	if (s->done == s->bytes) {
		c->sums_done++;
		if (c->sums_publishing < c->sums_done)
			c->sums_publishing = c->sums_done;
	}
	return SW_OK;
}

/* Until at most `left` sums are not complete. */
static sw_status complete(struct sw_comm *c, size_t left)
{
	unsigned lost = c->world;

	while (c->failed == SW_OK && c->sums_begun - c->sums_done > left) {
		bool moved, wrote = false;

		if (c->ahead < AHEAD)
			wrote = publish_one(c);
		if (sum_one(c, &moved) != SW_OK)
			break;
		if (!moved && !wrote)
			comm_wait(c, &lost);
	}
	return c->failed;
}

/* stride: 1, all ranks; else those whose number differs by a multiple of it. */
static sw_status begin_sum(struct sw_comm *c, enum sw_comm_type type, void *p, size_t n,
			   unsigned stride, unsigned parts)
{
	const unsigned world = c->world / stride;

	assert(parts >= 1 && parts <= world);
	if (c->failed != SW_OK || world == 1)
		return c->failed; /* of one rank p is the sum */
	if (complete(c, COMM_SUMS - 1) != SW_OK)
		return c->failed;
	c->sum[c->sums_begun++ % COMM_SUMS] = (struct comm_sum){.type = type,
								.first = c->rank % stride,
								.stride = stride,
								.n = world,
								.parts = parts,
								.p = p,
								.bytes = n * size_of(type)};
	return SW_OK;
}

bool comm_sums_go_on(struct sw_comm *c)
{
	bool moved = true;

	while (publish_one(c))
		;
	while (moved && c->sums_done < c->sums_begun)
		if (sum_one(c, &moved) != SW_OK)
			break;
	return c->sums_publishing == c->sums_begun;
}

sw_status sw_comm_sum_begin(struct sw_comm *c, void *stream, float *p, size_t n, unsigned parts)
{
	if (c->nccl != NULL)
		return sw_nccl_sum(c->nccl, stream, p, n);
	if (begin_sum(c, SW_COMM_F32, p, n, c->groups, parts) == SW_OK)
		(void)comm_sums_go_on(c);
	return c->failed;
}

sw_status sw_comm_sum_now(struct sw_comm *c, void *stream, double *p, size_t n, unsigned parts)
{
	if (c->nccl != NULL)
		return sw_nccl_sum_f64(c->nccl, stream, p, n);
	/* a stream has one order: sums that were begun come first, on every rank */
	const sw_status rc = begin_sum(c, SW_COMM_F64, p, n, 1, parts);

	return rc != SW_OK ? rc : complete(c, 0);
}

sw_status sw_comm_sum_end(struct sw_comm *c)
{
	return complete(c, 0);
}

sw_status sw_comm_sum(struct sw_comm *c, enum sw_comm_type type, void *p, size_t n, unsigned parts)
{
	assert(c->failed != SW_OK || c->sums_done == c->sums_begun);
	const sw_status rc = begin_sum(c, type, p, n, 1, parts);

	return rc != SW_OK ? rc : complete(c, 0);
}
