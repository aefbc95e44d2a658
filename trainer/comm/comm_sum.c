/* trainer/comm/comm_sum.c — sums: each rank makes a slice of the elements, from the parts of all in
 * rank order, and writes it into the buffers of all. So each element is added up once. */
#include "trainer/comm/comm_internal.h"
#include "trainer/comm/nccl.h"
#include <assert.h>
#include <string.h>

/* So many bytes are added at a time: they stay in the L1. A slice is whole blocks, but for the
 * last one: no two ranks write to one cache line. */
#define BLOCK ((size_t)4096)

static size_t size_of(enum sw_comm_type type)
{
	static const size_t sizes[] = {[SW_COMM_F32] = sizeof(float),
				       [SW_COMM_F64] = sizeof(double),
				       [SW_COMM_I64] = sizeof(int64_t)};

	return sizes[type];
}

/* at: the n buffers; the first `parts` of them are added. mine: this rank's number among them. */
static void make_slice(enum sw_comm_type type, char *const at[], unsigned n, unsigned parts,
		       unsigned mine, size_t bytes)
{
	const size_t blocks = (bytes + BLOCK - 1) / BLOCK;
	const size_t first = blocks * mine / n, end = blocks * (mine + 1) / n;
	char sum[BLOCK] __attribute__((aligned(64)));

	assert(parts <= n && mine < n);
	for (size_t b = first; b < end; b++) {
		const size_t from = b * BLOCK, left = bytes - from;
		const size_t some = left < BLOCK ? left : BLOCK;

		/* In rank order from rank 0 on, whichever rank makes the slice: so the bits are the
		 * same. */
		memcpy(sum, at[0] + from, some);
		for (unsigned r = 1; r < parts; r++)
			comm_add(type, sum, at[r] + from, some);
		for (unsigned r = 0; r < n; r++)
			memcpy(at[r] + from, sum, some);
	}
}

/* --- begun sums, of a group --- */

/* Rank i of c's group. */
static struct sw_comm *group_rank(const struct sw_comm *c, unsigned i)
{
	return &c->all->rank[c->rank % c->groups + i * c->groups];
}

static bool all_began(const struct sw_comm *c, size_t k)
{
	for (unsigned i = 0; i < c->all->world / c->groups; i++)
		if (atomic_load(&group_rank(c, i)->begun) <= k)
			return false;
	return true;
}

/* Have all made their slices of the first n? */
static bool all_added(const struct sw_comm *c, size_t n)
{
	for (unsigned i = 0; i < c->all->world / c->groups; i++)
		if (atomic_load(&group_rank(c, i)->added) < n)
			return false;
	return true;
}

/* Makes this rank's slice of the sum number k, which all have begun. */
static sw_status add_one(struct sw_comm *c, size_t k)
{
	const struct comm_sum *s = &c->sum[k % COMM_SUMS];
	const unsigned n = c->all->world / c->groups;
	char *at[SW_COMM_WORLD_MAX] = {NULL};
	const sw_status rc = comm_enter(c);

	if (rc != SW_OK)
		return rc;
	for (unsigned i = 0; i < n; i++) {
		const struct comm_sum *theirs = &group_rank(c, i)->sum[k % COMM_SUMS];

		assert(theirs->bytes == s->bytes && theirs->parts == s->parts);
		at[i] = theirs->p;
	}
	make_slice(SW_COMM_F32, at, n, s->parts, c->rank / c->groups, s->bytes);
	comm_leave(c);
	/* Out before it counts: a rank that sees the count may go on with its buffer. */
	atomic_store(&c->added, k + 1);
	comm_move_on(c);
	return SW_OK;
}

void comm_sums_go_on(struct sw_comm *c)
{
	const size_t begun = atomic_load(&c->begun);

	for (size_t k = atomic_load(&c->added); k < begun && all_began(c, k); k++)
		if (add_one(c, k) != SW_OK)
			return;
}

sw_status sw_comm_sum_begin(struct sw_comm *c, void *stream, float *p, size_t n, unsigned parts)
{
	const unsigned world = c->all->world / c->groups;
	const size_t k = atomic_load(&c->begun);
	sw_status rc = comm_failed(c);

	if (c->nccl != NULL)
		return sw_nccl_sum(c->nccl, stream, p, n);
	assert(parts >= 1 && parts <= world);
	if (rc != SW_OK || world == 1)
		return rc; /* of one rank p is the sum */
	/* The row of the sum COMM_SUMS before is overwritten: all must have read it. */
	if (k >= COMM_SUMS)
		rc = comm_until(c, all_added, k - COMM_SUMS + 1);
	if (rc != SW_OK)
		return rc;
	/* The row before the count, by which others find it (invariant 1). */
	c->sum[k % COMM_SUMS] =
		(struct comm_sum){.p = (char *)p, .bytes = n * sizeof *p, .parts = parts};
	atomic_store(&c->begun, k + 1);
	comm_move_on(c);
	comm_sums_go_on(c);
	return comm_failed(c);
}

sw_status sw_comm_sum_end(struct sw_comm *c)
{
	return comm_until(c, all_added, atomic_load(&c->begun));
}

/* --- sums of all --- */

/* Of copies each rank makes the whole sum, for itself. */
static void sum_cells(const struct sw_comm *c, enum sw_comm_type type, void *p, size_t bytes,
		      unsigned parts)
{
	memcpy(p, comm_said(c, 0, bytes), bytes);
	for (unsigned r = 1; r < parts; r++)
		comm_add(type, p, comm_said(c, r, bytes), bytes);
}

sw_status sw_comm_sum(struct sw_comm *c, enum sw_comm_type type, void *p, size_t n, unsigned parts)
{
	const unsigned world = c->all->world;
	const size_t bytes = n * size_of(type);
	char *at[SW_COMM_WORLD_MAX] = {NULL};
	sw_status rc;

	assert(parts >= 1 && parts <= world);
	if (world == 1)
		return comm_failed(c);
	rc = comm_say(c, p, bytes);
	if (rc == SW_OK && n > 0 && (rc = comm_enter(c)) == SW_OK) {
		for (unsigned r = 0; r < world; r++)
			at[r] = comm_said(c, r, bytes);
		if (bytes <= COMM_CELL)
			sum_cells(c, type, p, bytes, parts);
		else
			make_slice(type, at, world, parts, c->rank, bytes);
		comm_leave(c);
	}
	return rc == SW_OK ? comm_heard(c, bytes) : rc;
}

sw_status sw_comm_sum_now(struct sw_comm *c, void *stream, double *p, size_t n, unsigned parts)
{
	if (c->nccl != NULL)
		return sw_nccl_sum_f64(c->nccl, stream, p, n);
	return sw_comm_sum(c, SW_COMM_F64, p, n, parts);
}
