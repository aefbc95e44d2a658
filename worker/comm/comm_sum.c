/* worker/comm/comm_sum.c — sums: every rank publishes its part chunk by chunk, and adds the chunks of
 * all in rank order into its own memory. What is published is a copy, so a chunk of p is written
 * only after it has left. */
#include "worker/comm/comm_internal.h"
#include "worker/comm/nccl.h"
#include <assert.h>
#include <string.h>

/* How far a rank that waits runs ahead of the others, in chunks. Ranks in step are one apart; where one
 * was taken off its core, the other has done so much when it comes back. More would leave the cache. */
#define AHEAD 16

/* What is added at a time where a third operand lies between: it stays in the L1. */
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

/* False: there is nothing to publish, or no room. */
static bool publish_one(struct sw_comm *c)
{
	while (c->sums_publishing < c->sums_begun) {
		struct comm_sum *s = &c->sum[c->sums_publishing % COMM_SUMS];

		if (c->rank < s->parts && s->published < s->bytes) {
			const size_t n = next_bytes(s, s->published);
			void *to = c->table->room(c);

			if (to == NULL)
				return false;
			memcpy(to, s->p + s->published, n);
			c->table->publish(c, COMM_SUM, n);
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

/* to: this rank's part, if it has one. chunk: of the others. */
static void add_in_order(const struct sw_comm *c, const struct comm_sum *s, char *to, size_t bytes,
			 const struct comm_chunk *chunk)
{
	const unsigned before = c->rank < s->parts ? c->rank : s->parts;
	char sum[BLOCK] __attribute__((aligned(64)));

	for (size_t at = 0; at < bytes; at += BLOCK) {
		const size_t n = bytes - at < BLOCK ? bytes - at : BLOCK;
		char *const p = to + at;

		if (c->rank >= s->parts) { /* p gets the sum of the others */
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

	*moved = false;
	if (c->rank < s->parts && n > 0 && s->published == s->done)
		return SW_OK;
	for (unsigned r = 0; n > 0 && r < s->parts; r++) {
		if (r == c->rank)
			continue;
		if (!c->table->peek(c, r, &chunk[r]))
			return c->failed;
		const sw_status rc = comm_expect(c, r, &chunk[r], COMM_SUM, n);
		if (rc != SW_OK)
			return rc;
	}
	*moved = true;
	if (n > 0) {
		add_in_order(c, s, s->p + s->done, n, chunk);
		for (unsigned r = 0; r < s->parts; r++)
			if (r != c->rank)
				c->table->release(c, r);
		c->ahead -= c->rank < s->parts;
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
	unsigned lost =
		c->world; /* found ended; what it published before may be all that is needed */

	while (c->failed == SW_OK && c->sums_begun - c->sums_done > left) {
		bool moved, wrote = false;

		if (c->ahead < AHEAD)
			wrote = publish_one(c);
		if (sum_one(c, &moved) != SW_OK)
			break;
		if (moved || wrote)
			continue;
		if (lost < c->world)
			return comm_lose(c, lost, false);
		c->table->idle(c, &lost);
	}
	return c->failed;
}

static sw_status begin_sum(struct sw_comm *c, enum sw_comm_type type, void *p, size_t n,
			   unsigned parts)
{
	assert(parts >= 1 && parts <= c->world);
	if (c->failed != SW_OK || c->world == 1)
		return c->failed;
	if (complete(c, COMM_SUMS - 1) != SW_OK)
		return c->failed;
	c->sum[c->sums_begun++ % COMM_SUMS] =
		(struct comm_sum){.type = type, .parts = parts, .p = p, .bytes = n * size_of(type)};
	return SW_OK;
}

sw_status sw_comm_sum_begin(struct sw_comm *c, void *stream, float *p, size_t n, unsigned parts)
{
	bool moved = true;

	if (c->nccl != NULL)
		return sw_nccl_sum(c->nccl, stream, p, n);

	if (begin_sum(c, SW_COMM_F32, p, n, parts) != SW_OK)
		return c->failed;
	while (publish_one(c))
		;
	while (moved && c->sums_done < c->sums_begun)
		if (sum_one(c, &moved) != SW_OK)
			break;
	return c->failed;
}

sw_status sw_comm_sum_now(struct sw_comm *c, void *stream, double *p, size_t n, unsigned parts)
{
	if (c->nccl != NULL)
		return sw_nccl_sum_f64(c->nccl, stream, p, n);
	/* a stream has one order: sums that were begun come first, on every rank */
	const sw_status rc = begin_sum(c, SW_COMM_F64, p, n, parts);

	return rc != SW_OK ? rc : complete(c, 0);
}

sw_status sw_comm_sum_end(struct sw_comm *c)
{
	return complete(c, 0);
}

sw_status sw_comm_sum(struct sw_comm *c, enum sw_comm_type type, void *p, size_t n, unsigned parts)
{
	assert(c->failed != SW_OK || c->sums_done == c->sums_begun);
	const sw_status rc = begin_sum(c, type, p, n, parts);

	return rc != SW_OK ? rc : complete(c, 0);
}
