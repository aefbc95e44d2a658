/* worker/comm/comm_exchange.c — between two ranks: pieces go both ways at once; beside sums that
 * have begun, only with a rank of another group. */
#include "worker/comm/comm_internal.h"
#include "worker/comm/nccl.h"
#include <assert.h>
#include <string.h>

struct move {
	char *p;
	size_t bytes; /* that are left */
};

static size_t next_bytes(const struct move *m)
{
	return m->bytes < COMM_CHUNK ? m->bytes : COMM_CHUNK;
}

/* The next n bytes have gone their way. */
static void move_on(struct move *m, size_t n)
{
	m->p += n;
	m->bytes -= n;
}

/* A piece of each; false where neither can be moved now. may_send is false while begun sums
 * have chunks to write: these need cells first, for they are older. */
static bool move_pieces(struct sw_comm *c, unsigned peer, struct move *out, struct move *in,
			bool may_send)
{
	struct comm_chunk chunk;
	bool moved = false;
	void *to;

	if (may_send && out->bytes > 0 && (to = comm_shm_room(c)) != NULL) {
		const size_t n = next_bytes(out);

		memcpy(to, out->p, n);
		comm_shm_publish(c, COMM_MOVE, n, UINT64_C(1) << peer);
		move_on(out, n);
		moved = true;
	}
	if (in->bytes > 0 && comm_shm_peek(c, peer, &chunk)) {
		const size_t n = next_bytes(in);

		if (comm_expect(c, peer, &chunk, COMM_MOVE, n) != SW_OK)
			return true; /* the caller sees that it failed */
		memcpy(in->p, chunk.data, n);
		comm_shm_release(c, peer);
		move_on(in, n);
		moved = true;
	}
	return moved;
}

sw_status sw_comm_exchange(struct sw_comm *c, void *stream, unsigned peer, const float *out,
			   size_t out_n, float *in, size_t in_n)
{
	struct move to = {(char *)out, out_n * sizeof *out};
	struct move from = {(char *)in, in_n * sizeof *in};
	unsigned lost = c->world;

	assert(peer < c->world && peer != c->rank);
	if (c->nccl != NULL)
		return sw_nccl_exchange(c->nccl, stream, peer, out, out_n, in, in_n);
	/* within a group chunks of sums and of this would come in any order */
	assert(c->failed != SW_OK || c->sums_done == c->sums_begun ||
	       peer % c->groups != c->rank % c->groups);
	while (c->failed == SW_OK && (to.bytes > 0 || from.bytes > 0)) {
		const bool may_send = comm_sums_go_on(c);

		if (c->failed == SW_OK && !move_pieces(c, peer, &to, &from, may_send))
			comm_wait(c, &lost);
	}
	return c->failed;
}
